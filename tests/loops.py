"""Run the oracle, which knows one sequence at a time, over all sequences of a batch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def by_loops(function: Callable, *arguments: Tensor | int, keep: int = 2) -> Tensor:
    """Apply a function of the oracle to each sequence, the last `keep` axes of a tensor."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    batch = tensors[0].shape[:-keep]
    if not batch:
        lists = [a.tolist() if isinstance(a, Tensor) else a for a in arguments]
        return torch.tensor(function(*lists), dtype=torch.float64)
    rows = range(batch[0])
    parts = [
        by_loops(function, *(a[i] if isinstance(a, Tensor) else a for a in arguments), keep=keep)
        for i in rows
    ]
    return torch.stack(parts)
