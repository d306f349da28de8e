"""Why an operation failed: the two dims that clash, in words, and corrections that may be tried.

Each function gets the failed operation and returns a sentence and candidates. A candidate is never
shown before it ran on the meta device: ``explanations`` sees to that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .recorder import State
from .rows import TensorInfo

Tensors = list[Tensor]


@dataclass
class Candidate:
    """A correction: the code as the reader would write it, and the same to run on empty tensors."""

    code: str
    run: Callable[[Tensors], Tensor]
    dims: Callable[[list], list] | None = None


@dataclass
class Failed:
    """An operation that raised: its arguments by name, its tensors as written and as described."""

    op: object  # builder.Operation
    infos: tuple[TensorInfo, ...]
    error: BaseException
    code: str  # the failing sub-expression

    @property
    def names(self) -> list[str]:
        return [info.name for info in self.infos]

    @property
    def states(self) -> list[State]:
        return self.op.inputs

    def instead(self, name: str, new: str) -> str:
        """Write the failed expression with one operand replaced, or the new operand alone."""
        pattern = rf"(?<![\w.]){re.escape(name)}(?![\w(])"
        if len(re.findall(pattern, self.code)) != 1 or "\n" in self.code:
            return new
        return re.sub(pattern, lambda _: new, self.code)

    def size(self, which: int, axis: int) -> str:
        """Write one axis as ``H = 16``, or as its number where it has no name."""
        info = self.infos[which]
        dim, size = info.dims[axis], info.shape[axis]
        return str(size) if dim == str(size) else f"{dim} = {size}"


CLASHES: dict[str, Callable[[Failed], tuple[str, list[Candidate]]]] = {}


def clash(*names: str):
    def register(function):
        CLASHES.update(dict.fromkeys(names, function))
        return function

    return register


def _arg(name: str) -> str:
    """Put an expression in parentheses where a method is to be called on it."""
    simple = name.replace(".", "").replace("_", "").isalnum() or name.endswith((")", "]"))
    return name if simple and name.count("(") == name.count(")") else f"({name})"


@clash("matmul")
def matmul(failed: Failed) -> tuple[str, list[Candidate]]:
    a, b = failed.infos[:2]
    if not a.shape or not b.shape:
        return "matmul needs tensors with at least one axis", []
    if len(a.shape) > 1 < len(b.shape) and a.dims[-1] == a.dims[-2] == b.dims[-1] != b.dims[-2]:
        return (
            f"{a.name} compares features with features, {failed.size(0, -1)} both ways, but has to "
            f"weigh the {failed.size(1, -2)} rows of {b.name}: where it was made, the other operand "
            f"of the product should have been transposed (q @ k.transpose(-2, -1))"
        ), []
    inner = -2 if len(b.shape) > 1 else -1
    place = "second-to-last" if inner == -2 else "last"
    if a.shape[-1] != b.shape[inner]:
        said = (
            f"(…, m, K) @ (…, K, n) sums over K: the last dim of {a.name} is {failed.size(0, -1)}, "
            f"the {place} of {b.name} is {failed.size(1, inner)}"
        )
    else:
        batch = _batch_clash(a.shape[:-2], b.shape[:-2])
        if batch is None:
            return "", []
        axis = batch - 2
        said = (
            f"the batch dims of a matmul must be equal or 1: {a.name} has {failed.size(0, axis)} "
            f"where {b.name} has {failed.size(1, axis)}"
        )
    return said + _reversed(failed), list(_matmul_candidates(failed, a.name, b.name))


def _matmul_candidates(failed: Failed, a: str, b: str) -> Iterator[Candidate]:
    yield from _undone(failed, 1, lambda x, y: torch.matmul(x, y.mT), f"{_arg(a)} @ {{}}.mT")
    if len(failed.states[1].shape) > 1:
        yield Candidate(f"{_arg(a)} @ {_arg(b)}.transpose(-2, -1)", lambda t: t[0] @ t[1].mT)
    x, y = failed.states[0].shape, failed.states[1].shape
    if len(x) == len(y) == 4 and y[1] and x[1] % y[1] == 0 and x[1] != y[1]:
        n = x[1] // y[1]
        yield Candidate(
            f"{_arg(a)} @ {_arg(b)}.repeat_interleave({n}, dim=1)",
            lambda t: t[0] @ t[1].repeat_interleave(n, dim=1),
        )
    if len(failed.states[0].shape) > 1:
        yield Candidate(f"{_arg(a)}.transpose(-2, -1) @ {_arg(b)}", lambda t: t[0].mT @ t[1])


def _undone(failed: Failed, which: int, run, code: str) -> Iterator[Candidate]:
    """Try what comes out when a tensor that came from a wrong transpose is transposed rightly."""
    made = failed.op.made(which)
    if made is None or made.op not in ("transpose", "T", "permute") or not made.inputs:
        return
    source = made.inputs[0]
    if len(source.shape) > 1:

        def again(t: Tensors) -> Tensor:
            return run(t[0], torch.empty(source.shape, dtype=t[which].dtype, device="meta"))

        yield Candidate(code.format(_arg(source.name)), again)


def _reversed(failed: Failed) -> str:
    """Say so when an operand came from ``.T``, which reverses all axes."""
    for which in range(len(failed.infos)):
        made = failed.op.made(which)
        if made is not None and made.op == "T" and len(made.inputs[0].shape) > 2:
            source = made.inputs[0]
            return (
                f"; .T reversed all {len(source.shape)} axes of {source.described()}, "
                "use .mT to swap the last two"
            )
    return ""


def _batch_clash(a, b) -> int | None:
    """Return the last axis, from the end, at which two shapes do not broadcast."""
    for back in range(1, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
            return -back
    return None


@clash("linear")
def linear(failed: Failed) -> tuple[str, list[Candidate]]:
    x, weight = failed.infos[:2]
    if x.shape and len(weight.shape) == 2 and x.shape[-1] == weight.shape[-1]:
        return _kinds(failed)
    said = (
        f"the layer reads {failed.size(1, -1)} features (weight is {weight.described()}, out × in), "
        f"but the last dim of {x.name} is {failed.size(0, -1)}"
    )
    return said, list(_linear_candidates(failed, x, weight))


def _linear_candidates(failed: Failed, x: TensorInfo, weight: TensorInfo) -> Iterator[Candidate]:
    wanted = weight.shape[-1]

    def layer(x: Tensor, t: Tensors) -> Tensor:
        return torch.nn.functional.linear(x, *t[1:])

    call = failed.code.replace(x.name, "{}", 1) if x.name in failed.code else "layer({})"
    name = _arg(x.name)
    if len(x.shape) == 4 and x.shape[1] * x.shape[3] == wanted:
        yield Candidate(
            call.format(f"{name}.transpose(1, 2).flatten(2)"),
            lambda t: layer(t[0].transpose(1, 2).flatten(2), t),
        )
    if len(x.shape) > 1 and math.prod(x.shape[-2:]) == wanted:
        yield Candidate(call.format(f"{name}.flatten(-2)"), lambda t: layer(t[0].flatten(-2), t))
    if len(x.shape) > 1 and x.shape[-2] == wanted:
        yield Candidate(
            call.format(f"{name}.transpose(-2, -1)"), lambda t: layer(t[0].transpose(-2, -1), t)
        )
    if len(weight.shape) == 2 and x.shape[-1:] == weight.shape[:1]:
        yield Candidate(f"{name} @ {_arg(weight.name)}", lambda t: t[0] @ t[1])


def broadcast(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain operands that do not line up from the last axis."""
    if len(failed.infos) < 2:
        return _kinds(failed)
    for first in range(len(failed.infos)):
        for second in range(first + 1, len(failed.infos)):
            back = _batch_clash(failed.infos[first].shape, failed.infos[second].shape)
            if back is not None:
                said = (
                    f"axes line up from the last and must be equal or 1: axis {back} of "
                    f"{failed.names[first]} is {failed.size(first, back)}, of "
                    f"{failed.names[second]} {failed.size(second, back)}"
                )
                return said + _reversed(failed), list(_lined_up(failed, first, second))
    return _kinds(failed)


