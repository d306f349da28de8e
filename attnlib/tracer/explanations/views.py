"""Clashes of views: numbers that do not fill a shape, an order that memory does not have."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Iterator
from itertools import takewhile

from torch import Tensor

from ...dims import role
from ..labels import pieces
from ..rows import TensorInfo
from .calls import with_argument, with_operand
from .changes import alike
from .clash import Candidate, Failed, Tensors, clash, on
from .cuts import part_of, word
from .inferred import all_but_one, left_to_torch
from .kinds import kinds
from .strides import copied

_KEPT = {"batch", "n_embd", "H", "heads"}  # roles of axes that hold no extra row


@clash("view", "reshape")
def view(failed: Failed) -> tuple[str, list[Candidate]]:
    x, asked = failed.infos[0], failed.op.params.get("shape", ())
    if any(isinstance(n, float) for n in asked):
        return _float_size(failed, list(asked))
    shape = [int(n) for n in asked if isinstance(n, int)]
    if not shape or "failed to unpack" in str(failed.error):
        return kinds(failed)
    named = failed.op.size_words("shape", shape)
    if "stride" in str(failed.error):
        said = (
            f"{x.name} is not laid out in this order in memory (strides {x.strides} for "
            f"{x.in_names()}): a view cannot merge axes that are not neighbours there"
        )
        return said, list(copied(failed, x, shape))
    if shape.count(-1) > 1:
        return left_to_torch(shape), list(all_but_one(failed, shape))
    count, known = math.prod(x.shape), math.prod(n for n in shape if n >= 0)
    wanted = " · ".join(text for text, n in zip(named, shape, strict=True) if n >= 0)
    said = f"{x.name} has {count} numbers, {' · '.join(_words(x))}; the new shape " + (
        f"takes {wanted} = {known}" if -1 not in shape else f"needs a multiple of {known}, {wanted}"
    )
    found = [*_extra_row(failed, x, shape), *_left_out(failed, x, shape, count)]
    split = len(shape) == len(x.shape) + 1 and shape[-2] > 0 and x.shape[-1:] != ()
    if not found and split and x.shape[-1] % shape[-2] and _same(shape[:-2], x.shape[:-1]):
        said += f"; {failed.size(0, -1)} does not divide by {named[-2].replace('=', ' = ')}"
        return said, []  # sizes that fit would mean another number of heads
    rest = None if found else _remainder(failed)
    if rest is not None:
        return f"{said}; {rest}", []
    return said, [*found, *_fitting(failed, x, shape, count)]


def _remainder(failed: Failed) -> str | None:
    """Find a ``width // p`` among the sizes that left something over."""
    for written in failed.op.written_sizes():
        node = ast.parse(written, mode="eval").body
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            sides = [ast.unparse(side) for side in (node.left, node.right)]
            try:
                whole, part = map(failed.scope.run, sides)
            except Exception:
                continue
            if isinstance(whole, int) and isinstance(part, int) and part and whole % part:
                return f"{sides[0]} = {whole} does not divide by {sides[1]} = {part}"
    return None


def _same(a, b) -> bool:
    return tuple(a) == tuple(b)


def _words(info: TensorInfo) -> list[str]:
    return [
        str(size) if dim == str(size) else f"{dim}={size}"
        for dim, size in zip(info.dims, info.shape, strict=True)
    ]


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


def _extra_row(failed: Failed, x: TensorInfo, shape: list[int]) -> Iterator[Candidate]:
    """Leave off a class token, which no place of a grid is kept for."""
    made = failed.op.made(0)
    joined = made.inputs if made is not None and made.op == "cat" else ()
    along = made.params.get("dim", 0) if made is not None and joined else None
    words, labels = failed.op.written_sizes(), failed.op.labels(failed.states[0])
    for axis, size in enumerate(x.shape):
        after = len(x.shape) - axis - 1
        grid = shape[axis : len(shape) - after]
        if len(grid) < 2 or -1 in shape or part_of(labels, axis) in _KEPT:
            continue
        if not _same(shape[:axis], x.shape[:axis]) or not _same(
            shape[len(shape) - after :], x.shape[axis + 1 :]
        ):
            continue
        extra = size - math.prod(grid)
        ends = [info.shape[axis] for info in joined] if along == axis else [1]
        if extra > 0 and extra in (ends[0], ends[-1]):
            part = f"{extra}:" if extra == ends[0] else f":-{extra}"
            index = slice(extra, None) if extra == ends[0] else slice(None, -extra)
            places = (*[slice(None)] * axis, index)
            code = f"{on(x.name)}[{':, ' * axis}{part}]"
            sizes = ", ".join(words or map(str, shape))
            run = functools.partial(_without, places, shape)
            yield Candidate(f"{code}.reshape({sizes})", run)


