"""The names a caller gives: ``dims="batch S n_embd"``, for one tensor or for several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ShapeError
from .symbols import DIMS, Label, Symbols


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
                f'{len(labels)}, {shape}; give one name an axis ("_" for none, "..." for leading ones)'
            )
        for name, label in zip(names, labels, strict=True):
            if name != "_":
                known = symbols.named(name, label.size, DIMS)
                symbols.unite(known, label)

    def __str__(self) -> str:
        return f'"{" ".join(self.names)}"'


def parse(dims: str | Mapping[str, str] | None, first: str | None) -> dict[str, Given]:
    """Read the ``dims`` argument: one string is meant for the first tensor."""
    if dims is None:
        return {}
    if isinstance(dims, str):
        if first is None:
            raise ShapeError(f"dims is {dims!r}, but there is no tensor argument that it could name")
        dims = {first: dims}
    return {
        tensor: Given(tuple(words.split() if isinstance(words, str) else words))
        for tensor, words in dims.items()
    }
