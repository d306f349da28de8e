"""Thirty-three programs that raise, with what an explanation has to say and which fixes are good.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 28 of 33 met in full; the exception's type, the line and the words in 33, the fix in 28.
The failing line ends with ``# raises``; no fix is asked for where ``suggestion`` is empty.
"""

# The code is kept in the style that it was written in.
# ruff: noqa: E731, RUF005

from __future__ import annotations

import einops
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

RAISING = {}


def raises(kind, *words, suggestion=()):
    def add(build):
        RAISING[build.__name__] = (build, kind, words, suggestion)
        return build

    return add


def swap(name, *pairs):
    """All usual spellings of a transposition of `name`."""
    out = []
    for i, j in pairs:
        for a, b in ((i, j), (j, i)):
            for call in ("transpose", "swapaxes", "swapdims"):
                out.append(f"{name}.{call}({a}, {b})")
            out.append(f"torch.transpose({name}, {a}, {b})")
    return tuple(out)


# ---------------------------------------------------------------- matmul, bmm, einsum, linear
@raises(
    RuntimeError,
    "enc (S=7, batch=2, H=4)",
    "hidden.unsqueeze(2) (batch=2, H=4, 1)",
    "S",
    "batch",
    suggestion=swap("enc", (0, 1)) + ("enc.permute(1, 0, 2)",),
)
def dot_bmm_seq_first():
    def score(hidden, enc):
        return torch.bmm(enc, hidden.unsqueeze(2)).squeeze(2)  # raises

    return (
        score,
        (torch.randn(2, 4), torch.randn(7, 2, 4)),
        {"hidden": "batch H", "enc": "S batch H"},
    )


@raises(
    RuntimeError,
    "q (batch=2, S=5, H=4)",
    "k.T (H=4, S=5, batch=2)",
    "batch",
    "H",
    suggestion=("k.mT",) + swap("k", (-2, -1), (1, 2), (1, -1), (2, -2)) + ("k.permute(0, 2, 1)",),
)
def numpy_dot_T_of_batch():
    attention = lambda q, k: (
        q @ k.T / q.shape[-1] ** 0.5  # raises
    )
    d = "batch S H"
    return attention, (torch.randn(2, 5, 4), torch.randn(2, 5, 4)), {"q": d, "k": d}


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=8)",
    "n_embd",
    "d_ff",
    suggestion=(
        "kernel.T",
        "kernel.t()",
        "kernel.mT",
        "x @ kernel",
        "torch.matmul(x, kernel)",
        "kernel.permute(1, 0)",
    )
    + swap("kernel", (0, 1), (-2, -1)),
)
def flax_kernel_in_linear():
    def mlp(x, kernel):
        return F.relu(F.linear(x, kernel))  # raises

    return (
        mlp,
        (torch.randn(2, 5, 8), torch.randn(8, 6)),
        {"x": "batch S n_embd", "kernel": "n_embd d_ff"},
    )


@raises(
    RuntimeError,
    "q (batch=2, S=5, heads=3, H=4)",
    "k (batch=2, heads=3, S=5, H=4)",
    "heads",
    "S",
    suggestion=("nlhd,nhmd->nhlm",) + swap("k", (1, 2)) + ("k.permute(0, 2, 1, 3)",),
)
def einsum_odd_letters_cached_key():
    def fn(q, k):
        logits = torch.einsum("nlhd,nmhd->nhlm", q, k)  # raises
        return logits.softmax(3)

    dims = {"q": "batch S heads H", "k": "batch heads S H"}
    return fn, (torch.randn(2, 5, 3, 4), torch.randn(2, 3, 5, 4)), dims


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=4)",
    "k.transpose(1, 2) (batch=2, H=4, S=5)",
    "heads",
    "batch",
    suggestion=(
        "k.unsqueeze(1)",
        "k[:, None]",
        "k.transpose(1, 2).unsqueeze(1)",
        "k.transpose(1, 2)[:, None]",
        "k[:, None, :, :]",
        "k.transpose(1, 2)[:, None, :, :]",
        "k.mT.unsqueeze(1)",
    ),
)
def multi_query_single_key_head():
    def fn(q, k):
        att = torch.matmul(q, k.transpose(1, 2))  # raises
        return att.softmax(-1)

    return (
        fn,
        (torch.randn(2, 3, 5, 4), torch.randn(2, 5, 4)),
        {"q": "batch heads S H", "k": "batch S H"},
    )