def _lined_up(failed: Failed, first: int, second: int) -> Iterator[Candidate]:
    """Try the smaller operand with new axes of 1, cut to the other's size, or transposed."""
    small, large = sorted((first, second), key=lambda i: len(failed.infos[i].shape))
    a, b = failed.infos[small], failed.infos[large]
    name = _arg(a.name)

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
        parts = [f":{o}" if s > o and s != 1 else ":" for s, o in cut]
        index = tuple(slice(o) if s > o and s != 1 else slice(None) for s, o in cut)
        if any(part != ":" for part in parts[:-1]):  # a mask or a table; features are never cut
            code = f"{name}[{', '.join(parts)}]"
            yield Candidate(failed.instead(a.name, code), with_new(lambda x: x[index]))
    if len(a.shape) > 1:
        code = f"{name}.transpose(-2, -1)"
        yield Candidate(failed.instead(a.name, code), with_new(lambda x: x.mT))


def _placings(ndim: int, new: int) -> Iterator[tuple[int, ...]]:
    from itertools import combinations

    yield from combinations(range(ndim + new), new)


@clash("scaled_dot_product_attention")
def fused(failed: Failed) -> tuple[str, list[Candidate]]:
    if len(failed.infos) < 3 or any(len(info.shape) < 2 for info in failed.infos[:3]):
        return "", []
    q, k, v = failed.infos[:3]
    if q.shape[-1] != k.shape[-1]:
        return (
            f"queries and keys need one width: {q.name} has {failed.size(0, -1)}, "
            f"{k.name} {failed.size(1, -1)}"
        ), []
    if k.shape[-2] != v.shape[-2]:
        return (
            f"there must be one value for each key: {k.name} has {failed.size(1, -2)}, "
            f"{v.name} {failed.size(2, -2)}"
        ), []
    back = _batch_clash(q.shape[:-2], k.shape[:-2])
    if back is not None:
        said = (
            f"the axes in front must be equal or 1: {q.name} has {failed.size(0, back - 2)} where "
            f"{k.name} has {failed.size(1, back - 2)}"
        )
        return said, list(_grouped(failed, q, k, back))
    if len(failed.infos) > 3:
        scores = (*q.shape[:-1], k.shape[-2])
        mask = failed.infos[3]
        back = _batch_clash(scores, mask.shape)
        if back is not None:
            names = f"({', '.join((*q.dims[:-1], k.dims[-2]))})"
            said = (
                f"the mask must broadcast to the scores, {names} = {scores}: axis {back} of "
                f"{mask.name} is {failed.size(3, back)}, of the scores {scores[back]}"
            )
            return said, []
    return _kinds(failed)


