"""The names a caller gives: ``dims="batch S n_embd"``, for one tensor or for several."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..dims import role
from ..errors import ShapeError
from .labels import BOOK, CODE, DIMS, Label
from .symbols import Symbols


@dataclass(frozen=True)
class Given:
    """Names for the axes of one tensor; ``_`` names nothing, ``...`` stands for leading axes."""

    names: tuple[str, ...]

    def apply(self, symbols: Symbols, labels: list[Label], tensor: str) -> None:
        """Name the labels of a tensor; a wrong count is an error."""
        shape = f"({', '.join(str(label.size) for label in labels)})"
        names = list(self.names)
        if names.count("...") > 1:
            raise ShapeError(f'dims for {tensor}: "..." may stand once only, not as in {self}')
        if "..." in names:
            place = names.index("...")
            names[place : place + 1] = ["_"] * (len(labels) - len(names) + 1)
        if len(names) != len(labels):
            raise ShapeError(
                f"dims for {tensor}: {self} names {len(self.names)} axes but {tensor} has "
                f'{len(labels)}, {shape}; give one name an axis ("_" for none, "..." for leading '
                "ones)"
            )
        for name, label in zip(names, labels, strict=True):
            if name != "_":
                known = symbols.named(name, label.size, DIMS)
                symbols.unite(known, label)

    def suggest(self, symbols: Symbols, labels: list[Label], *, book: bool) -> None:
        """Name labels as an annotation does, ``Float[Tensor, "*batch S H"]``, where it fits."""
        names = list(self.names)
        if names and names[0][:1] in "*.":
            alone = len(labels) == len(names) and names[0][0] == "*"
            leading = [names[0][1:]] if alone else ["_"] * (len(labels) - len(names) + 1)
            names[:1] = leading
        if len(names) != len(labels):
            return
        for name, label in zip(names, labels, strict=True):
            if name.isidentifier() and name[0] != "_" and not (book and role(name) is None):
                rank, word = (BOOK, book_name(name)) if book else (CODE, name)
                symbols.unite(symbols.named(word, label.size, rank, "annotation"), label)

    def __str__(self) -> str:
        return f'"{" ".join(self.names)}"'


def parse(dims: str | Mapping[str, str] | None, first: str | None) -> dict[str, Given]:
    """Read the ``dims`` argument: one string is meant for the first tensor."""
    if dims is None:
        return {}
    if isinstance(dims, str):
        if first is None:
            raise ShapeError(
                f"dims is {dims!r}, but there is no tensor argument that it could name"
            )
        dims = {first: dims}
    return {
        tensor: Given(tuple(words.split() if isinstance(words, str) else words))
        for tensor, words in dims.items()
    }


def annotated(fn: Callable) -> dict[str, Given]:
    """Read the dims that a function's annotations state (jaxtyping's ``Float[Tensor, "S H"]``)."""
    found = {}
    for argument, hint in getattr(fn, "__annotations__", {}).items():
        for kind in (hint, *typing.get_args(hint)):
            if isinstance(getattr(kind, "dim_str", None), str):
                found[argument] = Given(tuple(kind.dim_str.split()))
    return found


def book_name(name: str) -> str:
    """Give the book's symbol for a name in attnlib's own files; Sq and Sk stay apart."""
    return name if name in ("Sq", "Sk") else role(name) or name
