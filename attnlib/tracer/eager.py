"""Compiled code runs as it is written while it is traced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch

_lock = threading.Lock()


@contextmanager
def eagerly() -> Iterator[None]:
    """Run compiled code eagerly; where none is yet, spare the import of the compiler.

    The code may be the first to compile something: then the compiler comes in at that moment.
    """
    with ExitStack() as stack:
        if "torch._dynamo" in sys.modules:
            stack.enter_context(_stance())
        else:
            stack.callback(_watch(stack))
        yield


def _stance():  # its class is a private one of torch
    return torch.compiler.set_stance("force_eager")


def _watch(stack: ExitStack) -> Callable[[], None]:
    """Put a door before ``torch.compile`` that is taken away at the end; return how."""
    original, thread = torch.compile, threading.get_ident()
    entered = False

    def compile(*args, **kwargs):
        nonlocal entered
        compiled = original(*args, **kwargs)
        if threading.get_ident() == thread and not entered:
            entered = True
            stack.enter_context(_stance())
        return compiled

    with _lock:
        torch.compile = compile

    def restore() -> None:
        with _lock:
            if torch.compile is compile:
                torch.compile = original

    return restore
