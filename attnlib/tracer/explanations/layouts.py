"""Clashes of shapes: broadcasting, views, joining, axes that are not there."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from itertools import combinations, takewhile

import torch
from torch import Tensor

from ..rows import TensorInfo
from .clash import Candidate, Failed, Tensors, batch_clash, clash, on, reversed_axes
from .kinds import kinds


def broadcast(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain operands that do not line up from the last axis."""
    if len(failed.infos) < 2:
        return kinds(failed)
    for first in range(len(failed.infos)):
        for second in range(first + 1, len(failed.infos)):
            back = batch_clash(failed.infos[first].shape, failed.infos[second].shape)
            if back is not None:
                said = (
                    f"axes line up from the last and must be equal or 1: axis {back} of "
                    f"{failed.names[first]} is {failed.size(first, back)}, of "
                    f"{failed.names[second]} {failed.size(second, back)}"
                )
                return said + reversed_axes(failed), list(_lined_up(failed, first, second))
    return kinds(failed)


def _lined_up(failed: Failed, first: int, second: int) -> Iterator[Candidate]:
    """Try the smaller operand with new axes of 1, cut to the other's size, or transposed."""
    small, large = sorted((first, second), key=lambda i: len(failed.infos[i].shape))
    a, b = failed.infos[small], failed.infos[large]
    name = on(a.name)

    def with_new(run):
        def again(t: Tensors) -> Tensor:
            return torch.broadcast_tensors(run(t[small]), t[large])[0]

        return again

    missing = len(b.shape) - len(a.shape)
    for places in _placings(len(a.shape), missing) if missing else ():
        taken = [b.dims[axis] for axis in range(len(b.shape)) if axis not in places]
        if taken != list(a.dims):
            continue  # only where the names agree: sizes may agree by accident
        if len(places) == 1:
            code, run = f"{name}.unsqueeze({places[0]})", lambda x, p=places: x.unsqueeze(p[0])
        else:
            marks = ["None" if axis in places else ":" for axis in range(len(b.shape))]
            index = tuple(None if mark == "None" else slice(None) for mark in marks)
            code, run = f"{name}[{', '.join(marks)}]", lambda x, i=index: x[i]
        yield Candidate(failed.instead(a.name, code), with_new(run))
    cut = [
        (size, other) for size, other in zip(reversed(a.shape), reversed(b.shape), strict=False)
    ][::-1]
    if all(size >= other or size == 1 for size, other in cut) and len(a.shape) <= len(b.shape):
        offset = len(b.shape) - len(a.shape)
        parts = [
            f":{failed.word(large, axis + offset)}" if s > o and s != 1 else ":"
            for axis, (s, o) in enumerate(cut)
        ]
        index = tuple(slice(o) if s > o and s != 1 else slice(None) for s, o in cut)
        if any(part != ":" for part in parts[:-1]):  # a mask or a table; features are never cut
            while parts[-1] == ":":
                parts.pop()
            code = f"{name}[{', '.join(parts)}]"
            yield Candidate(failed.instead(a.name, code), with_new(lambda x: x[index]))
    if len(a.shape) > 1:
        code = f"{name}.transpose(-2, -1)"
        yield Candidate(failed.instead(a.name, code), with_new(lambda x: x.mT))


def _placings(ndim: int, new: int) -> Iterator[tuple[int, ...]]:

    yield from combinations(range(ndim + new), new)


def _float_size(failed: Failed, sizes: list) -> tuple[str, list[Candidate]]:
    """Explain a size that is not whole: ``/`` makes a float, ``//`` a whole number."""
    place = next(place for place, n in enumerate(sizes) if isinstance(n, float))
    written = failed.op.written_sizes() or list(map(str, sizes))
    said = f"a size must be a whole number, but {written[place]} is {sizes[place]}, a float"
    code = re.sub(r"(?<!/)/(?!/)", "//", failed.code)
    whole = [int(n) for n in sizes]
    return f"{said}: / divides into floats, // into whole numbers", [
        Candidate(code, functools.partial(_reshaped, whole))
    ] if code != failed.code else []


