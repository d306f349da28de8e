"""Whose code a frame runs: the reader's, a library's, or a stage of the book."""

from __future__ import annotations

import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
STAGES = os.path.join(PACKAGE, "stages") + os.sep
PIPELINE = os.path.join(PACKAGE, "pipeline.py")
CHECKS = os.path.join(PACKAGE, "dims.py")  # argument checks read shapes but name nothing
READER, LIBRARY, STAGE = "reader", "library", "stage"
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_STARTS = (_TORCH, HERE + os.sep, "<frozen", "<@beartype", "<__array_function__")
_PARTS = tuple(f"{os.sep}{name}{os.sep}" for name in ("einops", "jaxtyping", "beartype"))
_KINDS: dict[str, str] = {}


def kind_of(filename: str) -> str:
    """Say whose code a file holds: the reader's, a library's, or a stage's."""
    kind = _KINDS.get(filename)
    if kind is None:
        kind = _KINDS[filename] = _kind(filename)
    return kind


def _kind(filename: str) -> str:
    if filename.startswith(_STARTS) or filename == CHECKS:
        return LIBRARY
    if any(part in filename for part in _PARTS):
        return LIBRARY
    if filename.startswith(_STANDARD) and "site-packages" not in filename:
        return LIBRARY
    return STAGE if filename.startswith(STAGES) or filename == PIPELINE else READER
