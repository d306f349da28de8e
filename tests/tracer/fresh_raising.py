"""Forty-three programs that raise, with what an explanation has to say and which fixes do.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 39 of 43 met in full. `gram_of_token_sets` was offered a permuted second operand where
``.T`` was at fault, `einops_reduce_missing_axis` a result with an axis more than was asked for,
and `einops_unknown_split` nothing. One expectation was mended: in `causal_buffer_half_cut` the
offered ``(self.tril[:S] == 0)[:, :S]`` cuts the compared mask as well as the buffer would be cut.
No fix is asked for where ``suggestion`` is empty.
"""

# ruff: noqa: F841, RUF005

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import EinopsError, rearrange, reduce, repeat

RAISING = {}


def raises(kind, *words, suggestion=()):
    def keep(build):
        RAISING[build.__name__] = (build, kind, words, suggestion)
        return build

    return keep


R = torch.randn


def turned(x, *more):
    """Ways to swap the last two axes of a 3-D tensor, plus more."""
    return (
        f"{x}.transpose(-2, -1)",
        f"{x}.transpose(-1, -2)",
        f"{x}.transpose(1, 2)",
        f"{x}.transpose(2, 1)",
        f"{x}.mT",
        f"{x}.permute(0, 2, 1)",
        f"{x}.swapaxes(1, 2)",
        f"{x}.swapaxes(-1, -2)",
        f"{x}.swapaxes(-2, -1)",
    ) + more


# matmul, bmm, einsum, linear


@raises(
    RuntimeError, "q (batch=2, S=5, H=16)", "memory.transpose(1, 2) (batch=2, D=12, T=7)", "H", "D"
)
def unprojected_memory():
    def cross(q, memory):
        att = torch.bmm(q, memory.transpose(1, 2)).softmax(-1)  # raises
        return torch.bmm(att, memory)

    return cross, (R(2, 5, 16), R(2, 7, 12)), {"q": "batch S H", "memory": "batch T D"}


@raises(
    RuntimeError,
    "q (batch=2, heads=3, S=5, H=16)",
    "k (batch=2, heads=3, T=7, H=16)",
    "H",
    "T",
    suggestion=(
        "bhqd,bhkd->bhqk",
        "bhqk,bhdk->bhqd",
        "k.transpose(-2, -1)",
        "k.transpose(-1, -2)",
        "k.transpose(2, 3)",
        "k.transpose(3, 2)",
        "k.mT",
        "k.permute(0, 1, 3, 2)",
        "k.swapaxes(-1, -2)",
        "k.swapaxes(2, 3)",
    ),
)
def einsum_letters_swapped():
    def scores(q, k):
        s = torch.einsum("bhqd,bhdk->bhqk", q, k)  # raises
        return s.softmax(-1)

    return (
        scores,
        (R(2, 3, 5, 16), R(2, 3, 7, 16)),
        {"q": "batch heads S H", "k": "batch heads T H"},
    )


@raises(
    RuntimeError,
    "out (batch=2, S=5, heads=3, H=4)",
    "H",
    "n_embd",
    suggestion=(
        "out.flatten(2",
        "out.flatten(-2",
        "out.reshape(",
        "out.view(",
        "out.contiguous().view(",
    ),
)
def projection_before_merge():
    heads, H = 3, 4
    n_embd = heads * H

    class Out(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, att, v):
            out = (att @ v).transpose(1, 2)
            return self.proj(out)  # raises

    return Out(), (R(2, 3, 5, 7), R(2, 3, 7, 4)), {"att": "batch heads S T", "v": "batch heads T H"}