@raises(
    RuntimeError,
    "q (batch=2, heads=6, S=5, H=4)",
    "k.mT (batch=2, kv_heads=3, H=4, S=5)",
    "heads",
    "kv_heads",
    suggestion=("k.repeat_interleave(", "k.mT.repeat_interleave(", "torch.repeat_interleave(k"),
)
def grouped_query_without_repeat():
    def fn(q, k, v):
        att = q @ k.mT  # raises
        return att.softmax(-1) @ v

    kv = "batch kv_heads S H"
    args = (torch.randn(2, 6, 5, 4), torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4))
    return fn, args, {"q": "batch heads S H", "k": kv, "v": kv}


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=4)",
    suggestion=("torch.matmul(", "q @ ", "torch.einsum(", ".flatten(0, 1)"),
)
def bmm_on_four_dims():
    def fn(q, k):
        return torch.bmm(q, k.transpose(-2, -1)).softmax(-1)  # raises

    d = "batch heads S H"
    return fn, (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)), {"q": d, "k": d}


@raises(
    RuntimeError,
    "feats (batch=2, C=6, L=9)",
    "C",
    "L",
    suggestion=("feats.mT", "feats.permute(0, 2, 1)") + swap("feats", (1, 2), (-2, -1), (1, -1)),
)
def linear_after_conv1d():
    class Speech(nn.Module):
        def __init__(self, mels, C, n_embd):
            super().__init__()
            self.conv = nn.Conv1d(mels, C, 3, padding=1)
            self.query = nn.Linear(C, n_embd)

        def forward(self, audio):
            feats = self.conv(audio)
            q = self.query(feats)  # raises
            return q

    return Speech(8, 6, 10), (torch.randn(2, 8, 9),), "batch mels L"


@raises(
    RuntimeError, "attn (batch=2, heads=3, S=5, T=7)", "q (batch=2, heads=3, S=5, H=4)", "T", "S"
)
def cross_attention_times_query():
    def cross(q, k, v):
        attn = (q @ k.transpose(-2, -1)).softmax(-1)
        return attn @ q  # raises

    kv = "batch heads T H"
    args = (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4))
    return cross, args, {"q": "batch heads S H", "k": kv, "v": kv}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=8)", "Wq (heads=3, n_embd=8, H=4)", "n_embd", "heads"
)
def tensordot_default_axis():
    def project(x, Wq):
        return torch.tensordot(x, Wq, dims=1)  # raises

    return (
        project,
        (torch.randn(2, 5, 8), torch.randn(3, 8, 4)),
        {"x": "batch S n_embd", "Wq": "heads n_embd H"},
    )


# ---------------------------------------------------------------- broadcasting
@raises(
    RuntimeError,
    "x (batch=2, S=5, heads=3, H=4)",
    "cos (S=5, H=4)",
    "heads",
    "S",
    suggestion=(
        "cos[:, None, :]",
        "cos[:, None]",
        "cos.unsqueeze(1)",
        "cos[None, :, None, :]",
        "cos[None, :, None]",
        "cos.unsqueeze(-2)",
        "cos[..., None, :]",
    ),
)
def rope_cos_without_head_axis():
    def rope(x, cos, sin):
        a, b = x.chunk(2, -1)
        turned = torch.cat((-b, a), -1)
        out = x * cos  # raises
        return out + turned * sin[:, None, :]

    args = (torch.randn(2, 5, 3, 4), torch.randn(5, 4), torch.randn(5, 4))
    return rope, args, {"x": "batch S heads H", "cos": "S H", "sin": "S H"}


