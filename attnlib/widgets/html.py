"""The one HTML form of a player: a table worth reading, the trace as data, and what plays it.

It reads the same in a built page, in JupyterLab, in a saved file and where scripts do not run.
"""

import html
import os
import re
from functools import cache
from typing import Any

from . import output
from .source import SHARED, Bundle, hand_on

START = "$page.start();\n"
# Alone in its file, a player hears the keys that nothing else has the focus for.
LISTEN = """
addEventListener('keydown', (event) => {
  const stage = document.querySelector('.attn-host')?.shadowRoot.querySelector('.stage');
  const unheard = event.target === document.body && stage;
  if (unheard && !stage.dispatchEvent(new KeyboardEvent('keydown', event))) event.preventDefault();
});
"""
KEEP_TOOLS = "window.attnlibTools ??= $tools;\n"
COLUMNS = ("", "variable", "code", "operation", "shape", "sizes", "memory")


@cache
def page_script(*, book: bool = False) -> str:
    """Write the classic script that mounts every player of the page it stands in.

    The one for pages of the book leaves colours to their style sheet. What a page may never
    need, the scripts of labs and of the player's tools, it fetches later and hands modules on to.

    Example:
        >>> "window.attnlibPlayer" in page_script()
        True
    """
    if book:
        first = f"$later.from(document.currentScript.src);\n{hand_on()}"
        last, also = f"{first}{START}$labs_near.watch();\n", ("later.js", "labs/near.js")
    else:
        last, also = KEEP_TOOLS + START, ("tools.js",)
    return Bundle("page.js", last, also, book=book).text().replace("</", "<\\/")


@cache
def tools_script() -> str:
    """Write the classic script of the player's tools, for pages of the book."""
    return Bundle("tools.js", KEEP_TOOLS, present=SHARED, book=True).text().replace("</", "<\\/")


PLAYER = output.Script(
    "player", ".attn-player", "window.attnlibPlayer?.mountAll", lambda: page_script()
)


def player_html(trace: Any, id: str | None = None, title: str | None = None) -> str:
    """Write a trace as HTML that plays where scripts run and is a table of shapes elsewhere.

    `trace` is a Trace or the dict that its `to_dict()` gives. The id is player-<title>; `#<id>/3`
    in the page's address opens step 3. With ATTNLIB_STATIC=1 in the environment nothing that runs
    is written: that is what is committed, and what a page with its own copy of the code holds.
    """
    return _form(_data(trace), id, title, output.loader(PLAYER))


def save_html(trace: Any, path: str | os.PathLike, title: str | None = None) -> None:
    """Write one file that plays anywhere: no server, no network, nothing beside it.

    A file that is there already is replaced only when the new one is complete.
    """
    data = _data(trace)
    output.save(path, _name(data, title), _form(data, None, title, ""), page_script() + LISTEN)


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
        f"{output.state_of(data)}{loader}</div>\n"
    )


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
    index, variable, code, op, kind = (
        html.escape(_text(step.get(key))) for key in ("index", "variable", "code", "op", "kind")
    )
    shape = (html.escape(text) for text in (shapes, sizes))
    cells = (index, f"<b>{variable}</b>", f"<code>{code}</code>", op, *shape, kind)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int | float) else ""
