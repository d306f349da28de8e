"""Sums of scores: over which axes, and where the other axes stand when one divides by them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .axes import Places, moved
from .flaws import Displaced, Flaw, Joint
from .notes import Identity, State
from .operation import Operation

SUMS = {"sum", "nansum", "logsumexp"}
# What leaves a sum a sum; the root of one is divided by for other reasons.
_EVEN = {"add", "clamp", "to", "contiguous", "clone", "detach", "maximum", "nan_to_num"}


@dataclass(frozen=True)
class Total:
    """A sum over axes of scores; ``places`` say where each of their axes stands in it now."""

    of: Identity
    axes: tuple[int, ...]
    places: tuple[int | None, ...]
    logarithm: bool = False


def summed_axes(op: Operation) -> tuple[int, ...]:
    """Return the axes that a sum runs over: all where it names none."""
    axis = op.params.get("dim")
    if axis is None:
        return tuple(range(len(op.inputs[0].shape)))
    return axis if isinstance(axis, tuple) else (axis,) if isinstance(axis, int) else ()


def total(op: Operation) -> Total | None:
    """Say what a sum of scores is."""
    state, axes = op.inputs[0], summed_axes(op)
    kept, n = bool(op.params.get("keepdim")), len(state.shape)
    if not axes or len(op.shape) != (n if kept else n - len(axes)):
        return None
    gone = 0 if kept else 1
    places: Places = [
        None if axis in axes else axis - gone * sum(other < axis for other in axes)
        for axis in range(n)
    ]
    return Total(state.identity, axes, tuple(places), op.name == "logsumexp")


def carried(known: Total, op: Operation) -> Total:
    """Take a sum along when its axes move."""
    to = moved(op)
    return replace(known, places=tuple(None if p is None else to[p] for p in known.places))


def kept(known: Total, op: Operation) -> Total | None:
    """Say what a sum is after an operation on each of its numbers."""
    return known if op.name in _EVEN and not known.logarithm else None


def is_share(known: Total, op: Operation) -> bool:
    """Is what was summed divided by its sum, or its logarithm made less by that of the sum?"""
    name = "sub" if known.logarithm else "div"
    same_axes = len(op.inputs[0].shape) == len(op.shape)
    return op.name == name and op.inputs[0].identity is known.of and same_axes


def shared_over(
    known: Total, op: Operation, state: State, pair: tuple[int, ...]
) -> tuple[int, Flaw | None] | None:
    """Return the axis that shares made by a sum are meant to add up over, and what is wrong there.

    None where nothing is known: of a sum over more than the two sets that were compared (``pair``),
    of one that was moved to an unknown place.
    """
    if len(known.axes) > 1:
        both = bool(pair) and {*pair} <= {*known.axes} and not known.logarithm
        return (pair[1], Joint(known.axes)) if both else None
    (axis,) = known.axes
    shift, shape = len(op.shape) - len(state.shape), op.inputs[0].shape
    places = [None if place is None else place + shift for place in known.places]
    others = [other for other, size in enumerate(shape) if other != axis and size > 1]
    if any(places[other] == axis for other in others):
        # e / e.sum(-1) of (S, S): the sums of the rows stand side by side, as columns do
        wrong = axis in pair and not known.logarithm
        return (axis, Displaced(axis)) if wrong else None
    return (axis, None) if all(places[other] == other for other in others) else None
