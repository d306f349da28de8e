"""Correct programs of a reader who took nothing from the book: helpers, factories, libraries' ways.

A helper has its own word for a size that has a name already; layers are made in a comprehension, a
factory, a list; a mask comes without names; an image is as large as one of its windows.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


# ------------------------------------------------ a helper's own word for the width of a layer
class SplitInAHelper(nn.Module):
    """Self-attention without a projection at its end, added to what went in."""

    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.build(width)

    def build(self, width):
        self.to_q, self.to_k, self.to_v = [nn.Linear(width, width) for _ in "qkv"]

    def per_head(self, t):
        B, T, C = t.shape
        return t.reshape(B, T, self.count, C // self.count).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.per_head(self.to_q(x)), self.per_head(self.to_k(x)), self.per_head(x)
        mixed = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v + self.per_head(self.to_v(x))
        B, count, T, d = mixed.shape
        return x + mixed.transpose(1, 2).reshape(B, T, count * d)


class LayersOfAFactory(SplitInAHelper):
    def build(self, width):
        make = lambda: nn.Linear(width, width, bias=False)  # noqa: E731
        self.to_q, self.to_k, self.to_v = make(), make(), make()


class LayersOfADict(SplitInAHelper):
    def build(self, width):
        self.maps = nn.ModuleDict({name: nn.Linear(width, width) for name in "qkv"})
        self.to_q, self.to_k, self.to_v = self.maps["q"], self.maps["k"], self.maps["v"]


class LayersCloned(SplitInAHelper):
    def build(self, width):
        one = nn.Linear(width, width)
        self.linears = nn.ModuleList([copy.deepcopy(one) for _ in range(3)])
        self.to_q, self.to_k, self.to_v = self.linears


def _split_in_a_helper(kind):
    def build(batch, S, heads, H):
        width = heads * H
        return kind(width, heads), (torch.randn(batch, S, width),), "batch S n_embd"

    return build


for _kind in (SplitInAHelper, LayersOfAFactory, LayersOfADict, LayersCloned):
    SAMPLES[_kind.__name__] = _split_in_a_helper(_kind)


@sample
def feed_forward_over_all_rows(batch, S, heads, H):
    wide = nn.Linear(H, H)

    def rows(t):
        n, length, inner = t.shape
        return F.gelu(t.reshape(n * length, inner)).reshape(n, length, inner)

    return lambda x: x + rows(wide(x)), (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def gate_from_a_helper(batch, S, heads, H):
    lin = nn.Linear(H, H)

    def opened(z):
        n, length, dim = z.shape
        return z.view(-1, dim).sigmoid().view(n, length, dim)

    return lambda x: x * opened(lin(x)), (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def depthwise_step_on_channels_first(batch, S, heads, H):
    conv = nn.Conv1d(H, H, 3, padding=1)

    def fn(x):
        y = conv(x.transpose(1, 2))
        n, ch, steps = y.shape
        return x + y.permute(0, 2, 1).reshape(n, steps, ch)

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def time_first_inside(batch, S, heads, H):
    lin = nn.Linear(H, H)

    def fn(x):
        y = lin(x).transpose(0, 1)
        steps, n, feats = y.shape
        return x + y.reshape(steps, n * feats).view(steps, n, feats).transpose(0, 1)

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def attention_over_pixels(batch, S, heads, H):
    to_q, to_k, to_v = (nn.Conv2d(H, H, 1) for _ in range(3))

    def fn(x):
        q, k, v = to_q(x), to_k(x), to_v(x)
        n, ch, rows, cols = v.shape
        q, k, v = (z.reshape(n, ch, rows * cols) for z in (q, k, v))
        w = torch.bmm(q.transpose(1, 2), k).softmax(-1)
        return x + 0.5 * torch.bmm(v, w.transpose(1, 2)).reshape(n, ch, rows, cols)

    x = torch.randn(batch, H, S, S + 1)
    return fn, (x,), "batch channels height width"


@sample
def one_layer_twice(batch, S, heads, H):
    """The same weights again: what came out goes in."""
    lin = nn.Linear(H, H)

    def once(t):
        B, T, D = t.shape
        return lin(t.reshape(B * T, D)).reshape(B, T, D)

    def named(t):
        B, T, inner = t.shape
        return t.relu().view(B, T, inner)

    return (
        lambda x: x + named(lin(named(lin(once(x))))),
        (torch.randn(batch, S, H),),
        "batch S n_embd",
    )


@sample
def weights_as_plain_matrices(batch, S, heads, H):
    width = heads * H

    def cut(t, n):
        B, T, C = t.shape
        return t.view(B, T, n, C // n).transpose(1, 2)

    def fn(x, Wq, Wk, Wv, n=heads):
        q, k, v = cut(x @ Wq, n), cut(x @ Wk, n), cut(x @ Wv.T, n)
        y = F.scaled_dot_product_attention(q, k, v)
        B, n, T, d = y.shape
        return x + y.transpose(1, 2).reshape(B, T, n * d)

    matrices = [torch.randn(width, width) for _ in range(3)]
    return fn, (torch.randn(batch, S, width), *matrices), "batch S n_embd"


@sample
def convolution_with_its_own_weight(batch, S, heads, H):
    weight = nn.Parameter(torch.randn(H, H, 3))

    def fn(x):
        out, taken, taps = weight.shape
        y = F.conv1d(x.mT, weight.view(out, taken, taps), padding=taps // 2)
        n, out, steps = y.shape
        return x + y.reshape(n, out, steps).mT

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


class AllHeads(nn.Module):
    """The names of BERT, without its dense layer."""

    def __init__(self, hidden_size, num_attention_heads, all_head_size):
        super().__init__()
        self.num_attention_heads, self.all_head_size = num_attention_heads, all_head_size
        self.attention_head_size = all_head_size // num_attention_heads
        layers = [nn.Linear(hidden_size, self.all_head_size) for _ in range(3)]
        self.query, self.key, self.value = layers

    def transpose_for_scores(self, x):
        shape = (*x.size()[:-1], self.num_attention_heads, self.attention_head_size)
        return x.view(shape).permute(0, 2, 1, 3)

    def forward(self, hidden_states):
        layers = (self.query, self.key, self.value)
        q, k, v = (self.transpose_for_scores(layer(hidden_states)) for layer in layers)
        probs = (q @ k.transpose(-1, -2) / self.attention_head_size**0.5).softmax(-1)
        context = (probs @ v).permute(0, 2, 1, 3).contiguous()
        return hidden_states + context.view((*context.size()[:-2], self.all_head_size))


@sample
def all_head_size_and_a_residual(batch, S, heads, H):
    model = AllHeads(heads * H, heads, heads * H)
    return model, (torch.randn(batch, S, heads * H),), "batch S n_embd"


# ------------------------------------------------------------- what comes without names
@sample
def mask_without_names(batch, S, heads, H):
    def attend(x, attention_mask):
        q_length, kv_length = x.shape[1], attention_mask.shape[-1]
        allowed = attention_mask[:, None, :].expand(-1, q_length, kv_length).bool()
        scores = x @ x.mT / x.shape[-1] ** 0.5
        return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ x

    x, mask = torch.randn(batch, S, H), torch.ones(batch, S)
    return attend, (x, mask), {"x": "batch S n_embd", "attention_mask": "batch S"}


@sample
def square_mask_without_names(batch, S, heads, H):
    def attend(x, bias):
        q_len, k_len = bias.shape[-2:]
        scores = x @ x.mT + bias.view(1, q_len, k_len)
        return scores.softmax(-1) @ x

    return attend, (torch.randn(batch, S, H), torch.zeros(S, S)), {"x": "batch _ n_embd"}


@sample
def keys_measured_by_themselves(batch, S, heads, H):
    def attend(q, k, v):
        n = q.shape[-2]
        m = k.shape[-2]
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores + torch.full((n, m), -torch.inf).triu(1) + torch.zeros(1, 1, m)
        return scores.softmax(-1) @ v + q

    make = lambda: torch.randn(batch, heads, S, H)  # noqa: E731
    dims = "batch heads S H"
    return attend, (make(), make(), make()), {"q": dims, "k": dims, "v": dims}


# ------------------------------------------------------- two words for one number of heads
class KeysPerHead(nn.Module):
    """The names of x-transformers: kv_heads are the heads where nobody asks for fewer."""

    def __init__(self, dim, heads, kv_heads=None, dim_head=4):
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        self.heads, self.kv_heads = heads, kv_heads
        self.to_q = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_k = nn.Linear(dim, dim_head * kv_heads, bias=False)
        self.to_v = nn.Linear(dim, dim_head * kv_heads, bias=False)
        self.to_out = nn.Linear(dim_head * heads, dim, bias=False)

    def forward(self, x):
        q = self.to_q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (
            layer(x).unflatten(-1, (self.kv_heads, -1)).transpose(1, 2)
            for layer in (self.to_k, self.to_v)
        )
        heads, kv_heads = q.shape[1], k.shape[1]
        if kv_heads < heads:
            k, v = (t.repeat_interleave(heads // kv_heads, dim=1) for t in (k, v))
        out = torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1) @ v
        return self.to_out(out.transpose(1, 2).flatten(2))


@sample
def keys_per_head_in_two_layers(batch, S, heads, H):
    class Two(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layers = nn.ModuleList(KeysPerHead(dim, heads, dim_head=H) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    return Two(heads * H), (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_folded_into_the_batch_counted_again(batch, S, heads, H):
    """The names of Longformer: at batch 1 all heads are as many as those of one sample."""

    def folded(t, num_heads):
        batch_size, seq_len, num_heads, head_dim = t.shape
        return t.transpose(1, 2).reshape(batch_size * num_heads, seq_len, head_dim)

    def fn(x):
        t = x.transpose(1, 2)
        scores = folded(t, heads) @ folded(t, heads).mT
        total_num_heads, n, m = scores.shape
        scores = scores.view(total_num_heads, n * m).view(total_num_heads, n, m)
        batch_size, num_heads = x.shape[:2]
        probs = scores.view(batch_size, num_heads, n, m).softmax(-1)
        return (probs @ x).transpose(1, 2).flatten(2)

    return fn, (torch.randn(batch, heads, S, H),), "batch heads S H"
