"""Lab 06: one head from input to output, with numbers of the reader's own."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...modules import SingleHeadAttention
from .form import Lab, Table, numbers

# Without numbers of a caller's own: few enough to be followed, at sizes that all differ.
X = torch.tensor([[1.0, 2.0, 0.0, 1.0], [3.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 2.0]])
WEIGHTS = (
    torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
    torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
    torch.tensor([[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]),
)


def build(
    x: Tensor = X,
    weights: Sequence[Tensor] = WEIGHTS,
    tokens: Sequence[str] | None = None,
) -> Lab:
    """Lay out a sequence and the three weights of a head.

    Shapes: x (S, n_embd); weights three of (H, n_embd), for query, key and value.
    """
    words = list(tokens) if tokens is not None else [f"token {s}" for s in range(len(x))]
    head = SingleHeadAttention(weights[0].shape[1], weights[0].shape[0])
    names = ("query.weight", "key.weight", "value.weight")
    head.load_state_dict(dict(zip(names, weights, strict=True)))
    with torch.no_grad():
        output, shares = head(x, return_weights=True)
    data = {
        "x": numbers(x.tolist()),
        **{f"w_{n}": numbers(w.tolist()) for n, w in zip("qkv", weights, strict=True)},
        "tokens": words,
    }
    features = [f"feature {d}" for d in range(output.shape[-1])]
    tables = [
        Table("weights: who looks at whom", ("", *words), _named(words, shares)),
        Table("output of the head", ("", *features), _named(words, output)),
    ]
    question = "what does each line of a head make of your own numbers?"
    return Lab("head", "One head, your numbers", question, data, tables)


def _named(words: list[str], rows: Tensor) -> list[tuple]:
    """A row of numbers after each word, without the dust that sums leave where they cancel."""
    swept = [[round(value, 6) or 0.0 for value in row] for row in rows.tolist()]
    return [(word, *row) for word, row in zip(words, swept, strict=True)]