@raises(RuntimeError, "y (batch=2, C=8, frames=11)", "C", "frames", suggestion=turned("y"))
def conv_output_into_linear():
    C, vocab = 8, 20

    class Asr(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(5, C, 3, padding=1)
            self.head = nn.Linear(C, vocab)

        def forward(self, mel):
            y = F.relu(self.conv(mel))
            return self.head(y).log_softmax(-1)  # raises

    return Asr(), (R(2, 5, 11),), "batch mels frames"


@raises(
    RuntimeError,
    "att (batch=2, heads=3, S=5, T=7)",
    "v (batch=2, heads=3, T=7, H=4)",
    suggestion=(
        "att @ v",
        "torch.matmul(att, v)",
        "att.matmul(v)",
        "torch.einsum(",
        "att.flatten(0, 1)",
    ),
)
def bmm_with_head_axis():
    def mix(att, v):
        return torch.bmm(att, v)  # raises

    return mix, (R(2, 3, 5, 7), R(2, 3, 7, 4)), {"att": "batch heads S T", "v": "batch heads T H"}


@raises(
    RuntimeError,
    "w (batch=2, S=5)",
    "x (batch=2, S=5, C=8)",
    suggestion=(
        "w.unsqueeze(1)",
        "w[:, None]",
        "w.unsqueeze(-2)",
        "w[:, None, :]",
        "w[..., None, :]",
        "bs,bsc->bc",
        "w.unsqueeze(-1)",
        "w[..., None]",
        "w[:, :, None]",
        "torch.einsum(",
    ),
)
def pool_weights_without_row():
    def pool(x, query):
        w = (x @ query).softmax(dim=1)
        return torch.bmm(w, x)  # raises

    return pool, (R(2, 5, 8), R(8)), {"x": "batch S C", "query": "C"}


# broadcasting


@raises(
    RuntimeError,
    "out (batch=2, heads=3, S=5, H=8)",
    "gate (batch=2, heads=3)",
    "heads",
    "H",
    suggestion=(
        "gate[:, :, None, None]",
        "gate[..., None, None]",
        "gate.unsqueeze(-1).unsqueeze(-1)",
        "gate[:, :, None][..., None]",
        "gate.unsqueeze(2).unsqueeze(3)",
        "gate.unsqueeze(2).unsqueeze(2)",
        "gate.view(",
        "gate.reshape(",
        "bhsd,bh->bhsd",
    ),
)
def head_gate_short():
    def gated(out, gate):
        out = out * gate  # raises
        return out.transpose(1, 2).flatten(2)

    return gated, (R(2, 3, 5, 8), R(2, 3)), {"out": "batch heads S H", "gate": "batch heads"}


@raises(
    RuntimeError,
    "q (batch=2, S=5, heads=3, H=8)",
    "cos (S=5, H=8)",
    "S",
    "heads",
    suggestion=(
        "cos[:, None]",
        "cos[:, None, :]",
        "cos.unsqueeze(1)",
        "cos.unsqueeze(-2)",
        "cos[None, :, None]",
        "cos[None, :, None, :]",
        "cos.view(",
        "cos.reshape(",
        "q.transpose(1, 2)",
        "q.transpose(2, 1)",
        "q.transpose(-2, -3)",
        "q.transpose(-3, -2)",
        "q.permute(0, 2, 1, 3)",
    ),
)
def rope_table_without_head_axis():
    def rope(q, cos, sin):
        a, b = q.chunk(2, dim=-1)
        return q * cos + torch.cat((-b, a), dim=-1) * sin  # raises

    return (
        rope,
        (R(2, 5, 3, 8), R(5, 8), R(5, 8)),
        {"q": "batch S heads H", "cos": "S H", "sin": "S H"},
    )


@raises(
    RuntimeError,
    "x (batch=2, S=5, n_embd=12)",
    "self.pos (max_len=32, n_embd=12)",
    "S",
    "max_len",
    suggestion=(
        "self.pos[:S",
        "self.pos[:x.size(1)]",
        "self.pos[:x.shape[1]]",
        "self.pos[:x.size(-2)]",
        "self.pos[:x.shape[-2]]",
        "self.pos[:5]",
        "self.pos[None, :",
        "self.pos.narrow(",
    ),
)
def position_table_uncut():
    max_len, n_embd = 32, 12

    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.pos = nn.Parameter(torch.zeros(max_len, n_embd))

        def forward(self, x):
            B, S, C = x.shape
            return x + self.pos  # raises

    return Embed(), (R(2, 5, 12),), "batch S n_embd"


@raises(
    RuntimeError,
    "x (batch=2, T=9, channels=4)",
    "mean (batch=2, channels=4)",
    "batch",
    "T",
    suggestion=(
        "mean.unsqueeze(1)",
        "mean[:, None]",
        "mean[:, None, :]",
        "mean.unsqueeze(-2)",
        "keepdim=True",
        "mean[..., None, :]",
        "mean.view(",
        "mean.reshape(",
    ),
)
def series_mean_lost_axis():
    def normalise(x):
        mean = x.mean(1)
        return (x - mean) / x.std(1, keepdim=True)  # raises

    return normalise, (R(2, 9, 4),), "batch T channels"


@raises(
    RuntimeError,
    "student (batch=2, s_heads=2, S=5, T=7)",
    "teacher (batch=2, t_heads=6, S=5, T=7)",
    "s_heads",
    "t_heads",
)
def map_loss_other_heads():
    def direct(student, teacher):
        gap = student - teacher  # raises
        return gap.pow(2).mean()

    return (
        direct,
        (R(2, 2, 5, 7), R(2, 6, 5, 7)),
        {"student": "batch s_heads S T", "teacher": "batch t_heads S T"},
    )


# view of a non-contiguous tensor


@raises(
    RuntimeError,
    "fmap.permute(0, 2, 3, 1) (batch=2, rows=4, cols=5, C=6)",
    suggestion=("reshape(", "contiguous()", ".flatten(2", ".flatten(-2", "rearrange("),
)
def image_rows_view():
    def row_tokens(fmap):
        B, C, rows, cols = fmap.shape
        x = fmap.permute(0, 2, 3, 1).view(B, rows, cols * C)  # raises
        return x @ x.transpose(1, 2)

    return row_tokens, (R(2, 6, 4, 5),), "batch C rows cols"


@raises(
    RuntimeError,
    "n_kv=2",
    "T=5",
    suggestion=("reshape(", "contiguous()", "flatten(1, 2)", "repeat_interleave("),
)
def expanded_kv_view():
    def repeat_kv(k, n_rep):
        B, n_kv, T, H = k.shape
        k = k[:, :, None].expand(B, n_kv, n_rep, T, H)
        return k.view(B, n_kv * n_rep, T, H)  # raises

    return lambda k: repeat_kv(k, 3), (R(2, 2, 5, 4),), {"k": "batch n_kv T H"}


@raises(
    RuntimeError,
    "y (S=5, batch=2, heads=3, H=4)",
    suggestion=("reshape(", "contiguous()", "y.flatten(2", "y.flatten(-2", "rearrange("),
)
def seq_first_merge_view():
    class Merge(nn.Module):
        def forward(self, att, v):
            B, heads, S, _ = att.shape
            y = (att @ v).permute(2, 0, 1, 3)
            return y.view(S, B, -1)  # raises

    return (
        Merge(),
        (R(2, 3, 5, 7), R(2, 3, 7, 4)),
        {"att": "batch heads S T", "v": "batch heads T H"},
    )


# view with a wrong product


@raises(RuntimeError, "q (batch=2, S=5, n_embd=20)", "heads")
def heads_do_not_divide():
    n_embd, heads = 20, 3

    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = heads
            self.query = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            B, S, C = x.shape
            q = self.query(x)
            q = q.view(B, S, self.heads, C // self.heads)  # raises
            return q.transpose(1, 2)

    return Split(), (R(2, 5, 20),), "batch S n_embd"


@raises(
    RuntimeError,
    "batch=2",
    "S=5",
    suggestion=("3, heads", "3, self.heads", "-1, self.heads, self.H"),
)
def fused_qkv_as_one():
    heads, H = 3, 4
    n_embd = heads * H

    class Fused(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, self.H = heads, H
            self.c_attn = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            B, S, _ = x.shape
            qkv = self.c_attn(x)
            qkv = qkv.view(B, S, self.heads, self.H)  # raises
            return qkv.unbind(2)

    return Fused(), (R(2, 5, 12),), "batch S n_embd"


@raises(RuntimeError, "img (batch=2, C=3, rows=10, cols=8)", "rows")
def patches_do_not_tile():
    def patchify(img, p):
        B, C, rows, cols = img.shape
        x = img.reshape(B, C, rows // p, p, cols // p, p)  # raises
        return x.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)

    return lambda img: patchify(img, 4), (R(2, 3, 10, 8),), {"img": "batch C rows cols"}


# cat, stack


@raises(
    RuntimeError,
    "self.cls (1, 1, n_embd=6)",
    "x (batch=4, S=5, n_embd=6)",
    "batch",
    suggestion=(
        "self.cls.expand(",
        "self.cls.repeat(",
        "self.cls.repeat_interleave(",
        "repeat(self.cls",
        "self.cls.tile(",
        "self.cls.broadcast_to(",
        "self.cls.expand_as(",
    ),
)
def class_token_not_expanded():
    n_embd = 6

    class Cls(nn.Module):
        def __init__(self):
            super().__init__()
            self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))

        def forward(self, x):
            x = torch.cat([self.cls, x], dim=1)  # raises
            return x

    return Cls(), (R(4, 5, 6),), "batch S n_embd"


@raises(
    RuntimeError,
    "past (batch=2, heads=3, T=7, H=4)",
    "k (batch=2, S=5, heads=3, H=4)",
    "heads",
    "S",
    suggestion=(
        "k.transpose(1, 2)",
        "k.transpose(2, 1)",
        "k.permute(0, 2, 1, 3)",
        "k.swapaxes(1, 2)",
        "k.transpose(-2, -3)",
        "k.transpose(-3, -2)",
    ),
)
def cache_in_other_layout():
    def extend(q, k, past):
        k = torch.cat([past, k], dim=2)  # raises
        return q @ k.transpose(-1, -2)

    return (
        extend,
        (R(2, 3, 5, 4), R(2, 5, 3, 4), R(2, 3, 7, 4)),
        {"q": "batch heads S H", "k": "batch S heads H", "past": "batch heads T H"},
    )


@raises(
    RuntimeError, "q (batch=2, S=5, heads=6, H=4)", "k (batch=2, S=5, n_kv=2, H=4)", "heads", "n_kv"
)
def packed_qkv_of_grouped_heads():
    def pack(q, k, v):
        return torch.stack([q, k, v], dim=2)  # raises

    args = R(2, 5, 6, 4), R(2, 5, 2, 4), R(2, 5, 2, 4)
    return pack, args, {"q": "batch S heads H", "k": "batch S n_kv H", "v": "batch S n_kv H"}


@raises(
    RuntimeError,
    "mem (M=3, C=6)",
    "x (batch=2, S=5, C=6)",
    suggestion=(
        "mem.expand(",
        "mem.repeat(",
        "mem[None].expand(",
        "mem.unsqueeze(0).expand(",
        "mem[None].repeat(",
        "mem.unsqueeze(0).repeat(",
        "repeat(mem",
        "mem[None, :].expand(",
        "mem[None, :, :].expand(",
        "mem.tile(",
        "mem.broadcast_to(",
    ),
)
def memory_without_batch():
    def with_memory(x, mem):
        kv = torch.cat((mem, x), dim=1)  # raises
        return x @ kv.mT

    return with_memory, (R(2, 5, 6), R(3, 6)), {"x": "batch S C", "mem": "M C"}


# index out of range


@raises(IndexError, "12", "8")
def past_the_block():
    block, n_embd = 8, 6

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(50, n_embd)
            self.wpe = nn.Embedding(block, n_embd)

        def forward(self, idx):
            B, S = idx.shape
            pos = torch.arange(S)
            return self.wte(idx) + self.wpe(pos)  # raises

    return Gpt(), (torch.randint(0, 50, (2, 12)),), "batch S"


@raises(RuntimeError, "picked (batch=2, K=3)", "9", "S")
def gather_past_the_end():
    def route(gate, picked):
        return gate.gather(1, picked).softmax(-1)  # raises

    return (
        route,
        (R(2, 6), torch.tensor([[0, 1, 9], [2, 3, 4]])),
        {"gate": "batch S", "picked": "batch K"},
    )


@raises(
    IndexError,
    "x (batch=2, S=6, C=4)",
    "6",
    suggestion=(
        "x[:, S - 1]",
        "x[:, -1]",
        "x[:, x.size(1) - 1]",
        "x[:, x.shape[1] - 1]",
        "x[:, 5]",
    ),
)
def last_token_off_by_one():
    def last(x):
        B, S, C = x.shape
        h = x[:, S]  # raises
        return h @ x.new_ones(C, 2)

    return last, (R(2, 6, 4),), "batch S C"


@raises(
    IndexError,
    "scores (batch=2, S=5, T=7)",
    "3",
    suggestion=(
        "softmax(-1)",
        "softmax(2)",
        "softmax(dim=-1)",
        "softmax(dim=2)",
        "scores, -1",
        "scores, 2",
        "dim=-1",
        "dim=2",
    ),
)
def softmax_axis_too_far():
    def weights(q, k):
        scores = torch.einsum("bsd,btd->bst", q, k)
        return scores.softmax(dim=3)  # raises

    return weights, (R(2, 5, 4), R(2, 7, 4)), {"q": "batch S H", "k": "batch T H"}


# dtype


@raises(
    RuntimeError,
    "att (batch=2, heads=3, S=5, T=7)",
    "v (batch=2, heads=3, T=7, H=4)",
    "float16",
    "float32",
    suggestion=(
        "v.half()",
        "v.to(att.dtype)",
        "v.type_as(att)",
        "att.float()",
        "att.to(v.dtype)",
        "att.type_as(v)",
        "v.to(torch.float16)",
        "att.to(torch.float32)",
        "v.to(att)",
        "att.to(v)",
    ),
)
def half_weights():
    def mix(scores, v):
        att = scores.float().softmax(-1).half()
        return att @ v  # raises

    return (
        mix,
        (R(2, 3, 5, 7), R(2, 3, 7, 4)),
        {"scores": "batch heads S T", "v": "batch heads T H"},
    )


@raises(
    RuntimeError,
    "codes (batch=2, S=5)",
    "float",
    suggestion=(
        "codes.long()",
        "codes.int()",
        "codes.to(torch.long)",
        "codes.to(torch.int64)",
        "codes.to(torch.int32)",
        "codes.to(dtype=torch.long)",
        "codes.to(torch.int)",
        "codes.type(torch.long)",
    ),
)
def float_codes_into_embedding():
    vocab, dim = 9, 4

    class Codes(nn.Module):
        def __init__(self):
            super().__init__()
            self.book = nn.Embedding(vocab, dim)

        def forward(self, codes):
            return self.book(codes)  # raises

    return Codes(), (torch.ones(2, 5),), "batch S"


@raises(
    IndexError,
    "order (K=3)",
    "float",
    suggestion=(
        "order.long()",
        "order.int()",
        "order.to(torch.long)",
        "order.to(torch.int64)",
        "order.to(torch.int32)",
        "order.to(dtype=torch.long)",
    ),
)
def float_order_as_index():
    def pick(x, order):
        return x[order].mean(0)  # raises

    return pick, (R(6, 4), torch.tensor([2.0, 0.0, 1.0])), {"x": "S C", "order": "K"}


@raises(
    RuntimeError,
    "q (batch=2, S=5, H=4)",
    "k (batch=2, S=5, H=4)",
    "float64",
    "float32",
    suggestion=(
        "q.float()",
        "q.to(k.dtype)",
        "q.type_as(k)",
        "k.double()",
        "k.to(q.dtype)",
        "k.type_as(q)",
        "q.to(torch.float32)",
        "k.to(torch.float64)",
        "q.to(k)",
        "k.to(q)",
    ),
)
def double_rotary_table():
    def rotated(q, k, table):
        q = q * table
        s = torch.einsum("bsd,btd->bst", q, k)  # raises
        return s.tril()

    return (
        rotated,
        (R(2, 5, 4), R(2, 5, 4), R(5, 4, dtype=torch.float64)),
        {"q": "batch S H", "k": "batch S H", "table": "S H"},
    )


@raises(
    RuntimeError,
    "target.flatten()",
    "float",
    suggestion=(
        "target.long()",
        "target.flatten().long()",
        "target.to(torch.long)",
        "target.to(torch.int64)",
        "target.flatten().to(torch.",
        "target.long().flatten()",
    ),
)
def float_targets():
    def loss(logits, target):
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())  # raises

    return loss, (R(2, 5, 9), torch.ones(2, 5)), {"logits": "batch S vocab", "target": "batch S"}


