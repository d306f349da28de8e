"""Attention code that raises, and what its note has to say.

The failing line of each ends with ``# raises``.
Written before the rules were read; first run: 23 of 42 with everything right (42 of 42 lines,
40 of 42 with all words).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Raising(NamedTuple):
    """A builder, the exception it ends in, words of the note, and the repair that is offered."""

    build: Callable[[], tuple[Any, tuple, Any]]
    kind: type[BaseException]
    words: tuple[str, ...]
    suggestion: str | None


RAISING: dict[str, Raising] = {}


def raises(kind, *words, suggestion=None):
    """Keep a builder with what its note must say."""

    def keep(build):
        RAISING[build.__name__] = Raising(build, kind, words, suggestion)
        return build

    return keep


QKV = dict.fromkeys(("q", "k", "v"), "batch S H")
QKV4 = dict.fromkeys(("q", "k", "v"), "batch heads S H")


# products


@raises(
    RuntimeError,
    "q (batch=2, S=5, H=3)",
    "k (batch=2, S=5, H=3)",
    suggestion="k.transpose(-2, -1)",
)
def keys_not_transposed():
    def attend(q, k, v):
        scores = q @ k  # raises
        return scores.softmax(-1) @ v

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


@raises(RuntimeError, "q (batch=2, heads=3, S=5, H=4)", "heads", "S", suggestion="q @ k.mT")
def heads_and_time_swapped():
    def attend(q, k, v):
        return (q @ k.transpose(1, 2)).softmax(-1) @ v  # raises

    return attend, tuple(torch.randn(3, 2, 3, 5, 4)), QKV4


@raises(RuntimeError, "q (batch=2, S=5, H=3)", ".T", suggestion="k.mT")
def all_axes_reversed():
    def attend(q, k, v):
        a = torch.softmax(q @ k.T / math.sqrt(3), dim=-1)  # raises
        return a @ v

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


@raises(RuntimeError, "w (batch=2, H=3, H=3)", "v (batch=2, S=5, H=3)")
def features_attend_to_features():
    def attend(q, k, v):
        w = torch.softmax(q.transpose(-2, -1) @ k, dim=-1)
        return w @ v  # raises

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


@raises(RuntimeError, "q (batch=2, heads=3, S=5, H=4)", suggestion="torch.matmul")
def bmm_of_four_axes():
    def attend(q, k):
        scores = torch.bmm(q, k.mT)  # raises
        return scores

    return (
        attend,
        tuple(torch.randn(2, 2, 3, 5, 4)),
        {"q": "batch heads S H", "k": "batch heads S H"},
    )


@raises(RuntimeError, "q (batch=2, S=5, H=3)", "bhid", suggestion='"bid,bjd->bij"')
def too_many_letters():
    def attend(q, k, v):
        dots = torch.einsum("bhid,bhjd->bhij", q, k)  # raises
        return dots

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=12)",
    "w (H=4, n_embd=12)",
    suggestion='"bsc,hc->bsh"',
)
def einsum_over_an_out_in_weight():
    def project(x, w):
        return torch.einsum("bsc,ch->bsh", x, w)  # raises

    names = {"x": "batch S n_embd", "w": "H n_embd"}
    return project, (torch.randn(2, 5, 12), torch.randn(4, 12)), names


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=12)",
    "wq (H=4, n_embd=12)",
    suggestion="x @ wq.transpose(-2, -1)",
)
def weight_the_wrong_way_round():
    def project(x, wq):
        query = x @ wq  # raises
        return query

    names = {"x": "batch S n_embd", "wq": "H n_embd"}
    return project, (torch.randn(2, 5, 12), torch.randn(4, 12)), names


@raises(RuntimeError, "z (batch=2, heads=3, S=5, H=4)", "n_embd", suggestion="z.transpose(1, 2)")
def heads_never_merged():
    class Out(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.out = nn.Linear(n_embd, n_embd)

        def forward(self, z):
            return self.out(z)  # raises

    return Out(12), (torch.randn(2, 3, 5, 4),), "batch heads S H"


@raises(RuntimeError, "joined", "head_size", "n_embd")
def heads_joined_over_time():
    class Heads(nn.Module):
        def __init__(self, n_embd, head_size, n_heads):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(n_embd, head_size) for _ in range(n_heads))
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            joined = torch.cat([head(x) for head in self.heads], dim=1)
            return self.proj(joined)  # raises

    return Heads(12, 4, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


# broadcasting


@raises(
    RuntimeError,
    "scores (batch=2, heads=3, S=5, S=5)",
    "mask (batch=2, S=5, S=5)",
    suggestion="mask.unsqueeze(1)",
)
def mask_without_a_head_axis():
    def add(scores, mask):
        return (scores + mask).softmax(-1)  # raises

    names = {"scores": "batch heads S S", "mask": "batch S S"}
    return add, (torch.randn(2, 3, 5, 5), torch.zeros(2, 5, 5)), names


@raises(
    RuntimeError,
    "att (batch=2, heads=3, S=5, S=5)",
    "pad (batch=2, S=5)",
    suggestion="pad[:, None, None, :]",
)
def padding_without_axes():
    def hide(att, pad):
        att = att.masked_fill(pad, float("-inf"))  # raises
        return att.softmax(-1)

    names = {"att": "batch heads S S", "pad": "batch S"}
    return hide, (torch.randn(2, 3, 5, 5), torch.zeros(2, 5).bool()), names


@raises(RuntimeError, "wei (B=2, T=5, T=5)", "block_size", suggestion="[:T, :T]")
def buffer_not_cut():
    class Head(nn.Module):
        def __init__(self, n_embd, block_size):
            super().__init__()
            self.q, self.k = nn.Linear(n_embd, 4), nn.Linear(n_embd, 4)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            B, T, C = x.shape
            wei = self.q(x) @ self.k(x).transpose(-2, -1)
            wei = wei.masked_fill(self.tril == 0, float("-inf"))  # raises
            return wei.softmax(-1)

    return Head(12, 16), (torch.randn(2, 5, 12),), "B T C"


@raises(RuntimeError, "scores (batch=2, new=2, total=7)", "mask (new=2, new=2)")
def mask_forgets_the_cache():
    def decode(q, k):
        new = q.size(1)
        scores = q @ k.mT
        mask = torch.full((new, new), -torch.inf).triu(1)
        return scores + mask  # raises

    return (
        decode,
        (torch.randn(2, 2, 3), torch.randn(2, 7, 3)),
        {"q": "batch new H", "k": "batch total H"},
    )


@raises(
    RuntimeError,
    "q (batch=2, heads=6, S=5, H=4)",
    "kv_heads",
    suggestion="k.transpose(-2, -1).repeat_interleave(3, dim=1)",
)
def fewer_kv_heads():
    def attend(q, k):
        return q @ k.transpose(-2, -1)  # raises

    names = {"q": "batch heads S H", "k": "batch kv_heads S H"}
    return attend, (torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4)), names


@raises(
    RuntimeError,
    "q (batch=2, heads=6, S=5, H=4)",
    "k (batch=2, kv_heads=2, S=5, H=4)",
    suggestion="enable_gqa=True",
)
def fused_with_fewer_kv_heads():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # raises

    grouped = "batch kv_heads S H"
    names = {"q": "batch heads S H", "k": grouped, "v": grouped}
    return attend, (torch.randn(2, 6, 5, 4), *torch.randn(2, 2, 2, 5, 4)), names


@raises(RuntimeError, "q (batch=2, Sq=5, H=8)", "ctx (batch=2, Sk=7, H=8)", "Sq", "Sk")
def query_mask_on_the_context():
    def cross(q, ctx, mask):
        return F.scaled_dot_product_attention(q, ctx, ctx, attn_mask=mask[:, None, :])  # raises

    names = {"q": "batch Sq H", "ctx": "batch Sk H", "mask": "batch Sq"}
    return cross, (torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.ones(2, 5).bool()), names


@raises(RuntimeError, "x (batch=2, S=5, n_embd=12)", "heads*n_embd=36")
def concatenated_full_width_heads():
    class Wide(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads = heads
            self.lin = nn.Linear(n_embd, heads * n_embd)

        def forward(self, x):
            out = self.lin(x)
            return x + out  # raises

    return Wide(12, 3), (torch.randn(2, 5, 12),), "batch S n_embd"


@raises(RuntimeError, "x (B=2, T=5, C=12)", "max_len", suggestion="self.pos[:T]")
def positions_not_cut():
    class Positions(nn.Module):
        def __init__(self, max_len, C):
            super().__init__()
            self.pos = nn.Parameter(torch.zeros(max_len, C))

        def forward(self, x):
            B, T, C = x.shape
            return x + self.pos  # raises

    return Positions(16, 12), (torch.randn(2, 5, 12),), "B T C"


# views


@raises(
    RuntimeError, "y", "batch=2, S=5, heads=3, H=4", "contiguous", suggestion=".reshape(batch, S"
)
def view_after_transpose():
    def merge(y):
        batch, heads, S, H = y.shape
        return y.transpose(1, 2).view(batch, S, heads * H)  # raises

    return merge, (torch.randn(2, 3, 5, 4),), "batch heads S H"


@raises(RuntimeError, "x (batch=2, S=5, n_embd=10)", "divi")
def width_not_divisible():
    class Split(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.d = n_heads, n_embd // n_heads

        def forward(self, x):
            b, t, c = x.shape
            return x.view(b, t, self.n_heads, self.d).transpose(1, 2)  # raises

    return Split(10, 3), (torch.randn(2, 5, 10),), "batch S n_embd"


@raises(RuntimeError, "z (batch=2, S=5, heads=3, d_v=6)", suggestion=", -1)")
def merged_with_the_key_size():
    def merge(q, v):
        batch, heads, S, d_k = q.shape
        z = (q @ q.mT).softmax(-1) @ v
        z = z.transpose(1, 2)
        return z.reshape(batch, S, heads * d_k)  # raises

    names = {"q": "batch heads S d_k", "v": "batch heads S d_v"}
    return merge, (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 6)), names


@raises(TypeError, "x (batch=2, S=5, n_embd=12)", "float", suggestion="//")
def head_size_by_true_division():
    def split(x, heads=3):
        batch, S, n_embd = x.shape
        return x.view(batch, S, heads, n_embd / heads)  # raises

    return split, (torch.randn(2, 5, 12),), "batch S n_embd"


@raises(RuntimeError, "q (batch=2, S=1, n_embd=16)", "batch_first", suggestion="q.transpose(0, 1)")
def batch_first_left_out():
    attn = nn.MultiheadAttention(16, 4)

    def cross(q, memory):
        out, _ = attn(q, memory, memory)  # raises
        return out

    names = {"q": "batch S n_embd", "memory": "batch src n_embd"}
    return cross, (torch.randn(2, 1, 16), torch.randn(2, 23, 16)), names


@raises(RuntimeError, "a (batch=1, S=5", "hq")
def equal_chunks_for_grouped_queries():
    def split(qkv, hq=4, d=8):
        batch, S, _ = qkv.shape
        a, b, c = qkv.chunk(3, -1)
        return a.view(batch, S, hq, d)  # raises

    return split, (torch.randn(1, 5, 64),), "batch S qkv_width"


# cat and stack


@raises(
    RuntimeError,
    "past (batch=2, heads=3, cached=7, H=4)",
    "k (batch=2, S=1, heads=3, H=4)",
    suggestion="k.transpose(1, 2)",
)
def cache_in_another_layout():
    def extend(past, k):
        return torch.cat([past, k], dim=2)  # raises

    names = {"past": "batch heads cached H", "k": "batch S heads H"}
    return extend, (torch.randn(2, 3, 7, 4), torch.randn(2, 1, 3, 4)), names


@raises(
    RuntimeError,
    "a (batch=2, S=5, H=4)",
    "b (batch=2, S=5, Hv=6)",
    suggestion="torch.cat((a, b), dim=-1)",
)
def heads_of_two_sizes_stacked():
    def both(a, b):
        return torch.stack((a, b), dim=-1)  # raises

    names = {"a": "batch S H", "b": "batch S Hv"}
    return both, (torch.randn(2, 5, 4), torch.randn(2, 5, 6)), names


@raises(RuntimeError, "cls (", "x (batch=2, S=5, n_embd=12)", suggestion="expand")
def class_token_not_expanded():
    class Tokens(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))

        def forward(self, x):
            cls = self.cls
            return torch.cat([cls, x], dim=1)  # raises

    return Tokens(12), (torch.randn(2, 5, 12),), "batch S n_embd"


# indices


@raises(IndexError, "k (batch=2, S=5, H=3)", suggestion="k.transpose(-2, -1)")
def axes_of_another_example():
    def attend(q, k, v):
        return q @ k.transpose(2, 3)  # raises

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


@raises(IndexError, "scores (batch=2, S=5, S=5)", suggestion="dim=-1")
def softmax_over_a_fourth_axis():
    def weigh(scores):
        return F.softmax(scores, dim=3)  # raises

    return weigh, (torch.randn(2, 5, 5),), "batch S S"


@raises(IndexError, "ids (batch=2, S=5)", "vocab")
def token_outside_the_vocabulary():
    class Embed(nn.Module):
        def __init__(self, vocab, n_embd):
            super().__init__()
            self.tok = nn.Embedding(vocab, n_embd)

        def forward(self, ids):
            return self.tok(ids)  # raises

    return Embed(10, 12), (torch.full((2, 5), 10),), "batch S"


@raises(IndexError, "block_size")
def longer_than_the_positions():
    class Embed(nn.Module):
        def __init__(self, block_size, n_embd):
            super().__init__()
            self.pos = nn.Embedding(block_size, n_embd)

        def forward(self, x):
            T = x.shape[1]
            positions = torch.arange(T)
            return x + self.pos(positions)  # raises

    return Embed(4, 12), (torch.randn(2, 5, 12),), "batch T n_embd"


# dtypes


@raises(RuntimeError, "scores (batch=2, S=5, S=5)", "float16", suggestion="-inf")
def fill_too_large_for_half():
    def hide(scores, mask):
        scores = scores.masked_fill(mask == 0, -1e9)  # raises
        return scores.softmax(-1)

    names = {"scores": "batch S S", "mask": "S S"}
    return hide, (torch.randn(2, 5, 5).half(), torch.ones(5, 5).tril()), names


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=12)",
    "float64",
    "float32",
    suggestion="x.to(torch.float32)",
)
def numpy_input():
    class Query(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.query = nn.Linear(n_embd, head_size)

        def forward(self, x):
            return self.query(x)  # raises

    rng = np.random.default_rng(0)
    return Query(12, 4), (torch.from_numpy(rng.normal(size=(2, 5, 12))),), "batch S n_embd"


@raises(RuntimeError, "blocked (S=5, S=5)", "float32", "bool", suggestion="blocked.bool()")
def float_mask():
    def hide(scores, blocked):
        return scores.masked_fill(blocked, float("-inf"))  # raises

    names = {"scores": "batch S S", "blocked": "S S"}
    return hide, (torch.randn(2, 5, 5), torch.ones(5, 5).triu(1)), names


@raises(RuntimeError, "ids (batch=2, S=12)", "int64", "embed")
def ids_given_to_a_projection():
    class Project(nn.Module):
        def __init__(self, width, head_size):
            super().__init__()
            self.query = nn.Linear(width, head_size)

        def forward(self, ids):
            return self.query(ids)  # raises

    return Project(12, 4), (torch.randint(0, 9, (2, 12)),), "batch S"


@raises(RuntimeError, "mask", "int64", "bool", suggestion="mask.bool()")
def integer_mask_for_the_fused_kernel():
    def attend(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # raises

    mask = torch.ones(5, 5, dtype=torch.long).tril()
    return attend, (*torch.randn(3, 2, 3, 5, 4), mask), {**QKV4, "mask": "S S"}


@raises(
    RuntimeError, "q (batch=2, S=5, H=3)", "float16", "float32", suggestion="k.mT.to(torch.float16)"
)
def half_queries_whole_keys():
    def attend(q, k, v):
        weights = torch.softmax(q @ k.mT, -1)  # raises
        return weights @ v

    q, k, v = torch.randn(3, 2, 5, 3)
    return attend, (q.half(), k, v), QKV


@raises(RuntimeError, "ids (batch=2, S=5)", "bfloat16", suggestion="ids.long()")
def ids_cast_with_the_model():
    tok = nn.Embedding(300, 12)

    def embed(ids):
        return tok(ids)  # raises

    return embed, (torch.randint(0, 256, (2, 5)).bfloat16(),), "batch S"


@raises(
    RuntimeError,
    "w (batch=2, S=5, S=5)",
    "v (batch=2, S=5, H=3)",
    "float64",
    "float32",
    suggestion="w.to(torch.float32)",
)
def one_element_double_scale():
    def attend(q, k, v):
        s = q @ k.mT / torch.tensor(np.sqrt([3.0]))
        w = torch.softmax(s, -1)
        return w @ v  # raises

    return attend, tuple(torch.randn(3, 2, 5, 3)), QKV


# devices


@raises(RuntimeError, "scores (batch=2, S=5, S=5)", "meta", "cpu", suggestion=".to(scores.device)")
def mask_made_on_the_cpu():
    def hide(scores):
        S = scores.size(-1)
        return scores.masked_fill(torch.ones(S, S).triu(1).bool(), float("-inf"))  # raises

    return hide, (torch.randn(2, 5, 5, device="meta"),), "batch S S"


@raises(
    RuntimeError,
    "scores (batch=2, S=5, S=5)",
    "hidden (S=5, S=5)",
    "meta",
    "cpu",
    suggestion="hidden.to(",
)
def mask_left_on_the_cpu():
    class Masked(nn.Module):
        def __init__(self, block_size):
            super().__init__()
            self.hidden = torch.ones(block_size, block_size).triu(1).bool()

        def forward(self, scores):
            S = scores.shape[1]
            hidden = self.hidden[:S, :S]
            return scores.masked_fill(hidden, float("-inf"))  # raises

    return Masked(16), (torch.randn(2, 5, 5, device="meta"),), "batch S S"
