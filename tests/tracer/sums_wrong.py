"""Weights that do not add up to 1 where a product sums over them, and how that came about.

Each sample is (code, inputs, dims, the line's beginning, the two dims); ``SAID`` keeps parts of
what is said.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

WRONG: dict = {}
SAID: dict = {}


def wrong(line, pair, *said):
    """Keep a builder, the beginning of its wrong line, two dims, and parts of the message."""

    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        SAID[build.__name__] = said
        return build

    return keep


def self_attention(mix, dims="batch S n_embd"):
    wq, wk, wv = (nn.Linear(6, 4, bias=False) for _ in range(3))
    return (lambda x: mix(wq(x), wk(x), wv(x))), (torch.randn(2, 5, 6),), dims


def of_one_sequence(mix):
    wq, wk, wv = (nn.Linear(6, 4, bias=False) for _ in range(3))
    return (lambda x: mix(wq(x), wk(x), wv(x))), (torch.randn(5, 6),), "S n_embd"


# The sum of a row, put beside the columns.

PUT = "this divides by the sum over S (axis 2) of (batch, S, S), but along that very axis"


@wrong("w = e / e.sum(-1).unsqueeze(-2)", ("S",), PUT, "mixes do not add up to 1", "keepdim")
def unsqueezed_before_the_keys():
    def mix(q, k, v):
        e = (q @ k.mT / 2).exp()
        w = e / e.sum(-1).unsqueeze(-2)
        return w @ v

    return self_attention(mix)


@wrong("w = e / e.sum(-1)[:, None]", ("S",), PUT)
def a_new_axis_before_the_keys():
    def mix(q, k, v):
        scores = q @ k.mT
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        w = e / e.sum(-1)[:, None]
        return w @ v

    return self_attention(mix)


@wrong("w = e / (e.sum(dim=2).view(2, 1, 5) + 1e-9)", ("S",), PUT)
def viewed_before_the_keys():
    def mix(q, k, v):
        e = (q @ k.mT).exp()
        w = e / (e.sum(dim=2).view(2, 1, 5) + 1e-9)
        return torch.einsum("bqk,bkd->bqd", w, v)

    return self_attention(mix)


@wrong("w = e / total", ("5",), "the sum over axis 2 of (2, 5, 5), but along that very axis")
def unsqueezed_without_names():
    def mix(q, k, v):
        e = (q @ k.transpose(1, 2)).exp()
        total = e.sum(2).unsqueeze(1)
        w = e / total
        return torch.bmm(w, v)

    return self_attention(mix, None)


@wrong("w = e / e.sum(-1)", ("S",), "the sum over S (axis 1) of (S, S)", "keepdim=True")
def no_axis_kept_of_one_sequence():
    def mix(q, k, v):
        e = (q @ k.T).exp()
        w = e / e.sum(-1)
        return w @ v

    return of_one_sequence(mix)


@wrong("att = e.div(e.sum(-1).unsqueeze(2))", ("S",), "the sum over S (axis 3)")
def unsqueezed_in_heads():
    class Heads(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads, self.hd = heads, n_embd // heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            B, T, C = x.shape
            split = self.qkv(x).view(B, T, 3, self.heads, self.hd).permute(2, 0, 3, 1, 4)
            q, k, v = split.unbind(0)
            e = (q @ k.mT / self.hd**0.5).exp()
            att = e.div(e.sum(-1).unsqueeze(2))
            return (att @ v).transpose(1, 2).reshape(B, T, C)

    return Heads(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("w = e / e.sum(1).unsqueeze(-1)", ("S",), "the sum over S (axis 1) of (batch, S, S)")
def a_sum_of_columns_beside_the_rows():
    def mix(q, k, v):
        e = (q @ k.mT).exp()
        w = e / e.sum(1).unsqueeze(-1)
        return w @ v

    return self_attention(mix)


# One sum over everything.


@wrong(
    "w = e / e.sum()", ("batch", "S"),
    "add up to 1 over all of (batch, S, S)", "sums over S (axis 2) alone", "dim=-1, keepdim=True",
)  # fmt: skip
def divided_by_everything():
    def mix(q, k, v):
        e = (q @ k.mT).exp()
        w = e / e.sum()
        return w @ v

    return self_attention(mix)


@wrong("w = e / torch.sum(e)", ("2", "5"), "over all of (2, 5, 5)", "sums over axis 2")
def divided_by_everything_without_names():
    def mix(q, k, v):
        e = torch.exp(q @ k.mT)
        w = e / torch.sum(e)
        return w @ v

    return self_attention(mix, None)


@wrong("w = e / e.sum()", ("S",), "over all of (S, S)")
def divided_by_everything_of_one_sequence():
    def mix(q, k, v):
        e = (q @ k.T / 2).exp()
        w = e / e.sum()
        return w @ v

    return of_one_sequence(mix)


@wrong("w = e / e.sum((1, 2), keepdim=True)", ("S",), "over S and S of (batch, S, S)")
def divided_by_the_sum_of_each_sample():
    def mix(q, k, v):
        e = (q @ k.mT).exp()
        w = e / e.sum((1, 2), keepdim=True)
        return w @ v

    return self_attention(mix)


@wrong("w = e / e.sum()", ("heads", "S"), "over all of (batch, heads, S, S)")
def divided_by_everything_in_heads():
    def attend(q, k, v):
        e = torch.exp(torch.einsum("bhqd,bhkd->bhqk", q, k))
        w = e / e.sum()
        return torch.einsum("bhqk,bhkd->bhqd", w, v)

    given = tuple(torch.randn(2, 3, 5, 4) for _ in range(3))
    return attend, given, dict.fromkeys("qkv", "batch heads S H")


# No axis kept where the sum is that of the columns.


@wrong("w = e / e.sum(0)", ("S",), "add up to 1 over S (axis 0) of (S, S)", "dim=-1, keepdim=True")
def the_sum_of_the_columns():
    def mix(q, k, v):
        e = (q @ k.T).exp()
        w = e / e.sum(0)
        return w @ v

    return of_one_sequence(mix)


# Scaled after the softmax.

LESS = "weights that add up to 1 over S (axis 2) of (batch, S, S)"


@wrong("w = (q @ k.mT).softmax(-1) / math.sqrt(4)", ("S",), LESS, "add up to 0.5", "the scores")
def scaled_after_the_softmax():
    def mix(q, k, v):
        w = (q @ k.mT).softmax(-1) / math.sqrt(4)
        return w @ v

    return self_attention(mix)


@wrong("w = w * k.size(-1) ** -0.5", ("S",), LESS)
def scaled_by_a_power():
    def mix(q, k, v):
        w = F.softmax(q @ k.mT, dim=-1)
        w = w * k.size(-1) ** -0.5
        return w @ v

    return self_attention(mix)


@wrong("w /= d**0.5", ("S",), LESS)
def scaled_in_place():
    def mix(q, k, v):
        d = q.shape[-1]
        w = (q @ k.mT).softmax(-1)
        w /= d**0.5
        return w @ v

    return self_attention(mix)


@wrong("w = F.dropout(w * self.scale, 0.1, self.training)", ("S",), "over S (axis 3)")
def scaled_by_a_number_that_the_layer_keeps():
    class Heads(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads, self.scale = heads, (n_embd // heads) ** -0.5
            self.qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.qkv(x).chunk(3, -1))
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            w = (q @ k.mT).softmax(-1)
            w = F.dropout(w * self.scale, 0.1, self.training)
            return w @ v

    return Heads(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("w = w / torch.sqrt(torch.tensor(k.shape[-1]))", ("S",), LESS)
def scaled_by_a_tensor():
    def mix(q, k, v):
        w = torch.softmax(q @ k.mT, -1)
        w = w / torch.sqrt(torch.tensor(k.shape[-1]))
        return w @ v

    return self_attention(mix)


@wrong("return torch.einsum(", ("Sq", "Sk"), "over Sk (axis 2) of (batch, Sq, Sk)")
def scaled_where_they_are_used():
    def mix(q, k, v):
        w = torch.einsum("bid,bjd->bij", q, k).softmax(-1)
        return torch.einsum("bij,bjd->bid", w / math.sqrt(q.size(2)), v)

    given = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 4)
    return mix, given, {"q": "batch Sq H", "k": "batch Sk H", "v": "batch Sk H"}


# A letter of the weights that the values do not have.


@wrong(
    'return torch.einsum("bij,bkd->bid", w, v)', ("S",),
    "sums the weights over S (axis 2) of (batch, S, S) by themselves", "add up to 1", "letter j",
)  # fmt: skip
def a_letter_of_its_own():
    def mix(q, k, v):
        w = (q @ k.mT).softmax(-1)
        return torch.einsum("bij,bkd->bid", w, v)

    return self_attention(mix)


@wrong('return torch.einsum("bhij,bhkd->bhid", w, v)', ("S",), "letter j")
def a_letter_of_its_own_in_heads():
    def attend(q, k, v):
        w = torch.einsum("bhid,bhjd->bhij", q, k).softmax(dim=-1)
        return torch.einsum("bhij,bhkd->bhid", w, v)

    given = tuple(torch.randn(2, 3, 5, 4) for _ in range(3))
    return attend, given, dict.fromkeys("qkv", "batch heads S H")
