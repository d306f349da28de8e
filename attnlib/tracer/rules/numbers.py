"""Plain numbers in a reshape: which named dims they can only be.

A number names nothing: 5 may be the tokens or the heads. So it is read as a dim only where the
reshape, whatever its sizes are called, tears axes apart and puts an inner piece of one beside an
outer piece of the next, and where the number is the size of one named axis alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dims import role
from ..labels import Label, laid, pieces
from .cuts import refined

Labels = list[Label]


def supposed(
    old: Labels, sizes: Sequence[int], asked: list[Label | None], *, flat: bool
) -> list[Label | None]:
    """Return what a reshape asks for, with dims in place of the numbers that are their sizes.

    Rows and columns that are turned round may be shifted against each other, as relative positions
    are: one of the axes must be of another kind, or split in numbers. Samples of tokens without
    features (``flat``) may be one text, cut anew.
    """
    if not _torn([label.size for label in old], list(sizes)):
        return asked
    held = [piece for label in old for piece in laid(label)]
    kinds = {role(name) for piece in held for *_, name, _ in piece.root().names}
    plain = {"S", "batch", None} if flat else {"S", None}
    if kinds <= plain and sum(piece.literal for piece in held) < 2:
        return asked
    found, taken = list(asked), {label.root() for label in asked if label is not None}
    for place, label in enumerate(asked):
        alike = [piece for piece in held if piece.size == sizes[place]]
        alone = len(alike) == [*sizes].count(sizes[place]) == 1
        if alone and alike[0].strong and alike[0] not in taken and _is_number(label, held):
            found[place] = alike[0]
    return found


def _is_number(label: Label | None, held: Labels) -> bool:
    """Is a size a number of the code, or a product that says nothing of what lies here?"""
    if label is None or label.root().names:
        return False
    return not any(piece in held for piece in pieces(label))


def _torn(old: list[int], new: list[int]) -> bool:
    """Does an axis hold an inner piece of one dim and an outer piece of the next?

    Frames that are stacked, heads and windows never do: of each dim there, one side is whole.
    """
    if 0 in old or math.prod(old) != math.prod(new):
        return False
    made_of = refined(old, new)
    return made_of is None or any(
        len(cut) > 1 and cut[0][1] < old[cut[0][0]] and cut[-1][1] < old[cut[-1][0]]
        for cut in made_of
    )
