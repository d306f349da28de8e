"""Chapter 7: heads side by side."""

from __future__ import annotations

import random

import torch

from .. import oracle
from . import faults
from .form import Exercise, Inputs


def spec_split(x, n_heads):
    """Return `out[b][h][i][d] = x[b][i][h * H + d]`."""
    return [oracle.split_heads(sequence, n_heads) for sequence in x]


def split_heads(x, n_heads):
    """x (batch, S, heads*H), n_heads a number -> (batch, heads, S, H)."""
    batch, S, _ = x.shape
    return x.view(batch, S, n_heads, -1).transpose(1, 2)


def spec_merge(x):
    """Return `out[b][i][h * H + d] = x[b][h][i][d]`."""
    return [oracle.merge_heads(sequence) for sequence in x]


def merge_heads(x):
    """x (batch, heads, S, H) -> (batch, S, heads*H)."""
    batch, _, S, _ = x.shape
    return x.transpose(1, 2).reshape(batch, S, -1)


def spec_multi(x, wq, wk, wv, wo, n_heads):
    """Return all heads of each sequence side by side, mixed by wo."""
    return [oracle.multi_head(s, wq, wk, wv, wo, n_heads, oracle.causal_mask(len(s))) for s in x]


def multi_head(x, wq, wk, wv, wo, n_heads):
    """x (batch, S, n_embd), all weights (n_embd, n_embd), n_heads -> (batch, S, n_embd), causal."""
    batch, S, n_embd = x.shape
    q, k, v = (
        (x @ weight.T).view(batch, S, n_heads, -1).transpose(1, 2) for weight in (wq, wk, wv)
    )
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    may_attend = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()
    weights = scores.masked_fill(~may_attend, float("-inf")).softmax(-1)
    merged = (weights @ v).transpose(1, 2).reshape(batch, S, n_embd)
    return merged @ wo.T


COMMON = frozenset({"writes-into-argument", "batch-mixed", "fixed-device"})


def _even(inputs: Inputs, chance: random.Random) -> None:
    """Scale the weights as layers are, so that softmax is not one-hot."""
    for name in ("wq", "wk", "wv", "wo"):
        inputs[name] *= inputs[name].shape[-1] ** -0.5


EXERCISES = (
    Exercise(
        id="split-heads",
        chapter=7,
        statement="Give head h the features h*H to (h + 1)*H of every token.",
        allowed="Anything but attnlib.",
        dims={"x": "batch S heads*H", "n_heads": "size heads"},
        returns="batch heads S H",
        spec=spec_split,
        solution=split_heads,
        hints=(
            "Follow one token's numbers in memory: they lie side by side, head after head.",
            "A view cuts the last dim into (heads, H); it cannot move anything.",
            "Then swap the dims of S and heads.",
        ),
        notice="A view straight to (batch, heads, S, H) fits, and mixes tokens.",
        slots=(faults.split_one(),),
        extras=COMMON,
    ),
    Exercise(
        id="merge-heads",
        chapter=7,
        statement="Put the heads of each token side by side again.",
        allowed="Anything but attnlib.",
        dims={"x": "batch heads S H"},
        returns="batch S heads*H",
        spec=spec_merge,
        solution=merge_heads,
        hints=(
            "Undo the split from its last step to its first.",
            "After the swap memory is in general not in order: view refuses, reshape copies.",
        ),
        notice="reshape without the swap has the right shape and the wrong tokens.",
        slots=(faults.merge_one(),),
        extras=COMMON,
    ),
    Exercise(
        id="multi-head",
        chapter=7,
        statement="Write causal attention with several heads and an output weight. A mask that "
        "you make belongs on the device of x.",
        allowed="Anything but attnlib's modules.",
        dims={
            "x": "batch S n_embd", "wq": "n_embd n_embd", "wk": "n_embd n_embd",
            "wv": "n_embd n_embd", "wo": "n_embd n_embd", "n_heads": "size heads",
        },
        returns="batch S n_embd",
        spec=spec_multi,
        solution=multi_head,
        hints=(
            "Project, split, attend in every head at once, merge, mix by wo.",
            "heads is a batch dim for matmul: nothing in the middle changes.",
            "The scale is the root of n_embd / n_heads, the size of one head.",
        ),
        dress=_even,
        notice="With n_heads = 1 every wrong split is right: test with more.",
        slots=(
            faults.project_three(heads=True), faults.split_three(), faults.meet(4),
            faults.scale("n_embd", "heads", "S", "batch"), faults.hide_future(), faults.weigh(4),
            faults.mix("k", "q"), faults.merge_last(), faults.out(),
        ),
        extras=COMMON | {"nan-row", "zero-times-infinity"},
    ),
)  # fmt: skip
