"""A softmax as it is written, over another axis: the correction, tried on empty tensors."""

from __future__ import annotations

import ast
import copy

import torch
from torch import nn

from .operation import Operation
from .source import Site

_LONGEST = 50  # characters of a correction; of a longer call only its name is written


def corrected(site: Site, op: Operation, axis: int) -> str | None:
    """Write a call of softmax with another ``dim``; None where it is not written as one."""
    layer = isinstance(op.module, nn.Softmax)
    whole = copy.deepcopy(site.node)
    call = whole.func if layer and isinstance(whole, ast.Call) else whole
    if op.name == "div":
        return f"divide by the sum with dim={axis}, keepdim=True"
    if op.name == "sub":
        return f"take logsumexp with dim={axis}, keepdim=True"
    if layer and not _builds_layer(call):
        return f"nn.Softmax(dim={axis})" if _runs(op, axis) else None
    if whole is None or not isinstance(call, ast.Call) or not _runs(op, axis):
        return None
    method = not layer and isinstance(call.func, ast.Attribute) and not _is_function(call.func)
    words = [word for word in call.keywords if word.arg in ("dim", "axis")]
    place = 0 if method or layer else 1
    number = ast.parse(str(axis), mode="eval").body
    if words:
        words[0].value = number
    elif len(call.args) > place:
        call.args[place] = number
    else:
        call.keywords.insert(0, ast.keyword("dim", number))
    code = ast.unparse(whole)
    if len(code) <= _LONGEST:
        return code
    name = ast.unparse(call.func).rpartition(".")[2]
    return f"….{name}(dim={axis})" if method else f"{name}(…, dim={axis})"


def _builds_layer(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Softmax")


def _is_function(func: ast.Attribute) -> bool:
    """Tell ``torch.softmax`` and ``F.softmax`` from ``scores.softmax``."""
    value = func.value
    return ast.unparse(value) in ("torch", "F", "torch.nn.functional", "nn.functional")


def _runs(op: Operation, axis: int) -> bool:
    try:
        torch.softmax(torch.empty(op.inputs[0].shape, device="meta"), axis)
    except (RuntimeError, IndexError):
        return False
    return True
