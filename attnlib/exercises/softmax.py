"""Chapter 5: scores become weights, and weights mix the values."""

from __future__ import annotations

import math
import random

import torch

from .. import oracle
from . import faults
from .form import Exercise, Inputs


def spec_weights(scores):
    """Return each row exponentiated and divided by its sum, zeros for a row of -inf."""
    return [oracle.attention_weights(sequence) for sequence in scores]


def weights(scores):
    """scores (batch, Sq, Sk) -> (batch, Sq, Sk), each row summing to 1."""
    exps = (scores - scores.amax(-1, keepdim=True)).exp()
    return exps / exps.sum(-1, keepdim=True)


def safe_weights(scores):
    """scores (batch, Sq, Sk), some rows -inf throughout -> (batch, Sq, Sk), such rows zeros."""
    sees_nothing = (scores == float("-inf")).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(sees_nothing, 0.0), -1)
    return weights.masked_fill(sees_nothing, 0.0)


def spec_sum(weights, v):
    """Return `output[b][i][d] = sum over j of weights[b][i][j] * v[b][j][d]`."""
    return [oracle.weighted_sum(*pair) for pair in zip(weights, v, strict=True)]


def weighted_sum(weights, v):
    """weights (batch, Sq, Sk), v (batch, Sk, H) -> (batch, Sq, H)."""
    return weights @ v


def _wide(inputs: Inputs, chance: random.Random) -> None:
    inputs["scores"] *= 2


def _some_rows_see_nothing(inputs: Inputs, chance: random.Random) -> None:
    scores = inputs["scores"]
    batch, Sq, Sk = scores.shape
    for b in range(batch):
        scores[b, b % Sq] = -torch.inf
        scores[b, (b + 1) % Sq, chance.randrange(1, Sk)] = -torch.inf


def _as_weights(inputs: Inputs, chance: random.Random) -> None:
    inputs["weights"] = inputs["weights"].softmax(-1)


COMMON = frozenset({"writes-into-argument", "batch-mixed", "fixed-device"})
BEFORE = (faults.scaled_too("scores", "Sk", "Sq"), faults.masked_too("scores"))

EXERCISES = (
    Exercise(
        id="weights",
        chapter=5,
        statement="Turn each row of scores into weights: never negative, and 1 in sum. (Rows that "
        "are -inf throughout come in the next exercise.)",
        allowed="Anything but attnlib; try it without torch.softmax.",
        dims={"scores": "batch Sq Sk"},
        returns="batch Sq Sk",
        spec=spec_weights,
        solution=weights,
        hints=(
            "Which dim must sum to 1? A query shares itself out among the keys.",
            "Exponentiate, then divide by the sum over that dim; keepdim keeps it in place.",
            "Take the row's maximum away first: the result stays, and exp cannot overflow.",
        ),
        notice="Softmax over the queries gives the same shape; only the sums tell.",
        slots=(*BEFORE, faults.weigh(3), faults.masked_too("weights", 0.0)),
        dress=_wide,
        extras=COMMON | {"softmax-epsilon"},
    ),
    Exercise(
        id="safe-weights",
        chapter=5,
        statement="The same, but a query that may attend to nothing gets zeros, and its gradients "
        "stay finite.",
        allowed="Anything but attnlib.",
        dims={"scores": "batch Sq Sk"},
        returns="batch Sq Sk",
        spec=spec_weights,
        solution=safe_weights,
        hints=(
            "What does a row of -inf give, and where does the NaN come from?",
            "A NaN replaced afterwards still spoils the gradient of its row: 0 times NaN is NaN.",
            "Put harmless numbers into such rows before the softmax, zeros after it.",
        ),
        notice="nan_to_num, which puts 0 for NaN, repairs the weights, not the gradient of a -inf.",
        slots=(*BEFORE, faults.weigh(3, safe=True), faults.masked_too("weights", 0.0)),
        dress=_some_rows_see_nothing,
        extras=COMMON | {"softmax-epsilon", "zero-times-infinity"},
    ),
    Exercise(
        id="weighted-sum",
        chapter=5,
        statement="Mix the values of each sequence by its weights.",
        allowed="Anything but attnlib.",
        dims={"weights": "batch Sq Sk", "v": "batch Sk H"},
        returns="batch Sq H",
        spec=spec_sum,
        solution=weighted_sum,
        hints=(
            "Which dim disappears? The keys: each output row is a mix over them.",
            "It is the last dim of the weights and the last but one of v already.",
        ),
        notice="No transpose here: the keys already meet.",
        slots=(
            faults.scaled_too("weights", "H", "Sk", "Sq"),
            faults.masked_too("weights", 0.0, -math.inf), faults.again(), faults.mix(),
        ),
        dress=_as_weights,
        extras=COMMON,
    ),
)  # fmt: skip
