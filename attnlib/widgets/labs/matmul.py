"""Lab 02: every query with every key, by each way in which the keys may be turned before."""

import torch
from torch import Tensor

from ...stages import attention_scores
from .form import Lab, Table, numbers

Q = torch.tensor([[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, -1.0, 2.0], [2.0, 1.0, 0.0, 1.0]])
K = torch.tensor([[2.0, 5.0, 1.0, 3.0], [1.0, -2.0, 0.0, 1.0], [-1.0, 0.0, 3.0, 2.0]])


def build(q: Tensor = Q, k: Tensor = K) -> Lab:
    """Lay out queries and keys of one sequence, with what PyTorch says where nothing is turned.

    Shapes: q and k (S, H).
    """
    try:
        q @ k
        refused = None
    except RuntimeError as error:
        refused = str(error)
    data = {"q": numbers(q.tolist()), "k": numbers(k.tolist()), "refused": refused}
    rows = attention_scores(q, k).tolist()
    table = Table(
        "scores: the row asks, the column is asked",
        ("", *(f"key {j}" for j in range(len(k)))),
        [(f"query {i}", *row) for i, row in enumerate(rows)],
    )
    question = "which two rows make a score, and what does the transpose do to the memory of k?"
    return Lab("matmul", "Every query with every key", question, data, [table])
