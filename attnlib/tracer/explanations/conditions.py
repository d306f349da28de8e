"""Many numbers where Python asks for one True or False: ``if x > 0``, ``a and b``, ``not x``."""

from __future__ import annotations

import ast
import math

import torch

from .clash import Candidate, Failed, normal, on

Told = tuple[str, list[Candidate]]
_SIGNS = {ast.And: ("and", "&"), ast.Or: ("or", "|")}


def truth(failed: Failed) -> Told:
    """Tell what was meant by where it stands: all or any of them, each on its own, or not None."""
    x, node, made = failed.infos[0], failed.site.node, failed.op.made(0)
    said = f"a condition is one True or False, but {x.described()} holds {math.prod(x.shape)}"
    itself = x.name.isidentifier() and made is None
    first = isinstance(node, ast.BoolOp) and ast.unparse(node.values[0]) == x.name
    if itself and first and isinstance(node.op, ast.Or) and not _decides(failed):
        other = " or ".join(map(_enclosed, node.values[1:]))
        said += "; whether there is one to take is asked with `is not None`"
        return said, [Candidate(f"{x.name} if {x.name} is not None else {other}")]
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        said += "; of a chain of comparisons Python asks one after the other, & takes both"
        return said, _each(failed, "&", _pairs(node))
    if isinstance(node, ast.UnaryOp) and x.dtype == "bool" and not itself and not _decides(failed):
        said += ", and `not` asks for one; ~ turns each round"
        return said, [Candidate(f"~{_enclosed(node.operand)}")]
    if isinstance(node, ast.BoolOp) and x.dtype == "bool" and not _decides(failed):
        word, sign = _SIGNS[type(node.op)]
        said += f", and `{word}` asks for one; {sign} goes number by number"
        return said, _each(failed, sign, node.values)
    if itself:
        said += "; whether there is a tensor at all is asked with `is not None`"
        inverted = normal(failed.code) == f"not {x.name}"
        code = f"{x.name} is None" if inverted else _instead(failed, f"{x.name} is not None")
        return said, [Candidate(code, lambda t: t[0].new_empty((), dtype=torch.bool))]
    method = "all" if made is not None and made.op in ("eq", "ge", "le", "isclose") else "any"
    code = _instead(failed, f"{on(x.name)}.{method}()")
    return said, [Candidate(code, lambda t: getattr(t[0], method)())]


def _decides(failed: Failed) -> ast.AST | None:
    """Return the ``if``, the ``while`` or the ``assert`` that asks."""
    node = failed.site.node
    around = failed.site.parents.get(node) if node is not None else None
    return around if getattr(around, "test", None) is node else None


def _each(failed: Failed, sign: str, conditions: list[ast.expr]) -> list[Candidate]:
    code, asking = f" {sign} ".join(map(_enclosed, conditions)), _decides(failed)
    if asking is not None:
        code = f"({code}).{'all' if isinstance(asking, ast.Assert) else 'any'}()"
    return [Candidate(code)]


def _pairs(chain: ast.Compare) -> list[ast.expr]:
    """Take ``0 < x < 1`` apart into ``0 < x`` and ``x < 1``."""
    parts = [chain.left, *chain.comparators]
    return [ast.Compare(parts[i], [op], [parts[i + 1]]) for i, op in enumerate(chain.ops)]


def _enclosed(node: ast.expr) -> str:
    code = ast.unparse(node)
    return f"({code})" if isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp) else code


def _instead(failed: Failed, new: str) -> str:
    """Write a condition in place of the tensor, in what asks for one: ``not m``, ``m and x``."""
    name = failed.names[0]
    whole = failed.site.node is None or normal(failed.code) == normal(name)
    return new if whole else failed.instead(name, new)
