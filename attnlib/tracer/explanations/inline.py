"""Operands that the failing expression makes itself: of another size, along another axis, cut."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torch import Tensor

from ...dims import role
from .clash import Candidate, Failed, batch_clash
from .counted import miscounted
from .cuts import minus, word

_FACTORIES = {"eye", "zeros", "ones", "full", "arange", "rand", "randn", "empty"}
_JOINED = {"cat", "concat", "concatenate", "stack"}


def resized(failed: Failed, which: int, other: int) -> Iterator[Candidate]:
    """Make ``torch.eye(x.size(1))``, or ``pe[: x.size(0)]``, as large as what it meets."""
    mine, its = failed.infos[which], failed.infos[other]
    back = batch_clash(mine.shape, its.shape)
    tree = _parsed(mine.name)
    lost = miscounted(failed, which)
    if back is None or tree is None or (lost and role(its.dims[back]) != "S"):
        return
    if role(its.dims[back]) == "batch":  # one for each head, mostly: there are no heads to meet
        return
    made = False
    for node in ast.walk(tree) if lost else ():
        if isinstance(node, ast.Slice) and _number(failed, node.upper) == mine.shape[back]:
            node.upper = _size(failed, node.upper, other, back)
            made = True
    for call in _calls(tree, _FACTORIES):
        for place, size in enumerate(call.args):
            if _number(failed, size) == mine.shape[back]:
                call.args[place] = _size(failed, size, other, back)
                made = True
    if made:
        yield Candidate(failed.instead(mine.name, ast.unparse(tree)))


def joined_otherwise(failed: Failed, which: int, other: int) -> Iterator[Candidate]:
    """Join along the one axis that makes the operand exactly as large as what it meets."""
    mine, wanted = failed.infos[which], failed.infos[other].shape
    found = []
    for dim in range(len(mine.shape)):
        tree = _parsed(mine.name)
        call = next(_calls(tree, _JOINED), None) if tree is not None else None
        if tree is None or call is None or call is not tree.body:
            return
        call.args, call.keywords = call.args[:1], [ast.keyword("dim", ast.Constant(dim))]
        code = ast.unparse(tree)
        if _shape(failed, code) == wanted:
            found.append(code)
    if len(found) == 1 and mine.shape != wanted:
        yield Candidate(failed.instead(mine.name, found[0]))


def last_rows(failed: Failed, which: int, other: int) -> Iterator[Candidate]:
    """Cut a square mask to the last rows, where queries are fewer than the keys before them."""
    its, tree = failed.infos[other], _parsed(failed.names[which])
    if tree is None or len(its.shape) < 2 or not its.shape[-2] < its.shape[-1]:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
            continue
        parts, table = node.slice.elts, failed.scope.tensor(node.value)
        ends = [part.upper for part in parts[-2:] if isinstance(part, ast.Slice) and not part.lower]
        if table is None or len(ends) != 2 or None in ends or table.dim() != len(parts):
            continue
        rows, keys = (_number(failed, end) for end in ends)
        if rows == keys == its.shape[-2] and table.shape[-2] == table.shape[-1] >= its.shape[-1]:
            few, all_ = word(failed, other, -2), word(failed, other, -1)
            node.slice.elts = [*parts[:-2], *_slices(f"{minus(all_, few)}:{all_}, :{all_}")]
            yield Candidate(failed.instead(failed.names[which], ast.unparse(tree)))
            return


def _slices(text: str) -> list[ast.expr]:
    tree = ast.parse(f"x[{text}]", mode="eval").body
    assert isinstance(tree, ast.Subscript)
    assert isinstance(tree.slice, ast.Tuple)
    return tree.slice.elts


def _size(failed: Failed, size: ast.expr | None, other: int, back: int) -> ast.expr:
    """Write a size of what is met in the way that the code has written the wrong one."""
    name = failed.names[other]
    if size is not None and back < -1 and re.search(r"\d[)\]]$", ast.unparse(size)):
        back = len(failed.infos[other].shape) + back
    if isinstance(size, ast.Call) and name.isidentifier():
        return ast.parse(f"{name}.size({back})", mode="eval").body
    if isinstance(size, ast.Subscript) and name.isidentifier():
        return ast.parse(f"{name}.shape[{back}]", mode="eval").body
    return ast.parse(word(failed, other, back), mode="eval").body


def _parsed(name: str) -> ast.Expression | None:
    try:
        return ast.parse(name, mode="eval")
    except SyntaxError:
        return None


def _calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    """Yield the calls of torch's own functions of these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            module, _, name = ast.unparse(node.func).rpartition(".")
            if module == "torch" and name in names:
                yield node


def _number(failed: Failed, size: ast.expr | None) -> int | None:
    try:
        found = failed.scope.run(ast.unparse(size)) if size is not None else None
    except Exception:
        return None
    return int(found) if isinstance(found, int) else None


def _shape(failed: Failed, code: str) -> tuple[int, ...] | None:
    try:
        found = failed.scope.run(code)
    except Exception:
        return None
    return tuple(found.shape) if isinstance(found, Tensor) else None
