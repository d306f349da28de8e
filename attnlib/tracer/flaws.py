"""Weights that add up to 1 over no axis that a product could sum over, and why, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..dims import role

Told = tuple[str, tuple[str, str]]  # a message, and the two dims


def called(word: str, axis: int) -> str:
    """Write an axis: by its name and place, by its place alone where it has no name."""
    return f"axis {axis}" if word.isdigit() else f"{word} (axis {axis})"


@dataclass(frozen=True)
class Place:
    """Where weights go wrong: their axes in words and sizes, what a product sums over, its code."""

    words: Sequence[str]
    sizes: Sequence[int]
    pair: tuple[int, ...]
    axis: int
    code: str  # of the product, with its line

    def called(self, axis: int) -> str:
        return called(self.words[axis], axis)

    @property
    def all(self) -> str:
        return f"({', '.join(self.words)})"

    @property
    def dims(self) -> tuple[str, str]:
        """Return the two sets that were compared, the one that is summed over last."""
        other = next(axis for axis in self.pair if axis != self.axis)
        return self.words[other], self.words[self.axis]

    @property
    def correction(self) -> str:
        return f"divide by the sum with dim={self.axis - len(self.words)}, keepdim=True"


@dataclass(frozen=True)
class Displaced:
    """Divided by sums that stand along the very axis that they are over."""

    summed: int

    def told(self, at: Place) -> Told | None:
        return (
            f"this divides by the sum over {at.called(self.summed)} of {at.all}, but along that "
            f"very axis: each number meets the sum of another row, and the shares that {at.code} "
            f"mixes do not add up to 1; try: {at.correction}"
        ), at.dims


@dataclass(frozen=True)
class Joint:
    """Divided by one sum over both sets, and maybe over all samples."""

    axes: tuple[int, ...]

    def told(self, at: Place) -> Told | None:
        """Say so, unless each sample is one table of two sets: its pairs may be what is shared."""
        more = [axis for axis in self.axes if axis not in at.pair and at.sizes[axis] > 1]
        first, second = at.dims
        if not more and not (first == second and role(first) == "S"):
            return None
        over = [at.words[axis] for axis in self.axes]
        whole = "all" if len(over) == len(at.words) else f"{', '.join(over[:-1])} and {over[-1]}"
        return (
            f"this makes the weights add up to 1 over {whole} of {at.all}, but {at.code} sums over "
            f"{at.called(at.axis)} alone: the shares of a row add up to less than 1; "
            f"try: {at.correction}"
        ), (at.words[more[-1]] if more else first, second)


@dataclass(frozen=True)
class Scaled:
    """Scaled after the softmax by what scores are scaled by."""

    factor: float

    def told(self, at: Place) -> Told | None:
        return (
            f"this scales weights that add up to 1 over {at.called(at.axis)} of {at.all}: the "
            f"shares that {at.code} mixes add up to {self.factor:.3g}; scale the scores, before "
            "the softmax"
        ), at.dims


@dataclass(frozen=True)
class Alone:
    """Summed by a letter that the values do not have."""

    letter: str

    def told(self, at: Place) -> Told | None:
        return (
            f"this sums the weights over {at.called(at.axis)} of {at.all} by themselves, where "
            f"they add up to 1, so they drop out: the letter {self.letter} stands in no other "
            "operand; the values must have it"
        ), at.dims


Flaw = Displaced | Joint | Scaled | Alone
