"""Rows that repeat, layer after layer or head after head, are told once.

They repeat where they say the same up to a number in their names, which counts on evenly:
``layers.0``, ``layers.1``, ``layers.2``. Other weights or other variables are no repeat: the one
line that takes ``Wk`` for ``Wv`` must be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .rows import Step

FEWEST = 5  # rows; fewer are not worth the reader's question what stood there
LOOKED_AT = 12  # earlier rows of the same kind: a layer may hold as many

Row = dict[str, str]
_NUMBER = re.compile(r"(\d{1,9})")  # a longer one is read in parts


def shown(rows: list[Row], steps: Sequence[Step]) -> list[Row | str]:
    """Return the rows that are shown, and what is said in place of those that repeat."""
    told: list[Row | str] = []
    repeats = _Repeats(rows, steps)
    seen: dict[tuple, list[int]] = {}  # where rows like this one stood before
    place = 0
    while place < len(rows):
        before = seen.setdefault(repeats.signs[place], [])
        period, times = repeats.found(before[-LOOKED_AT:], place)
        before.append(place)
        if times * period < FEWEST:
            told.append(rows[place])
            place += 1
            continue
        what = "this row" if period == 1 else f"these {period} rows"
        place += times * period
        told.append(f"{what} {times} more time{'s' if times > 1 else ''}")
    return told


class _Repeats:
    """The rows of a table, compared."""

    def __init__(self, rows: list[Row], steps: Sequence[Step]) -> None:
        self.signs = [
            tuple([cell for name, cell in row.items() if name not in ("inputs", "variable")])
            for row in rows
        ]
        self._variables = [step.variable or "" for step in steps]
        self._inputs = [[info.name for info in step.inputs] for step in steps]
        self._results = [
            {step.variable, *[info.name for info in step.outputs]} - {None} for step in steps
        ]
        self._cut: dict[str, list[str]] = {}  # names, cut at their numbers

    def found(self, before: list[int], place: int) -> tuple[int, int]:
        """Say how many rows before this one repeat from here on, and how often; most wins."""
        best = (1, 0)
        for start in before:
            period, times = place - start, 0
            while self._again(start, period, times + 1):
                times += 1
            best = max(best, (period, times), key=lambda found: found[0] * found[1])
        return best

    def _again(self, start: int, period: int, nth: int) -> bool:
        """Do the rows from ``start`` on repeat, for the ``nth`` time, where they would?"""
        now = start + nth * period
        if self.signs[start : start + period] != self.signs[now : now + period]:
            return False
        given: dict[str, str] = {}  # what the first rows take -> what the ones before these made
        made = set().union(*self._results[now - period : now])
        for first in range(start, start + period):
            this, last = first + nth * period, first == start + period - 1
            variables = [self._variables[row] for row in (first, first + period, this)]
            if not self._counts_on(variables, nth) and not (last and self._unnamed(this)):
                return False
            rows = [self._inputs[row] for row in (first, first + period, this)]
            if len(rows[0]) != len(rows[2]):
                return False
            for names in zip(*rows, strict=True):
                if not self._counts_on(names, nth) and (
                    names[2] not in made or given.setdefault(names[0], names[2]) != names[2]
                ):
                    return False
        return True

    def _unnamed(self, place: int) -> bool:
        """Does a row's value land in no variable, or only in what the whole code returns?"""
        name = self._variables[place]
        return not name or (name == "output" and place == len(self._variables) - 1)

    def _counts_on(self, names: Sequence[str], nth: int) -> bool:
        """Are three names, of the first rows, the next and the nth, one but for a number?

        It grows by as much each time.
        """
        if names[0] == names[1] == names[2]:
            return True
        first, after, this = map(self._parts, names)
        if not first[::2] == after[::2] == this[::2]:
            return False
        numbers = zip(first[1::2], after[1::2], this[1::2], strict=True)
        return all(int(c) - int(a) == nth * (int(b) - int(a)) for a, b, c in numbers)

    def _parts(self, name: str) -> list[str]:
        if name not in self._cut:
            self._cut[name] = _NUMBER.split(name)
        return self._cut[name]
