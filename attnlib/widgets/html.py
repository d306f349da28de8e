"""The one HTML form of a player: a table worth reading, the trace as data, and a loader that plays it.

It reads the same in a built page, in JupyterLab, in a file and where scripts do not run.
"""

import html
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from .source import script

_carrier: str | None = None  # the notebook cell whose output holds the player's code in this kernel

_LOADER = """<script>(() => {
const start = () => window.attnlibPlayer && (window.attnlibPlayer.mountAll(), true);
if (!start()) setTimeout(() => { if (!start()) for (const note of document.querySelectorAll('.attn-note')) note.hidden = false; }, 1500);
})();</script>
"""
_NOTE = (
    "The player's code is not on this page: run the first cell that shows a player again, "
    "or restart the kernel and run this one."
)
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 0; background: light-dark(#fdfcf9, #16181b); \
color: light-dark(#1b1d21, #eceae4); font-family: sans-serif; }} main {{ max-width: 1216px; margin: 0 auto; padding: 16px; }} \
@media (max-width: 560px) {{ main {{ padding: 8px; }} }}</style>
<main>
{player}</main>
<script>{code}</script>
</html>
"""


def page_script() -> str:
    """Write the classic script that mounts every player of the page it stands in.

    Example:
        >>> "window.attnlibPlayer" in page_script()
        True
    """
    return script("page.js", (
        "window.attnlibPlayer ??= page;\n"
        "if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => window.attnlibPlayer.mountAll());\n"
        "else window.attnlibPlayer.mountAll();"
    )).replace("</", "<\\/")


def player_html(trace: Any, id: str | None = None, title: str | None = None) -> str:
    """Write a trace as HTML that plays where scripts run and is a table of shapes where they do not.

    `trace` is a Trace or the dict that its `to_dict()` gives. With ATTNLIB_STATIC=1 in the environment the
    loader is left out: what is committed, and what a page with its own copy of the player's code holds.
    The id is player-<title>; `#<id>/3` in the page's address opens step 3.
    """
    data = _data(trace)
    name = title or _text(data.get("title")) or "trace"
    own = id or "player-" + (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "trace")
    return (
        f'<div class="attn-player" id="{html.escape(own)}" data-title="{html.escape(name)}">\n{_table(data, name)}'
        f'<script type="application/json">{_json(data)}</script>\n{_loader()}</div>\n'
    )


def save_html(trace: Any, path: str | os.PathLike, title: str | None = None) -> None:
    """Write one file that plays anywhere: no server, no network, nothing beside it.

    A file that is there already is replaced only when the new one is complete.
    """
    data, target = _data(trace), Path(path)
    name = title or _text(data.get("title")) or "trace"
    player = _without_loader(data, title)
    text = _PAGE.format(title=html.escape(name), player=player, code=page_script())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, suffix=".part", delete=False) as part:
        beside = Path(part.name)
        try:
            part.write(text)
            part.close()
            beside.chmod(0o644)
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _data(trace: Any) -> dict:
    data = trace if isinstance(trace, dict) else trace.to_dict()
    if not isinstance(data, dict):
        raise TypeError(f"player_html: to_dict() gave a {type(data).__name__} but must give a dict")
    return data


def _json(data: dict) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _loader() -> str:
    if os.environ.get("ATTNLIB_STATIC") == "1":
        return ""
    if _carries_code():
        return f"<script>{page_script()}</script>\n"
    return f'<p class="attn-note" hidden>{_NOTE}</p>\n{_LOADER}'


def _without_loader(data: dict, title: str | None) -> str:
    before = os.environ.get("ATTNLIB_STATIC")
    os.environ["ATTNLIB_STATIC"] = "1"
    try:
        return player_html(data, title=title)
    finally:
        if before is None:
            del os.environ["ATTNLIB_STATIC"]
        else:
            os.environ["ATTNLIB_STATIC"] = before


def _carries_code() -> bool:
    """Say whether this output must hold the player's code: the first of a kernel, and that cell whenever it runs again."""
    global _carrier
    if "google.colab" in sys.modules:  # there every output is a page of its own
        return True
    cell = _cell()
    if _carrier is None or cell == _carrier:
        _carrier = cell
        return True
    return False


def _cell() -> str:
    """Name the notebook cell that is running; outside a notebook all is one cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return "script"
    header = getattr(getattr(shell, "kernel", None), "get_parent", dict)() or {}
    metadata = header.get("metadata") or {}
    return str(metadata.get("cellId") or f"execution {shell.execution_count}")


# ---------- the table


def _table(data: dict, title: str) -> str:
    steps = data.get("steps")
    rows = "".join(_row(step) for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ""
    head = "".join(f"<th>{name}</th>" for name in ("", "variable", "code", "operation", "shape", "sizes", "memory"))
    return (
        f'<table class="attn-fallback">\n<caption>{html.escape(title)}: every step and its shape</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )


def _row(step: dict) -> str:
    outputs = step.get("output")
    outputs = [out for out in (outputs if isinstance(outputs, list) else [outputs]) if isinstance(out, dict)]
    shapes = ["(" + ", ".join(map(_text, _list(out.get("dims")))) + ")" for out in outputs]
    sizes = ["(" + ", ".join(map(_text, _list(out.get("shape")))) + ")" for out in outputs]
    cells = (
        _text(step.get("index")),
        f"<b>{html.escape(_text(step.get('variable')))}</b>",
        f"<code>{html.escape(_text(step.get('code')))}</code>",
        html.escape(_text(step.get("op"))),
        html.escape(", ".join(shapes)),
        html.escape(", ".join(sizes)),
        html.escape(_text(step.get("kind"))),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, (str, int, float)) else ""
