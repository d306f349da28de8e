"""How an operand has to lie so that its axes stand under those of another, read off the names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from ..labels import Label
from .changes import Change, alike, dim_of, may_be
from .clash import Failed, on

_MOST = 3  # corrections that are tried


@dataclass(frozen=True)
class Fit:
    """Axes of 1 that go away, and where the others stand."""

    dropped: tuple[int, ...]
    change: Change

    def code(self, name: str) -> str:
        last = len(self.dropped) + sum(axis is not None for axis in self.change.axes) - 1
        for axis in reversed(self.dropped):
            name = f"{on(name)}.squeeze({-1 if axis == last else axis})"
            last -= 1
        return self.change.code(name) if self.change.axes else name

    def run(self, x: Tensor) -> Tensor:
        x = x.squeeze(self.dropped) if self.dropped else x
        return self.change.run(x)


def fits(failed: Failed, mine: Sequence[Label], wanted: Sequence[Label]) -> list[Fit]:
    """Find the ways to lay ``mine`` under ``wanted``, the likeliest first."""
    real = [axis for axis, label in enumerate(mine) if label.size != 1]
    ranked = []
    for places in _places(failed, [mine[axis] for axis in real], wanted):
        if not _may_lie(mine, real, wanted, places):
            continue
        pairs = [(mine[axis], place) for axis, place in zip(real, places, strict=True)]
        named = sum(alike(label, wanted[place]) for label, place in pairs)
        free = sum(1 + place for label, place in pairs if wanted[place].size != label.size)
        turned = sum(a > b for k, a in enumerate(places) for b in places[k + 1 :])
        ranked.append((-named, free, turned, tuple(-place for place in places), places))
    ranked.sort()
    if not ranked:
        return []
    if not ranked[0][0] and len(ranked) > 1:
        return []  # sizes alone say more than one thing
    best = [rank[-1] for rank in ranked if rank[:2] == ranked[0][:2]][:_MOST]
    found = [_fit(mine, dict(zip(places, real, strict=True)), len(wanted)) for places in best]
    return [fit for fit in found if fit.dropped or fit.change.axes != tuple(range(len(mine)))]


def _may_lie(
    mine: Sequence[Label], real: Sequence[int], wanted: Sequence[Label], places: Sequence[int]
) -> bool:
    """Does nothing but a wrong size speak for moving the axes there?

    What has 1 where the samples stand is the same for all of them; of tokens that stand where
    tokens are met, and are too few, the number is wrong and not the place.
    """
    if len(mine) != len(wanted):
        return True
    for axis, place in zip(real, places, strict=True):
        if not alike(mine[axis], wanted[place]):
            here, there = dim_of(mine[axis]), dim_of(wanted[place])
            if (there == "batch" and mine[place].size == 1) or (
                here == "batch" and wanted[axis].size == 1
            ):
                return False
    rows = [[label for label in row if label.size > 1] for row in (mine, wanted)]
    if all([dim_of(label) for label in row].count("S") > 1 for row in rows):
        return True
    return not any(
        dim_of(a) == dim_of(b) == "S" and a.size != b.size and 1 not in (a.size, b.size)
        for a, b in zip(mine, wanted, strict=True)
    )


def _places(
    failed: Failed, real: Sequence[Label], wanted: Sequence[Label], taken: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield where each axis may stand, every place taken once."""
    if not real:
        yield taken
        return
    for place, label in enumerate(wanted):
        fit = alike(real[0], label) and real[0].size == label.size
        fit = fit or label.size == 1 or may_be(failed, real[0], label)  # a 1 may grow
        if place not in taken and fit:
            yield from _places(failed, real[1:], wanted, (*taken, place))


def _fit(mine: Sequence[Label], real: dict[int, int], count: int) -> Fit:
    """Fill the places between with the axes of 1 that are there, and new ones where they lack."""
    ones = [axis for axis, label in enumerate(mine) if label.size == 1]
    axes: list[int | None] = [real.get(place) for place in range(count)]
    for place in reversed(range(count)):
        after = [axis for axis in axes[place + 1 :] if axis is not None]
        before = [axis for axis in axes[:place] if axis is not None]
        if axes[place] is None and ones:
            # one that already stands between its neighbours stays there
            inner = [one for one in ones if all(one > b for b in before)]
            inner = [one for one in inner if all(one < a for a in after)]
            if inner:
                axes[place] = inner[-1]
                ones.remove(inner[-1])
    for place in reversed(range(count)):
        if axes[place] is None and ones and place > min(real, default=0):
            axes[place] = ones.pop()
    while axes and axes[0] is None:
        axes.pop(0)
    dropped = tuple(sorted(ones))
    left = [axis for axis in range(len(mine)) if axis not in dropped]
    return Fit(dropped, Change(tuple(None if a is None else left.index(a) for a in axes)))
