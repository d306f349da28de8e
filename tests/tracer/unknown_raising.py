"""Ninety-three more programs that raise, with what an explanation has to say and which fixes do.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 75 of 93 met in full. One expectation was mended: what the book's own head gives is
called H, as its page calls it, also where the reader's class says ``head_size``.
The failing line ends with ``# raises``; no fix is asked for where ``suggestion`` is empty.
"""

# The code is kept in the style that it was written in.
# ruff: noqa: E501, F841, RUF005
# fmt: off

from __future__ import annotations

import einops
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import einsum

RAISING = {}


def raises(kind, *words, suggestion=()):
    def keep(build):
        RAISING[build.__name__] = (build, kind, words, tuple(suggestion))
        return build

    return keep


# ---- fragments of acceptable repairs -------------------------------------------------------


def swap(x, i, j, ndim):
    """All usual ways to swap two dims of x."""
    order = list(range(ndim))
    order[i], order[j] = order[j], order[i]
    found = []
    for a, b in ((i, j), (j, i)):
        for first in (a, a - ndim):
            for second in (b, b - ndim):
                for method in ("transpose", "swapaxes", "swapdims"):
                    found.append(f"{x}.{method}({first}, {second})")
                    found.append(f"torch.{method}({x}, {first}, {second})")
    spelled = ", ".join(map(str, order))
    found += [f"{x}.permute({spelled})", f"{x}.permute(({spelled}))", f"rearrange({x},"]
    found += [f"torch.permute({x}, ({spelled}))"]
    if {i, j} == {ndim - 2, ndim - 1}:
        found += [f"{x}.mT", f"{x}.mH", f"{x}.adjoint()"]
        if ndim == 2:
            found += [f"{x}.T", f"{x}.t()"]
    return tuple(found)


def casts(x, *kinds):
    """All usual ways to cast x: kinds are dtype names or expressions of a dtype."""
    short = {
        "torch.float32": ("float()",), "torch.float": ("float()",), "torch.bool": ("bool()",),
        "torch.float16": ("half()",), "torch.bfloat16": ("bfloat16()",), "torch.int": ("int()",),
        "torch.int64": ("long()",), "torch.long": ("long()",), "torch.int32": ("int()",),
    }
    found = []
    for kind in kinds:
        found += [f"{x}.{call}" for call in short.get(kind, ())]
        found += [f"{x}.to({kind})", f"{x}.to(dtype={kind})", f"{x}.type({kind})"]
        if kind.endswith(".dtype"):
            found += [f"{x}.to({kind[:-6]})", f"{x}.type_as({kind[:-6]})"]
    return tuple(found)


LONG = ("torch.long", "torch.int64", "torch.int", "torch.int32")
FLOAT = ("torch.float", "torch.float32")


def last_one(x, ndim):
    """x with a dim of one behind."""
    colons = ", ".join([":"] * ndim)
    return (
        f"{x}[..., None]", f"{x}.unsqueeze(-1)", f"{x}.unsqueeze({ndim})", f"{x}[{colons}, None]",
        f"{x}.view(*{x}.shape, 1)", f"{x}.reshape(*{x}.shape, 1)", f"rearrange({x},",
        f"torch.unsqueeze({x}, -1)", f"torch.unsqueeze({x}, {ndim})", f"{x}[..., :, None]",
    ) + ((f"{x}.view(-1, 1)", f"{x}.reshape(-1, 1)", f"{x}[:, None]") if ndim == 1 else ())


def key_mask(x, batch="batch"):
    """A (batch, Sk) mask in front of (batch, heads, S, Sk)."""
    return (
        f"{x}[:, None, None, :]", f"{x}[:, None, None]", f"{x}.unsqueeze(1).unsqueeze(1)",
        f"{x}.unsqueeze(1).unsqueeze(2)", f"{x}[:, None].unsqueeze", f"rearrange({x},",
        f"{x}.view({batch}, 1, 1,", f"{x}.view({x}.size(0), 1, 1,", f"{x}.view({x}.shape[0], 1, 1,",
        f"{x}.reshape({batch}, 1, 1,", f"{x}.reshape({x}.size(0), 1, 1,", f"{x}.unsqueeze(1)[:, None]",
        f"{x}.reshape({x}.shape[0], 1, 1,", f"{x}.view(-1, 1, 1,", f"{x}.reshape(-1, 1, 1,",
    )


def seen(*size, kind=torch.float32):
    torch.manual_seed(0)
    return torch.randn(*size).to(kind)


# ---- matmul, bmm, einsum, Linear, Conv -----------------------------------------------------


@raises(
    RuntimeError, "q (batch=2, S=5, H=4)", "k.transpose(0, 1) (Sk=7, batch=2, H=4)",
    suggestion=swap("k", 1, 2, 3) + ("->bqk", "->bij", "->bst"),
)
def transposed_the_batch():
    def fn(q, k, v):
        scores = q @ k.transpose(0, 1)  # raises
        return scores.softmax(-1) @ v

    return fn, (seen(2, 5, 4), seen(2, 7, 4), seen(2, 7, 4)), {
        "q": "batch S H", "k": "batch Sk H", "v": "batch Sk H",
    }


@raises(
    RuntimeError, "h (B=2, T=5, n_embd=12)", "self.wte.weight (vocab_size=11, n_embd=12)",
    "n_embd", "vocab_size",
    suggestion=swap("self.wte.weight", 0, 1, 2)
    + ("F.linear(h, self.wte.weight", "functional.linear(h, self.wte.weight", "einsum("),
)
def tied_head():
    class TinyGPT(nn.Module):
        def __init__(self, vocab_size, n_embd):
            super().__init__()
            self.wte = nn.Embedding(vocab_size, n_embd)
            self.ln_f = nn.LayerNorm(n_embd)

        def forward(self, idx):
            h = self.ln_f(self.wte(idx))
            logits = h @ self.wte.weight  # raises
            return logits

    return TinyGPT(11, 12), (torch.randint(11, (2, 5)),), {"idx": "B T"}


@raises(
    RuntimeError, "y (batch=2, heads=3, S=5, H=4)", "n_embd", "H",
    suggestion=swap("y", 1, 2, 4),
)
def projected_before_merging():
    class Mix(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.c_proj = nn.Linear(n_embd, n_embd)

        def forward(self, att, v):
            y = att @ v
            return self.c_proj(y)  # raises

    att = seen(2, 3, 5, 7).softmax(-1)
    return Mix(12), (att, seen(2, 3, 7, 4)), {"att": "batch heads S Sk", "v": "batch heads Sk H"}


@raises(
    RuntimeError, "v (batch=2, Sk=7, H=4)", "weights (batch=2, S=5, Sk=7)", "H", "S",
    suggestion=("weights @ v", "matmul(weights, v)", "bmm(weights, v)", "weights.matmul(v)",
                "weights.bmm(v)", "einsum("),
)
def values_first():
    def attend(weights, v):
        return torch.bmm(v, weights)  # raises

    return attend, (seen(2, 5, 7).softmax(-1), seen(2, 7, 4)), {
        "weights": "batch S Sk", "v": "batch Sk H",
    }


@raises(
    RuntimeError, "k.transpose(-2, -1) (batch=2, heads=3, H=4, S=5)",
    suggestion=(
        "k.flatten(0, 1)", "k.flatten(end_dim=1)", "k.reshape(", "k.view(", "rearrange(k,",
        "k.transpose(-2, -1).flatten(0, 1)", "k.transpose(-2, -1).flatten(end_dim=1)",
        "k.transpose(-2, -1).reshape(", "k.mT.flatten(0, 1)", "k.mT.reshape(",
        "q.view(", "q.reshape(", "q.unflatten(0,",
    ),
)
def folded_only_the_queries():
    def fn(q, k):
        batch, heads, S, H = q.shape
        q = q.reshape(batch * heads, S, H)
        scores = torch.bmm(q, k.transpose(-2, -1))  # raises
        return scores * H ** -0.5

    return fn, (seen(2, 3, 5, 4), seen(2, 3, 5, 4)), {
        "q": "batch heads S H", "k": "batch heads S H",
    }


@raises(
    RuntimeError, "q (batch=2, S=5, heads=3, H=4)", "k (batch=2, heads=3, Sk=7, H=4)",
    "heads", "Sk",
    suggestion=("bqhd,bhkd->bhqk",) + swap("k", 1, 2, 4),
)
def einsum_over_a_cached_layout():
    def fn(q, k):
        return torch.einsum("bqhd,bkhd->bhqk", q, k)  # raises

    return fn, (seen(2, 5, 3, 4), seen(2, 3, 7, 4)), {
        "q": "batch S heads H", "k": "batch heads Sk H",
    }


@raises(
    RuntimeError, "q (batch=2, heads=3, S=5, H=4)", "k (batch=2, heads=3, Sk=7, H=4)",
    suggestion=(
        "...qd,...kd->...qk", "bhqd,bhkd->bhqk", "bnqd,bnkd->bnqk", "abqd,abkd->abqk",
        "b...qd,b...kd->b...qk", "nhqd,nhkd->nhqk",
    ) + swap("k", 2, 3, 4),
)
def einsum_of_one_head():
    # written for one head, called with many
    def fn(q, k):
        s = einsum("bqd,bkd->bqk", q, k)  # raises
        return s.softmax(dim=-1)

    return fn, (seen(2, 3, 5, 4), seen(2, 3, 7, 4)), {
        "q": "batch heads S H", "k": "batch heads Sk H",
    }


@raises(
    RuntimeError, "x (batch=2, n_embd=12,", "n_embd", suggestion=swap("x", 1, 2, 3),
)
def patches_left_channels_first():
    class PatchBlock(nn.Module):
        def __init__(self, channels, n_embd, patch):
            super().__init__()
            self.patch = nn.Conv2d(channels, n_embd, kernel_size=patch, stride=patch)
            self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)

        def forward(self, img):
            x = self.patch(img).flatten(2)
            q, k, v = self.qkv(x).chunk(3, dim=-1)  # raises
            return F.scaled_dot_product_attention(q, k, v)

    return PatchBlock(3, 12, 4), (seen(2, 3, 8, 16),), {"img": "batch channels height width"}


