"""The widgets' code as text: modules joined into one script, colours from the named dimensions."""

import json
import posixpath
import re
from dataclasses import dataclass
from functools import cache
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

# Modules that the player's script hands on to those of the labs on the same page.
SHARED = tuple(
    f"{name}.js"
    for name in ("kit", "surface", "trace", "scene", "drawing", "softmax", "cross", "memory")
)

_IMPORT = re.compile(r"^import ([^;]+?) from '(\.{1,2}/[\w./-]+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default \{.*\};\n)?", re.MULTILINE)
_NAMES = re.compile(r"^export (?:const|class|(?:async )?function) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


@cache
def text_of(name: str) -> str:
    """Read a file that stands beside this one, without its whole-line comments and indentation."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text if name.endswith(".html") else _flat(_COMMENT.sub("", text))


@dataclass(frozen=True)
class Bundle:
    """Join a module and all that it imports into one classic script that ends in `last`.

    Each module keeps a scope of its own, `$name`, for labs `$labs_name`. A page from a disk cannot
    load modules, and a notebook has no place for files. `also` are modules that `last` needs
    besides; `present` are taken from the page's `attnlibModules`. With `brief` modules hand each
    other what they export under numbers, for pages on which every byte is carried.
    """

    entry: str
    last: str
    also: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    brief: bool = False

    def text(self) -> str:
        """Write the script.

        Example:
            >>> Bundle("kit.js", "window.kit = $kit;").text().splitlines()[1:3]
            ["'use strict';", 'const $kit = (() => {']
            >>> Bundle("drawing.js", "", present=("kit.js",)).text().splitlines()[2]
            'const $kit = window.attnlibModules.$kit;'
        """
        done: dict[str, str] = {}
        for name in (*self.also, self.entry):
            self._visit(name, done)
        return f"(() => {{\n'use strict';\n{''.join(done.values())}{self.last}}})();\n"

    def _visit(self, name: str, done: dict[str, str]) -> None:
        scope = _scope(name)
        if name in self.present:
            done[name] = f"const {scope} = window.attnlibModules.{scope};\n"
            return
        text = text_of(name)
        for _, path in _IMPORT.findall(text):
            needed = _beside(name, path)
            if needed not in done and needed.endswith(".js"):
                self._visit(needed, done)
        exports = ", ".join(f"{self._key(name, own)}: {own}" for own in _NAMES.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(lambda found: self._bind(name, found), text))
        done[name] = f"const {scope} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"

    def _bind(self, importer: str, found: re.Match) -> str:
        names, source = found[1], _beside(importer, found[2])
        if source.endswith(".css"):
            # The book's own style sheet has the colours, which a closed-off host inherits.
            tokens = tokens_css(":host") if source == "base.css" and not self.brief else ""
            return f"const {names} = {json.dumps(tokens + text_of(source))};\n"
        pairs = [name.split(" as ") for name in re.findall(r"[\w$]+(?: as [\w$]+)?", names)]
        taken = ", ".join(f"{self._key(source, pair[0])}: {pair[-1]}" for pair in pairs)
        return f"const {{ {taken} }} = {_scope(source)};\n"

    def _key(self, module: str, name: str) -> str:
        """Name an export; those of the entry and of `also` are called from outside."""
        if not self.brief or module in (self.entry, *self.also):
            return name
        return f"_{_NAMES.findall(text_of(module)).index(name)}"


@cache
def script(entry: str, last: str) -> str:
    """Join a module and all that it imports into one classic script that ends in `last`."""
    return Bundle(entry, last).text()


def handed_on(modules: tuple[str, ...]) -> str:
    """Write the line with which a page's first script hands modules on to its later ones."""
    return f"window.attnlibModules ??= {{ {', '.join(map(_scope, modules))} }};\n"


def _scope(name: str) -> str:
    return "$" + name.removesuffix(".js").replace("/", "_")


def _beside(name: str, path: str) -> str:
    """Resolve what `name` imports, as a path below this folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


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
