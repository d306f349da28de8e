"""Run a learner's function and survive it: endless loops, prints, exits, edits, global state."""

from __future__ import annotations

import contextlib
import dis
import inspect
import io
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from .form import Inputs, copy

SECONDS = 4.4  # for all calls of one check together
_EMPTY = {
    "RESUME",
    "NOP",
    "LOAD_CONST",
    "RETURN_VALUE",
    "RETURN_CONST",
    "POP_TOP",
    "COPY_FREE_VARS",
}


class TimeUp(BaseException):
    """Stop a function that does not come back; no `except Exception` of a learner catches it."""


@dataclass
class Outcome:
    """What one call gave: a value or an error, and which arguments it changed."""

    value: Any = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()

    @property
    def tensor(self) -> Tensor | None:
        """The value where it is a tensor."""
        return self.value if isinstance(self.value, Tensor) else None


@dataclass
class Runner:
    """Call one function again and again within one allowance of time, and keep what it prints."""

    function: Callable
    left: int | float = field(default_factory=lambda: SECONDS)
    printed: io.StringIO = field(default_factory=io.StringIO)

    def call(self, inputs: Inputs, keep_graph: bool = False) -> Outcome:
        """Call with copies of the inputs, by position."""
        given = inputs if keep_graph else copy(inputs)
        before = None if keep_graph else copy(inputs)
        outcome = Outcome()
        try:
            outcome.value = self.run(lambda: self.function(*given.values()))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome.error = error
        if before is not None:
            outcome.changed = tuple(n for n in before if not _same(before[n], given[n]))
        return outcome

    def run(self, action: Callable[[], Any]) -> Any:
        """Run an action under the timer, its prints kept, its warnings silent."""
        began = time.perf_counter()
        streams = contextlib.redirect_stdout(self.printed), contextlib.redirect_stderr(self.printed)
        try:
            with streams[0], streams[1], warnings.catch_warnings(), _alarm(max(self.left, 0.05)):
                warnings.simplefilter("ignore")
                return action()
        finally:
            self.left -= time.perf_counter() - began


def can_time() -> bool:
    """Whether a timer is possible here: the main thread of a system that has one."""
    main = threading.current_thread() is threading.main_thread()
    return main and hasattr(signal, "setitimer")


@contextlib.contextmanager
def _alarm(seconds: int | float) -> Iterator[None]:
    """Raise TimeUp after so many seconds, and again if it is swallowed; restore other timers."""
    if not can_time():
        yield
        return

    def ring(_: int, frame: FrameType | None) -> None:
        # Raised on the way out of this context, it would leave the timer running for ever.
        code = frame.f_code if frame else None
        if code and (code.co_filename == contextlib.__file__ or code is ours):
            return  # the timer rings again
        while frame is not None:  # half an import would break that module for the whole session
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return  # the timer rings again
            frame = frame.f_back
        raise TimeUp(f"did not come back within {SECONDS:g} seconds")

    ours = inspect.currentframe().f_code
    handler = signal.signal(signal.SIGALRM, ring)
    began = time.monotonic()
    waiting, again = signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if waiting:
            rest = max(waiting - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, rest, again)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Put back the state of torch and of random that a learner may have changed."""
    dtype, grad, device = (
        torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device()
    )  # fmt: skip
    python = random.getstate()
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(grad)
            if torch.get_default_device() != device:
                torch.set_default_device(device)
            random.setstate(python)


def untouched(function: Callable) -> bool:
    """Whether a function has no body: a docstring, `pass`, `...`, or a return of one of them."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return False
    steps = list(dis.get_instructions(code))
    values = [s.argval for s in steps if s.opname in {"LOAD_CONST", "RETURN_CONST"}]
    return all(s.opname in _EMPTY for s in steps) and all(v is None or v is ... for v in values)


def _same(a: Any, b: Any) -> bool:
    if not isinstance(a, Tensor):
        return a == b
    alike = isinstance(b, Tensor) and a.shape == b.shape and a.dtype == b.dtype
    return alike and torch.equal(a.nan_to_num(7.0), b.detach().nan_to_num(7.0))
