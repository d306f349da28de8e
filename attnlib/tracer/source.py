"""Where an operation stands in the source: file, line, exact expression, variable.

A frame's last instruction and the code object's positions give the exact node of the syntax tree;
from there it is a short climb to the assignment. Code without source has a line and no more.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field

from .frames import PACKAGE


@dataclass(slots=True)
class Site:
    """One place in the source, and what the reader calls the value that is made there."""

    path: str
    line: int | None
    code: str = ""
    expression: str = ""
    node: ast.AST | None = None
    parents: dict = field(default_factory=dict, repr=False)
    targets: tuple[str, ...] = ()  # the variables, if the value is assigned here
    returned: tuple[int, int] | None = None  # (place, of how many), if it is returned here
    columns: tuple[int, int] | None = None  # of the expression, in its line
    held: types.CodeType | None = None  # keeps the code object's identity from being used again
    words: dict = field(default_factory=dict, repr=False)  # operands as text, worked out once

    @property
    def file(self) -> str | None:
        return shown_file(self.path)

    @property
    def in_one_line(self) -> str:
        """The expression, joined where it is written over several lines."""
        if self.node is None or "\n" not in self.expression:
            return self.expression
        return short(ast.unparse(self.node))

    @property
    def ours(self) -> bool:
        return is_ours(self.path)


def is_ours(path: str) -> bool:
    """Is this one of attnlib's own files?"""
    return path.startswith(PACKAGE + os.sep)


class _Source:
    """A file's lines and its syntax tree by position."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.nodes: dict[tuple, ast.expr | ast.stmt] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.functions: dict[tuple[str, int], ast.FunctionDef] = {}
        text = "".join(lines)
        # As the parser counts them: a form feed, at which str.splitlines splits, ends none.
        self.rows = list(io.StringIO(text, newline=""))
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.expr | ast.AugAssign):
                for position in _positions(node):
                    self.nodes.setdefault(position, node)
            elif isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(word.lineno for word in node.decorator_list)])
                self.functions[node.name, first] = node

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Cut out a node's text; `ast.get_source_segment` splits the whole file for each."""
        rows = [row.encode() for row in self.rows[node.lineno - 1 : node.end_lineno]]
        rows[-1] = rows[-1][: node.end_col_offset]
        rows[0] = rows[0][node.col_offset :]
        return b"".join(rows).decode()


LONGEST = 2_000  # characters of code that are kept: a literal of many numbers is none to read


def short(text: str) -> str:
    """Cut what is too long to be shown or stored."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


_SOURCES: dict[str, _Source] = {}
_SITES: dict[tuple, Site] = {}
_MANY = 20_000


def source_of(path: str) -> _Source:
    """Read and parse a file once, and again when it has changed; notebook cells come this way too.

    As tracebacks do: a module that was edited and loaded again is told in its new lines.
    """
    linecache.checkcache(path)
    lines = linecache.getlines(path)
    known = _SOURCES.get(path)
    if known is None or known.lines is not lines:
        known = _SOURCES[path] = _Source(lines)
    return known


def has_source(code: types.CodeType) -> bool:
    """Is the text of a function there? Not that of ``python -c`` before 3.13, or of ``exec``."""
    return bool(source_of(code.co_filename).lines)


def site_of(code: types.CodeType, instruction: int) -> Site:
    """Find the place of a code object's instruction in the source."""
    key = (id(code), instruction)
    site = _SITES.get(key)
    if site is None:
        if len(_SITES) > _MANY:
            _SITES.clear()
        site = _SITES[key] = _find(code, instruction)
        site.held = code
    return site


