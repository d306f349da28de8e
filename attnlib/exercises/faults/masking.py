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
    for fill in (0.0, -1.0, -2.0, -5.0, -10.0, 1.0):
        faults.append(
            Fault("mask-fill-not-low-enough", f"fill {fill:g}", _hide(_right_may, fill), fill != 0)
        )
    return faults


def hide() -> Slot:
    """Hide by a mask that was given."""
    faults = _mask_faults()
    faults += [
        Fault("mask-inverted", "1e9 added or the wrong sign", _hide(_right_may, math.inf)),
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


def causal() -> Slot:
    """Make a causal mask."""

    def edge(shift: int) -> Step:
        return put(
            "r", lambda s: torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(s.Sk - s.Sq + shift)
        )

    def corner(shift: int = 0) -> Callable[[SimpleNamespace], Tensor]:
        return lambda s: torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(shift)

    def right(s: SimpleNamespace) -> Tensor:
        return torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(s.Sk - s.Sq)

    return Slot(
        "mask",
        edge(0),
        (
            Fault("mask-inverted", "True = blocked", put("r", lambda s: ~right(s))),
            Fault("mask-off-by-one", "a token does not see itself", edge(-1)),
            Fault("mask-off-by-one", "one token of the future", edge(1)),
            Fault("mask-inverted", "triu for tril", put("r", lambda s: right(s).flip(0, 1))),
            Fault("causal-misaligned", "aligned at the first key", put("r", corner())),
            Fault("mask-inverted", "triu at the first key", put("r", lambda s: ~corner(-1)(s))),
            Fault("mask-inverted", "triu at the first key", put("r", lambda s: ~corner()(s))),
            Fault("mask-off-by-one", "aligned at the first key, and off", put("r", corner(1))),
            Fault("mask-off-by-one", "aligned at the first key, and off", put("r", corner(-1))),
            Fault("mask-ignored", "all True", put("r", lambda s: torch.ones_like(right(s)))),
            Fault("mask-wrong-axis", "keys down, queries across", put("r", lambda s: right(s).mT)),
        ),
    )


def padding() -> Slot:
    """Make a padding mask."""

    def real(s: SimpleNamespace, shift: int = 0) -> Tensor:
        return torch.arange(s.S) < s.lengths[:, None] + shift

    def keys(t: Tensor) -> Tensor:
        return t[:, None, None, :]

    wrong = "mask-wrong-axis"
    return Slot(
        "mask",
        put("r", lambda s: keys(real(s))),
        (
            Fault("mask-inverted", "True = padding", put("r", lambda s: ~keys(real(s)))),
            Fault("mask-off-by-one", "one padded key", put("r", lambda s: keys(real(s, 1)))),
            Fault("mask-off-by-one", "one key missing", put("r", lambda s: keys(real(s, -1)))),
            Fault("mask-ignored", "all True", put("r", lambda s: keys(real(s, s.S)))),
            Fault(wrong, "on the queries", put("r", lambda s: real(s)[:, None, :, None])),
            Fault(wrong, "on the heads", put("r", lambda s: real(s)[:, :, None, None])),
            Fault(wrong, "in front", put("r", lambda s: real(s)[None, :, None, :])),
            Fault(wrong, "in front", put("r", lambda s: real(s)[None, None])),
            Fault(wrong, "transposed", put("r", lambda s: real(s).mT[:, None, None, :])),
            Fault(
                wrong,
                "queries and keys",
                put("r", lambda s: real(s)[:, None, :, None] & keys(real(s))),
            ),
        ),
    )
