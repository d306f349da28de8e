"""Thirty-eight programs that raise, with what an explanation has to say and which fixes are good.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 24 of 38 met in full; the exception's type and line in 38, the words in 37, the fix in
24.
The failing line ends with ``# raises``; no fix is asked for where ``suggestion`` is empty.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import EinopsError, rearrange, repeat

RAISING = {}


def raises(kind, *words, suggestion=()):
    def add(build):
        RAISING[build.__name__] = (build, kind, words, tuple(suggestion))
        return build

    return add


# ---------------------------------------------------------------- contractions
@raises(
    RuntimeError,
    "attn (batch=2, src=7, tgt=5)",
    "v (batch=2, src=7, H=4)",
    "src",
    "tgt",
    suggestion=(
        "attn.transpose(1,2)",
        "attn.transpose(2,1)",
        "attn.transpose(-2,-1)",
        "attn.transpose(-1,-2)",
        "attn.mT",
        "attn.permute(0,2,1)",
        "attn.swapaxes",
    ),
)
def context_from_transposed_weights():
    # alignment with the source first
    def context(enc, dec, v):
        attn = torch.einsum("bsd,btd->bst", enc, dec).softmax(dim=1)
        return torch.matmul(attn, v)  # raises

    return (
        context,
        (torch.randn(2, 7, 6), torch.randn(2, 5, 6), torch.randn(2, 7, 4)),
        {"enc": "batch src D", "dec": "batch tgt D", "v": "batch src H"},
    )


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=4)",
    "k.transpose(-2, -1) (batch=2, heads=3, H=4, S=5)",
    suggestion=(
        "q @ k",
        "torch.matmul(q",
        "torch.einsum(",
        "q.flatten(0,1)",
        "q.matmul(",
        "q.reshape(",
        "q.view(",
    ),
)
def bmm_on_four_axes():
    def scores(q, k):
        B, h, S, D = q.shape
        w = torch.bmm(q, k.transpose(-2, -1)) / math.sqrt(D)  # raises
        return w.softmax(-1)

    q, k = torch.randn(2, 2, 3, 5, 4)
    return scores, (q, k), {"q": "batch heads S H", "k": "batch heads S H"}


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=4)",
    "k (batch=2, S=5, heads=3, H=4)",
    "heads",
    "S",
    suggestion=(
        "bhid,bjhd->bhij",
        "k.transpose(1,2)",
        "k.transpose(2,1)",
        "k.permute(0,2,1,3)",
        "k.swapaxes(1,2)",
    ),
)
def einsum_key_still_token_major():
    def scores(q, k):
        return torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5  # raises

    return (
        scores,
        (torch.randn(2, 3, 5, 4), torch.randn(2, 5, 3, 4)),
        {"q": "batch heads S H", "k": "batch S heads H"},
    )


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=4)",
    suggestion=(
        "bhnd,bhmd->bhnm",
        "...nd,...md->...nm",
        "q.flatten(0,1)",
        "q.reshape(",
        "q @ k",
        "torch.matmul(q",
    ),
)
def einsum_without_the_head_letter():
    def scores(q, k):
        sim = torch.einsum("bnd,bmd->bnm", q, k)  # raises
        return sim.softmax(-1)

    q, k = torch.randn(2, 2, 3, 5, 4)
    return scores, (q, k), {"q": "batch heads S H", "k": "batch heads S H"}


class ConvThenProject(nn.Module):
    def __init__(self, n_mels, d_model, d_out):
        super().__init__()
        self.conv = nn.Conv1d(n_mels, d_model, 3, padding=1)
        self.proj = nn.Linear(d_model, d_out)

    def forward(self, mels):
        h = F.gelu(self.conv(mels))
        return self.proj(h)  # raises


@raises(
    RuntimeError,
    "h (batch=2, d_model=6, frames=9)",
    "frames",
    "d_model",
    suggestion=(
        "h.transpose(1,2)",
        "h.transpose(2,1)",
        "h.transpose(-1,-2)",
        "h.transpose(-2,-1)",
        "h.mT",
        "h.permute(0,2,1)",
        "h.swapaxes",
    ),
)
def projection_of_channels_first():
    return ConvThenProject(4, 6, 10), (torch.randn(2, 4, 9),), "batch n_mels frames"


class SpeechConvs(nn.Module):
    def __init__(self, n_mels, d_model):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, d_model, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(d_model, d_model, kernel_size=3, stride=2, padding=1)

    def forward(self, mels):
        x = F.gelu(self.conv1(mels))  # raises
        return F.gelu(self.conv2(x)).permute(0, 2, 1)


@raises(
    RuntimeError,
    "mels (batch=2, frames=10, n_mels=8)",
    "frames",
    "n_mels",
    suggestion=(
        "mels.transpose(1,2)",
        "mels.transpose(2,1)",
        "mels.transpose(-1,-2)",
        "mels.transpose(-2,-1)",
        "mels.mT",
        "mels.permute(0,2,1)",
        "mels.swapaxes",
    ),
)
def spectrogram_time_first():
    return SpeechConvs(8, 6), (torch.randn(2, 10, 8),), "batch frames n_mels"


@raises(
    RuntimeError,
    "attn (batch=2, heads=3, S=5, S=5)",
    "heads",
    "S",
    suggestion=(
        "attn.permute(0,2,3,1)",
        "attn.transpose(1,3)",
        "attn.transpose(1,-1)",
        "attn.transpose(-1,1)",
        "attn.transpose(3,1)",
        "attn.movedim(1",
        "attn.permute(0,3,2,1)",
        "torch.einsum(",
    ),
)
def talking_heads_on_the_wrong_axis():
    class Talk(nn.Module):
        def __init__(self, heads):
            super().__init__()
            self.mix = nn.Linear(heads, heads, bias=False)

        def forward(self, q, k):
            attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
            return self.mix(attn)  # raises

    q, k = torch.randn(2, 2, 3, 5, 4)
    return Talk(3), (q, k), {"q": "batch heads S H", "k": "batch heads S H"}


@raises(
    RuntimeError,
    "q (batch=2, n_heads=4, S=5, H=8)",
    "n_heads",
    "n_kv",
    suggestion=("repeat_interleave(", ".expand(", "q.view(", "q.reshape(", "q.unflatten("),
)
def grouped_keys_not_repeated():
    def gqa(q, k):
        kt = k.transpose(-2, -1)
        w = q @ kt  # raises
        return (w / q.size(-1) ** 0.5).softmax(-1)

    return (
        gqa,
        (torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)),
        {"q": "batch n_heads S H", "k": "batch n_kv S H"},
    )


@raises(
    RuntimeError,
    "k.transpose(1, 2) (batch=2, H=4, S=5)",
    "batch",
    "heads",
    suggestion=("repeat_interleave(", ".expand("),
)
def shared_key_against_folded_heads():
    # one key head for all query heads
    def mqa(q, k):
        batch, heads, S, H = q.shape
        q = q.reshape(batch * heads, S, H)
        return torch.bmm(q, k.transpose(1, 2))  # raises

    return (
        mqa,
        (torch.randn(2, 3, 5, 4), torch.randn(2, 5, 4)),
        {"q": "batch heads S H", "k": "batch S H"},
    )


@raises(
    RuntimeError,
    "docs (batch=3, n_docs=7, D=6)",
    "query (batch=3, D=6)",
    suggestion=(
        "query.unsqueeze(-1)",
        "query.unsqueeze(2)",
        "query[..., None]",
        "query[:, :, None]",
        "torch.einsum(",
        "query[:, None]",
        "query.unsqueeze(1)",
    ),
)
def query_vector_without_axis():
    def score(docs, query):
        s = docs @ query  # raises
        return s.topk(2, dim=1).indices

    return (
        score,
        (torch.randn(3, 7, 6), torch.randn(3, 6)),
        {"docs": "batch n_docs D", "query": "batch D"},
    )


@raises(
    RuntimeError,
    "k.T (H=4, S=5, batch=2)",
    "q (batch=2, S=5, H=4)",
    suggestion=(
        "k.mT",
        "k.transpose(1,2)",
        "k.transpose(2,1)",
        "k.transpose(-1,-2)",
        "k.transpose(-2,-1)",
        "k.permute(0,2,1)",
        "k.swapaxes",
    ),
)
def numpy_style_transpose():
    def self_scores(q, k):
        return (q @ k.T) * q.shape[-1] ** -0.5  # raises

    q, k = torch.randn(2, 2, 5, 4)
    return self_scores, (q, k), {"q": "batch S H", "k": "batch S H"}


# ---------------------------------------------------------------- broadcasting
@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=6)",
    "table (max_len=16, n_embd=6)",
    "S",
    "max_len",
    suggestion=("table[:",),
)
def whole_position_table():
    def embed(x, table):
        return x + table  # raises

    return (
        embed,
        (torch.randn(2, 5, 6), torch.randn(16, 6)),
        {"x": "batch S n_embd", "table": "max_len n_embd"},
    )


@raises(
    RuntimeError,
    "q (batch=2, S=5, heads=3, H=4)",
    "cos (S=5, H=4)",
    "S",
    "heads",
    suggestion=(
        "cos[:, None]",
        "cos[:, None, :]",
        "cos.unsqueeze(1)",
        "cos.unsqueeze(-2)",
        "cos[None, :, None]",
        "cos[..., None, :]",
    ),
)
def rotary_in_token_major_layout():
    def rotate(q, cos, sin):
        a, b = q.chunk(2, dim=-1)
        turned = torch.cat((-b, a), dim=-1)
        real = q * cos  # raises
        return real + turned * sin

    angle = torch.randn(5, 4)
    return (
        rotate,
        (torch.randn(2, 5, 3, 4), angle.cos(), angle.sin()),
        {"q": "batch S heads H", "cos": "S H", "sin": "S H"},
    )


@raises(
    RuntimeError,
    "gates.unsqueeze(-1) (tokens=6, experts=4, 1)",
    "outs (experts=4, tokens=6, D=3)",
    "tokens",
    "experts",
    suggestion=(
        "gates.T",
        "gates.t()",
        "gates.mT",
        "gates.transpose(",
        "gates.permute(1,0)",
        "torch.einsum(",
        "gates.swapaxes",
        "gates.unsqueeze(-1).transpose(",
        "gates.unsqueeze(-1).permute(",
        "gates.unsqueeze(-1).swapaxes",
    ),
)
def gates_by_expert_outputs():
    def combine(x, w_gate, w_exp):
        gates = (x @ w_gate).softmax(-1)
        outs = torch.einsum("td,edf->etf", x, w_exp)
        return (gates.unsqueeze(-1) * outs).sum(0)  # raises

    return (
        combine,
        (torch.randn(6, 3), torch.randn(3, 4), torch.randn(4, 3, 3)),
        {"x": "tokens D", "w_gate": "D experts", "w_exp": "experts D D"},
    )


@raises(
    RuntimeError,
    "student (batch=2, s_heads=3, S=5, S=5)",
    "teacher (batch=2, t_heads=4, S=5, S=5)",
    "s_heads",
    "t_heads",
)
def distilled_maps_of_other_head_count():
    def att_loss(student, teacher):
        diff = student - teacher  # raises
        return diff.pow(2).mean()

    return (
        att_loss,
        (torch.rand(2, 3, 5, 5), torch.rand(2, 4, 5, 5)),
        {"student": "batch s_heads S S", "teacher": "batch t_heads S S"},
    )


@raises(
    RuntimeError,
    "target (batch=3, T=5)",
    "values (batch=3, T1=6)",
    "T",
    "T1",
    suggestion=(
        "values[:, :-1]",
        "values[:, :5]",
        "values[:, :T",
        "values[:, :target",
        "values[..., :",
        "values[:, :rewards",
        "values.narrow(",
    ),
)
def bootstrap_value_left_on():
    def td_error(rewards, values):
        target = rewards + 0.99 * values[:, 1:]
        delta = target - values  # raises
        return delta

    return (
        td_error,
        (torch.randn(3, 5), torch.randn(3, 6)),
        {"rewards": "batch T", "values": "batch T1"},
    )


class NoOutProjection(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.q = nn.Linear(n_embd, head_size)
        self.k = nn.Linear(n_embd, head_size)
        self.v = nn.Linear(n_embd, head_size)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + y  # raises


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=12)",
    "y (batch=2, S=5, head_size=4)",
    "n_embd",
    "head_size",
)
def residual_of_one_head():
    return NoOutProjection(12, 4), (torch.randn(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError,
    "x (batch=2, S=3, dim=8)",
    "gain (batch=2, dim=8)",
    "batch",
    "S",
    suggestion=(
        "gain[:, None]",
        "gain[:, None, :]",
        "gain.unsqueeze(1)",
        "gain.unsqueeze(-2)",
        "gain[..., None, :]",
        "gain.view(",
        "gain.reshape(",
    ),
)
def modulation_axis_missing():
    def modulate(x, cond, w):
        gain = 1 + F.silu(cond) @ w
        return x * gain  # raises

    return (
        modulate,
        (torch.randn(2, 3, 8), torch.randn(2, 4), torch.randn(4, 8)),
        {"x": "batch S dim", "cond": "batch d_cond", "w": "d_cond dim"},
    )


# ---------------------------------------------------------------------- views
@raises(
    RuntimeError,
    "y (batch=2, S=5, heads=3, H=4)",
    suggestion=(
        ".reshape(",
        ".contiguous().view(",
        ".flatten(2)",
        ".flatten(-2)",
        ".flatten(start_dim=2",
    ),
)
def merge_by_view():
    def merge(out):
        B, heads, S, H = out.shape
        y = out.transpose(1, 2)
        return y.view(B, S, heads * H)  # raises

    return merge, (torch.randn(2, 3, 5, 4),), "batch heads S H"


@raises(
    RuntimeError,
    "logits[:, :-1]",
    "vocab=7",
    suggestion=(".reshape(", ".contiguous().view(", ".flatten(0,1)", "logits.flatten("),
)
def shifted_logits_flattened():
    # the shift makes the slice non-contiguous
    def lm_loss(logits, labels):
        vocab = logits.size(-1)
        flat = logits[:, :-1].view(-1, vocab)  # raises
        return F.cross_entropy(flat, labels[:, 1:].reshape(-1))

    return (
        lm_loss,
        (torch.randn(2, 6, 7), torch.randint(0, 7, (2, 6))),
        {"logits": "batch S vocab", "labels": "batch S"},
    )


class UnevenHeads(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = n_embd // n_heads
        self.query = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q = self.query(x)
        return q.view(B, T, self.n_heads, self.head_dim).transpose(1, 2)  # raises


@raises(RuntimeError, "n_embd", "n_heads", "14", "4")
def heads_do_not_divide():
    return UnevenHeads(14, 4), (torch.randn(2, 5, 14),), "batch S n_embd"


class GridHead(nn.Module):
    def __init__(self, chans, dim, patch):
        super().__init__()
        self.embed = nn.Conv2d(chans, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))

    def forward(self, img):
        f = self.embed(img)
        B, D, gh, gw = f.shape
        tok = f.flatten(2).transpose(1, 2)
        tok = torch.cat([self.cls.expand(B, -1, -1), tok], dim=1)
        return tok.reshape(B, gh, gw, D)  # raises


@raises(RuntimeError, "gh", "gw", "13", suggestion=("tok[:, 1:].reshape(", "tok[:,1:]"))
def class_token_in_the_grid():
    return GridHead(3, 8, 2), (torch.randn(2, 3, 6, 8),), "batch chans height width"


# ------------------------------------------------------------------ cat, stack
@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=6)",
    "batch",
    suggestion=(".expand(", ".repeat(", "expand_as("),
)
def class_token_of_one_row():
    def prepend(x, cls):
        return torch.cat((cls, x), dim=1)  # raises

    return prepend, (torch.randn(2, 5, 6), torch.randn(1, 1, 6)), {"x": "batch S n_embd"}


@raises(
    RuntimeError,
    "past_k (batch=2, heads=3, past=7, H=4)",
    "k (batch=2, S=1, heads=3, H=4)",
    "heads",
    suggestion=(
        "k.transpose(1,2)",
        "k.transpose(2,1)",
        "k.permute(0,2,1,3)",
        "k.swapaxes(1,2)",
        "k.transpose(-3,-2)",
        "k.transpose(-2,-3)",
    ),
)
def cache_append_before_transpose():
    def append(past_k, k):
        return torch.cat([past_k, k], dim=2)  # raises

    return (
        append,
        (torch.randn(2, 3, 7, 4), torch.randn(2, 1, 3, 4)),
        {"past_k": "batch heads past H", "k": "batch S heads H"},
    )


@raises(
    RuntimeError, "states (batch=2, T=5, hidden=6)", "actions (batch=2, T1=4, hidden=6)", "T", "T1"
)
def trajectory_one_action_short():
    def interleave(states, actions):
        tokens = torch.stack((states, actions), dim=2)  # raises
        return tokens.flatten(1, 2)

    return (
        interleave,
        (torch.randn(2, 5, 6), torch.randn(2, 4, 6)),
        {"states": "batch T hidden", "actions": "batch T1 hidden"},
    )


# --------------------------------------------------------------- out of range
class LearnedPositions(nn.Module):
    def __init__(self, vocab, block_size, n_embd):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)

    def forward(self, idx):
        b, t = idx.shape
        pos = torch.arange(t)
        p = self.wpe(pos)  # raises
        return self.wte(idx) + p


@raises(IndexError, "block_size=4")
def longer_than_the_block():
    return LearnedPositions(11, 4, 6), (torch.randint(0, 11, (2, 6)),), "batch S"


@raises(
    IndexError,
    "hidden (batch=2, S=5, n_embd=6)",
    "S",
    suggestion=("hidden[:, -1]", "hidden[:, S - 1]", "hidden[:, 4]"),
)
def last_token_by_length():
    def last(hidden):
        B, S, n_embd = hidden.shape
        return hidden[:, S]  # raises

    return last, (torch.randn(2, 5, 6),), "batch S n_embd"


# --------------------------------------------------------------------- dtypes
@raises(
    RuntimeError,
    "p (batch=2, heads=3, S=5, S=5)",
    "v (batch=2, heads=3, S=5, H=4)",
    "float16",
    "float32",
    suggestion=(
        "p.to(",
        "p.float()",
        "p.type_as(v)",
        "v.half()",
        "v.to(",
        "v.type_as(p)",
        "p.type(",
    ),
)
def half_scores_float_values():
    def attend(q, k, v):
        p = (q @ k.transpose(-1, -2)).half().softmax(-1)
        return p @ v  # raises

    q, k, v = torch.randn(3, 2, 3, 5, 4)
    d = "batch heads S H"
    return attend, (q, k, v), {"q": d, "k": d, "v": d}


@raises(
    RuntimeError,
    "mask (S=5, S=5)",
    "float32",
    "bool",
    suggestion=(
        "mask.bool()",
        "mask == 0",
        "mask != 0",
        "mask > 0",
        "mask == 1",
        "mask.to(torch.bool)",
        "mask.type(torch.bool)",
        "mask.eq(",
        "mask < ",
    ),
)
def causal_mask_of_floats():
    def masked(scores, mask):
        return scores.masked_fill(mask, float("-inf")).softmax(-1)  # raises

    return (
        masked,
        (torch.randn(2, 3, 5, 5), torch.ones(5, 5).triu(1)),
        {"scores": "batch heads S S", "mask": "S S"},
    )


@raises(
    RuntimeError,
    "keep (batch=2, 1, 1, S=5)",
    "int64",
    "bool",
    suggestion=(
        "keep.bool()",
        "keep == 1",
        "keep != 0",
        "keep > 0",
        "keep.to(torch.bool)",
        "keep.type(torch.bool)",
    ),
)
def tokenizer_mask_in_fused_attention():
    def attend(q, k, v, attention_mask):
        keep = attention_mask[:, None, None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # raises

    q, k, v = torch.randn(3, 2, 3, 5, 4)
    d = "batch heads S H"
    return (
        attend,
        (q, k, v, torch.ones(2, 5, dtype=torch.int64)),
        {"q": d, "k": d, "v": d, "attention_mask": "batch S"},
    )


@raises(
    RuntimeError,
    "bucket (S=5, S=5)",
    "float32",
    suggestion=(
        "bucket.long()",
        "bucket.int()",
        "bucket.to(torch.long)",
        "bucket.to(torch.int64)",
        "bucket.to(int)",
        "bucket.type(torch.long)",
        "bucket.to(dtype=torch.long)",
        "bucket.to(dtype=torch.int64)",
    ),
)
def float_buckets_in_an_embedding():
    class LogBias(nn.Module):
        def __init__(self, n_buckets, n_heads):
            super().__init__()
            self.table = nn.Embedding(n_buckets, n_heads)

        def forward(self, scores):
            S = scores.size(-1)
            distance = (torch.arange(S)[:, None] - torch.arange(S)[None, :]).abs()
            bucket = torch.log2(distance + 1.0).floor()
            bias = self.table(bucket)  # raises
            return scores + bias.permute(2, 0, 1)

    return LogBias(8, 3), (torch.randn(2, 3, 5, 5),), "batch heads S S"


class PixelTokens(nn.Module):
    def __init__(self, patch_dim, n_embd):
        super().__init__()
        self.embed = nn.Linear(patch_dim, n_embd)

    def forward(self, patches):
        return self.embed(patches)  # raises


@raises(
    RuntimeError,
    "patches (batch=2, n_patches=9, patch_dim=12)",
    "uint8",
    "float32",
    suggestion=(
        "patches.float()",
        "patches.to(torch.float32)",
        "patches.to(self.embed.weight",
        "patches.to(torch.float",
        "patches.to(dtype=torch.float",
        "patches.type_as(",
        "patches / 255",
        "patches.type(torch.float",
    ),
)
def raw_pixels_into_a_linear():
    pixels = torch.randint(0, 256, (2, 9, 12), dtype=torch.uint8)
    return PixelTokens(12, 8), (pixels,), "batch n_patches patch_dim"


# ---------------------------------------------------------------------- masks
@raises(
    RuntimeError,
    "scores (batch=2, heads=3, tgt=4, src=6)",
    "pad (batch=2, src=6)",
    "batch",
    "tgt",
    suggestion=(
        "pad[:, None, None]",
        "pad[:, None, None, :]",
        "pad.unsqueeze(1).unsqueeze(",
        "pad.view(",
        "pad.reshape(",
    ),
)
def padding_mask_in_masked_fill():
    def cross(scores, pad):
        scores = scores.masked_fill(pad, float("-inf"))  # raises
        return scores.softmax(-1)

    pad = torch.zeros(2, 6, dtype=torch.bool)
    return (
        cross,
        (torch.randn(2, 3, 4, 6), pad),
        {"scores": "batch heads tgt src", "pad": "batch src"},
    )


@raises(
    RuntimeError,
    "q (batch=2, heads=3, tgt=4, H=8)",
    "keep (batch=2, tgt=4, src=6)",
    "batch",
    "heads",
    suggestion=(
        "keep[:, None]",
        "keep.unsqueeze(1)",
        "keep[:, None, :, :]",
        "keep.unsqueeze(-3)",
        "keep[:, None, ...]",
    ),
)
def fused_attention_three_axis_mask():
    def cross(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # raises

    k, v = torch.randn(2, 2, 3, 6, 8)
    return (
        cross,
        (torch.randn(2, 3, 4, 8), k, v, torch.ones(2, 4, 6, dtype=torch.bool)),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "keep": "batch tgt src",
        },
    )


@raises(
    RuntimeError,
    "scores (batch=2, heads=3, S=1, past=7)",
    "causal (max_len=16, max_len=16)",
    "past",
    "max_len",
    suggestion=("causal[", "(~causal)["),
)
def causal_buffer_not_cut_to_the_cache():
    def step(q, keys, causal):
        scores = q @ keys.transpose(2, 3)
        scores = scores.masked_fill(~causal, -1e9)  # raises
        return scores.softmax(-1)

    causal = torch.ones(16, 16, dtype=torch.bool).tril()
    return (
        step,
        (torch.randn(2, 3, 1, 4), torch.randn(2, 3, 7, 4), causal),
        {"q": "batch heads S H", "keys": "batch heads past H", "causal": "max_len max_len"},
    )


# --------------------------------------------------------------------- einops
@raises(EinopsError, "img (batch=2, chan=3, height=7, width=8)", "height", "7", "2")
def patches_of_an_odd_image():
    def patchify(img):
        return rearrange(img, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=2, p2=2)  # raises

    return patchify, (torch.randn(2, 3, 7, 8),), "batch chan height width"


@raises(EinopsError, "out", suggestion=("(b h) n d -> b n (h d)", "(batch h) n d", "(batch heads)"))
def merge_of_folded_heads():
    def merge(q, k, v):
        b, h, n, d = q.shape
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        out = torch.bmm(torch.bmm(q, k.mT).softmax(-1), v)
        return rearrange(out, "b h n d -> b n (h d)")  # raises

    q, k, v = torch.randn(3, 2, 3, 5, 4)
    d = "batch heads S H"
    return merge, (q, k, v), {"q": d, "k": d, "v": d}


@raises(
    EinopsError,
    "latents (n_latents=4, dim=6)",
    suggestion=("n d -> b n d", "latents[None]", "latents.unsqueeze(0)", "latents.expand("),
)
def latents_with_a_batch_they_lack():
    def start(x, latents):
        lat = repeat(latents, "1 n d -> b n d", b=x.shape[0])  # raises
        return torch.cat((x, lat), dim=1)

    return (
        start,
        (torch.randn(2, 5, 6), torch.randn(4, 6)),
        {"x": "batch S dim", "latents": "n_latents dim"},
    )
