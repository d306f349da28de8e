"""The one HTML form of a lab: its facts as tables, its numbers as data, and what starts it."""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from .. import output
from ..source import SHARED, Bundle

LABS = ("projections", "matmul", "scaling", "mask", "softmax", "head", "heads", "wild")


@dataclass(frozen=True)
class Table:
    """Hold a few of a lab's facts as they read without scripts."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Lab:
    """Show a lab as the last value of a cell: `data` is what its figure is computed from."""

    name: str
    title: str
    question: str
    data: dict
    tables: Sequence[Table]

    def __repr__(self) -> str:
        return f"{self.title}: {self.question}"

    def _repr_html_(self) -> str:
        return self._form(output.loader(self._script))

    def save_html(self, path: str | os.PathLike) -> None:
        """Write one file that holds the lab and plays anywhere."""
        output.save(path, self.title, self._form(""), lab_script(self.name))

    @property
    def _script(self) -> output.Script:
        place = f'.attn-lab[data-lab="{self.name}"]'
        mount = f"window.attnlibLabs?.{self.name}"
        return output.Script("lab", place, mount, lambda: lab_script(self.name))

    def _form(self, loader: str) -> str:
        tables = "".join(_table(table) for table in self.tables)
        return (
            f'<div class="attn-lab" data-lab="{self.name}" id="lab-{self.name}"'
            f' data-title="{html.escape(self.title)}">\n'
            f'<p class="attn-fallback"><b>{html.escape(self.title)}</b>:'
            f" {html.escape(self.question)}</p>\n{tables}"
            f"{output.state_of({'question': self.question, **self.data})}{loader}</div>\n"
        )


def lab(name: str, **numbers: Any) -> Lab:
    """Return the lab of that name, with your numbers where it takes some.

    Raises: KeyError for an unknown name; it lists those there are.

    Example:
        >>> lab("scaling")
        Scores of wider and wider heads: what does a larger H do to the softmax?
    """
    if name not in LABS:
        raise KeyError(f"lab: there is no {name!r}; there are {', '.join(LABS)}")
    return import_module(f".{name}", __package__).build(**numbers)


@cache
def lab_script(name: str, *, beside_player: bool = False) -> str:
    """Write the classic script that mounts every lab of that name on the page it stands in.

    Beside the player's script for pages of the book, modules that it has are not repeated.
    """
    last = f"$labs_place.start('{name}', $labs_{name});\n"
    present = SHARED if beside_player else ()
    bundle = Bundle(f"labs/{name}.js", last, ("labs/place.js",), present, book=beside_player)
    return bundle.text().replace("</", "<\\/")


def numbers(values: Any) -> Any:
    """Round to the six digits that travel, in lists of any depth; what is no number is a word."""
    if isinstance(values, list | tuple):
        return [numbers(value) for value in values]
    if isinstance(values, float):
        return float(f"{values:.6g}") if abs(values) < float("inf") else str(values)
    return values


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_text(cell))}</td>" for cell in row) + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<table class="attn-fallback">\n<caption>{html.escape(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )


def _text(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