def _grouped(failed: Failed, q: TensorInfo, k: TensorInfo, back: int) -> Iterator[Candidate]:
    if back == -1 and len(q.shape) == 4 and q.shape[1] % max(k.shape[1], 1) == 0:
        code = failed.code
        if code.endswith(")"):
            code = f"{code[:-1]}, enable_gqa=True)"
        yield Candidate(
            code,
            lambda t: torch.nn.functional.scaled_dot_product_attention(*t[:3], enable_gqa=True),
        )


@clash("multi_head_attention_forward")
def library_heads(failed: Failed) -> tuple[str, list[Candidate]]:
    q, k, v = failed.infos[:3]
    if len(q.shape) == 3 and q.shape[1] != k.shape[1]:
        return (
            f"nn.MultiheadAttention reads (S, batch, n_embd), or (batch, S, n_embd) when it was built "
            f"with batch_first=True; read as (S, batch, n_embd), the batch of {q.name} is "
            f"{q.shape[1]}, of {k.name} {k.shape[1]}"
        ), []
    return "", []


@clash("view", "reshape", "unflatten")
def view(failed: Failed) -> tuple[str, list[Candidate]]:
    x = failed.infos[0]
    params = failed.op.params
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
    said = (
        f"{x.name} has {count} numbers, {' · '.join(_words(x))}; the new shape "
        + (f"takes {asked} = {known}" if -1 not in shape else f"needs a multiple of {known}, {asked}")
    )
    if failed.op.name == "unflatten":
        said = f"an axis of {count} does not split into {asked} = {known}"
    elif len(shape) == len(x.shape) + 1 and shape[-2] > 0 and x.shape and x.shape[-1] % shape[-2]:
        said += f"; {failed.size(0, -1)} does not divide by {named[-2].replace('=', ' = ')}"
    return said, list(_fitting(failed, x, shape, count))


