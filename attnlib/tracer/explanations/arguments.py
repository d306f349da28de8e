"""Arguments that Python or torch refuses before any operation runs."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

import torch

from ...dims import role
from ..rows import TensorInfo
from .clash import Failed
from .scope import Scope
from .unpacked import Describe, Told

_SQUARE = {"tril", "triu"}
_LIKE = {"ones", "zeros", "empty", "randn", "rand"}
_DIMLESS = {"softmax", "log_softmax", "cumsum"}


def arguments(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told:
    """Say what an expression was given that it does not take."""
    for explain in (_called, _results, _number, _sizes, _listed, _dimless, _turned, _shaped):
        told = explain(node, error, scope, describe)
        if told is not None:
            return told
    return "", []


def given(failed: Failed, describe: Describe) -> Told:
    """Say the same of an operation that was given what it does not take."""
    try:
        node = ast.parse(failed.code, mode="eval").body
    except (SyntaxError, ValueError):
        return "", []
    return arguments(node, str(failed.error), failed.scope, describe)


def _called(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """``x.size[1]`` and ``x.shape(1)``: a method is called, a shape is indexed."""
    what = node.value if isinstance(node, ast.Subscript) else None
    if "not subscriptable" in error and isinstance(what, ast.Attribute) and what.attr == "size":
        text = ast.unparse(what.value)
        code = f"{text}.shape[{ast.unparse(node.slice)}]"  # type: ignore[attr-defined]
        return f"{text}.size is a method, {text}.shape a tuple", [code]
    if "torch.Size' object is not callable" in error and isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        index = f"[{ast.unparse(node.args[0])}]" if node.args else ""
        return f"{text} is a tuple, no method", [text + index]
    if "builtin_function_or_method" in error and isinstance(node, ast.Call):
        return _uncalled(node, scope)
    return None


def _uncalled(node: ast.Call, scope: Scope) -> Told | None:
    """``x.view(x.size)``: the method itself where its result was meant."""
    for place, arg in enumerate(node.args):
        if not isinstance(arg, ast.Attribute) or arg.attr not in _OF_A_TENSOR:
            continue
        if scope.tensor(arg.value) is not None:
            word = ast.unparse(arg)
            node.args[place] = ast.Call(arg, [], [])
            return f"{word} is a method, {word}() is what it gives", [ast.unparse(node)]
    return None


_OF_A_TENSOR = {"size", "dim", "ndimension", "numel", "nelement", "item", "tolist", "stride"}


def _results(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """A tuple of results, where the first was meant: ``x.max(-1).values``, ``attention(x)[0]``."""
    if "unsupported operand" not in error or not isinstance(node, ast.BinOp | ast.AugAssign):
        return None
    sides = ("left", "right") if isinstance(node, ast.BinOp) else ("value",)
    for side in sides:
        part = getattr(node, side)
        held = scope.value(part)
        if held is None and isinstance(part, ast.Call):
            try:
                held = scope.run(ast.unparse(part))
            except Exception:
                continue
        if not isinstance(held, tuple) or isinstance(held, torch.Size) or not held:
            continue
        word = ast.unparse(part)
        values = hasattr(held, "values")
        setattr(node, side, expression(f"{word}.values" if values else f"{word}[0]"))
        what = "values and indices" if values else f"{len(held)} results"
        return f"{word} gives a tuple of {what}", [ast.unparse(node)]
    return None


def _number(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """``torch.sqrt(q.shape[-1])``: a function of tensors on a number of Python's."""
    if not re.search("must be Tensor, not (int|float|Dim)", error) or not isinstance(
        node, ast.Call
    ):
        return None
    module, _, name = ast.unparse(node.func).rpartition(".")
    if module != "torch" or name in _SQUARE or len(node.args) != 1 or node.keywords:
        return None
    word = ast.unparse(node.args[0])
    try:
        value = scope.run(word)
    except Exception:
        return None
    if not isinstance(value, int | float):
        return None
    said = f"torch.{name} takes a tensor, but {word} is a number, {value:g}"
    base = word if isinstance(node.args[0], _WHOLE) else f"({word})"
    found = [f"math.{name}({word})"] if scope.holds("math") and hasattr(math, name) else []
    power = {"sqrt": "0.5", "rsqrt": "-0.5", "square": "2"}.get(name)
    found += [f"{base} ** {power}"] if power else []
    return said, [*found, f"torch.{name}(torch.tensor({word}))"]


_WHOLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


