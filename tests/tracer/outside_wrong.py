"""Programs that run, return the right shape and compute something else.

Written before the rules were read; first run: 26 of 32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

WRONG: dict[str, tuple[Callable[[], tuple[Any, tuple, Any]], str, frozenset[str]]] = {}


def wrong(line, *pair):
    """Keep a builder, the beginning of its wrong line and the two dims that meet there."""

    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return keep


@wrong("affinity = q @ k", "T", "head_size")
def scores_not_transposed():
    # T == head_size: features of q are summed against positions of k
    class Head(nn.Module):
        def __init__(self, width, head_size):
            super().__init__()
            self.q = nn.Linear(width, head_size, bias=False)
            self.k = nn.Linear(width, head_size, bias=False)
            self.v = nn.Linear(width, head_size, bias=False)

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            affinity = q @ k
            affinity = affinity / math.sqrt(q.size(-1))
            return affinity.softmax(-1) @ v

    return Head(10, 6), (torch.randn(2, 6, 10),), "B T C"


@wrong("y = (att @ v).reshape(B, T, C)", "n_head", "T")
def merged_without_transposing_back():
    class Attention(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.n_head = n_head
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            q = q.view(B, T, self.n_head, -1).transpose(1, 2)
            k = k.view(B, T, self.n_head, -1).transpose(1, 2)
            v = v.view(B, T, self.n_head, -1).transpose(1, 2)
            att = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
            y = (att @ v).reshape(B, T, C)
            return self.proj(y)

    return Attention(12, 3), (torch.randn(2, 5, 12),), None


@wrong("parts = projected.view(b, self.h, n, -1)", "n", "h")
def split_straight_into_heads():
    class Split(nn.Module):
        def __init__(self, dim, h):
            super().__init__()
            self.h = h
            self.proj = nn.Linear(dim, dim)

        def forward(self, tokens):
            b, n, _ = tokens.shape
            projected = self.proj(tokens)
            parts = projected.view(b, self.h, n, -1)
            w = (parts @ parts.mT).softmax(-1)
            return (w @ parts).transpose(1, 2).flatten(2)

    return Split(12, 3), (torch.randn(2, 5, 12),), None


@wrong("folded = q.reshape(batch * heads, seq, -1)", "seq", "heads")
def heads_folded_into_batch():
    def fold(q, heads):
        batch, seq, width = q.shape
        folded = q.reshape(batch * heads, seq, -1)
        w = torch.bmm(folded, folded.transpose(1, 2)).softmax(-1)
        return torch.bmm(w, folded)

    class Fold(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.w = nn.Linear(width, width)

        def forward(self, x):
            return fold(self.w(x), self.heads)

    return Fold(12, 3), (torch.randn(2, 4, 12),), "batch seq width"


@wrong("time_first = x.view(S, batch, n_embd)", "S", "batch")
def view_for_a_transpose():
    gru = nn.GRU(8, 8)

    def encode(x):
        batch, S, n_embd = x.shape
        time_first = x.view(S, batch, n_embd)
        out, _ = gru(time_first)
        return out.transpose(0, 1)

    return encode, (torch.randn(3, 5, 8),), "batch S n_embd"


@wrong("dots = dots.masked_fill(~keep, ", "batch", "S")
def padding_on_the_query_axis():
    # batch == S: (batch, S) lines up with (query, key)
    def attend(q, k, v, keep):
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        dots = dots.masked_fill(~keep, float("-inf"))
        return dots.softmax(-1) @ v

    keep = torch.ones(4, 4, dtype=torch.bool)
    names = {**dict.fromkeys("qkv", "batch heads S H"), "keep": "batch S"}
    return attend, (*torch.randn(3, 4, 2, 4, 3), keep), names


@wrong("out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", "batch", "heads")
def sample_masks_lined_up_with_heads():
    # batch == heads: sample i's mask becomes head i's
    class Fused(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(dim, 3 * dim)

        def forward(self, x, mask):
            q, k, v = rearrange(self.qkv(x), "b n (t h d) -> t b h n d", t=3, h=self.heads)
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return rearrange(out, "b h n d -> b n (h d)")

    mask = torch.ones(3, 5, 5, dtype=torch.bool).tril()
    names = {"x": "batch S n_embd", "mask": "batch S S"}
    return Fused(12, 3), (torch.randn(3, 5, 12), mask), names


@wrong('out = torch.einsum("bsd,dh->bsh", x, self.W)', "d_in", "d_out")
def weight_stored_the_other_way():
    # the weight is kept as (out, in), and d_in == d_out hides it
    class Project(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.W = nn.Parameter(torch.randn(d_out, d_in) / d_in**0.5)

        def forward(self, x):
            out = torch.einsum("bsd,dh->bsh", x, self.W)
            return (out @ out.mT).softmax(-1) @ out

    return Project(8, 8), (torch.randn(2, 5, 8),), "batch S d_in"


@wrong("return F.linear(x, w)", "d_model", "d_k")
def linear_with_a_conv1d_weight():
    # GPT-2's layout (in, out) given to F.linear, which wants (out, in)
    def project(x, w):
        return F.linear(x, w)

    names = {"x": "batch S d_model", "w": "d_model d_k"}
    return project, (torch.randn(2, 5, 8), torch.randn(8, 8)), names


@wrong("h = tok + self.pos[: tok.shape[0]]", "time", "batch")
def positions_added_along_the_batch():
    # time first, and time == batch: the table lines up with the batch axis
    class Embed(nn.Module):
        def __init__(self, vocab, width, max_len):
            super().__init__()
            self.tok = nn.Embedding(vocab, width)
            self.pos = nn.Parameter(torch.randn(max_len, width))

        def forward(self, ids):
            tok = self.tok(ids)
            h = tok + self.pos[: tok.shape[0]]
            return h

    return Embed(11, 8, 32), (torch.randint(0, 11, (5, 5)),), "time batch"


@wrong("scores = scores + slopes * distance", "heads", "S")
def slopes_on_the_key_axis():
    # heads == S: each key gets a slope, instead of each head
    def alibi(q, k, v, slopes):
        S = q.size(-2)
        steps = torch.arange(S)
        distance = steps[None, :] - steps[:, None]
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        scores = scores + slopes * distance
        return scores.softmax(-1) @ v

    names = {**dict.fromkeys("qkv", "batch heads S H"), "slopes": "heads"}
    return alibi, (*torch.randn(3, 2, 4, 4, 6), torch.rand(4)), names


@wrong("e = (s - s.amax(dim=-1)).exp()", "batch", "S")
def maximum_without_keepdim():
    # batch == S: every row loses another sample's maximum
    def attend(q, k, v):
        s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[2])
        e = (s - s.amax(dim=-1)).exp()
        return torch.bmm(e / e.sum(dim=-1, keepdim=True), v)

    return attend, tuple(torch.randn(3, 4, 4, 6)), dict.fromkeys("qkv", "batch S H")


@wrong("p = p / p.sum(-1)", "heads", "S")
def sum_without_keepdim():
    # (batch, heads, S, S) over (batch, heads, S): heads meets the query axis, with batch of one
    def normalise(q, k, v):
        p = torch.exp(q @ k.mT / q.shape[-1] ** 0.5)
        p = p / p.sum(-1)
        return p @ v

    return normalise, tuple(torch.randn(3, 1, 4, 4, 6)), dict.fromkeys("qkv", "batch heads S H")


@wrong("z = z * self.temperature", "n_heads", "d_head")
def head_temperature_on_features():
    # n_heads == d_head: one factor a feature instead of one a head
    class Scaled(nn.Module):
        def __init__(self, n_heads, d_head):
            super().__init__()
            self.n_heads, self.d_head = n_heads, d_head
            self.temperature = nn.Parameter(torch.rand(n_heads))
            self.proj = nn.Linear(n_heads * d_head, n_heads * d_head)

        def forward(self, x):
            b, t, _ = x.shape
            z = self.proj(x).view(b, t, self.n_heads, self.d_head)
            z = z * self.temperature
            return z.flatten(2)

    return Scaled(4, 4), (torch.randn(2, 5, 16),), "b t c"


@wrong('logits = torch.einsum("bhqd,bkhd->bhqk", q, k)', "heads", "S")
def letters_of_another_layout():
    def attend(q, k, v):
        logits = torch.einsum("bhqd,bkhd->bhqk", q, k)
        return torch.einsum("bhqk,bhkd->bqhd", logits.softmax(-1), v).flatten(2)

    return attend, tuple(torch.randn(3, 2, 4, 4, 6)), dict.fromkeys("qkv", "batch heads S H")


@wrong("logits = logits + mask", "B", "n_kv")
def mask_against_grouped_scores():
    # five axes of scores, four of the mask: B lines up with n_kv
    class Grouped(nn.Module):
        def __init__(self, d, n_kv, groups, dh):
            super().__init__()
            self.n_kv, self.groups, self.dh = n_kv, groups, dh
            self.q = nn.Linear(d, n_kv * groups * dh, bias=False)
            self.k = nn.Linear(d, n_kv * dh, bias=False)

        def forward(self, x, mask):
            B, T, _ = x.shape
            q = self.q(x).view(B, T, self.n_kv, self.groups, self.dh).permute(0, 2, 3, 1, 4)
            k = self.k(x).view(B, T, self.n_kv, 1, self.dh).permute(0, 2, 3, 1, 4)
            logits = q @ k.transpose(-1, -2)
            logits = logits + mask
            return logits.softmax(-1)

    names = {"x": "B T d", "mask": "B _ T T"}
    return Grouped(10, 2, 3, 4), (torch.randn(2, 5, 10), torch.zeros(2, 1, 5, 5)), names


@wrong('sim = sim.masked_fill(look_ahead, float("-inf"))', "src", "tgt")
def target_mask_on_the_source():
    # as many source as target words: the causal mask of the target hides the source
    def cross(x, memory):
        tgt = x.size(1)
        look_ahead = torch.ones(tgt, tgt, dtype=torch.bool).triu(1)
        sim = x @ memory.transpose(1, 2)
        sim = sim.masked_fill(look_ahead, float("-inf"))
        return sim.softmax(-1) @ memory

    names = {"x": "batch tgt d", "memory": "batch src d"}
    return cross, tuple(torch.randn(2, 3, 5, 8)), names


@wrong("return torch.bmm(weights, value)", "Sk", "Sq")
def values_from_the_wrong_side():
    class Cross(nn.Module):
        def __init__(self, width, d_k):
            super().__init__()
            self.to_query = nn.Linear(width, d_k)
            self.to_key = nn.Linear(width, d_k)
            self.to_value = nn.Linear(width, d_k)

        def forward(self, x, context):
            query, key, value = self.to_query(x), self.to_key(context), self.to_value(x)
            weights = torch.bmm(query, key.mT).mul(key.size(-1) ** -0.5).softmax(dim=2)
            return torch.bmm(weights, value)

    names = {"x": "batch Sq n_embd", "context": "batch Sk n_embd"}
    return Cross(12, 7), tuple(torch.randn(2, 3, 5, 12)), names


@wrong("o = o.view(self.nheads, bs, slen, -1)", "bs", "nheads")
def unfolded_heads_first():
    # folded as (bs, nheads), unfolded as (nheads, bs)
    class Folded(nn.Module):
        def __init__(self, dim, nheads):
            super().__init__()
            self.nheads = nheads
            self.lin = nn.Linear(dim, dim)

        def forward(self, x):
            bs, slen, dim = x.shape
            q = self.lin(x).view(bs, slen, self.nheads, dim // self.nheads).transpose(1, 2)
            q = q.reshape(bs * self.nheads, slen, dim // self.nheads)
            o = torch.bmm(torch.bmm(q, q.mT).softmax(-1), q)
            o = o.view(self.nheads, bs, slen, -1)
            return o.permute(1, 2, 0, 3).reshape(bs, slen, dim)

    return Folded(12, 3), (torch.randn(2, 5, 12),), "bs slen dim"


@wrong("return stacked.view(B, T, -1)", "n_heads", "B")
def stacked_heads_flattened():
    class Stacked(nn.Module):
        def __init__(self, d, n_heads, d_head):
            super().__init__()
            self.n_heads, self.d_head = n_heads, d_head
            self.w = nn.Linear(d, n_heads * d_head)

        def forward(self, x):
            B, T, _ = x.shape
            per_head = self.w(x).view(B, T, self.n_heads, self.d_head)
            stacked = per_head.permute(2, 0, 1, 3).contiguous()
            return stacked.view(B, T, -1)

    return Stacked(10, 3, 4), (torch.randn(2, 5, 10),), "B T d"


@wrong("y, _ = attn(x, x, x, key_padding_mask=pad)", "batch", "S")
def batch_first_forgotten():
    # batch == S: the module reads the first axis as time, and the mask goes the other way
    attn = nn.MultiheadAttention(8, 2)

    def run(x, pad):
        y, _ = attn(x, x, x, key_padding_mask=pad)
        return y

    x, pad = torch.randn(4, 4, 8), torch.zeros(4, 4, dtype=torch.bool)
    return run, (x, pad), {"x": "batch S n_embd", "pad": "batch S"}


@wrong("scores = scores + bias.repeat(heads, 1, 1)", "batch", "heads")
def mask_tiled_for_folded_heads():
    # repeat puts the heads outside, the folded scores have them inside
    def attend(q, k, bias):
        batch, heads, S, H = q.shape
        scores = torch.bmm(q.reshape(batch * heads, S, H), k.reshape(batch * heads, S, H).mT)
        scores = scores + bias.repeat(heads, 1, 1)
        return scores.softmax(-1).view(batch, heads, S, S)

    q, k = torch.randn(2, 2, 3, 5, 4)
    names = {"q": "batch heads S H", "k": "batch heads S H", "bias": "batch S S"}
    return attend, (q, k, torch.zeros(2, 5, 5)), names


@wrong("return (weights.unsqueeze(1) * x).sum(1)", "S", "d")
def pooled_on_the_feature_axis():
    # S == d: the weight of a position multiplies a feature
    class Pool(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.score = nn.Linear(d, 1)

        def forward(self, x):
            weights = torch.softmax(self.score(x).squeeze(-1), dim=-1)
            return (weights.unsqueeze(1) * x).sum(1)

    return Pool(6), (torch.randn(3, 6, 6),), "batch S d"


@wrong("energy = torch.tanh(self.W(query) + self.U(keys))", "batch", "src_len")
def query_without_its_own_axis():
    # batch == src_len: (batch, units) lines up with (source position, units)
    class Additive(nn.Module):
        def __init__(self, hidden, units):
            super().__init__()
            self.W, self.U = nn.Linear(hidden, units), nn.Linear(hidden, units)
            self.v = nn.Linear(units, 1, bias=False)

        def forward(self, query, keys):
            energy = torch.tanh(self.W(query) + self.U(keys))
            alpha = self.v(energy).squeeze(-1).softmax(-1)
            return (alpha.unsqueeze(1) @ keys).squeeze(1)

    names = {"query": "batch hidden", "keys": "batch src_len hidden"}
    return Additive(8, 6), (torch.randn(4, 8), torch.randn(4, 4, 8)), names


@wrong("return F.cross_entropy(flat, targets.reshape(-1))", "S", "batch")
def targets_in_another_order():
    # the logits were made time first, the targets are batch first
    def loss(logits, targets):
        S, batch, vocab = logits.shape
        flat = logits.reshape(S * batch, vocab)
        return F.cross_entropy(flat, targets.reshape(-1))

    names = {"logits": "S batch vocab", "targets": "batch S"}
    return loss, (torch.randn(5, 3, 11), torch.randint(0, 11, (3, 5))), names


@wrong("tokens = fmap.reshape(b, h * w, c)", "c", "h")
def picture_viewed_as_tokens():
    proj = nn.Linear(8, 8)

    def to_tokens(fmap):
        b, c, h, w = fmap.shape
        tokens = fmap.reshape(b, h * w, c)
        return proj(tokens)

    return to_tokens, (torch.randn(2, 8, 3, 5),), "b c h w"


@wrong("rotated = q * cos + turned * sin", "S", "heads")
def rotation_by_head():
    # S == heads: the angle of a position turns a head
    def rotary(q):
        batch, S, heads, H = q.shape
        angle = torch.arange(S)[:, None] / 10000 ** (torch.arange(0, H, 2) / H)
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos(), angle.sin()
        turned = torch.cat((-q[..., H // 2 :], q[..., : H // 2]), dim=-1)
        rotated = q * cos + turned * sin
        return rotated

    return rotary, (torch.randn(2, 4, 4, 6),), "batch S heads H"


@wrong("attn = attn + bias", "num_heads", "N")
def window_bias_not_permuted():
    # N == num_heads: (N, N, num_heads) instead of (num_heads, N, N)
    class Window(nn.Module):
        def __init__(self, dim, num_heads, side):
            super().__init__()
            self.num_heads = num_heads
            self.table = nn.Parameter(torch.randn(2 * side, num_heads))
            steps = torch.arange(side)
            self.register_buffer("index", steps[:, None] - steps[None, :] + side - 1)
            self.qkv = nn.Linear(dim, 3 * dim)

        def forward(self, x):
            B, N, C = x.shape
            qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            attn = q @ k.transpose(-2, -1)
            bias = self.table[self.index]
            attn = attn + bias
            return (attn.softmax(-1) @ v).transpose(1, 2).reshape(B, N, C)

    return Window(12, 4, 4), (torch.randn(2, 4, 12),), "B N C"


@wrong("scores = self.mix(scores)", "T", "n_head")
def heads_mixed_over_keys():
    # T == n_head: the layer mixes the last axis, which holds the keys
    class Talking(nn.Module):
        def __init__(self, width, n_head):
            super().__init__()
            self.n_head = n_head
            self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
            self.mix = nn.Linear(n_head, n_head, bias=False)

        def forward(self, x):
            B, T, C = x.shape
            q = self.q(x).view(B, T, self.n_head, -1).permute(0, 2, 1, 3)
            k = self.k(x).view(B, T, self.n_head, -1).permute(0, 2, 1, 3)
            scores = q @ k.mT
            scores = self.mix(scores)
            return scores.softmax(-1)

    return Talking(12, 4), (torch.randn(2, 4, 12),), "B T C"


@wrong('norm = torch.einsum("bhsd,bhd->bhs", q, k.sum(-1))', "H", "S")
def normaliser_summed_over_features():
    # S == H: the keys are summed over their features, not over the positions
    def linear_attention(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = k.transpose(-2, -1) @ v
        norm = torch.einsum("bhsd,bhd->bhs", q, k.sum(-1))
        return q @ kv / norm.unsqueeze(-1)

    return (
        linear_attention,
        tuple(torch.randn(3, 2, 3, 5, 5)),
        dict.fromkeys("qkv", "batch heads S H"),
    )


@wrong("return gate * x", "S", "width")
def gate_of_one_sample():
    # batch of one and S == width: the gate of a position becomes the gate of a feature
    class Gate(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.lin = nn.Linear(width, 1)

        def forward(self, x):
            gate = torch.sigmoid(self.lin(x)).squeeze(-1)
            return gate * x

    return Gate(6), (torch.randn(1, 6, 6),), "batch S width"


@wrong("q = self.norm(q)", "head_dim", "heads")
def norm_over_the_wrong_width():
    # heads == head_dim: the layer was made for the heads
    class QNorm(nn.Module):
        def __init__(self, heads, head_dim):
            super().__init__()
            self.heads, self.head_dim = heads, head_dim
            self.to_q = nn.Linear(heads * head_dim, heads * head_dim)
            self.norm = nn.LayerNorm(heads)

        def forward(self, x):
            q = self.to_q(x).unflatten(-1, (self.heads, self.head_dim))
            q = self.norm(q)
            return torch.einsum("bihd,bjhd->bhij", q, q)

    return QNorm(4, 4), (torch.randn(2, 5, 16),), "batch S n_embd"