def _words(info: TensorInfo) -> list[str]:
    return [
        str(size) if dim == str(size) else f"{dim}={size}"
        for dim, size in zip(info.dims, info.shape, strict=True)
    ]


def _copied(failed: Failed, x: TensorInfo, shape: list[int]) -> Iterator[Candidate]:
    """Suggest ``reshape``; where heads stand before S, only after moving them back."""
    name, sizes = _arg(x.name), failed.op.written_sizes() or ", ".join(map(str, shape))
    if len(x.shape) == 4 and len(shape) == 3 and tuple(x.shape[:3:2]) == tuple(shape[:2]):
        yield Candidate(
            f"{name}.transpose(1, 2).reshape({sizes})",
            lambda t: t[0].transpose(1, 2).reshape(shape),
        )
    yield Candidate(f"{name}.reshape({sizes})", lambda t: t[0].reshape(shape))


def _fitting(failed: Failed, x: TensorInfo, shape: list[int], count: int) -> Iterator[Candidate]:
    """Try the size that makes the last axis, or one before it, fit."""
    if failed.op.name == "unflatten":
        return
    for place in reversed(range(len(shape))):
        rest = math.prod(n for axis, n in enumerate(shape) if axis != place and n >= 0)
        others = [n for axis, n in enumerate(shape) if axis != place]
        if rest and count % rest == 0 and -1 not in others:
            new = [*shape[:place], count // rest, *shape[place + 1 :]]
            code = f"{_arg(x.name)}.{failed.op.name}({', '.join(map(str, new))})"
            yield Candidate(code, lambda t, new=new: t[0].reshape(new))


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
                    f"{failed.op.name} along axis {axis} needs every other axis equal: axis {place} of "
                    f"{first.name} is {failed.size(0, place)}, of {info.name} {failed.size(which, place)}"
                )
                return said, list(_other_axes(failed, axis, len(first.shape)))
    return _kinds(failed)


def _other_axes(failed: Failed, axis: int, ndim: int) -> Iterator[Candidate]:
    names = ", ".join(failed.names)
    if failed.op.name == "cat":
        for other in range(ndim):
            if other != axis:
                code = f"torch.cat(({names}), dim={other - ndim})"
                yield Candidate(code, lambda t, other=other: torch.cat(t, dim=other))


@clash("einsum")
def einsum(failed: Failed) -> tuple[str, list[Candidate]]:
    equation = failed.op.params.get("equation", "")
    seen: dict[str, tuple[int, int]] = {}
    for which, term in enumerate(equation.split("->")[0].replace(" ", "").split(",")):
        if which >= len(failed.infos) or len(term) != len(failed.infos[which].shape):
            continue
        for axis, letter in enumerate(term):
            first, at = seen.setdefault(letter, (which, axis))
            if failed.infos[first].shape[at] != failed.infos[which].shape[axis]:
                said = (
                    f"the letter {letter} stands for {failed.size(first, at)} in "
                    f"{failed.names[first]} and for {failed.size(which, axis)} in {failed.names[which]}"
                )
                return said, []
    return "", []


