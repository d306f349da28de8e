"""Programs that raise where a correction that fits the sizes would say something untrue.

Kept as in ``pasted_raising``; ``TOLD`` holds words that a note has to have, and words that would
be untrue in it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

PASTED: dict[str, tuple] = {}
SILENT: dict[str, tuple] = {}
TOLD: dict[str, tuple] = {}


def sample(shapes, dims, meant=None, says=(), never=()):
    """Keep a program; without a meaning nothing may be offered for it."""

    def keep(program):
        if meant is None:
            SILENT[program.__name__] = (program, shapes, dims)
        else:
            PASTED[program.__name__] = (program, meant, shapes, dims)
        if says or never:
            TOLD[program.__name__] = (program, shapes, dims, says, never)
        return program

    return keep


HEADS = dict.fromkeys("qkv", "batch heads S H")
FOUR = [(3, 4, 5, 6)] * 3


def attended(q, k, v):
    return (q @ k.mT).softmax(-1) @ v


# Weights that are right beside values that were left behind: repeated, or joined, as the keys.

SHARED = {"q": "batch heads S H", "k": "batch kv_heads S H", "v": "batch kv_heads S H"}
GROUPED = [(3, 4, 5, 6), (3, 2, 5, 6), (3, 2, 5, 6)]


def grouped(q, k, v):
    return attended(q, *(x.repeat_interleave(2, dim=1) for x in (k, v)))


@sample(GROUPED, SHARED, grouped, ["v was not repeated", "repeat_interleave"],
        ["should have been"])  # fmt: skip
def values_not_repeated(q, k, v):
    k = k.repeat_interleave(2, dim=1)
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
    return weights @ v


@sample(GROUPED, None, grouped, ["v was not repeated"], ["should have been", "adds up to 1"])
def nameless_values_not_repeated(q, k, v):
    k = torch.repeat_interleave(k, 2, dim=1)
    w = F.softmax(torch.matmul(q, k.mT), -1)
    return torch.matmul(w, v)


@sample(GROUPED, SHARED, grouped, ["v was not repeated"], ["should have been"])
def values_not_expanded(q, k, v):
    k = k[:, :, None].expand(-1, -1, 2, -1, -1).reshape(3, 4, 5, 6)
    w = (q @ k.mT).softmax(-1)
    w = F.dropout(w, 0.1, False)
    return w @ v


PAST = [(3, 4, 5, 6)] * 3 + [(3, 4, 9, 6)]
CACHED = {**HEADS, "past_k": "batch heads past H"}


@sample(PAST, CACHED, None, ["v was not joined with what came before it, as k was: k has 9 + 5"],
        ["should have been"])  # fmt: skip
def values_without_their_past(q, k, v, past_k):
    k = torch.cat([past_k, k], dim=2)
    w = (q @ k.transpose(-2, -1)).softmax(-1)
    return w @ v


@sample(PAST, None, None, ["value was not joined with what came before it, as keys was"],
        ["should have been"])  # fmt: skip
def nameless_values_without_their_past(query, key, value, past):
    keys = torch.cat((past, key), 2)
    scores = torch.matmul(query, keys.mT) / 2
    return torch.matmul(F.softmax(scores, dim=-1), value)


@sample([(3, 4, 1, 6)] * 3 + [(3, 4, 9, 6)], CACHED, None, ["v was not joined"],
        ["should have been"])  # fmt: skip
def one_value_without_its_past(q, k, v, past_k):
    k = torch.cat([past_k, k], dim=-2)
    return (q @ k.mT).softmax(-1).matmul(v)


@sample([(3, 4, 5, 6), (3, 4, 8, 6), (3, 4, 5, 6)],
        {"q": "batch heads Sq H", "k": "batch heads Sk H", "v": "batch heads Sq H"}, None,
        ["w adds up to 1 over Sk = 8"], ["should have been"])  # fmt: skip
def values_of_the_queries(q, k, v):
    w = (q @ k.mT).softmax(-1)
    return w @ v
