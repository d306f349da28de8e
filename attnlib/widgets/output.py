"""One output of a notebook: what is read without scripts, the state as data, and what starts it.

It is the same HTML in a built page, in JupyterLab and in a saved file.
"""

import base64
import gzip
import html
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from .source import text_of

NOTE = (
    "The code of this {what} is not on this page: run the first cell that shows one again, "
    "or restart the kernel and run this one."
)

_carriers: dict[str, str] = {}  # script -> the cell whose output holds it in this kernel


@dataclass(frozen=True)
class Script:
    """Describe the code that a kind of output needs once on a page."""

    what: str  # as a person calls it
    place: str  # CSS selector of the outputs that it starts
    mount: str  # JavaScript expression: the function that starts them, once the code is there
    code: Callable[[], str]


def state_of(data: dict) -> str:
    """Write data as JSON inside a script element that no string in it can end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>\n'


def loader(script: Script) -> str:
    """Write what starts an output: the code itself, or a few lines that find it on the page.

    With ATTNLIB_STATIC=1 in the environment nothing that runs is written.
    """
    if os.environ.get("ATTNLIB_STATIC") == "1":
        return ""
    if _carries_code(script):
        return f"<script>{script.code()}</script>\n"
    start = text_of("loader.js").replace("MOUNT", script.mount).replace("PLACE", script.place)
    note = NOTE.format(what=script.what)
    return f'<p class="attn-note" hidden>{note}</p>\n<script>{start}</script>\n'


def save(path: str | os.PathLike, title: str, output: str, code: str) -> None:
    """Write one file that plays anywhere; one that is there is replaced when it is complete."""
    target = Path(path)
    text = Template(text_of("saved.html")).substitute(
        title=html.escape(title), player=output, code=_packed(code)
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


def _packed(text: str) -> str:
    """Pack the code, which alone would be most of a file; mtime 0 keeps saves equal."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def _carries_code(script: Script) -> bool:
    """Say whether this output must hold the code: the kernel's first, and its cell whenever run."""
    if "google.colab" in sys.modules:  # there every output is a page of its own
        return True
    cell = _cell()
    return _carriers.setdefault(script.mount, cell) == cell


def _cell() -> str:
    """Name the notebook cell that is running; outside a notebook all is one cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return "script"
    parent = getattr(getattr(shell, "kernel", None), "get_parent", dict)() or {}
    cell = (parent.get("metadata") or {}).get("cellId")
    return str(cell or f"execution {shell.execution_count}")
