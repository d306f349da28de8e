"""Tensors at one moment, described so that none of them is kept alive."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.weak import WeakTensorKeyDictionary

from .labels import Label
from .notes import Identity, State
from .symbols import Symbols
from .variables import Variables

_KEPT = (bool, int, float, complex, str, torch.dtype, torch.device, type(Ellipsis))


class Undescribed(Exception):
    """A tensor that has no shape to write down: nested, or a parameter that is not made yet."""


def has_shape(tensor: Tensor) -> bool:
    return not (tensor.is_nested or is_lazy(tensor))


class States:
    """Describe each tensor of a run once, and again when something wrote into it."""

    def __init__(self, symbols: Symbols, tiny: int) -> None:
        self._symbols, self._tiny = symbols, tiny
        self.variables: Variables | None = None  # of loose lines, while they run
        self._known = WeakTensorKeyDictionary()
        self._identities = 0

    def forget(self, tensor: Tensor) -> None:
        """Let the next look describe a tensor anew: inference tensors do not count their writes."""
        known = self._known.get(tensor)
        if known is not None and known.version < 0:
            known.version = -2

    def labels(self, state: State) -> list[Label]:
        """Return the labels of a tensor's axes; unknown ones are made on the spot."""
        identity = state.identity
        if identity.labels is None or len(identity.labels) != len(state.shape):
            identity.labels = [self._symbols.fresh(size) for size in state.shape]
        return identity.labels

    def identities(self) -> list[Identity]:
        """Return what is known of the tensors that are still there."""
        return [state.identity for state in self._known.values()]

    def of(self, tensor: Tensor) -> State:
        """Describe a tensor as it is now; the same description while nothing writes into it."""
        if not has_shape(tensor):
            raise Undescribed
        known = self._known.get(tensor)
        version = _version(tensor)
        if known is not None and known.version == version and known.shape == tensor.shape:
            return known
        state = State()
        state.version, inner, outer = version, None, -1
        state.shape = tuple(tensor.shape)
        state.dtype, state.device = str(tensor.dtype)[6:], str(tensor.device)
        try:
            state.strides, state.offset = tensor.stride(), int(tensor.storage_offset())
            state.storage = tensor.untyped_storage()._cdata
        except (RuntimeError, NotImplementedError):  # sparse, functorch: no strides
            state.strides, state.offset, state.storage = (), 0, None
            inner, outer = self._wrapped(tensor)
            state.storage = None if inner is None else inner.storage
        state.values = self._values(tensor)
        if known is not None and known.shape == state.shape and known.strides == state.strides:
            state.identity = known.identity
        else:
            self._identities += 1
            state.identity = Identity(self._identities)
            state.identity.weight = isinstance(tensor, nn.Parameter)
            if inner is not None:
                axes = enumerate(self.labels(inner))
                state.identity.labels = [label for place, label in axes if place != outer]
        self._known[tensor] = state
        return state

    def _wrapped(self, tensor: Tensor) -> tuple[State | None, int]:
        """Describe what ``torch.func`` wraps; with the axis that vmap takes out of it, or -1."""
        functorch = torch._C._functorch
        if not functorch.is_functorch_wrapped_tensor(tensor):
            return None, -1
        axis = functorch.maybe_get_bdim(tensor) if functorch.is_batchedtensor(tensor) else -1
        return self.of(functorch.get_unwrapped(tensor)), axis

    def given(self, tensor: Tensor) -> State:
        """Describe what an operation is given; met for the first time, by its variable too."""
        before = self._identities
        state = self.of(tensor)
        if self.variables is not None and self._identities > before:
            state.identity.variable = self.variables.name(tensor)
        return state

    def _values(self, tensor: Tensor) -> Any:
        if tensor.numel() > self._tiny or tensor.is_meta or tensor.is_complex():
            return None
        try:
            return tensor.tolist()  # rounded when a row shows it
        except (RuntimeError, NotImplementedError, TypeError):
            return None

    def freeze(self, value: Any, found: list[State]) -> Any:
        """Copy arguments with every tensor replaced by its state."""
        if isinstance(value, Tensor):
            state = self.given(value)
            found.append(state)
            return state
        if isinstance(value, tuple | list):
            return tuple([self.freeze(item, found) for item in value])
        if isinstance(value, dict):
            return {key: self.freeze(item, found) for key, item in value.items()}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*(self.freeze(part, found) for part in parts))
        if value is None or isinstance(value, _KEPT):
            return value
        return type(value).__name__


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors do not count
        return -1
