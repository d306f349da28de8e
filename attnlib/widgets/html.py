"""The one HTML form of a player: a table worth reading, the trace as data, and what plays it.

It reads the same in a built page, in JupyterLab, in a saved file and where scripts do not run.
"""

import base64
import gzip
import html
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from string import Template
from typing import Any

from .source import script, text_of

NOTE = (
    "The player's code is not on this page: run the first cell that shows a player again, "
    "or restart the kernel and run this one."
)
COLUMNS = ("", "variable", "code", "operation", "shape", "sizes", "memory")

_carrier: str | None = None  # the notebook cell whose output holds the player's code in this kernel


def page_script() -> str:
    """Write the classic script that mounts every player of the page it stands in.

    Example:
        >>> "window.attnlibPlayer" in page_script()
        True
    """
    return script("page.js", text_of("start.js")).replace("</", "<\\/")


def player_html(trace: Any, id: str | None = None, title: str | None = None) -> str:
    """Write a trace as HTML that plays where scripts run and is a table of shapes elsewhere.

    `trace` is a Trace or the dict that its `to_dict()` gives. The id is player-<title>; `#<id>/3`
    in the page's address opens step 3. With ATTNLIB_STATIC=1 in the environment nothing that runs
    is written: that is what is committed, and what a page with its own copy of the code holds.
    """
    return _form(_data(trace), id, title, _loader())


def save_html(trace: Any, path: str | os.PathLike, title: str | None = None) -> None:
    """Write one file that plays anywhere: no server, no network, nothing beside it.

    A file that is there already is replaced only when the new one is complete.
    """
    data, target = _data(trace), Path(path)
    text = Template(text_of("saved.html")).substitute(
        title=html.escape(_name(data, title)),
        player=_form(data, None, title, ""),
        code=_packed(page_script()),
    )
    handle, beside = tempfile.mkstemp(suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(text)
        os.chmod(beside, 0o644)
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _data(trace: Any) -> dict:
    data = trace if isinstance(trace, dict) else trace.to_dict()
    if not isinstance(data, dict):
        raise TypeError(f"player_html: to_dict() gave a {type(data).__name__} but must give a dict")
    return data


def _name(data: dict, title: str | None) -> str:
    return title or _text(data.get("title")) or "trace"


def _form(data: dict, id: str | None, title: str | None, loader: str) -> str:
    name = _name(data, title)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "trace"
    return (
        f'<div class="attn-player" id="{html.escape(id or f"player-{slug}")}"'
        f' data-title="{html.escape(name)}">\n{_table(data, name)}'
        f'<script type="application/json">{_json(data)}</script>\n{loader}</div>\n'
    )


def _json(data: dict) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _packed(text: str) -> str:
    """Pack the player's code, which alone would be most of a file; mtime 0 keeps saves equal."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


# ---------- the code, once a kernel


def _loader() -> str:
    if os.environ.get("ATTNLIB_STATIC") == "1":
        return ""
    if _carries_code():
        return f"<script>{page_script()}</script>\n"
    return f'<p class="attn-note" hidden>{NOTE}</p>\n<script>{text_of("loader.js")}</script>\n'


def _carries_code() -> bool:
    """Say whether this output must hold the code: the kernel's first, and its cell whenever run."""
    global _carrier
    if "google.colab" in sys.modules:  # there every output is a page of its own
        return True
    cell = _cell()
    if _carrier in (None, cell):
        _carrier = cell
        return True
    return False


def _cell() -> str:
    """Name the notebook cell that is running; outside a notebook all is one cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return "script"
    parent = getattr(getattr(shell, "kernel", None), "get_parent", dict)() or {}
    cell = (parent.get("metadata") or {}).get("cellId")
    return str(cell or f"execution {shell.execution_count}")


# ---------- the table, for those who come without scripts


def _table(data: dict, title: str) -> str:
    rows = "".join(_row(step) for step in _list(data.get("steps")) if isinstance(step, dict))
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    return (
        '<table class="attn-fallback">\n'
        f"<caption>{html.escape(title)}: every step and its shape</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )


def _row(step: dict) -> str:
    output = step.get("output")
    outputs = [out for out in _list(output) or [output] if isinstance(out, dict)]
    shapes, sizes = (
        ", ".join("(" + ", ".join(map(_text, _list(out.get(key)))) + ")" for out in outputs)
        for key in ("dims", "shape")
    )
    variable, code = (html.escape(_text(step.get(key))) for key in ("variable", "code"))
    plain = (html.escape(text) for text in (_text(step.get("op")), shapes, sizes))
    cells = (_text(step.get("index")), f"<b>{variable}</b>", f"<code>{code}</code>", *plain)
    kind = html.escape(_text(step.get("kind")))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in (*cells, kind)) + "</tr>\n"


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int | float) else ""
