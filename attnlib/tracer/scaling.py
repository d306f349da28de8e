"""Is it the scale of scores that something is multiplied by: one over the root of the features?

The number alone does not tell: a half is that of 4 features, and half of a mixture as well. So it
must be written as one too: with a root or a power, or by a name that says so.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from .operation import Operation

_NAME = re.compile(r"(?i).*(scal|sqrt|root|norm_fact)")
_ROOTS = {"sqrt", "rsqrt", "pow", "isqrt"}


def scale(op: Operation, features: int) -> float | None:
    """Return the factor, if an operation scales by the root of that many features."""
    turned = op.torch_name.startswith("__r")  # scale * weights, but also 1 / weights
    number = _number(op)
    scales = op.name == "mul" or (op.name == "div" and not turned)
    if not number or features < 2 or not scales:
        return None
    factor = 1 / number if op.name == "div" else number
    is_root = math.isclose(factor, features**-0.5, rel_tol=1e-4)
    written = op.written.part("input" if turned else "other", 0)
    return factor if is_root and _is_written_so(written, named=len(op.inputs) == 1) else None


def _number(op: Operation) -> float | None:
    other: Any = op.params.get("other")
    if len(op.inputs) == 2 and op.inputs[1].shape == ():
        other = op.inputs[1].values
    return float(other) if isinstance(other, int | float) else None


def _is_written_so(node: ast.AST | None, *, named: bool) -> bool:
    """Look for a root; a name tells it of a number alone, for a tensor may have been learned."""
    if node is None:
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow):
            return True
        word: str = part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
        if word in _ROOTS or (named and _NAME.match(word)):
            return True
    return False
