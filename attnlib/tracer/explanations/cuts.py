"""Operands that are longer than what they meet: a table cut to the tokens, one step left off."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from ...dims import role
from ..labels import Label
from .changes import alike, may_be
from .clash import Failed, on
from .steps import shifted

_WIDTHS = {"batch", "n_embd", "H", "heads"}  # never cut
_WIDE = re.compile("head|dim|embd|hidden|width|feat|vocab|class|chan|expert|group|batch|model")
_BOUND = re.compile("max|block|ctx|context|window|len|limit|cap|pos", re.IGNORECASE)


@dataclass(frozen=True)
class Cut:
    """The part of each axis that stays, as code and as slices."""

    parts: tuple[str, ...]
    index: tuple[slice, ...]

    def code(self, name: str) -> str:
        parts = list(self.parts)
        while parts[-1] == ":":
            parts.pop()
        shorter = self._ends(name, parts)
        if shorter is not None:
            return shorter
        return f"{on(name)}[{', '.join(parts)}]"

    def _ends(self, name: str, parts: list[str]) -> str | None:
        """Write ``x[:n]`` that ends elsewhere as one slice, where it ended in a wrong place."""
        node = _parsed(name)
        node = node.body if isinstance(node, ast.Expression) else node
        if not isinstance(node, ast.Subscript):
            return None
        given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(given) < len(parts):
            return None
        for place, part in enumerate(parts):
            old = given[place]
            if not isinstance(old, ast.Slice) or old.lower or old.step:
                return None
            if part != ":":
                if old.upper is None or not part.startswith(":") or part.startswith(":-"):
                    return None
                old.upper = ast.parse(part[1:], mode="eval").body
        return f"{ast.unparse(node.value)}[{', '.join(map(ast.unparse, given))}]"

    def run(self, x: Tensor) -> Tensor:
        return x[self.index]


def cuts(failed: Failed, which: int, other: int) -> Iterator[Cut]:
    """Yield the cut that makes one operand as long as the other, where the names speak for it."""
    mine, wanted = (failed.op.labels(failed.states[i]) for i in (which, other))
    if len(mine) > len(wanted):
        yield from _first_row(failed, which, mine, wanted)
        return
    offset = len(wanted) - len(mine)
    under = wanted[offset:]
    square = _square(mine)  # its rows are cut to one query too
    longer = [
        a
        for a, (m, w) in enumerate(zip(mine, under, strict=True))
        if m.size > w.size and (w.size != 1 or (square and a == len(mine) - 2))
    ]
    rest = [pair for a, pair in enumerate(zip(mine, under, strict=True)) if a not in longer]
    if not longer or not all(m.size == 1 or alike(m, w) or may_be(failed, m, w) for m, w in rest):
        return
    if not all(_may_be_cut(failed, which, mine, under, axis, offset) for axis in longer):
        return
    parts, index = [":"] * len(mine), [slice(None)] * len(mine)
    for axis in longer:
        part = _part(failed, which, other, axis, axis + offset)
        if part is None:
            return
        parts[axis], index[axis] = part
    for axis in longer:  # one length is written in one way
        same = [parts[a] for a in longer if alike(under[a], under[axis])]
        same = [part for part in same if not part[1:].isdigit()]
        if parts[axis][1:].isdigit() and same:
            parts[axis] = same[0]
    rows, keys = len(mine) - 2, len(mine) - 1
    if (
        longer == [rows, keys] and square and under[rows].size < under[keys].size
    ):  # new queries are the last rows of the keys they see
        rest_, all_ = word(failed, other, rows + offset), word(failed, other, keys + offset)
        parts[rows] = f"{minus(all_, rest_)}:{all_}"
        index[rows] = slice(under[keys].size - under[rows].size, under[keys].size)
    yield Cut(tuple(parts), tuple(index))


def _first_row(failed: Failed, which: int, mine: list[Label], wanted: list[Label]) -> Iterator[Cut]:
    """Leave off a class token that was put in front of the rows that a table is for."""
    front = len(mine) - len(wanted)
    pairs = list(enumerate(zip(mine[front:], wanted, strict=True), front))
    apart = [axis for axis, (m, w) in pairs if m.size != w.size and 1 not in (m.size, w.size)]
    if len(apart) != 1 or not _first(failed, which, apart[0]):
        return
    (axis,) = apart
    if mine[axis].size == wanted[axis - front].size + 1:
        index, parts = [slice(None)] * len(mine), [":"] * len(mine)
        index[axis], parts[axis] = slice(1, None), "1:"
        yield Cut(tuple(parts), tuple(index))


def _may_be_cut(
    failed: Failed, which: int, mine: list[Label], under: list[Label], axis: int, offset: int
) -> bool:
    a, b = mine[axis], under[axis]
    names = a.name or "", b.name or ""
    if {part_of(mine, axis), part_of(under, axis)} & _WIDTHS or any(map(_WIDE.search, names)):
        return False
    if a.size - b.size == 1 and not offset:
        return not failed.states[which].identity.weight or axis < len(mine) - 1
    if (_square(mine) and axis >= len(mine) - 2) or _BOUND.search(names[0]):
        return True
    # a table that knows nothing of the batch; its last axis are features
    table = offset > 0 or mine[0].size == 1
    return (table and axis < len(mine) - 1) or role(names[0]) == role(names[1]) == "S"


def _square(mine: list[Label]) -> bool:
    """Is it a mask of positions by positions?"""
    if len(mine) < 2:
        return False
    a, b = mine[-2:]
    return alike(a, b) or (a.size == b.size and not (a.name or b.name))


def _part(
    failed: Failed, which: int, other: int, axis: int, place: int
) -> tuple[str, slice] | None:
    mine, wanted = failed.infos[which], failed.infos[other]
    size = wanted.shape[place]
    if mine.shape[axis] - size == 1 and len(mine.shape) == len(wanted.shape) and mine.shape[0] != 1:
        if _first(failed, which, axis):
            return "1:", slice(1, None)
        cut = one_off(failed, which, axis)
        return None if cut is None else (cut.parts[axis], cut.index[axis])
    return f":{word(failed, other, place)}", slice(size)


def one_off(failed: Failed, which: int, axis: int) -> Cut | None:
    """Leave off one step of an operand: the end that the code's own slices speak for."""
    text = shifted(failed, which, axis)
    if text is None:
        return None
    parts, index = [":"] * (axis + 1), [slice(None)] * (axis + 1)
    parts[axis], index[axis] = text, slice(1, None) if text == "1:" else slice(None, -1)
    return Cut(tuple(parts), tuple(index))


