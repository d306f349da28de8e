"""Operands that share no axis: each gets new axes of 1, so that every pair of places meets.

Names alone decide: slopes of heads meet distances between positions, lengths of samples meet
steps. Two widths, or two lengths of sequences with axes beside them, are not to be paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...dims import role
from ..labels import Label
from .changes import Change, alike
from .clash import Candidate, Failed, Tensors

_ORDER = {"batch": 0, "heads": 1, "S": 2, "H": 3, "n_embd": 3}  # how axes mostly stand
_WIDTHS = {"H", "n_embd"}
_COMPARED = {"lt", "le", "gt", "ge", "eq", "ne"}
_PAIRED = {"sub", "mul", "div"}  # of positions with positions
_SCALING = {"mul", "div", "pow"}  # a position times the frequencies, which mostly have no name
_MOST = 4  # axes of a result that is offered


def outer(failed: Failed, first: int, second: int) -> Iterator[Candidate]:
    """Offer the operands laid out so that their axes stand beside each other."""
    which = (first, second)
    rows = [failed.op.labels(failed.states[at]) for at in which]
    whole = _merged(rows[0], rows[1], failed.op.name)
    if whole is None or len(whole) > _MOST:
        return
    changes = [_spread(side, whole) for side in (0, 1)]
    names = [failed.names[at] for at in which]
    if names[0] == names[1]:
        return
    code = failed.code
    for name, change in zip(names, changes, strict=True):
        if None in change.axes:
            code = failed.instead(name, change.code(name), code)

    def run(t: Tensors):
        changed = dict(zip(which, changes, strict=True))
        return failed.run([changed[at].run(x) if at in changed else x for at, x in enumerate(t)])

    yield Candidate(code, run)


Place = tuple[int | None, int | None]  # of an axis: in the first operand, in the second


def _merged(a: Sequence[Label], b: Sequence[Label], op: str) -> list[Place] | None:
    """Put the axes of both in one order; None where names do not say how."""
    shared = _shared(a, b)
    if op not in _SCALING and any(map(_are_scores, (a, b), (b, a))):
        return None
    left = [label for i, label in enumerate(a) if i not in dict(shared)]
    right = [label for j, label in enumerate(b) if j not in {j for _, j in shared}]
    if not left or not right or not _may_pair(left, right, op, len(a) == len(b) == 1):
        return None
    found: list[Place] = []
    i = j = 0
    for stop in (*shared, (len(a), len(b))):
        while i < stop[0] or j < stop[1]:
            mine_first = j >= stop[1] or (i < stop[0] and _rank(a[i]) <= _rank(b[j]))
            found.append((i, None) if mine_first else (None, j))
            i, j = i + mine_first, j + (not mine_first)
        if stop[0] < len(a):
            found.append(stop)
            i, j = i + 1, j + 1
    return found


def _are_scores(a: Sequence[Label], b: Sequence[Label]) -> bool:
    """Do tokens meet tokens in one operand, and features stand in the other?"""
    square = len(a) > 1 and _role(a[-1]) == _role(a[-2]) == "S"
    return square and bool({_role(label) for label in b} & _WIDTHS)


def _shared(a: Sequence[Label], b: Sequence[Label]) -> list[tuple[int, int]]:
    """Pair the axes of one name that stand in both, in one order, from the last."""
    pairs: list[tuple[int, int]] = []
    last = len(b)
    for i in reversed(range(len(a))):
        found = [j for j in range(last) if alike(a[i], b[j])]
        if found:
            last = found[-1]
            pairs.append((i, last))
    return pairs[::-1]


def _may_pair(left: list[Label], right: list[Label], op: str, vectors: bool) -> bool:
    """Is it likely that every axis on the left is meant to meet every axis on the right?"""
    labels = [*left, *right]
    if any(label.size == 1 for label in labels):
        return False
    if any(label.name is None for label in labels):
        roles = {role(label.name) for label in labels if label.name}
        return vectors and op in _SCALING and roles == {"S"}
    mine, its = ({_role(label) for label in row} for row in (left, right))
    if mine & _WIDTHS and its & _WIDTHS:
        return False
    known = None not in mine | its
    if vectors:
        pairs = mine != its or (op in _PAIRED and mine == {"S"})
        return op in _COMPARED or (known and pairs)
    return known and not (mine & its)


def _role(label: Label) -> str | None:
    return role(label.name or "")


def _rank(label: Label) -> int:
    return _ORDER.get(_role(label) or "", 2)


def _spread(side: int, whole: Sequence[Place]) -> Change:
    """Lay one operand out under all axes; what lacks in front of its own needs no axis."""
    axes = [place[side] for place in whole]
    while axes[0] is None:
        axes.pop(0)
    return Change(tuple(axes))