def _find(code: types.CodeType, instruction: int) -> Site:
    position = next(_nth(code.co_positions(), instruction // 2), (None,) * 4)
    line, path = position[0], code.co_filename
    source = source_of(path)
    text = linecache.getline(path, line).strip() if line else ""
    site = Site(path, line, code=short(text))
    node = source.nodes.get(position) if None not in position else None
    if node is None:
        return site
    site.node, site.parents = node, source.parents
    site.expression = short(source.segment(node))
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt):
        statement = source.parents[statement]
    if not hasattr(statement, "body"):  # of a loop or a condition only the line is shown
        site.code = short(source.segment(statement))
    start, end = position[2:]
    if node.lineno == position[1] and start is not None and end is not None:
        site.columns = (start, end)
    _climb(site, node)
    return site


def _nth(iterator, number):
    for place, value in enumerate(iterator):
        if place == number:
            yield value
            return


def _climb(site: Site, node: ast.AST) -> None:
    """Climb from an expression to the assignment or the return that takes its value."""
    parents = site.parents
    if isinstance(node, ast.AugAssign):
        site.targets = (ast.unparse(node.target),)
        return
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        site.targets = (ast.unparse(node.value),)
        return
    parent = parents.get(node)
    while (isinstance(parent, ast.IfExp) and node is not parent.test) or (
        isinstance(parent, ast.BoolOp) and node is parent.values[-1]  # what is before it, is asked
    ):
        node, parent = parent, parents.get(parent)
    place: int | None = None
    of = 1
    if isinstance(parent, ast.Tuple) and isinstance(node, ast.expr):
        place, of = parent.elts.index(node), len(parent.elts)
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.NamedExpr):
        site.targets = (parent.target.id,)
    elif isinstance(parent, ast.Assign) and parent.value is node:
        site.targets = _names(parent.targets[0], place, of)
    elif isinstance(parent, ast.AnnAssign) and parent.value is node:
        site.targets = (ast.unparse(parent.target),)
    elif isinstance(parent, ast.Return | ast.Lambda):
        site.returned = (place or 0, of)
    elif isinstance(parent, ast.For) and parent.iter is node:
        site.targets = ()
    elif isinstance(parent, ast.Expr) and isinstance(node, ast.Call):
        method = node.func
        if isinstance(method, ast.Attribute) and method.attr.endswith("_"):
            site.targets = (ast.unparse(method.value),)


def _names(target: ast.expr, place: int | None, of: int) -> tuple[str, ...]:
    """Name what an assignment takes: ``q``, ``q, k, v``, or one element of a tuple."""
    if isinstance(target, ast.Tuple | ast.List):
        starred = any(isinstance(item, ast.Starred) for item in target.elts)
        if place is not None:
            if len(target.elts) != of or starred:
                return ()
            return (ast.unparse(target.elts[place]),)
        return () if starred else tuple(ast.unparse(item) for item in target.elts)
    return () if place is not None else (ast.unparse(target),)


def definition(code: types.CodeType) -> Site:
    """Find the line where a function is defined; arguments below that line are named on it."""
    known = source_of(code.co_filename).functions.get((code.co_name, code.co_firstlineno))
    line = known.lineno if known is not None else code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    parts = ast.iter_child_nodes(known.args) if known is not None else ()
    words = [word for word in parts if isinstance(word, ast.arg)]
    if any(word.lineno > line for word in words):
        text = f"def {code.co_name}({', '.join(word.arg for word in words)}):"
    return Site(code.co_filename, line, code=text)


def shown_file(path: str) -> str | None:
    """Write a file's name so that it means something to anyone: never an absolute path."""
    if is_ours(path):
        return path[len(PACKAGE) + 1 :].replace(os.sep, "/")
    cell = _cell(path)
    if cell is not None:
        return f"cell {cell}"
    if not path or path[0] == "<":
        return None
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        relative = ".."
    return os.path.basename(path) if relative.startswith("..") else relative.replace(os.sep, "/")


def _cell(path: str) -> int | None:
    """Return the number of the notebook cell that a code object's file name stands for."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return names.get(path)


def operands(site: Site) -> dict[str, ast.expr]:
    """Give the expressions that an operation's arguments are written as, by place or keyword."""
    node = site.node
    if isinstance(node, ast.BinOp):
        return {"0": node.left, "1": node.right}
    if isinstance(node, ast.AugAssign):
        return {"0": node.target, "1": node.value}
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return {"0": node.left, "1": node.comparators[0]}
    if isinstance(node, ast.UnaryOp):
        return {"0": node.operand}
    if isinstance(node, ast.Attribute):
        return {"0": node.value}
    if isinstance(node, ast.Subscript):
        written = {"0": node.value, "1": node.slice}
        around = site.parents.get(node)
        if isinstance(around, ast.Assign) and node in around.targets:
            written["2"] = around.value
        return written
    if isinstance(node, ast.Call):
        given = list(node.args)
        found = {word.arg: word.value for word in node.keywords if word.arg}
        return {**{str(place): value for place, value in enumerate(given)}, **found}
    return {}


def _positions(node: ast.expr | ast.stmt) -> Iterator[tuple]:
    """Say where Python has a node: where it stands; a method on a line of its own begins there."""
    yield (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    name = node.func if isinstance(node, ast.Call) else node
    if isinstance(name, ast.Attribute) and name.end_lineno != node.lineno:
        start = (name.end_col_offset or 0) - len(name.attr)
        yield (name.end_lineno, node.end_lineno, start, node.end_col_offset)
