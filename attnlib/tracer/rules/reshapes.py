"""Reshapes: which pieces of which axes make up each new axis.

Axes are cut into the smallest groups of equal products, from the outside in, as memory is laid
out: one axis to one keeps its label, one to many is a split, many to one a merge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..labels import Label, known_as, parts, pieces, same
from .cuts import groups, orders, refined
from .memory import claimed, misplaced
from .numbers import supposed
from .ones import is_one, matched, once, with_ones

Labels = list[Label]


def reshaped(op, given: Labels, wanted: list[Label | None]) -> Labels:
    """Label the result of a reshape; ``wanted`` holds the labels that its sizes were given by."""
    shape = op.shape
    result: list[Label | None] = list(wanted)
    ones = (
        [label for label in given if label.size == 1],
        [label for label, size in zip(wanted, shape, strict=True) if label and size == 1],
    )
    op.written_together([label for label in wanted if label is not None])
    told = symbolic(given, wanted, shape)
    old_sizes, new_sizes = told or ([label.size for label in given], list(shape))
    wide = [axis for axis, size in enumerate(old_sizes) if size != 1]
    new = [axis for axis, size in enumerate(new_sizes) if size != 1]
    for old_group, new_group in groups([old_sizes[a] for a in wide], [new_sizes[a] for a in new]):
        old = [given[wide[place]] for place in old_group]
        places = [new[place] for place in new_group]
        for place, label in zip(places, _group(op, old, places, wanted, ones), strict=True):
            result[place] = label
    for place, found in enumerate(result):
        if found is not None and shape[place] != 1:
            result[place] = with_ones(op, found, wanted, place, *ones)
    matched(given, [place for place in range(len(shape)) if place not in new], result)
    return [
        label if label is not None else op.fresh(size)
        for label, size in zip(result, shape, strict=True)
    ]


def symbolic(
    given: Labels, wanted: list[Label | None], shape: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """Put a prime in place of every dim's size, so that equal sizes cannot be taken for one dim.

    None where the labels do not tell enough: more than one dim is new on both sides.
    """
    primes: dict[Label | int, int] = {}
    old = [_atoms(label, primes) for label in given]
    unknown = [place for place, label in enumerate(wanted) if label is None and shape[place] != 1]
    if len(unknown) > 1:
        return None
    new = [_atoms(label, primes) if label is not None else Counter() for label in wanted]
    rest_old, rest_new = sum(old, Counter()), sum(new, Counter())
    common = rest_old & rest_new
    rest_old, rest_new = rest_old - common, rest_new - common
    worth = {prime: prime for prime in primes.values()}
    if unknown:
        if rest_new.total() and rest_old.total() != 1:
            return None
        if rest_new.total():  # one dim splits into what is named and what is left
            (whole,) = rest_old
            left = worth[whole] = _PRIMES[len(primes)]
            worth[whole] *= _value(rest_new, worth)
        else:
            left = _value(rest_old, worth)
    elif rest_old.total() == 1 and rest_new.total():
        worth[next(iter(rest_old))] = _value(rest_new, worth)
    elif rest_new.total() == 1 and rest_old.total():
        worth[next(iter(rest_new))] = _value(rest_old, worth)
    elif rest_old or rest_new:
        return None
    sizes = [_value(atoms, worth) for atoms in new]
    for place in unknown:
        sizes[place] = left
    return [_value(atoms, worth) for atoms in old], sizes


def _atoms(label: Label, primes: dict[Label | int, int]) -> Counter:
    """Count the dims that a label is made of, each by its prime; a bare 1 is nothing."""
    found: Counter = Counter()
    for atom in parts(label):
        if atom.size != 1 or not atom.literal:
            found[primes.setdefault(known_as(atom), _PRIMES[len(primes)])] += 1
    return found


_PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83]


def _value(atoms: Counter, worth: dict[int, int]) -> int:
    return math.prod(worth[prime] ** count for prime, count in atoms.items())


def _group(
    op, old: Labels, places: list[int], wanted: list[Label | None], ones: tuple[Labels, Labels]
) -> Labels:
    asked = [wanted[place] for place in places]
    sizes = [op.shape[place] for place in places]
    if len(old) == len(places) == 1:
        return [_one(op, old[0], asked[0], ones)]
    glued = misplaced(old, sizes, claimed(old, sizes, asked), wanted)
    if glued is None and op.direct:
        counted = supposed(old, sizes, asked, flat=len(op.inputs[0].shape) < 3)
        if counted is not asked:
            glued = misplaced(old, sizes, claimed(old, sizes, counted), wanted)
    if glued is not None and not op.symbols.skewed(*glued):
        op.glued(*glued)
    if len(old) == 1:
        return split_axis(op, old[0], sizes, asked)
    if len(places) == 1:
        return [_one(op, op.symbols.merged(old), asked[0], ones)]
    return _mixed(op, old, sizes, asked, ones)


def _one(op, label: Label, asked: Label | None, ones: tuple[Labels, Labels]) -> Label:
    if asked is not None and (once(label, asked, *ones) or op.symbols.within(label, asked)):
        return asked
    if asked is None or asked.root().literal:
        return label
    if not asked.root().names and label.root().names and any(map(is_one, parts(asked))):
        return label  # b * n where b is 1: the two are not one
    both = [Counter(map(known_as, pieces(one))) for one in (asked, label)]
    if not asked.root().names and both[0] == both[1]:
        return label  # B * T is T * B for Python; memory knows which
    bare, product = not any(piece.names for piece in pieces(label)), tuple(pieces(asked))
    op.read(label, asked)
    if bare and len(product) > 1:  # B * T: it is so called, although nothing says what lies how
        label.root().factors, label.root().laid = product, False
    return asked if asked.root().names else label


def split_axis(
    op,
    whole: Label,
    sizes: Sequence[int],
    asked: list[Label | None],
) -> Labels:
    """Split one axis: by the sizes' own names, by what is known of it, or by what is left."""
    known = _known_parts(whole, sizes, asked)
    told: list[Label | None] = []
    for place in range(len(sizes)):
        part = asked[place]
        if known is not None and (part is None or part.root().literal):
            part = known[place]
        elif known is not None and part is not None and known[place].root().literal:
            op.symbols.unite(part, known[place])  # the 2 of batch * 2 has its name here
        told.append(part)
    if (
        not op.direct
    ):  # a number that a library worked out is what is left, and no number of the code
        worked_out = [place for place, part in enumerate(told) if part and part.root().literal]
        if None not in told and len(worked_out) == 1:
            told[worked_out[0]] = None
    rest = [part for part in told if part is not None]
    if len(rest) == len(sizes) - 1:
        place = told.index(None)
        told[place] = op.symbols.quotient(whole, rest, sizes[place])
    split = [
        op.fresh(size) if part is None else part for part, size in zip(told, sizes, strict=True)
    ]
    op.symbols.define(whole, split)
    return split


