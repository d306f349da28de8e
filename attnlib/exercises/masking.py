"""Chapter 4: who may attend to whom."""

from __future__ import annotations

import random

import torch

from .. import oracle
from . import faults
from .form import Exercise, Inputs

FAR_BELOW = -1e30  # a score that a fill of -1e9 does not reach


def spec_causal(Sq, Sk, device):
    """Return `mask[i][j] = (j <= Sk - Sq + i)`; the device does not change the values."""
    return oracle.causal_mask(Sq, Sk)


def causal_mask(Sq, Sk, device):
    """Sq and Sk numbers, Sq <= Sk -> bool (Sq, Sk), True = may attend, on that device."""
    return torch.ones(Sq, Sk, dtype=torch.bool, device=device).tril(Sk - Sq)


def spec_mask(scores, may_attend):
    """Return the score where the query may attend, and -inf where it may not."""
    return [oracle.mask_scores(sequence, may_attend) for sequence in scores]


def mask_scores(scores, may_attend):
    """scores (batch, Sq, Sk), may_attend bool (Sq, Sk), True = may -> (batch, Sq, Sk)."""
    return scores.masked_fill(~may_attend, float("-inf"))


def _low_scores(inputs: Inputs, chance: random.Random) -> None:
    """Draw some scores down, one that is kept among them: only a lower fill hides the rest."""
    scores, may = inputs["scores"], inputs["may_attend"]
    may[0, -1] = False
    low = torch.rand(scores.shape, generator=torch.Generator().manual_seed(chance.randrange(99)))
    scores[low < 0.1] = FAR_BELOW
    scores[:, 0, 0] = FAR_BELOW


EXERCISES = (
    Exercise(
        id="causal-mask",
        chapter=4,
        statement="Say which query may see which key. The last query is the newest token and sees "
        "every key; each query before it sees one key less.",
        allowed="Anything but attnlib.",
        dims={"Sq": "size Sq", "Sk": "size Sk", "device": "device"},
        returns="bool Sq Sk",
        spec=spec_causal,
        solution=causal_mask,
        hints=(
            "Write down the row of the last query first: it is True throughout.",
            "Each row before it ends one key earlier: query i sees the keys up to Sk - Sq + i.",
            "tril takes the last diagonal that it keeps: 0 is the main one, 1 the next above.",
        ),
        notice="Where Sq is Sk, counting from the first key or from the last gives the same.",
        slots=(faults.causal(),),
        extras=frozenset({"fixed-device"}),
    ),
    Exercise(
        id="mask-scores",
        chapter=4,
        statement="Hide scores: where a query may not attend, put the value that leaves no weight.",
        allowed="Anything but attnlib.",
        dims={"scores": "batch Sq Sk", "may_attend": "bool Sq Sk"},
        returns="batch Sq Sk",
        spec=spec_mask,
        solution=mask_scores,
        hints=(
            "exp of which number is 0?",
            "masked_fill writes where its mask is True; ours is True where the score stays.",
        ),
        notice="A finite fill hides a score only while it lies far below every other one.",
        slots=(
            faults.scaled_too("scores", "Sk", "Sq"), faults.narrowed_too("may_attend"),
            faults.hide(), faults.weighed_too("scores"),
        ),
        dress=_low_scores,
        extras=frozenset(
            {"writes-into-argument", "batch-mixed", "fixed-device", "zero-times-infinity"}
        ),
    ),
)  # fmt: skip
