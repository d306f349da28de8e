"""A whole module of attention made of the exercises' own solutions, one of them replaced."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from . import exercises

N_EMBD, HEADS, KEY_HEADS = 24, 4, 2


class Assembled(nn.Module):
    """Run one function in the place of its exercise; every other stage is the solution.

    The stages of one sequence get batch and heads as one axis, as their exercises are written.
    """

    def __init__(self, id: str, function: Callable) -> None:
        super().__init__()
        self.id, self.n_embd, self.n_heads = id, N_EMBD, HEADS
        self.causal = id not in {"padding-mask", "grouped-query"}
        keys = N_EMBD * KEY_HEADS // HEADS if id == "grouped-query" else N_EMBD
        self.query, self.key, self.value, self.out = (
            nn.Linear(N_EMBD, width, bias=False) for width in (N_EMBD, keys, keys, N_EMBD)
        )
        self.do = {exercise.id: exercise.solution for exercise in exercises()} | {id: function}

    def forward(self, x: Tensor) -> Tensor:
        """Compute (batch, S, n_embd), by the whole function or by its stages."""
        *weights, out = (part.weight for part in (self.query, self.key, self.value, self.out))
        if self.id == "multi-head":
            return self.do["multi-head"](x, *weights, out, HEADS)
        if self.id == "head":
            each = zip(*(weight.chunk(HEADS) for weight in weights), strict=True)
            heads = [self.do["head"](x, *three) for three in each]
            return self.do["project"](torch.cat(heads, -1), out)
        return self._by_stages(x, *weights, out)

    def _by_stages(self, x: Tensor, *weights: Tensor, real: Tensor | None = None) -> Tensor:
        do = self.do
        q, k, v = (
            do["split-heads"](do["project"](x, weight), len(weight) * HEADS // N_EMBD)
            for weight in weights[:3]
        )
        if self.id in {"cached-step", "grouped-query"}:
            mixed = do[self.id](q, k, v)
        elif self.id == "padding-mask":
            lengths = torch.full(x.shape[:1], x.shape[1]) if real is None else real.sum(-1)
            mixed = self._mixed(q, k, v, do["padding-mask"](lengths.to(x.device), x.shape[1]))
        else:
            may_attend = do["causal-mask"](x.shape[1], x.shape[1], x.device)
            q, k, v = (part.flatten(0, 1) for part in (q, k, v))
            mixed = self._mixed(q, k, v, may_attend).unflatten(0, (-1, HEADS))
        return do["project"](do["merge-heads"](mixed), weights[3])

    def _mixed(self, q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor) -> Tensor:
        do = self.do
        scores = do["scale"](do["scores"](q, k), q.shape[-1])
        weigh = do["safe-weights" if self.id == "safe-weights" else "weights"]
        return do["weighted-sum"](weigh(do["mask-scores"](scores, may_attend)), v)


class Padded(Assembled):
    """The same with a mask of the real tokens, for the exercise that makes one of lengths."""

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute (batch, S, n_embd); the mask is (batch, S), 1 = a real token."""
        parts = (self.query, self.key, self.value, self.out)
        return self._by_stages(x, *(part.weight for part in parts), real=attention_mask)


def assembled(id: str, function: Callable) -> Assembled:
    """Put a function into the place of its exercise.

    Example:
        >>> from attnlib.exercises import verify
        >>> verify(assembled("scores", lambda q, k: q @ k.mT)).passed
        True
    """
    return (Padded if id == "padding-mask" else Assembled)(id, function)