@raises(
    RuntimeError,
    "scores (batch=2, n_heads=3, S=5, S=5)",
    "bias (S=5, S=5, n_heads=3)",
    "n_heads",
    "S",
    suggestion=(
        "bias.permute(2, 0, 1)",
        "bias.movedim(-1, 0)",
        "bias.movedim(2, 0)",
        "bias.moveaxis(-1, 0)",
        "bias.permute((2, 0, 1))",
        "bias.permute(-1, 0, 1)",
    ),
)
def bucket_bias_heads_last():
    class Bias(nn.Module):
        def __init__(self, n_heads, n_buckets):
            super().__init__()
            self.table = nn.Embedding(n_buckets, n_heads)

        def forward(self, q, k):
            S = q.size(2)
            scores = q @ k.mT
            pos = torch.arange(S)
            bias = self.table((pos[None] - pos[:, None]).abs())
            return scores + bias  # raises

    d = "batch n_heads S H"
    return Bias(3, 16), (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)), {"q": d, "k": d}


@raises(
    RuntimeError,
    "x (batch=2, C=6, height=7, width=5)",
    "gate (batch=2, C=6)",
    suggestion=(
        "gate[:, :, None, None]",
        "gate[..., None, None]",
        "gate.unsqueeze(-1).unsqueeze(-1)",
        "gate.unsqueeze(2).unsqueeze(3)",
        "gate.unsqueeze(2).unsqueeze(2)",
        "gate.view(",
        "gate.reshape(",
    ),
)
def channel_gate_without_spatial_axes():
    class SE(nn.Module):
        def __init__(self, C):
            super().__init__()
            self.fc = nn.Linear(C, C)

        def forward(self, x):
            gate = self.fc(x.mean(dim=(2, 3))).sigmoid()
            return x * gate  # raises

    return SE(6), (torch.randn(2, 6, 7, 5),), "batch C height width"


@raises(
    RuntimeError,
    "e (batch=2, n_q=5, n_k=7)",
    "e.sum(axis=-1) (batch=2, n_q=5)",
    "n_k",
    "n_q",
    suggestion=(
        "keepdim=True",
        "keepdims=True",
        "e.sum(axis=-1).unsqueeze(-1)",
        "e.sum(axis=-1).unsqueeze(2)",
        "e.sum(axis=-1)[..., None]",
        "e.sum(axis=-1)[:, :, None]",
    ),
)
def numpy_softmax_lost_axis():
    def softmax_attention(Q, K):
        e = torch.exp(torch.einsum("bid,bjd->bij", Q, K))
        return e / e.sum(axis=-1)  # raises

    return (
        softmax_attention,
        (torch.randn(2, 5, 4), torch.randn(2, 7, 4)),
        {"Q": "batch n_q d", "K": "batch n_k d"},
    )


@raises(
    RuntimeError,
    "steps (S=5)",
    "lengths (batch=2)",
    "S",
    "batch",
    suggestion=(
        "lengths[:, None]",
        "lengths.unsqueeze(1)",
        "lengths.unsqueeze(-1)",
        "lengths[..., None]",
        "lengths.view(-1, 1)",
        "lengths.reshape(-1, 1)",
    ),
)
def length_mask_comparison():
    def masked_mean(x, lengths):
        S = x.shape[1]
        steps = torch.arange(S)
        keep = steps < lengths  # raises
        return (x * keep[..., None]).sum(1)

    return (
        masked_mean,
        (torch.randn(2, 5, 4), torch.tensor([5, 3])),
        {"x": "batch S H", "lengths": "batch"},
    )


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=8)",
    "out (S=5, batch=2, n_embd=8)",
    "batch",
    "S",
    suggestion=swap("out", (0, 1)) + ("out.permute(1, 0, 2)",),
)
def residual_of_seq_first_output():
    def residual(x, mix):
        out = torch.einsum("st,btd->sbd", mix, x)
        return x + out  # raises

    return (
        residual,
        (torch.randn(2, 5, 8), torch.randn(5, 5)),
        {"x": "batch S n_embd", "mix": "S S"},
    )


