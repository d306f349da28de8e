"""The laws that any attention module keeps, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from .parity import NAMES, parity
from .pattern import causality, is_causal, reach, sees_part
from .registered import held_plainly, loose
from .subject import Law, Subject, first_difference, told
from .verdict import alike
from .watching import Draws, Homes

_KEY_BIAS = r"(^|[._])(k|key|w_?k|k_proj|to_k|key_proj|keys)\.bias$"


def _permutation(s: Subject) -> Law:
    name, says = "permutation", "permuting the tokens permutes the outputs"
    if is_causal(s):
        return Law(name, None, says, "not checked: the module is causal")
    if place := s.knows_places():
        return Law(name, None, says, f"not checked: the module knows positions ({place})")
    if "reach" in s.without and sees_part(s):
        return Law(name, None, says, "not checked: an output sees some of the tokens only")
    order = torch.arange(s.x.shape[1]).roll(1)
    return _same(s, name, says, s.call(s.x[:, order]), s.output[:, order], "rolled by one")


def _batch(s: Subject) -> Law:
    alone = torch.cat([s.call(s.x[i : i + 1]) for i in range(len(s.x))])
    says = "a sequence gives the same alone and in a batch"
    return _same(s, "batch", says, alone, s.output, "each sequence alone")


def _padding(s: Subject) -> Law:
    name, says = "padding", "tokens behind a sequence, hidden or in its future, change nothing"
    S = s.x.shape[1]
    longest = getattr(s.module, "block_size", None)
    if longest is not None and longest <= S:
        return Law(name, None, says, "not checked: the module takes no longer sequence")
    longer = torch.cat([s.x, torch.full_like(s.x[:, :2], 3.0)], 1)
    masks = _padding_masks(s, (torch.arange(S + 2) < S).expand(len(s.x), -1))
    if not masks and is_causal(s):
        masks = [{}]
    if not masks:
        unknown = [n for n in s.names[1:] if "mask" in n]
        reason = f"what {unknown[0]} hides cannot be told" if unknown else "it takes no mask"
        return Law(name, None, says, f"not checked: {reason}")
    found = [_padded(s, name, says, longer, mask) for mask in masks]
    return next((law for law in found if law.passed), found[0])


def _padding_masks(s: Subject, real: Tensor) -> list[dict[str, Tensor]]:
    """The mask of real tokens as the module's argument wants it; a numeric one has two habits."""
    if "may_attend" in s.names:
        return [{"may_attend": real[0].expand(real.shape[1], -1)}]
    blocked = [n for n in s.names if n.endswith("key_padding_mask")]
    if blocked:
        return [{blocked[0]: ~real}]
    if "attention_mask" in s.names:  # 1 keeps; layers inside of models get it as a penalty
        penalty = (~real)[:, None, None, :] * torch.finfo(s.x.dtype).min
        return [{"attention_mask": real.long()}, {"attention_mask": penalty}]
    return []


def _padded(s: Subject, name: str, says: str, longer: Tensor, mask: dict[str, Tensor]) -> Law:
    try:
        output = s.call(longer, lend=False, **mask)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return Law(name, False, says, f"{s.sizes()}, two tokens more: {told(error)}")
    return _same(s, name, says, output[:, : s.x.shape[1]], s.output, "two tokens more")


def _same(s: Subject, name: str, says: str, yours: Tensor, wanted: Tensor, how: str) -> Law:
    if yours.shape == wanted.shape and bool(alike(yours, wanted).all()):
        return Law(name, True, says)
    return Law(name, False, says, f"{s.sizes()}, {how}: {first_difference(yours, wanted)}")


def _finite(s: Subject) -> Law:
    says = "outputs and gradients are finite, for large inputs too"
    for gain in (1, 100):
        x = (s.x * gain).requires_grad_()
        output = s.call(x)
        if not bool(output.isfinite().all()):
            i = (~output.isfinite()).nonzero()[0].tolist()
            return Law("finite", False, says, f"x times {gain}: not finite at {i}")
        if output.requires_grad:
            (grad,) = torch.autograd.grad(output.sum(), x, allow_unused=True)
            if grad is not None and not bool(grad.isfinite().all()):
                return Law("finite", False, says, f"x times {gain}: the gradient is not finite")
    return Law("finite", True, says)


