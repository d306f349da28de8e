"""A failing call written anew: another argument, another operand before the dot."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from ..operations import SIGNATURES
from .clash import Failed, Put, on


def call_of(failed: Failed) -> ast.Call | None:
    """Parse the failed expression, where it is a call."""
    try:
        node = ast.parse(failed.code, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.Call) else None


def with_argument(failed: Failed, name: str, new: str) -> str | None:
    """Write the call with one argument set, where it stands or as a keyword at the end."""
    node = call_of(failed)
    if node is None or any(isinstance(item, ast.Starred) for item in node.args):
        return None
    value = ast.parse(new, mode="eval").body
    for word in node.keywords:
        if word.arg in (name, "axis" if name == "dim" else name):
            word.value = value
            return ast.unparse(node)
    words = SIGNATURES.get(failed.op.name, [])
    place = words.index(name) - failed.op.written.receiver() if name in words else -1
    if 0 <= place < len(node.args):
        node.args[place] = value
    else:
        node.keywords.append(ast.keyword(name, value))
    return ast.unparse(node)


def inside(name: str, change: Callable[[str], str]) -> str:
    """Change a tensor where it stands in ``~pad``, ``mask == 0`` or ``1 - mask``, not around it."""
    try:
        node = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError):
        return change(name)
    for part in ("operand", "left", "right"):
        other = {"left": "right", "right": "left"}.get(part, "")
        number = getattr(node, other, None)
        if isinstance(node, ast.Compare):
            number = node.comparators[0]
        if part == "operand" or isinstance(number, ast.Constant):
            inner = getattr(node, part, None)
            if isinstance(inner, ast.Name | ast.Attribute):
                new = ast.parse(change(ast.unparse(inner)), mode="eval").body
                setattr(node, part, new)
                return ast.unparse(node)
    return change(name)


def with_operand(failed: Failed, which: int, new: str) -> str:
    """Write the failed expression with one operand replaced; the one before the dot only there."""
    node = call_of(failed)
    before = node is not None and isinstance(node.func, ast.Attribute) and which == 0
    if node is not None and before and failed.op.written.receiver():
        assert isinstance(node.func, ast.Attribute)
        if ast.unparse(node.func.value) == failed.names[0]:
            node.func.value = ast.parse(on(new), mode="eval").body
            return ast.unparse(node)
    if failed.names.count(failed.names[which]) > 1:  # the name says nothing: ``bmm(x, x)``
        return _at_its_place(failed, which, new) or failed.code
    return failed.instead(failed.names[which], new)


def _at_its_place(failed: Failed, which: int, new: str) -> str | None:
    """Write the failed expression with what stands for one argument replaced."""
    part, node = failed.op.written.part(*failed.op.bound.places[which]), failed.site.node
    if part is None or node is None or ast.unparse(part) != failed.names[which]:
        return None
    copies: dict[int, Any] = {}  # the tree is the reader's, and kept
    whole = copy.deepcopy(node, copies)
    value = ast.parse(new, mode="eval").body
    return ast.unparse(Put(copies[id(part)], value).visit(whole)) if id(part) in copies else None
