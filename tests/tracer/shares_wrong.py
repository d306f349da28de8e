"""A softmax over another axis than the product sums over: each is warned of where it is taken.

Each sample is (code, inputs, dims, the line's beginning, the two dims, a part of the correction).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

WRONG: dict = {}
FIXED: dict = {}


def wrong(line, pair, correction):
    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        FIXED[build.__name__] = correction
        return build

    return keep


def maps(width, out=None, count=3):
    return [nn.Linear(width, out or width, bias=False) for _ in range(count)]


@wrong("return att.softmax(dim=1) @ v", ("S",), "att.softmax(dim=-1)")
def scores_given():
    def mix(att, v):
        return att.softmax(dim=1) @ v

    given = (torch.randn(2, 5, 5), torch.randn(2, 5, 3))
    return mix, given, {"att": "batch S S", "v": "batch S H"}


@wrong("weights = torch.softmax(scores, dim=1)", ("S",), "torch.softmax(scores, dim=-1)")
def one_head():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        weights = torch.softmax(scores, dim=1)
        return weights @ v

    return attend, (torch.randn(2, 5, 6),), "batch S n_embd"


@wrong("weights = F.softmax(scores, -2)", ("5",), "F.softmax(scores, -1)")
def without_names():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = torch.matmul(wq(x), wk(x).permute(0, 2, 1))
        weights = F.softmax(scores, -2)
        return torch.matmul(weights, wv(x))

    return attend, (torch.randn(2, 5, 6),), None


@wrong("weights = scores.softmax(0)", ("S",), "scores.softmax(-1)")
def no_batch():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = wq(x) @ wk(x).T
        weights = scores.softmax(0)
        return weights @ wv(x)

    return attend, (torch.randn(5, 6),), "S n_embd"


@wrong("weights = F.softmax(scores)", ("batch", "S"), "F.softmax(scores, dim=-1)")
def no_dim():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        weights = F.softmax(scores)
        return weights @ wv(x)

    return attend, (torch.randn(2, 5, 6),), "batch S n_embd"


@wrong("weights = self.softmax(scores)", ("S",), "nn.Softmax(dim=-1)")
def a_layer_of_softmax():
    class Head(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.query = nn.Linear(n_embd, head_size)
            self.key = nn.Linear(n_embd, head_size)
            self.value = nn.Linear(n_embd, head_size)
            self.softmax, self.drop = nn.Softmax(dim=1), nn.Dropout(0.1)

        def forward(self, x):
            q, k, v = self.query(x), self.key(x), self.value(x)
            scores = torch.bmm(q, k.transpose(1, 2)) * k.shape[-1] ** -0.5
            weights = self.softmax(scores)
            weights = self.drop(weights)
            return torch.bmm(weights, v)

    return Head(6, 4), (torch.randn(2, 5, 6),), "batch S n_embd"


@wrong("weights = nn.Softmax(dim=1)(scores)", ("S",), "nn.Softmax(dim=-1)(scores)")
def a_layer_of_softmax_built_where_it_is_used():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        weights = nn.Softmax(dim=1)(scores)
        return weights @ wv(x)

    return attend, (torch.randn(2, 5, 6),), "batch S n_embd"


@wrong("att = F.softmax(att, dim=1)", ("heads", "T"), "F.softmax(att, dim=-1)")
def over_the_heads():
    class Attention(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.register_buffer("mask", torch.tril(torch.ones(8, 8)).view(1, 1, 8, 8))

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = self.qkv(x).split(C, dim=2)
            q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=1)
            y = att @ v
            return y.transpose(1, 2).contiguous().view(B, T, C)

    return Attention(12, 3), (torch.randn(2, 5, 12),), None


@wrong("weights = scores.masked_fill(late, -1e9)", ("S",), "softmax(dim=-1)")
def letters_of_einsum():
    wq, wk, wv = maps(12)

    def attend(x):
        q, k, v = (rearrange(w(x), "b s (h d) -> b h s d", h=3) for w in (wq, wk, wv))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        late = torch.ones(5, 5).triu(1).bool()
        weights = scores.masked_fill(late, -1e9).softmax(dim=2)
        return torch.einsum("bhqk,bhkd->bhqd", weights, v)

    return attend, (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("weights = scores.softmax(dim=1)", ("3", "S"), "scores.softmax(dim=-1)")
def heads_moved_behind():
    wq, wk, wv = maps(12)

    def attend(x):
        q, k, v = (w(x).unflatten(-1, (3, 4)) for w in (wq, wk, wv))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
        weights = scores.softmax(dim=1)
        weights = weights.permute(0, 2, 3, 1)
        return torch.einsum("bqkh,bkhd->bqhd", weights, v)

    return attend, (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("weights = scores.softmax(1)", ("Sq", "Sk"), "scores.softmax(-1)")
def queries_and_keys_of_two_lengths():
    wq, wk, wv = maps(6, 4)

    def attend(x, memory):
        scores = wq(x) @ wk(memory).mT
        weights = scores.softmax(1).to(torch.float32)
        return weights @ wv(memory)

    given = (torch.randn(2, 5, 6), torch.randn(2, 7, 6))
    return attend, given, {"x": "batch Sq n_embd", "memory": "batch Sk n_embd"}


@wrong("weights = e / e.sum(dim=1, keepdim=True)", ("S",), "dim=-1, keepdim=True")
def by_hand():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        e = (scores - scores.max()).exp()
        weights = e / e.sum(dim=1, keepdim=True)
        return weights @ wv(x)

    return attend, (torch.randn(2, 5, 6),), "batch S n_embd"


@wrong("weights = scores.softmax(dim=-1)", ("S", "3"), "scores.softmax(dim=-2)")
def heads_are_the_last_axis():
    wq, wk, wv = maps(12)

    def attend(x):
        q, k, v = (rearrange(w(x), "b s (heads d) -> b s heads d", heads=3) for w in (wq, wk, wv))
        scores = torch.einsum("bqhd,bkhd->bqkh", q, k)
        weights = scores.softmax(dim=-1)
        return torch.einsum("bqkh,bkhd->bqhd", weights, v)

    return attend, (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("weights = scores.softmax(dim=1)", ("S",), "scores.softmax(dim=-1)")
def a_flat_batch_of_heads():
    wq, wk, wv = maps(12)

    def attend(x):
        b = x.shape[0]
        q, k, v = (w(x).unflatten(-1, (3, 4)).transpose(1, 2).flatten(0, 1) for w in (wq, wk, wv))
        scores = torch.bmm(q, k.transpose(1, 2))
        weights = scores.softmax(dim=1)
        weights = weights.view(b, 3, *weights.shape[1:])
        return weights @ v.view(b, 3, *v.shape[1:])

    return attend, (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("weights = scores.softmax(dim=1)", ("S",), "scores.softmax(dim=-1)")
def looked_at_while_it_runs():
    wq, wk, wv = maps(6, 4)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        weights = scores.softmax(dim=1)
        assert not torch.allclose(weights.sum(-1), torch.ones(x.shape[:2]))
        return weights @ wv(x)

    return attend, (torch.randn(2, 5, 6),), "batch S n_embd"


BACK = "sum over axis 2 there, or normalise over axis 1 here"


@wrong("w = (q @ k.mT).log_softmax(1).exp()", ("S",), "(q @ k.mT).log_softmax(-1)")
def logarithms_over_the_queries():
    def mix(q, k, v):
        w = (q @ k.mT).log_softmax(1).exp()
        return w @ v

    return self_attention(mix)()


@wrong("logs = scores - scores.logsumexp(1, keepdim=True)", ("S",), "dim=-1, keepdim=True")
def logarithms_by_hand():
    def mix(q, k, v):
        scores = q @ k.mT
        logs = scores - scores.logsumexp(1, keepdim=True)
        return torch.exp(logs) @ v

    return self_attention(mix)()


def self_attention(mix):
    """Make a sample of weights that are right, (batch, S, S), and of what is done with them."""

    def build():
        wq, wk, wv = maps(6, 4)
        return (lambda x: mix(wq(x), wk(x), wv(x))), (torch.randn(2, 5, 6),), "batch S n_embd"

    return build


@wrong("weights = (q @ k.mT / 2).softmax(-1)", ("S",), BACK)
def weights_turned():
    def mix(q, k, v):
        weights = (q @ k.mT / 2).softmax(-1)
        return weights.mT @ v

    return self_attention(mix)()


@wrong("weights = (q @ k.mT).softmax(-1)", ("S",), BACK)
def values_turned():
    def mix(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return v.mT @ weights

    return self_attention(mix)()


@wrong("weights = (q @ k.mT).softmax(-1)", ("S",), BACK)
def letters_exchanged():
    def mix(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return torch.einsum("bqk,bqd->bkd", weights, v)

    return self_attention(mix)()


@wrong("weights = scores.softmax(-1)", ("Sq", "Sk"), BACK)
def keys_ask_the_queries():
    def mix(q, k, v):
        scores = k @ q.mT
        weights = scores.softmax(-1)
        return weights.mT @ v

    given = (torch.randn(2, 5, 6), torch.randn(2, 7, 6), torch.randn(2, 7, 4))
    return mix, given, {"q": "batch Sq H", "k": "batch Sk H", "v": "batch Sk Hv"}


@wrong("weights = (q @ k.mT).softmax(1)", ("S",), "(q @ k.mT).softmax(-1)")
def multiplied_and_summed():
    def mix(q, k, v):
        weights = (q @ k.mT).softmax(1)
        return (weights[..., None] * v[:, None]).sum(2)

    return self_attention(mix)()


def pooling(build):
    def sample():
        mix = build()
        given = (torch.randn(3, 5, 6), torch.randn(6))
        return mix, given, {"x": "batch S n_embd", "a": "n_embd"}

    sample.__name__, sample.__module__ = build.__name__, build.__module__
    return sample


@wrong("weights = (x @ a).softmax(0)", ("batch", "S"), "(x @ a).softmax(-1)")
@pooling
def pooled_by_letters():
    def pool(x, a):
        weights = (x @ a).softmax(0)
        return torch.einsum("bs,bse->be", weights, x)

    return pool


@wrong("weights = torch.softmax(x @ a, dim=0)", ("batch", "S"), "torch.softmax(x @ a, dim=-1)")
@pooling
def pooled_by_a_sum():
    def pool(x, a):
        weights = torch.softmax(x @ a, dim=0)
        return (weights.unsqueeze(-1) * x).sum(1)

    return pool


@wrong("weights = F.softmax(x @ a, 0)", ("batch", "S"), "F.softmax(x @ a, -1)")
@pooling
def pooled_by_a_product():
    def pool(x, a):
        weights = F.softmax(x @ a, 0)
        return torch.bmm(weights.unsqueeze(1), x).squeeze(1)

    return pool


@wrong("weights = self.score(torch.tanh(", ("batch", "S"), ".softmax(-2)")
def additive_attention_over_the_batch():
    class Additive(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            self.query, self.key = nn.Linear(width, inner), nn.Linear(width, inner)
            self.score = nn.Linear(inner, 1)

        def forward(self, query, keys):
            hidden = self.query(query)[:, None] + self.key(keys)
            weights = self.score(torch.tanh(hidden)).softmax(0)
            return (weights.mT @ keys).squeeze(1)

    given = (torch.randn(3, 6), torch.randn(3, 5, 6))
    return Additive(6, 4), given, {"query": "batch n_embd", "keys": "batch S n_embd"}


# Additive attention: one score for each token, (batch, S, 1).


def additive(normalised):
    def pool(query, keys):
        scores = torch.tanh(query.unsqueeze(1) + keys).sum(-1, keepdim=True)
        return (scores.softmax(dim=0) * keys).sum(dim=1)

    def pool_over_one(query, keys):
        scores = torch.tanh(query.unsqueeze(1) + keys).sum(-1, keepdim=True)
        return (scores.softmax(dim=-1) * keys).sum(dim=1)

    inputs = (torch.randn(2, 6), torch.randn(2, 5, 6))
    code = {0: pool, -1: pool_over_one}[normalised]
    return code, inputs, {"query": "batch H", "keys": "batch S H"}


@wrong("return (scores.softmax(dim=0) * keys).sum(dim=1)", ("batch", "S"), "softmax(dim=-2)")
def one_score_each_over_the_batch():
    return additive(0)


@wrong("return (scores.softmax(dim=-1) * keys).sum(dim=1)", ("1", "S"), "softmax(dim=-2)")
def one_score_each_over_the_one():
    return additive(-1)
