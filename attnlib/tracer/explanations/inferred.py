"""Sizes that are left to torch with -1: of a shape it can be only one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .clash import Candidate, Failed, on
from .cuts import word


def left_to_torch(sizes: list[int]) -> str:
    return f"-1 stands {sizes.count(-1)} times in the new shape: only one size can be left to torch"


def all_but_one(failed: Failed, shape: list[int]) -> Iterator[Candidate]:
    """Write the operand's own sizes but for the last of them, if each stands where it has one."""
    x, words = failed.infos[0], failed.op.written_sizes()
    left = [axis for axis, size in enumerate(shape) if size == -1]
    if left[-1] >= len(x.shape) or len(words) != len(shape):
        return
    front = left[-1] + 1
    new = [*x.shape[:front], *shape[front:]]
    kept = all(shape[axis] in (-1, x.shape[axis]) for axis in range(front))
    if kept and math.prod(new) == math.prod(x.shape):
        for axis in left[:-1]:
            words[axis] = word(failed, 0, axis)
        code = f"{on(x.name)}.{failed.op.name}({', '.join(words)})"
        yield Candidate(code, lambda t: t[0].reshape(new))
