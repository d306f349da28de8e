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


class Multi(nn.Module):
    """The transpose before the attention is forgotten; the heads go by many words."""

    def split(self, x):
        B, T, C = x.shape
        return (layer(x).view(B, T, self.n_heads, -1) for layer in self.layers)

    def forward(self, x):
        out = F.scaled_dot_product_attention(*self.split(x))
        return out.flatten(2)


class MultiOfN(Multi):
    def __init__(self, width, n):
        super().__init__()
        self.n_heads = n
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))


class MultiOfNhead(Multi):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.n_heads = nhead
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(3))


class MultiOfNh(Multi):
    def __init__(self, d_model, nh):
        super().__init__()
        self.n_heads = nh
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(3))


def _over_heads(kind, word):
    def build():
        return kind(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"

    WRONG[kind.__name__] = (build, "out = F.scaled", frozenset((word, "S")))


for _kind, _word in ((MultiOfN, "n"), (MultiOfNhead, "nhead"), (MultiOfNh, "nh")):
    _over_heads(_kind, _word)