@raises(
    RuntimeError,
    "slopes (heads=3)",
    "dist (S=5, S=5)",
    "S",
    "heads",
    suggestion=(
        "slopes[:, None, None]",
        "slopes.view(-1, 1, 1)",
        "slopes.unsqueeze(-1).unsqueeze(-1)",
        "slopes.unsqueeze(1).unsqueeze(2)",
        "slopes.unsqueeze(1).unsqueeze(1)",
        "slopes.reshape(-1, 1, 1)",
        "slopes[..., None, None]",
        "slopes.view(heads, 1, 1)",
        "slopes.view(3, 1, 1)",
        "torch.einsum(",
    ),
)
def alibi_slopes_times_distance():
    def add_alibi(scores, slopes):
        batch, heads, S, _ = scores.shape
        pos = torch.arange(S)
        dist = (pos[:, None] - pos[None, :]).abs()
        return scores - slopes * dist  # raises

    return (
        add_alibi,
        (torch.randn(2, 3, 5, 5), torch.rand(3)),
        {"scores": "batch heads S S", "slopes": "heads"},
    )


# ---------------------------------------------------------------- masks
@raises(
    RuntimeError,
    "scores (batch=2, heads=3, S=5, S=5)",
    "pad (batch=2, S=5)",
    "batch",
    "S",
    suggestion=(
        "pad[:, None, None, :]",
        "pad[:, None, None]",
        "pad.unsqueeze(1).unsqueeze(2)",
        "pad.unsqueeze(1).unsqueeze(1)",
        "pad.view(",
        "pad.reshape(",
    ),
)
def padding_mask_without_axes():
    def fn(scores, pad):
        scores = scores.masked_fill(pad, float("-inf"))  # raises
        return scores.softmax(-1)

    pad = torch.zeros(2, 5, dtype=torch.bool)
    return fn, (torch.randn(2, 3, 5, 5), pad), {"scores": "batch heads S S", "pad": "batch S"}


@raises(
    RuntimeError,
    "mask",
    "bool",
    suggestion=(
        "mask.bool()",
        "mask == 1",
        "mask > 0",
        "mask != 0",
        "mask.to(torch.bool)",
        "mask.type(torch.bool)",
        "mask.to(dtype=torch.bool)",
        "mask >= 1",
        "mask > 0.5",
    ),
)
def float_causal_mask():
    def fn(scores):
        T = scores.size(-1)
        mask = torch.triu(torch.ones(T, T), diagonal=1)
        return scores.masked_fill(mask, float("-inf")).softmax(-1)  # raises

    return fn, (torch.randn(2, 3, 5, 5),), "batch heads S S"