@raises(
    RuntimeError, "memory (batch=2, Sk=7, d_enc=10)", "d_enc", "n_embd", suggestion=(),
)
def encoder_of_another_width():
    class CrossHead(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.key = nn.Linear(n_embd, head_size, bias=False)

        def forward(self, x, memory):
            q = self.query(x)
            k = self.key(memory)  # raises
            return q @ k.transpose(-2, -1)

    return CrossHead(12, 4), (seen(2, 5, 12), seen(2, 7, 10)), {
        "x": "batch S n_embd", "memory": "batch Sk d_enc",
    }


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "self.lora_A (", "n_embd",
    suggestion=swap("self.lora_A", 0, 1, 2)
    + ("F.linear(x, self.lora_A", "functional.linear(x, self.lora_A", "einsum("),
)
def low_rank_adapter():
    class LoRA(nn.Module):
        def __init__(self, base, rank):
            super().__init__()
            self.base = base
            self.lora_A = nn.Parameter(torch.randn(rank, base.in_features))
            self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

        def forward(self, x):
            down = x @ self.lora_A  # raises
            return self.base(x) + down @ self.lora_B.T

    return LoRA(nn.Linear(12, 12), 3), (seen(2, 5, 12),), {"x": "batch S n_embd"}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "w (n_embd=12, n_inner=20)", "n_embd", "n_inner",
    suggestion=swap("w", 0, 1, 2) + ("x @ w", "matmul(x, w)", "x.matmul(w)", "einsum("),
)
def checkpoint_kept_in_by_out():
    # weights saved by hand as (in, out)
    def mlp(x, w, w_out):
        up = F.linear(x, w)  # raises
        return F.gelu(up) @ w_out

    return mlp, (seen(2, 5, 12), seen(12, 20), seen(20, 12)), {
        "x": "batch S n_embd", "w": "n_embd n_inner", "w_out": "n_inner n_embd",
    }


