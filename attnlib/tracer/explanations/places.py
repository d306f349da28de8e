"""Where code failed, as a note shows it: the line, the expression under carets, torch's words."""

from __future__ import annotations

import ast
import linecache

from ..source import LONGEST, Site, short

JOINED = 100  # signs of an expression of several lines that are shown in one


def at(file: str | None, line: int | None) -> str:
    if line is None:
        return f" in {file}" if file else ""
    return f" at {file}, line {line}" if file else f" at line {line}"


def carets(site: Site, node: ast.AST | None = None) -> list[str]:
    """Show the line, and under it the expression that failed, or what a correction replaces."""
    line = linecache.getline(site.path, site.line) if site.line else ""
    text = line.strip()
    if not text:
        return [f"    {site.code}"] if site.code else []
    lines = [f"    {short(text)}"]
    columns, failed = site.columns, node or site.node
    if isinstance(failed, ast.expr) and failed.lineno != failed.end_lineno:
        whole = ast.unparse(failed)  # what the line shows is a part of it
        return [f"    {whole}"] if len(whole) <= JOINED else lines
    if isinstance(node, ast.stmt | ast.expr):
        one = node.lineno == node.end_lineno == site.line
        columns = (node.col_offset, node.end_col_offset or 0) if one else columns
    if columns is not None and len(text) <= LONGEST:
        raw = line.encode()
        before, under = (raw[: columns[0]], raw[columns[0] : columns[1]])
        indent = len(line) - len(line.lstrip())
        start, width = len(before.decode(errors="replace")), len(under.decode(errors="replace"))
        lines.append("    " + " " * (start - indent) + "^" * width)
    return lines


def first_line(error: BaseException) -> str:
    """Return torch's first line, and what it announces: ``but expected one of:``."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if not lines[0].endswith(":"):
        return short(lines[0])
    listed = [line.lstrip("* ") for line in lines[1:] if line.startswith("*")]
    return short(" ".join([lines[0], " or ".join(listed or lines[1:2])]).strip())
