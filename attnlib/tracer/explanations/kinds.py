"""Clashes of kind: dtypes, devices, numbers that do not fit, ids that are not in the table."""

from __future__ import annotations

import ast
import math
from collections import Counter

import torch
from torch import Tensor

from ...dims import role
from .clash import Candidate, Failed, Tensors, clash, on
from .masks import as_bool


def kinds(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain operands whose dtypes or devices differ, or a number that does not fit a dtype."""
    infos = failed.infos
    told = _mask(failed)
    if told is not None:
        return told
    devices, dtypes = {info.device for info in infos}, [info.dtype for info in infos]
    if len(devices) > 1:
        first = infos[0]
        other = next(info for info in infos if info.device != first.device)
        said = f"{first.name} is on {first.device}, {other.name} on {other.device}"
        code = failed.instead(other.name, f"{on(other.name)}.to({on(first.name)}.device)")
        return said, [Candidate(code, failed.run)]
    if "converted" in str(failed.error) and "overflow" in str(failed.error) and infos:
        value = failed.op.params.get("value")
        said = f"{value} does not fit in {infos[0].dtype}, the dtype of {infos[0].name}"
        mask = infos[1].name if len(infos) > 1 else "mask"
        code = f'{on(infos[0].name)}.masked_fill({mask}, float("-inf"))'
        return said, [Candidate(code, lambda t: t[0].masked_fill(t[1], float("-inf")))]
    if len(set(dtypes)) > 1:
        first = infos[0]
        if first.dtype.startswith(("int", "uint", "bool")) and failed.op.name in _LAYERS:
            return _whole_numbers(failed)
        second = next(info for info in infos if info.dtype != first.dtype)
        said = f"{first.name} is {first.dtype}, {second.name} {second.dtype}: both must be the same"
        kept = _kept(failed, dtypes)
        odd = [which for which, dtype in enumerate(dtypes) if dtype != kept]
        code = failed.code
        for which in odd:
            whole = not getattr(torch, dtypes[which]).is_floating_point
            short = whole and kept == "float32"
            cast_to = ".float()" if short else f".to(torch.{kept})"
            new = on(failed.names[which]) + cast_to
            code = failed.instead(failed.names[which], new, code)

        def cast(t: Tensors) -> Tensor:
            return failed.run([x.to(getattr(torch, kept)) for x in t])

        return said, [Candidate(code, cast)]
    return "", []


_LAYERS = {
    "linear", "conv1d", "conv2d", "conv3d", "bilinear", "layer_norm", "rms_norm", "group_norm",
    "batch_norm",
}  # fmt: skip


def _kept(failed: Failed, dtypes: list[str]) -> str:
    """Choose the dtype that stays: a layer's, a weight's, the one of most operands, no double.

    Whole numbers never stay where there are floats: a float made whole loses what it holds.
    """
    if failed.op.name in _LAYERS:
        return dtypes[1]
    floats = [dtype for dtype in dtypes if getattr(torch, dtype).is_floating_point]
    weights = [
        dtype
        for state, dtype in zip(failed.states, dtypes, strict=False)
        if state.identity.weight and dtype in floats
    ]
    if len(set(weights)) == 1:
        return weights[0]
    if len(floats) > 2 or not floats:
        return Counter(floats or dtypes).most_common(1)[0][0]
    return floats[-1] if floats[0] == "float64" else floats[0]


def _whole_numbers(failed: Failed) -> tuple[str, list[Candidate]]:
    """Tell ids, which are looked up, from measured numbers, which a layer reads as floats."""
    x, weight = failed.infos[:2]
    said = f"{x.name} holds whole numbers ({x.dtype}); a layer reads floats"
    if x.dtype == "int64" and role(x.dims[-1]) == "S":
        return f"{said}: embed ids first", []
    said += f", {weight.name} is {weight.dtype}"
    code = failed.instead(x.name, f"{on(x.name)}.to(torch.{weight.dtype})")
    if weight.dtype == "float32":
        code = failed.instead(x.name, f"{on(x.name)}.float()")
    return said, [Candidate(code, lambda t: failed.run([t[0].to(t[1].dtype), *t[1:]]))]


def _mask(failed: Failed) -> tuple[str, list[Candidate]] | None:
    """Explain a mask that is not made of True and False, where only that is a mask."""
    places = {"masked_fill": "mask", "scaled_dot_product_attention": "attn_mask"}
    wanted = places.get(failed.op.name)
    for which, (argument, _) in enumerate(failed.op.bound.places):
        info = failed.infos[which]
        added = failed.op.name != "masked_fill" and info.dtype.startswith(("float", "bfloat"))
        if argument != wanted or info.dtype == "bool" or added:
            continue
        said = f"{info.name} is {info.dtype}, but a mask is bool"
        if failed.op.name != "masked_fill":
            said += " (True may attend), or of the dtype of the queries and added to the scores"
        more, codes = as_bool(failed, which, failed.op.name == "masked_fill")
        return said + more, [
            Candidate(failed.instead(info.name, code), failed.changed(which, lambda x: x.bool()))
            for code in codes
        ]
    return None


@clash("one_hot")
def one_hot(failed: Failed) -> tuple[str, list[Candidate]]:
    ids = failed.infos[0]
    if ids.dtype == "int64":
        held, n = bounds(ids.values), failed.op.params.get("num_classes")
        told = f"; {ids.name} holds {held[0]} … {held[1]}" if held else ""
        return f"with {n} classes, numbers of classes are 0 … {int(n or 0) - 1}{told}", []
    said = f"one_hot reads the numbers of classes (int64), but {ids.name} is {ids.dtype}"
    code = failed.instead(ids.name, f"{on(ids.name)}.long()")
    classes = Candidate(code, lambda t: failed.run([t[0].long()]))
    return said, [classes] if may_count(failed, 0) else []


@clash("embedding")
def lookup(failed: Failed) -> tuple[str, list[Candidate]]:
    if len(failed.infos) < 2:
        return "", []
    ids, table = failed.infos[:2]
    if ids.dtype not in ("int64", "int32"):
        said = f"an embedding is looked up by whole numbers, but {ids.name} is {ids.dtype}"
        code = failed.instead(ids.name, f"{on(ids.name)}.long()")
        rows = Candidate(code, lambda t: torch.embedding(t[1], t[0].long()))
        return said, [rows] if may_count(failed, 0, table.shape[0]) else []
    held = bounds(ids.values)
    told = f"; {ids.name} holds {held[0]} … {held[1]}" if held else ""
    return f"{table.name} has {table.shape[0]} rows, so ids are 0 … {table.shape[0] - 1}{told}", []


def may_count(failed: Failed, which: int, end: int | None = None) -> bool:
    """Does nothing speak against whole numbers, from 0 to before ``end``, in a tensor of floats?"""
    x = failed.scope.tensor(ast.parse(failed.names[which], mode="eval").body)
    if x is None and failed.infos[which].values is not None:
        x = torch.tensor(failed.infos[which].values)
    if x is None or x.is_meta or x.is_complex():
        return True
    x = x.detach().double()
    whole = x.isfinite() & (x == x.floor())
    return bool((whole if end is None else whole & (x >= 0) & (x < end)).all())


def bounds(values) -> tuple | None:
    """Return the smallest and the largest of a tensor's numbers, where they were kept."""
    flat = numbers(values)
    return (min(flat), max(flat)) if flat else None


def numbers(values) -> list:
    flat, open_ = [], [values]
    while open_:
        value = open_.pop()
        if isinstance(value, list):
            open_ += value
        elif isinstance(value, int | float) and not math.isnan(value):
            flat.append(value)
    return flat
