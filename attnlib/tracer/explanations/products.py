"""Clashes in products: the two dims that should be one, and the operand laid out so that they are.

Every order of an operand's axes is tried against the names of the other; what a name speaks
against is never offered, even where its size would do.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from torch import Tensor

from ...dims import role
from ..attended import over_heads
from ..labels import Label
from .calls import call_of
from .changes import Change, alike, dim_of, may_be, written
from .clash import Candidate, Failed, Tensors, batch_clash, clash, on, reversed_axes
from .features import columns_compared, features_compared, keys_in_rows, shares
from .folded import folded
from .kinds import kinds
from .values import joined_in_front, left_behind, split_apart

_AXES = {"bmm": 3, "mm": 2, "mv": 2, "dot": 1}
_MOST = 4  # axes whose every order is tried
_VALUES = re.compile(r"(self\.)?(\w+_)?v(alues?|als?)?(_\w+|\d*)$", re.IGNORECASE)

Row = Sequence[Label | None]


@clash("matmul")
def matmul(failed: Failed) -> tuple[str, list[Candidate]]:
    a, b = failed.infos[:2]
    if not a.shape or not b.shape:
        return "matmul needs tensors with at least one axis", []
    axes = _AXES.get(failed.op.torch_name)
    wanted = (axes, axes) if failed.op.torch_name != "mv" else (2, 1)
    for info, count in zip((a, b), wanted, strict=True):
        if axes is not None and len(info.shape) != count:
            plain = Candidate(f"torch.matmul({a.name}, {b.name})", lambda t: t[0] @ t[1])
            return (
                f"torch.{failed.op.torch_name} takes tensors of exactly {count} axes, but "
                f"{info.name} has {len(info.shape)}; torch.matmul, or @, takes any number in front"
            ), [*([plain] if _agree(failed) else []), *_matmul_candidates(failed)]
    told = features_compared(failed) or columns_compared(failed)
    if told:
        return told, []
    inner = -2 if len(b.shape) > 1 else -1
    place = "second-to-last" if inner == -2 else "last"
    if a.shape[-1] != b.shape[inner]:
        said = (
            f"a matmul sums over the last dim of {a.name}, {failed.size(0, -1)}, and the {place} "
            f"of {b.name}, {failed.size(1, inner)}: the two must be equal"
        )
    else:
        batch = batch_clash(a.shape[:-2], b.shape[:-2])
        if batch is None:
            return kinds(failed)
        axis = batch - 2
        said = (
            f"the batch dims of a matmul must be equal or 1: {a.name} has {failed.size(0, axis)} "
            f"where {b.name} has {failed.size(1, axis)}"
        )
    joined = joined_in_front(failed)
    if joined:
        return said + joined, []
    told, found = left_behind(failed)
    told = told or keys_in_rows(failed)
    said += reversed_axes(failed) + told + _heads_meet_heads(failed)
    orders = split_apart(failed)
    if orders:
        return f"{said}; {orders}", []
    return said, [*found, *_matmul_candidates(failed)]


def _heads_meet_heads(failed: Failed) -> str:
    """Say that weights compare the heads of a token: q and k were left as they were split."""
    a, b = failed.infos[:2]
    if [role(word) for word in a.dims[-3:]] != ["S", "heads", "heads"]:
        return ""
    moved = [role(word) for word in b.dims[-3:-1]] == ["heads", "S"]
    return f"; {a.name} {over_heads(a.dims, 'q and k' if moved else 'q, k and v')}"


def _matmul_candidates(failed: Failed) -> Iterator[Candidate]:
    a, b = failed.names[:2]
    yield from folded(failed)
    offers: list[tuple[float, int, Candidate]]
    offers = [*_arrangements(failed, 1), *_arrangements(failed, 0)]
    score = agreement(failed, *reversed(labels_of(failed)))
    x, y = failed.states[0].shape, failed.states[1].shape
    fit = shares(failed, 1) == len(y) - 1 or shares(failed, 0) == len(x) - 2
    if score is not None and (score > 1 or fit):
        swapped = Candidate(f"{on(b)} @ {on(a)}", lambda t: t[1] @ t[0])
        square = [_is_square(row) for row in labels_of(failed)]
        # what is weighed was written before its weights: exchanged, it keeps its layout
        offers.append((-score, -1 if square == [False, True] else 3, swapped))
    yield from (offer[-1] for offer in sorted(offers, key=lambda offer: offer[:2]))
    if len(x) == len(y) == 4 and y[1] and x[1] % y[1] == 0 and x[1] != y[1]:
        n = x[1] // y[1]
        yield Candidate(
            f"{on(a)} @ {on(b)}.repeat_interleave({n}, dim=1)",
            lambda t: t[0] @ t[1].repeat_interleave(n, dim=1),
        )


def labels_of(failed: Failed) -> tuple[list[Label], list[Label]]:
    a, b = (failed.op.labels(state) for state in failed.states[:2])
    return a, b


def _is_square(row: Sequence[Label]) -> bool:
    return len(row) > 1 and alike(*row[-2:])


def _agree(failed: Failed) -> bool:
    return agreement(failed, *labels_of(failed)) is not None


def agreement(failed: Failed, a: Row, b: Row) -> int | None:
    """Count where names agree that a product makes one dim; None if it fails, or mixes dims up."""
    if not a or not b:
        return None
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1] is None or inner is None or not may_be(failed, a[-1], inner):
        return None
    score = 2 * alike(a[-1], inner)
    batch = [label for label in (*a[:-2], *b[:-2]) if label is not None and label.size > 1]
    for mine, its in zip(reversed(a[:-2]), reversed(b[:-2]), strict=False):
        if mine is None or its is None or 1 in (mine.size, its.size):
            continue
        if not may_be(failed, mine, its):
            return None
        score += alike(mine, its)
    free = [*a[-2:-1], *(b[-1:] if len(b) > 1 else [])]
    if any(alike(one, label) for one in free if one is not None for label in batch):
        return None  # one dim twice in the result: every sample against every other
    front = _roles(_front(a[:-2], b[:-2]))
    if "H" in front and "heads" in _roles([*free, a[-1]]):
        return None  # each feature for itself, over the heads
    of_a_token = [*front[-1:], *_roles(free)] == ["S", "heads", "heads"]
    return score - ("batch" in front[1:]) - of_a_token


def _roles(row: Row) -> list[str | None]:
    return [None if label is None else dim_of(label) for label in row]


def _front(a: Row, b: Row) -> list[Label | None]:
    """Return what stands in front in the result; what is 1 in one operand is the other's."""
    most = max(len(a), len(b))
    rows: list[Row] = [(*[None] * (most - len(row)), *row) for row in (a, b)]
    return [
        one if one is not None and one.size > 1 else other for one, other in zip(*rows, strict=True)
    ]


