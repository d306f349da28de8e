"""Verify any attention module by laws that hold whoever wrote it."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ..tracer.plain import readable
from .laws import LAWS
from .meant import LEFT_OUT, asked, left_out, with_designs
from .running import restored
from .subject import Law, Subject, told
from .verdict import FIXED


@dataclass(frozen=True, repr=False)
class Report:
    """All laws; passed when none is broken. The first line says if parity was not checked.

    It names the laws that were left out, too.
    """

    passed: bool
    laws: tuple[Law, ...]

    def __bool__(self) -> bool:
        return self.passed

    @property
    def without_parity(self) -> bool:
        """Whether nobody compared the numbers: what only parity sees, as a wrong scale, passes."""
        return any(law.name == "parity" and law.passed is None for law in self.laws)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The laws that `without` named: neither held nor broken."""
        return tuple(law.name for law in self.laws if law.counterexample == LEFT_OUT)

    def __repr__(self) -> str:
        broken = [law.name for law in self.laws if law.passed is False]
        head = "passed: no law is broken" if self.passed else f"broken: {', '.join(broken)}"
        unsaid = self.without_parity and "parity" not in self.left_out
        head += "; parity not checked" if unsaid else ""
        head += f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return readable("\n".join([head, *map(str, self.laws)]))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        text = html.escape(str(self))
        style = f"{FIXED}; white-space: pre-wrap"  # what ends a line says most
        return f'<div class="attn-report"><pre style="{style}">{text}</pre></div>'


def verify(
    module: nn.Module,
    x: Tensor | None = None,
    *,
    n_heads: int | None = None,
    causal: bool | None = None,
    without: Collection[str] | str = (),
) -> Report:
    """Verify a module: parity, causality, reach, permutation, batch, padding, numbers, gradients.

    The module is copied to the CPU and run there, in eval mode, on small inputs; x only gives its
    width. causal=None reads it off an attribute, or off which tokens an output reacts to. Only
    parity must find the weights: it goes by the usual names of layers (q, query, w_q, to_q, q_proj,
    qkv, c_attn, …, and o, out, proj, … at the end) and of the number of heads (n_heads, num_heads,
    …). Where they are others, it is not checked and the report's first line says so; a wrong scale
    passes then. A fused weight holds all queries, then keys, then values; or these head by head.

    Some laws are broken by right designs too: reach by a window or a block pattern, parity by
    positions inside, a bias on the scores or another scale, permutation by positions, causality by
    a prefix that sees itself whole. `without` names the laws to leave out; without reach, parity
    goes by the tokens that are seen, and permutation is not checked where those are not all.

    Shapes: x (batch, S, n_embd).
    Raises: TypeError (not a module but its class, or a function); ValueError (the width cannot be
        told: give x; without names a law that there is not).
    Example:
        >>> from attnlib import MultiHeadAttention
        >>> verify(MultiHeadAttention(12, 3, causal=True)).passed
        True
        >>> print(str(verify(MultiHeadAttention(12, 3), without="reach")).splitlines()[0])
        passed: no law is broken; left out: reach
    """
    if not isinstance(module, nn.Module):
        raise TypeError(_no_module(module))
    names = asked(without)
    with restored():
        torch.manual_seed(0)
        subject = Subject(_copied(module).eval(), x, n_heads, causal, names)
        laws = [_try(law, subject) for law in LAWS] if subject.runs.passed else []
        laws = with_designs(subject, _causes(subject, laws))
    laws = [subject.runs, *(left_out(law, names) for law in laws)]
    return Report(all(law.passed is not False for law in laws), tuple(laws))


def _no_module(given: object) -> str:
    name = getattr(given, "__name__", type(given).__name__)
    if isinstance(given, type):
        return f"verify takes a module, and {name} is a class: make one, as in verify({name}(…))"
    return f"verify takes a module, and {name} is none; functions are for check"


def _copied(module: nn.Module) -> nn.Module:
    """Copy a module to the CPU, where every law can be tried.

    A plain attribute does not move with it, so it is copied there; and what it keeps of the results
    of an earlier call cannot be copied with its graph.
    """
    kept = [v for part in module.modules() for v in vars(part).values() if isinstance(v, Tensor)]
    alone = {id(t): _alone(t) for t in kept if not t.is_meta}
    copied = copy.deepcopy(module, alone)
    held = (*module.parameters(), *module.buffers())
    return copied if any(tensor.is_meta for tensor in held) else copied.cpu()


def _alone(tensor: Tensor) -> Tensor:
    learns = tensor.is_leaf and tensor.requires_grad
    return tensor.detach().cpu().clone().requires_grad_(learns)


def _causes(subject: Subject, laws: list[Law]) -> list[Law]:
    """Report a cause once: laws that compare calls say nothing where two calls differ anyway.

    Nor can whether the module is causal be told then, which would be a reason not to check.
    """
    broken = {law.name for law in laws if law.passed is False}
    comparing, reason = set[str](), ""
    if "determinism" in broken:
        comparing = {"parity", "causality", "reach", "permutation", "batch", "padding"}
        reason = "not checked: two calls differ"
    elif bool(subject.runs.passed) and not bool(subject.output.isfinite().all()):
        comparing = {"causality", "reach", "permutation", "batch", "padding", "gradients"}
        reason = "not checked: the output is not finite"
    return [
        replace(law, passed=None, counterexample=reason, note="") if law.name in comparing else law
        for law in laws
    ]


def _try(law: Callable[[Subject], Law], subject: Subject) -> Law:
    """Check a law; a module that raises on the way breaks it."""
    try:
        return law(subject)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = law.__name__.removeprefix("_")
        return Law(name, False, "the module runs while this law is checked", told(error))