@clash("view", "reshape", "unflatten")
def view(failed: Failed) -> tuple[str, list[Candidate]]:
    x = failed.infos[0]
    params = failed.op.params
    if any(isinstance(n, float) for n in params.get("shape", ())):
        return _float_size(failed, list(params["shape"]))
    shape = [int(n) for n in params.get("shape", params.get("sizes", ())) if isinstance(n, int)]
    named = failed.op.size_words("shape" if "shape" in params else "sizes", shape)
    if "stride" in str(failed.error):
        said = (
            f"{x.name} is not laid out in this order in memory (strides {x.strides} for "
            f"{x.in_names()}): a view cannot merge axes that are not neighbours there"
        )
        return said, list(_copied(failed, x, shape))
    count, known = math.prod(x.shape), math.prod(n for n in shape if n >= 0)
    if failed.op.name == "unflatten":
        count = x.shape[failed.op.params.get("dim", -1)]
    asked = " · ".join(word for word, n in zip(named, shape, strict=True) if n >= 0)
    said = f"{x.name} has {count} numbers, {' · '.join(_words(x))}; the new shape " + (
        f"takes {asked} = {known}" if -1 not in shape else f"needs a multiple of {known}, {asked}"
    )
    if failed.op.name == "unflatten":
        said = f"an axis of {count} does not split into {asked} = {known}"
    elif len(shape) == len(x.shape) + 1 and shape[-2] > 0 and x.shape and x.shape[-1] % shape[-2]:
        said += f"; {failed.size(0, -1)} does not divide by {named[-2].replace('=', ' = ')}"
        return said, []  # sizes that fit would mean another number of heads
    return said, list(_fitting(failed, x, shape, count))


def _words(info: TensorInfo) -> list[str]:
    return [
        str(size) if dim == str(size) else f"{dim}={size}"
        for dim, size in zip(info.dims, info.shape, strict=True)
    ]


def _copied(failed: Failed, x: TensorInfo, shape: list[int]) -> Iterator[Candidate]:
    """Suggest ``reshape``; where heads stand before S, only after moving them back."""
    name, sizes = on(x.name), ", ".join(failed.op.written_sizes() or map(str, shape))
    if len(x.shape) == 4 and len(shape) == 3 and tuple(x.shape[:3:2]) == tuple(shape[:2]):
        yield Candidate(
            f"{name}.transpose(1, 2).reshape({sizes})",
            lambda t: t[0].transpose(1, 2).reshape(shape),
        )
    yield Candidate(f"{name}.reshape({sizes})", lambda t: t[0].reshape(shape))


