"""Clashes in losses: where the classes stand, and what the targets have to be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from torch import Tensor

from ..labels import Label
from .alignment import fits
from .broadcasting import changed
from .changes import alike, moved
from .clash import Candidate, Failed, Tensors, clash, on
from .kinds import bounds, kinds

Told = tuple[str, list[Candidate]]


@clash("cross_entropy", "nll_loss")
def classes(failed: Failed) -> Told:
    """Read (N, classes, …) beside whole numbers (N, …), or beside weights for each class."""
    if len(failed.infos) < 2 or not failed.infos[0].shape:
        return kinds(failed)
    x, target = failed.infos[:2]
    axis = 1 if len(x.shape) > 1 else 0
    if x.shape == target.shape and len(x.shape) > 1:
        return _weights(failed)
    wanted = x.shape[:axis] + x.shape[axis + 1 :]
    if target.shape != wanted:
        names, held = [d for at, d in enumerate(x.dims) if at != axis], target.dims
        said = (
            f"axis {axis} of {x.name} holds the classes, {failed.size(0, axis)}, so the targets "
            f"are {_sized(names, wanted)}; {target.name} is {_sized(held, target.shape)}"
        )
        return said, list(_lined_up(failed))
    if target.dtype.startswith(("float", "bfloat", "int32", "int16", "bool")):
        said = f"targets are the numbers of classes (int64), but {target.name} is {target.dtype}"
        return said, [changed(failed, 1, f"{on(target.name)}.long()", lambda y: y.long())]
    if "out of bounds" in str(failed.error):
        return _out_of_bounds(failed, axis)
    return kinds(failed)


def _sized(names: Sequence[str], shape: Sequence[int]) -> str:
    """Write a shape by its names and in numbers; once where the numbers are all there is."""
    named, sizes = (f"({', '.join(map(str, row))})" for row in (names, shape))
    return sizes if named == sizes else f"{named} = {sizes}"


def _weights(failed: Failed) -> Told:
    x, target = failed.infos[:2]
    if target.dtype == x.dtype:
        return kinds(failed)
    said = (
        f"{target.described()} has the shape of {x.name}: then it holds a weight for each class, "
        f"of {x.dtype}, but it is {target.dtype}"
    )
    return said, [changed(failed, 1, f"{on(target.name)}.float()", lambda y: y.float())]


def _out_of_bounds(failed: Failed, axis: int) -> Told:
    x, target = failed.infos[:2]
    held = bounds(target.values)
    n = x.shape[axis]
    said = f"{x.name} has {n} classes, so targets are 0 … {n - 1}"
    said += f"; {target.name} holds {held[0]} … {held[1]}" if held else ""
    low = held is not None and held[0] < 0 <= held[1] < n and failed.code.endswith(")")
    if not held or not low or "ignore_index" in failed.code:
        return said, []
    code = f"{failed.code[:-1]}, ignore_index={held[0]})"
    return said, [Candidate(code, lambda t: _no_targets(failed, t))]


def _no_targets(failed: Failed, t: Tensors) -> Tensor:
    return failed.run([t[0], t[1].clamp(0), *t[2:]])


def _lined_up(failed: Failed) -> Iterator[Candidate]:
    """Bring the classes to their place, the targets into one row, or away what is one too much."""
    x, target = failed.infos[:2]
    labels, held = (failed.op.labels(state) for state in failed.states[:2])
    last = len(x.shape) - 1
    if last > 1 and x.shape[:-1] == target.shape and _agree(labels, held):
        change = moved(len(x.shape), last, 1)
        code = change.code(x.name) if last > 2 else f"{on(x.name)}.transpose(1, 2)"
        yield changed(failed, 0, code, change.run)
    count = math.prod(target.shape)
    name = on(target.name)
    if len(x.shape) == 2 and len(target.shape) > 1 and count == x.shape[0]:
        if target.shape[-1] == 1 and len(target.shape) == 2:
            yield changed(failed, 1, f"{name}.squeeze(-1)", lambda y: y.squeeze(-1))
        yield changed(failed, 1, f"{name}.flatten()", lambda y: y.flatten())
    if len(target.shape) == 1 and last > 1 and math.prod(x.shape[:-1]) == count:
        yield changed(failed, 0, f"{on(x.name)}.flatten(0, -2)", lambda y: y.flatten(0, -2))
    rest = [*labels[:1], *labels[2:]]
    for fit in fits(failed, held, rest):
        if None not in fit.change.axes:
            yield changed(failed, 1, fit.code(target.name), fit.run)
    pairs = list(zip(x.shape[:-1], target.shape, strict=False))
    if (
        last == len(target.shape) == 2
        and pairs[0][0] == pairs[0][1]
        and pairs[1][0] + 1 == (pairs[1][1])
    ):  # the next token's: the first one has none before it
        change = moved(3, 2, 1)
        code = failed.instead(x.name, f"{on(x.name)}.transpose(1, 2)")
        code = failed.instead(target.name, f"{name}[:, 1:]", code)
        yield Candidate(code, lambda t: failed.run([change.run(t[0]), t[1][:, 1:], *t[2:]]))


def _agree(labels: list[Label], held: list[Label]) -> bool:
    """Could the target's axes be the scores' own, or do the names speak against it?"""
    return all(
        alike(mine, its) or not (mine.name and its.name)
        for mine, its in zip(labels, held, strict=False)
    )


@clash(
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "gaussian_nll_loss",
    "poisson_nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "cosine_similarity",
)  # fmt: skip
def number_by_number(failed: Failed) -> Told:
    """Explain losses that compare each number with its own target."""
    if len(failed.infos) < 2:
        return kinds(failed)
    x, target = failed.infos[:2]
    if x.shape == target.shape:
        whole = target.dtype.startswith(("int", "uint", "bool"))
        if whole and failed.op.name != "cosine_similarity":
            said = f"{failed.op.name} needs floats, but {target.name} is {target.dtype}"
            code = f"{on(target.name)}.float()"
            return said, [changed(failed, 1, code, lambda y: y.float())]
        return kinds(failed)
    said = (
        f"{failed.op.name} compares number with number: {x.described()} and {target.described()} "
        "must have one shape"
    )
    rows = [failed.op.labels(state) for state in failed.states[:2]]
    found = []
    for which in (0, 1):  # an axis of 1 that is too much goes; else the other gets one
        for fit in fits(failed, rows[which], rows[1 - which]):
            if fit.dropped or None in fit.change.axes or len(rows[0]) == len(rows[1]):
                found.append((which, fit))
    found.sort(key=lambda pair: (not pair[1].dropped, pair[1].change.cost))
    return said, [
        changed(failed, which, fit.code(failed.names[which]), fit.run) for which, fit in found
    ]
