"""Explanations: why code failed, in the reader's own names."""

from .explained import explained

__all__ = ["explained"]
