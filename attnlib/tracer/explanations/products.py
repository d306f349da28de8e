"""Clashes in products: the two dims that should be one, and the transpose that makes them so."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor

from ..rows import TensorInfo
from .clash import Candidate, Failed, Tensors, batch_clash, clash, on, reversed_axes
from .kinds import kinds


@clash("matmul")
def matmul(failed: Failed) -> tuple[str, list[Candidate]]:
    a, b = failed.infos[:2]
    if not a.shape or not b.shape:
        return "matmul needs tensors with at least one axis", []
    axes = {"bmm": 3, "mm": 2, "mv": 2}.get(failed.op.torch_name)
    if axes is not None and len(a.shape) != axes:
        return (
            f"torch.{failed.op.torch_name} takes tensors of exactly {axes} axes, but {a.name} has "
            f"{len(a.shape)}; torch.matmul, or @, takes any number in front"
        ), [Candidate(f"torch.matmul({a.name}, {b.name})", lambda t: torch.matmul(t[0], t[1]))]
    if len(a.shape) > 1 < len(b.shape) and a.dims[-1] == a.dims[-2] == b.dims[-1] != b.dims[-2]:
        return (
            f"{a.name} compares features with features, {failed.size(0, -1)} both ways, but has to "
            f"weigh the {failed.size(1, -2)} rows of {b.name}: where it was made, the other "
            "operand of the product should have been transposed (q @ k.transpose(-2, -1))"
        ), []
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
            return "", []
        axis = batch - 2
        said = (
            f"the batch dims of a matmul must be equal or 1: {a.name} has {failed.size(0, axis)} "
            f"where {b.name} has {failed.size(1, axis)}"
        )
    return said + reversed_axes(failed), list(_matmul_candidates(failed, a.name, b.name))


def _matmul_candidates(failed: Failed, a: str, b: str) -> Iterator[Candidate]:
    yield from _undone(failed, 1, lambda x, y: torch.matmul(x, y.mT), f"{on(a)} @ {{}}.mT")
    if len(failed.states[1].shape) > 1:
        yield Candidate(f"{on(a)} @ {on(b)}.transpose(-2, -1)", lambda t: t[0] @ t[1].mT)
    x, y = failed.states[0].shape, failed.states[1].shape
    if len(x) == len(y) == 4 and y[1] and x[1] % y[1] == 0 and x[1] != y[1]:
        n = x[1] // y[1]
        yield Candidate(
            f"{on(a)} @ {on(b)}.repeat_interleave({n}, dim=1)",
            lambda t: t[0] @ t[1].repeat_interleave(n, dim=1),
        )
    if len(failed.states[0].shape) > 1:
        yield Candidate(f"{on(a)}.transpose(-2, -1) @ {on(b)}", lambda t: t[0].mT @ t[1])


def _undone(failed: Failed, which: int, run, code: str) -> Iterator[Candidate]:
    """Try what comes out when a tensor that came from a wrong transpose is transposed rightly."""
    made = failed.op.made(which)
    if made is None or made.op not in ("transpose", "T", "permute") or not made.inputs:
        return
    source = made.inputs[0]
    if len(source.shape) > 1:

        def again(t: Tensors) -> Tensor:
            return run(t[0], torch.empty(source.shape, dtype=t[which].dtype, device="meta"))

        yield Candidate(code.format(on(source.name)), again)


@clash("linear")
def linear(failed: Failed) -> tuple[str, list[Candidate]]:
    x, weight = failed.infos[:2]
    if x.shape and len(weight.shape) == 2 and x.shape[-1] == weight.shape[-1]:
        return kinds(failed)
    said = (
        f"the layer reads {failed.size(1, -1)} features (weight is {weight.described()}, "
        f"out × in), but the last dim of {x.name} is {failed.size(0, -1)}"
    )
    return said, list(_linear_candidates(failed, x, weight))


def _linear_candidates(failed: Failed, x: TensorInfo, weight: TensorInfo) -> Iterator[Candidate]:
    wanted = weight.shape[-1]

    def layer(x: Tensor, t: Tensors) -> Tensor:
        return torch.nn.functional.linear(x, *t[1:])

    def call(operand: str) -> str:
        return failed.instead(x.name, operand)

    name = on(x.name)
    if len(x.shape) == 4 and x.shape[1] * x.shape[3] == wanted:
        yield Candidate(
            call(f"{name}.transpose(1, 2).flatten(2)"),
            lambda t: layer(t[0].transpose(1, 2).flatten(2), t),
        )
    if len(x.shape) > 1 and math.prod(x.shape[-2:]) == wanted:
        yield Candidate(call(f"{name}.flatten(-2)"), lambda t: layer(t[0].flatten(-2), t))
    if len(x.shape) > 1 and x.shape[-2] == wanted:
        yield Candidate(
            call(f"{name}.transpose(-2, -1)"), lambda t: layer(t[0].transpose(-2, -1), t)
        )
    if len(weight.shape) == 2 and x.shape[-1:] == weight.shape[:1]:
        yield Candidate(f"{name} @ {on(weight.name)}", lambda t: t[0] @ t[1])


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
    back = batch_clash(q.shape[:-2], k.shape[:-2])
    if back is not None:
        said = (
            f"the axes in front must be equal or 1: {q.name} has {failed.size(0, back - 2)} where "
            f"{k.name} has {failed.size(1, back - 2)}"
        )
        return said, list(_grouped(failed, q, k, back))
    if len(failed.infos) > 3:
        scores = (*q.shape[:-1], k.shape[-2])
        mask = failed.infos[3]
        back = batch_clash(scores, mask.shape)
        if back is not None:
            names = f"({', '.join((*q.dims[:-1], k.dims[-2]))})"
            said = (
                f"the mask must broadcast to the scores, {names} = {scores}: axis {back} of "
                f"{mask.name} is {failed.size(3, back)}, of the scores {scores[back]}"
            )
            return said, []
    return kinds(failed)


def _grouped(failed: Failed, q: TensorInfo, k: TensorInfo, back: int) -> Iterator[Candidate]:
    if back == -1 and len(q.shape) == 4 and q.shape[1] % max(k.shape[1], 1) == 0:
        code = failed.code
        if code.endswith(")"):
            code = f"{code[:-1]}, enable_gqa=True)"
        yield Candidate(
            code,
            lambda t: torch.nn.functional.scaled_dot_product_attention(
                t[0], t[1], t[2], enable_gqa=True
            ),
        )


@clash("multi_head_attention_forward")
def library_heads(failed: Failed) -> tuple[str, list[Candidate]]:
    q, k = failed.infos[:2]
    if len(q.shape) == 3 and q.shape[1] != k.shape[1]:
        return (
            "nn.MultiheadAttention reads (S, batch, n_embd), or (batch, S, n_embd) when it was "
            f"built with batch_first=True; read as (S, batch, n_embd), the batch of {q.name} is "
            f"{q.shape[1]}, of {k.name} {k.shape[1]}"
        ), []
    return "", []


@clash("einsum")
def einsum(failed: Failed) -> tuple[str, list[Candidate]]:
    equation = failed.op.params.get("equation", "")
    seen: dict[str, tuple[int, int]] = {}
    for which, term in enumerate(equation.split("->")[0].replace(" ", "").split(",")):
        if which >= len(failed.infos) or "." in term:
            continue
        info = failed.infos[which]
        if len(term) != len(info.shape):
            names = f"({', '.join(info.dims)})"
            return (
                f"{term} names {len(term)} axes, but {info.name} has {len(info.shape)}, {names}",
                [],
            )
        for axis, letter in enumerate(term):
            first, at = seen.setdefault(letter, (which, axis))
            if failed.infos[first].shape[at] != failed.infos[which].shape[axis]:
                said = (
                    f"the letter {letter} stands for {failed.size(first, at)} in "
                    f"{failed.names[first]} and for {failed.size(which, axis)} in "
                    f"{failed.names[which]}"
                )
                return said, list(_letters(failed, equation))
    return "", []


def _einsum(equation: str, t: Tensors) -> Tensor:
    return torch.einsum(equation, *t)


def _letters(failed: Failed, equation: str) -> Iterator[Candidate]:
    """Try two letters of one operand changed over, the last operand first."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    for which, term in reversed(list(enumerate(terms))):
        for i, j in combinations(range(len(term.strip())), 2):
            letters = list(term.strip())
            letters[i], letters[j] = letters[j], letters[i]
            new = ",".join([*terms[:which], "".join(letters), *terms[which + 1 :]]) + arrow + right
            if equation in failed.code:
                code = failed.code.replace(equation, new)
                yield Candidate(code, functools.partial(_einsum, new))
