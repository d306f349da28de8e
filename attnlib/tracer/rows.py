"""A trace as plain data: what a run did, row by row.

Table, player, exercises and tests all read these objects and nothing else. They hold text, numbers
and lists only, so that ``to_dict`` and ``from_dict`` lose nothing; ``schema.py`` checks what comes
in.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("input", "new", "view", "copy", "in-place", "same", "error")
DIGITS = 6  # significant digits of a stored value


@dataclass(slots=True)
class TensorInfo:
    """One tensor as a row saw it: ``dims`` names its axes, ``values`` are there when it is tiny."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    device: str
    values: Any = None

    def in_names(self) -> str:
        """Write the shape in names: ``(batch, S, H)``."""
        return f"({', '.join(self.dims)})"

    def in_numbers(self) -> str:
        """Write the shape in numbers: ``(2, 8, 16)``."""
        return f"({', '.join(map(str, self.shape))})"

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
    return value if isinstance(value, bool | int) else str(value)


def as_dict(row: Any) -> dict[str, Any]:
    """Turn a row into what JSON can say (tuples become lists)."""
    return _lists(asdict(row))


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value
