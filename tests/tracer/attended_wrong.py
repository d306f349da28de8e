"""Attention over what is no row of tokens: heads, samples, or the keys of another sequence."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

WRONG: dict = {}


def wrong(line, *pair):
    """Keep a builder, the beginning of its wrong line and the two dims that are named there."""

    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return keep


class Heads(nn.Module):
    """A layer that splits into heads and forgets to bring them in front."""

    def __init__(self, width, n_head):
        super().__init__()
        self.n_head, self.head_dim = n_head, width // n_head
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x):
        B, S, _ = x.shape
        parts = self.qkv(x).chunk(3, dim=-1)
        return [part.view(B, S, self.n_head, self.head_dim) for part in parts]


@wrong("y = F.scaled_dot_product_attention(q, k, v)", "n_head", "S")
def fused_over_heads():
    class Fused(Heads):
        def forward(self, x):
            q, k, v = self.split(x)
            y = F.scaled_dot_product_attention(q, k, v)
            return self.proj(y.flatten(2))

    return Fused(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("y = att.softmax(dim=-1) @ v", "n_head", "S")
def weights_over_heads():
    class ByHand(Heads):
        def forward(self, x):
            q, k, v = self.split(x)
            att = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
            y = att.softmax(dim=-1) @ v
            return self.proj(y.flatten(2))

    return ByHand(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("return F.scaled_dot_product_attention(q, k, v)", "heads", "S")
def heads_behind_tokens_as_given():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    q, k, v = torch.randn(3, 2, 5, 3, 4)
    return attend, (q, k, v), dict.fromkeys("qkv", "batch S heads H")


@wrong("return layer(x, x, x)[0]", "batch", "S")
def samples_in_the_place_of_tokens():
    layer = nn.MultiheadAttention(12, 3)

    def attend(x):
        return layer(x, x, x)[0]

    return attend, (torch.randn(2, 5, 12),), "batch S n_embd"


@wrong("return layer(x, x, x)[0]", "batch", "S")
def tokens_in_the_place_of_samples():
    layer = nn.MultiheadAttention(12, 3, batch_first=True)

    def attend(x):
        return layer(x, x, x)[0]

    return attend, (torch.randn(5, 2, 12),), "S batch n_embd"


@wrong("h = self.layer(self.table(ids))", "B", "T")
def an_encoder_layer_inside():
    class Model(nn.Module):
        def __init__(self, vocab, n_embd):
            super().__init__()
            self.table = nn.Embedding(vocab, n_embd)
            self.layer = nn.TransformerEncoderLayer(n_embd, 2, 16, dropout=0.0)

        def forward(self, ids):
            B, T = ids.shape
            h = self.layer(self.table(ids))
            return h.view(B, T, -1)

    return Model(11, 8), (torch.randint(11, (3, 5)),), None


@wrong("return weights @ v", "Sq", "Sk")
def keys_of_one_values_of_the_other():
    wq, wk, wv = (nn.Linear(6, 4, bias=False) for _ in range(3))

    def attend(x, context):
        q, k, v = wq(x), wk(x), wv(context)
        weights = (q @ k.mT / 2).softmax(dim=-1)
        return weights @ v

    given = torch.randn(2, 5, 6), torch.randn(2, 5, 6)
    return attend, given, {"x": "batch Sq n_embd", "context": "batch Sk n_embd"}


# Split in numbers, and products in letters: nothing of the code says heads.


@wrong("return F.scaled_dot_product_attention(q, q, q)", "4", "S")
def fused_over_heads_in_numbers():
    def attend(x):
        B, T, C = x.shape
        q = x.view(B, T, 4, 6)
        return F.scaled_dot_product_attention(q, q, q).reshape(B, T, C)

    return attend, (torch.randn(2, 5, 24),), "batch S n_embd"


@wrong("return (w @ q)", "4", "S")
def weights_over_heads_in_numbers():
    def attend(x):
        B, T, C = x.shape
        q = x.view(B, T, 4, 6)
        w = (q @ q.mT).softmax(-1)
        return (w @ q).reshape(B, T, C)

    return attend, (torch.randn(2, 5, 24),), "batch S n_embd"


@wrong('return torch.einsum("bhqk,bhkd->bhqd", w, q)', "h", "S")
def weights_over_heads_in_letters():
    def attend(x, h):
        B, T, C = x.shape
        q = x.view(B, T, h, C // h)
        w = torch.einsum("bhqd,bhkd->bhqk", q, q).softmax(-1)
        return torch.einsum("bhqk,bhkd->bhqd", w, q).reshape(B, T, C)

    return attend, (torch.randn(2, 5, 24), 4), "batch S n_embd"


# A head's size that has no name but what it is a share of, as large as there are tokens.


@wrong("att = q @ k / math.sqrt(k.size(-1))", "n_embd//n_head", "S")
def keys_not_transposed_at_equal_sizes():
    def attend(x, w_q, w_k, n_head):
        B, T, C = x.size()
        q = (x @ w_q).view(B, T, n_head, C // n_head).transpose(1, 2)
        k = (x @ w_k).view(B, T, n_head, C // n_head).transpose(1, 2)
        att = q @ k / math.sqrt(k.size(-1))
        return att.softmax(dim=-1)

    inputs = (torch.randn(2, 6, 24), torch.randn(24, 24), torch.randn(24, 24), 4)
    return attend, inputs, {"x": "batch S n_embd"}


@wrong("return (q @ k).softmax(-1)", "dim//heads", "S")
def letters_not_transposed_at_equal_sizes():
    def attend(x, y, heads):
        q, k = (rearrange(t, "b n (h d) -> b h n d", h=heads) for t in (x, y))
        return (q @ k).softmax(-1)

    inputs = (torch.randn(2, 6, 24), torch.randn(2, 6, 24), 4)
    return attend, inputs, {"x": "batch S dim", "y": "batch S dim"}


@wrong("return (w @ q).permute(0, 2, 3, 1).reshape(B, T, C)", "n_heads", "n_embd//n_heads")
def heads_merged_inside_of_their_features():
    def attend(x, n_heads):
        B, T, C = x.shape
        q = x.view(B, T, n_heads, C // n_heads).transpose(1, 2)
        w = (q @ q.mT / math.sqrt(q.shape[-1])).softmax(-1)
        return (w @ q).permute(0, 2, 3, 1).reshape(B, T, C)

    return attend, (torch.randn(2, 5, 24), 4), "batch S n_embd"


# Tokens in front of the batch, as layers of torch read them, where no layer does.


@wrong("return ((q @ k.mT).softmax(-1) @ v).transpose(0, 1)", "batch", "S")
def weights_over_the_batch():
    def attend(x, w):
        q, k, v = ((x @ w).transpose(0, 1) for _ in range(3))
        return ((q @ k.mT).softmax(-1) @ v).transpose(0, 1)

    return attend, (torch.randn(2, 5, 6), torch.randn(6, 6)), {"x": "batch S n_embd"}


@wrong("return F.scaled_dot_product_attention(q, q, q)", "B", "T")
def fused_over_the_batch():
    def attend(x, w):
        q = (x @ w).transpose(0, 1)
        return F.scaled_dot_product_attention(q, q, q)

    return attend, (torch.randn(2, 5, 6), torch.randn(6, 6)), {"x": "B T C"}
