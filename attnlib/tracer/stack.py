"""Where an operation happens, read off the frames that stand on the stack anyway.

Nothing is hooked: the line, the module, the stage and the library call around an operation are all
there to see, from the operation up to the code that traces.
"""

from __future__ import annotations

import os
import types
from typing import Any

import torch

from .frames import HERE, LIBRARY, STAGE, kind_of
from .notes import Call, StageCall
from .states import States

_RECORDER = os.path.join(HERE, "recorder.py")
_METHODS = torch._tensor.__file__
_CALL = torch.nn.Module._wrapped_call_impl.__code__
_FILLING = {"reset_parameters", "_reset_parameters"}


class Stack:
    """Read the stack for each operation; remember which stages and library calls are running."""

    def __init__(self, states: States) -> None:
        self.base: types.CodeType | None = None  # where to stop walking: the code that traces
        self._states = states
        self._open: list[tuple[types.FrameType, StageCall]] = []  # stages that are running
        self._entered: types.FrameType | None = None  # the library call that is running
        self._number = 0

    def clear(self) -> None:
        self._open, self._entered = [], None

    def locate(self, call: Call, frame, called: types.CodeType | None) -> None:
        """Read line, module and stage of an operation off the stack, up to the code that traces."""
        chain: list[tuple[types.CodeType, int]] = []
        stages: list[tuple[Any, int]] = []
        module = below = entered = None
        call.hidden = False  # a layer that fills its own new weights is no step of the reader's
        while frame is not None:
            code = frame.f_code
            if code.co_filename == _RECORDER:  # a trace inside this one
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
            arguments = {name: self._states.freeze(local.get(name), []) for name in names}
            opened.append((frame, StageCall(code.co_name, arguments, chain[place + 1 :], module)))
        self._open = opened
        return tuple(stage for _, stage in opened)
