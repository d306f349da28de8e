"""Compiled code runs as it is written while it is traced.

What torch runs compiled code as (its stance), and ``torch.compile`` itself, are one for the whole
process: of traces that overlap in several threads the first sets them, the last puts them back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

_lock = threading.RLock()
_users = 0
_stance: Any = None  # its class is a private one of torch
_original: Callable | None = None  # torch.compile, while the door stands before it


class Eagerly:
    """Run compiled code eagerly; where none is yet, spare the import of the compiler.

    The code may be the first to compile something: then the compiler comes in at that moment.
    A class, not a generator: that would write into the reader's exception, which may refuse it.
    """

    def __enter__(self) -> None:
        global _users
        with _lock:
            _users += 1
            if "torch._dynamo" in sys.modules:
                _force()
            elif _users == 1:
                _watch()

    def __exit__(self, *_: object) -> None:
        global _users
        with _lock:
            _users -= 1
            if _users == 0:
                _restore()


def _force() -> None:
    global _stance
    if _stance is None:
        _stance = torch.compiler.set_stance("force_eager")
        _stance.__enter__()


def _watch() -> None:
    """Put a door before ``torch.compile`` that is taken away at the end."""
    global _original
    _original = torch.compile
    torch.compile = _compile


def _compile(*args: Any, **kwargs: Any) -> Any:
    original = _original
    if original is None:  # kept under a name of its own, and called when all is over
        return torch.compile(*args, **kwargs)
    compiled = original(*args, **kwargs)
    with _lock:
        if _users:
            _force()
    return compiled


def _restore() -> None:
    global _original, _stance
    if _original is not None and torch.compile is _compile:
        torch.compile = _original
    if _stance is not None:
        _stance.__exit__(None, None, None)
    _original = _stance = None
