"""The running example of the book: six tokens and their numbers, few enough to do by hand."""

import torch
from torch import Tensor

TOKENS = ["the", "bank", "by", "the", "river", "flooded"]

_TABLE = {
    "the": [0.1, -0.4, 0.2, 0.3, -0.1, 0.5, -0.2, 0.1],
    "bank": [1.2, 0.3, -0.7, 0.9, 0.4, -1.1, 0.6, 0.8],
    "by": [-0.3, 0.8, 0.5, -0.6, 1.1, 0.2, -0.9, 0.4],
    "river": [1.5, -0.9, 0.6, 1.3, -0.5, 0.7, 1.0, -1.2],
    "flooded": [-1.1, 0.6, 1.4, 0.2, -0.8, 1.3, -0.4, 0.9],
}


def embeddings(n_embd: int = 8) -> Tensor:
    """Return the six tokens as rows of numbers, equal words as equal rows.

    Shapes: -> (S 6, n_embd), the first n_embd of 8 columns.

    Example:
        >>> embeddings(3)[1]
        tensor([ 1.2000,  0.3000, -0.7000])
        >>> bool((embeddings()[0] == embeddings()[3]).all())
        True
    """
    if n_embd not in range(1, 9):
        raise ValueError(f"embeddings: n_embd is {n_embd!r} but the table has 1 to 8 columns")
    return torch.tensor([_TABLE[token][:n_embd] for token in TOKENS])


def sequences() -> Tensor:
    """Return the six tokens as two sequences of three: the batch that the book draws cell by cell.

    Shapes: -> (batch 2, S 3, n_embd 5).

    Example:
        >>> sequences().shape
        torch.Size([2, 3, 5])
    """
    return embeddings(5).reshape(2, 3, 5)


def head_weights() -> tuple[Tensor, Tensor, Tensor]:
    """Return the query, key and value weights of one head, in PyTorch's layout (out, in).

    Shapes: -> three of (H 4, n_embd 5).

    Example:
        >>> [tuple(weight.shape) for weight in head_weights()]
        [(4, 5), (4, 5), (4, 5)]
    """
    query = [
        [0.9, -0.2, 0.4, 0.7, -0.3],
        [-0.5, 1.1, 0.3, -0.4, 0.8],
        [0.2, 0.6, -0.9, 1.0, 0.1],
        [0.7, -0.8, 0.5, 0.3, 1.2],
    ]
    key = [
        [1.1, 0.3, -0.6, 0.8, 0.2],
        [-0.4, 0.9, 0.7, -0.2, 1.0],
        [0.5, -0.7, 1.2, 0.4, -0.9],
        [0.3, 0.8, -0.1, -1.1, 0.6],
    ]
    value = [
        [0.6, 0.1, -0.4, 0.2, 0.9],
        [-0.2, 0.7, 0.5, -0.8, 0.3],
        [1.0, -0.5, 0.2, 0.6, -0.1],
        [0.4, 0.3, 0.8, -0.3, -0.7],
    ]
    return torch.tensor(query), torch.tensor(key), torch.tensor(value)
