"""What torch warns of points at the reader's line, as it does where nobody traces.

Torch says who called it, and while code is traced that is the recorder, or torch's own way to it.
How warnings are shown is one for the whole process: of traces that overlap the first steps in, and
the last out.
"""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

from torch.overrides import __file__ as ON_THE_WAY

from .frames import LIBRARY, kind_of
from .recorder import __file__ as RECORDER

_NOBODYS = (RECORDER, ON_THE_WAY)
_lock = threading.Lock()
_users = 0
_shown: Callable = warnings.showwarning  # what shows warnings, while ours stands before it


class Pointing:
    """Let warnings that point at the recorder point at the line that is recorded."""

    def __enter__(self) -> None:
        global _users, _shown
        with _lock:
            _users += 1
            if _users == 1:
                _shown, warnings.showwarning = warnings.showwarning, _show

    def __exit__(self, *_: object) -> None:
        global _users
        with _lock:
            _users -= 1
            if _users == 0 and warnings.showwarning is _show:
                warnings.showwarning = _shown


def _show(
    message: Any, category: type[Warning], filename: str, lineno: int, file=None, line=None
) -> None:
    frame: types.FrameType | None = sys._getframe(1)
    while filename in _NOBODYS and frame is not None:
        name = frame.f_code.co_filename
        if name != warnings.__file__ and kind_of(name) is not LIBRARY:
            filename, lineno = name, frame.f_lineno
        frame = frame.f_back
    _shown(message, category, filename, lineno, file, line)
