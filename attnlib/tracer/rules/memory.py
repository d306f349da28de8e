"""Memory: which dims a new axis is said to hold, and which of them really lie there.

A reshape moves no number. A place is the count of numbers that are left from it to the end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..labels import Label, laid, parts, pieces, same

Labels = list[Label]


def claimed(old: Labels, sizes: Sequence[int], asked: list[Label | None]) -> list[Labels]:
    """Say for every new axis which dims it is said to hold; -1 is what the others leave."""
    claims = [[] if label is None else pieces(label) for label in asked]
    if asked.count(None) == 1 and len(asked) > 1:
        place = asked.index(None)
        claims[place] = _left_over(_held(old), sizes, asked, place)
    return claims


def _held(old: Labels) -> Labels:
    return [piece for label in old for piece in laid(label) if piece.size > 1]


def _left_over(held: Labels, sizes: Sequence[int], asked: list[Label | None], place: int) -> Labels:
    """Return the dims that -1 stands for; none where the other sizes do not tell.

    The others cancel by what is known of them. Where they do not (``view(B, 3, -1, 4)`` of a width
    that nobody wrote as 3 * 4), -1 is the one dim of its size, if it lies there at least in part.
    """
    rest = Counter(part for piece in held for part in parts(piece))
    given = Counter(part for label in asked if label is not None for part in parts(label))
    given = Counter({part: count for part, count in given.items() if part.size != 1})
    if given <= rest:
        rest -= given
        found = []
        for piece in held:
            if Counter(parts(piece)) <= rest:
                rest -= Counter(parts(piece))
                found.append(piece)
        return [] if rest.total() else found
    top = math.prod(sizes[place:])
    alike = [piece for piece in held if piece.size == sizes[place]]
    there = _among(held, top, top // sizes[place])
    return alike if len(alike) == 1 and alike[0] in there else []


def misplaced(
    old: Labels, sizes: Sequence[int], claims: list[Labels], wanted: list[Label | None]
) -> tuple[Label, Label] | None:
    """Find the first piece that a reshape calls by one dim's name and that memory holds as another.

    Walk through memory from the outermost piece inwards. A name that is new here may well be what
    an axis splits into; it is a claim that fails when it went in at another place, or when the dim
    that is found in its place is said to come out elsewhere.
    """
    held, top = _held(old), math.prod(sizes)
    everywhere = {piece for claim in claims for piece in claim}
    owners = _owners({label.root() for label in wanted if label is not None}, held)
    if top == 0:
        return None
    for size, claim in zip(sizes, claims, strict=True):
        at, left = top, [part for piece in claim for part in _apart(piece, owners)]
        while left:
            found, whole = _at(held, at)
            left.sort(key=lambda piece: bool(piece.names))  # C * 3 may lie as 3 * C: numbers first
            fitting = next((piece for piece in left if whole and same(piece, found)), left[0])
            if same(fitting, found) and not whole:  # it went in further out: what else is here?
                others = _among(held, at, at // fitting.size)
                found = next((piece for piece in others if not same(piece, fitting)), fitting)
            mine, its = owners.get(fitting, claim[0]), owners.get(found)
            if its is not None and mine in owners.values() and its is not mine:
                return mine, its
            apart = _is_dim(fitting) and _is_dim(found) and not same(fitting, found)
            sure = fitting in held or (fitting.names and found in everywhere)
            if apart and sure:
                return fitting, found
            if _counted(fitting, found, held):
                return fitting, found
            left.remove(fitting)
            at //= fitting.size
        top //= size
    return None


def _is_dim(label: Label) -> bool:
    """Is it more than a number: named, or the size of an axis, which the code may have read?

    What is left of a dim (``C // n_heads``) is another label in every layer.
    """
    root = label.root()
    return bool(root.names) or not (root.literal or root.share)


def _counted(fitting: Label, found: Label, held: Labels) -> bool:
    """Does a number of the code, as of tensors stacked, lie where a dim is said to lie?

    Surely only where that dim lies further in, and is not as large: the number may be its size.
    Where it lies further out, rows may be shifted against each other: (S, S + 1) as (S + 1, S).
    """
    number = found.literal and not found.names and found.size != fitting.size
    inside = held.count(fitting) == 1 and held.index(found) < held.index(fitting)
    return _is_dim(fitting) and number and inside


def _owners(wanted: set[Label], held: Labels) -> dict[Label, Label]:
    """Return which dim each part belongs to that is put together here: H // 2 to H.

    Parts that two dims share (the size of a window) tell nothing.
    """
    owners: dict[Label, Label] = {}
    shared: set[Label] = set()
    for whole in wanted:
        for part in parts(whole) if whole.names and whole not in held else ():
            if part is not whole and part in held and not part.literal:
                shared |= {part} & owners.keys()
                owners[part] = whole
    return {part: whole for part, whole in owners.items() if part not in shared}


def _apart(piece: Label, owners: dict[Label, Label]) -> Labels:
    """Take a dim apart of which parts lie here; another is one piece."""
    found = parts(piece) if piece in owners.values() else [piece]
    return [part for part in found if part.size > 1]


def _at(held: Labels, at: int) -> tuple[Label, bool]:
    """Return the piece that is found below a place in memory; True if it begins right there."""
    begin = math.prod(piece.size for piece in held)
    for piece in held:
        end = begin // piece.size
        if end < at <= begin:
            return piece, begin == at
        begin = end
    return held[-1], False


def _among(held: Labels, top: int, bottom: int) -> Labels:
    """Return the pieces that lie, at least in part, between two places in memory."""
    found, begin = [], math.prod(piece.size for piece in held)
    for piece in held:
        end = begin // piece.size
        if end < top and bottom < begin:
            found.append(piece)
        begin = end
    return found
