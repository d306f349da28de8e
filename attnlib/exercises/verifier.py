"""Verify any attention module by laws that hold whoever wrote it."""

from __future__ import annotations

import copy
import html
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from . import parity
from .running import Homes, Runner, restored
from .verdict import alike

_WIDTHS = ("n_embd", "embed_dim", "d_model", "dim", "hidden_size", "d_in", "in_features")
_KEY_BIAS = r"(^|[._])(k|key|w_?k|k_proj|to_k|key_proj|keys)\.bias$"


@dataclass(frozen=True)
class Law:
    """One law: held, broken, or not checked; what it says; the counterexample or the reason."""

    name: str
    passed: bool | None
    says: str
    counterexample: str = ""

    def __str__(self) -> str:
        mark = {True: "✓", False: "✗", None: "–"}[self.passed]
        more = f"\n    {self.counterexample}" if self.counterexample else ""
        return f"{mark} {self.name}: {self.says}{more}"


@dataclass(frozen=True, repr=False)
class Report:
    """All laws; passed when none is broken."""

    passed: bool
    laws: tuple[Law, ...]

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        broken = [law.name for law in self.laws if law.passed is False]
        head = "passed: no law is broken" if self.passed else f"broken: {', '.join(broken)}"
        return "\n".join([head, *map(str, self.laws)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return f'<div class="attn-report"><pre>{html.escape(str(self))}</pre></div>'


def verify(
    module: nn.Module,
    x: Tensor | None = None,
    *,
    n_heads: int | None = None,
    causal: bool | None = None,
) -> Report:
    """Verify a module: parity, causality, reach, permutation, batch, padding, numbers, gradients.

    The module is copied and run in eval mode on small inputs; x only gives its width. causal=None
    reads it off an attribute, or off which tokens an output reacts to.

    Shapes: x (batch, S, n_embd).
    Raises: ValueError (the width cannot be told: give x).
    Example:
        >>> from attnlib import MultiHeadAttention
        >>> verify(MultiHeadAttention(12, 3, causal=True)).passed
        True
    """
    with restored():
        torch.manual_seed(0)
        subject = _Subject(copy.deepcopy(module).eval(), x, n_heads, causal)
        laws = [_try(law, subject) for law in _LAWS] if subject.runs.passed else []
    laws.insert(0, subject.runs)
    return Report(all(law.passed is not False for law in laws), tuple(laws))


class _Subject:
    """The module under test, how it is called, and what it gave for one batch."""

    def __init__(
        self, module: nn.Module, x: Tensor | None, n_heads: int | None, causal: bool | None
    ) -> None:
        self.module, self.n_heads = module, n_heads
        self.names = list(inspect.signature(module.forward).parameters)
        self.torch = isinstance(module, nn.MultiheadAttention)
        self.first = not self.torch or module.batch_first
        self.asked = causal
        if causal is None:
            flag = getattr(module, "causal", getattr(module, "is_causal", None))
            causal = flag if isinstance(flag, bool) else None
        self.causal = causal
        width = x.shape[-1] if x is not None else _width(module)
        longest = getattr(module, "block_size", None)
        S = min(5, longest) if isinstance(longest, int) else 5
        parameter = next(module.parameters(), None)
        dtype = parameter.dtype if parameter is not None else torch.float32
        self.x = torch.randn(3, S, width).to(dtype)
        self.runner = Runner(module, left=20.0)
        self.reactions: Tensor | None = None
        self.runs = self._try()

    def _try(self) -> Law:
        says = "takes (batch, S, n_embd) and gives as many batches and tokens back"
        try:
            self.output = self.call(self.x)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Law("runs", False, says, _told(error))
        fits = self.output.shape[:2] == self.x.shape[:2]
        shown = f"{tuple(self.x.shape)} became {tuple(self.output.shape)}"
        return Law("runs", bool(fits), says, "" if fits else shown)

    def call(self, x: Tensor, *, lend: bool = False, **mask: Tensor) -> Tensor:
        """Call the module with a copy of x, as its signature asks; return its output, batch first.

        Lent, x itself goes in.
        """
        x = x if lend else x.clone()
        given = x if self.first else x.transpose(0, 1)
        required = [
            p
            for p in inspect.signature(self.module.forward).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if self.torch and self.asked:
            S = x.shape[1]
            mask["attn_mask"] = torch.ones(S, S, dtype=torch.bool, device=x.device).triu(1)
        arguments = (given,) * max(1, len(required))
        output = self.runner.run(lambda: self.module(*arguments, **mask))
        output = output[0] if isinstance(output, tuple | list) else output
        if not isinstance(output, Tensor):
            raise TypeError(f"forward gives a {type(output).__name__}, not a tensor")
        return output if self.first else output.transpose(0, 1)

    def sizes(self) -> str:
        """The sizes of the batch, named."""
        names = zip(("batch", "S", "n_embd"), self.x.shape, strict=True)
        return ", ".join(f"{name} = {size}" for name, size in names)

    def reacts(self) -> Tensor:
        """Which output reacts to which token: bool (S, S)."""
        S = self.x.shape[1]
        if self.reactions is not None:
            return self.reactions
        rows = torch.zeros(S, S, dtype=torch.bool)
        for j in range(S):
            other = self.x.clone()
            other[:, j] = other[:, j].flip(-1) * 0.7 + 0.3
            moved = (self.call(other) - self.output).abs().amax((0, 2))
            rows[:, j] = ~(moved <= 1e-6 * self.output.abs().max())
        self.reactions = rows
        return rows


def _try(law: Callable[[_Subject], Law], subject: _Subject) -> Law:
    """Check a law; a module that raises on the way breaks it."""
    try:
        return law(subject)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = law.__name__.removeprefix("_")
        return Law(name, False, "the module runs while this law is checked", _told(error))


def _told(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _width(module: nn.Module) -> int:
    for part in module.modules():
        for name in _WIDTHS:
            value = getattr(part, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    raise ValueError("verify: the width of the module cannot be told; give x (batch, S, n_embd)")


def _is_causal(s: _Subject) -> bool:
    """As asked or as the module says, else whether many tokens are not reacted to before them."""
    if s.causal is None:
        earlier = torch.ones_like(s.reacts()).triu(1)
        s.causal = int((~s.reacts() & earlier).sum()) * 4 > int(earlier.sum())
    return s.causal


def _parity(s: _Subject) -> Law:
    name, says = "parity", "the same numbers as the book's pipeline with the module's own weights"
    weights = parity.find(s.module, s.n_heads)
    if isinstance(weights, str):
        return Law(name, None, says, f"not checked: {weights}")
    causal = _is_causal(s)
    try:
        wanted = parity.expected(weights, s.x, causal)
    except RuntimeError as error:
        return Law(name, None, says, f"not checked: its weights do not fit ({error})")
    if wanted.shape == s.output.shape and bool(alike(s.output, wanted).all()):
        return Law(name, True, says)
    both = (parity.mistake(weights, s.x, kind, s.output) for kind in (causal, not causal))
    id_ = next(filter(None, both), "")
    known = f"; these are the numbers of {id_}" if id_ else ""
    return Law(name, False, says, f"{s.sizes()}: {_first(s.output, wanted)}{known}")


def _first(yours: Tensor, wanted: Tensor) -> str:
    if yours.shape != wanted.shape:
        return f"yours is {tuple(yours.shape)}, wanted {tuple(wanted.shape)}"
    at = tuple((~alike(yours, wanted)).nonzero()[0].tolist())
    place = ", ".join(f"{n} {i}" for n, i in zip(("batch", "S", "n_embd"), at, strict=True))
    return f"at {place} yours is {yours[at].item():.4g}, wanted {wanted[at].item():.4g}"


def _causality(s: _Subject) -> Law:
    name, says = "causality", "changing a token moves no output before it"
    if not _is_causal(s):
        return Law(name, None, says, "not checked: the module is not causal")
    return _cells(s, name, says, s.reacts().triu(1))


def _reach(s: _Subject) -> Law:
    says = "an output reacts to every token that it may see"
    may = torch.ones_like(s.reacts())
    may = may.tril() if _is_causal(s) else may
    return _cells(s, "reach", says, may & ~s.reacts(), "does not move")


def _cells(s: _Subject, name: str, says: str, bad: Tensor, verb: str = "moves") -> Law:
    if not bool(bad.any()):
        return Law(name, True, says)
    i, j = bad.nonzero()[0].tolist()
    return Law(name, False, says, f"{s.sizes()}: changing token {j}, output {i} {verb}")


def _permutation(s: _Subject) -> Law:
    name, says = "permutation", "permuting the tokens permutes the outputs"
    if _is_causal(s):
        return Law(name, None, says, "not checked: the module is causal")
    if any(isinstance(m, nn.Embedding) for m in s.module.modules()):
        return Law(name, None, says, "not checked: the module knows positions")
    order = torch.arange(s.x.shape[1]).roll(1)
    return _same(s, name, says, s.call(s.x[:, order]), s.output[:, order], "rolled by one")


def _batch(s: _Subject) -> Law:
    alone = torch.cat([s.call(s.x[i : i + 1]) for i in range(len(s.x))])
    says = "a sequence gives the same alone and in a batch"
    return _same(s, "batch", says, alone, s.output, "each sequence alone")


def _padding(s: _Subject) -> Law:
    name, says = "padding", "tokens behind a sequence, hidden or in its future, change nothing"
    S = s.x.shape[1]
    longest = getattr(s.module, "block_size", None)
    if longest is not None and longest <= S:
        return Law(name, None, says, "not checked: the module takes no longer sequence")
    longer = torch.cat([s.x, torch.full_like(s.x[:, :2], 3.0)], 1)
    real = torch.arange(S + 2) < S
    if "key_padding_mask" in s.names:
        mask = {"key_padding_mask": ~real.expand(len(s.x), -1)}
    elif "may_attend" in s.names:
        mask = {"may_attend": real.expand(S + 2, -1)}
    elif _is_causal(s):
        mask = {}
    else:
        return Law(name, None, says, "not checked: the module takes no padding mask")
    return _same(s, name, says, s.call(longer, **mask)[:, :S], s.output, "two tokens more")


def _same(s: _Subject, name: str, says: str, yours: Tensor, wanted: Tensor, how: str) -> Law:
    if yours.shape == wanted.shape and bool(alike(yours, wanted).all()):
        return Law(name, True, says)
    return Law(name, False, says, f"{s.sizes()}, {how}: {_first(yours, wanted)}")


def _finite(s: _Subject) -> Law:
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


def _gradients(s: _Subject) -> Law:
    """A bias of the keys adds the same to all scores of a query: its gradient is rightly zero."""
    says = "every parameter is registered and gets a gradient"
    known = {id(part) for part in (*s.module.modules(), *s.module.parameters())}
    for part in s.module.modules():
        for name, value in vars(part).items():
            held = value if isinstance(value, list | tuple) else ()
            held = list(value.values()) if isinstance(value, dict) and name[0] != "_" else held
            if any(isinstance(h, nn.Module | nn.Parameter) and id(h) not in known for h in held):
                return Law("gradients", False, says, f"{name} is a plain {type(value).__name__}")
    parameters = {n: p for n, p in s.module.named_parameters() if p.requires_grad}
    if not parameters:
        return Law("gradients", None, says, "not checked: the module has no parameters")
    output = s.call(s.x)
    if not output.requires_grad:
        return Law("gradients", False, says, "the output depends on no parameter")
    weight = torch.linspace(-1, 1, output.numel()).reshape(output.shape).to(output)
    grads = torch.autograd.grad((output * weight).sum(), [*parameters.values()], allow_unused=True)
    reached = zip(parameters, grads, strict=True)
    lost = [name for name, g in reached if (g is None or not bool(g.any())) and not _excused(name)]
    shown = f"no gradient reaches {', '.join(lost)}" if lost else ""
    return Law("gradients", not lost, says, shown)


def _excused(name: str) -> bool:
    return re.search(_KEY_BIAS, name.lower()) is not None


def _determinism(s: _Subject) -> Law:
    says = "two calls in eval mode give the same"
    return _same(s, "determinism", says, s.call(s.x), s.call(s.x), "called twice")


def _argument(s: _Subject) -> Law:
    says = "the input is not written into"
    x = s.x.clone()
    with torch.no_grad():
        s.call(x, lend=True)
    same = torch.equal(x, s.x)
    return Law("argument", same, says, "" if same else f"{s.sizes()}: x is another one afterwards")


def _device(s: _Subject) -> Law:
    """A mask that is a plain attribute or made without a device stays on the CPU."""
    says = "what the module makes or keeps moves with it"
    for part in s.module.modules():
        for name, value in vars(part).items():
            if isinstance(value, Tensor):
                shown = f"{name} is a plain attribute: register_buffer moves it along"
                return Law("device", False, says, shown)
    with Homes() as homes:
        s.call(s.x)
    shown = f"a tensor made without a device meets the input in {homes.found}"
    return Law("device", not homes.found, says, shown if homes.found else "")


_LAWS: tuple[Callable[[_Subject], Law], ...] = (
    _parity, _causality, _reach, _permutation, _batch, _padding, _finite, _gradients,
    _determinism, _argument, _device,
)  # fmt: skip