def _arrangements(failed: Failed, which: int) -> Iterator[tuple[float, int, Candidate]]:
    """Try every order of one operand's axes, and new axes of 1, against the other's names.

    Where ``.T`` reversed all axes, ``.mT`` in its place comes before everything else.
    """
    rows = labels_of(failed)
    own, other = rows[which], rows[1 - which]
    meant = _last_two_of_reversed(failed, which)
    added_up = [shares(failed, place) for place in (0, 1)]
    for change in _changes(len(own), len(other)):
        made = change.labels(own)
        pair = (made, other) if which == 0 else (other, made)
        score = agreement(failed, *pair)
        last_two = change.axes == (*range(len(own) - 2), len(own) - 1, len(own) - 2)
        turned = _last_two_of_turned(failed, which)
        if score is None or (score < 2 and not last_two and change not in (meant, turned)):
            continue
        if not _sums_shares(added_up, which, change, len(other)):
            continue
        score += 3 * (change == turned) + 2 * (
            which == 1 and last_two and _nameless_features(failed, other, own)
        )
        for text, cost in written(failed, which, change):
            code = _product(failed, which, text)
            squeezed = _squeezed(change, which, len(pair[1 - which]))
            if squeezed is not None:
                code = f"({code}).squeeze({squeezed})"
            run = functools.partial(_multiplied, which, change, squeezed)
            rank = -math.inf if change == meant else -score
            yield rank, cost + (1 - which), Candidate(code, run)


