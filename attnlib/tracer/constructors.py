"""What the reader's modules say about dims: their attributes, and the layers they construct.

During a run every whole-number attribute of a module is a tagged int (``self.head_size`` carries
its name into ``view``); afterwards each is a plain int again, of its value at that time.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any

import torch
from torch import nn

from .recorder import LIBRARY, Recorder, kind_of
from .rows import Any as _Any  # noqa: F401
from .source import PACKAGE
from .symbols import Dim


class Adopted:
    """The modules that a run belongs to, tagged while it lasts."""

    def __init__(self, recorder: Recorder, source: Any) -> None:
        self.names: dict[nn.Module, str] = {}

    def __enter__(self) -> Adopted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def plain(self, output: Any) -> Any:
        return output
