"""Indices that a loop counts: along another axis than the one that they were put on."""

from __future__ import annotations

import ast

from .clash import Candidate, Failed


def looped(
    failed: Failed, node: ast.Subscript, parts: list[ast.expr], place: int
) -> list[Candidate] | None:
    """Correct an index that a loop counts; None if it is none, and the size itself may be meant."""
    index = parts[place]
    counted = _range(failed, index.id) if isinstance(index, ast.Name) else None
    if counted is None or not isinstance(index, ast.Name):
        return None
    x, (start, stop) = failed.infos[0], counted
    if start == 1 and stop == x.shape[place] + 1:
        parts[place] = ast.BinOp(index, ast.Sub(), ast.Constant(1))
        return [written_index(node, parts)]
    axes = [axis for axis, size in enumerate(x.shape) if size == stop]
    whole = all(ast.unparse(part) == ":" for at, part in enumerate(parts) if at != place)
    if start or len(axes) != 1 or not whole:
        return []
    colon: list[ast.expr] = [ast.Slice() for _ in range(axes[0])]
    return [written_index(node, [*colon, index])]


def _range(failed: Failed, name: str) -> tuple[int, int] | None:
    """Return where the loop around the failing line begins and ends, if it counts this name."""
    for loop in failed.op.loops():
        call = loop.iter
        if not (isinstance(loop.target, ast.Name) and loop.target.id == name):
            continue
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range":
            return 0, -1  # what it counts is not known here
        try:
            counts = [int(failed.scope.run(ast.unparse(part))) for part in call.args]
        except Exception:
            return 0, -1
        return (0, counts[0]) if len(counts) == 1 else (counts[0], counts[1])
    return None


def written_index(node: ast.Subscript, parts: list[ast.expr]) -> Candidate:
    """Write a subscript with other indices."""
    written = [ast.unparse(ast.fix_missing_locations(part)) for part in parts]
    return Candidate(f"{ast.unparse(node.value)}[{', '.join(written)}]")