def _sums_shares(added_up: list[int | None], which: int, change: Change, other: int) -> bool:
    """Are weights summed over the axis over which they add up to 1, if one operand is weights?"""
    inner = {which: change.axes[-1 if which == 0 or len(change.axes) == 1 else -2]}
    inner[1 - which] = other - 1 if which == 1 or other == 1 else other - 2
    return all(axis is None or inner[place] in (axis, None) for place, axis in enumerate(added_up))


def _nameless_features(failed: Failed, a: Row, b: Row) -> bool:
    """Are the last axes features that only nobody has named: queries and keys of two layers?

    Laid out alike, two operands are compared feature by feature: each with each over tokens is
    what keys and values are summed up in, so a second operand called ``v`` is not compared.
    """
    if len(a) != len(b) or a[-1] is None or b[-1] is None or (a[-1].name and b[-1].name):
        return False
    tokens = {"S", "batch", "heads"}
    told = tokens & {role(a[-1].name or ""), role(b[-1].name or "")}
    return not told and may_be(failed, a[-1], b[-1]) and not _VALUES.match(failed.names[1])


def _last_two_of_reversed(failed: Failed, which: int) -> Change | None:
    """Return what makes ``x.mT`` of an operand ``x.T`` that has more than two axes."""
    made = failed.op.made(which)
    if made is None or made.op != "T" or (ndim := len(made.inputs[0].shape)) < 3:
        return None
    return Change((*range(ndim - 1, 1, -1), 0, 1))


def _last_two_of_turned(failed: Failed, which: int) -> Change | None:
    """Return what makes ``k.mT`` of keys of which another axis was changed over with the last."""
    made = failed.op.made(which)
    if which == 0 or made is None or made.op != "transpose" or not made.inputs:
        return None
    last, dims = len(made.inputs[0].shape) - 1, sorted((made.params["dim0"], made.params["dim1"]))
    if dims[1] != last or dims[0] == last - 1:
        return None
    axes = list(range(last + 1))
    axes[dims[0]], axes[last] = last, dims[0]  # back, and the last two over
    axes[-2:] = reversed(axes[-2:])
    return Change(tuple(axes))


def _changes(ndim: int, other: int) -> Iterator[Change]:
    if ndim <= _MOST:
        for order in permutations(range(ndim)):
            if list(order) != sorted(order):
                yield Change(order)
    elif ndim > 1:
        yield Change((*range(ndim - 2), ndim - 1, ndim - 2))
    if ndim < other:
        for place in range(ndim + 1):
            yield Change((*range(place), None, *range(place, ndim)))
    elif ndim == 3:
        yield Change((0, None, 1, 2))  # one weight for each head, all of them on one input


def _product(failed: Failed, which: int, written: str) -> str:
    call = call_of(failed)
    if call is not None and call.keywords:  # where it is written to, stays
        return failed.instead(failed.names[which], written)
    names = [on(name) for name in failed.names[:2]]
    names[which] = written
    return f"{names[0]} @ {names[1]}"


def _multiplied(which: int, change: Change, squeezed: int | None, t: Tensors) -> Tensor:
    t = [change.run(x) if place == which else x for place, x in enumerate(t[:2])]
    result = t[0] @ t[1]
    return result if squeezed is None else result.squeeze(squeezed)


def _squeezed(change: Change, which: int, ndim: int) -> int | None:
    """Return the axis of the result that is there only because a vector was made a matrix."""
    back = -1 if which == 1 else -2
    return back if change.axes[back] is None and ndim > 1 else None
