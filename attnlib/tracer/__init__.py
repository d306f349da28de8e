"""The tracer: any PyTorch code, one ordinary run, every dimension by its name."""

from .report import Trace
from .rows import Step
from .run import trace, tracing

__all__ = ["Step", "Trace", "trace", "tracing"]
