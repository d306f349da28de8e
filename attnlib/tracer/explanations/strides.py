"""Views that memory has no order for: the axes moved to where they are asked for, or a copy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from ..rows import TensorInfo
from .changes import Change, written
from .clash import Candidate, Failed, Tensors, on


def copied(failed: Failed, x: TensorInfo, shape: list[int]) -> Iterator[Candidate]:
    """Suggest ``reshape``; where axes are asked for in another order, only after moving them."""
    words = failed.op.written_sizes() or list(map(str, shape))
    yield from _split(failed, x, shape, words)
    yield from _merged(failed, x, shape, words)
    code = f"{on(x.name)}.reshape({', '.join(words)})"
    yield Candidate(code, lambda t: t[0].reshape(shape))


def _split(
    failed: Failed, x: TensorInfo, shape: list[int], words: list[str]
) -> Iterator[Candidate]:
    """Split the last axis where it lies, then move what it was split into: heads before tokens."""
    if len(words) != len(shape) != len(x.shape) + 1 or -1 in shape:
        return
    orders = set()
    for pair in combinations(range(len(shape)), 2):
        rest = [place for place in range(len(shape)) if place not in pair]
        order = (*rest, *pair)
        if tuple(shape[p] for p in rest) == x.shape[:-1]:
            orders.add(order)
    if len(orders) != 1:
        return  # sizes alone say more than one thing
    (order,) = orders
    sizes = [shape[place] for place in order]
    back = Change(order).back()
    view = f"{on(x.name)}.{failed.op.name}({', '.join(words[place] for place in order)})"
    yield Candidate(back.code(view), lambda t: back.run(t[0].reshape(sizes)))


def _merged(
    failed: Failed, x: TensorInfo, shape: list[int], words: list[str]
) -> Iterator[Candidate]:
    """Move the axes that are asked for to the front; those that are merged stay in their order."""
    front = shape[:-1]
    if len(front) >= len(x.shape) or -1 in front or len(x.shape) > 5:
        return
    found = []
    for chosen in permutations(range(len(x.shape)), len(front)):
        rest = [axis for axis in range(len(x.shape)) if axis not in chosen]
        if _taken(x.shape, chosen) == front and shape[-1] in (-1, math.prod(_taken(x.shape, rest))):
            found.append(Change((*chosen, *rest)))
    if len(found) != 1 or not found[0].cost:
        return
    (change,) = found
    text = change.code(x.name)
    if not x.name.isidentifier():
        text, _ = min(written(failed, 0, change), key=lambda option: option[1])

    def run(t: Tensors):
        return change.run(t[0]).reshape(shape)

    yield Candidate(f"{text}.reshape({', '.join(words)})", run)


def _taken(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    return [shape[axis] for axis in axes]
