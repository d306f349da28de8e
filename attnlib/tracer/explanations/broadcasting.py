"""Clashes of operands that are lined up from the last axis: arithmetic, masks, in-place forms."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from torch import nn

from ...dims import role
from ..labels import Label
from .alignment import fits
from .calls import inside, with_operand
from .changes import Change, alike, dim_of
from .clash import Candidate, Failed, batch_clash, clash, reversed_axes
from .counted import miscounted
from .cuts import cuts
from .halves import doubled
from .inline import joined_otherwise, last_rows, resized
from .kinds import kinds
from .masks import sliced_triangle
from .outer import outer
from .pairs import paired
from .plain import plain
from .stars import multiplied
from .values import weights_added


@clash("masked_select")
def broadcast(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain operands that do not line up from the last axis."""
    shapes = [info.shape for info in failed.infos]
    for first in range(len(shapes)):
        for second in range(first + 1, len(shapes)):
            back = batch_clash(shapes[first], shapes[second])
            if back is not None:
                said = (
                    f"axes line up from the last and must be equal or 1: axis {back} of "
                    f"{failed.names[first]} is {failed.size(first, back)}, of "
                    f"{failed.names[second]} {failed.size(second, back)}"
                )
                cut = [which for which in (first, second) if sliced_triangle(failed, which)]
                if cut:
                    name, other = failed.infos[cut[0]].described(), first + second - cut[0]
                    said += f"; the axes of a causal mask are queries and keys: {name}"
                    return said, list(resized(failed, cut[0], other))
                more, found = weights_added(failed)
                found += [] if more else _lined_up(failed, first, second)
                return said + reversed_axes(failed) + more, found
    return in_place(failed) or plain(failed) or kinds(failed)


def _lined_up(failed: Failed, first: int, second: int) -> Iterator[Candidate]:
    """Try one operand laid out as the other stands, or cut to what the other has."""
    pairs = sorted([(first, second), (second, first)], key=lambda pair: _order(failed, pair[0]))
    if written_into(failed):  # what is written into keeps its shape
        pairs = [pair for pair in pairs if pair[0] != 0]
    labels = [failed.op.labels(state) for state in failed.states]
    yield from multiplied(failed)
    for which, other in pairs:
        yield from joined_otherwise(failed, which, other)
        yield from doubled(failed, which, other)
    for which, other in pairs:
        if miscounted(failed, which):
            continue
        if paired(failed, other, which) is not None:
            continue
        if failed.op.name == "masked_fill" and which == 0 and failed.infos[other].dtype == "bool":
            continue  # scores stay as they lie under a mask
        met = paired(failed, which, other)
        ways = fits(failed, labels[which], labels[other]) if met is None else met
        for fit in ways:
            if met is None and _hides_queries(
                failed, which, fit.change, labels[which], labels[other]
            ):
                continue
            yield changed(failed, which, inside(failed.names[which], fit.code), fit.run)
    remade = [
        candidate
        for which, other in pairs
        for candidate in (*resized(failed, which, other), *last_rows(failed, which, other))
    ]
    vectors = {len(failed.infos[which].shape) for which, _ in pairs} == {1}  # steps meet lengths
    yield from () if vectors else remade
    if len(pairs) == 2:
        yield from outer(failed, first, second)
    yield from remade
    for which, other in pairs:
        for cut in cuts(failed, which, other):
            yield changed(failed, which, inside(failed.names[which], cut.code), cut.run)


def _hides_queries(
    failed: Failed, which: int, change: Change, mine: list[Label], wanted: list[Label]
) -> bool:
    """Would padding be laid along the queries? Keys are hidden: it is of the wrong sequence."""
    if failed.infos[which].dtype != "bool" or len(wanted) < 2 or len(change.axes) < 2:
        return False
    rows, keys = change.axes[-2:]
    if len(mine) == len(wanted):
        return rows == len(mine) - 1 and mine[-2].size == 1
    scores = [dim_of(label) for label in wanted[-2:]] == ["S", "S"]
    return scores and keys is None and rows is not None and not alike(*wanted[-2:])


