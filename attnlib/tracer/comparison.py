"""Two runs side by side: are the rows at other sizes what the dims of the first run say?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from .plain import readable
from .rows import Record, Step, TensorInfo, flat


@dataclass(frozen=True)
class Mismatch:
    """A row whose shape at other sizes is not what its dims say."""

    line: int | None
    code: str
    dims: tuple[str, ...]
    expected: tuple[int, ...]
    found: tuple[int, ...]


@dataclass(frozen=True)
class Check:
    """What running again showed: ``mismatches``, or the ``reason`` why it is ``unchecked``.

    ``dims`` are those that took other sizes and were compared; ``numbers`` are the rows in which an
    axis that is shown as a number took another size too; ``skipped`` counts rows inside library
    calls that do other operations where there are no numbers. ``warnings`` counts those of the
    trace itself: dims may hold in code that is wrong.
    """

    mismatches: tuple[Mismatch, ...] = ()
    unchecked: bool = False
    reason: str = ""
    sizes: tuple[tuple[str, int], ...] = ()  # the dims that were changed
    dims: tuple[str, ...] = ()
    numbers: tuple[Mismatch, ...] = ()
    skipped: int = 0
    warnings: int = 0

    def __bool__(self) -> bool:
        return not self.mismatches and not self.unchecked

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes) or "the same sizes"
        standing = _standing(self.warnings)
        if self.unchecked:
            return f"not checked at {at}: {self.reason}" + (standing and f"; {standing}")
        if not self.mismatches:
            lines = [f"checked at {at}: every row's dims hold" + (standing and f", but {standing}")]
        else:
            rows = f"checked at {at}: {len(self.mismatches)} rows differ"
            lines = [rows + (standing and f", and {standing}")]
        lines += [
            f"  line {m.line}: {m.code}: ({', '.join(m.dims)}) should be {m.expected}, is {m.found}"
            for m in self.mismatches
        ]
        if self.dims:
            lines.append(f"  of another size, and compared: {', '.join(self.dims)}")
        for m in self.numbers:
            lines.append(
                f"  line {m.line}: ({', '.join(m.dims)}) has a number that became {m.found}"
            )
        if self.skipped:
            lines.append(f"  not compared: {self.skipped} rows inside calls of a library")
        return readable("\n".join(lines))


def _standing(warnings: int) -> str:
    if warnings < 2:
        return "1 warning of the trace stands" if warnings else ""
    return f"{warnings} warnings of the trace stand"


def compare(
    first: Record, second: Record, new: dict[str, int], changed: tuple[tuple[str, int], ...]
) -> Check:
    """Compare two traces of the same code row by row; ``new`` are the sizes of the second."""
    pairs, skipped = _pairs(first, second), 0
    if pairs is None:
        before, after = (len(list(flat(trace.steps))) for trace in (first, second))
        reason = f"{before} operations became {after}, or others, at these sizes"
        return Check((), True, reason, changed)
    # What the code counts itself (B_ // nW windows, t after t = t + 1) is what it counts now.
    given = {part for dim, _ in _input_axes(first) for part in (dim, *_compound(dim))}
    new = {name: n if name in given else second.sizes.get(name, n) for name, n in new.items()}
    inputs = {pair for pair in _input_axes(first) if pair[0] in new}
    unsure = {name for name, _ in second._refused} - given
    bound: dict[tuple[str, int], int] = {pair: new[pair[0]] for pair in inputs}
    wrong: list[Mismatch] = []
    numbers: dict[tuple, Mismatch] = {}
    moved: dict[str, None] = {}
    for old, now in pairs:
        if now is None:
            skipped += 1
            continue
        for mine, its in zip(old.outputs, now.outputs, strict=False):
            expected = _expected(mine, its.shape, new, bound, second._refused, unsure)
            if expected != its.shape:
                wrong.append(Mismatch(old.line, old.code, mine.dims, expected, its.shape))
                continue
            axes = list(zip(mine.dims, mine.shape, its.shape, strict=True))
            moved.update({dim: None for dim, size, to in axes if size != to and not dim.isdigit()})
            if any(dim.isdigit() and size != to for dim, size, to in axes):
                odd = Mismatch(old.line, old.code, mine.dims, mine.shape, its.shape)
                numbers.setdefault((old.line, mine.dims), odd)
    return Check(tuple(wrong), False, "", changed, tuple(moved), tuple(numbers.values()), skipped)


def _input_axes(trace: Record) -> Iterator[tuple[str, int]]:
    for step in trace.steps:
        for info in step.outputs if step.kind == "input" else ():
            yield from zip(info.dims, info.shape, strict=True)


def _pairs(first: Record, second: Record) -> list[tuple[Step, Step | None]] | None:
    """Pair the rows; None when the runs did not do the same.

    Inside one call of a library (an optimizer's step, the clipping of gradients) torch may choose
    other operations where there are no numbers; those rows have no partner.
    """
    before, after = _runs(first), _runs(second)
    if [place for place, _ in before] != [place for place, _ in after]:
        return None
    found: list[tuple[Step, Step | None]] = []
    for (place, mine), (_, its) in zip(before, after, strict=True):
        if [step.op for step in mine] == [step.op for step in its]:
            found += zip(mine, its, strict=True)
        elif place[0]:
            found += [(step, None) for step in mine]
        else:
            return None
    return found


def _runs(trace: Record) -> list[tuple[tuple, list[Step]]]:
    """Cut a trace into rows, and runs of rows that one expression did inside a library."""

    def place(row: tuple[int, Step]) -> tuple:
        at, step = row
        inside = at in trace._inside
        return (inside, step.file, step.line, step.expression if inside else at)

    rows = groupby(enumerate(flat(trace.steps)), key=place)
    return [(key[:3], [step for _, step in run]) for key, run in rows]


def _expected(
    mine: TensorInfo,
    found: tuple[int, ...],
    new: dict[str, int],
    bound: dict[tuple[str, int], int],
    refused: set[tuple[str, int]],
    unsure: set[str],
) -> tuple[int, ...]:
    """Work out a shape; a dim that no input has takes its size where it first comes up.

    So does one that an input has at another size: in a loop that makes ``ids`` longer, T grows.
    A name that is two dims of one size, and of two at the new sizes, is the fault of no row: the
    second run has seen it, and called one of them otherwise.
    """
    if len(found) != len(mine.shape):
        return mine.shape
    for dim, size, to in zip(mine.dims, mine.shape, found, strict=True):
        if dim.isidentifier():
            bound.setdefault((dim, size), to)
    return tuple(
        to
        if dim.isdigit() or (dim, to) in refused or not unsure.isdisjoint(_compound(dim))
        else size_of(dim, size, _Sizes(bound, new, size))
        for dim, size, to in zip(mine.dims, mine.shape, found, strict=True)
    )


def _compound(dim: str) -> list[str]:
    """Return the names that a product or a quotient is made of."""
    return [] if dim.isidentifier() else re.split(r"\*|//", dim)


def size_of(dim: str, size: int, new: dict[str, int]) -> int:
    """Work out a dim at the new sizes: a name, a product of names, or a number that stays."""
    result = 1
    for part in dim.split("*"):
        whole, _, below = part.partition("//")
        above, under = (
            int(word) if word.isdigit() else new.get(word) for word in (whole, below or "1")
        )
        if above is None or not under or above % under:
            return size
        result *= above // under
    return result


class _Sizes(dict):
    """Sizes by name: an input's, or the one that a name had where it was of this size."""

    def __init__(self, bound: dict, new: dict, size: int) -> None:
        super().__init__(new)
        self.update({name: found for (name, at), found in bound.items() if at == size})
