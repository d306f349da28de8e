"""Reshapes: which pieces of which axes make up each new axis.

Axes are cut into the smallest groups of equal products, from the outside in, as memory is laid
out: one axis to one keeps its label, one to many is a split, many to one a merge.
"""

from __future__ import annotations

import math

from .symbols import Label

Labels = list[Label]


def reshaped(op, given: Labels, wanted: list[Label | None]) -> Labels:
    """Label the result of a view or reshape; ``wanted`` holds the labels its sizes were given by."""
    shape = op.shape
    result: list[Label | None] = list(wanted)
    wide = [axis for axis, label in enumerate(given) if label.size != 1]
    new = [axis for axis, size in enumerate(shape) if size != 1]
    for old_group, new_group in groups([given[a].size for a in wide], [shape[a] for a in new]):
        old = [given[wide[place]] for place in old_group]
        places = [new[place] for place in new_group]
        for place, label in zip(places, _group(op, old, places, wanted), strict=True):
            result[place] = label
    _ones(op, given, shape, result)
    return [
        label if label is not None else op.fresh(size)
        for label, size in zip(result, shape, strict=True)
    ]


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


def _group(op, old: Labels, places: list[int], wanted: list[Label | None]) -> list[Label | None]:
    asked = [wanted[place] for place in places]
    if len(old) == len(places) == 1:
        return [_one(op, old[0], asked[0])]
    if len(old) == 1:
        return _split(op, old[0], [op.shape[place] for place in places], asked)
    if len(places) == 1:
        merged = op.symbols.product(old)
        return [_one(op, merged, asked[0])]
    return _mixed(op, old, [op.shape[place] for place in places], asked)


def _one(op, label: Label, asked: Label | None) -> Label:
    if asked is not None and not asked.root().literal:
        op.join(label, asked)
        return asked if label.root().name is None else label
    return label


def _split(op, whole: Label, sizes: list[int], asked: list[Label | None]) -> Labels:
    """Split one axis: by the sizes' own names, by what is known of it, or by what is left."""
    known = _known_parts(op, whole, sizes)
    parts = []
    for place, size in enumerate(sizes):
        part = asked[place]
        if known is not None and (part is None or part.root().literal):
            part = known[place]
        parts.append(part)
    missing = [place for place, part in enumerate(parts) if part is None]
    for place in missing:
        others = [part for part in parts if part is not None]
        if len(missing) == 1:
            parts[place] = op.symbols.quotient(whole, others, sizes[place])
        else:
            parts[place] = op.fresh(sizes[place])
    op.symbols.define(whole, parts)
    return parts


def _known_parts(op, whole: Label, sizes: list[int]) -> Labels | None:
    factors = whole.root().factors
    if factors is None or [factor.size for factor in factors] != sizes:
        return None
    return list(factors)


def _mixed(op, old: Labels, sizes: list[int], asked: list[Label | None]) -> list[Label | None]:
    """Take axes apart and put the pieces together again in one go."""
    flat = [part for label in old for part in op.symbols.parts(label)]
    if len(flat) > len(old) or len(flat) == len(sizes):
        flat_groups = groups([part.size for part in flat], sizes)
        if all(len(mine) == 1 or len(its) == 1 for mine, its in flat_groups):
            result: list[Label | None] = []
            for mine, its in flat_groups:
                labels = [flat[place] for place in mine]
                if len(its) == 1:
                    result.append(_one(op, op.symbols.product(labels), asked[its[0]]))
                else:
                    result += _split(
                        op, labels[0], [sizes[p] for p in its], [asked[p] for p in its]
                    )
            return result
    op.glued(old, sizes, asked)
    pieces = refined([label.size for label in old], sizes)
    result = []
    for place, size in enumerate(sizes):
        piece = pieces[place] if pieces else None
        if piece is not None and len(piece) == 1 and old[piece[0][0]].size == size == piece[0][1]:
            result.append(old[piece[0][0]])
        else:
            result.append(op.fresh(size))
    return result


def refined(old: list[int], new: list[int]) -> list[list[tuple[int, int]]] | None:
    """For every new axis, the (old axis, piece of it) that make it up; None if cuts cross."""
    pieces, axis, left = [], 0, old[0]
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
        pieces.append(mine)
    return pieces


def _ones(op, given: Labels, shape, result: list[Label | None]) -> None:
    """Axes of size 1: matched by what the code calls them, or in order when their number agrees."""
    old = [label for label in given if label.size == 1]
    new = [place for place, size in enumerate(shape) if size == 1]
    free = [place for place in new if result[place] is None or result[place].root().literal]
    named = {result[place].root() for place in new if place not in free}
    old = [label for label in old if label.root() not in named]
    for place, label in zip(free, old if len(old) == len(free) else [], strict=False):
        result[place] = label