@raises(
    RuntimeError,
    "keep (batch=2, S=7)",
    "batch",
    "S",
    suggestion=(
        "keep[:, None, None, :]",
        "keep[:, None, None]",
        "keep.unsqueeze(1).unsqueeze(2)",
        "keep.unsqueeze(1).unsqueeze(1)",
        "keep.view(",
        "keep.reshape(",
    ),
)
def sdpa_padding_mask_two_dims():
    def fn(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # raises

    make = lambda: torch.randn(2, 3, 7, 4)
    d = "batch heads S H"
    args = (make(), make(), make(), torch.ones(2, 7, dtype=torch.bool))
    return fn, args, {"q": d, "k": d, "v": d, "keep": "batch S"}


# ---------------------------------------------------------------- views, cat, stack, einops
@raises(
    RuntimeError,
    "y.permute(0, 2, 1, 3) (batch=2, S=5, heads=3, H=4)",
    suggestion=(
        ".contiguous().view(",
        ".reshape(",
        ".flatten(2)",
        ".flatten(-2)",
        ".flatten(2, 3)",
        ".flatten(-2, -1)",
    ),
)
def view_after_permute():
    def merge(y):
        batch, heads, S, H = y.shape
        return y.permute(0, 2, 1, 3).view(batch, S, heads * H)  # raises

    return merge, (torch.randn(2, 3, 5, 4),), "batch heads S H"


@raises(RuntimeError, "n_embd", "n_heads")
def heads_do_not_divide():
    class Split(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.head_dim = n_embd // n_heads
            self.q = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            B, T, n_embd = x.shape
            q = self.q(x)
            return q.view(B, T, self.n_heads, self.head_dim).transpose(1, 2)  # raises

    return Split(10, 3), (torch.randn(2, 5, 10),), "B T n_embd"


@raises(
    RuntimeError,
    "past_k (batch=2, heads=3, past=6, H=4)",
    "k (batch=2, heads=3, T=1, H=4)",
    "past",
    "T",
    suggestion=("dim=2", "dim=-2", "axis=2", "axis=-2", "k], 2)", "k], -2)", "k), 2)", "k), -2)"),
)
def cache_cat_wrong_dim():
    def step(q, k, past_k):
        keys = torch.cat([past_k, k], dim=1)  # raises
        return q @ keys.mT

    d = "batch heads T H"
    args = (torch.randn(2, 3, 1, 4), torch.randn(2, 3, 1, 4), torch.randn(2, 3, 6, 4))
    return step, args, {"q": d, "k": d, "past_k": "batch heads past H"}


@raises(
    RuntimeError,
    "self.cls (1, 1, n_embd=8)",
    "x (batch=2, S=5, n_embd=8)",
    "batch",
    suggestion=("self.cls.expand(", "self.cls.repeat(", "self.cls.expand_as(", "self.cls.tile("),
)
def cls_token_not_expanded():
    class WithCls(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))

        def forward(self, x):
            x = torch.cat([self.cls, x], dim=1)  # raises
            return x

    return WithCls(8), (torch.randn(2, 5, 8),), "batch S n_embd"


@raises(RuntimeError, "states (batch=2, T=5, n_embd=8)", "returns (batch=2, T=5)")
def stack_scalars_with_states():
    # returns-to-go were never embedded
    def interleave(returns, states):
        return torch.stack((returns, states), dim=2).flatten(1, 2)  # raises

    args = (torch.randn(2, 5), torch.randn(2, 5, 8))
    return interleave, args, {"returns": "batch T", "states": "batch T n_embd"}


@raises(einops.EinopsError, "tokens (batch=2, n_tokens=17, n_embd=8)")
def einops_grid_with_cls_token():
    # 16 patches and a cls token
    def to_grid(tokens, side=4):
        return rearrange(tokens, "b (h w) c -> b c h w", h=side)  # raises

    return to_grid, (torch.randn(2, 17, 8),), "batch n_tokens n_embd"


@raises(
    einops.EinopsError,
    "x (batch=2, S=5, n_embd=12)",
    suggestion=("b n (h d) -> b h n d", "b n (h d)->b h n d"),
)
def einops_wrong_number_of_axes():
    def split(x, heads=3):
        return rearrange(x, "b n h d -> b h n d", h=heads)  # raises

    return split, (torch.randn(2, 5, 12),), "batch S n_embd"


# ---------------------------------------------------------------- indices and dtypes
@raises(IndexError, "block_size")
def position_beyond_block_size():
    class Embed(nn.Module):
        def __init__(self, vocab, block_size, n_embd):
            super().__init__()
            self.wte = nn.Embedding(vocab, n_embd)
            self.wpe = nn.Embedding(block_size, n_embd)

        def forward(self, idx):
            pos = torch.arange(idx.shape[1])
            tok = self.wte(idx)
            return tok + self.wpe(pos)  # raises

    return Embed(20, 4, 8), (torch.arange(12).view(2, 6),), "batch S"


@raises(
    RuntimeError,
    "probs (batch=2, heads=3, S=5, S=5)",
    "v (batch=2, heads=3, S=5, H=4)",
    suggestion=(
        "probs.to(v.dtype)",
        "probs.to(v)",
        "probs.type_as(v)",
        "probs.half()",
        "v.float()",
        "v.to(probs.dtype)",
        "v.to(probs)",
        "v.type_as(probs)",
        "probs.to(torch.float16)",
        "v.to(torch.float32)",
        "v.to(torch.float)",
        "probs.to(torch.half)",
        "probs.to(dtype=v.dtype)",
        "v.to(dtype=probs.dtype)",
    ),
)
def float_softmax_times_half_values():
    def fn(q, k, v):
        probs = torch.softmax((q @ k.mT).float(), dim=-1)
        return probs @ v  # raises

    make = lambda: torch.randn(2, 3, 5, 4).half()
    d = "batch heads S H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@raises(
    RuntimeError,
    "counts (batch=2, S=5, n_feat=6)",
    suggestion=(
        "counts.float()",
        "counts.to(torch.float32)",
        "counts.to(torch.float)",
        "counts.type(torch.float32)",
        "counts.to(self.proj.weight.dtype)",
        "counts.to(self.proj.weight)",
        "counts.type_as(self.proj.weight)",
        "counts.to(dtype=torch.float32)",
        "counts.to(torch.get_default_dtype())",
        "counts.type(torch.float)",
    ),
)
def integer_series_into_linear():
    class Forecaster(nn.Module):
        def __init__(self, n_feat, n_embd):
            super().__init__()
            self.proj = nn.Linear(n_feat, n_embd)

        def forward(self, counts):
            h = self.proj(counts)  # raises
            return torch.softmax(h @ h.mT, -1) @ h

    return Forecaster(6, 8), (torch.arange(60).view(2, 5, 6),), "batch S n_feat"


