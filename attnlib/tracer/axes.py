"""Where each axis of a tensor stands after an operation, or goes: by place, whatever its name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .equations import spread
from .labels import tokens
from .operation import Operation

Places = list[int | None]  # for each axis of the input, where it stands in the result

PERMUTING = ("transpose", "T", "H", "permute", "movedim")
_SHAPING = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze"}
_MOVING = {*PERMUTING, "expand", "expand_as", *_SHAPING}


def permuted(name: str, params: Mapping[str, Any], n: int) -> list[int]:
    """Say which of n axes stands at each place after one of the operations that permute them."""
    order = list(range(n))
    if name in ("T", "H"):
        order.reverse()
    elif name == "permute":
        order = list(params["dims"])
    elif name == "movedim":
        order = _movedim(n, params["source"], params["destination"])
    elif n > 1:  # a transpose; what has one axis or none comes back as it is
        i, j = params["dim0"], params["dim1"]
        order[i], order[j] = order[j], order[i]
    return order


def moves(op: Operation) -> bool:
    """Does an operation keep all numbers, and at most move axes? ``x[:, None]`` does too."""
    if op.name != "getitem":
        return op.name in _MOVING
    index = op.params["index"]
    index = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or part == slice(None) for part in index)


def moved(op: Operation) -> Places:
    """Follow the axes of the first input through an operation that moves them, or none."""
    old, new = op.inputs[0].shape, op.shape
    if op.name in _SHAPING or op.name == "getitem":
        return _reshaped(old, new)
    if op.name in PERMUTING:
        order = permuted(op.name, op.params, len(old))
        return [order.index(axis) for axis in range(len(old))]
    return lined_up(old, new)


def lined_up(old: Sequence[int], new: Sequence[int]) -> Places:
    """Follow axes through broadcasting: they line up from the last."""
    return [axis + len(new) - len(old) for axis in range(len(old))]


def _movedim(n: int, source: int | Sequence[int], target: int | Sequence[int]) -> list[int]:
    sources = [source] if isinstance(source, int) else list(source)
    targets = [target] if isinstance(target, int) else list(target)
    placed = dict(zip(targets, sources, strict=True))
    rest = iter(axis for axis in range(n) if axis not in sources)
    return [placed[place] if place in placed else next(rest) for place in range(n)]


def _reshaped(old: Sequence[int], new: Sequence[int]) -> Places:
    """Find the axes that a reshape leaves whole: as large, with as many numbers before them."""
    found: Places = []
    for axis, size in enumerate(old):
        before = math.prod(old[:axis])
        places = (k for k, n in enumerate(new) if n == size and math.prod(new[:k]) == before)
        place = next((k for k in places if k not in found), None)
        found.append(place)
    return found


def terms_of(op: Operation) -> tuple[list[str], str]:
    """Return an einsum's operands and its result, a letter for every axis."""
    try:
        equation, _ = spread(op.params["equation"], [len(state.shape) for state in op.inputs])
    except (KeyError, TypeError, ValueError, AttributeError):
        return [], ""
    left, right = equation.split("->")
    return left.split(","), right


def summed_over(op: Operation, which: int) -> list[int]:
    """Return the axes of an operand that a product sums over."""
    ndim = len(op.inputs[which].shape)
    if op.name == "matmul":
        return [ndim - 1 if which == 0 or ndim == 1 else ndim - 2]
    terms, right = terms_of(op)
    return (
        [axis for axis, letter in enumerate(terms[which]) if letter not in right] if terms else []
    )


def has_features(op: Operation, which: int) -> bool:
    """Does what an operand is multiplied with have an axis of features that comes out of it?

    A number for each token has none, nor has another table of tokens: what is summed then is
    weights, and no mixture of values.
    """
    if len(op.inputs) != 2:
        return True
    other = op.inputs[1 - which]
    own = [len(other.shape) - 1 - which] if len(other.shape) > 1 else []
    if op.name == "einsum":
        terms, right = terms_of(op)
        mine, its = (terms[which], terms[1 - which]) if terms else ("", "")
        own = [axis for axis, x in enumerate(its) if x in right and x not in mine]
    labels = op.labels(other)
    return any(labels[axis].size > 1 and not tokens(labels[axis]) for axis in own)


def lonely(op: Operation, which: int, place: int) -> str | None:
    """Return the letter of an axis that einsum sums over by itself, beside one of the values alone.

    ``bij,bkd->bid``: j and k are as many, and no letter brings them together.
    """
    terms, right = terms_of(op) if op.name == "einsum" and len(op.inputs) == 2 else ([], "")
    if not terms or terms[which][place] in terms[1 - which]:
        return None
    size, values = op.inputs[which].shape[place], op.inputs[1 - which]
    free = set(terms[1 - which]) - set(terms[which]) - set(right)
    alike = any(letter in free and n == size
                for letter, n in zip(terms[1 - which], values.shape, strict=True))  # fmt: skip
    return terms[which][place] if alike else None