def _fitting(failed: Failed, x: TensorInfo, shape: list[int], count: int) -> Iterator[Candidate]:
    """Try the size that makes the last axis, or one before it, fit; what x has already, stays."""
    if failed.op.name == "unflatten":
        return
    kept = takewhile(lambda sizes: sizes[0] == sizes[1], zip(shape, x.shape, strict=False))
    for place in reversed(range(len(list(kept)), len(shape))):
        rest = math.prod(n for axis, n in enumerate(shape) if axis != place and n >= 0)
        others = [n for axis, n in enumerate(shape) if axis != place]
        if rest and count % rest == 0 and -1 not in others:
            new = [*shape[:place], count // rest, *shape[place + 1 :]]
            words = failed.op.written_sizes()
            if len(words) == len(shape):  # as it is written, that one left to torch
                words[place] = "-1"
            code = f"{on(x.name)}.{failed.op.name}({', '.join(words or map(str, new))})"
            yield Candidate(code, functools.partial(_reshaped, new))


def _reshaped(shape: list[int], t: Tensors) -> Tensor:
    return t[0].reshape(shape)


@clash("cat", "stack")
def joined(failed: Failed) -> tuple[str, list[Candidate]]:
    axis = failed.op.params.get("dim", 0)
    first = failed.infos[0]
    for which, info in enumerate(failed.infos[1:], 1):
        if len(info.shape) != len(first.shape):
            return f"all must have as many axes: {first.described()}, {info.described()}", []
        for place, (a, b) in enumerate(zip(first.shape, info.shape, strict=True)):
            if a != b and (place != axis or failed.op.name == "stack"):
                said = (
                    f"{failed.op.name} along axis {axis} needs every other axis equal: "
                    f"axis {place} of {first.name} is {failed.size(0, place)}, "
                    f"of {info.name} {failed.size(which, place)}"
                )
                if failed.op.name == "stack":
                    return said, _joined(failed, place, axis)
                candidates = list(_moved(failed, axis)) + list(
                    _other_axes(failed, axis, len(first.shape))
                )
                return said, candidates
    return kinds(failed)


def _joined(failed: Failed, place: int, axis: int) -> list[Candidate]:
    """Put features of several widths one after the other; other axes would have to be padded."""
    if place != len(failed.infos[0].shape) - 1 or axis != place + 1:
        return []
    code = f"torch.cat([{', '.join(failed.names)}], dim=-1)"
    return [Candidate(code, functools.partial(torch.cat, dim=-1))]


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
                yield _with(failed, which, code, change, axis)
    for which, info in enumerate(failed.infos):
        other = failed.infos[which - 1]
        places = [p for p in range(len(info.shape)) if p != axis]
        small = [p for p in places if info.shape[p] != other.shape[p]]
        if small and all(info.dims[p] == "1" for p in small):
            sizes = [other.shape[p] if p in small else -1 for p in range(len(info.shape))]
            words = [_size_of(failed, which - 1, p) if p in small else "-1" for p in places]
            words.insert(axis, "-1")
            code = f"{on(info.name)}.expand({', '.join(words)})"
            yield _with(failed, which, code, functools.partial(_expanded, sizes), axis)


def _expanded(sizes: list[int], x: Tensor) -> Tensor:
    return x.expand(sizes)


def _size_of(failed: Failed, which: int, axis: int) -> str:
    """Write a size as a variable that holds it, or as the tensor's own."""
    word, info = failed.word(which, axis), failed.infos[which]
    return f"{info.name}.shape[{axis}]" if word.isdigit() and info.name.isidentifier() else word


def _with(
    failed: Failed, which: int, code: str, change: Callable[[Tensor], Tensor], axis: int
) -> Candidate:
    def run(t: Tensors) -> Tensor:
        return torch.cat([change(x) if i == which else x for i, x in enumerate(t)], dim=axis)

    return Candidate(failed.instead(failed.infos[which].name, code), run)


def _other_axes(failed: Failed, axis: int, ndim: int) -> Iterator[Candidate]:
    names = ", ".join(failed.names)
    if failed.op.name == "cat":
        for other in range(ndim):
            if other != axis:
                code = f"torch.cat(({names}), dim={other - ndim})"
                yield Candidate(code, functools.partial(torch.cat, dim=other))


@clash("transpose", "softmax", "unsqueeze", "squeeze", "sum", "mean", "flatten", "select", "chunk")
def axes(failed: Failed) -> tuple[str, list[Candidate]]:
    if not isinstance(failed.error, IndexError) or not failed.infos:
        return kinds(failed)
    x = failed.infos[0]
    n = len(x.shape)
    said = f"{x.name} has {n} axes, so an axis is one of {-n} … {n - 1}"
    name = on(x.name)
    if failed.op.name == "transpose" and n > 1:
        return said, [Candidate(f"{name}.transpose(-2, -1)", lambda t: t[0].mT)]
    if failed.op.name == "softmax":
        return said, [Candidate(f"{name}.softmax(dim=-1)", lambda t: t[0].softmax(-1))]
    return said, []
