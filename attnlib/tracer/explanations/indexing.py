"""Clashes of indices: outside the axis, too many, of another dtype or shape than what they pick."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..notes import State
from .alignment import fits
from .assigned import assigned
from .broadcasting import changed, in_place
from .calls import inside
from .clash import Candidate, Failed, clash, on
from .cuts import one_off
from .kinds import bounds, may_count
from .loops import looped, written_index
from .masks import as_bool, zeros_and_ones
from .picking import along_its_name, less_one

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "bool")


@clash("getitem")
def item(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain ``x[…]``, where an index does not lie in x or does not fit another one."""
    return _index(failed) if failed.infos else ("", [])


@clash("setitem")
def place(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain ``x[…] = y``; corrections are whole statements."""
    if not failed.infos:
        return "", []
    said, found = in_place(failed) or _index(failed)
    return said, [_whole(failed, candidate) for candidate in found]


def _whole(failed: Failed, candidate: Candidate) -> Candidate:
    if failed.written is None or not isinstance(ast.parse(candidate.code).body[0], ast.Expr):
        return candidate
    return Candidate(f"{candidate.code} = {failed.written}", candidate.run)


def _index(failed: Failed) -> tuple[str, list[Candidate]]:
    x, error = failed.infos[0], str(failed.error)
    if "too many indices" in error:
        count = sum(part is not None and part is not Ellipsis for part in index_of(failed))
        return f"{x.described()} has {len(x.shape)} axes, but {count} indices", _fewer(failed)
    if "used as indices" in error:
        return _kinds(failed)
    if "shape of the mask" in error:
        return _mask(failed)
    if "could not be broadcast" in error:
        return _pair(failed)
    if "out of bounds" in error:
        return _outside(failed)
    if failed.op.name == "setitem" and len(failed.infos) > 1:
        return assigned(failed, index_of(failed))
    return f"the index must lie inside {x.described()}", []


def index_of(failed: Failed) -> tuple:
    index = failed.op.params.get("index")
    return index if isinstance(index, tuple) else (index,)


def _parts(failed: Failed) -> tuple[ast.Subscript, list[ast.expr]] | None:
    """Return the subscript as it is written, and its indices one by one."""
    try:
        node = ast.parse(failed.code, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    return (node, parts) if len(parts) == len(index_of(failed)) else None


def _axes(failed: Failed) -> list[int | None]:
    """Say on which axis of x each index works; a mask takes as many as it has."""
    index, ndim = index_of(failed), len(failed.infos[0].shape)
    takes = [
        0 if part is None or part is Ellipsis
        else len(part.shape) if isinstance(part, State) and part.dtype == "bool"
        else 1
        for part in index
    ]  # fmt: skip
    found: list[int | None] = []
    at = 0
    for part, count in zip(index, takes, strict=True):
        if part is Ellipsis:
            at = ndim - sum(takes[len(found) + 1 :])
        found.append(at if count and at < ndim else None)
        at += count
    return found


def _outside(failed: Failed) -> tuple[str, list[Candidate]]:
    """Count from 0: a size is one too many for an index."""
    x = failed.infos[0]
    for place, (part, axis) in enumerate(zip(index_of(failed), _axes(failed), strict=True)):
        if axis is None:
            continue
        size = x.shape[axis]
        held = bounds(part.values) if isinstance(part, State) else None
        if isinstance(part, int) and not isinstance(part, bool) and not -size <= part < size:
            said = f"{failed.size(0, axis)} has the indices 0 … {size - 1}, but not {int(part)}"
            found = _parts(failed)
            if found is None:
                return said, []
            inner = looped(failed, *found, place)
            if inner is not None:
                return said, inner
            return said, list(_last(*found, place)) if int(part) == size else []
        if held is not None and not (held[0] >= -size and held[1] < size):
            which = next(i for i, state in enumerate(failed.states) if state is part)
            name = failed.names[which]
            said = (
                f"{failed.size(0, axis)} has the indices 0 … {size - 1}, but {name} holds "
                f"{held[0]} … {held[1]}"
            )
            found = _parts(failed)
            moved = _moved(failed, *found, place, which, held[1]) if found is not None else []
            return said, moved or list(less_one(failed, which, held[0] > 0 and held[1] == size))
    return f"the index must lie inside {x.described()}", []


def _moved(
    failed: Failed,
    node: ast.Subscript,
    parts: list[ast.expr],
    place: int,
    which: int,
    largest: float,
) -> list[Candidate]:
    """Put an index tensor on the axis that it names."""
    axis = along_its_name(failed, which, place, largest)
    if axis is None or any(ast.unparse(p) != ":" for at, p in enumerate(parts) if at != place):
        return []
    colons: list[ast.expr] = [ast.Slice() for _ in range(axis)]
    return [written_index(node, [*colons, parts[place]])]


def _last(node: ast.Subscript, parts: list[ast.expr], place: int) -> Iterator[Candidate]:
    if not isinstance(parts[place], ast.BinOp):
        parts[place] = ast.parse("-1", mode="eval").body
        yield written_index(node, parts)


def _fewer(failed: Failed) -> list[Candidate]:
    """Leave out the whole axes that are asked for in front, or after."""
    found = _parts(failed)
    if found is None:
        return []
    node, parts = found
    many = sum(p is not None and p is not Ellipsis for p in index_of(failed))
    many -= len(failed.infos[0].shape)
    for rest, left_out in ((parts[many:], parts[:many]), (parts[:-many], parts[-many:])):
        if rest and all(ast.unparse(part) == ":" for part in left_out):
            return [written_index(node, rest)]
    return []


def _kinds(failed: Failed) -> tuple[str, list[Candidate]]:
    """Tell a mask of 0 and 1 from positions that became floats."""
    x = failed.infos[0]
    for which, info in enumerate(failed.infos[1:], 1):
        if info.dtype in _WHOLE:
            continue
        said = (
            f"{info.name} is {info.dtype}, but an index is made of whole numbers, a mask of bools"
        )
        if zeros_and_ones(failed, which) and (len(info.shape) > 1 or info.shape == x.shape[:1]):
            more, codes = as_bool(failed, which, True if _hides(failed) else None)
            found = [_picked(failed, which, code) for code in codes]
            return said + more, [candidate for candidate in found if candidate is not None]
        if not may_count(failed, which):
            return said, []
        return said, [changed(failed, which, f"{on(info.name)}.long()", lambda t: t.long())]
    return "", []


def _hides(failed: Failed) -> bool:
    """Are scores taken away where the mask is True?"""
    return (failed.written or "").startswith(("-", "float", "torch.finfo"))


def _picked(failed: Failed, which: int, code: str) -> Candidate | None:
    """Let a mask pick from the axes that are as large: the first ones, else the last."""
    mask, x = failed.infos[which].shape, failed.infos[0].shape
    if mask == x[: len(mask)]:
        return changed(failed, which, code, lambda t: t.bool())
    found = _parts(failed)
    if found is None or len(found[1]) != 1 or mask != x[len(x) - len(mask) :]:
        return None
    index: list[ast.expr] = [ast.Constant(...), ast.parse(code, mode="eval").body]
    return written_index(found[0], index)


def _mask(failed: Failed) -> tuple[str, list[Candidate]]:
    """Lay a mask out as the first axes of what it picks from."""
    x, labels = failed.infos[0], failed.op.labels(failed.states[0])
    axes = dict(zip(map(id, index_of(failed)), _axes(failed), strict=True))
    for which, state in enumerate(failed.states[1:], 1):
        if state.dtype != "bool" or axes.get(id(state)) is None:
            continue
        at, n = axes[id(state)] or 0, len(state.shape)
        if state.shape == x.shape[at : at + n]:
            continue
        info = failed.infos[which]
        said = f"a mask has to be as large as the axes it picks from: {info.described()}, "
        said += f"{x.described()}"
        mine = failed.op.labels(state)
        found = [
            changed(failed, which, inside(info.name, fit.code), fit.run)
            for fit in fits(failed, mine, labels[at : at + n])
        ]
        longer = [p for p, label in enumerate(mine) if label.size != labels[at + p].size]
        if len(longer) == 1 and mine[longer[0]].size == labels[at + longer[0]].size + 1:
            cut = one_off(failed, which, longer[0])
            if cut is not None:
                found.append(changed(failed, which, inside(info.name, cut.code), cut.run))
        if len(longer) == 1 and mine[longer[0]].size == labels[at + longer[0]].size - 1:
            cut = one_off(failed, 0, at + longer[0])
            if cut is not None:
                found.append(changed(failed, 0, cut.code(x.name), cut.run))
        return said, found
    return "", []


def _pair(failed: Failed) -> tuple[str, list[Candidate]]:
    """Turn the first of two index tensors into a column."""
    chosen = [i for i in range(1, len(failed.infos)) if failed.infos[i].dtype != "bool"]
    if len(chosen) < 2:
        return "", []
    first, second = failed.infos[chosen[0]], failed.infos[chosen[1]]
    said = f"index tensors are taken pair by pair: {first.described()}, {second.described()}"
    new = max(len(second.shape) - len(first.shape), len(first.shape) == len(second.shape) == 1)
    if len(first.shape) != 1 or new < 1:
        return said, []
    if len(second.shape) > 1 and first.shape[0] != second.shape[0]:
        return said, []
    index = (slice(None), *[None] * new)
    code = f"{on(first.name)}[:{', None' * new}]"
    return said, [changed(failed, chosen[0], code, lambda t: t[index])]
