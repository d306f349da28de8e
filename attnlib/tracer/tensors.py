"""Tensors as rows describe them: under which name, made by which row, in which dims."""

from __future__ import annotations

from .agreement import agree
from .labels import Label
from .notes import Identity, State
from .rows import Step, TensorInfo
from .source import short
from .states import States
from .symbols import Symbols


class Tensors:
    """Describe states for rows; the dims are written last, when all names are known."""

    def __init__(self, states: States, symbols: Symbols) -> None:
        self.symbols = symbols
        self._states = states
        self._infos: dict[tuple[int, str], TensorInfo] = {}
        self._named: list[tuple[TensorInfo, list[Label]]] = []
        self._made: dict[Identity, Step] = {}

    def labels(self, state: State) -> list[Label]:
        return self._states.labels(state)

    def info(self, state: State, name: str) -> TensorInfo:
        """Describe a tensor under a name; rows that show the same share it."""
        name = short(name)  # it may be the expression that made it
        key = (id(state), name)
        if key in self._infos:
            return self._infos[key]
        info = self._infos[key] = TensorInfo(
            name, state.shape, (), state.strides, state.offset, state.dtype, state.device,
            state.values,
        )  # fmt: skip
        self._named.append((info, list(self.labels(state))))
        return info

    def made(self, state: State, step: Step) -> None:
        self._made[state.identity] = step

    def maker(self, state: State) -> Step | None:
        """Return the row that made a tensor, if there is one."""
        return self._made.get(state.identity)

    def rename(self, identity: Identity, name: str) -> None:
        """Let a value that no assignment names be called as it is used (``q`` out of a ``map``)."""
        old, identity.name, identity.named = identity.name, name, True
        made = self._made.get(identity)
        if made is None:
            return
        for info in made.outputs:
            if info.name == old:
                info.name = name
        if len(made.outputs) == 1 and made.variable is None:
            made.variable = name

    def write_dims(self) -> None:
        """Write every axis as it is known at the end of the run."""
        rows = [[label.root() for label in labels] for _, labels in self._named]
        words = agree(self.symbols, [root for row in rows for root in row])
        for (info, _), row in zip(self._named, rows, strict=True):
            info.dims = tuple([words[root] for root in row])

    def shapes(self) -> dict[tuple, None]:
        """Return every (dims, shape) that a row shows, in order."""
        return dict.fromkeys((info.dims, info.shape) for info, _ in self._named)
