"""Axes of size 1: they come and go in a reshape unseen, and are more at other sizes."""

from __future__ import annotations

from ..labels import CODE, Label, parts

Labels = list[Label]


def is_one(label: Label) -> bool:
    """Is it a dim with a name that is 1 here and may be more elsewhere?"""
    return label.size == 1 and bool(label.root().names)


def once(label: Label, asked: Label, before: Labels, after: Labels) -> bool:
    """Is one axis the other taken once, as p of h // p windows is where the image is one window?

    Then a 1 comes or goes beside it, and the two are of one size without being one; p is a number
    of the code or of a layer, no axis of a tensor.
    """
    both = (label.root(), asked.root())
    if both[0] is both[1]:
        return False
    shares = [one.root().share for one in (*before, *after)]
    if any(share is not None and share[0].root() in both for share in shares):
        return True
    ranks = [min(one.names)[0] for one in both if one.names]
    return len(before) != len(after) and len(ranks) == 2 and max(ranks) > CODE


def with_ones(
    op, label: Label, wanted: list[Label | None], place: int, before: Labels, after: Labels
) -> Label:
    """Add to a merged axis what is 1 here and not elsewhere: b * n is no n at b = 1.

    -1 stands for a 1 that is gone, if no other 1 has come in its place.
    """
    asked = wanted[place]
    if asked is None and after:
        return label
    if asked is None:
        kept = {part for other in wanted if other is not None for part in parts(other)}
        added = [one for one in before if is_one(one) and one.root() not in kept]
    elif asked.root().names or asked.root() is label.root():
        return label
    else:
        added = [part for part in parts(asked) if is_one(part)]
    mine = set(parts(label))
    added = [one for one in added if one.root() not in mine]
    return op.symbols.product((*added, label)) if added else label


def matched(given: Labels, free: list[int], result: list[Label | None]) -> None:
    """Axes of size 1 that nothing names: matched in order when their number agrees."""
    old = [label for label in given if label.size == 1 and not label.root().names]
    free = [place for place in free if result[place] is None or result[place].root().literal]
    for place, label in zip(free, old if len(old) == len(free) else [], strict=False):
        result[place] = label
