"""Lab 01: a token's row through a weight, with tokens in another order or one of them changed."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...stages import project
from .form import Lab, Table, numbers

# Without numbers of a caller's own: those that the chapter does by hand, and two more tokens.
X = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [2.0, -1.0, 0.5]])
WEIGHTS = {
    "query": torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]),
    "key": torch.tensor([[0.0, 1.0, 1.0], [1.0, -1.0, 0.0]]),
    "value": torch.tensor([[2.0, 0.0, -1.0], [1.0, 1.0, 1.0]]),
}


def build(
    x: Tensor = X,
    weights: dict[str, Tensor] = WEIGHTS,
    tokens: Sequence[str] | None = None,
) -> Lab:
    """Lay out one sequence and the weights it may go through.

    Shapes: x (S, n_embd); each weight (H, n_embd). tokens has one word for each row of x.
    """
    words = list(tokens) if tokens is not None else [f"token {s}" for s in range(len(x))]
    data = {
        "x": numbers(x.tolist()),
        "weights": {name: numbers(weight.tolist()) for name, weight in weights.items()},
        "tokens": words,
    }
    tables = [
        Table(
            f"the {name} of each token: its row of x through the weight",
            ("token", *(f"feature {h}" for h in range(weight.shape[0]))),
            [(word, *row) for word, row in zip(words, project(x, weight).tolist(), strict=True)],
        )
        for name, weight in weights.items()
    ]
    question = "which numbers of a query does a token decide, and which does its place decide?"
    return Lab("projections", "One token through a weight", question, data, tables)
