"""Lab 05: one row of scores on its way to weights, and what the weights make of the values."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .form import Lab, Table, numbers

# Without numbers of a caller's own: those that the chapter does by hand.
SCORES = torch.tensor([0.9, 0.1, 0.5])
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
EDGE = (88.0, 89.0)  # e to the first is a float32, to the second it is too large for one


def build(
    scores: Tensor = SCORES, values: Tensor = VALUES, tokens: Sequence[str] | None = None
) -> Lab:
    """Lay out one row of scores, and a value for each.

    Shapes: scores (S,); values (S, H). tokens has one word for each score.
    """
    words = list(tokens) if tokens is not None else [f"token {j}" for j in range(len(scores))]
    weights = torch.softmax(scores, dim=-1)
    data = {
        "scores": [round(score, 2) for score in scores.tolist()],
        "values": numbers(values.tolist()),
        "tokens": words,
        "edge": EDGE,
        "recorded": numbers(torch.tensor(EDGE).exp().tolist()),
    }
    rows = zip(words, scores.tolist(), weights.tolist(), values.tolist(), strict=True)
    table = Table(
        "one row of scores, its weights, and the values that they mix",
        ("token", "score", "weight", *(f"value {h}" for h in range(values.shape[-1]))),
        [(word, score, weight, *value) for word, score, weight, value in rows],
    )
    question = "what is each step of a softmax for, and what can the mix never be?"
    return Lab("softmax", "From scores to a mix", question, data, [table])