@raises(
    RuntimeError,
    "onehot (batch=2, S=5, vocab=9)",
    "table (vocab=9, n_embd=8)",
    suggestion=(
        "onehot.float()",
        "onehot.to(table.dtype)",
        "onehot.to(table)",
        "onehot.type_as(table)",
        "table[ids]",
        "onehot.to(torch.float32)",
        "onehot.to(torch.float)",
        "onehot.to(dtype=table.dtype)",
        "onehot.type(torch.float32)",
        "F.embedding(ids, table)",
    ),
)
def onehot_lookup_like_tensorflow():
    def embed(ids, table):
        vocab, n_embd = table.shape
        onehot = F.one_hot(ids, vocab)
        return onehot @ table  # raises

    args = (torch.arange(10).view(2, 5) % 9, torch.randn(9, 8))
    return embed, args, {"ids": "batch S", "table": "vocab n_embd"}


@raises(
    IndexError,
    "bins (batch=2, S=5, S=5)",
    suggestion=(
        "bins.long()",
        "bins.int()",
        "bins.to(torch.int64)",
        "bins.to(torch.long)",
        "bins.to(torch.int32)",
        "bins.type(torch.long)",
        "bins.to(dtype=torch.long)",
        "bins.to(dtype=torch.int64)",
        "bins.type(torch.int64)",
        "bins.to(torch.int)",
    ),
)
def float_bins_as_index():
    def bucket_bias(times, bias_table):
        gap = (times[:, :, None] - times[:, None, :]).abs()
        bins = torch.log2(gap + 1).floor().clamp(max=7)
        return bias_table[bins].permute(0, 3, 1, 2)  # raises

    args = (torch.rand(2, 5) * 50, torch.randn(8, 3))
    return bucket_bias, args, {"times": "batch S", "bias_table": "n_bins heads"}


@raises(IndexError, "hidden (n_layers=1, batch=2, H=6)", "n_layers")
def gru_second_layer_state():
    class Reader(nn.Module):
        def __init__(self, n_feat, H):
            super().__init__()
            self.rnn = nn.GRU(n_feat, H, batch_first=True)

        def forward(self, hidden, x):
            out, _ = self.rnn(x, hidden)
            query = hidden[1]  # raises
            return torch.bmm(out, query[:, :, None]).squeeze(2)

    args = (torch.zeros(1, 2, 6), torch.randn(2, 5, 4))
    return Reader(4, 6), args, {"hidden": "n_layers batch H", "x": "batch S n_feat"}
