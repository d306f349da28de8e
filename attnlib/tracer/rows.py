"""A trace as plain data: what a run did, row by row.

Table, player, exercises and tests all read these objects and nothing else. They hold text, numbers
and lists only, so that ``to_dict`` and ``from_dict`` lose nothing; ``schema.py`` checks what comes
in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

FORMAT, VERSION = "attnlib-trace", 1
KINDS = ("input", "new", "view", "copy", "in-place", "same", "error")
DIGITS = 6  # significant digits of a stored value


@dataclass(slots=True, eq=False)
class TensorInfo:
    """One tensor as a row saw it: ``dims`` names its axes, ``values`` are there when it is tiny."""

    FIELDS: ClassVar = (
        "name", "shape", "dims", "strides", "offset", "dtype", "device", "values",
    )  # fmt: skip

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    device: str
    held: Any = field(default=None, repr=False)  # as torch gave them, until someone looks
    rounded: bool = field(default=False, repr=False)

    @property
    def values(self) -> Any:
        """The numbers as nested lists of 6 digits: most are never looked at, so it waits."""
        if not self.rounded:
            self.held, self.rounded = plain(self.held), True
        return self.held

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorInfo):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def in_names(self) -> str:
        """Write the shape in names: ``(batch, S, H)``."""
        return f"({', '.join(self.dims)})"

    def in_numbers(self) -> str:
        """Write the shape in numbers: ``(2, 8, 16)``."""
        return f"({', '.join(map(str, self.shape))})"

    def axis(self, axis: int) -> str:
        """Write one axis: ``H = 16``, or its number where it has no name."""
        dim, size = self.dims[axis], self.shape[axis]
        return str(size) if dim == str(size) else f"{dim} = {size}"

    def described(self) -> str:
        """Write name, dims and sizes in one: ``q (batch=2, S=8, H=16)``."""
        pairs = zip(self.dims, self.shape, strict=True)
        named = (str(size) if dim == str(size) else f"{dim}={size}" for dim, size in pairs)
        return f"{self.name} ({', '.join(named)})"


@dataclass(slots=True)
class Step:
    """One row: an operation (or a whole stage, with its operations as ``steps``)."""

    index: int
    file: str | None
    line: int | None
    code: str
    expression: str
    variable: str | None
    op: str
    inputs: tuple[TensorInfo, ...]
    output: TensorInfo | tuple[TensorInfo, ...] | None
    params: dict[str, Any]
    module: str | None
    kind: str
    note: str = ""
    steps: list[Step] = field(default_factory=list)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The results as a tuple, however many there are."""
        if self.output is None:
            return ()
        return self.output if isinstance(self.output, tuple) else (self.output,)

    def remark(self, said: str) -> None:
        """Say something in front of what the row's note holds already."""
        self.note = "; ".join(filter(None, (said, self.note)))


@dataclass(slots=True)
class Warning:
    """A line that runs although two different dims only happen to have one size."""

    line: int | None
    code: str
    message: str
    dims: tuple[str, str]


@dataclass(slots=True)
class Failure:
    """The operation that raised, explained in named dims; a ``suggestion`` has been run."""

    line: int | None
    code: str
    message: str
    suggestion: str | None = None


@dataclass
class Record:
    """All that a trace says, as data."""

    title: str = ""
    torch: str = ""
    roles: dict[str, str | None] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    tokens: list[str] | None = None
    dropped: int = 0
    steps: list[Step] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    error: Failure | None = None
    # what the last check said; the table shows it
    _checked: Any = field(default=None, compare=False, repr=False)
    # rows that a call of a library did inside, by their place among all
    _inside: set[int] = field(default_factory=set, compare=False, repr=False)
    # names that some size could have gone by, were they not those of another size
    _refused: set[tuple[str, int]] = field(default_factory=set, compare=False, repr=False)


def flat(steps: list[Step]) -> Iterator[Step]:
    """Yield the rows, those of a stage before the stage itself."""
    for step in steps:
        if step.steps:
            yield from flat(step.steps)
        yield step


def plain(value: Any) -> Any:
    """Turn a nested list of tensor values into JSON: 6 digits, and words for what JSON lacks."""
    if isinstance(value, list):
        if value and type(value[0]) is float and all(map(math.isfinite, value)):
            return [float(f"{number:.{DIGITS}g}") for number in value]  # most of all values
        return [plain(item) for item in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return float(f"{value:.{DIGITS}g}")
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, bool | int) else str(value)


def as_dict(row: Any) -> Any:
    """Turn rows into what JSON can say (tuples become lists)."""
    if isinstance(row, TensorInfo):
        return {name: as_dict(getattr(row, name)) for name in row.FIELDS}
    if isinstance(row, Step | Warning | Failure):
        return {item.name: as_dict(getattr(row, item.name)) for item in fields(row)}
    if isinstance(row, dict):
        return {key: as_dict(item) for key, item in row.items()}
    if isinstance(row, list | tuple):
        return [as_dict(item) for item in row]
    return row
