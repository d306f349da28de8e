"""Sixteen programs that run and are wrong: each takes two named dimensions for one, in one line.

They were written by somebody who had not read the tracer's rules, before any was run.
First run: 13 of 16 warned in this line, of these dims. `targets_in_another_order_than_the_logits`
was warned of in its line, as B*T and T*B; now the two that changed places are named. The other two:
`keys_split_by_view_alone` (silent: the -1 leaves a dim without a name) and `normalised_over_time`
(the right dims, one line late: what a convolution returns has no names).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

WRONG: dict = {}


def wrong(line, *pair):
    """Keep a program with the beginning of its wrong line and the two dims that it mixes up."""

    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return keep


@wrong("logits = ", "S", "H")
def einsum_with_the_letters_of_a_transposed_key():
    def attention(q, k, v):
        logits = torch.einsum("bhid,bhdj->bhij", q, k) / 2
        return logits.softmax(-1) @ v

    return attention, tuple(torch.randn(3, 2, 3, 4, 4)), dict.fromkeys("qkv", "batch heads S H")


@wrong("out = rearrange(", "b", "heads")
def heads_folded_outside_unfolded_inside():
    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.to_qkv = heads, nn.Linear(dim, 3 * dim)

        def forward(self, x):
            q, k, v = self.to_qkv(x).chunk(3, dim=-1)
            q, k, v = (rearrange(t, "b n (h d) -> (h b) n d", h=self.heads) for t in (q, k, v))
            out = F.scaled_dot_product_attention(q, k, v)
            out = rearrange(out, "(b h) n d -> b n (h d)", h=self.heads)
            return out

    return Attention(12, 3), (torch.randn(3, 5, 12),), "b n dim"


@wrong("scores = scores.masked_fill(", "batch", "S")
def padding_without_a_query_axis():
    def attention(q, k, v, keep):
        scores = q @ k.transpose(1, 2) * q.size(-1) ** -0.5
        scores = scores.masked_fill(keep == 0, -1e9)
        return scores.softmax(-1) @ v

    keep = torch.ones(5, 5).tril()
    names = dict.fromkeys("qkv", "batch S H") | {"keep": "batch S"}
    return attention, (*torch.randn(3, 5, 5, 4), keep), names


@wrong("x = x + self.pos(", "S", "batch")
def positions_along_the_batch():
    class TimeFirst(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.pos = nn.Embedding(32, n_embd)
            self.attn = nn.MultiheadAttention(n_embd, 2)

        def forward(self, x):
            x = x + self.pos(torch.arange(x.shape[0]))
            return self.attn(x, x, x, need_weights=False)[0]

    return TimeFirst(8), (torch.randn(4, 4, 8),), "S batch n_embd"


@wrong("return weights.mT @", "T", "M")
def weights_turned_around_in_cross_attention():
    def cross(target, memory):
        weights = (target @ memory.mT).softmax(dim=-1)
        return weights.mT @ memory

    names = {"target": "batch T E", "memory": "batch M E"}
    return cross, tuple(torch.randn(2, 2, 5, 8)), names


@wrong("y = y.reshape(", "T", "n_head")
def merged_without_moving_the_heads_back():
    class Attention(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.n_head = n_head
            self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

        def forward(self, x):
            B, T, C = x.size()
            qkv = self.c_attn(x).view(B, T, 3, self.n_head, C // self.n_head)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y.reshape(B, T, C)
            return self.c_proj(y)

    return Attention(12, 3), (torch.randn(2, 5, 12),), "B T C"


@wrong("k = self.k(x).view(", "S", "heads")
def keys_split_by_view_alone():
    class Attention(nn.Module):
        def __init__(self, d_model, heads):
            super().__init__()
            self.heads, self.d_k = heads, d_model // heads
            self.q, self.k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

        def forward(self, x):
            q = self.q(x).view(x.size(0), -1, self.heads, self.d_k).transpose(1, 2)
            k = self.k(x).view(x.size(0), self.heads, -1, self.d_k)
            return torch.softmax(q @ k.transpose(-2, -1), dim=-1)

    return Attention(12, 3), (torch.randn(2, 5, 12),), "batch S d_model"


@wrong("att = att.masked_fill(", "T", "n_head")
def causal_mask_over_heads():
    class Attention(nn.Module):
        def __init__(self, n_embd, n_head, block_size):
            super().__init__()
            self.n_head, self.c_attn = n_head, nn.Linear(n_embd, 3 * n_embd)
            self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.n_head, C // self.n_head) for t in (q, k, v))
            att = q @ k.transpose(-2, -1)
            att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf"))
            return (att.softmax(-1) @ v).reshape(B, T, C)

    return Attention(12, 4, 16), (torch.randn(2, 4, 12),), "B T C"


@wrong("return q * cos", "S", "heads")
def rotation_along_the_heads():
    def rotate_half(t):
        a, b = t.chunk(2, dim=-1)
        return torch.cat((-b, a), dim=-1)

    def rope(q, cos, sin):
        return q * cos + rotate_half(q) * sin

    names = {"q": "batch S heads H", "cos": "S H", "sin": "S H"}
    return rope, (torch.randn(2, 4, 4, 6), *torch.randn(2, 4, 6)), names


@wrong("scores = scores + ", "heads", "Sq")
def one_slope_for_each_query():
    def attention(q, k, slopes):
        scores = q @ k.mT
        distance = torch.arange(k.size(-2)) - k.size(-2)
        scores = scores + slopes[:, None] * distance
        return scores.softmax(-1)

    names = {"q": "batch heads Sq H", "k": "batch heads Sk H", "slopes": "heads"}
    inputs = torch.randn(2, 4, 4, 6), torch.randn(2, 4, 7, 6), torch.rand(4)
    return attention, inputs, names


@wrong("x = x.view(", "height", "width")
def image_rebuilt_on_its_side():
    def block(x):
        b, height, width, c = x.shape
        x = x.flatten(1, 2)
        x = x + F.scaled_dot_product_attention(x, x, x)
        x = x.view(b, width, height, c)
        return x

    return block, (torch.randn(2, 6, 4, 8),), "b height width c"


@wrong("y = self.norm(", "S", "n_embd")
def normalised_over_time():
    class Block(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.conv = nn.Conv1d(n_embd, n_embd, 3, padding=1)
            self.norm = nn.LayerNorm(n_embd)

        def forward(self, x):
            y = self.conv(x.transpose(1, 2))
            y = self.norm(y)
            return x + y.transpose(1, 2)

    return Block(6), (torch.randn(2, 6, 6),), "batch S n_embd"


@wrong("out = torch.bmm(weights", "T", "d")
def features_that_attend_to_features():
    def attention(q, k, v):
        weights = torch.bmm(q.transpose(1, 2), k).softmax(dim=-1)
        out = torch.bmm(weights, v)
        return out

    return attention, tuple(torch.randn(3, 2, 6, 6)), dict.fromkeys("qkv", "B T d")


@wrong("attn = self.mix(", "N", "num_heads")
def heads_that_talk_over_the_keys():
    class Talking(nn.Module):
        def __init__(self, dim, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.qk, self.mix = nn.Linear(dim, 2 * dim), nn.Linear(num_heads, num_heads)

        def forward(self, x):
            B, N, C = x.shape
            qk = self.qk(x).reshape(B, N, 2, self.num_heads, C // self.num_heads)
            q, k = qk.permute(2, 0, 3, 1, 4).unbind(0)
            attn = q @ k.transpose(-2, -1)
            attn = self.mix(attn)
            return attn.softmax(dim=-1)

    return Talking(12, 4), (torch.randn(2, 4, 12),), "B N C"


@wrong("return F.cross_entropy(", "B", "T")
def targets_in_another_order_than_the_logits():
    head = nn.Linear(8, 11)

    def loss(hidden, targets):
        logits = head(hidden)
        logits = logits.view(-1, 11)
        return F.cross_entropy(logits, targets.t().reshape(-1))

    names = {"hidden": "B T C", "targets": "B T"}
    return loss, (torch.randn(3, 5, 8), torch.randint(11, (3, 5))), names


@wrong("out = out * gate", "S", "heads")
def gate_of_a_head_on_a_token():
    def gated(q, k, v, gate):
        out = F.scaled_dot_product_attention(q, k, v)
        out = out * gate.sigmoid().unsqueeze(-1)
        return out.transpose(1, 2).flatten(2)

    names = dict.fromkeys("qkv", "batch heads S H") | {"gate": "batch S heads"}
    return gated, (*torch.randn(3, 2, 4, 4, 6), torch.randn(2, 4, 4)), names