def _gradients(s: Subject) -> Law:
    """A bias of the keys adds the same to all scores of a query: its gradient is rightly zero."""
    says = "every parameter is registered and gets a gradient"
    if plain := held_plainly(s.module):
        return Law("gradients", False, says, plain)
    output = s.call(s.x)
    if unknown := loose(s.module, output):
        return Law("gradients", False, says, unknown)
    parameters = {n: p for n, p in s.module.named_parameters() if p.requires_grad}
    if not parameters:
        return Law("gradients", None, says, "not checked: the module has no parameters")
    if not output.requires_grad:
        return Law("gradients", False, says, "the output depends on no parameter")
    weight = torch.linspace(-1, 1, output.numel()).reshape(output.shape).to(output)
    grads = torch.autograd.grad((output * weight).sum(), [*parameters.values()], allow_unused=True)
    reached = zip(parameters, grads, strict=True)
    lost = [name for name, g in reached if (g is None or not bool(g.any())) and not _excused(name)]
    s.only_cut = bool(lost) and all(_moves(s, parameters[name]) for name in lost)
    lost = lost or _lost_part(parameters, grads)
    shown = f"no gradient reaches {', '.join(lost)}" if lost else ""
    return Law("gradients", not lost, says, shown)


def _moves(s: Subject, parameter: Tensor) -> bool:
    """Whether the output depends on a parameter: then its gradient is cut off, not its number."""
    kept = parameter.detach().clone()
    with torch.no_grad():
        parameter.mul_(0.5).add_(torch.linspace(-1, 1, kept.numel()).reshape(kept.shape).to(kept))
        try:
            return not bool(alike(s.call(s.x), s.output).all())
        finally:
            parameter.copy_(kept)


def _lost_part(parameters: Mapping[str, Tensor], grads: tuple[Tensor, ...]) -> list[str]:
    """In one weight for queries, keys and values, name the third that gets nothing."""
    for (name, parameter), grad in zip(parameters.items(), grads, strict=True):
        fused = any(re.fullmatch(NAMES["qkv"], p) for p in name.lower().split("."))
        if parameter.ndim != 2 or not (fused or "in_proj_weight" in name):
            continue
        dim = 0 if parameter.shape[0] > parameter.shape[1] else 1
        thirds = zip(("query", "key", "value"), grad.chunk(3, dim), strict=False)
        return [f"the {part} part of {name}" for part, third in thirds if not bool(third.any())]
    return []


def _excused(name: str) -> bool:
    return re.search(_KEY_BIAS, name.lower()) is not None


def _determinism(s: Subject) -> Law:
    name, says = "determinism", "two calls in eval mode give the same"
    first, then = s.call(s.x), s.call(s.x)
    if first.shape == then.shape and bool(alike(first, then).all()):
        return Law(name, True, says)
    with Draws() as draws:
        s.call(s.x)
    dropout = "a dropout is active in eval mode too: switch it by self.training"
    shown = first_difference(first, then, ("first", "then"))
    note = dropout if draws.dropped else ""
    return Law(name, False, says, f"{s.sizes()}, called twice: {shown}", note)


def _argument(s: Subject) -> Law:
    says = "the input is not written into"
    x = s.x.clone()
    with torch.no_grad():
        s.call(x, lend=True)
    same = torch.equal(x, s.x)
    return Law("argument", same, says, "" if same else f"{s.sizes()}: x is another one afterwards")


def _device(s: Subject) -> Law:
    """A mask that is a plain attribute or made without a device stays on the CPU."""
    says = "what the module makes or keeps moves with it"
    kept = [
        (part, name, value)
        for part in s.module.modules()
        for name, value in vars(part).items()
        if isinstance(value, Tensor)
    ]
    with Homes() as homes:
        s.call(s.x)
    for part, name, value in kept:
        if vars(part).get(name) is value:  # else it is a result that every call puts there
            shown = f"{name} is a plain attribute: register_buffer moves it along"
            return Law("device", False, says, shown)
    made = f"{homes.line}: this tensor is" if homes.line else "a tensor is"
    made += " made without a device"
    shown = f"{made}, and meets the input in {homes.found}; give it x's device"
    return Law("device", not homes.found, says, shown if homes.found else "")


LAWS: tuple[Callable[[Subject], Law], ...] = (
    parity, causality, reach, _permutation, _batch, _padding, _finite, _gradients,
    _determinism, _argument, _device,
)  # fmt: skip
