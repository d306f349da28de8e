"""The recorder: one ordinary eager run, every torch operation noted down as it happens.

It does as little as it can while the code runs (a row's names, lines and dims are worked out
afterwards, from these notes) and it never keeps a tensor alive. Nothing is patched or hooked: a
call's line, module and stage are read off the frames that stand on the stack anyway.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from .frames import LIBRARY, STAGE, kind_of
from .labels import Dim, Label
from .notes import Call, Identity, ShapeRead, StageCall, State
from .operations import PROPERTIES, canonical
from .rows import plain
from .symbols import Symbols

_THIS = (lambda: None).__code__.co_filename
_METHODS = torch._tensor.__file__
_CALL = torch.nn.Module._wrapped_call_impl.__code__
_QUIET = {
    "requires_grad_",
    "retain_grad",
    "register_hook",
    "dim",
    "stride",
    "numel",
    "is_contiguous",
}
_FILLING = {"reset_parameters", "_reset_parameters"}
_SKIP, _SHAPE, _SIZE = "skip", "shape", "size"


class Recorder(TorchFunctionMode):
    """Note every operation of a run in ``events``."""

    def __init__(self, *, tiny: int = 256, max_steps: int = 10_000) -> None:
        super().__init__()
        self.symbols = Symbols()
        self.events: list[Call | ShapeRead] = []
        self.dropped = 0
        self.base: types.CodeType | None = None  # where to stop walking: the code that traces
        self.failed: tuple[BaseException, Call, Any] | None = None
        self._tiny, self._left = tiny, max_steps
        self._states = WeakTensorKeyDictionary()
        self._identities = 0
        self._plans: dict[Any, str] = {}
        self._open: list[tuple[types.FrameType, StageCall]] = []  # stages that are running
        self._entered: types.FrameType | None = None  # the library call that is running
        self._number = 0

    # -- what torch calls -------------------------------------------------------------------

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = _plan(func)
        if plan is _SKIP:
            return func(*args, **kwargs)
        if plan is _SHAPE or plan is _SIZE:
            return self._shape(func, args, kwargs, sys._getframe(1))
        if self._left <= 0:
            return self._beyond(func, args, kwargs)
        return self._note(plan, func, args, kwargs, sys._getframe(1))

    def _note(self, plan, func, args, kwargs, frame):
        call = Call()
        call.name, call.op, call.error = plan, canonical(plan), None
        self._where(call, frame, getattr(func, "__code__", None))
        inputs: list[State] = []
        call.args = self._freeze(args, inputs)
        call.kwargs = self._freeze(kwargs, inputs) if kwargs else kwargs
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            call.error, call.out, call.kind = error, None, "error"
            self._keep(call)
            self.failed = (error, call, func)
            raise
        if plan == "__setitem__":
            call.out, call.kind = self.state(args[0]), "in-place"
        else:
            tensors = _tensors(out)
            if not tensors:
                return out
            states = tuple(self.state(tensor) for tensor in tensors)
            call.kind = _kind(call.op, states[0], inputs)
            call.out = states[0] if isinstance(out, Tensor) else states
        self._keep(call)
        return out

    def _keep(self, call: Call) -> None:
        if call.hidden and call.error is None:
            return
        self._left -= 1
        self.events.append(call)

    def _beyond(self, func, args, kwargs):
        """Past the limit: run, count, and keep only what an error would need."""
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            if self.failed is None or self.failed[0] is not error:
                self._left = 1
                self.failed = None
                call = Call()
                call.name = _plan(func)
                call.op, call.error, call.out, call.kind = (
                    canonical(call.name),
                    error,
                    None,
                    "error",
                )
                self._where(call, sys._getframe(2), None)
                call.args, call.kwargs = self._freeze(args, []), self._freeze(kwargs, [])
                self._keep(call)
                self.failed = (error, call, func)
            raise
        if _tensors(out):
            self.dropped += 1
        return out

    def _shape(self, func, args, kwargs, frame):
        """Hand out a shape whose numbers remember their axes, to the reader's code only."""
        out = func(*args, **kwargs)
        if self._left <= 0 or kind_of(frame.f_code.co_filename) is LIBRARY:
            return out
        state = self.state(args[0])
        labels = self.labels(state)
        axis = None
        if isinstance(out, int):
            axis = args[1] if len(args) > 1 else kwargs.get("dim")
            result = Dim(out, labels[axis])
        else:
            result = torch.Size([Dim(size, label) for size, label in zip(out, labels, strict=True)])
        self.events.append(ShapeRead(state, axis, ((frame.f_code, frame.f_lasti),)))
        return result

    # -- tensors ----------------------------------------------------------------------------

    def labels(self, state: State) -> list[Label]:
        """Return the labels of a tensor's axes; unknown ones are made on the spot."""
        identity = state.identity
        if identity.labels is None or len(identity.labels) != len(state.shape):
            identity.labels = [self.symbols.fresh(size) for size in state.shape]
        return identity.labels

    def state(self, tensor: Tensor) -> State:
        """Describe a tensor as it is now; the same description while nothing writes into it."""
        known = self._states.get(tensor)
        version = _version(tensor)
        if known is not None and known.version == version and known.shape == tensor.shape:
            return known
        state = State()
        state.version = version
        state.shape = tuple(tensor.shape)
        state.dtype, state.device = str(tensor.dtype)[6:], str(tensor.device)
        try:
            state.strides, state.offset = tensor.stride(), tensor.storage_offset()
            state.storage = tensor.untyped_storage()._cdata
        except (RuntimeError, NotImplementedError):  # sparse, nested, functorch: no strides
            state.strides, state.offset, state.storage = (), 0, None
        state.values = self._values(tensor)
        if known is not None and known.shape == state.shape and known.strides == state.strides:
            state.identity = known.identity
        else:
            self._identities += 1
            state.identity = Identity(self._identities)
        self._states[tensor] = state
        return state

    def _values(self, tensor: Tensor) -> Any:
        if tensor.numel() > self._tiny or tensor.is_meta or tensor.is_complex():
            return None
        try:
            return plain(tensor.tolist())
        except (RuntimeError, NotImplementedError, TypeError):
            return None

    def _freeze(self, value: Any, found: list[State]) -> Any:
        """Copy arguments with every tensor replaced by its state, so that none is kept alive."""
        if isinstance(value, Tensor):
            state = self.state(value)
            found.append(state)
            return state
        if isinstance(value, tuple | list):
            return tuple([self._freeze(item, found) for item in value])
        if isinstance(value, dict):
            return {key: self._freeze(item, found) for key, item in value.items()}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*(self._freeze(part, found) for part in parts))
        if value is None or isinstance(value, _KEPT):
            return value
        return type(value).__name__

    # -- where ------------------------------------------------------------------------------

    def _where(self, call: Call, frame, called: types.CodeType | None) -> None:
        """Read line, module and stage of an operation off the stack, up to the code that traces."""
        chain: list[tuple[types.CodeType, int]] = []
        stages: list[tuple[Any, int]] = []
        module = below = entered = None
        call.hidden = False  # a layer that fills its own new weights is no step of the reader's
        while frame is not None:
            code = frame.f_code
            if code.co_filename is _THIS:  # a trace inside this one
                frame = frame.f_back
                continue
            kind = kind_of(code.co_filename)
            if kind is not LIBRARY:
                if not chain:
                    entered = below
                if kind is STAGE and code.co_name[0] != "_" and code.co_qualname == code.co_name:
                    stages.append((frame, len(chain)))
                chain.append((code, frame.f_lasti))
            elif code is _CALL and module is None:
                module = frame.f_locals["self"]
            elif not chain and code.co_name in _FILLING:
                call.hidden = True
            if code is self.base:
                break
            below, frame = frame, frame.f_back
        # written by the reader: straight, or as one of torch's functions that are Python themselves
        call.direct = (
            entered is None
            or entered.f_code in (called, None)
            or (entered.f_code.co_filename == _METHODS)
        )
        if entered is None or entered is not self._entered:
            self._number += 1
        self._entered = entered
        call.chain, call.module, call.number = tuple(chain), module, self._number
        call.stages = self._stages(stages, call.chain, module) if stages else ()
        if not stages and self._open:
            self._open = []

    def _stages(self, frames, chain, module) -> tuple[StageCall, ...]:
        """Match the stage frames on the stack, outermost first, with the calls that are open."""
        opened = []
        for depth, (frame, place) in enumerate(reversed(frames)):
            if depth < len(self._open) and self._open[depth][0] is frame:
                opened.append(self._open[depth])
                continue
            self._open = self._open[:depth]
            code, local = frame.f_code, frame.f_locals
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            arguments = {name: self._freeze(local.get(name), []) for name in names}
            opened.append((frame, StageCall(code.co_name, arguments, chain[place + 1 :], module)))
        self._open = opened
        return tuple(stage for _, stage in opened)

    def close(self) -> None:
        """Let go of everything that belongs to the run."""
        self._open, self._entered, self.failed = [], None, None
        self._states = WeakTensorKeyDictionary()
        self._plans = {}


_KEPT = (bool, int, float, complex, str, torch.dtype, torch.device, type(Ellipsis))


def _plan(func) -> str:
    name = getattr(func, "__name__", None) or str(func)
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        return _SHAPE if name == "shape" else name if name in PROPERTIES else _SKIP
    if name == "size":
        return _SIZE
    return _SKIP if name in _QUIET or name == "__set__" else name


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors do not count
        return -1


def _tensors(out: Any) -> list[Tensor]:
    if isinstance(out, Tensor):
        return [out]
    if isinstance(out, tuple | list):
        return [tensor for item in out for tensor in _tensors(item)]
    return []


_MOVED = {"contiguous", "clone", "reshape", "to", "flatten", "expand", "repeat", "cat", "stack"}


def _kind(op: str, state: State, inputs: list[State]) -> str:
    """Say what an operation made: a new tensor, a copy, another view, or the same object again."""
    for given in inputs:
        if given.identity is state.identity:
            return "same" if given is state else "in-place"
    if state.storage is not None and any(given.storage == state.storage for given in inputs):
        return "view"
    return "copy" if op in _MOVED else "new"
