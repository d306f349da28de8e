"""Where each axis of a tensor stands after an operation: by place, whatever it is called."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .operation import Operation

Places = list[int | None]  # for each axis of the input, where it stands in the result

_SHAPING = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze"}
MOVING = {"transpose", "T", "H", "permute", "movedim", "expand", "expand_as", *_SHAPING}


def moved(op: Operation) -> Places:
    """Follow the axes of the first input through an operation that moves them, or none."""
    old, new = op.inputs[0].shape, op.shape
    n = len(old)
    if op.name in _SHAPING:
        return _reshaped(old, new)
    order = list(range(n))  # which axis of the input stands at each place
    if op.name in ("T", "H"):
        order.reverse()
    elif op.name == "transpose":
        i, j = op.params["dim0"], op.params["dim1"]
        order[i], order[j] = order[j], order[i]
    elif op.name == "permute":
        order = list(op.params["dims"])
    elif op.name == "movedim":
        order = _movedim(n, op.params["source"], op.params["destination"])
    else:
        return lined_up(old, new)
    return [order.index(axis) for axis in range(n)]


def lined_up(old: Sequence[int], new: Sequence[int]) -> Places:
    """Follow axes through broadcasting: they line up from the last."""
    return [axis + len(new) - len(old) for axis in range(len(old))]


def _movedim(n: int, source: int | Sequence[int], target: int | Sequence[int]) -> list[int]:
    sources = [source] if isinstance(source, int) else list(source)
    targets = [target] if isinstance(target, int) else list(target)
    placed = dict(zip(targets, sources, strict=True))
    rest = iter(axis for axis in range(n) if axis not in sources)
    return [placed[place] if place in placed else next(rest) for place in range(n)]


def _reshaped(old: Sequence[int], new: Sequence[int]) -> Places:
    """Find the axes that a reshape leaves whole: as large, with as many numbers before them."""
    found: Places = []
    for axis, size in enumerate(old):
        before = math.prod(old[:axis])
        places = (k for k, n in enumerate(new) if n == size and math.prod(new[:k]) == before)
        place = next((k for k in places if k not in found), None)
        found.append(place)
    return found
