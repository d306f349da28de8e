"""The widgets' code as text: modules joined into one script, colours written out of the named dimensions."""

import json
import re
from functools import cache
from pathlib import Path

from ..dims import DIMS

HERE = Path(__file__).parent
_IMPORT = re.compile(r"^import (.+?) from '\./([\w.-]+)';\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?:default \{.*\};\n)?", re.MULTILINE)
_NAMES = re.compile(r"^export (?:const|class|function) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


@cache
def script(entry: str, last: str) -> str:
    """Join a module and all it imports into one classic script, each in a scope of its own; `last` ends it.

    A page from a disk cannot load modules, and a notebook has no place for files.

    Example:
        >>> script("kit.js", "window.kit = kit;").splitlines()[1:3]
        ["'use strict';", 'const kit = (() => {']
    """
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        text = (HERE / name).read_text(encoding="utf-8")
        for _, needed in _IMPORT.findall(text):
            if needed not in done and needed.endswith(".js"):
                visit(needed)
        names = ", ".join(_NAMES.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(_bind, _COMMENT.sub("", text)))
        done[name] = f"const {Path(name).stem} = (() => {{\n{_flat(body)}return {{ {names} }};\n}})();\n"

    visit(entry)
    return f"(() => {{\n'use strict';\n{''.join(done.values())}{last}\n}})();\n"


def _bind(match: re.Match) -> str:
    names, source = match.groups()
    if source.endswith(".css"):
        css = re.sub(r"/\*.*?\*/", "", (HERE / source).read_text(encoding="utf-8"), flags=re.DOTALL)
        return f"const {names} = {json.dumps(_flat(tokens_css(':host') + css))};\n"
    return f"const {names.replace(' as ', ': ')} = {Path(source).stem};\n"


def _flat(text: str) -> str:
    return re.sub(r"^\s+", "", text, flags=re.MULTILINE)


@cache
def tokens_css(selector: str = ":root") -> str:
    """Write the colours of the five dimensions, light and dark, and of everything neutral, as CSS custom properties.

    Example:
        >>> "--S-ink: light-dark(#2c62c0, #55a7fb);" in tokens_css()
        True
    """
    dims = (
        f"--{dim.symbol}-{voice}: light-dark({colours[0]}, {colours[1]});"
        for dim in DIMS.values()
        for voice, colours in (("ink", dim.ink), ("fill", dim.fill), ("tint", dim.tint))
    )
    neutral = (f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in NEUTRAL.items())
    return "\n".join([f"{selector} {{", *dims, *neutral, "}\n"])


NEUTRAL = {
    "paper": ("#fdfcf9", "#16181b"),
    "raised": ("#f5f3ee", "#1e2125"),
    "ink": ("#1b1d21", "#eceae4"),
    "ink2": ("#565a61", "#a9adb4"),
    "rule": ("#dcd9d1", "#33373d"),
    "edge": ("#85888d", "#7a7f87"),
    "bad": ("#a8201a", "#ff8f85"),
    "v-neg": ("#dfa79f", "#7d4440"),
    "v-zero": ("#f7f5f0", "#22252a"),
    "v-pos": ("#8fbfb8", "#2f6a66"),
    "hatch": ("#a9a69f", "#5d626a"),
}