def _without(index: tuple[slice, ...], shape: list[int], t: Tensors) -> Tensor:
    return t[0][index].reshape(shape)


def _left_out(failed: Failed, x: TensorInfo, shape: list[int], count: int) -> Iterator[Candidate]:
    """Put in an axis that was forgotten: one that x has in front, or a factor of its last."""
    words = failed.op.written_sizes() or list(map(str, shape))
    if -1 in shape or len(words) != len(shape):
        return
    for axis in range(len(x.shape) - 1):
        new = [*shape[:axis], x.shape[axis], *shape[axis:]]
        if _same(new, x.shape):
            yield from _merged(failed, x, shape, axis)
            return
        if math.prod(new) == count and _same(new[: axis + 2], x.shape[: axis + 2]):
            yield _inserted(failed, x, shape, axis, x.shape[axis], word(failed, 0, axis))
    last = len(x.shape) - 1
    tail = math.prod(shape[last:])
    if last < 0 or not tail or not _same(shape[:last], x.shape[:last]) or len(shape) <= last:
        return
    times = x.shape[-1] // tail
    if times > 1 and times * tail == x.shape[-1]:
        for name in (
            str(times) if str(times) in x.dims[-1].split("*") else None,
            *_heads(failed, times),
        ):
            if name is not None:
                yield _inserted(failed, x, shape, last, times, name)


def _merged(failed: Failed, x: TensorInfo, shape: list[int], axis: int) -> Iterator[Candidate]:
    """Keep as many axes as are asked for: the one that lacks is merged with its neighbour.

    Tokens may lie beside the samples or beside the features, so of them nothing is said.
    """
    if part_of(failed.op.labels(failed.states[0]), axis) == "S":
        return
    words = failed.op.written_sizes() or list(map(str, shape))
    words[axis] = _times(failed, axis, words[axis], last=axis == len(shape) - 1)
    new = [*shape[:axis], x.shape[axis] * shape[axis], *shape[axis + 1 :]]
    code = f"{on(x.name)}.{failed.op.name}({', '.join(words)})"
    yield Candidate(code, functools.partial(_reshaped, new))


def _times(failed: Failed, axis: int, written: str, last: bool) -> str:
    """Write a size times that of an axis: of ``4`` and ``C // 4`` it is ``C``."""
    count = word(failed, 0, axis)
    label = failed.op.size("shape", axis, failed.op.params["shape"][axis]).root()
    size = failed.infos[0].shape[axis] * label.size
    whole = label.share[0] if label.share is not None else None
    if whole is not None and whole.size == size and not failed.called(whole).isdigit():
        return failed.called(whole)
    if "/" not in written and "." not in count:
        return f"{count} * {written}"
    return "-1" if last else f"{count} * ({written})"


def _heads(failed: Failed, count: int) -> Iterator[str]:
    """Find variables that hold this number of heads."""
    for name in failed.scope.numbers(count):
        if role(name.rpartition(".")[2]) == "heads" or "head" in name:
            yield name


def _inserted(
    failed: Failed, x: TensorInfo, shape: list[int], place: int, size: int, name: str
) -> Candidate:
    words = failed.op.written_sizes() or list(map(str, shape))
    words.insert(place, name)
    new = [*shape[:place], size, *shape[place:]]
    code = f"{on(x.name)}.{failed.op.name}({', '.join(words)})"
    return Candidate(code, functools.partial(_reshaped, new))


