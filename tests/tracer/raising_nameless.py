"""Scores without a transpose, where the features have no name: keys are transposed, not queries.

Nothing but the order of the axes tells features from tokens: a layer's output has them last.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
# S against what goes in and what comes out: shorter, longer, between, one third of it.
SIZES = {"wide": (4, 6, 6), "narrow": (7, 5, 5), "between": (7, 8, 5), "thrice": (4, 8, 12)}
KEYS = ("q@k.transpose(-2,-1)", "torch.matmul(q,k.transpose(-2,-1))")


def layers(wide, out, count=3):
    return [nn.Linear(wide, out, bias=False) for _ in range(count)]


def plain(wide, out):
    wq, wk, wv = layers(wide, out)

    def attend(x):
        q, k, v = wq(x), wk(x), wv(x)
        scores = q @ k
        return scores @ v

    return attend


def called(wide, out):
    wq, wk = layers(wide, out, 2)

    def attend(x):
        q, k = wq(x), wk(x)
        return torch.matmul(q, k)

    return attend


def batched(wide, out):
    wq, wk = layers(wide, out, 2)

    def attend(x):
        q, k = wq(x), wk(x)
        return torch.bmm(q, k)

    return attend


def functional(wide, out):
    wq, wk = torch.randn(out, wide), torch.randn(out, wide)

    def attend(x):
        q, k = F.linear(x, wq), F.linear(x, wk)
        return q @ k

    return attend


def multiplied(wide, out):
    wq, wk = torch.randn(wide, out), torch.randn(wide, out)

    def attend(x):
        q, k = x @ wq, x @ wk
        return q @ k

    return attend


def summed(wide, out):
    wq, wk = torch.randn(wide, out), torch.randn(wide, out)

    def attend(x):
        q = torch.einsum("bsc,ch->bsh", x, wq)
        k = torch.einsum("bsc,ch->bsh", x, wk)
        return q @ k

    return attend


def scaled(wide, out):
    wq, wk = layers(wide, out, 2)

    def attend(x):
        q = F.normalize(wq(x), dim=-1)
        k = wk(x).relu() * 2
        return q @ k / out**0.5

    return attend


def listed(wide, out):
    maps = layers(wide, out)

    def attend(x):
        q, k, v = [layer(x) for layer in maps]
        return q @ k @ v

    return attend


def generated(wide, out):
    maps = layers(wide, out)

    def attend(x):
        q, k, v = (layer(x) for layer in maps)
        return q @ k @ v

    return attend


def mapped(wide, out):
    maps = layers(wide, out)

    def attend(x):
        q, k, v = map(lambda layer: layer(x), maps)  # noqa: C417
        return q @ k @ v

    return attend


def cut(wide, out):
    joint = nn.Linear(wide, 3 * out)

    def attend(x):
        q, k, v = joint(x).chunk(3, dim=-1)
        return q @ k @ v

    return attend


def split(wide, out):
    joint = nn.Linear(wide, 3 * out)

    def attend(x):
        q, k, v = joint(x).split(out, dim=-1)
        return q @ k @ v

    return attend


def unbound(wide, out):
    joint = nn.Linear(wide, 3 * out)

    def attend(x):
        q, k, v = joint(x).view(*x.shape[:2], 3, out).unbind(2)
        return q @ k @ v

    return attend


def module(wide, out):
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.maps = nn.ModuleList(layers(wide, out))

        def forward(self, x):
            q, k, v = (layer(x) for layer in self.maps)
            return q @ k @ v

    return Head()


def deeper(wide, out):
    wq, wk = (nn.Sequential(nn.Linear(wide, 9), nn.ReLU(), nn.Linear(9, out)) for _ in range(2))

    def attend(x):
        q, k = wq(x), wk(x)
        return q @ k

    return attend


def heads(wide, out):
    wq, wk, wv = layers(wide, 3 * out)

    def attend(x):
        shape = (x.shape[0], x.shape[1], 3, out)
        q, k, v = (layer(x).view(shape).transpose(1, 2) for layer in (wq, wk, wv))
        return q @ k @ v

    return attend


def heads_first(wide, out):
    wq, wk = torch.randn(3, wide, out), torch.randn(3, wide, out)

    def attend(x):
        q, k = x[:, None] @ wq, x[:, None] @ wk
        return q @ k

    return attend


WAYS = (
    plain, called, batched, functional, multiplied, summed, scaled, listed, generated, mapped, cut,
    split, unbound, module, deeper, heads, heads_first,
)  # fmt: skip


def _keep(way, sizes, shape, dims):
    S, wide, out = SIZES[sizes]

    def build():
        return way(wide, out), (torch.randn(*shape, S, wide),), dims

    build.__name__ = f"{way.__name__}_{sizes}_{len(shape)}_{'named' if dims else 'nameless'}"
    raises(RuntimeError, suggestion=KEYS)(build)


for _way in WAYS:
    for _sizes in SIZES:
        _keep(_way, _sizes, (2,), "batch S n_embd")
        _keep(_way, _sizes, (2,), None)
for _way in (plain, functional, multiplied, generated, cut):
    _keep(_way, "narrow", (), "S n_embd")


# What is meant by keys and values is another product: the sum over tokens.
@raises(RuntimeError, suggestion=("k.transpose(-2,-1)@v", "k.mT@v"))
def keys_and_values():
    wk, wv = layers(8, 5, 2)

    def state(x):
        k, v = wk(x), wv(x)
        return k @ v

    return state, (torch.randn(2, 7, 8),), "batch S n_embd"
