"""Wrong programs in the ways of ``stranger_correct``: words of the code still tell dims apart."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

WRONG = {}


def sample(beginning, *pair):
    def keep(build):
        WRONG[build.__name__] = (build, beginning, frozenset(pair))
        return build

    return keep


@sample("return x + mixed", "S", "hidden")
def as_many_features_as_tokens():
    lin = nn.Linear(6, 5)

    def fn(x):
        h = lin(x)
        B, T, hidden = h.shape
        mixed = h.softmax(1).transpose(1, 2).reshape(B, hidden, T) @ x
        return x + mixed

    return fn, (torch.randn(2, 5, 6),), "batch S n_embd"


@sample("return scores * gate", "T", "d")
def nothing_has_a_name_but_what_is_unpacked():
    def fn(q):
        B, T, d = q.shape
        gate = q.reshape(B * T, d).sigmoid().view(B, T, d)
        scores = q @ q.mT
        return scores * gate

    return fn, (torch.randn(2, 4, 4),), None


@sample("q, k, v = (t.reshape(B, count, T", "count", "S")
def helper_splits_without_transpose():
    lin = [nn.Linear(12, 12) for _ in range(3)]

    def cut(t, count):
        B, T, C = t.shape
        return t.view(B, T, count, C // count)

    def fn(x, count=3):
        B, T, C = x.shape
        q, k, v = (cut(layer(x), count) for layer in lin)
        q, k, v = (t.reshape(B, count, T, C // count) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    return fn, (torch.randn(2, 5, 12),), "batch S n_embd"
