"""The stages of attention, one file each, in the book's order."""

from .heads import merge_heads, split_heads
from .masking import causal_mask, mask_scores
from .projections import project
from .scaling import scale_scores
from .scores import attention_scores
from .softmax import attention_weights, weighted_sum

__all__ = [
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "mask_scores",
    "merge_heads",
    "project",
    "scale_scores",
    "split_heads",
    "weighted_sum",
]
