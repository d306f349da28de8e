"""Weights carried in from other layouts of the same layer, and out to them."""

from .checkpoints import load_qkv
from .fused import from_fused
from .heads import stack, unstack
from .parity import Parity, parity
from .pytorch import from_torch, to_torch

__all__ = [
    "Parity",
    "from_fused",
    "from_torch",
    "load_qkv",
    "parity",
    "stack",
    "to_torch",
    "unstack",
]