@raises(
    RuntimeError, "h (batch=2, S=5, n_embd=12)", suggestion=swap("w", 1, 2, 3)
    + ("w.squeeze(", "(w * h).sum(", "(h * w).sum(", "einsum("),
)
def pooling_column():
    class Pool(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.score = nn.Linear(n_embd, 1)

        def forward(self, h):
            w = self.score(h).softmax(dim=1)
            return torch.bmm(w, h).squeeze(1)  # raises

    return Pool(12), (seen(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError, "att (batch=2, heads=3, S=5, Sk=7)", "Sk", "heads",
    suggestion=swap("att", 1, 3, 4) + (
        "att.permute(0, 2, 3, 1)", "att.movedim(1, -1)", "att.movedim(1, 3)",
        "att.moveaxis(1, -1)", "att.moveaxis(1, 3)", "einsum(",
    ),
)
def talking_heads_on_the_keys():
    class Talk(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.talk = nn.Linear(n_heads, n_heads, bias=False)

        def forward(self, att):
            return self.talk(att)  # raises

    return Talk(3), (seen(2, 3, 5, 7).softmax(-1),), {"att": "batch heads S Sk"}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "S", "n_embd", suggestion=swap("x", 1, 2, 3),
)
def conv_over_tokens():
    class LocalMix(nn.Module):
        def __init__(self, n_embd, width=3):
            super().__init__()
            self.conv = nn.Conv1d(n_embd, n_embd, width, padding=width // 2, groups=n_embd)

        def forward(self, x):
            y = self.conv(x)  # raises
            return x + y.transpose(1, 2)

    return LocalMix(12), (seen(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError, "query (batch=2, n_embd=12)",
    suggestion=(
        "query[:, None]", "query[:, None, :]", "query.unsqueeze(1)", "query.unsqueeze(-2)",
        "query.view(", "query.reshape(", "rearrange(query,", "einsum(", "query[..., None, :]",
        "torch.unsqueeze(query, 1)", "docs @ query[", "docs @ query.unsqueeze",
        "bmm(docs, query",
    ),
)
def one_query_many_documents():
    def rank(query, docs):
        sims = torch.bmm(query, docs.transpose(1, 2))  # raises
        return sims.squeeze(1).topk(2).indices

    return rank, (seen(2, 12), seen(2, 7, 12)), {"query": "batch n_embd", "docs": "batch docs n_embd"}


@raises(
    RuntimeError, "q (batch=2, heads=3, S=5, H=4)", "k (batch=2, Sk=7, heads=3, H=4)",
    suggestion=swap("k", 1, 2, 4),
)
def fused_with_raw_keys():
    def fn(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)  # raises

    return fn, (seen(2, 3, 5, 4), seen(2, 7, 3, 4), seen(2, 7, 3, 4)), {
        "q": "batch heads S H", "k": "batch Sk heads H", "v": "batch Sk heads H",
    }


@raises(RuntimeError, "out (batch=2, S=5,", "n_embd", suggestion=())
def heads_that_do_not_fill_the_width():
    class Heads(nn.Module):
        def __init__(self, n_embd, n_heads, head_size):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(n_embd, head_size) for _ in range(n_heads))
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            out = torch.cat([head(x) for head in self.heads], dim=-1)
            return self.proj(out)  # raises

    return Heads(12, 3, 5), (seen(2, 5, 12),), {"x": "batch S n_embd"}


@raises(
    RuntimeError, "x (batch=2, n_embd=12, height=3, width=5)", "n_embd", "width",
    suggestion=(
        "x.permute(0, 2, 3, 1)", "x.movedim(1, -1)", "x.movedim(1, 3)", "x.moveaxis(1, -1)",
        "x.moveaxis(1, 3)", "rearrange(x,", "x.flatten(2).transpose(", "x.flatten(2).mT",
        "x.permute((0, 2, 3, 1))", "x.flatten(2).permute(0, 2, 1)",
    ),
)
def norm_over_a_feature_map():
    class Stage(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.norm = nn.LayerNorm(n_embd)

        def forward(self, x):
            x = self.norm(x)  # raises
            return x.mean(dim=(1, 2))

    return Stage(12), (seen(2, 12, 3, 5),), "batch n_embd height width"


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "n_embd", "H = 4", suggestion=(),
)
def residual_around_one_library_head():
    from attnlib import SelfAttention

    class Block(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.attn = SelfAttention(n_embd, head_size)

        def forward(self, x):
            a = self.attn(x)
            return x + a  # raises

    return Block(12, 4), (seen(2, 5, 12),), {"x": "batch S n_embd"}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "memory (batch=2, Sk=7, n_embd=12)",
    suggestion=(),
)
def layer_that_wants_seq_first():
    class Cross(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.attn = nn.MultiheadAttention(n_embd, n_heads)  # batch_first forgotten

        def forward(self, x, memory):
            y, w = self.attn(x, memory, memory)  # raises
            return y

    return Cross(12, 3), (seen(2, 5, 12), seen(2, 7, 12)), {
        "x": "batch S n_embd", "memory": "batch Sk n_embd",
    }


# ---- broadcasting --------------------------------------------------------------------------


@raises(
    RuntimeError, "tok (B=2, T=5, n_embd=12)", "self.wpe.weight (block_size=8, n_embd=12)",
    "T", "block_size",
    suggestion=(
        "self.wpe.weight[:T]", "self.wpe.weight[:T, :]", "self.wpe.weight[0:T]",
        "self.wpe.weight[:tok.size(1)]", "self.wpe.weight[:tok.shape[1]]",
        "self.wpe.weight[:tok.size(-2)]", "self.wpe.weight[:tok.shape[-2]]",
        "self.wpe.weight[:idx.size(1)]", "self.wpe.weight[:idx.shape[1]]",
        "self.wpe.weight[:idx.size(-1)]", "self.wpe.weight[:idx.shape[-1]]",
        "self.wpe.weight[None, :T]", "self.wpe.weight[None, :T, :]",
        "self.wpe.weight.narrow(0, 0, T)", "self.wpe(torch.arange(T",
    ),
)
def whole_position_table():
    class Embed(nn.Module):
        def __init__(self, vocab_size, block_size, n_embd):
            super().__init__()
            self.wte = nn.Embedding(vocab_size, n_embd)
            self.wpe = nn.Embedding(block_size, n_embd)

        def forward(self, idx):
            B, T = idx.shape
            tok = self.wte(idx)
            return tok + self.wpe.weight  # raises

    return Embed(11, 8, 12), (torch.randint(11, (2, 5)),), {"idx": "B T"}


@raises(
    RuntimeError, "scores (batch=2, heads=3, S=5, Sk=7)", "bias (batch=2, Sk=7)", "batch", "S",
    suggestion=key_mask("bias"),
)
def additive_padding():
    def fn(scores, bias):
        scores = scores + bias  # raises
        return torch.softmax(scores, dim=-1)

    return fn, (seen(2, 3, 5, 7), torch.zeros(2, 7)), {
        "scores": "batch heads S Sk", "bias": "batch Sk",
    }


@raises(
    RuntimeError, "out (batch=2, heads=3, S=5, H=4)", "gate (batch=2, S=5, heads=3)", "H", "heads",
    suggestion=swap("gate", 1, 2, 3),
)
def head_gate():
    def fn(out, gate):
        out = out * gate  # raises
        return out.transpose(1, 2).flatten(2)

    return fn, (seen(2, 3, 5, 4), seen(2, 5, 3).sigmoid()), {
        "out": "batch heads S H", "gate": "batch S heads",
    }


@raises(
    RuntimeError, "attn (batch=2, heads=3, N=6, N=6)", "bias (N=6, N=6, heads=3)", "N", "heads",
    suggestion=(
        "bias.permute(2, 0, 1)", "bias.permute(-1, 0, 1)", "bias.movedim(-1, 0)",
        "bias.movedim(2, 0)", "bias.moveaxis(-1, 0)", "bias.moveaxis(2, 0)", "rearrange(bias,",
        "bias.permute((2, 0, 1))", "torch.permute(bias, (2, 0, 1))", "torch.movedim(bias, -1, 0)",
        "torch.movedim(bias, 2, 0)",
    ),
)
def window_bias_heads_last():
    def fn(attn, bias):
        attn = attn + bias  # raises
        return F.softmax(attn, -1)

    return fn, (seen(2, 3, 6, 6), seen(6, 6, 3)), {"attn": "batch heads N N", "bias": "N N heads"}


@raises(
    RuntimeError, "mask (batch=2, S=6)",
    suggestion=(
        "mask[:, 1:]", "mask[..., 1:]", "mask[:, -loss.size(1):]", "mask[:, -loss.shape[1]:]",
        "mask.narrow(1, 1,", "mask[:, 1:S]",
    ),
)
def loss_weights_of_all_tokens():
    def masked_loss(logits, idx, mask):
        targets = idx[:, 1:]
        loss = F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, reduction="none")
        loss = loss * mask  # raises
        return loss.sum() / mask.sum()

    return masked_loss, (seen(2, 6, 11), torch.randint(11, (2, 6)), torch.ones(2, 6)), {
        "logits": "batch S vocab", "idx": "batch S", "mask": "batch S",
    }


@raises(
    RuntimeError, "w (batch=2, S=5, Sk=7)", "w.sum(-1) (batch=2, S=5)", "Sk", "S",
    suggestion=(
        "w.sum(-1, keepdim=True)", "w.sum(-1, True)", "w.sum(dim=-1, keepdim=True)",
        "w.sum(2, keepdim=True)", "w.sum(dim=2, keepdim=True)", "normalize(w, p=1",
        "w.sum(axis=-1, keepdims=True)", "w.sum(-1, keepdims=True)",
    ) + last_one("w.sum(-1)", 2),
)
def renormalised_after_dropping():
    def fn(weights, keep):
        w = weights * keep[:, None, :]
        return w / w.sum(-1)  # raises

    return fn, (seen(2, 5, 7).softmax(-1), torch.ones(2, 7)), {
        "weights": "batch S Sk", "keep": "batch Sk",
    }


@raises(
    RuntimeError, "x (batch=2, S=5, heads=3, H=4)", "cos (S=5, H=4)", "S", "heads",
    suggestion=(
        "cos[:, None]", "cos[:, None, :]", "cos.unsqueeze(1)", "cos.unsqueeze(-2)",
        "cos[None, :, None, :]", "cos[None, :, None]", "cos.view(", "cos.reshape(",
        "rearrange(cos,", "cos[..., None, :]", "torch.unsqueeze(cos, 1)", "cos.unsqueeze(0).unsqueeze(2)",
        "torch.unsqueeze(cos, -2)", "cos[None].unsqueeze(2)",
    ),
)
def rotary_before_the_transpose():
    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        turned = torch.cat((-b, a), dim=-1)
        kept = x * cos  # raises
        return kept + turned * sin[:, None, :]

    return rotate, (seen(2, 5, 3, 4), seen(5, 4), seen(5, 4)), {
        "x": "batch S heads H", "cos": "S H", "sin": "S H",
    }


@raises(
    RuntimeError, "q (batch=2, heads=3, S=5, H=8)", "cos (S=5, half=4)", "H", "half",
    suggestion=(
        "cat([cos, cos]", "cat((cos, cos)", "concat([cos, cos]", "concat((cos, cos)",
        "cos.repeat(1, 2)", "cos.tile((1, 2))", "cos.tile(1, 2)", "torch.tile(cos, (1, 2))",
        "hstack((cos, cos)", "hstack([cos, cos]", "torch.tile(cos, (2,))", "cos.tile(2)", "cos.tile((2,))",
        "repeat(cos,",
    ),
)
def rotary_angles_of_half_the_head():
    def apply_rotary(q, cos, sin):
        left, right = q.chunk(2, dim=-1)
        flipped = torch.cat([-right, left], dim=-1)
        return q * cos + flipped * sin  # raises

    return apply_rotary, (seen(2, 3, 5, 8), seen(5, 4), seen(5, 4)), {
        "q": "batch heads S H", "cos": "S half", "sin": "S half",
    }


@raises(
    RuntimeError, "att (batch=2, heads=3, S=5, S=5)", "heads", "S",
    suggestion=(
        "torch.eye(att.size(-1)", "torch.eye(att.size(-2)", "torch.eye(att.size(2)",
        "torch.eye(att.size(3)", "torch.eye(att.shape[-1]", "torch.eye(att.shape[-2]",
        "torch.eye(att.shape[2]", "torch.eye(att.shape[3]",
    ),
)
def rollout_with_an_eye_of_heads():
    def rollout(att):
        att = att + torch.eye(att.size(1))  # raises
        att = att / att.sum(-1, keepdim=True)
        return att.mean(1)

    return rollout, (seen(2, 3, 5, 5).softmax(-1),), "batch heads S S"


@raises(
    RuntimeError, "slopes (heads=3)", "distance (S=5, S=5)", "heads", "S",
    suggestion=(
        "slopes[:, None, None]", "slopes.view(-1, 1, 1)", "slopes.reshape(-1, 1, 1)",
        "slopes.view(heads, 1, 1)", "slopes.reshape(heads, 1, 1)", "slopes[..., None, None]",
        "slopes.unsqueeze(-1).unsqueeze(-1)", "slopes.unsqueeze(1).unsqueeze(2)",
        "slopes.unsqueeze(1).unsqueeze(1)", "rearrange(slopes,", "einsum(",
        "slopes.unsqueeze(-1).unsqueeze(-2)", "slopes.view(1, -1, 1, 1)",
        "slopes[None, :, None, None]", "slopes[:, None].unsqueeze",
        "slopes.view(slopes.size(0), 1, 1)", "slopes.view(slopes.shape[0], 1, 1)",
        "slopes.reshape(1, -1, 1, 1)", "slopes.unflatten(",
    ),
)
def linear_biases():
    def alibi(scores, slopes):
        batch, heads, S, _ = scores.shape
        i = torch.arange(S)
        distance = i[None, :] - i[:, None]
        return scores + slopes * distance  # raises

    return alibi, (seen(2, 3, 5, 5), seen(3).abs()), {"scores": "batch heads S S", "slopes": "heads"}


@raises(
    RuntimeError, "lengths (batch=2)", "batch", "S",
    suggestion=last_one("lengths", 1) + ("lengths[:, None]", "lengths.unsqueeze(1)"),
)
def lengths_of_utterances():
    def mean_pool(h, lengths):
        S = h.size(1)
        steps = torch.arange(S)
        keep = steps < lengths  # raises
        return (h * keep[..., None]).sum(1) / lengths[:, None]

    return mean_pool, (seen(2, 5, 12), torch.tensor([3, 5])), {
        "h": "batch S n_embd", "lengths": "batch",
    }


@raises(
    RuntimeError, "torch.cos(pos * div)",
    suggestion=(
        "div[:-1]", "div[: n_embd // 2]", "torch.cos(pos * div)[:, :-1]",
        "torch.cos(pos * div)[:, : n_embd // 2]", "torch.cos(pos * div)[..., :-1]",
        "torch.cos(pos * div)[:, : pe[:, 1::2].", "div[: pe[:, 1::2].", "(pos * div)[:, :-1]",
        "(pos * div)[:, : n_embd // 2]",
    ),
)
def sinusoids_of_odd_width():
    def add_positions(x):
        batch, S, n_embd = x.shape
        pe = torch.zeros(S, n_embd)
        pos = torch.arange(S).float()[:, None]
        div = 10000.0 ** (-torch.arange(0, n_embd, 2).float() / n_embd)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)  # raises
        return x + pe

    return add_positions, (seen(2, 6, 9),), "batch S n_embd"


@raises(
    RuntimeError, "logits (batch=2, vocab=11)", "v[:, -1] (batch=2)", "vocab", "batch",
    suggestion=last_one("v[:, -1]", 1) + (
        "v[:, [-1]]", "v[:, -1:]", "v[:, -1, None]", "v[..., -1:]", "v[..., -1, None]",
        "v[..., [-1]]", "v.min(", "v.amin(", "v[:, k - 1:]", "v[:, -1][:, None]",
        "v[:, -1].unsqueeze(1)",
    ),
)
def top_k_threshold():
    def top_k(logits):
        v, _ = torch.topk(logits, 4)
        low = logits < v[:, -1]  # raises
        return logits.masked_fill(low, float("-inf")).softmax(-1)

    return top_k, (seen(2, 11),), "batch vocab"


@raises(
    RuntimeError, "x (S=5, batch=2, n_embd=12)", "batch",
    suggestion=swap("self.pe[:, : x.size(0)]", 0, 1, 3) + swap("self.pe[:, :x.size(0)]", 0, 1, 3)
    + swap("self.pe", 0, 1, 3) + (
        "self.pe[0, :x.size(0), None]", "self.pe[0, :x.size(0)].unsqueeze(1)",
        "self.pe[0, :x.size(0)][:, None]", "self.pe[0, :x.size(0), None, :]",
        "self.pe[:, :x.size(0)].squeeze(0)", "self.pe[:, :x.size(0)][0]",
        "self.pe[0][:x.size(0), None]", "self.pe[0, :x.shape[0], None]",
        "self.pe[:, :x.size(0)].view(-1, 1,", "self.pe[:, :x.size(0)].reshape(-1, 1,",
    ),
)
def table_batch_first_tokens_seq_first():
    class Positions(nn.Module):
        def __init__(self, n_embd, max_len):
            super().__init__()
            self.register_buffer("pe", torch.randn(1, max_len, n_embd))

        def forward(self, x):
            return x + self.pe[:, : x.size(0)]  # raises

    return Positions(12, 9), (seen(5, 2, 12),), "S batch n_embd"


@raises(
    RuntimeError, "out (batch=2, heads=3, S=5, H=4)", "S", "H",
    suggestion=last_one("torch.exp(lse - top)", 3) + last_one("(lse - top)", 3) + (
        "torch.exp((lse - top)[..., None])", "torch.exp((lse - top).unsqueeze(-1))",
        "(lse - top).exp()[..., None]", "(lse - top).exp().unsqueeze(-1)",
        "torch.exp(lse[..., None] - top[..., None])", "einsum(",
        "torch.exp(lse.unsqueeze(-1) - top.unsqueeze(-1))",
    ),
)
def ring_step_rescale():
    def merge(out, lse, new, new_lse):
        top = torch.logaddexp(lse, new_lse)
        out = out * torch.exp(lse - top)  # raises
        return out + new * torch.exp(new_lse - top)[..., None]

    part, stat = "batch heads S H", "batch heads S"
    return merge, (seen(2, 3, 5, 4), seen(2, 3, 5), seen(2, 3, 5, 4), seen(2, 3, 5)), {
        "out": part, "lse": stat, "new": part, "new_lse": stat,
    }


@raises(
    RuntimeError, "gate[:, e] (tokens=5)", "expert(x) (tokens=5, n_embd=12)", "tokens", "n_embd",
    suggestion=last_one("gate[:, e]", 1) + (
        "gate[:, e, None]", "gate[:, e:e+1]", "gate[:, [e]]", "gate[..., e, None]",
        "gate[:, e].unsqueeze(1)", "gate.narrow(1, e, 1)", "einsum(", "gate[..., e:e+1]",
        "torch.diag(gate[:, e]) @", "gate[:, e:e + 1]",
    ),
)
def dense_mixture_of_experts():
    class MoE(nn.Module):
        def __init__(self, n_embd, n_experts):
            super().__init__()
            self.router = nn.Linear(n_embd, n_experts)
            self.experts = nn.ModuleList(nn.Linear(n_embd, n_embd) for _ in range(n_experts))

        def forward(self, x):
            gate = self.router(x).softmax(-1)
            out = torch.zeros_like(x)
            for e, expert in enumerate(self.experts):
                out = out + gate[:, e] * expert(x)  # raises
            return out

    return MoE(12, 3), (seen(5, 12),), "tokens n_embd"


@raises(
    RuntimeError, "student (batch=2, S=5, vocab=11)", "teacher (batch=2, S=5, big_vocab=13)",
    "vocab", "big_vocab", suggestion=(),
)
def distilled_from_another_tokenizer():
    def loss_fn(student, teacher):
        diff = student - teacher  # raises
        return diff.pow(2).mean()

    return loss_fn, (seen(2, 5, 11), seen(2, 5, 13)), {
        "student": "batch S vocab", "teacher": "batch S big_vocab",
    }


@raises(
    RuntimeError, "running (S=5)", "last.sum(0) (T=7)", "S", "T", suggestion=(),
)
def running_sum_over_batches():
    # validation loop: the last batch is padded to another length
    def evaluate(first, last):
        running = first.sum(0)
        running = running + last.sum(0)  # raises
        return running / (len(first) + len(last))

    return evaluate, (seen(2, 5), seen(3, 7)), {"first": "batch S", "last": "B T"}


@raises(
    RuntimeError, "att[h] (S=5, Sk=7)", "S", "Sk", suggestion=(),
)
def canvas_of_square_maps():
    def contact_sheet(att):
        heads, S, Sk = att.shape
        canvas = torch.zeros(S, heads * S)
        for h in range(heads):
            canvas[:, h * S : (h + 1) * S] = att[h]  # raises
        return canvas

    return contact_sheet, (seen(3, 5, 7).softmax(-1),), "heads S Sk"


@raises(
    RuntimeError, "att (batch=2, heads=3, T=2, S=7)", "T", "S",
    suggestion=(
        "self.bias[S - T : S, :S]", "self.bias[past : past + T, : past + T]",
        "self.bias[past : past + T, :S]", "self.bias[past : S, :S]",
        "self.bias[past:S, : past + T]", "self.bias[:S, :S][-T:]", "self.bias[:S, :S][past:]",
        "self.bias[S - T : S, : past + T]", "self.bias[: past + T, : past + T][-T:]",
    ),
)
def cached_step_with_a_square_mask():
    class Step(nn.Module):
        def __init__(self, block_size):
            super().__init__()
            blocked = torch.full((block_size, block_size), float("-inf")).triu(1)
            self.register_buffer("bias", blocked)

        def forward(self, q, k, v):
            T, S = q.size(-2), k.size(-2)
            past = S - T
            att = q @ k.transpose(-2, -1)
            att = att + self.bias[:T, :T]  # raises
            return att.softmax(-1) @ v

    return Step(9), (seen(2, 3, 2, 4), seen(2, 3, 7, 4), seen(2, 3, 7, 4)), {
        "q": "batch heads T H", "k": "batch heads S H", "v": "batch heads S H",
    }


@raises(
    RuntimeError, "k (batch=2, T=4, H=6)", "T", suggestion=(),
)
def cache_too_short():
    def write(cache, k):
        pos, T = 6, k.size(1)
        cache[:, pos : pos + T] = k  # raises
        return cache

    return write, (torch.zeros(2, 8, 6), seen(2, 4, 6)), {"cache": "batch max_len H", "k": "batch T H"}


@raises(
    RuntimeError, "self.in_proj_weight",
    suggestion=(
        "torch.cat([wq, wk, wv], dim=0)", "torch.cat([wq, wk, wv])", "torch.cat([wq, wk, wv], 0)",
        "torch.cat((wq, wk, wv), dim=0)", "torch.cat((wq, wk, wv))", "torch.cat((wq, wk, wv), 0)",
        "torch.vstack([wq, wk, wv])", "torch.vstack((wq, wk, wv))",
        "torch.concat([wq, wk, wv])", "torch.concat([wq, wk, wv], dim=0)",
    ),
)
def packed_weights_by_hand():
    class Packed(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.in_proj_weight = nn.Parameter(torch.empty(3 * n_embd, n_embd))

        @torch.no_grad()
        def forward(self, wq, wk, wv):
            self.in_proj_weight.copy_(torch.cat([wq, wk, wv], dim=1))  # raises
            return self.in_proj_weight

    w = "n_out n_embd"
    return Packed(12), (seen(12, 12), seen(12, 12), seen(12, 12)), {"wq": w, "wk": w, "wv": w}


# ---- view ----------------------------------------------------------------------------------


@raises(
    RuntimeError, "y.transpose(1, 2) (B=2, T=5, n_heads=3, hs=4)",
    suggestion=(
        "y.transpose(1, 2).reshape(", "y.transpose(1, 2).contiguous().view(",
        "y.transpose(1, 2).flatten(2)", "y.transpose(1, 2).flatten(-2)", "rearrange(y,",
        "y.transpose(1, 2).contiguous().flatten(2)", "y.transpose(1, 2).contiguous().reshape(",
        "y.transpose(1, 2).flatten(2, 3)", "y.transpose(1, 2).flatten(-2, -1)",
        "y.permute(0, 2, 1, 3).reshape(", "y.permute(0, 2, 1, 3).flatten(2)",
    ),
)
def merge_without_contiguous():
    def fn(att, v):
        y = att @ v
        B, n_heads, T, hs = y.shape
        return y.transpose(1, 2).view(B, T, n_heads * hs)  # raises

    return fn, (seen(2, 3, 5, 5).softmax(-1), seen(2, 3, 5, 4)), {
        "att": "B n_heads T T", "v": "B n_heads T hs",
    }


@raises(
    RuntimeError, "shifted (batch=2,", "vocab=11",
    suggestion=(
        "shifted.reshape(", "shifted.contiguous().view(", "shifted.flatten(0, 1)",
        "shifted.flatten(end_dim=1)", "shifted.flatten(end_dim=-2)", "shifted.flatten(0, -2)",
        "rearrange(shifted,", "shifted.contiguous().reshape(", "shifted.contiguous().flatten(0, 1)",
    ),
)
def flattened_shifted_logits():
    def lm_loss(logits, idx):
        shifted = logits[:, :-1]
        vocab = logits.size(-1)
        flat = shifted.view(-1, vocab)  # raises
        return F.cross_entropy(flat, idx[:, 1:].reshape(-1))

    return lm_loss, (seen(2, 6, 11), torch.randint(11, (2, 6))), {
        "logits": "batch S vocab", "idx": "batch S",
    }


@raises(
    RuntimeError, "wide (batch=2,", "n_embd=12",
    suggestion=(
        "wide.reshape(", "wide.contiguous().view(", "wide.flatten(0, 1)",
        "wide.flatten(end_dim=1)", "rearrange(wide,", "h.repeat_interleave(", "repeat(h,",
        "torch.repeat_interleave(h,", "wide.contiguous().reshape(", "wide.clone().view(",
        "wide.flatten(0, -3)",
    ),
)
def states_for_every_beam():
    def expand(h, beams=4):
        batch, S, n_embd = h.shape
        wide = h[:, None].expand(batch, beams, S, n_embd)
        return wide.view(batch * beams, S, n_embd)  # raises

    return expand, (seen(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError, "by_head (heads=3, batch=2, S=5, Sk=7)",
    suggestion=(
        "by_head.reshape(", "by_head.contiguous().view(", "by_head.flatten(1)",
        "by_head.flatten(start_dim=1)", "rearrange(by_head,", "by_head.contiguous().reshape(",
        "by_head.contiguous().flatten(1)", "by_head.flatten(1, -1)", "by_head.flatten(1, 3)",
        "by_head.clone(memory_format=torch.contiguous_format)",
    ),
)
def entropy_by_head():
    def entropy(att):
        batch, heads, S, Sk = att.shape
        by_head = (att * att.log()).swapaxes(0, 1)
        return -by_head.view(heads, -1).sum(1) / (batch * S)  # raises

    return entropy, (seen(2, 3, 5, 7).softmax(-1),), "batch heads S Sk"


@raises(RuntimeError, "(B=2, T=5, C=10)", "n_heads", suggestion=())
def heads_that_do_not_divide():
    class Split(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.n_heads = n_heads

        def forward(self, x):
            B, T, C = x.shape
            h = x.view(B, T, self.n_heads, C // self.n_heads)  # raises
            return h.transpose(1, 2)

    return Split(3), (seen(2, 5, 10),), "B T C"


@raises(
    RuntimeError, "k (B=2, Sk=7,", "T", "Sk",
    suggestion=(
        "k.view(B, -1,", "k.view(B, k.size(1),", "k.view(B, k.shape[1],",
        "k.view(B, memory.size(1),", "k.view(B, memory.shape[1],",
        "k.reshape(B, -1,", "k.unflatten(-1,", "k.unflatten(2,", "k.reshape(B, k.size(1),",
        "k.reshape(B, k.shape[1],", "k.reshape(B, memory.size(1),", "rearrange(k,",
        "k.reshape(B, memory.shape[1],", "k.view(*k.shape[:-1],", "k.view(*k.shape[:2],",
        "k.view(k.size(0), k.size(1),", "k.view(k.shape[0], k.shape[1],", "k.unflatten(dim=-1,",
        "k.view(k.size(0), -1,", "k.view(B, k.size(-2),", "k.view(B, k.shape[-2],",
        "k.view(B, memory.size(-2),", "k.view(B, memory.shape[-2],",
    ),
)
def keys_split_by_the_query_length():
    class CrossAttention(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.head_size = n_heads, n_embd // n_heads
            self.q = nn.Linear(n_embd, n_embd)
            self.k = nn.Linear(n_embd, n_embd)

        def forward(self, x, memory):
            B, T, _ = x.shape
            q = self.q(x).view(B, T, self.n_heads, self.head_size)
            k = self.k(memory)
            k = k.view(B, T, self.n_heads, self.head_size)  # raises
            return torch.einsum("bqhd,bkhd->bhqk", q, k)

    return CrossAttention(12, 3), (seen(2, 5, 12), seen(2, 7, 12)), {
        "x": "B T n_embd", "memory": "B Sk n_embd",
    }


@raises(
    RuntimeError, "y (batch=2, S=5, heads=3, H=4)", "heads", "H",
    suggestion=(
        "y.reshape(batch, S, heads * H)", "y.reshape(batch, S, H * heads)",
        "y.reshape(batch, S, -1)", "y.flatten(2)", "y.flatten(-2)", "y.flatten(2, 3)",
        "y.flatten(-2, -1)", "y.flatten(start_dim=2)", "rearrange(y,", "y.view(batch, S, -1)",
        "y.view(batch, S, heads * H)", "y.flatten(start_dim=-2)", "y.flatten(2, -1)",
        "y.view(batch, S, H * heads)",
    ),
)
def merged_to_one_head():
    def merge(y):
        batch, S, heads, H = y.shape
        return y.reshape(batch, S, H)  # raises

    return merge, (seen(2, 5, 3, 4),), "batch S heads H"


@raises(RuntimeError, "img (batch=2, C=3, height=8, width=10)", "width", suggestion=())
def picture_not_made_of_patches():
    def patchify(img, p=4):
        batch, C, height, width = img.shape
        x = img.reshape(batch, C, height // p, p, width // p, p)  # raises
        return x.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)

    return patchify, (seen(2, 3, 8, 10),), "batch C height width"


@raises(RuntimeError, "qkv (batch=2, S=5, width=20)", "heads", suggestion=())
def grouped_heads_split_in_three():
    # 3 query heads, 1 head each for keys and values
    def split(qkv):
        heads, H = 3, 4
        parts = qkv.unflatten(-1, (3, heads, H))  # raises
        return parts.unbind(dim=2)

    return split, (seen(2, 5, 20),), "batch S width"


# ---- cat and stack -------------------------------------------------------------------------


@raises(
    RuntimeError, "past_k (batch=2, heads=3, past=7, H=4)", "k (batch=2, heads=3, S=5, H=4)",
    "past", "S",
    suggestion=(
        "torch.cat([past_k, k], dim=2)", "torch.cat([past_k, k], dim=-2)",
        "torch.cat([past_k, k], 2)", "torch.cat([past_k, k], -2)",
        "torch.cat((past_k, k), dim=2)", "torch.cat((past_k, k), dim=-2)",
        "torch.cat((past_k, k), 2)", "torch.cat((past_k, k), -2)",
        "torch.concat([past_k, k], dim=2)", "torch.concat([past_k, k], dim=-2)",
    ),
)
def cache_grown_along_heads():
    def step(q, k, past_k):
        keys = torch.cat([past_k, k], dim=1)  # raises
        return q @ keys.transpose(-2, -1)

    return step, (seen(2, 3, 5, 4), seen(2, 3, 5, 4), seen(2, 3, 7, 4)), {
        "q": "batch heads S H", "k": "batch heads S H", "past_k": "batch heads past H",
    }


@raises(
    RuntimeError, "self.cls (", "x (batch=2, S=5, n_embd=12)", "batch",
    suggestion=(
        "self.cls.expand(", "self.cls.repeat(", "repeat(self.cls,", "self.cls.tile(",
        "self.cls.repeat_interleave(", "self.cls.broadcast_to(", "torch.broadcast_to(self.cls,",
        "self.cls.expand_as(",
    ),
)
def class_token_of_one():
    class WithClass(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))

        def forward(self, x):
            return torch.cat((self.cls, x), dim=1)  # raises

    return WithClass(12), (seen(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError, "idx (batch=2, S=5)", "nxt (batch=2)",
    suggestion=last_one("nxt", 1) + ("nxt.unsqueeze(1)", "nxt.view(idx.size(0), 1)",
                                     "nxt.reshape(idx.size(0), 1)", "torch.column_stack("),
)
def greedy_step():
    def generate(idx, logits):
        for _ in range(2):
            nxt = logits[:, -1].argmax(-1)
            idx = torch.cat([idx, nxt], dim=1)  # raises
        return idx

    return generate, (torch.randint(11, (2, 5)), seen(2, 5, 11)), {
        "idx": "batch S", "logits": "batch S vocab",
    }


@raises(
    RuntimeError, "short (heads=3, S=5)", "long (heads=3, T=7)", "S", "T", suggestion=(),
)
def stacked_maps_of_two_prompts():
    def compare(short, long):
        both = torch.stack([short, long])  # raises
        return both.amax(0)

    return compare, (seen(3, 5), seen(3, 7)), {"short": "heads S", "long": "heads T"}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)", "self.mem (",
    suggestion=(
        "self.mem.expand(", "self.mem[None].expand(", "self.mem.unsqueeze(0).expand(",
        "self.mem.repeat(", "self.mem[None].repeat(", "self.mem.unsqueeze(0).repeat(",
        "repeat(self.mem,", "self.mem[None, :, :].expand(", "self.mem[None, ...].expand(",
        "self.mem.broadcast_to(", "torch.broadcast_to(self.mem,", "torch.stack([self.mem]",
        "self.mem[None, :, :].repeat(", "self.mem.tile(",
    ),
)
def memory_tokens_without_a_batch():
    class Memory(nn.Module):
        def __init__(self, n_mem, n_embd):
            super().__init__()
            self.mem = nn.Parameter(torch.randn(n_mem, n_embd))
            self.kv = nn.Linear(n_embd, 2 * n_embd)

        def forward(self, x):
            x = torch.cat([self.mem, x], dim=1)  # raises
            return self.kv(x)

    return Memory(3, 12), (seen(2, 5, 12),), {"x": "batch S n_embd"}


@raises(
    RuntimeError, "losses",
    suggestion=("torch.stack(losses", "sum(losses)", "torch.hstack(losses", ".view(1)", ".reshape(1)",
                "[None]", ".unsqueeze(0)"),
)
def losses_of_the_epoch():
    def epoch(x, y, w):
        losses = []
        for i in range(len(x)):
            pred = x[i] @ w
            losses.append(F.mse_loss(pred, y[i]))
        return torch.cat(losses).mean()  # raises

    return epoch, (seen(3, 5, 12), seen(3, 5, 4), seen(12, 4)), {
        "x": "batch S n_embd", "y": "batch S H", "w": "n_embd H",
    }


# ---- indices -------------------------------------------------------------------------------


@raises(IndexError, "block_size", "T", suggestion=())
def prompt_longer_than_the_block():
    class Embedding(nn.Module):
        def __init__(self, vocab_size, block_size, n_embd):
            super().__init__()
            self.tok = nn.Embedding(vocab_size, n_embd)
            self.pos = nn.Embedding(block_size, n_embd)

        def forward(self, idx):
            B, T = idx.shape
            positions = torch.arange(T, device=idx.device)
            where = self.pos(positions)  # raises
            return self.tok(idx) + where

    return Embedding(11, 8, 12), (torch.randint(11, (2, 10)),), {"idx": "B T"}


@raises(IndexError, "labels (batch=2, S=5)", "vocab_size", suggestion=())
def embedded_ignored_labels():
    # teacher forcing with labels that still hold -100
    class Decoder(nn.Module):
        def __init__(self, vocab_size, n_embd):
            super().__init__()
            self.embed = nn.Embedding(vocab_size, n_embd)

        def forward(self, labels):
            return self.embed(labels)  # raises

    labels = torch.randint(11, (2, 5))
    labels[1, 3:] = -100
    return Decoder(11, 12), (labels,), "batch S"


@raises(
    IndexError, "h (batch=2, S=5, n_embd=12)", "S",
    suggestion=("lengths - 1", "lengths.sub(1)", "lengths.clamp(max=", "lengths.add(-1)",
                "torch.sub(lengths, 1)"),
)
def last_state_by_length():
    def last(h, lengths):
        rows = torch.arange(h.size(0))
        return h[rows, lengths]  # raises

    return last, (seen(2, 5, 12), torch.tensor([3, 5])), {"h": "batch S n_embd", "lengths": "batch"}


@raises(
    IndexError, "logits (B=2, T=5, V=11)", "T",
    suggestion=("logits[:, -1]", "logits[:, T - 1]", "logits[:, -1, :]", "logits[:, T - 1, :]",
                "logits.select(1, -1)"),
)
def one_past_the_end():
    def sample(logits, temperature=0.8):
        B, T, V = logits.shape
        step = logits[:, T, :] / temperature  # raises
        return step.softmax(-1).argmax(-1)

    return sample, (seen(2, 5, 11),), "B T V"


@raises(
    IndexError, "att (batch=2, heads=3, S=5, Sk=7)", "batch",
    suggestion=("att[:, h]", "att[0, h]", "att[0][h]", "att.select(1, h)", "att[:, h, :, :]",
                "att[-1, h]", "att[0, h, :, :]", "att[..., h, :, :]", "att.mean(0)[h]",
                "att.transpose(0, 1)[h]"),
)
def one_panel_a_head():
    def panels(att):
        pictures = []
        for h in range(att.shape[1]):
            pictures.append(att[h] / att.max())  # raises
        return pictures

    return panels, (seen(2, 3, 5, 7).softmax(-1),), "batch heads S Sk"


@raises(
    IndexError, "scores (batch=2, S=5, Sk=7)",
    suggestion=("dim=-1", "dim=2", "scores.softmax(-1)", "scores.softmax(2)", "softmax(scores, -1)",
                "softmax(scores, 2)"),
)
def softmax_over_a_fourth_dim():
    def fn(scores, v):
        p = F.softmax(scores, dim=3)  # raises
        return p @ v

    return fn, (seen(2, 5, 7), seen(2, 7, 4)), {"scores": "batch S Sk", "v": "batch Sk H"}


@raises(
    RuntimeError, "logp (batch=2, S=5, vocab=11)", "targets (batch=2, S=5)",
    suggestion=last_one("targets", 2) + ("targets.view(", "targets.reshape("),
)
def gathered_log_probs():
    def perplexity(logits, targets):
        logp = logits.log_softmax(-1)
        picked = logp.gather(2, targets)  # raises
        return picked.mean().neg().exp()

    return perplexity, (seen(2, 5, 11), torch.randint(11, (2, 5))), {
        "logits": "batch S vocab", "targets": "batch S",
    }


@raises(
    RuntimeError, "cache (beams=8, heads=3, S=5, H=4)", "heads",
    suggestion=("cache.index_select(0, order)", "cache[order]", "index_select(cache, 0, order)",
                "cache.index_select(dim=0", "cache[order, :]", "cache[order, ...]",
                "cache.take_along_dim("),
)
def reordered_beams():
    def reorder(cache, order):
        return cache.index_select(1, order)  # raises

    return reorder, (seen(8, 3, 5, 4), torch.tensor([0, 0, 2, 3, 4, 4, 7, 6])), {
        "cache": "beams heads S H", "order": "beams",
    }


@raises(
    IndexError, "logits (batch=2, S=6, vocab=11)", "S",
    suggestion=("logits[:, :-1]", "logits[..., :-1, :]", "logits[:, : keep.size(1)]",
                "logits[:, : keep.shape[1]]", "logits[:, :-1, :]", "logits.narrow(1, 0,"),
)
def scored_answer_tokens():
    def answer_logits(logits, idx):
        keep = idx[:, 1:] != 0
        return logits[keep]  # raises

    return answer_logits, (seen(2, 6, 11), torch.randint(11, (2, 6))), {
        "logits": "batch S vocab", "idx": "batch S",
    }


@raises(
    RuntimeError, "probs (batch=2, S=5, vocab=11)",
    suggestion=("probs[:, -1]", "probs[:, -1, :]", "probs.flatten(0, 1)", "probs.view(-1,",
                "probs.reshape(-1,", "probs.flatten(end_dim=1)", "probs.select(1, -1)",
                "probs[..., -1, :]", "Categorical("),
)
def sampled_at_every_position():
    def sample(logits):
        probs = logits.softmax(-1)
        return torch.multinomial(probs, 1)  # raises

    return sample, (seen(2, 5, 11),), "batch S vocab"


# ---- losses --------------------------------------------------------------------------------


@raises(
    RuntimeError, "logits (batch=2, S=5, vocab=11)", "targets (batch=2, S=5)",
    suggestion=swap("logits", 1, 2, 3) + (
        "logits.flatten(0, 1)", "logits.view(-1,", "logits.reshape(-1,", "logits.flatten(end_dim=1)",
        "logits.view(batch * S,", "logits.reshape(batch * S,", "logits.flatten(0, -2)",
        "logits.flatten(end_dim=-2)", "logits.movedim(-1, 1)", "logits.movedim(2, 1)",
        "logits.moveaxis(-1, 1)", "logits.view(targets.numel(),", "logits.reshape(targets.numel(),",
    ),
)
def vocabulary_last():
    def loss_fn(logits, targets):
        return F.cross_entropy(logits, targets, ignore_index=-100)  # raises

    return loss_fn, (seen(2, 5, 11), torch.randint(5, (2, 5))), {
        "logits": "batch S vocab", "targets": "batch S",
    }


@raises(
    RuntimeError, "y (batch=4)", suggestion=casts("y", *LONG[:2]),
)
def labels_read_as_floats():
    class Classifier(nn.Module):
        def __init__(self, n_embd, n_classes):
            super().__init__()
            self.head = nn.Linear(n_embd, n_classes)

        def forward(self, h, y):
            logits = self.head(h.mean(1))
            loss = F.cross_entropy(logits, y)  # raises
            return logits, loss

    return Classifier(12, 3), (seen(4, 5, 12), torch.tensor([0.0, 2.0, 1.0, 1.0])), {
        "h": "batch S n_embd", "y": "batch",
    }


@raises(
    RuntimeError, "(batch=2, S=5)",
    suggestion=casts("(pred == y)", *FLOAT) + casts("(pred == y)", "logits.dtype", "torch.float64") + (
        "(pred == y).mean(dtype=torch.float", "torch.mean((pred == y).float()", "(pred == y).double()",
        "pred.eq(y).float()", "(pred == y).sum()", "(pred == y).mean(dtype=logits.dtype",
        "torch.mean(pred == y, dtype=torch.float", "(pred == y).half()",
    ),
)
def accuracy():
    def evaluate(logits, y):
        pred = logits.argmax(dim=-1)
        return (pred == y).mean()  # raises

    return evaluate, (seen(2, 5, 11), torch.randint(11, (2, 5))), {
        "logits": "batch S vocab", "y": "batch S",
    }


# ---- dtypes --------------------------------------------------------------------------------


@raises(
    RuntimeError, "w (batch=2, heads=3, S=5, Sk=7)", "v (batch=2, heads=3, Sk=7, H=4)",
    suggestion=casts("w", "v.dtype", "torch.float16", "q.dtype", "k.dtype")
    + casts("v", "w.dtype", *FLOAT),
)
def softmax_in_full_precision():
    def fn(q, k, v):
        s = q @ k.mT / 2.0
        w = F.softmax(s, dim=-1, dtype=torch.float32)
        return w @ v  # raises

    half = torch.float16
    args = (seen(2, 3, 5, 4, kind=half), seen(2, 3, 7, 4, kind=half), seen(2, 3, 7, 4, kind=half))
    return fn, args, {"q": "batch heads S H", "k": "batch heads Sk H", "v": "batch heads Sk H"}


@raises(
    RuntimeError, "x (batch=2, S=5, n_embd=12)",
    suggestion=casts("x", "self.proj.weight.dtype", "torch.bfloat16", "self.proj.bias.dtype")
    + ("self.proj.float()", "self.proj.to(x.dtype)", "self.proj.to(torch.float32)",
       "self.proj.to(x)", "self.proj.to(dtype=x.dtype)", "self.proj.weight.to(x.dtype)"),
)
def half_of_the_model_in_bfloat():
    class Head(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.norm = nn.LayerNorm(n_embd)
            self.proj = nn.Linear(n_embd, head_size).bfloat16()

        def forward(self, x):
            x = self.norm(x)
            return self.proj(x)  # raises

    return Head(12, 4), (seen(2, 5, 12),), {"x": "batch S n_embd"}


@raises(
    RuntimeError, "q (batch=2, S=5, H=4)", "k8 (batch=2, Sk=7, H=4)",
    suggestion=casts("k8", "q.dtype", "scale.dtype", *FLOAT)
    + ("k8 * scale", "scale * k8", "k8.mul(scale", "torch.mul(k8, scale"),
)
def quantised_keys():
    def fn(q, k8, scale):
        s = torch.einsum("bqd,bkd->bqk", q, k8)  # raises
        return s * scale[:, None, :]

    k8 = torch.randint(-128, 127, (2, 7, 4), dtype=torch.int8)
    return fn, (seen(2, 5, 4), k8, seen(2, 7).abs()), {
        "q": "batch S H", "k8": "batch Sk H", "scale": "batch Sk",
    }


@raises(
    IndexError, "bucket (S=5, S=5)", suggestion=casts("bucket", *LONG) + (
        "self.table[bucket.round().long()]", "bucket.round().to(torch.long)", "bucket.floor().long()",
        "bucket.clone().long()", "bucket.floor().to(torch.long)", "bucket.round().to(torch.int64)",
    ),
)
def logarithmic_buckets():
    class RelativeBias(nn.Module):
        def __init__(self, n_buckets, n_heads):
            super().__init__()
            self.table = nn.Parameter(torch.randn(n_buckets, n_heads))

        def forward(self, scores):
            S = scores.size(-1)
            i = torch.arange(S)
            bucket = torch.log2(1.0 + (i[:, None] - i[None, :]).abs()).floor()
            bias = self.table[bucket]  # raises
            return scores + bias.permute(2, 0, 1)

    return RelativeBias(8, 3), (seen(2, 3, 5, 5),), "batch heads S S"


@raises(
    RuntimeError, "pos (batch=2, S=5)", suggestion=casts("pos", *LONG),
)
def positions_from_a_float_mask():
    class LeftPadded(nn.Module):
        def __init__(self, max_len, n_embd):
            super().__init__()
            self.wpe = nn.Embedding(max_len, n_embd)

        def forward(self, x, keep):
            pos = (keep.cumsum(-1) - 1).clamp(min=0)
            return x + self.wpe(pos)  # raises

    keep = torch.tensor([[0.0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    return LeftPadded(8, 12), (seen(2, 5, 12), keep), {"x": "batch S n_embd", "keep": "batch S"}


@raises(
    TypeError, "keep (batch=2, Sk=7)",
    suggestion=("~keep.bool()", "keep == 0", "keep < ", "keep.logical_not()", "torch.logical_not(keep)",
                "~(keep", "keep.eq(0)", "keep.bool().logical_not()", "~keep.to(torch.bool)",
                "(1 - keep).bool()", "keep != 1", "~keep.type(torch.bool)", "keep <= 0"),
)
def inverted_float_mask():
    def fn(scores, keep):
        drop = ~keep  # raises
        return scores.masked_fill(drop[:, None, :], -1e9)

    return fn, (seen(2, 5, 7), torch.ones(2, 7)), {"scores": "batch S Sk", "keep": "batch Sk"}


@raises(
    RuntimeError, "weights (batch=2, S=5)",
    suggestion=casts("weights", "out.dtype", *FLOAT) + casts("out", "weights.dtype", "torch.float16"),
)
def copied_words_in_half():
    # pointer network: weights on source words become a distribution over the vocabulary
    def copy_distribution(weights, src):
        batch = weights.size(0)
        out = torch.zeros(batch, 11)
        out = out.scatter_add(1, src, weights)  # raises
        return out.log()

    weights = seen(2, 5).softmax(-1).half()
    return copy_distribution, (weights, torch.randint(11, (2, 5))), {"weights": "batch S", "src": "batch S"}


@raises(
    RuntimeError, "onehot (batch=2, S=5,",
    suggestion=casts("onehot", *FLOAT) + casts("onehot", "self.embed.weight.dtype") + (
        "F.embedding(idx", "self.embed.weight.T[idx]", "self.embed.weight[:, idx]",
    ),
)
def one_hot_into_a_linear():
    class SoftEmbedding(nn.Module):
        def __init__(self, vocab_size, n_embd):
            super().__init__()
            self.vocab_size = vocab_size
            self.embed = nn.Linear(vocab_size, n_embd, bias=False)

        def forward(self, idx):
            onehot = F.one_hot(idx, self.vocab_size)
            return self.embed(onehot)  # raises

    return SoftEmbedding(11, 12), (torch.randint(11, (2, 5)),), "batch S"


@raises(
    RuntimeError, "rel (", suggestion=casts("rel", *FLOAT) + casts("rel", "scores.dtype"),
)
def offsets_into_a_bias_network():
    class ContinuousBias(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.mlp = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, n_heads))

        def forward(self, scores):
            S = scores.size(-1)
            i = torch.arange(S)
            rel = (i[:, None] - i)[..., None]
            bias = self.mlp(rel)  # raises
            return scores + rearrange(bias, "i j h -> h i j")

    return ContinuousBias(3), (seen(2, 3, 5, 5),), "batch heads S S"


# ---- .T ------------------------------------------------------------------------------------


@raises(
    RuntimeError, "q (batch=2, S=5, H=4)", "k.T",
    suggestion=swap("k", 1, 2, 3) + ("einsum(",),
)
def numpy_habit():
    def attention(q, k, v):
        s = q @ k.T  # raises
        return torch.softmax(s / q.shape[-1] ** 0.5, -1) @ v

    return attention, (seen(2, 5, 4), seen(2, 7, 4), seen(2, 7, 4)), {
        "q": "batch S H", "k": "batch Sk H", "v": "batch Sk H",
    }


@raises(
    RuntimeError, "v (batch=2, S=5, n_v=6)", "k.T",
    suggestion=swap("k", 1, 2, 3) + ("einsum(",),
)
def linear_attention_state():
    def fn(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.matmul(k.T, v)  # raises
        return q @ state / (q @ k.sum(1)[..., None])

    return fn, (seen(2, 5, 4), seen(2, 5, 4), seen(2, 5, 6)), {
        "q": "batch S H", "k": "batch S H", "v": "batch S n_v",
    }


# ---- masks ---------------------------------------------------------------------------------


@raises(
    RuntimeError, "pad (batch=2, Sk=7)", "batch", suggestion=key_mask("pad"),
)
def padding_straight_to_the_kernel():
    def fn(q, k, v, pad):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=pad)  # raises

    pad = torch.ones(2, 7, dtype=torch.bool)
    return fn, (seen(2, 3, 5, 4), seen(2, 3, 7, 4), seen(2, 3, 7, 4), pad), {
        "q": "batch heads S H", "k": "batch heads Sk H", "v": "batch heads Sk H", "pad": "batch Sk",
    }


@raises(
    RuntimeError, "mask (batch=2, 1, 1, Sk=7)",
    suggestion=casts("mask", "torch.bool") + (
        "mask == 1", "mask != 0", "mask > 0", "mask.ne(0)", "mask.eq(1)", "mask.gt(0)", "mask >= 1",
    ),
)
def tokenizer_mask_of_ints():
    class Attend(nn.Module):
        def forward(self, q, k, v, attention_mask):
            mask = attention_mask[:, None, None, :]
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # raises

    ones = torch.ones(2, 7, dtype=torch.long)
    return Attend(), (seen(2, 3, 5, 4), seen(2, 3, 7, 4), seen(2, 3, 7, 4), ones), {
        "q": "batch heads S H", "k": "batch heads Sk H", "v": "batch heads Sk H",
        "attention_mask": "batch Sk",
    }


@raises(
    RuntimeError, "1 - tri",
    suggestion=("(1 - tri).bool()", "tri == 0", "~tri.bool()", "tri < ", "(1 - tri) == 1",
                "1 - tri == 1", "(1 - tri) > 0", "1 - tri > 0", "tri.logical_not()",
                "torch.logical_not(tri)", "(1 - tri).to(torch.bool)", "tri.eq(0)", "(1 - tri) != 0",
                "tri != 1", "1 - tri != 0", "~(tri", "(1 - tri).type(torch.bool)", "tri <= 0",
                "(1 - tri).to(dtype=torch.bool)", "~tri.to(torch.bool)"),
)
def one_minus_triangle():
    def causal(scores):
        S = scores.shape[-1]
        tri = torch.tril(torch.ones(S, S))
        scores = scores.masked_fill(1 - tri, float("-inf"))  # raises
        return scores.softmax(-1)

    return causal, (seen(2, 5, 5),), "batch S S"


@raises(
    RuntimeError, "wei (B=2, T=5, T=5)", "self.tril == 0", "T", "block_size",
    suggestion=("self.tril[:T, :T]", "(self.tril == 0)[:T, :T]", "(self.tril == 0)[..., :T, :T]",
                "self.tril[..., :T, :T]", "self.tril[:wei.size(-2), :wei.size(-1)]",
                "self.tril[:wei.shape[-2], :wei.shape[-1]]", "self.tril[:x.size(1), :x.size(1)]",
                "self.tril[0:T, 0:T]", "self.tril[:x.shape[1], :x.shape[1]]",
                "(self.tril == 0)[:wei.size(-2), :wei.size(-1)]",
                "(self.tril == 0)[:wei.shape[-2], :wei.shape[-1]]"),
)
def whole_triangle():
    class Head(nn.Module):
        def __init__(self, n_embd, head_size, block_size):
            super().__init__()
            self.block_size = block_size
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            B, T, C = x.shape
            wei = self.query(x) @ self.key(x).transpose(-2, -1)
            wei = wei.masked_fill(self.tril == 0, float("-inf"))  # raises
            return F.softmax(wei, dim=-1)

    return Head(12, 4, 8), (seen(2, 5, 12),), "B T C"


@raises(
    RuntimeError, "scores (batch=2, S=5, Sk=7)", "blocked (batch=2, Sk=7, S=5)", "S", "Sk",
    suggestion=swap("blocked", 1, 2, 3),
)
def mask_the_other_way_round():
    def fn(scores, blocked):
        return scores.masked_fill(blocked, -torch.inf).softmax(-1)  # raises

    return fn, (seen(2, 5, 7), torch.zeros(2, 7, 5, dtype=torch.bool)), {
        "scores": "batch S Sk", "blocked": "batch Sk S",
    }


@raises(
    RuntimeError, "hidden (batch=2, S=5)", "h (batch=2, S=5, n_embd=12)", "S", "n_embd",
    suggestion=last_one("hidden", 2) + ("hidden.view(", "hidden.reshape("),
)
def masked_patches():
    class Corrupt(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.token = nn.Parameter(torch.zeros(n_embd))

        def forward(self, h, hidden):
            return torch.where(hidden, self.token, h)  # raises

    return Corrupt(12), (seen(2, 5, 12), torch.rand(2, 5) < 0.5), {
        "h": "batch S n_embd", "hidden": "batch S",
    }


@raises(
    RuntimeError, "causal (S=5, S=5)", "Sk", suggestion=(),
)
def square_mask_for_cross_attention():
    class Decoder(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.cross = nn.MultiheadAttention(n_embd, n_heads, batch_first=True)

        def forward(self, x, memory, causal):
            y, _ = self.cross(x, memory, memory, attn_mask=causal)  # raises
            return x + y

    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    return Decoder(12, 3), (seen(2, 5, 12), seen(2, 7, 12), causal), {
        "x": "batch S n_embd", "memory": "batch Sk n_embd", "causal": "S S",
    }


# ---- einops --------------------------------------------------------------------------------


@raises(einops.EinopsError, "x (batch=2, S=5, n_embd=10)", "n_embd", suggestion=())
def einops_heads_that_do_not_divide():
    class SplitHeads(nn.Module):
        def __init__(self, heads):
            super().__init__()
            self.heads = heads

        def forward(self, x):
            return rearrange(x, "b n (h d) -> b h n d", h=self.heads)  # raises

    return SplitHeads(4), (seen(2, 5, 10),), "batch S n_embd"


@raises(
    einops.EinopsError, "q (batch=2, S=5, heads=3, H=4)",
    suggestion=("b t h d -> b h t d", "b n h d -> b h n d", "b s h d -> b h s d")
    + tuple(s for s in swap("q", 1, 2, 4) if "rearrange" not in s) + ("q.flatten(2)", "q.flatten(-2)", "q.reshape(", "q.flatten(2, 3)"),
)
def einops_split_twice():
    def fn(q, k):
        q = rearrange(q, "b t (h d) -> b h t d", h=3)  # raises
        return q @ k.transpose(-2, -1)

    return fn, (seen(2, 5, 3, 4), seen(2, 3, 7, 4)), {"q": "batch S heads H", "k": "batch heads Sk H"}


@raises(
    einops.EinopsError, "x (batch=2, tokens=10, n_embd=12)", "tokens",
    suggestion=("x[:, 1:]", "x[:, 1:, :]", "x[..., 1:, :]"),
)
def einops_grid_with_the_class_token():
    def to_map(x, side=3):
        cls = x[:, 0]
        grid = rearrange(x, "b (h w) c -> b c h w", h=side)  # raises
        return grid + cls[:, :, None, None]

    return to_map, (seen(2, 10, 12),), "batch tokens n_embd"


@raises(
    einops.EinopsError, "self.latents (",
    suggestion=("b=x.shape[0]", "b=x.size(0)", "b=len(x)", "self.latents.expand(",
                "self.latents[None].expand(", "self.latents.unsqueeze(0).expand(",
                "self.latents.repeat(", "self.latents[None].repeat("),
)
def einops_latents_for_nobody():
    class Perceiver(nn.Module):
        def __init__(self, n_latents, n_embd):
            super().__init__()
            self.latents = nn.Parameter(torch.randn(n_latents, n_embd))
            self.attn = nn.MultiheadAttention(n_embd, 3, batch_first=True)

        def forward(self, x):
            z = repeat(self.latents, "n d -> b n d")  # raises
            return self.attn(z, x, x)[0]

    return Perceiver(4, 12), (seen(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError, "q (batch=2, heads=3, S=5, H=4)", "k (batch=2, Sk=7, H=4)",
    suggestion=("b h i d, b j d -> b h i j", "k[:, None]", "k.unsqueeze(1)", "k[:, None, :, :]",
                "k[:, None, ...]", "rearrange(k,", "k.unsqueeze(-3)", "repeat(k,"),
)
def einops_shared_keys():
    def multi_query(q, k):
        return einops.einsum(q, k, "b h i d, b h j d -> b h i j")  # raises

    return multi_query, (seen(2, 3, 5, 4), seen(2, 7, 4)), {
        "q": "batch heads S H", "k": "batch Sk H",
    }
