"""What Python refused before any operation ran: names that are not there, arguments of no use.

Each function reads the failing expression and what its names hold, and returns a sentence and
corrections as code; a correction is run on empty tensors before it is shown.
"""

from __future__ import annotations

import ast
import copy
import difflib
from typing import Any

import torch
from torch import Tensor, nn

from .arguments import arguments, expression
from .scope import Scope, attributes
from .unpacked import Describe, Told, unpacked

_NUMPY = {"astype": "to", "copy": "clone", "concatenate": "cat", "power": "pow", "ndims": "ndim"}


def refused(
    failure: BaseException, node: ast.AST | None, parents: dict, scope: Scope, describe: Describe
) -> Told:
    """Say what is wrong with an expression that never became an operation."""
    if isinstance(failure, ValueError) and "unpack" in str(failure):
        return unpacked(node, parents, scope, describe)
    if not isinstance(node, ast.expr):
        return "", []
    if isinstance(failure, AttributeError) and isinstance(node, ast.Attribute):
        return _attribute(node, parents.get(node), scope)
    own = expression(ast.unparse(node))  # to be changed; the source's own tree stays
    if isinstance(failure, IndexError):
        return _axis(own, scope, describe)
    if isinstance(failure, TypeError):
        return arguments(own, str(failure), scope, describe)
    return "", []


def _attribute(node: ast.Attribute, parent: ast.AST | None, scope: Scope) -> Told:
    """A name that is nearly there; a method of numpy; a tuple where its first part was meant."""
    owner, name, word = scope.value(node.value), node.attr, ast.unparse(node.value)
    call = parent if isinstance(parent, ast.Call) and parent.func is node else None

    def written(base: str, attribute: str) -> str:
        text = f"{base}.{attribute}"
        return ast.unparse(call).replace(ast.unparse(node), text, 1) if call is not None else text

    if isinstance(owner, tuple) and not isinstance(owner, torch.Size) and owner:
        part = f"{word}.values" if hasattr(owner, "values") else f"{word}[0]"
        return f"{word} is a tuple of {len(owner)}", [written(part, name)]
    if owner is None:
        if not _is_tensor(node.value, scope):
            return "", []
        owner = Tensor
    known = _names(owner)
    near = [_NUMPY[name]] if name in _NUMPY and _NUMPY[name] in known else []
    near += difflib.get_close_matches(name, known, n=2, cutoff=0.7)
    if not near:
        return "", []
    if name == "astype":
        said = f"tensors have {near[0]}(dtype), astype is numpy's"
    else:
        said = f"{word} has no {name}; it has {near[0]}"
    return said, [written(word, attribute) for attribute in near]


def _is_tensor(node: ast.AST, scope: Scope) -> bool:
    try:
        return isinstance(scope.run(ast.unparse(node)), Tensor)
    except Exception:
        return False


def _names(owner: Any) -> list[str]:
    names = set(dir(type(owner)) if isinstance(owner, nn.Module) else dir(owner))
    if isinstance(owner, nn.Module):
        names = names.difference(dir(nn.Module)).union(attributes(owner))
    return sorted(name for name in names if not name.startswith("_"))


def _axis(node: ast.AST, scope: Scope, describe: Describe) -> Told:
    """``x.shape[3]`` of three axes."""
    node, x, axis = copy.deepcopy(node), None, None  # the tree is the reader's, and kept
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        if node.value.attr == "shape":
            x, axis = node.value.value, node.slice
            node.slice = expression("-1")
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        method = node.func
        if isinstance(method, ast.Attribute) and method.attr == "size":
            x, axis = method.value, node.args[0]
            node.args = [expression("-1")]
    tensor = scope.tensor(x) if x is not None else None
    if tensor is None or axis is None or x is None:
        return "", []
    n = tensor.dim()
    said = f"{describe(tensor, ast.unparse(x)).described()} has {n} axes, 0 … {n - 1}"
    return said, [ast.unparse(node)] if n else []
