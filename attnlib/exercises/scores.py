"""Chapter 2: every query meets every key."""

from __future__ import annotations

from .. import oracle
from . import faults
from .form import Exercise


def spec(q, k):
    """Return `scores[b][i][j] = sum over d of q[b][i][d] * k[b][j][d]`."""
    return [oracle.attention_scores(*pair) for pair in zip(q, k, strict=True)]


def scores(q, k):
    """q (batch, Sq, H), k (batch, Sk, H) -> (batch, Sq, Sk), not scaled."""
    return q @ k.transpose(-2, -1)


EXERCISES = (
    Exercise(
        id="scores",
        chapter=2,
        statement="Compare every query with every key of its sequence; do not scale.",
        allowed="Anything but attnlib and F.scaled_dot_product_attention.",
        dims={"q": "batch Sq H", "k": "batch Sk H"},
        returns="batch Sq Sk",
        spec=spec,
        solution=scores,
        hints=(
            "One score is a dot product: which dim disappears in it?",
            "matmul sums the last dim of the first with the last but one of the second.",
            "So k must be (batch, H, Sk): swap its last two dims, and only these.",
        ),
        notice="Make S and H the same and q @ k runs; nothing tells you that it is wrong.",
        slots=(
            faults.meet(3), faults.scaled_too("scores", "H", "Sk", "Sq"),
            faults.masked_too("scores"), faults.weighed_too("scores"),
        ),
        extras=frozenset({"writes-into-argument", "batch-mixed", "fixed-device"}),
    ),
)  # fmt: skip