def _known_parts(whole: Label, sizes: Sequence[int], asked: list[Label | None]) -> Labels | None:
    """Return the factors that an axis is known as, unless it is taken apart in another order.

    Of ``hd // 2`` and 2 the sizes may be equal; what is asked for tells them apart.
    """
    factors = whole.root().factors
    if factors is None or [factor.size for factor in factors] != list(sizes):
        return None
    for factor, part in zip(factors, asked, strict=True):
        elsewhere = part is not None and any(same(part, other) for other in factors)
        if part is not None and elsewhere and not same(part, factor):
            return None
    return list(factors)


def _mixed(
    op, old: Labels, sizes: list[int], asked: list[Label | None], ones: tuple[Labels, Labels]
) -> Labels:
    """Take axes apart and put the pieces together again in one go."""
    _split_by_claims(op, old, asked)
    for flat in orders(old, asked):
        flat_groups = groups([part.size for part in flat], sizes)
        found_all = sum(len(its) for _, its in flat_groups) == len(sizes)  # a 1 may be left over
        if found_all and all(len(mine) == 1 or len(its) == 1 for mine, its in flat_groups):
            result: Labels = []
            for mine, its in flat_groups:
                labels = [flat[place] for place in mine]
                if len(its) == 1:
                    result.append(_one(op, op.symbols.merged(labels), asked[its[0]], ones))
                else:
                    result += split_axis(
                        op, labels[0], [sizes[p] for p in its], [asked[p] for p in its]
                    )
            return result
    made_of = refined([label.size for label in old], sizes)
    found: Labels = []
    for place, size in enumerate(sizes):
        cut = made_of[place] if made_of else []
        if len(cut) == 1 and old[cut[0][0]].size == size == cut[0][1]:
            found.append(old[cut[0][0]])
        else:
            found.append(op.fresh(size))
    return found


def _split_by_claims(op, old: Labels, asked: list[Label | None]) -> None:
    """Take the one axis that nothing is known of as the pieces that are left for it.

    ``(B, X)`` viewed as ``(B * n, d)``: X is ``n * d``.
    """
    if any(label is None for label in asked):
        return
    here = Counter(part for label in old for part in parts(label) if part.size != 1)
    wanted = [part for label in asked if label for part in parts(label) if part.size != 1]
    whole, pieces_left = here - Counter(wanted), Counter(wanted) - here
    if whole.total() == 1 and pieces_left.total() > 1:
        (label,) = whole
        op.read(label, op.symbols.product(part for part in wanted if part in pieces_left))
