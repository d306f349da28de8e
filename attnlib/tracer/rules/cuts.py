"""Where memory is cut: groups of axes of equal products, and the pieces that make up each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..labels import Label, parts

Labels = list[Label]


def groups(old: list[int], new: list[int]) -> list[tuple[list[int], list[int]]]:
    """Cut two shapes of one size into the smallest groups of equal products."""
    found, i, j = [], 0, 0
    if 0 in old or 0 in new:
        return [(list(range(len(old))), list(range(len(new))))]
    while i < len(old) and j < len(new):
        left, right, first, second = old[i], new[j], i, j
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(old):
                left, i = left * old[i], i + 1
            elif right < left and j < len(new):
                right, j = right * new[j], j + 1
            else:
                break
        found.append((list(range(first, i)), list(range(second, j))))
    return found


def refined(old: list[int], new: list[int]) -> list[list[tuple[int, int]]] | None:
    """For every new axis, the (old axis, piece of it) that make it up; None if cuts cross."""
    made_of: list[list[tuple[int, int]]] = []
    axis, left = 0, old[0]
    for size in new:
        need, mine = size, []
        while need > 1:
            if left == 1:
                axis += 1
                if axis == len(old):
                    return None
                left = old[axis]
            step = math.gcd(need, left)
            if step not in (need, left):
                return None
            mine.append((axis, step))
            need, left = need // step, left // step
        made_of.append(mine)
    return made_of


def orders(old: Labels, asked: Sequence[Label | None]) -> Iterator[Labels]:
    """Yield the pieces that axes are known as, in the orders in which they may lie in memory.

    Python's ``t // 2`` does not say what lies outside. What is asked for may: in (t // 2, 2 * c)
    the 2 lies inside.
    """
    known = [parts(label) for label in old]
    open_ = [place for place, label in enumerate(old) if _by_python(label)]
    wanted = [label for label in asked if label is not None]
    if open_ and len(wanted) == len(asked):
        turned = [part for place, row in enumerate(known)
                  for part in (reversed(row) if place in open_ else row)]  # fmt: skip
        fitting = groups([part.size for part in turned], [label.size for label in wanted])
        whole = {label.root() for label in wanted if not label.root().literal}
        told = any(part in whole for place in open_ for part in known[place])
        if (
            told
            and len(fitting) == len(wanted)
            and all(
                len(mine) > 1 or turned[mine[0]] in {wanted[its[0]].root(), *parts(wanted[its[0]])}
                for mine, its in fitting
            )
        ):
            yield turned
    flat = [part for row in known for part in row]
    if len(flat) > len(old) or len(flat) == len(asked):
        yield flat


def _by_python(label: Label) -> bool:
    """Was an axis taken apart by a division alone, the number before the rest?"""
    apart = parts(label)
    return not label.root().laid and len(apart) == 2 and apart[0].literal and not apart[1].literal
