"""Clashes of what is written into ``x[…]`` with the place that is kept for it."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from torch import Tensor

from ..labels import Label
from ..notes import is_state
from .alignment import fits
from .broadcasting import changed
from .clash import Candidate, Failed, on


def assigned(failed: Failed, index: tuple) -> tuple[str, list[Candidate]]:
    """Lay out what is written into ``x[…]`` as the place for it stands."""
    value, mine = failed.infos[-1], failed.op.labels(failed.states[-1])
    place = _place(failed, list(index))
    if place is None:
        return "", []
    names = ", ".join(label.name or str(label.size) for label in place)
    said = f"the place has the axes ({names}) = ({', '.join(str(p.size) for p in place)}), but "
    said += value.described()
    last = len(failed.infos) - 1
    found = []
    for fit in fits(failed, mine, place):
        run = changed(failed, last, value.name, fit.run).run
        found.append(Candidate(_written(failed, fit.code(value.name)), run))
    return said, [*found, *_odd(failed, place, index)]


def _odd(failed: Failed, place: list[Label], index: tuple) -> Iterator[Candidate]:
    """Leave off the last of what is written into every second place of an odd width."""
    shape = failed.infos[-1].shape
    if len(shape) != len(place) or len(index) > len(shape) or Ellipsis in index:
        return
    for axis, part in enumerate(index):
        stepped = isinstance(part, slice) and part.step not in (None, 1)
        if stepped and shape[axis] == place[axis].size + 1:
            cut = (*[slice(None)] * axis, slice(None, -1))
            run = changed(failed, len(failed.infos) - 1, "", functools.partial(_cut, cut)).run
            code = f"{on(failed.names[-1])}[{':, ' * axis}:-1]"
            yield Candidate(_written(failed, code), run)


def _written(failed: Failed, value: str) -> str:
    """Write the statement with another value."""
    return value if failed.written is None else f"{failed.code} = {value}"


def _cut(index: tuple[slice, ...], x: Tensor) -> Tensor:
    return x[index]


def _place(failed: Failed, index: list) -> list[Label] | None:
    """Return the axes of ``x[…]`` for numbers and slices."""
    labels = failed.op.labels(failed.states[0])
    if any(is_state(part) or isinstance(part, str) for part in index):
        return None
    if Ellipsis not in index:
        index.append(Ellipsis)
    place = index.index(Ellipsis)
    used = sum(part is not None for part in index) - 1
    index[place : place + 1] = [slice(None)] * (len(labels) - used)
    found, axis = [], 0
    for part in index:
        if part is None:
            found.append(failed.op.literal(1))
            continue
        if isinstance(part, slice):
            count = len(range(*part.indices(labels[axis].size)))
            whole = count == labels[axis].size
            found.append(labels[axis] if whole else failed.op.fresh(count))
        axis += 1
    return found
