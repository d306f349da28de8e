"""Masks of 0 and 1 that have to be bool: which of the two hides is read off what they hold.

``masked_fill`` fills where a mask is True, so a triangle of what may be seen becomes ``== 0``.
"""

from __future__ import annotations

import ast
import re

import torch
from torch import Tensor

from ...dims import role
from .clash import Failed, on

_KEPT = re.compile(r"attention|keep|kept|valid|attend|visible|allow|tril|see", re.IGNORECASE)
_HIDDEN = re.compile(r"pad|block|hid|ignore|drop|future|invalid|triu", re.IGNORECASE)
_TRIANGLE = re.compile(r"tril|triu|causal|future|look_?ahead", re.IGNORECASE)
_CUT = re.compile(r"\[[^\]]*:[^\]]*,[^\]]*:[^\]]*\]")  # along two axes: [:B, :T]
_MOST = 10_000_000  # numbers that are looked at


def as_bool(failed: Failed, which: int, fills: bool | None) -> tuple[str, list[str]]:
    """Write a mask as bool; nothing where it is not said which of its numbers hides.

    ``fills`` says what True means there: filled up, kept; None where that is the same.
    """
    name = failed.names[which]
    plain, inverted = f"{on(name)}.bool()", f"{_compared(name)} == 0"
    ones_hide = None if fills is None else hides(failed, which)
    if ones_hide is None:
        return "", [] if fills else [plain]
    if ones_hide == fills:
        return "", [plain]
    done, ones = ("filled up", "are what may be seen") if fills else ("kept", "hide")
    return f"; what is True is {done}, and the ones of {name} {ones}", [inverted]


def _compared(name: str) -> str:
    """Put in parentheses what binds less than a comparison, or is one."""
    node = ast.parse(name, mode="eval").body
    loose = isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.IfExp | ast.Lambda)
    return f"({name})" if loose else name


def hides(failed: Failed, which: int) -> bool | None:
    """Do the ones of a mask, or what it adds, hide? None if nothing tells."""
    held = _values(failed, which)
    if held is not None:
        found = _read(held)
        if found is not None:
            return found
    made, name = failed.op.made(which), failed.names[which]
    if made is not None and made.op in ("tril", "triu"):
        below = made.params.get("diagonal", 0)
        whole = made.op == "tril" and below == 0
        return False if whole else True if made.op == "triu" and below == 1 else None
    inverted = re.match(r"1(\.0)? - ", name) is not None
    kept, hidden = bool(_KEPT.search(name)), bool(_HIDDEN.search(name))
    return None if kept == hidden else hidden != inverted


def sliced_triangle(failed: Failed, which: int) -> bool:
    """Is it two axes of a causal mask, queries and keys, of which one is cut to no tokens?"""
    info, name = failed.infos[which], failed.names[which]
    if len(info.shape) != 2 or role(info.dims[0]) in ("S", None):
        return False
    made = failed.op.made(which)
    if (made is not None and made.op in ("tril", "triu")) or _TRIANGLE.search(name):
        return True
    if info.values is None or not _CUT.search(name):
        return False
    held = torch.tensor(info.values).bool()
    ones = torch.ones_like(held)
    return torch.equal(held, ones.tril()) or torch.equal(held, ones.triu(1))


def zeros_and_ones(failed: Failed, which: int) -> bool:
    """Does a tensor hold nothing but 0 and 1, as masks do?"""
    held = _values(failed, which)
    if held is None:
        made = failed.op.made(which)
        return made is not None and made.op in ("tril", "triu")
    return bool(((held == 0) | (held == 1)).all())


def _values(failed: Failed, which: int) -> Tensor | None:
    """Return what a mask holds: its own numbers, or those of the tensor that it was cut out of."""
    kept = failed.infos[which].values
    if kept is not None:
        return torch.tensor(kept)
    node = ast.parse(failed.names[which], mode="eval").body
    inverted = False
    while not isinstance(node, ast.Name | ast.Attribute):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _SAME:
                return None
            node = node.func.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            if not (isinstance(node.left, ast.Constant) and node.left.value == 1):
                return None
            node, inverted = node.right, not inverted
        else:
            return None
    held = failed.scope.tensor(node)
    if held is None or held.is_meta or held.numel() > _MOST or held.is_complex():
        return None
    held = held.detach().float()
    return 1 - held if inverted else held


_SAME = {"to", "float", "int", "long", "view", "reshape", "unsqueeze", "expand", "clone", "detach",
         "type", "double", "half", "contiguous", "type_as", "squeeze"}  # fmt: skip


def _read(held: Tensor) -> bool | None:
    """Tell from the numbers: what one may see is oneself, and a sequence before it is padded."""
    held = held.float()
    if not held.dim() or not held.numel() or bool(held.isnan().any()):
        return None
    if bool(((held == 0) | (held < -99)).all()) and bool((held < 0).any()):
        return True  # it was made to be added
    if not bool(((held == 0) | (held == 1)).all()):
        return None
    if held.dim() > 1 and held.shape[-1] == held.shape[-2] > 1:
        own = held.diagonal(dim1=-2, dim2=-1)
        if bool((own == 1).all()):
            return False
        return True if bool((own == 0).all()) and bool((held == 1).any()) else None
    if bool((held == 1).all(-1).any()):
        return False  # a row that nothing is left of hides nothing
    first = held[..., 0]
    if bool((first == 1).all()):
        return False
    return True if bool((first == 0).all()) and bool((held == 1).any()) else None
