"""The widgets' code as text: modules joined into one script, colours from the named dimensions."""

import json
import posixpath
import re
from functools import cache, partial
from pathlib import Path

from ..dims import DIMS

HERE = Path(__file__).parent

# (light, dark) of what is no dimension: paper, words, lines, faults, and the scale of values.
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

_IMPORT = re.compile(r"^import ([^;]+?) from '(\.{1,2}/[\w./-]+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default \{.*\};\n)?", re.MULTILINE)
_NAMES = re.compile(r"^export (?:const|class|(?:async )?function) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


@cache
def text_of(name: str) -> str:
    """Read a file that stands beside this one, without its whole-line comments and indentation."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text if name.endswith(".html") else _flat(_COMMENT.sub("", text))


@cache
def script(entry: str, last: str, present: tuple[str, ...] = ()) -> str:
    """Join a module and all it imports into one classic script that ends in `last`.

    Each module keeps a scope of its own, `$name`, for labs `$labs_name`. A page from a disk cannot
    load modules, and a notebook has no place for files. Modules that are `present` are taken from
    the page's `attnlibModules`.

    Example:
        >>> script("kit.js", "window.kit = $kit;").splitlines()[1:3]
        ["'use strict';", 'const $kit = (() => {']
        >>> script("drawing.js", "", ("kit.js",)).splitlines()[2]
        'const $kit = window.attnlibModules.$kit;'
    """
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in present:
            done[name] = f"const {_scope(name)} = window.attnlibModules.{_scope(name)};\n"
            return
        text = text_of(name)
        for _, path in _IMPORT.findall(text):
            needed = _beside(name, path)
            if needed not in done and needed.endswith(".js"):
                visit(needed)
        names = ", ".join(_NAMES.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(partial(_bind, name), text))
        done[name] = f"const {_scope(name)} = (() => {{\n{body}return {{ {names} }};\n}})();\n"

    visit(entry)
    return f"(() => {{\n'use strict';\n{''.join(done.values())}{last}}})();\n"


def handed_on(modules: tuple[str, ...]) -> str:
    """Write the line with which a page's first script hands modules on to its later ones."""
    return f"window.attnlibModules ??= {{ {', '.join(map(_scope, modules))} }};\n"


def _scope(name: str) -> str:
    return "$" + name.removesuffix(".js").replace("/", "_")


def _beside(name: str, path: str) -> str:
    """Resolve what `name` imports, as a path below this folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _bind(importer: str, match: re.Match) -> str:
    names, source = match[1], _beside(importer, match[2])
    if source.endswith(".css"):
        tokens = tokens_css(":host") if source == "base.css" else ""
        return f"const {names} = {json.dumps(tokens + text_of(source))};\n"
    return f"const {names.replace(' as ', ': ')} = {_scope(source)};\n"


def _flat(text: str) -> str:
    return re.sub(r"^\s+", "", text, flags=re.MULTILINE)


@cache
def tokens_css(selector: str = ":root") -> str:
    """Write the colours of the five dimensions, and of what is neutral, as CSS custom properties.

    Example:
        >>> "--S-ink: light-dark(#2c62c0, #55a7fb);" in tokens_css()
        True
    """
    dims = {
        f"{dim.symbol}-{voice}": getattr(dim, voice)
        for dim in DIMS.values()
        for voice in ("ink", "fill", "tint")
    }
    lines = (f"--{n}: light-dark({a}, {b});" for n, (a, b) in (dims | NEUTRAL).items())
    return "\n".join([f"{selector} {{", *lines, "}\n"])