def _fitting(failed: Failed, x: TensorInfo, shape: list[int], count: int) -> Iterator[Candidate]:
    """Try the size that makes the last axis, or one before it, fit; what x has already, stays."""
    kept = takewhile(lambda sizes: sizes[0] == sizes[1], zip(shape, x.shape, strict=False))
    places = [*reversed(range(len(list(kept)), len(shape)))]
    wrong = _wrong_length(x, shape)
    named = _known_factor(failed, x, shape) if wrong is None else None
    if named is not None:
        yield named
        return
    for place in places if wrong is None else [wrong]:
        if wrong is None and _is_said(failed, x, shape, place):
            continue
        rest = math.prod(n for axis, n in enumerate(shape) if axis != place and n >= 0)
        others = [n for axis, n in enumerate(shape) if axis != place]
        if rest and count % rest == 0 and -1 not in others:
            new = [*shape[:place], count // rest, *shape[place + 1 :]]
            words = failed.op.written_sizes()
            if len(words) == len(shape):  # as it is written, that one left to torch
                words[place] = "-1"
            code = f"{on(x.name)}.{failed.op.name}({', '.join(words or map(str, new))})"
            yield Candidate(code, functools.partial(_reshaped, new))


def _known_factor(failed: Failed, x: TensorInfo, shape: list[int]) -> Candidate | None:
    """Write one of two sizes as the factor of the features that stands in its place."""
    last, words = len(x.shape) - 1, failed.op.written_sizes()
    held = pieces(failed.op.labels(failed.states[0])[-1]) if last >= 0 else []
    if not len(held) == len(shape) - last == 2 or len(words) != len(shape):
        return None
    given = failed.op.params["shape"]
    asked = [failed.op.size("shape", place, given[place]) for place in (last, last + 1)]
    fits = [piece.size == label.size for piece, label in zip(held, asked, strict=True)]
    if not _same(shape[:last], x.shape[:last]) or sum(fits) != 1:
        return None
    odd = fits.index(False)
    known = (name for name, value in failed.scope.integers()
             if name.rpartition(".")[2] == held[odd].name and value == held[odd].size)  # fmt: skip
    words[last + odd] = next(known, "-1")
    new = [*x.shape[:last], *(piece.size for piece in held)]
    code = f"{on(x.name)}.{failed.op.name}({', '.join(words)})"
    return Candidate(code, functools.partial(_reshaped, new))


def _is_said(failed: Failed, x: TensorInfo, shape: list[int], place: int) -> bool:
    """Does the code say by name how large a part of the features is, if not that of all?"""
    last = len(x.shape) - 1
    if not _same(shape[:last], x.shape[:last]) or len(shape) - last < 2:
        return False
    if place < last or shape[place] in (-1, x.shape[-1]):
        return False
    label = failed.op.size("shape", place, failed.op.params["shape"][place])
    whole = failed.op.labels(failed.states[0])[-1]
    return not alike(label, whole) and failed.op.symbols.text(label) != str(label.size)


def _wrong_length(x: TensorInfo, shape: list[int]) -> int | None:
    """Find the one axis in front that is of another size, where the features split as asked."""
    last = len(x.shape) - 1
    if last < 1 or len(shape) <= last or math.prod(shape[last:]) != x.shape[-1]:
        return None
    apart = [axis for axis in range(last) if shape[axis] != x.shape[axis]]
    return apart[0] if len(apart) == 1 and shape[apart[0]] >= 0 else None


def _reshaped(shape: list[int], t: Tensors) -> Tensor:
    return t[0].reshape(shape)


@clash("unflatten")
def unflatten(failed: Failed) -> tuple[str, list[Candidate]]:
    x, axis = failed.infos[0], failed.op.params.get("dim", -1)
    sizes = [int(n) for n in failed.op.params.get("sizes", ()) if isinstance(n, int)]
    if not sizes or not -len(x.shape) <= axis < len(x.shape):
        return kinds(failed)
    if sizes.count(-1) > 1:
        return left_to_torch(sizes), []
    named = failed.op.size_words("sizes", sizes)
    known = math.prod(n for n in sizes if n >= 0)
    asked = " · ".join(text for text, n in zip(named, sizes, strict=True) if n >= 0)
    said = f"axis {axis} of {x.name}, {failed.size(0, axis)}, does not split into {asked}"
    if len([n for n in sizes if n >= 0]) > 1:
        said += f" = {known}"
    found: list[str | None] = []
    extra = -1 not in sizes and x.shape[axis] - known == 1
    if extra and part_of(failed.op.labels(failed.states[0]), axis) not in _KEPT:
        found.append(with_operand(failed, 0, f"{on(x.name)}[{':, ' * axis}1:]"))  # a class token
    for other in reversed(range(len(x.shape))):
        fits = x.shape[other] == known or (-1 in sizes and known and x.shape[other] % known == 0)
        tokens = role(x.dims[other]) == "S" and x.shape[other] == known and -1 in sizes
        if other != axis and fits and not tokens and role(x.dims[other]) not in ("batch", "heads"):
            place = other - len(x.shape) if other == len(x.shape) - 1 else other
            found.append(with_argument(failed, "dim", str(place)))
    front: int = math.prod(sizes[:-1])
    if -1 not in sizes and front and x.shape[axis] % front == 0:
        words = _parts(failed) or list(map(str, sizes))
        found.append(with_argument(failed, "sizes", f"({', '.join([*words[:-1], '-1'])})"))
    return said, [Candidate(code) for code in found if code is not None]


def _parts(failed: Failed) -> list[str]:
    """Return the sizes of an ``unflatten`` as they are written."""
    words = failed.op.written_sizes()
    inner = words[-1].strip("()[]") if words else ""
    return [part.strip() for part in inner.split(",") if part.strip()]
