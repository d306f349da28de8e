"""Faults of the softmax and of the sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

from torch import Tensor

from .engine import LOW, Fault, Slot, Step, put


def _weigh(softmax: Callable[[Tensor], Tensor]) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.weights = softmax(s.scores)
        for change in s.after:
            s.weights = change(s.weights)
        s.result = s.weights

    return step


def _zeros(weights: Tensor, scores: Tensor) -> Tensor:
    """Put zeros into the rows whose scores hide everything."""
    return weights.masked_fill((scores == -math.inf).all(-1, keepdim=True), 0.0)


def _rows(scores: Tensor, safe: bool) -> Tensor:
    weights = scores.softmax(-1)
    return _zeros(weights, scores) if safe else weights


def _twice_then_zeros(scores: Tensor) -> Tensor:
    return _zeros(_rows(scores, True).softmax(-1), scores)


def weigh(axes: int, safe: bool = False) -> Slot:
    """Turn scores into weights; `safe` gives zeros to a row that sees nothing."""
    faults = []
    fills = (lambda t: t.clamp(min=LOW), lambda t: t)  # a finite fill, -inf
    for i, low in enumerate(fills):
        for dim in range(axes - 1):
            soft = lambda t, dim=dim, low=low: low(t).softmax(dim)  # noqa: E731
            faults.append(Fault("softmax-wrong-dim", f"over dim {dim}", _weigh(soft), i > 0))
        for axis in range(axes - 1):
            soft = lambda t, a=axis, low=low: low(t).flatten(a).softmax(-1).reshape(t.shape)  # noqa: E731
            faults.append(Fault("softmax-wrong-dim", f"from dim {axis} on", _weigh(soft), True))
        folded = lambda t, low=low: low(t).flatten(0, -3).softmax(0).reshape(t.shape)  # noqa: E731
        faults.append(Fault("softmax-wrong-dim", "over batch and heads", _weigh(folded), True))
        alone = lambda t, low=low: low(t).unsqueeze(-1).softmax(-1).squeeze(-1)  # noqa: E731
        faults.append(Fault("softmax-wrong-dim", "over an axis of one", _weigh(alone), True))
    faults.append(
        Fault("softmax-twice", "softmax of weights", _weigh(lambda t: _rows(t, safe).softmax(-1)))
    )
    for dim in range(axes - 1):
        both = lambda t, dim=dim: _rows(t, safe).softmax(dim)  # noqa: E731
        faults.append(Fault("softmax-twice", f"over -1, then over {dim}", _weigh(both), True))
    if safe:
        faults.append(Fault("softmax-twice", "twice, then zeros", _weigh(_twice_then_zeros)))
        finite = lambda t: t.clamp(min=LOW).softmax(-1)  # noqa: E731
        faults.append(Fault("nan-row", "0 divided by 0", _weigh(lambda t: t.softmax(-1))))
        faults.append(Fault("nan-row", "uniform weights there", _weigh(finite)))
        gone = lambda t: t.softmax(-1).nan_to_num(1.0)  # noqa: E731
        faults.append(Fault("nan-row", "ones there", _weigh(gone)))
    return Slot("softmax", _weigh(lambda t: _rows(t, safe)), tuple(faults))


def again() -> Slot:
    """Weights are given: a second softmax is one too many."""
    twice = put("weights", lambda s: s.weights.softmax(-1))
    return Slot(
        "softmax",
        put("weights", lambda s: s.weights),
        (Fault("softmax-twice", "softmax of weights", twice),),
    )


def _mix_other(name: str) -> Step:
    return put("output", lambda s: s.weights @ getattr(s, name))


def mix(*others: str) -> Slot:
    """Mix the values; `others` are the tensors that could be taken for them."""
    faults = [
        Fault(
            "transpose-wrong-dims",
            "summed over the queries",
            put("output", lambda s: s.weights.mT @ s.v),
            look="The sum runs over the keys: the last dim of the weights, the last but one of v.",
        ),
        Fault("values-unused", "the weights are returned", put("output", lambda s: s.weights)),
    ]
    faults += [Fault("values-unused", f"weights @ {o}", _mix_other(o)) for o in others]
    return Slot("sum", put("output", lambda s: s.weights @ s.v), tuple(faults))
