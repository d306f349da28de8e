"""The recorder: one ordinary eager run, every torch operation noted down as it happens.

It does as little as it can while the code runs (a row's names, lines and dims are worked out
afterwards, from these notes), it never keeps a tensor alive, and it never changes what the code
computes: where a note cannot be taken, the operation still runs and is counted as dropped.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .frames import LIBRARY, kind_of
from .labels import Dim, Label
from .notes import Call, ShapeRead, State
from .operations import PROPERTIES, canonical
from .stack import Stack
from .states import States, Undescribed
from .symbols import Symbols

_QUIET = {
    "requires_grad_", "retain_grad", "register_hook", "dim", "stride", "numel", "is_contiguous",
}  # fmt: skip
# Library functions that deep=True looks into; see opened.py.
OPENED = {"multi_head_attention_forward", "_in_projection_packed", "_in_projection", "normalize"}
_SKIP, _SHAPE, _SIZE, _LENGTH = "skip", "shape", "size", "length"
_COPIED = {"contiguous", "clone", "reshape", "to", "flatten", "expand", "repeat", "cat", "stack"}


_SIZED = {"view", "reshape", "expand", "unflatten", "repeat"}  # by sizes that may be h * d


class Recorder(TorchFunctionMode):
    """Note every operation of a run in ``events``."""

    strict = False  # let a note that cannot be taken raise (tests)

    def __init__(self, *, tiny: int = 256, max_steps: int = 10_000, deep: bool = False) -> None:
        super().__init__()
        self.symbols = Symbols()
        self.states = States(self.symbols, tiny)
        self.stack = Stack(self.states)
        self.events: list[Call | ShapeRead] = []
        self.dropped = 0
        self.failed: tuple[BaseException, Call, Any] | None = None  # error, operation, function
        self.held: dict[str, Any] = {}  # the variables at the failing line
        self._left, self._deep = max_steps, deep
        self._plans: dict[Any, str] = {}

    def state(self, tensor: Tensor) -> State:
        return self.states.of(tensor)

    def labels(self, state: State) -> list[Label]:
        return self.states.labels(state)

    def close(self) -> None:
        """Let go of everything that belongs to the run."""
        self.failed, self.held, self._plans = None, {}, {}
        self.states.variables = None
        self.stack.clear()

    # -- what torch calls; in here the mode is off, so nothing below comes back to it -----------

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = _plan(func)
        if plan is _SKIP:
            return func(*args, **kwargs)
        if plan == "grad" and kind_of(sys._getframe(1).f_code.co_filename) is LIBRARY:
            return func(*args, **kwargs)  # an optimizer looks at its gradients
        if plan is _SHAPE or plan is _SIZE:
            return self._shape(func, args, kwargs, sys._getframe(1))
        if plan is _LENGTH:  # past torch's own method and what it hands on to
            self._length(args[0], sys._getframe(3))
            return func(*args, **kwargs)
        return self._note(plan, func, args, kwargs, sys._getframe(1))

    def _note(self, plan: str, func, args, kwargs, frame):
        call = self._begun(plan, func, args, kwargs, frame) if self._left > 0 else None
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            if call is None:  # past the limit an error is still explained
                call = self._begun(plan, func, args, kwargs, frame)
            if call is not None:
                call.error, call.out, call.kind = error, None, "error"
                self.events.append(call)
                self.failed = (error, call, func)
                self.held = _held(frame, call)
            raise
        if plan == "__setitem__" or _tensors(out):
            self._ended(call, args, out)
        return out

    def _begun(self, plan: str, func, args, kwargs, frame) -> Call | None:
        """Note an operation's place and arguments, before it can write into them."""
        try:
            call = Call()
            call.name, call.op, call.error = plan, canonical(plan), None
            self.stack.locate(call, frame, getattr(func, "__code__", None))
            call.inputs = []
            call.args = self.states.freeze(args, call.inputs)
            call.kwargs = self.states.freeze(kwargs, call.inputs) if kwargs else kwargs
            call.spaces = _numbers(frame) if call.op in _SIZED and call.direct else ({}, {})
        except Exception as error:
            if self.strict and not isinstance(error, Undescribed):
                raise
            return None
        return call

    def _ended(self, call: Call | None, args, out) -> None:
        """Note an operation's results, and whether they are new."""
        if call is None:
            self.dropped += 1
            return
        try:
            writes = call.name.endswith("_") and args and isinstance(args[0], Tensor)
            if writes:
                self.states.forget(args[0])
            if call.name == "__setitem__":
                call.out, call.kind = self.state(args[0]), "in-place"
            else:
                states = tuple(self.state(tensor) for tensor in _tensors(out))
                call.kind = _kind(call.op, states[0], call.inputs)
                call.out = states[0] if isinstance(out, Tensor) else states
        except Exception as error:
            if self.strict and not isinstance(error, Undescribed):
                raise
            self.dropped += 1
            return
        if not call.hidden:
            self._left -= 1
            self.events.append(call)

    def _shape(self, func, args, kwargs, frame):
        """Hand out a shape whose numbers remember their axes, to the reader's code only."""
        out = func(*args, **kwargs)
        code = frame.f_code
        library = kind_of(code.co_filename) is LIBRARY
        if self._left <= 0 or (library and not (self._deep and code.co_name in OPENED)):
            return out
        try:
            return self._tagged(out, args, kwargs, frame)
        except Exception as error:
            if self.strict and not isinstance(error, Undescribed):
                raise
            return out

    def _length(self, tensor: Tensor, frame: types.FrameType) -> None:
        """Note that ``len(x)`` was asked for: Python makes a plain int of whatever it is given."""
        if self._left <= 0 or kind_of(frame.f_code.co_filename) is LIBRARY or not tensor.dim():
            return
        try:
            state = self.states.given(tensor)
            self.labels(state)
            self.events.append(ShapeRead(state, 0, ((frame.f_code, frame.f_lasti),)))
        except Exception as error:
            if self.strict and not isinstance(error, Undescribed):
                raise

    def _tagged(self, out, args, kwargs, frame: types.FrameType) -> Dim | torch.Size:
        state = self.states.given(args[0])
        labels = self.labels(state)
        axis = None
        result: Dim | torch.Size
        if isinstance(out, int):
            axis = args[1] if len(args) > 1 else kwargs["dim"]
            result = Dim(out, labels[axis])
        else:
            result = torch.Size([Dim(size, label) for size, label in zip(out, labels, strict=True)])
        self.events.append(ShapeRead(state, axis, ((frame.f_code, frame.f_lasti),)))
        return result


