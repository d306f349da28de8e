"""The names a caller gives: ``dims="batch S n_embd"``, for one tensor or for several."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..dims import role
from ..errors import ShapeError
from .labels import BOOK, CODE, DIMS, Label
from .symbols import Symbols

Names = str | Sequence[str]  # "batch S H", "(batch, S, H)" or a word for each axis
Sizes = dict[str, tuple[int, str]]  # name -> its size, and where it was met first
_PART = r"(?:[^\W\d]\w*|\d+)"
_WORD = re.compile(rf"\.\.\.|{_PART}(?:(?:\*|//){_PART})*")  # 3*n_embd, as a table writes it


@dataclass(frozen=True)
class Given:
    """Names for the axes of one tensor; ``_`` names nothing, ``...`` stands for leading axes.

    A number names nothing either, and says how large the axis is.
    """

    names: tuple[str, ...]

    def apply(self, symbols: Symbols, labels: list[Label], tensor: str, sizes: Sizes) -> None:
        """Name the labels of a tensor; a wrong count is an error, so are two sizes of one name."""
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
                f'{len(labels)}, {shape}; give one name for each axis ("_" for none, "..." for '
                "leading ones)"
            )
        for axis, (name, label) in enumerate(zip(names, labels, strict=True)):
            _check_size(name, label.size, f"axis {axis} of {tensor}", sizes)
            if name != "_" and not name.isdigit():
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


def _check_size(name: str, size: int, place: str, sizes: Sizes) -> None:
    """Refuse a number that is not the size, and a name of two; 1 lines up with any size."""
    if name.isdigit() and int(name) != size:
        raise ShapeError(
            f"dims: {place} is {size}, not {name}; write a name for each axis, "
            'as in "batch S H", and a number only where the size is always that one'
        )
    if name == "_" or name.isdigit() or size == 1:
        return
    known, where = sizes.setdefault(name, (size, place))
    if known != size:
        raise ShapeError(
            f"dims: {name} is {known} at {where} but {size} at {place}; "
            "give each size a name of its own, as Sq and Sk"
        )


def parse(dims: Names | Mapping[str, Names | None] | None, first: str | None) -> dict[str, Given]:
    """Read the ``dims`` argument: names without a key are meant for the first tensor."""
    if dims is None:
        return {}
    if not isinstance(dims, Mapping):
        if first is None:
            raise ShapeError(
                f"dims is {dims!r}, but there is no tensor argument that it could name"
            )
        dims = {first: dims}
    return {
        tensor: Given(_words(tensor, names)) for tensor, names in dims.items() if names is not None
    }


def _words(tensor: str, names: Names) -> tuple[str, ...]:
    """Take names apart; commas and brackets around them, as in a printed shape, say nothing."""
    if isinstance(names, str):
        text = names.strip()
        text = text[1:-1] if text[:1] + text[-1:] in ("()", "[]") else text
        names = text.replace(",", " ").split()
    words = list(names) if isinstance(names, Sequence) else [names]
    for word in words:
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            raise ShapeError(
                f"dims for {tensor}: {word!r} cannot name an axis; write a word for each axis, as "
                'in "batch S H", or {"q": "batch S H", "k": "batch S H"} by tensor; '
                '"_" names nothing, "..." stands for leading axes'
            )
    return tuple(words)


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
