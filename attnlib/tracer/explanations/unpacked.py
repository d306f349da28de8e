"""Values that do not unpack into the names before the ``=``: shapes, pieces, tensors."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torch import Tensor

from ...dims import role
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
        return said, _pieces(info, ast.unparse(value), count)
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


def _pieces(x: TensorInfo, word: str, count: int) -> list[str]:
    """Take a tensor apart along the axis that has as many, else its last into as many pieces."""
    fitting = _apart(list(x.shape), list(x.dims), count)
    found = [f"{word}.unbind({axis})" for axis in fitting]
    if x.shape and x.shape[-1] % count == 0:
        found.append(f"{word}.chunk({count}, dim=-1)")
    return found


def _apart(shape: list[int], dims: list[str], count: int) -> list[int]:
    """Return the axes that are as many as the names; of several only one that has no name."""
    found = [axis for axis, size in enumerate(shape) if size == count]
    nameless = [axis for axis in found if dims[axis].isdigit()]
    if len(found) > 1:
        return nameless if len(nameless) == 1 else []
    return [axis for axis in found if role(dims[axis]) != "batch"]


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
    info = describe(tensor, ast.unparse(of)) if tensor is not None else None
    told = info.described() if info is not None else ast.unparse(of)
    said = f"{method} makes {len(parts)} of {told}, but {text} are {count} names"
    dims = list(info.dims) if info is not None else _written(of, x.dim())
    if method == "unbind":
        axes = _apart(list(x.shape), dims, count)
        return said, [_again(value, function, None, axis, x.dim()) for axis in axes]
    axis, number = _arguments(value, function)
    last = isinstance(axis, int) and axis in (-1, x.dim() - 1)
    found = []
    if last and method == "split" and _is_width(number):
        return said, []  # what is split is not as wide as it was meant to be
    if last and x.shape[-1] % count == 0:  # the last was meant, but so many pieces were not
        return said, [_again(value, function, count, x.dim() - 1, x.dim(), "chunk")]
    for place in [x.dim() - 1, *range(x.dim() - 1)]:
        if place < x.dim() - 1 and role(dims[place]) in ("batch", "heads"):
            continue
        code = _again(value, function, number, place, x.dim())
        try:
            made = scope.run(code)
        except Exception:
            continue
        if len(made) == count and len({part.shape for part in made}) == 1:
            found.append(code)
    return said, found


def _is_width(size: ast.expr | None) -> bool:
    """Is a piece as wide as the code says by name: ``split(self.n_embd, -1)``?"""
    name = ast.unparse(size).rpartition(".")[2] if size is not None else ""
    return role(name) in ("n_embd", "H") or bool(re.search("embd|embed|dim|d_model|d_head", name))


def _arguments(value: ast.Call, function: bool) -> tuple[int | None, ast.expr | None]:
    """Return the axis as it is written, where it is a number, and the count or the size."""
    given = {word.arg: word.value for word in value.keywords}
    rest = value.args[function:]
    axis = given.get("dim", given.get("axis", rest[1] if len(rest) > 1 else None))
    try:
        place = ast.literal_eval(axis) if axis is not None else 0
    except ValueError:
        place = None
    number = rest[0] if rest else given.get("chunks", given.get("split_size"))
    return place, number


def _again(
    value: ast.Call,
    function: bool,
    number: ast.expr | int | None,
    axis: int,
    ndim: int,
    method: str | None = None,
) -> str:
    """Write the call with another axis, and another number of pieces."""
    again = ast.parse(ast.unparse(value), mode="eval").body
    assert isinstance(again, ast.Call)
    assert isinstance(again.func, ast.Attribute)
    place = ast.Constant(-1 if axis == ndim - 1 else axis)
    again.func.attr = method or again.func.attr
    again.args = again.args[:function]
    again.keywords = []
    if number is None:
        again.args.append(place)
    else:
        again.args.append(ast.Constant(number) if isinstance(number, int) else number)
        again.keywords.append(ast.keyword("dim", place))
    return ast.unparse(again)


def _written(of: ast.expr, ndim: int) -> list[str]:
    """Return the sizes of a ``reshape`` as they are written; a number stands for no dim."""
    sizes: list[ast.expr] = []
    function = of.func if isinstance(of, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in ("view", "reshape"):
        assert isinstance(of, ast.Call)
        sizes = of.args
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
            sizes = sizes[0].elts
    if len(sizes) != ndim:
        return ["0"] * ndim
    return [ast.unparse(size) for size in sizes]
