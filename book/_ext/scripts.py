"""The widgets' scripts: short names in the files that pages load, on each page what it shows."""

import re

from attnlib import widgets

WIDGET = re.compile(r'class="attn-(player|lab)"')


def asked_for(body):
    """Name the scripts that a page loads; the player's fetches others when they are wanted."""
    return ["player.js"] if WIDGET.search(body) else []


def write(static):
    """Write every script that some page may ask for."""
    codes = {
        "book.js": (static / "book.js").read_text(encoding="utf-8"),
        "player.js": widgets.page_script(book=True),
        "player-tools.js": widgets.tools_script(),
    }
    for name in widgets.LABS:
        codes[f"lab-{name}.js"] = widgets.lab_script(name, beside_player=True)
    for name, code in codes.items():
        (static / name).write_text(shortened(code), encoding="utf-8")


def shortened(code, kind="application/javascript"):
    """Drop spaces and shorten the names of what is local: a quarter of what the player weighs.

    The minifier has no wheel for every Mac; there the pages carry the code as it is written.
    """
    try:
        import minify
    except ImportError:
        return code
    return minify.string(kind, code)
