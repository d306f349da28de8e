"""Sequences that are one step shorter than what they meet: which end was left off.

Shapes do not tell; the slices that the code wrote before do. What is predicted lacks its last
step, what it is compared with its first, and a mask is cut as the tokens are that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..rows import Step
from .clash import Failed

_OTHER_END = {"1:": ":-1", ":-1": "1:"}
_MASKS = re.compile("mask|pad|keep|valid|weight|label|target|ignore|loss", re.IGNORECASE)


def shifted(failed: Failed, which: int, axis: int) -> str | None:
    """Return the slice for an operand that is one too long; None where nothing tells."""
    x = failed.infos[which]
    mask = x.dtype.startswith(("bool", "int", "uint")) or bool(_MASKS.search(x.name))
    same: set[str] = set()
    others: set[str] = set()
    for row in _all(failed.rows):
        part = _end(row)
        if part is None or row.inputs[0].dims[part[0]] != x.dims[axis]:
            continue
        cut, source = part[1], row.inputs[0]
        if source.name == x.name or not mask or len(source.dims) != len(x.dims):
            others.add(_OTHER_END[cut])
        elif source.dims == x.dims:
            same.add(cut)
    found = same or others
    if len(found) == 1:
        return found.pop()
    return None if mask or found else ":-1"  # what comes next is mostly compared with what was


def _all(rows: list[Step]) -> Iterator[Step]:
    for row in rows:
        yield row
        yield from _all(row.steps)


def _end(row: Step) -> tuple[int, str] | None:
    """Return the axis of which a row leaves off one end, and how that is written."""
    index = row.params.get("index")
    if row.op != "getitem" or row.output is None or not isinstance(index, list):
        return None
    found = [place for place, part in enumerate(index) if part in ("1:", ":-1")]
    if len(found) != 1 or None in index:
        return None
    dots = [place for place, part in enumerate(index) if part in ("...", "Ellipsis")]
    place = found[0]
    ndim = len(row.inputs[0].shape)
    axis = place + ndim - len(index) if dots and dots[0] < place else place
    return axis, str(index[place])
