"""The widgets' code as text: modules joined into one script, colours from the named dimensions."""

import json
import posixpath
import re
from collections.abc import Iterable
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

# Modules of which the player's script hands on what they export, to scripts that come later.
SHARED = tuple(
    f"{name}.js"
    for name in (
        *("kit", "surface", "tensor", "scene", "grid", "drawing", "softmax", "cross"),
        *("operands", "sums", "ledger", "memory", "links", "places"),
    )
)

_IMPORT = re.compile(r"^import ([^;]+?) from '(\.{1,2}/[\w./-]+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default \{.*\};\n)?", re.MULTILINE)
_TOP = re.compile(  # what a module declares at its top, also several at once, and style sheets
    r"^(?:export )?(?:const|let|class|(?:async )?function|import)"
    r" (\w+|\[[\w, ]+\])(?= from|[ ;(=])",
    re.MULTILINE,
)
_NAMES = re.compile(r"^export (?:const|class|(?:async )?function) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_SPARED = re.compile(r"/\*.*?\*/|;?\s*([{};,])\s*|(?<=:) ")  # of a style sheet


@cache
def text_of(name: str) -> str:
    """Read a file that stands beside this one, without its whole-line comments and indentation.

    Nor has a style sheet any comment, or spaces beside its marks.
    """
    text = (HERE / name).read_text(encoding="utf-8")
    if name.endswith(".html"):
        return text
    text = _flat(_COMMENT.sub("", text))
    return _SPARED.sub(r"\1", text) if name.endswith(".css") else text


@dataclass(frozen=True)
class Bundle:
    """Join a module and all that it imports into one classic script that ends in `last`.

    A page from a disk cannot load modules, and a notebook has no place for files. All stand in one
    scope, as if they were one file: that is the least a page can carry. `last` finds what the entry
    and the modules of `also` export in `$name`, for labs in `$labs_name`. What the modules in
    `present` export is taken from the page's `attnlibShared`. With `book` the colours are left to
    the book's own style sheet, which hands them on to closed-off hosts.

    Raises: ValueError where two modules give the same name.
    """

    entry: str
    last: str
    also: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    book: bool = False

    def text(self) -> str:
        """Write the script.

        Example:
            >>> Bundle("moves.js", "window.moves = $moves;").text().splitlines()[-2:]
            ['const $moves = { stepIn, keyMove, neighbour };', 'window.moves = $moves;})();']
        """
        bodies: dict[str, str] = {}
        taken: set[str] = set()
        for name in (*self.also, self.entry):
            self._visit(name, bodies, taken)
        _refuse_same_names(bodies, taken)
        spaces = (
            f"const {_scope(name)} = {{ {', '.join(_exports(name))} }};\n"
            for name in (*self.also, self.entry)
        )
        parts = [self._shared(taken), *bodies.values(), *spaces]
        return f"(() => {{\n'use strict';\n{''.join(parts)}{self.last}}})();\n"

    def _visit(self, name: str, bodies: dict[str, str], taken: set[str]) -> None:
        text = text_of(name)
        for names, path in _IMPORT.findall(text):
            needed = _beside(name, path)
            if needed in self.present:
                taken.update(re.findall(r"\w+", names))
            elif needed.endswith(".js") and needed not in bodies:
                self._visit(needed, bodies, taken)
        bodies[name] = _EXPORT.sub("", _IMPORT.sub(lambda found: self._bound(name, found), text))

    def _bound(self, importer: str, found: re.Match) -> str:
        """Put a style sheet in place of its import; a script is in this scope already."""
        names, source = found[1], _beside(importer, found[2])
        if not source.endswith(".css"):
            return ""
        tokens = tokens_css(":host") if source == "base.css" and not self.book else ""
        return f"const {names} = {json.dumps(tokens + text_of(source))};\n"

    def _shared(self, taken: set[str]) -> str:
        places = [f"{own} = $shared[{n}]" for n, own in enumerate(_handed_on()) if own in taken]
        return f"const $shared = window.attnlibShared, {', '.join(places)};\n" if taken else ""


def hand_on() -> str:
    """Write the line with which a page's first script hands on what later ones need of it."""
    return f"window.attnlibShared ??= [{', '.join(_handed_on())}];\n"


def _handed_on() -> list[str]:
    return [own for name in SHARED for own in _exports(name)]


def _exports(name: str) -> list[str]:
    return _NAMES.findall(text_of(name))


def _refuse_same_names(modules: Iterable[str], taken: Iterable[str]) -> None:
    owner = dict.fromkeys(taken, "a module in `present`")
    for name in modules:
        raw = (HERE / name).read_text(encoding="utf-8")
        for own in re.findall(r"\w+", " ".join(_TOP.findall(raw))):
            if own in owner:
                raise ValueError(f"Bundle: {owner[own]} and {name} both give the name {own}")
            owner[own] = name


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
