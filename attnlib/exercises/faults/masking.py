"""Faults of the mask: what is hidden, by what, and when."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

from .engine import LOW, Fault, Slot, Step, put


def diagonal(s: SimpleNamespace, shift: int = 0) -> Tensor:
    """Who may attend to whom; shift moves the edge, 0 is right."""
    Sq, Sk = s.scores.shape[-2:]
    return torch.ones(Sq, Sk, dtype=torch.bool, device=s.scores.device).tril(Sk - Sq + shift)


def _right_may(s: SimpleNamespace) -> Tensor:
    return s.may_attend if hasattr(s, "may_attend") else diagonal(s)


def _hide(may: Callable[[SimpleNamespace], Tensor], fill: int | float, safe: bool = False) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.scores = s.result = s.scores.masked_fill(~may(s), fill)
        if safe:
            s.after = (*s.after, lambda w: w.nan_to_num(0.0))

    return step


def _any_fill(id_: str, how: str, may: Callable[[SimpleNamespace], Tensor]) -> list[Fault]:
    """The three fates of a row that sees nothing: NaN, uniform weights, zeros."""
    return [
        Fault(id_, how, _hide(may, -math.inf)),
        Fault(id_, how, _hide(may, LOW), rare=True),
        Fault(id_, how, _hide(may, -math.inf, safe=True), rare=True),
    ]


def _mask_later(fill: int | float) -> Step:
    def step(s: SimpleNamespace) -> None:
        blocked = ~_right_may(s)
        s.after = (*s.after, lambda w: w.masked_fill(blocked, fill))

    return step


def _add_mask(sign: float, blocked: bool) -> Step:
    def add(s: SimpleNamespace) -> Tensor:
        may = _right_may(s)
        return s.scores + sign * (~may if blocked else may).to(s.scores.dtype)

    return put("scores", add)


def fill(number: float) -> Step:
    """Write a number over the hidden scores."""
    return _hide(_right_may, number)


def penalty(number: float) -> Step:
    """Add a number to the hidden scores."""
    return put("scores", lambda s: s.scores + number * (~_right_may(s)).to(s.scores.dtype))


def _mask_faults() -> list[Fault]:
    faults = _any_fill("mask-inverted", "the allowed keys are hidden", lambda s: ~_right_may(s))
    faults.append(Fault("mask-ignored", "nothing is hidden", put("scores", lambda s: s.scores)))
    faults += [
        Fault("mask-additive-01", "the mask is added as 0 and 1", _add_mask(1.0, False)),
        Fault("mask-additive-01", "1 is added where blocked", _add_mask(1.0, True)),
        Fault("mask-additive-01", "1 is subtracted where blocked", _add_mask(-1.0, True)),
    ]
    for number in (0.0, -1.0, -2.0, -5.0, -10.0, 1.0):
        id_ = "mask-fill-not-low-enough"
        faults.append(Fault(id_, f"fill {number:g}", fill(number), number != 0))
    for number in (math.inf, math.nan):
        faults.append(Fault("mask-fill-inf-or-nan", f"fill {number}", fill(number), True))
    return faults


def hide() -> Slot:
    """Hide by a mask that was given."""
    faults = _mask_faults()
    faults += [
        *_any_fill("mask-wrong-axis", "the mask is transposed", lambda s: s.may_attend.mT),
        *_any_fill("mask-wrong-axis", "an axis for heads", lambda s: s.may_attend.unsqueeze(1)),
        *_any_fill("mask-wrong-axis", "an axis at the end", lambda s: s.may_attend.unsqueeze(-1)),
        *_any_fill("mask-wrong-axis", "one column for all", lambda s: s.may_attend[..., :1]),
        *_any_fill("mask-wrong-axis", "one row for all", lambda s: s.may_attend[..., :1, :]),
        *_any_fill("mask-wrong-axis", "whole rows", lambda s: s.may_attend.all(-1, keepdim=True)),
        *_any_fill(
            "mask-wrong-axis", "whole columns", lambda s: s.may_attend.all(-2, keepdim=True)
        ),
    ]
    return Slot("mask", _hide(_right_may, -math.inf), tuple(faults))


def hide_future(aligned: bool = False) -> Slot:
    """Hide what comes later; `aligned` where there are more keys than queries."""
    faults = _mask_faults()
    faults += _any_fill("mask-inverted", "triu for tril", lambda s: ~diagonal(s, -1))
    faults += _any_fill("mask-off-by-one", "a token does not see itself", lambda s: diagonal(s, -1))
    faults += _any_fill("mask-off-by-one", "one token of the future", lambda s: diagonal(s, 1))
    for fill in (0.0, -math.inf):
        faults.append(Fault("mask-after-softmax", f"weights filled with {fill}", _mask_later(fill)))
    if aligned:
        top_left = lambda s: torch.ones_like(diagonal(s)).tril()  # noqa: E731
        faults += _any_fill("causal-misaligned", "aligned at the first key", top_left)
        later = lambda s: torch.ones_like(diagonal(s)).triu()  # noqa: E731
        faults += _any_fill("mask-inverted", "triu at the first key", later)
    return Slot("mask", _hide(_right_may, -math.inf), tuple(faults))


SENSE = "True means may attend."
NO_TRUE = "A mask that is True throughout hides nothing: where must it be False?"
BOTH = "Besides, it is aligned at the first key: the last query sees the last key."
LENGTH = "The real keys of a sequence are 0 to its length - 1."
BOTH_AXES = (
    "On the keys it is right; on the queries as well it leaves padded ones no key to see. Mask the "
    "keys alone."
)


def causal() -> Slot:
    """Make a causal mask."""

    def right(s: SimpleNamespace, shift: int = 0) -> Tensor:
        return torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(s.Sk - s.Sq + shift)

    def corner(s: SimpleNamespace, shift: int = 0) -> Tensor:
        return torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(shift)

    def fault(id_: str, how: str, mask: Callable, look: str = "") -> Fault:
        return Fault(id_, how, put("r", mask), look=look)

    inverted, off = "mask-inverted", "mask-off-by-one"
    return Slot(
        "mask",
        put("r", right),
        (
            fault(inverted, "True = blocked", lambda s: ~right(s), SENSE),
            fault(off, "a token does not see itself", lambda s: right(s, -1)),
            fault(off, "one token of the future", lambda s: right(s, 1)),
            fault(inverted, "triu for tril", lambda s: ~right(s, -1), SENSE),
            fault("causal-misaligned", "aligned at the first key", corner),
            fault(inverted, "triu at the first key", lambda s: ~corner(s, -1), SENSE),
            fault(inverted, "triu at the first key", lambda s: ~corner(s), SENSE),
            fault(off, "aligned at the first key, and off", lambda s: corner(s, 1), BOTH),
            fault(off, "aligned at the first key, and off", lambda s: corner(s, -1), BOTH),
            fault("mask-ignored", "all True", lambda s: torch.ones_like(right(s)), NO_TRUE),
            fault("mask-wrong-axis", "keys down, queries across", lambda s: right(s).mT),
        ),
    )


def padding() -> Slot:
    """Make a padding mask."""

    def real(s: SimpleNamespace, shift: int = 0) -> Tensor:
        return torch.arange(s.S) < s.lengths[:, None] + shift

    def keys(t: Tensor) -> Tensor:
        return t[:, None, None, :]

    def fault(id_: str, how: str, mask: Callable, look: str = "") -> Fault:
        return Fault(id_, how, put("r", mask), look=look)

    wrong, off = "mask-wrong-axis", "mask-off-by-one"
    return Slot(
        "mask",
        put("r", lambda s: keys(real(s))),
        (
            fault("mask-inverted", "True = padding", lambda s: ~keys(real(s)), SENSE),
            fault(off, "one padded key", lambda s: keys(real(s, 1)), LENGTH),
            fault(off, "one key missing", lambda s: keys(real(s, -1)), LENGTH),
            fault("mask-ignored", "all True", lambda s: keys(real(s, s.S)), NO_TRUE),
            fault(wrong, "on the queries", lambda s: real(s)[:, None, :, None]),
            fault(wrong, "on the heads", lambda s: real(s)[:, :, None, None]),
            fault(wrong, "in front", lambda s: real(s)[None, :, None, :]),
            fault(wrong, "in front", lambda s: real(s)[None, None]),
            fault(wrong, "transposed", lambda s: real(s).mT[:, None, None, :]),
            fault(
                wrong,
                "queries and keys",
                lambda s: real(s)[:, None, :, None] & keys(real(s)),
                BOTH_AXES,
            ),
        ),
    )
