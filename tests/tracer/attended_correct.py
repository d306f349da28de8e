"""Attention that is meant to run over heads, frames, samples or columns; the names say so."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

SAMPLES: dict = {}


def sample(build):
    """Keep a program under its name; build(batch, S, heads, H) -> (code, inputs, dims)."""
    SAMPLES[build.__name__] = build
    return build


@sample
def agents_of_one_step(batch, S, heads, H):
    def attend(x):
        return F.scaled_dot_product_attention(x, x, x)

    return attend, (torch.randn(batch, S, heads, H),), "batch S agent H"


@sample
def variables_of_one_step_by_hand(batch, S, heads, H):
    def attend(x):
        return (x @ x.mT / H**0.5).softmax(-1) @ x

    return attend, (torch.randn(batch, S, heads, H),), "batch time variable H"


@sample
def rows_of_an_image(batch, S, heads, H):
    def attend(x):
        rows = x.permute(0, 2, 1, 3)  # b w h c: every column by itself
        return F.scaled_dot_product_attention(rows, rows, rows).permute(0, 2, 1, 3)

    return attend, (torch.randn(batch, heads, S, H),), "b h w c"


@sample
def heads_of_one_token_in_a_folded_batch(batch, S, heads, H):
    def attend(x):
        tokens = x.flatten(0, 1)
        return F.scaled_dot_product_attention(tokens, tokens, tokens).view_as(x)

    return attend, (torch.randn(batch, S, heads, H),), "batch S heads H"


@sample
def places_of_a_frame_in_front(batch, S, heads, H):
    layer = nn.MultiheadAttention(heads * H, heads)

    def attend(x):
        return layer(x, x, x)[0]

    return attend, (torch.randn(S, batch, heads * H),), "N T C"


@sample
def a_layer_in_either_order(batch, S, heads, H):
    class Both(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.front = nn.MultiheadAttention(width, heads)
            self.behind = nn.MultiheadAttention(width, heads, batch_first=True)

        def forward(self, x):
            turned = x.transpose(0, 1)
            y = self.front(turned, turned, turned)[0].transpose(0, 1)
            return self.behind(y, x, x)[0]

    return Both(heads * H), (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def samples_that_see_each_other(batch, S, heads, H):
    layer = nn.MultiheadAttention(heads * H, heads)

    def attend(x):
        return layer(x, x, x)[0]

    return attend, (torch.randn(batch, S, heads * H),), "row column n_embd"


@sample
def one_length_under_two_names(batch, S, heads, H):
    def add(x, pad, table):
        return (x + table).masked_fill(pad[..., None], 0.0)

    given = torch.randn(batch, S, H), torch.zeros(batch, S, dtype=torch.bool), torch.randn(S, H)
    return add, given, {"x": "batch S H", "pad": "batch T", "table": "L H"}


@sample
def summed_by_a_table_of_another_name(batch, S, heads, H):
    def running(x, table):
        scores = (x @ x.mT / H**0.5).softmax(-1)
        return table @ x, scores @ x

    given = torch.randn(batch, S, H), torch.ones(S, S).tril()
    return running, given, {"x": "batch S H", "table": "T T"}


@sample
def keys_and_values_of_the_context(batch, S, heads, H):
    wq, wk, wv = (nn.Linear(H, H, bias=False) for _ in range(3))

    def attend(x, context):
        q, k, v = wq(x), wk(context), wv(context)
        return (q @ k.mT / H**0.5).softmax(dim=-1) @ v

    given = torch.randn(batch, S, H), torch.randn(batch, S, H)
    return attend, given, {"x": "batch Sq H", "context": "batch Sk H"}


@sample
def pooled_over_tokens(batch, S, heads, H):
    def pool(x, a):
        by_sum = ((x @ a).softmax(1)[..., None] * x).sum(1)
        by_letters = torch.einsum("bs,bse->be", (x @ a).softmax(-1), x)
        return by_sum + by_letters

    given = torch.randn(batch, S, H), torch.randn(H)
    return pool, given, {"x": "batch S H", "a": "H"}


@sample
def pooled_over_samples(batch, S, heads, H):
    def pool(x, a):
        return ((x @ a).softmax(0)[..., None] * x).sum(0)

    given = torch.randn(batch, S, H), torch.randn(H)
    return pool, given, {"x": "batch S H", "a": "H"}


@sample
def the_gradient_of_values(batch, S, heads, H):
    def backward(q, k, d_out):
        weights = (q @ k.mT / H**0.5).softmax(-1)
        return weights.mT @ d_out

    given = torch.randn(3, batch, S, H)
    return backward, tuple(given), dict.fromkeys(("q", "k", "d_out"), "batch S H")


@sample
def the_gradient_of_scores(batch, S, heads, H):
    def backward(q, k, v, upstream):
        p = (q @ k.mT).softmax(-1)
        d_p = upstream @ v.mT
        to_values = p.mT @ upstream
        return p * (d_p - (p * d_p).sum(-1, keepdim=True)), to_values

    given = torch.randn(4, batch, S, H)
    return backward, tuple(given), dict.fromkeys(("q", "k", "v", "upstream"), "batch S H")


@sample
def heads_in_front_in_numbers(batch, S, heads, H):
    def attend(x):
        B, T, C = x.shape
        q = x.view(B, T, 4, C // 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q)
        return y.transpose(1, 2).reshape(B, T, C)

    return attend, (torch.randn(batch, S, 4 * H),), "batch S n_embd"


@sample
def heads_in_front_in_letters(batch, S, heads, H):
    def attend(x, h):
        B, T, C = x.shape
        q = x.view(B, T, h, C // h)
        w = torch.einsum("bqhd,bkhd->bhqk", q, q).softmax(-1)
        return torch.einsum("bhqk,bkhd->bqhd", w, q).reshape(B, T, C)

    return attend, (torch.randn(batch, S, heads * H), heads), "batch S n_embd"


@sample
def letters_of_a_library(batch, S, heads, H):
    def attend(x, y, h):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=h) for t in (x, y, y))
        return rearrange((q @ k.mT).softmax(-1) @ v, "b h n d -> b n (h d)")

    inputs = (torch.randn(batch, S, heads * H), torch.randn(batch, S, heads * H), heads)
    return attend, inputs, {"x": "batch S dim", "y": "batch S dim"}


@sample
def channels_shuffled_on_purpose(batch, S, heads, H):
    def shuffle(x, groups):
        B, T, C = x.shape
        return x.view(B, T, groups, C // groups).transpose(2, 3).reshape(B, T, C)

    return shuffle, (torch.randn(batch, S, heads * H), heads), "batch S n_embd"


@sample
def tokens_in_front_brought_back(batch, S, heads, H):
    def attend(x):
        q = x.transpose(0, 1)
        return F.scaled_dot_product_attention(q, q, q).transpose(0, 1)

    return attend, (torch.randn(S, batch, H),), "S batch H"


@sample
def places_of_one_frame(batch, S, heads, H):
    def attend(x):
        return F.scaled_dot_product_attention(x, x, x)

    return attend, (torch.randn(S, batch, H),), "T N C"