def _sizes(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """Sizes are whole numbers: ``/`` gives a float, a tensor has its sizes in ``shape``."""
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func).rpartition(".")[2]
    divided = [n for n in ast.walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    if divided and name not in _DIMLESS:
        word = ast.unparse(divided[0])
        for part in divided:
            part.op = ast.FloorDiv()
        said = f"{word} is a float: / divides into floats, // into whole numbers"
        return said, [ast.unparse(node)]
    tensors = [(place, scope.tensor(arg)) for place, arg in enumerate(node.args)]
    given = [(place, tensor) for place, tensor in tensors if tensor is not None]
    if name == "arange" and given:
        place, tensor = given[-1]
        word = ast.unparse(node.args[place])
        info = describe(tensor, word)
        if tensor.dim():
            node.args[place] = expression(f"{word}.shape[{_tokens(info)}]")
        else:
            node.args[place] = expression(f"{word}.item()")
        return f"a range has a number for its end, but {info.described()} is a tensor", [
            ast.unparse(node)
        ]
    if name in _LIKE and len(node.args) == 1 and given:
        word = ast.unparse(node.args[0])
        node.func = expression(f"{ast.unparse(node.func)}_like")
        return f"a size is a number, but {describe(given[0][1], word).described()} is a tensor", [
            ast.unparse(node)
        ]
    if name in _SQUARE and node.args and "must be Tensor" in error:
        sizes = [ast.unparse(arg) for arg in node.args[:2]]
        sizes = sizes * 2 if len(sizes) == 1 else sizes
        node.args = [expression(f"torch.ones({', '.join(sizes)})"), *node.args[2:]]
        return f"{name} keeps a triangle of a tensor, it makes none", [ast.unparse(node)]
    return None


def _tokens(info: TensorInfo) -> int:
    """Say which axis holds the tokens, by its name or its usual place."""
    roles = [role(dim) for dim in info.dims]
    return roles.index("S") if "S" in roles else min(1, len(info.dims) - 1)


def _listed(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """``cat`` and ``stack`` take one list of tensors."""
    if "must be tuple of Tensors" not in error or not isinstance(node, ast.Call):
        return None
    tensors = [arg for arg in node.args if not isinstance(arg, ast.Constant)]
    rest = [arg for arg in node.args if isinstance(arg, ast.Constant)]
    node.args = [ast.List(tensors, ast.Load()), *rest]
    name = ast.unparse(node.func)
    return f"{name} takes its tensors in one list", [ast.unparse(node)]


def _dimless(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """A softmax along no axis; over the keys it is the last one."""
    if '"dim"' not in error or "missing" not in error or not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func).rpartition(".")[2]
    node.keywords.append(ast.keyword("dim", expression("-1")))
    said = f"{name} has to be told along which axis; over keys, or features, it is the last"
    return said, [ast.unparse(node)] if name in _DIMLESS else []


def _turned(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """numpy's ``transpose`` takes all axes, or none; torch's takes two."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "transpose" or "transpose()" not in error:
        return None
    given = list(_flat(node.args))
    if isinstance(node.func.value, ast.Name) and node.func.value.id == "torch":
        given = given[1:]
    said = "transpose changes two axes over; permute takes all of them, in their new order"
    if len(given) < 2:
        node.args = [*node.args[: len(node.args) - len(given)], *map(_expression, ("-2", "-1"))]
        return said, [ast.unparse(node)]
    node.func.attr = "permute"
    return said, [ast.unparse(node)]


def _flat(nodes: list[ast.expr]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.Tuple | ast.List):
            yield from node.elts
        else:
            yield node


def _shaped(node: ast.expr, error: str, scope: Scope, describe: Describe) -> Told | None:
    """A shape among sizes: ``torch.zeros(x.shape, heads)``."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    held = [scope.value(arg) for arg in node.args]
    shapes = [
        (isinstance(arg, ast.Attribute) and arg.attr == "shape") or isinstance(value, torch.Size)
        for arg, value in zip(node.args, held, strict=True)
    ]
    if not any(shapes) or ast.unparse(node.func).rpartition(".")[2] not in _LIKE:
        return None
    node.args = [
        ast.Starred(arg, ast.Load()) if shape else arg
        for arg, shape in zip(node.args, shapes, strict=True)
    ]
    return "a shape among sizes has to be unpacked with *", [ast.unparse(node)]


def expression(text: str) -> ast.expr:
    """Parse one expression."""
    return ast.parse(text, mode="eval").body
