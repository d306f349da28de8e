"""Attention, shape by shape: the small library behind the book."""

__version__ = "0.1.0"

from . import dims, examples
from .errors import AttnError, DeviceError, DtypeError, MaskError, ShapeError, TraceError
from .modules import MultiHeadAttention, SelfAttention, SingleHeadAttention
from .pipeline import Attended, attention
from .stages import (
    attention_scores,
    attention_weights,
    causal_mask,
    mask_scores,
    merge_heads,
    project,
    scale_scores,
    split_heads,
    weighted_sum,
)
from .tracer import Step, Trace, trace, tracing
from .weights import (
    Parity,
    from_fused,
    from_torch,
    load_qkv,
    parity,
    stack,
    to_torch,
    unstack,
)

__all__ = [
    "Attended",
    "AttnError",
    "DeviceError",
    "DtypeError",
    "MaskError",
    "MultiHeadAttention",
    "Parity",
    "SelfAttention",
    "ShapeError",
    "SingleHeadAttention",
    "Step",
    "Trace",
    "TraceError",
    "attention",
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "dims",
    "examples",
    "from_fused",
    "from_torch",
    "load_qkv",
    "mask_scores",
    "merge_heads",
    "parity",
    "project",
    "scale_scores",
    "split_heads",
    "stack",
    "to_torch",
    "trace",
    "tracing",
    "unstack",
    "weighted_sum",
]