@clash("transpose", "softmax", "unsqueeze", "squeeze", "sum", "mean", "flatten", "select", "chunk")
def axes(failed: Failed) -> tuple[str, list[Candidate]]:
    if not isinstance(failed.error, IndexError) or not failed.infos:
        return _kinds(failed)
    x = failed.infos[0]
    n = len(x.shape)
    said = f"{x.name} has {n} axes, so an axis is one of {-n} … {n - 1}"
    name = _arg(x.name)
    if failed.op.name == "transpose" and n > 1:
        return said, [Candidate(f"{name}.transpose(-2, -1)", lambda t: t[0].mT)]
    if failed.op.name == "softmax":
        return said, [Candidate(f"{name}.softmax(dim=-1)", lambda t: t[0].softmax(-1))]
    return said, []


@clash("embedding", "index_select", "gather", "getitem")
def lookup(failed: Failed) -> tuple[str, list[Candidate]]:
    if failed.op.name == "embedding" and len(failed.infos) > 1:
        ids, table = failed.infos[:2]
        if ids.dtype not in ("int64", "int32"):
            said = f"an embedding is looked up by whole numbers, but {ids.name} is {ids.dtype}"
            code = failed.instead(ids.name, f"{_arg(ids.name)}.long()")
            return said, [Candidate(code, lambda t: torch.embedding(t[1], t[0].long()))]
        held = _range(ids.values)
        told = f"; {ids.name} holds {held[0]} … {held[1]}" if held else ""
        return (
            f"{table.name} has {table.shape[0]} rows, so ids are 0 … {table.shape[0] - 1}{told}", [],
        )
    if not failed.infos:
        return "", []
    return f"the index must lie inside {failed.infos[0].described()}", []


def _range(values) -> tuple | None:
    flat, open_ = [], [values]
    while open_:
        value = open_.pop()
        if isinstance(value, list):
            open_ += value
        elif value is not None:
            flat.append(value)
    return (min(flat), max(flat)) if flat else None


def _kinds(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain operands whose dtypes or devices differ, or a number that does not fit a dtype."""
    infos = failed.infos
    devices, dtypes = {info.device for info in infos}, [info.dtype for info in infos]
    if len(devices) > 1:
        first = infos[0]
        other = next(info for info in infos if info.device != first.device)
        said = f"{first.name} is on {first.device}, {other.name} on {other.device}"
        code = failed.instead(other.name, f"{_arg(other.name)}.to({_arg(first.name)}.device)")
        return said, [Candidate(code, failed.op.run)]
    if "converted" in str(failed.error) and "overflow" in str(failed.error) and infos:
        value = failed.op.params.get("value")
        said = f"{value} does not fit in {infos[0].dtype}, the dtype of {infos[0].name}"
        code = f'{_arg(infos[0].name)}.masked_fill({infos[1].name if len(infos) > 1 else "mask"}, float("-inf"))'
        return said, [Candidate(code, lambda t: t[0].masked_fill(t[1], float("-inf")))]
    if len(set(dtypes)) > 1:
        first = infos[0]
        if first.dtype.startswith(("int", "uint", "bool")) and failed.op.name == "linear":
            said = f"{first.name} holds whole numbers ({first.dtype}); a layer reads floats: embed ids first"
            return said, []
        second = next(info for info in infos if info.dtype != first.dtype)
        if failed.op.name == "linear":  # the layer stays as it is, what comes in is converted
            first, second = second, first
        said = f"{first.name} is {first.dtype}, {second.name} {second.dtype}: both must be of one dtype"
        which, target = infos.index(second), infos.index(first)

        def cast(t: Tensors) -> Tensor:
            t = list(t)
            t[which] = t[which].to(t[target].dtype)
            return failed.op.run(t)

        wanted = f"torch.{first.dtype}"
        code = failed.instead(second.name, f"{_arg(second.name)}.to({wanted})")
        return said, [Candidate(code, cast)]
    return "", []


kinds = _kinds
