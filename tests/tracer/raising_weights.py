"""Weights and values that do not fit: the mistake lies in the values, or where weights were made.

Advice that the code follows already is the wrong advice: each sample says what must not be said.
"""

from __future__ import annotations

import torch
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
R = RuntimeError
DIMS = {"named": "batch S n_embd", "worded": "batch words n_embd", "nameless": None}


def layers(wide=6, out=5):
    return [nn.Linear(wide, out, bias=False) for _ in range(3)]


def kept(words=(), suggestion=(), dims=tuple(DIMS)):
    """Keep a program with and without the caller's dims."""

    def keep(make):
        for name in dims:

            def build(name=name):
                return make(), (torch.randn(2, 7, 6),), DIMS[name]

            build.__name__ = f"{make.__name__}_{name}"
            raises(R, *words, suggestion=suggestion)(build)
        return make

    return keep


@kept(suggestion=("weights@v",))
def values_transposed():
    wq, wk, wv = layers()

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        scores = q @ k.transpose(-2, -1)
        weights = torch.softmax(scores / 5**0.5, dim=-1)
        return weights @ v.transpose(-2, -1)

    return attend


@kept(suggestion=("weights@v.transpose(-2,-1)", "weights@v.mT"))
def values_transposed_before():
    wq, wk, wv = layers()

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        weights = (q @ k.mT).softmax(-1)
        v = v.transpose(1, 2)
        return weights @ v

    return attend


@kept(suggestion=("weights@v",))
def keys_transposed_before():
    wq, wk, wv = layers()

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        k = k.permute(0, 2, 1)
        weights = torch.bmm(q, k).softmax(-1)
        return weights @ v.mT

    return attend


@kept(suggestion=("torch.matmul(weights,v)", "weights@v"))
def values_transposed_in_a_call():
    wq, wk, wv = layers()

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        weights = torch.einsum("bqd,bkd->bqk", q, k).softmax(-1)
        return torch.matmul(weights, v.transpose(-2, -1))

    return attend


@kept(suggestion=("weights@v.transpose(-2,-1)", "weights@v.mT"))
def channels_first_values():
    wq, wk, _ = layers()
    conv = nn.Conv1d(6, 5, 1)

    def attend(x):
        q, k, v = wq(x), wk(x), conv(x.mT)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return weights @ v

    return attend


@kept(suggestion=("weights@v",))
def values_of_heads_transposed():
    maps = layers(6, 15)

    def attend(x):
        b, t, _ = x.shape
        q, k, v = (layer(x).view(b, t, 3, 5).transpose(1, 2) for layer in maps)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return weights @ v.transpose(-2, -1)

    return attend


@kept(words=("weights compares features with features", "(q @ k.transpose(-2, -1))"))
def features_compared():
    wq, wk, wv = layers()

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        weights = (q.transpose(-2, -1) @ k / 5**0.5).softmax(-1)
        return weights @ v

    return attend


@kept(words=("att compares features with features", "(query @ key.transpose(-2, -1))"))
def features_of_other_names_compared():
    wq, wk, wv = layers()

    def attend(x):
        query, key, value = wq(x), wk(x), wv(x)
        turned = query.mT
        att = (turned @ key).softmax(-1)
        return att @ value

    return attend
