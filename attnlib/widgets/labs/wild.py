"""Lab 08: masks as pictures that a reader paints, from the patterns that are used in the wild."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...stages import attention_weights, causal_mask, mask_scores
from .form import Lab, Table, numbers

S = 6
# Each pattern as one line of PyTorch, with `i` who asks, `j` who is asked, and a number n.
RULES = {
    "causal": "j <= i",
    "padding": "(j < n).expand(S, S)",
    "band": "(j <= i) & (i - j < n)",
    "global": "((i - j).abs() <= 1) | (i < n) | (j < n)",
    "prefix": "(j <= i) | (j < n)",
    "cache": "causal_mask(n, S)",
}
STARTS = {"padding": 4, "band": 3, "global": 1, "prefix": 3, "cache": 2}


def build(scores: Tensor | None = None, tokens: Sequence[str] | None = None) -> Lab:
    """Lay out the scores that the masks fall on.

    Shapes: scores (S 6, S 6), scaled; without any, all are 0 and the weights are shared evenly.
    """
    given = torch.zeros(S, S) if scores is None else scores
    if given.shape != (S, S):
        raise ValueError(f"lab wild: scores are {tuple(given.shape)} but must be ({S}, {S})")
    words = list(tokens) if tokens is not None else [f"token {s}" for s in range(S)]
    data = {"scores": numbers(given.tolist()), "tokens": words, "rules": RULES}
    weights = attention_weights(mask_scores(given, causal_mask(S))).tolist()
    tables = [
        Table(
            "patterns of a mask, i asks and j is asked",
            ("pattern", "in PyTorch", "n here"),
            [(name, rule, STARTS.get(name, "–")) for name, rule in RULES.items()],
        ),
        Table(
            "weights under the causal mask",
            ("", *words),
            [(word, *row) for word, row in zip(words, weights, strict=True)],
        ),
    ]
    question = "which picture do you need, and who then looks at whom?"
    return Lab("wild", "Paint a mask", question, data, tables)
