"""Values that do not unpack into the names before the ``=``: shapes, pieces, tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torch import Tensor

from ..rows import TensorInfo
from .scope import Scope

Describe = Callable[[Tensor, str], TensorInfo]
Told = tuple[str, list[str]]


def unpacked(node: ast.AST | None, parents: dict, scope: Scope, describe: Describe) -> Told:
    """Say how many parts there are, and along which axis there would be as many as names."""
    target, value = sides(node, parents)
    if target is None or value is None:
        return "", []
    names = [ast.unparse(item) for item in target.elts]
    starred = any(isinstance(item, ast.Starred) for item in target.elts)
    text, count = ", ".join(names), len(names)
    of = _shape_of(value)
    if of is not None:
        x = scope.tensor(of)
        if x is None:
            return "", []
        info = describe(x, ast.unparse(of))
        return f"{info.described()} has {x.dim()} axes, but {text} are {count} names", []
    tensor = scope.tensor(value)
    if tensor is not None and not starred:
        info = describe(tensor, ast.unparse(value))
        said = f"a tensor comes apart along axis 0, {info.axis(0)}, but {text} are {count} names"
        return said, _pieces(tensor, ast.unparse(value), count)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not starred:
        return _call(value, scope, describe, count, text)
    return "", []


def sides(
    node: ast.AST | None, parents: dict
) -> tuple[ast.Tuple | ast.List | None, ast.expr | None]:
    """Return the names before the ``=``, and the value that is to be unpacked into them."""
    while node is not None and not isinstance(node, ast.Assign):
        node = parents.get(node)
    if node is None or not isinstance(node.targets[0], ast.Tuple | ast.List):
        return None, None
    return node.targets[0], node.value


def _shape_of(value: ast.AST) -> ast.expr | None:
    """Return x of ``x.shape`` or ``x.size()``."""
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return value.value
    method = value.func if isinstance(value, ast.Call) and not value.args else None
    return method.value if isinstance(method, ast.Attribute) and method.attr == "size" else None


def _pieces(x: Tensor, word: str, count: int) -> list[str]:
    """Take a tensor apart along the axis that has as many, else its last into as many pieces."""
    found = [f"{word}.unbind({axis})" for axis, size in enumerate(x.shape) if size == count]
    if x.dim() and x.shape[-1] % count == 0:
        found.append(f"{word}.chunk({count}, dim=-1)")
    return found


def _call(value: ast.Call, scope: Scope, describe: Describe, count: int, text: str) -> Told:
    """``chunk``, ``split`` and ``unbind`` work along axis 0 unless they are told."""
    assert isinstance(value.func, ast.Attribute)
    method = value.func.attr
    if method not in ("chunk", "split", "unbind"):
        return "", []
    function = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
    of = value.args[0] if function and value.args else value.func.value
    try:
        parts = scope.run(ast.unparse(value))
        x = scope.run(ast.unparse(of))
    except Exception:
        return "", []
    tensor = scope.tensor(of)
    told = describe(tensor, ast.unparse(of)).described() if tensor is not None else ast.unparse(of)
    said = f"{method} makes {len(parts)} of {told}, but {text} are {count} names"
    found = []
    for axis in [x.dim() - 1, *range(x.dim() - 1)]:
        again = ast.parse(ast.unparse(value), mode="eval").body
        assert isinstance(again, ast.Call)
        place = function + (method != "unbind")
        again.args = again.args[:place]
        again.keywords = [word for word in again.keywords if word.arg not in ("dim", "axis")]
        number = -1 if axis == x.dim() - 1 else axis
        if method == "unbind":
            again.args.append(ast.parse(str(number), mode="eval").body)
        else:
            again.keywords.append(ast.keyword("dim", ast.parse(str(number), mode="eval").body))
        code = ast.unparse(again)
        try:
            made = scope.run(code)
        except Exception:
            continue
        if len(made) == count and len({part.shape for part in made}) == 1:
            found.append(code)
    return said, found