def changed(failed: Failed, which: int, code: str, change) -> Candidate:
    """Write the failed expression with one operand changed, and run it so."""
    return Candidate(with_operand(failed, which, code), failed.changed(which, change))


def _order(failed: Failed, which: int) -> tuple[int, int, bool, bool, int]:
    """Say which operand is changed first: the smaller; of two alike a mask, or what came later.

    What is added to the stream of a block stays as it lies. Of two that were given, the one whose
    batch stands first stays.
    """
    shape, made = failed.infos[which].shape, failed.op.made(which)
    first = role(failed.infos[which].dims[0]) if shape else None
    later = failed.states[which].identity.number if made is not None else -1
    data = failed.infos[which].dtype != "bool"
    turned = -later if made is not None else int(first == "batch")
    return len(shape), math.prod(shape), data, made is None, turned


def written_into(failed: Failed) -> bool:
    """Does the operation write into its first operand?"""
    name = failed.op.torch_name
    return name == "__setitem__" or (
        name.endswith("_")
        and (not name.startswith("__") or (name.startswith("__i") and name != "__invert__"))
    )


def in_place(failed: Failed) -> tuple[str, list[Candidate]] | None:
    """Explain a tensor that cannot be written into: too small, expanded, a leaf, whole numbers."""
    if not failed.infos or not written_into(failed):
        return None
    x, error = failed.infos[0], str(failed.error)
    reasons = {
        "doesn't match the broadcast shape": f"{x.described()} cannot grow as it is written into",
        "single memory location": (
            f"{x.name} was expanded: several of its places are one number in memory (strides "
            f"{x.strides}), so it cannot be written into"
        ),
        "leaf Variable": (
            f"{x.name} is a leaf that requires a gradient, so it cannot be written into while "
            "gradients are recorded"
        ),
        "can't be cast": f"{x.name} is {x.dtype} and keeps its dtype while it is written into",
    }
    said = next((text for sign, text in reasons.items() if sign in error), None)
    if said is None:
        return None
    if "leaf Variable" in error and _is_weight(failed):
        return f"{said}; weights are changed inside torch.no_grad()", [
            Candidate(f"with torch.no_grad(): {failed.statement}", failed.run)
        ]
    return f"{said}; the form without writing makes a new tensor", list(_new(failed))


def _is_weight(failed: Failed) -> bool:
    """Is it a step of training by hand, or a weight whose place in its layer only it can have?"""
    if failed.statement is None:
        return False
    name = ast.parse(failed.names[0], mode="eval").body
    held = isinstance(name, ast.Attribute) and isinstance(failed.scope.tensor(name), nn.Parameter)
    each = any(ast.unparse(loop.target) == failed.names[0] for loop in failed.op.loops())
    return held or each or bool(re.search(r"\.grad\b", failed.statement))


def _new(failed: Failed) -> Iterator[Candidate]:
    """Write ``x += y`` as ``x = x + y``, and ``x.add_(y)`` as ``x.add(y)``."""
    try:
        (node,) = ast.parse(failed.statement or failed.code).body
    except (SyntaxError, ValueError):
        return
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Subscript):
        value = ast.BinOp(node.target, node.op, node.value)
        yield Candidate(f"{ast.unparse(node.target)} = {ast.unparse(value)}")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, written = node.value.func, failed.op.operand(0)
        if not isinstance(function, ast.Attribute) or not function.attr.endswith("_"):
            return
        function.attr = function.attr[:-1]
        if failed.statement is None:
            yield Candidate(ast.unparse(node))
        elif written is not None and _is_name(written):
            yield Candidate(f"{written} = {ast.unparse(node)}")
    elif isinstance(node, ast.Assign) and _is_name(failed.names[0]):
        x = failed.names[0]
        yield Candidate(f"{x} = {x}.clone(); {failed.statement}", failed.run)


def _is_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