def _first(failed: Failed, which: int, axis: int) -> bool:
    """Was something of one row put in front, as a class token is?"""
    made = failed.op.made(which)
    return (
        made is not None
        and made.op == "cat"
        and made.params.get("dim", 0) == axis
        and made.inputs[0].shape[axis] == 1
    )


def part_of(labels: Sequence[Label], axis: int) -> str | None:
    """Return the role of an axis; N is the batch where it stands first, the tokens behind it."""
    found = role(labels[axis].name or "")
    roles = [role(label.name or "") for label in labels]
    return "S" if found == "batch" and "batch" in roles[:axis] else found


def word(failed: Failed, which: int, axis: int) -> str:
    """Write a size as a variable that holds it, or as the tensor's own."""
    found, info = failed.word(which, axis), failed.infos[which]
    if not found.isdigit():
        return found
    if info.name.isidentifier():
        return f"{info.name}.shape[{axis}]"
    place = axis % len(info.shape)
    for name, x in failed.scope.mentioned(_parsed(info.name)).items():  # what it was made of
        if (
            name.isidentifier()
            and x.dim() > place
            and x.shape[: place + 1] == info.shape[: place + 1]
        ):
            return f"{name}.shape[{place}]"
    return found


def _parsed(name: str) -> ast.AST:
    try:
        return ast.parse(name, mode="eval")
    except SyntaxError:
        return ast.Tuple([], ast.Load())


def minus(whole: str, part: str) -> str:
    if whole.isdigit() and part.isdigit():
        return str(int(whole) - int(part))
    return f"{whole} - {part}"
