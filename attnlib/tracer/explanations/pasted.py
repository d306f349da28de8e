"""A correction where it is pasted: in its whole line, in parentheses where they are needed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..source import Site, source_of

# Inside, names may stand for what the frame does not hold.
_OWN_NAMES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Line:
    """What stands before and after the failing expression, in the longest one around it."""

    before: str = ""
    after: str = ""

    def whole(self, code: str) -> str:
        return f"({self.before}{code}{self.after})" if self.before or self.after else code

    def fitting(self, code: str) -> str:
        """Put a correction in parentheses where its neighbours would take a part of it."""
        enclosed = f"({code})"
        try:
            plain, meant = (ast.dump(ast.parse(self.whole(text))) for text in (code, enclosed))
        except SyntaxError:  # a statement, or something in an f-string
            return code
        return code if plain == meant else enclosed


def line_of(site: Site) -> Line:
    """Cut out what stands around an expression; nothing for a statement, or without source."""
    node = site.node
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return Line()
    top, around = node, site.parents.get(node)
    while around is not None and not isinstance(around, ast.stmt | ast.FormattedValue):
        if isinstance(around, _OWN_NAMES):
            break
        if isinstance(around, ast.expr):
            top = around
        around = site.parents.get(around)
    start, end = (top.lineno, top.col_offset), (top.end_lineno, top.end_col_offset)
    before = _between(site.path, start, (node.lineno, node.col_offset))
    return Line(before, _between(site.path, (node.end_lineno, node.end_col_offset), end))


def _between(path: str, start: tuple, end: tuple) -> str:
    """Return the text between two places, each a line and a byte in it."""
    rows = [row.encode() for row in source_of(path).rows[start[0] - 1 : end[0]]]
    rows[-1] = rows[-1][: end[1]]
    rows[0] = rows[0][start[1] :]
    return b"".join(rows).decode()
