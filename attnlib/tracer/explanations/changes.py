"""Changes of one operand: its axes in another order, new axes of 1, as code and as what it does.

Which axis should stand where is read off the names. Sizes may agree by accident, so they decide
only where exactly one axis is as large and nothing says that it is another dim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from ...dims import role
from ..labels import Label, pieces
from .clash import Failed, on


@dataclass(frozen=True)
class Change:
    """Which axis of the operand stands at each place; None is a new axis of 1."""

    axes: tuple[int | None, ...]

    def code(self, name: str) -> str:
        """Write the operand with its axes so: ``k.transpose(1, 2)``, ``pad[:, None, None, :]``."""
        order = [axis for axis in self.axes if axis is not None]
        moved = on(name) + _order(order)
        new = [place for place, axis in enumerate(self.axes) if axis is None]
        if len(new) > 1:
            marks = ["None" if axis is None else ":" for axis in self.axes]
            return f"{moved}[{', '.join(marks)}]"
        return moved + "".join(f".unsqueeze({self._place(place)})" for place in new)

    def run(self, x: Tensor) -> Tensor:
        x = x.permute([axis for axis in self.axes if axis is not None])
        return x[tuple(None if axis is None else slice(None) for axis in self.axes)]

    def labels(self, labels: Sequence[Label]) -> list[Label | None]:
        return [None if axis is None else labels[axis] for axis in self.axes]

    def back(self) -> Change:
        """Return the change that puts moved axes where they were."""
        order = [axis for axis in self.axes if axis is not None]
        return Change(tuple(order.index(axis) for axis in range(len(order))))

    @property
    def cost(self) -> int:
        """Count what a reader would have to follow: axes moved, axes put in."""
        order = [axis for axis in self.axes if axis is not None]
        moved = sum(place != axis for place, axis in enumerate(order))
        return moved + 2 * self.axes.count(None)

    def _place(self, place: int) -> int:
        return -1 if place == len(self.axes) - 1 else place


def _order(order: list[int]) -> str:
    """Write an order of axes: two changed over are a transpose."""
    moved = [place for place, axis in enumerate(order) if place != axis]
    if not moved:
        return ""
    if len(moved) == 2:
        return (
            ".transpose(-2, -1)"
            if moved[1] == len(order) - 1 == moved[0] + 1
            else (f".transpose({moved[0]}, {moved[1]})")
        )
    return f".permute({', '.join(map(str, order))})"


def alike(a: Label, b: Label) -> bool:
    """Are two axes one dim by name?"""
    a, b = a.root(), b.root()
    return a is b or (a.name is not None and a.name == b.name)


def axis_of(failed: Failed, labels: Sequence[Label], wanted: Label) -> int | None:
    """Find the axis that is a dim: by its name, else the only one of that size that may be it."""
    named = [axis for axis, label in enumerate(labels) if alike(label, wanted)]
    if named:
        return named[-1]
    sized = [axis for axis, label in enumerate(labels) if label.size == wanted.size]
    if len(sized) != 1 or not may_be(failed, labels[sized[0]], wanted):
        return None
    held = pieces(labels[sized[0]])
    other = bool({dim_of(piece) for piece in held} & {"batch", "S", "heads"})
    if other and (wanted.name is None or len(held) > 1):
        return None  # a layer reads features
    return sized[0]


def dim_of(label: Label) -> str | None:
    """Return the dim that an axis is: by its name, or a share of the features by how it was made.

    ``n_embd // n_head`` is as wide as one head, whatever the variable is called.
    """
    label = label.root()
    if role(label.name or "") or label.share is None:
        return role(label.name or "")
    return "H" if dim_of(label.share[0]) in ("n_embd", "H") else None


def may_be(failed: Failed, a: Label, b: Label) -> bool:
    """May two axes of one size be one dim, under two names or none?"""
    features = {"n_embd", "H"}
    roles = {role(a.name or ""), role(b.name or "")} - {None}
    told_apart = len(roles) == 2 and roles != features
    return a.size == b.size and not told_apart and not failed.op.apart(a, b)


def moved(ndim: int, axis: int, place: int) -> Change:
    """Move one axis to a place; the others keep their order."""
    order = [other for other in range(ndim) if other != axis]
    order.insert(place % ndim, axis)
    return Change(tuple(order))


def arranged(labels: Sequence[Label], wanted: Sequence[Label]) -> Change | None:
    """Lay axes out as others stand, from the last, with new ones of 1 between; None if unnamed."""
    places: dict[int, int] = {}  # where it is wanted -> axis
    for axis in reversed(range(len(labels))):
        free = [p for p, want in enumerate(wanted) if p not in places and alike(want, labels[axis])]
        if not free:
            return None
        places[free[-1]] = axis
    first = min(places, default=0)
    return Change(tuple(places.get(place) for place in range(first, len(wanted))))


def written(failed: Failed, which: int, change: Change) -> Iterator[tuple[str, int]]:
    """Write a changed operand; one that came from a transpose also by what was transposed."""
    name = failed.names[which]
    yield change.code(name), change.cost + 2 * (not name.isidentifier())
    made = failed.op.made(which)
    if made is None or made.op not in ("transpose", "T", "permute") or not made.inputs:
        return
    source, ndim = made.inputs[0], len(made.inputs[0].shape)
    if ndim < 2 or source.name == name or None in change.axes:
        return
    order = list(range(ndim))
    if made.op == "T":
        order.reverse()
    elif made.op == "permute":
        order = list(made.params["dims"])
    else:
        i, j = made.params["dim0"], made.params["dim1"]
        order[i], order[j] = order[j], order[i]
    whole = Change(tuple(order[axis] for axis in change.axes if axis is not None))
    code = whole.code(source.name)
    if code.endswith(".transpose(-2, -1)"):
        code = f"{on(source.name)}.mT"
    yield code, whole.cost
