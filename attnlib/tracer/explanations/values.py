"""Operands that were not made alike: repeated, joined with a cache, split into heads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...dims import role
from ..rows import Step, TensorInfo
from .changes import dim_of
from .clash import Candidate, Failed, on
from .features import compared, maker, product_of

_REPEATING = {"repeat_interleave", "repeat", "expand"}
_LAID_OUT = {
    *_REPEATING, "transpose", "T", "permute", "reshape", "view", "flatten", "unsqueeze", "getitem",
    "contiguous", "clone", "to",
}  # fmt: skip


def left_behind(failed: Failed) -> tuple[str, list[Candidate]]:
    """Say what was done to the keys of right weights, and was not done to the values."""
    v = failed.infos[1]
    product, _ = product_of(failed.op.made(0), failed.rows)
    if product is None or len(v.shape) < 3 or len(product.inputs[1].shape) != len(v.shape):
        return "", []
    turned = compared(product, failed.rows)
    if turned[0] is not None:
        return "", []
    k = product.inputs[1] if turned[1] is None else turned[1]
    return _not_repeated(failed, k, v, product) or _not_joined(failed, k, v, product) or ("", [])


def joined_in_front(failed: Failed) -> str:
    """Say that keys or values were joined along an axis in front, where tokens are not."""
    for which, info in enumerate(failed.infos):
        row = failed.op.made(which)
        while row is not None and row.op in _LAID_OUT - _REPEATING and row.inputs:
            row = maker(row.inputs[0], failed.rows, row)
        if row is None or row.op != "cat" or len(row.inputs[0].shape) != len(info.shape):
            continue
        axis, rank = row.params.get("dim", 0), len(info.shape)
        if not isinstance(axis, int) or axis >= rank - 2 or row.output is None:
            continue
        one, whole = row.inputs[0], row.outputs[0]
        dims = {role(dim) for dim in one.dims[-2:]}
        if "S" not in dims and role(one.dims[axis]) not in ("heads", "batch"):
            continue
        if any(other.shape[axis] == one.shape[axis] for other in failed.infos if other != info):
            along = f"{one.dims[axis]} (dim={axis}): tokens stand along dim={rank - 2}"
            return f"; cat in line {row.line} joined {whole.name} along {along}"
    return ""


def _back(k: TensorInfo, rows: list[Step], before: Step, through: set[str]) -> Iterator[Step]:
    """Yield the rows that laid the keys out, the last first, up to one of another kind."""
    made = maker(k, rows, before)
    while made is not None and made.inputs:
        yield made
        if made.op not in through:
            return
        made = maker(made.inputs[0], rows, made)


def _not_repeated(
    failed: Failed, k: TensorInfo, v: TensorInfo, product: Step
) -> tuple[str, list[Candidate]] | None:
    w = failed.infos[0]
    if w.shape[-1] != v.shape[-2] or len(w.shape) != 4 or w.shape[1] == v.shape[1]:
        return None
    repeating: list[Step] = []
    for row in _back(k, failed.rows, product, _LAID_OUT):
        if row.op not in _LAID_OUT:
            break
        repeating += [row] if row.op in _REPEATING else []
        source = row.inputs[0].shape
        if len(source) == 4 and sorted(source[1:3]) == sorted(v.shape[1:3]) and repeating:
            break
    else:
        return None
    if not repeating or w.shape[1] % v.shape[1]:
        return None
    said = f"; {k.name} was repeated for {failed.size(0, 1)}, {v.name} was not repeated"
    n, a, b = w.shape[1] // v.shape[1], on(failed.names[0]), on(failed.names[1])
    whole = any(row.op == "repeat" for row in repeating)
    repeated = f"{b}.repeat(1, {n}, 1, 1)" if whole else f"{b}.repeat_interleave({n}, dim=1)"
    return said, [Candidate(f"{a} @ {repeated}")]


def _not_joined(
    failed: Failed, k: TensorInfo, v: TensorInfo, product: Step
) -> tuple[str, list[Candidate]] | None:
    rows = v.shape[-2]
    for row in _back(k, failed.rows, product, _LAID_OUT - _REPEATING):
        if row.op != "cat":
            continue
        axis = row.params.get("dim", 0)
        if not isinstance(axis, int) or axis >= len(row.inputs[0].shape):
            return None
        parts = [info.shape[axis] for info in row.inputs]
        if len(parts) < 2 or rows not in parts or sum(parts) != failed.infos[0].shape[-1]:
            return None
        return (
            f"; {v.name} was not joined with what came before it, as {k.name} was: {k.name} has "
            f"{' + '.join(map(str, parts))} rows, {v.name} {rows}"
        ), []
    return None


def split_apart(failed: Failed) -> str:
    """Say that one operand was split into (heads, features), the other into (features, heads)."""
    found = [_outside(failed, which) for which in (0, 1)]
    if sorted(found, key=str) != ["H", "heads"]:
        return ""
    a, b = failed.names[:2]
    words = {"H": "(features, heads)", "heads": "(heads, features)"}
    return f"in memory {a} lies as {words[found[0] or '']}, {b} as {words[found[1] or '']}"


def _outside(failed: Failed, which: int) -> str | None:
    """Return which of heads and features lies around the other in memory."""
    labels, strides = failed.op.labels(failed.states[which]), failed.infos[which].strides
    places = {dim_of(label): axis for axis, label in enumerate(labels)}
    if len(labels) != 4 or not {"H", "heads"} <= set(places):
        return None
    return max(("H", "heads"), key=lambda dim: strides[places[dim]])


def weights_added(failed: Failed) -> tuple[str, list[Candidate]]:
    """Say that what is added are the weights that a layer returned beside its output."""
    for which, name in enumerate(failed.names):
        row = failed.op.made(which)
        if row is None or row.op != "multi_head_attention_forward" or len(row.outputs) < 2:
            continue
        if row.outputs[1].shape != failed.infos[which].shape:
            continue
        try:
            (statement,) = ast.parse(row.code.strip()).body
        except (SyntaxError, ValueError):
            statement = None
        names: list[str] = []
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            names = [ast.unparse(part) for part in statement.targets[0].elts]
        said = f"; {name} holds the weights, which {row.module or row.op} returns after its output"
        if len(names) != 2 or names[1] != name or names[0] == "_":
            return said, []
        return f"{said}, {names[0]}", [Candidate(failed.instead(name, names[0]))]
    return "", []
