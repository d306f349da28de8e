"""What the recorder notes down while code runs: plain facts, worked out afterwards."""

from __future__ import annotations

import types
from typing import Any

from torch import nn

from .labels import Label

Chain = tuple[tuple[types.CodeType, int], ...]  # (code, instruction), from the operation outwards


class Identity:
    """What stays the same while a tensor is written into: its labels, and its name so far."""

    __slots__ = ("labels", "name", "named", "number", "variable", "weight")

    def __init__(self, number: int) -> None:
        self.number = number
        self.weight = False  # a parameter or buffer of a module
        self.labels: list[Label] | None = None
        self.name: str | None = None
        self.named = False  # after a variable or an argument, not after an expression
        self.variable: str | None = None  # around loose lines, that held it when it was met


class State:
    """A tensor at one moment."""

    __slots__ = (
        "device", "dtype", "identity", "offset", "shape", "storage", "strides", "values", "version",
    )  # fmt: skip
    device: str
    dtype: str
    identity: Identity
    offset: int
    shape: tuple[int, ...]
    storage: int | None
    strides: tuple[int, ...]
    values: Any
    version: int

    def __repr__(self) -> str:
        return f"State{self.shape}"


class StageCall:
    """One call of a stage function: its operations become the children of one row."""

    __slots__ = ("arguments", "chain", "module", "name")

    def __init__(
        self, name: str, arguments: dict[str, Any], chain: Chain, module: nn.Module | None
    ) -> None:
        self.name, self.arguments, self.chain, self.module = name, arguments, chain, module


class Call:
    """One operation as it happened."""

    __slots__ = (
        "args", "chain", "direct", "error", "hidden", "inputs", "kind", "kwargs", "module", "name",
        "number", "op", "out", "spaces", "stages",
    )  # fmt: skip
    args: tuple
    chain: Chain
    direct: bool  # written by the reader, not done inside a library call
    error: BaseException | None
    hidden: bool
    inputs: list[State]
    kind: str
    kwargs: dict[str, Any]
    module: nn.Module | None
    name: str  # torch's
    number: int  # of the library call it is a part of
    op: str  # the teaching name
    out: Any  # a state, or a tuple of them
    spaces: tuple[dict[str, int], dict[str, Any]]  # the function's own whole numbers, its globals
    stages: tuple[StageCall, ...]


class ShapeRead:
    """The code looked at a shape: the names it unpacks into are names of dims."""

    __slots__ = ("axis", "chain", "state")

    def __init__(self, state: State, axis: int | None, chain: Chain) -> None:
        self.state, self.axis, self.chain = state, axis, chain


def is_state(value: Any) -> bool:
    return isinstance(value, State)