def _plan(func) -> str:
    """Decide once for each function what to do with it: nothing, tag its result, or note it."""
    name = getattr(func, "__name__", None) or str(func)
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        return _SHAPE if name == "shape" else name if name in PROPERTIES else _SKIP
    if name in ("size", "__len__"):
        return _SIZE if name == "size" else _LENGTH
    return _SKIP if name in _QUIET or name == "__set__" else name


def _numbers(frame: types.FrameType) -> tuple[dict[str, int], dict[str, Any]]:
    """Keep the whole numbers that a function works with, to read sizes such as ``h * d``."""
    local = {name: value for name, value in frame.f_locals.items() if type(value) is int}
    return local, frame.f_globals


def _held(frame: types.FrameType | None, call: Call) -> dict[str, Any]:
    """Keep the variables at the failing line: once the error has left it, Python 3.12 and newer
    have forgotten those of a comprehension.
    """
    code = call.chain[0][0] if call.chain else None
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)


def _tensors(out: Any) -> list[Tensor]:
    if isinstance(out, Tensor):
        return [out]
    if isinstance(out, tuple | list):
        return [tensor for item in out for tensor in _tensors(item)]
    return []


def _kind(op: str, state: State, inputs: list[State]) -> str:
    """Say what an operation made: a new tensor, a copy, another view, or the same object again."""
    for given in inputs:
        if given.identity is state.identity:
            return "same" if given is state else "in-place"
    if state.storage is not None and any(given.storage == state.storage for given in inputs):
        return "view"
    return "copy" if op in _COPIED else "new"