# int input to a layer


@raises(
    RuntimeError,
    "frames (batch=2, T=7, mels=6)",
    "int64",
    suggestion=(
        "frames.float()",
        "frames.to(self.proj.weight.dtype)",
        "frames.to(torch.float32)",
        "frames.to(torch.float)",
        "frames.type_as(self.proj.weight)",
        "frames.to(self.proj.weight)",
        "frames.to(torch.get_default_dtype())",
    ),
)
def quantised_frames_into_linear():
    mels, d_model = 6, 8

    class Front(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(mels, d_model)

        def forward(self, frames):
            return self.proj(frames).relu()  # raises

    return Front(), (torch.randint(0, 255, (2, 7, 6)),), "batch T mels"


@raises(
    RuntimeError,
    "img (batch=2, C=3, rows=8, cols=8)",
    "uint8",
    suggestion=(
        "img.float()",
        "img.to(self.patch.weight.dtype)",
        "img.to(torch.float32)",
        "img.to(torch.float)",
        "img.type_as(self.patch.weight)",
        "img / 255",
        "img.to(self.patch.weight)",
        "img.div(255)",
    ),
)
def byte_image_into_patches():
    C, n_embd = 3, 8

    class Patch(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(C, n_embd, 4, stride=4)

        def forward(self, img):
            return self.patch(img).flatten(2).mT  # raises

    return Patch(), (torch.zeros(2, 3, 8, 8, dtype=torch.uint8),), "batch C rows cols"


# .T on 3-D


@raises(RuntimeError, "docs", "batch=2, D=7, C=6", suggestion=turned("docs"))
def document_capital_t():
    def search(queries, docs):
        sim = queries @ docs.T  # raises
        return sim.amax(-1)

    return search, (R(2, 5, 6), R(2, 7, 6)), {"queries": "batch Q C", "docs": "batch D C"}


@raises(RuntimeError, "feats", "batch=2, N=7, C=6", suggestion=turned("feats", "torch.einsum("))
def gram_of_token_sets():
    class Gram(nn.Module):
        def forward(self, feats):
            n = feats.shape[1]
            cov = torch.matmul(feats.T, feats) / n  # raises
            return cov.softmax(dim=-1)

    return Gram(), (R(2, 7, 6),), "batch N C"


@raises(RuntimeError, "k (batch=2, T=7, H=6)", suggestion=turned("k"))
def small_t_on_keys():
    def energy(q, k):
        scale = q.size(-1) ** -0.5
        return torch.baddbmm(q.new_zeros(1), q, k.t(), alpha=scale)  # raises

    return energy, (R(2, 5, 6), R(2, 7, 6)), {"q": "batch S H", "k": "batch T H"}


# masks


@raises(
    RuntimeError,
    "keep (batch=2, T=7)",
    "batch",
    "S",
    suggestion=(
        "keep[:, None, None, :]",
        "keep[:, None, None]",
        "keep.view(",
        "keep.reshape(",
        "keep.unsqueeze(1).unsqueeze(2)",
        "keep.unsqueeze(1).unsqueeze(1)",
        "keep[:, None].unsqueeze(",
        "keep.unsqueeze(1)[",
        "keep.unsqueeze(-2).unsqueeze(-2)",
    ),
)
def sdpa_padding_two_axes():
    def attend(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # raises

    args = R(2, 3, 5, 4), R(2, 3, 7, 4), R(2, 3, 7, 4), torch.ones(2, 7, dtype=torch.bool)
    return (
        attend,
        args,
        {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H", "keep": "batch T"},
    )


@raises(
    RuntimeError,
    "mask (S=5, T=7)",
    "int64",
    suggestion=(
        "mask.bool()",
        "mask.to(torch.bool)",
        "mask == 1",
        "mask != 0",
        "mask > 0",
        "mask.type(torch.bool)",
    ),
)
def sdpa_integer_mask():
    def attend(q, k, v, mask):
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # raises
        return y.mean(1)

    args = R(2, 3, 5, 4), R(2, 3, 7, 4), R(2, 3, 7, 4), torch.ones(5, 7, dtype=torch.long)
    return (
        attend,
        args,
        {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H", "mask": "S T"},
    )


@raises(
    RuntimeError,
    "pad (batch=2, S=5)",
    "float",
    suggestion=(
        "pad.bool()",
        "pad.to(torch.bool)",
        "pad == 1",
        "pad != 0",
        "pad > 0",
        "pad.type(torch.bool)",
        "pad > 0.5",
        "pad >= 1",
    ),
)
def float_padding_fill():
    def pool(score, pad):
        w = score.masked_fill(pad, float("-inf"))  # raises
        return w.softmax(-1)

    return (
        pool,
        (R(2, 5), torch.tensor([[0.0, 0, 0, 1, 1], [0, 0, 0, 0, 1]])),
        {"score": "batch S", "pad": "batch S"},
    )


@raises(
    RuntimeError,
    "att (batch=2, heads=3, S=5, S=5)",
    "block",
    "S",
    suggestion=(
        "self.tril[:S, :",
        "self.tril[:S, 0:",
        "self.tril[..., :S, :S]",
        "self.tril[:5, :5]",
        "self.tril[:x.size(2), :x.size(2)]",
        "self.tril[:att.size(-2), :att.size(-1)]",
        "self.tril[:att.shape[-2], :att.shape[-1]]",
        "self.tril[:q.size(2), :k.size(2)]",
        "self.tril[:q.shape[2], :k.shape[2]]",
        "self.tril[:S][:, :S]",
        "(self.tril[:S] == 0)[:, :S]",
        "self.tril[:att.size(2), :att.size(3)]",
    ),
)
def causal_buffer_half_cut():
    block = 16

    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("tril", torch.ones(block, block).tril())

        def forward(self, q, k):
            S = q.size(2)
            att = q @ k.transpose(-2, -1)
            return att.masked_fill(self.tril[:S] == 0, float("-inf"))  # raises

    return (
        Causal(),
        (R(2, 3, 5, 4), R(2, 3, 5, 4)),
        {"q": "batch heads S H", "k": "batch heads S H"},
    )


# einops


@raises(EinopsError, "x (batch=2, S=5, n_embd=14)", "n_embd")
def einops_uneven_heads():
    def split(x):
        return rearrange(x, "b s (h d) -> b h s d", h=4)  # raises

    return split, (R(2, 5, 14),), "batch S n_embd"


@raises(
    EinopsError,
    "qkv (batch=2, S=5, ",
    suggestion=("three=3", "d=4", "three = 3", "d = 4", "d=H", "d=self.H"),
)
def einops_unknown_split():
    heads, H = 3, 4
    n_embd = heads * H

    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.to_qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            qkv = self.to_qkv(x)
            q, k, v = rearrange(qkv, "b s (three h d) -> three b h s d", h=heads)  # raises
            return F.scaled_dot_product_attention(q, k, v)

    return Packed(), (R(2, 5, 12),), "batch S n_embd"


@raises(
    EinopsError,
    "lat (L=3, D=4)",
    suggestion=(
        "b=x.shape[0]",
        "b=x.size(0)",
        "b=2",
        "b=len(x)",
        "b=B",
        "b=batch",
        "lat.expand(",
        "lat.repeat(",
        "lat[None]",
        "lat.unsqueeze(0)",
    ),
)
def einops_repeat_without_size():
    def latents(x, lat):
        B = x.shape[0]
        q = repeat(lat, "n d -> b n d")  # raises
        return q @ x.mT

    return latents, (R(2, 5, 4), R(3, 4)), {"x": "batch S D", "lat": "L D"}


@raises(
    EinopsError,
    "maps (batch=2, C=6, rows=4, cols=5)",
    suggestion=("-> b c", "maps.flatten(2", "maps.mean("),
)
def einops_reduce_missing_axis():
    def squeeze(maps):
        g = reduce(maps, "b c n -> b c", "mean")  # raises
        return maps * g.sigmoid()[..., None, None]

    return squeeze, (R(2, 6, 4, 5),), "batch C rows cols"
