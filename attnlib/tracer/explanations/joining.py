"""Clashes of tensors that are joined: every axis but one has to agree."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from itertools import combinations

import torch
from torch import Tensor

from ...dims import role
from ..labels import Label
from ..rows import TensorInfo
from .calls import call_of
from .changes import alike, dim_of, may_be
from .clash import Candidate, Failed, Tensors, clash, on
from .cuts import word
from .kinds import kinds


@clash("cat", "stack")
def joined(failed: Failed) -> tuple[str, list[Candidate]]:
    axis = failed.op.bound.params.get("dim", 0)
    most = max((len(info.shape) for info in failed.infos), default=0)
    axis = axis % (most + (failed.op.name == "stack")) if isinstance(axis, int) and most else 0
    if not most and failed.op.name == "cat":
        said = "cat joins along an axis, and numbers have none; stack gives them one"
        return said, [Candidate(code) for code in _stacked(failed)]
    first = failed.infos[0]
    for which, info in enumerate(failed.infos[1:], 1):
        if len(info.shape) != len(first.shape):
            said = f"all must have as many axes: {first.described()}, {info.described()}"
            return said, list(_missing(failed, axis))
        for place, (a, b) in enumerate(zip(first.shape, info.shape, strict=True)):
            if a != b and (place != axis or failed.op.name == "stack"):
                said = (
                    f"{failed.op.name} along axis {axis} needs every other axis equal: "
                    f"axis {place} of {first.name} is {failed.size(0, place)}, "
                    f"of {info.name} {failed.size(which, place)}"
                )
                if failed.op.name == "stack":
                    return said, list(_one_after_the_other(failed, place, axis))
                return said, [*_moved(failed, axis), *_along(failed, first, info)]
    return kinds(failed)


def _stacked(failed: Failed) -> Iterator[str]:
    node = call_of(failed)
    if node is not None and node.args:
        yield f"torch.stack({ast.unparse(node.args[0])})"


def _missing(failed: Failed, axis: int) -> Iterator[Candidate]:
    """Give the operands that lack axes what the largest has: the joined axis anew, others whole."""
    most = max(range(len(failed.infos)), key=lambda i: len(failed.infos[i].shape))
    wanted = failed.op.labels(failed.states[most])
    changes: dict[int, tuple[str, Callable[[Tensor], Tensor]]] = {}
    for which, info in enumerate(failed.infos):
        if len(info.shape) == len(wanted):
            continue
        made = _completed(failed, failed.op.labels(failed.states[which]), wanted, axis, which, most)
        if made is None:
            return
        changes[which] = made
    if failed.op.name != "cat" or len(changes) != 1:
        return
    ((which, (code, change)),) = changes.items()
    yield from _with(failed, which, code, change, axis)


def _completed(
    failed: Failed, mine: list[Label], wanted: list[Label], axis: int, which: int, most: int
) -> tuple[str, Callable[[Tensor], Tensor]] | None:
    rest = [place for place in range(len(wanted)) if place != axis]
    name = on(failed.names[which])
    if len(mine) == len(rest) and all(
        _fits(failed, m, wanted[p]) for m, p in zip(mine, rest, strict=True)
    ):
        return f"{name}.unsqueeze({axis})", functools.partial(torch.unsqueeze, dim=axis)
    if axis == len(wanted) - 1 and 1 < len(mine) == axis:  # the same features at every token
        for place in range(1, axis):
            others = [*range(place), *range(place + 1, axis)]
            if all(_fits(failed, m, wanted[p]) for m, p in zip(mine[:-1], others, strict=True)):
                words = ["-1"] * len(wanted)
                words[place] = word(failed, most, place)
                code = f"{name}.unsqueeze({place}).expand({', '.join(words)})"
                return code, functools.partial(_at, place, wanted[place].size)
    lacks = len(wanted) - len(mine)  # a token of the model's own, the same in every sequence
    under = list(zip(mine, range(lacks, len(wanted)), strict=True))
    if all(m.size == 1 or p == axis or _fits(failed, m, wanted[p]) for m, p in under):
        sizes, words = [], []
        for place in range(len(wanted)):
            here = place - lacks
            if place == axis:
                sizes.append(1 if here < 0 else -1)
                words.append("1" if here < 0 else "-1")
            elif here >= 0 and mine[here].size == wanted[place].size:
                sizes.append(-1)
                words.append("-1")
            else:
                sizes.append(wanted[place].size)
                words.append(word(failed, most, place))
        return f"{name}.expand({', '.join(words)})", functools.partial(_expanded, sizes)
    return None


def _at(place: int, size: int, x: Tensor) -> Tensor:
    sizes = [-1] * (x.dim() + 1)
    sizes[place] = size
    return x.unsqueeze(place).expand(sizes)


def _fits(failed: Failed, a: Label, b: Label) -> bool:
    return a.size == b.size and (alike(a, b) or may_be(failed, a, b))


def _one_after_the_other(failed: Failed, place: int, axis: int) -> Iterator[Candidate]:
    """Put features of several widths one after the other, or what differs along the axis named."""
    ndim = len(failed.infos[0].shape)
    if axis != place and not axis == place + 1 == ndim:
        return
    rows = [info.shape[:place] + info.shape[place + 1 :] for info in failed.infos]
    if len(set(rows)) == 1:
        yield _cat(failed, place, _back(place, ndim))


def _back(axis: int, ndim: int) -> int:
    return -1 if axis == ndim - 1 else axis


def _moved(failed: Failed, axis: int) -> Iterator[Candidate]:
    """Try one operand with two axes changed over, where the names say so, or made as large."""
    first = failed.infos[0]
    for which, info in enumerate(failed.infos[1:], 1):
        for i, j in combinations(range(len(info.shape)), 2):
            dims = list(info.dims)
            dims[i], dims[j] = dims[j], dims[i]
            if all(dims[p] == first.dims[p] for p in range(len(dims)) if p != axis):
                code = f"{on(info.name)}.transpose({i}, {j})"
                change = functools.partial(torch.transpose, dim0=i, dim1=j)
                yield from _with(failed, which, code, change, axis)
    for which, info in enumerate(failed.infos):
        other = failed.infos[which - 1]
        places = [p for p in range(len(info.shape)) if p != axis]
        small = [p for p in places if info.shape[p] != other.shape[p]]
        tokens = any(role(other.dims[p]) == "S" for p in small)  # they are joined, not repeated
        if small and not tokens and all(info.dims[p] == "1" for p in small):
            sizes = [other.shape[p] if p in small else -1 for p in range(len(info.shape))]
            words = [
                word(failed, which - 1 if which else len(failed.infos) - 1, p)
                if p in small
                else "-1"
                for p in places
            ]
            words.insert(axis, "-1")
            code = f"{on(info.name)}.expand({', '.join(words)})"
            yield from _with(failed, which, code, functools.partial(_expanded, sizes), axis)


def _expanded(sizes: list[int], x: Tensor) -> Tensor:
    return x.expand(sizes)


def _with(
    failed: Failed, which: int, code: str, change: Callable[[Tensor], Tensor], axis: int
) -> Iterator[Candidate]:
    def run(t: Tensors) -> Tensor:
        return torch.cat([change(x) if i == which else x for i, x in enumerate(t)], dim=axis)

    new = failed.instead(failed.names[which], code)
    if new != code:  # in a list that another line has made it is not written here
        yield Candidate(new, run)


def _along(failed: Failed, first: TensorInfo, other: TensorInfo) -> Iterator[Candidate]:
    """Join along the axis that differs, if it is the only one."""
    rows = [failed.op.labels(failed.states[failed.infos.index(info)]) for info in (first, other)]
    pairs = list(enumerate(zip(*rows, strict=True)))
    apart = [p for p, (a, b) in pairs if a.size != b.size]
    batch = [p for p, (a, b) in pairs if "batch" in (dim_of(a), dim_of(b))]
    apart += [p for p, (a, b) in pairs if p in batch and p not in apart and not _fits(failed, a, b)]
    for place in apart:
        others = [d for info in failed.infos for p, d in enumerate(info.shape) if p != place]
        if len(apart) == 1 and others:
            yield _cat(failed, place, place - len(first.shape))


def _cat(failed: Failed, place: int, written: int) -> Candidate:
    """Join along another axis; the list stays as it is written."""
    node = call_of(failed)
    tensors = [word.value for word in node.keywords if word.arg == "tensors"] if node else []
    tensors = tensors or (node.args if node is not None else [])
    listed = ast.unparse(tensors[0]) if tensors else f"({', '.join(failed.names)})"
    run = functools.partial(torch.cat, dim=place)
    return Candidate(f"torch.cat({listed}, dim={written})", run)
