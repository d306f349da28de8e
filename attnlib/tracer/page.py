"""The table as HTML: in a notebook and as a file, where the player cannot be loaded."""

from __future__ import annotations

import os
import tempfile
from html import escape

from . import folding
from .rows import Record
from .table import after, clean, columns, heading, rows_of


def html(trace: Record) -> str:
    """Write the table as HTML, where the player cannot be loaded."""
    rows = rows_of(trace)
    shown = columns(rows)
    head = "".join(f'<th scope="col">{name}</th>' for name in shown)
    body = "".join(
        f'<tr><td colspan="{len(shown)}">⋮ {row}</td></tr>'
        if isinstance(row, str)
        else "<tr>" + "".join(f"<td>{escape(clean(row[name]))}</td>" for name in shown) + "</tr>"
        for row in folding.shown(rows, trace.steps)
    )
    below = "".join(f"<p>{escape(clean(line))}</p>" for line in after(trace) if line)
    caption = f"<caption>{escape(clean(heading(trace)))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def save_html(trace: Record, path: str | os.PathLike) -> None:
    """Write the table as one HTML file: beside its place first, then renamed."""
    target = os.path.abspath(path)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(clean(trace.title))}</title></head><body>{html(trace)}</body></html>"
    )
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(beside, 0o644)  # a temporary file is its owner's alone
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise
