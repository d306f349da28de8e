"""Lay numbers out as text: one grid a matrix, blocks named by their dims, differences marked."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product, zip_longest
from typing import Any

from torch import Tensor

FEW = 12  # numbers that are shown in full; of more, the block that differs first
WIDE = 88
UNNAMED = "?"  # in dims, an axis of which nobody can tell what it is
Place = tuple[int, ...]


def beside(yours: Tensor, wanted: Tensor, dims: str, where: Collection[Place]) -> list[str]:
    """Show two tensors of one shape side by side, or one above the other where they are wide.

    Example:
        >>> import torch
        >>> two = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 3.0]])
        >>> print(*beside(*two, "Sq Sk", {(0, 1)}), sep="|")
        yours    wanted (Sq, Sk)|1   2*    1  3
    """
    left = ["yours", *grid(yours, dims, where, min(where, default=()))]
    right = [f"wanted{named(dims)}", *grid(wanted, dims, (), min(where, default=()))]
    width = max(map(len, left)) + 4
    if width + max(map(len, right)) > WIDE:
        return [*left, *right]
    pairs = zip_longest(left, right, fillvalue="")
    return [f"{one:<{width}}{other}".rstrip() for one, other in pairs]


def grid(value: Tensor, dims: str, where: Collection[Place] = (), first: Place = ()) -> list[str]:
    """Write a tensor row by row; `where` gets a star, and of many numbers only one block is shown.

    The block is that of the place `first`, as far as the leading dims of the tensor are its.

    Example:
        >>> import torch
        >>> print(*grid(torch.tensor([[[1.0], [-2.5]]]), "batch S H", {(0, 1, 0)}), sep="|")
        1 |-2.5*
        >>> print(*grid(torch.arange(40).reshape(2, 2, 10), "batch S H", (), (1,))[:2], sep="|")
        batch 1|20  21  22  23  24  25  26  27  28  29
        >>> print(*grid(torch.ones(2, 2, 1, 1), "batch ? S H")[2:4], sep="|")
        batch 0, dim 1 at 1|1
    """
    value = value.detach().cpu()
    names = dims.removeprefix("bool ").split()
    names = names if len(names) == value.ndim else [UNNAMED] * value.ndim
    leading = value.shape[: max(value.ndim - 2, 0)]
    blocks = [*product(*map(range, leading))]
    if value.numel() > FEW:
        first = (*first, *[0] * value.ndim)[: len(leading)]
        blocks = [tuple(min(i, size - 1) for i, size in zip(first, leading, strict=True))]
    lines = []
    for block in blocks:
        lines += [_title(names, block)] if any(size > 1 for size in leading) else []
        lines += _rows(value[block], {p[len(block) :] for p in where if p[: len(block)] == block})
    return lines


def _rows(matrix: Tensor, stars: Collection[Place]) -> list[str]:
    """Write one matrix, a vector as one row, a number as one cell."""
    rows = [*product(*map(range, matrix.shape[:-1]))]
    columns = [(i,) for i in range(matrix.shape[-1])] if matrix.ndim else [()]
    text = {
        (*row, *column): number(matrix[(*row, *column)].item())
        + (("*" if (*row, *column) in stars else " ") if stars else "")
        for row in rows
        for column in columns
    }
    width = max(map(len, text.values()), default=0)
    return ["  ".join(f"{text[(*row, *column)]:>{width}}" for column in columns) for row in rows]


def named(dims: str) -> str:
    """Write the dims of an argument behind its name; nothing for a number.

    Example:
        >>> named("bool Sq Sk"), named("size H")
        (' (Sq, Sk)', '')
    """
    words = dims.removeprefix("bool ").removeprefix("lengths ").split()
    return f" ({', '.join(words)})" if words and words[0] not in {"size", "device"} else ""


def number(value: Any, digits: int = 3) -> str:
    """Write a number with so many digits, from 1 on with one more.

    Example:
        >>> number(0.12345), number(1.2345), number(-1e30), number(True)
        ('0.123', '1.234', '-1e+30', 'True')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value + 0.0:.{digits + (abs(value) >= 1)}g}"  # -0.0 + 0.0 is 0.0


def _title(names: list[str], block: Place) -> str:
    axes = enumerate(zip(names, block, strict=False))
    words = [f"dim {at} at {i}" if n == UNNAMED else f"{n} {i}" for at, (n, i) in axes if n != "1"]
    return ", ".join(words)
