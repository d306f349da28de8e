"""Chapter 6: one head, complete."""

from __future__ import annotations

import random

import torch

from .. import oracle
from . import faults
from .form import Exercise, Inputs


def spec(x, wq, wk, wv):
    """Return each sequence's head: project, score, scale, mask, weigh, mix."""
    return [oracle.head(s, wq, wk, wv, oracle.causal_mask(len(s))) for s in x]


def head(x, wq, wk, wv):
    """x (batch, S, n_embd), wq, wk and wv (H, n_embd) -> (batch, S, H), causal."""
    q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    may_attend = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
    weights = scores.masked_fill(~may_attend, float("-inf")).softmax(-1)
    return weights @ v


def _even(inputs: Inputs, chance: random.Random) -> None:
    """Scale the weights as layers are, so that softmax is not one-hot."""
    for name in ("wq", "wk", "wv"):
        inputs[name] *= inputs[name].shape[-1] ** -0.5


EXERCISES = (
    Exercise(
        id="head",
        chapter=6,
        statement="Write one causal head: project, score, scale, mask, softmax, mix the values. "
        "A mask that you make belongs on the device of x.",
        allowed="Anything but attnlib's modules.",
        dims={
            "x": "batch S n_embd", "wq": "H n_embd", "wk": "H n_embd", "wv": "H n_embd",
        },
        returns="batch S H",
        spec=spec,
        solution=head,
        hints=(
            "Three projections first; each weight is (H, n_embd).",
            "The scores are (batch, S, S); scale them by the root of H, not of n_embd.",
            "Mask the scores before the softmax; make the mask on x.device.",
        ),
        dress=_even,
        notice="Change the last token: no output before it may move.",
        slots=(
            faults.project_three(), faults.meet(3), faults.scale("n_embd", "S", "batch"),
            faults.hide_future(), faults.weigh(3), faults.mix("k", "q", "x"),
        ),
        extras=frozenset(
            {
                *("writes-into-argument", "batch-mixed", "fixed-device"),
                *("nan-row", "zero-times-infinity"),
            }
        ),
    ),
)  # fmt: skip
