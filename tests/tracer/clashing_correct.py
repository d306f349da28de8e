"""Correct code in which one word is the name of several sizes.

A helper that is called for queries and keys, a loop that grows or shrinks, two layers of one class.
"""

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


def x_of(batch, S, n_embd):
    return torch.randn(batch, S, n_embd)


def scaled(t):
    B, H, S, D = t.shape
    return t * D**-0.5


def turned(t):
    B, Hh, S, D = t.shape
    half = D // 2
    frequencies = 10000.0 ** (-torch.arange(half, device=t.device, dtype=t.dtype) / half)
    angles = torch.arange(S, device=t.device, dtype=t.dtype)[:, None] * frequencies[None]
    one, other = t[..., :half], t[..., half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([one * cos - other * sin, one * sin + other * cos], dim=-1)


class Grouped(nn.Module):
    """Fewer heads of keys than of queries, in the names of the constructor."""

    def __init__(self, n_embd, n_kv, helper, expand):
        super().__init__()
        self.n_q, self.n_kv, self.dk = 2 * n_kv, n_kv, 4
        self.helper, self.expand = helper, expand
        self.Wq = nn.Linear(n_embd, self.n_q * self.dk)
        self.Wk = nn.Linear(n_embd, self.n_kv * self.dk)
        self.Wo = nn.Linear(self.n_q * self.dk, n_embd)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.Wq(x).view(b, n, self.n_q, self.dk).transpose(1, 2)
        k = self.Wk(x).view(b, n, self.n_kv, self.dk).transpose(1, 2)
        q, k = self.helper(q), self.helper(k)
        each = self.n_q // self.n_kv
        if self.expand:
            k = k[:, :, None].expand(b, self.n_kv, each, n, self.dk)
            k = k.reshape(b, self.n_q, n, self.dk)
        else:
            k = k.repeat_interleave(each, dim=1)
        y = (q @ k.mT).softmax(-1) @ k
        return self.Wo(y.transpose(1, 2).flatten(2))


@sample
def a_helper_scales_q_and_k(batch, S, heads, H):
    return Grouped(heads * H, heads, scaled, False), (x_of(batch, S, heads * H),), "batch S d"


@sample
def a_helper_turns_q_and_k(batch, S, heads, H):
    return Grouped(heads * H, heads, turned, True), (x_of(batch, S, heads * H),), "batch S d"


@sample
def two_lengths_through_one_helper(batch, S, heads, H):
    def split(t):
        b, n, c = t.shape
        return t.view(b, n, heads, c // heads).transpose(1, 2)

    wq, wk = nn.Linear(heads * H, heads * H), nn.Linear(heads * H, heads * H)

    def attend(x, context):
        q, k = split(wq(x)), split(wk(context))
        return (q @ k.mT).softmax(-1) @ k

    inputs = x_of(batch, S, heads * H), x_of(batch, S + 3, heads * H)
    return attend, inputs, {"x": "batch Sq d", "context": "batch Sk d"}


@sample
def two_widths_of_one_class(batch, S, heads, H):
    class Mlp(nn.Module):
        def __init__(self, n_embd, hidden):
            super().__init__()
            self.up, self.down = nn.Linear(n_embd, hidden), nn.Linear(hidden, n_embd)

        def forward(self, x):
            h = self.up(x)
            *_, width = h.shape
            return self.down(F.gelu(h) * width**-0.5)

    model = nn.Sequential(Mlp(heads * H, 7), Mlp(heads * H, 9), Mlp(heads * H, 11))
    return model, (x_of(batch, S, heads * H),), "batch S d"


@sample
def two_head_counts_of_one_class(batch, S, heads, H):
    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.dim_head = heads, dim // heads
            self.qkv = nn.Linear(dim, 3 * dim)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.dim_head).permute(2, 0, 3, 1, 4)
            y = (q @ k.mT / self.dim_head**0.5).softmax(-1) @ v
            return y.transpose(1, 2).reshape(b, n, c)

    model = nn.Sequential(Attention(heads * H, heads), Attention(heads * H, heads * H // 2))
    return model, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def tokens_are_merged_layer_by_layer(batch, S, heads, H):
    class Merge(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.mix = nn.Linear(2 * width, width)

        def forward(self, x):
            B, N, C = x.shape
            return self.mix(x.reshape(B, N // 2, 2 * C))

    class Pyramid(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.stages = nn.ModuleList(Merge(width) for _ in range(2))

        def forward(self, x):
            x = torch.cat([x, x, x, x], dim=1)
            for stage in self.stages:
                x = stage(x)
            return x

    return Pyramid(H), (x_of(batch, S, H),), "batch S C"


@sample
def channels_grow_stage_by_stage(batch, S, heads, H):
    class Stage(nn.Module):
        def __init__(self, taken, made):
            super().__init__()
            self.proj = nn.Linear(taken, made)

        def forward(self, x):
            B, L, C = x.shape
            return self.proj(x).view(B, L, 2 * C).relu()

    model = nn.Sequential(Stage(H, 2 * H), Stage(2 * H, 4 * H), Stage(4 * H, 8 * H))
    return model, (x_of(batch, S, H),), "batch S _"


@sample
def a_cache_grows(batch, S, heads, H):
    wq, wk = nn.Linear(H, H), nn.Linear(H, H)

    def decode(x, steps=3):
        cache, out = wk(x), []
        for place in range(steps):
            new = x[:, place : place + 1]
            cache = torch.cat([cache, wk(new)], dim=1)
            B, T, C = cache.shape
            scores = wq(new) @ cache.mT / C**0.5
            out.append(scores.softmax(-1) @ cache)
        return torch.cat(out, dim=1)

    return decode, (x_of(batch, S, H),), "batch S n_embd"


@sample
def latents_as_many_as_tokens_may_be(batch, S, heads, H):
    """A number of latents that some sizes of the input meet by chance."""
    latents = torch.randn(5, H)
    w = nn.Linear(H, H)

    def split(t):
        B, N, C = t.shape
        return t.view(B, N, 2, C // 2).transpose(1, 2)

    def attend(x):
        own = latents.to(x.device).expand(len(x), -1, -1)
        q, k = split(w(own)), split(w(x))
        return (q @ k.mT).softmax(-1) @ k

    return attend, (x_of(batch, S, H),), None


@sample
def tokens_folded_and_shared_out(batch, S, heads, H):
    """The heads stand in a product only, the length under one name at two places."""

    class Folded(nn.Module):
        def __init__(self, d_model, nhead):
            super().__init__()
            self.nhead, self.dk = nhead, d_model // nhead
            self.Wq, self.Wk = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

        def forward(self, x):
            n, b, d = x.shape
            q = self.Wq(x).view(n, b * self.nhead, self.dk).transpose(0, 1)
            k = self.Wk(x).view(n, b * self.nhead, self.dk).transpose(0, 1)
            p = (torch.bmm(q, k.transpose(1, 2)) / self.dk**0.5).softmax(-1)
            return torch.bmm(p, k).transpose(0, 1).reshape(n, b, d)

    return Folded(heads * H, heads), (torch.randn(S, batch, heads * H),), "S batch d_model"


@sample
def a_reader_gives_the_name_that_a_helper_has(batch, S, heads, H):
    """``H`` is what the reader calls the heads of the keys; the helper calls both so."""

    def scores(q, k):
        q, k = scaled(q), scaled(k)
        return q @ k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT

    inputs = torch.randn(batch, 2 * heads, S, H), torch.randn(batch, heads, S, H)
    return scores, inputs, {"q": "batch _ S D", "k": "batch H S D"}


@sample
def masks_of_one_sample(batch, S, heads, H):
    """A name that the reader gives where the axis is 1, too."""

    def attend(x, mask):
        return (x @ x.mT).masked_fill(mask, -torch.inf).softmax(-1) @ x

    inputs = x_of(batch, S, H), torch.ones(1, S, S, dtype=torch.bool).triu(1)
    return attend, inputs, {"x": "batch S H", "mask": "batch S S"}
