"""Chapter 3: the same spread of scores for every head size."""

from __future__ import annotations

from .. import oracle
from . import faults
from .form import Exercise


def spec(scores, head_size):
    """Return `scores[b][i][j] / sqrt(head_size)`."""
    return [oracle.scale_scores(sequence, head_size) for sequence in scores]


def scale(scores, head_size):
    """scores (batch, Sq, Sk), head_size a number -> (batch, Sq, Sk)."""
    return scores / head_size**0.5


EXERCISES = (
    Exercise(
        id="scale",
        chapter=3,
        statement="Scale the scores so that their spread does not grow with the head size.",
        allowed="Anything but attnlib.",
        dims={"scores": "batch Sq Sk", "head_size": "size H"},
        returns="batch Sq Sk",
        spec=spec,
        solution=scale,
        hints=(
            "A sum of H products of unit variance has variance H. What is its spread?",
            "The spread is the root of the variance: divide by it.",
        ),
        notice="The root is of H, whatever the number of tokens or of features.",
        slots=(
            faults.scale("batch", "Sq", "Sk", later=False, given=True), faults.masked_too("scores"),
            faults.weighed_too("scores"),
        ),
        extras=frozenset({"writes-into-argument", "batch-mixed", "fixed-device"}),
    ),
)  # fmt: skip
