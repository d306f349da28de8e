"""``deep=True``: look inside library functions that torch would show as one operation.

``F.multi_head_attention_forward`` asks ``has_torch_function`` whether somebody overrides it; while
it is opened the answer is no, so it runs as it is written and its operations come by one by one.
The question is answered so only to the thread that traces, and only to these functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch.nn.functional as F

from .recorder import OPENED

_NAMES = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
_here: ContextVar[int] = ContextVar("attnlib_opened", default=0)
_lock = threading.Lock()
_users = 0
_originals: dict[str, object] = {}


@contextmanager
def opened() -> Iterator[None]:
    """Open the library functions for the code inside, in this thread."""
    _enter()
    token = _here.set(_here.get() + 1)
    try:
        yield
    finally:
        _here.reset(token)
        _leave()


def _enter() -> None:
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            for name in _NAMES:
                _originals[name] = getattr(F, name)
                setattr(F, name, _answering(_originals[name]))


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            for name in _NAMES:
                setattr(F, name, _originals.pop(name))


def _answering(original):
    def answer(*args):
        if _here.get() and sys._getframe(1).f_code.co_name in OPENED:
            return False
        return original(*args)

    return answer
