"""The variables around loose lines: what a tensor is called that a layer is the first to meet.

``q = wq(x)`` hands ``x`` on to lines of torch, where it is called ``input``; its name stands in the
frame of the ``with`` alone.
"""

from __future__ import annotations

import types
from collections.abc import Collection

from torch import Tensor


class Variables:
    """Name tensors after the variables of a running frame; those that were asked for come first."""

    def __init__(self, frame: types.FrameType, wanted: Collection[str]) -> None:
        self._frame: types.FrameType | None = frame
        self._wanted = wanted

    def name(self, tensor: Tensor) -> str | None:
        """Return a variable that holds this very tensor now."""
        frame = self._frame
        if frame is None:
            return None
        local, around = frame.f_locals, frame.f_globals
        for name in self._wanted:
            if local.get(name, around.get(name)) is tensor:
                return name
        held = (name for name, value in local.items() if value is tensor)
        return next((name for name in held if not name.startswith("_")), None)

    def release(self) -> None:
        """Let go of the frame: it holds all that its lines made."""
        self._frame = None
