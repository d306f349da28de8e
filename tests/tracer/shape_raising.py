"""Shapes, masks, indices and arguments that raise: what the note says, and what it offers.

Each sample: (code, inputs, dims), the exception, words of the note, and parts of good corrections
of which one has to stand in what is offered. They were written beside the rules. First runs: 13 of
the first 95 with everything right (they came before the rules), 48 of the next 57; in eight of them
what was expected has been widened since, by a correction that is as good.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

RAISING: dict = {}
BOOL = torch.bool
D4 = "batch heads S H"
r = torch.randn


def raises(kind, *words, suggestion=()):
    """Keep a builder with what its note must say, and parts of the corrections that are good."""

    def keep(build):
        RAISING[build.__name__] = (build, kind, words, tuple(suggestion))
        return build

    return keep


# broadcasting
@raises(RuntimeError, "pos (S=5, n_embd=6)", suggestion=["pos[:, None]", "pos.unsqueeze(1)"])
def positions_seq_first():
    def f(x, pos):
        return x + pos  # raises

    return f, (r(5, 2, 6), r(5, 6)), {"x": "S batch n_embd", "pos": "S n_embd"}


@raises(
    RuntimeError,
    "scale (batch=2, heads=3)",
    suggestion=["scale[:, :, None, None]", "scale[..., None, None]"],
)
def scale_per_head():
    def f(scores, scale):
        out = torch.mul(scores, scale)  # raises
        return out

    return f, (r(2, 3, 5, 5), r(2, 3)), {"scores": "batch heads S S", "scale": "batch heads"}


@raises(RuntimeError, "slopes (heads=3)", suggestion=["slopes[:, None, None]"])
def alibi_slopes():
    def f(scores, slopes):
        scores += slopes  # raises
        return scores

    return f, (r(2, 3, 5, 5), r(3)), {"scores": "batch heads S S", "slopes": "heads"}


@raises(
    RuntimeError, "bias (S=5, S=5, heads=3)", suggestion=["bias.permute(2, 0, 1)", "bias.movedim"]
)
def relative_bias_heads_last():
    def f(scores, bias):
        return scores + bias  # raises

    return f, (r(2, 3, 5, 5), r(5, 5, 3)), {"scores": "batch heads S S", "bias": "S S heads"}


@raises(
    RuntimeError,
    suggestion=[
        "m.unsqueeze(-1)",
        "m[..., None]",
        "m[:, :, None]",
        "m.unsqueeze(2)",
        "keepdim=True",
    ],
)
def mean_without_keepdim():
    def f(x):
        m = x.mean(-1)
        return x - m  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, suggestion=["lse.squeeze(-1)", "lse[..., 0]", "top.unsqueeze(-1)"])
def kept_axis_too_many():
    def f(scores):
        lse = scores.logsumexp(-1, keepdim=True)
        top = scores.amax(-1)
        return top - lse  # raises

    return f, (r(4, 3, 5),), "batch S T"


@raises(
    RuntimeError,
    suggestion=["w.transpose(1, 2)", "w.mT", "w.transpose(-2, -1)", "w.transpose(0, 1)"],
)
def weights_other_order():
    def f(x, w):
        return x * w  # raises

    return f, (r(2, 5, 3, 4), r(3, 5, 1)), {"x": "batch S heads H", "w": "heads S _"}


@raises(
    RuntimeError,
    "mask (batch=2, S=5)",
    suggestion=["mask.T", "mask.t()", "mask.transpose(0, 1)", "mask.transpose(-2, -1)", "mask.mT"],
)
def mask_batch_first_on_seq_first():
    def f(x, mask):
        return torch.where(mask, x, 0.0)  # raises

    return f, (r(5, 2), torch.ones(2, 5, dtype=BOOL)), {"x": "S batch", "mask": "batch S"}


@raises(
    RuntimeError,
    suggestion=[
        "mask.T[..., None]",
        "mask.T.unsqueeze(-1)",
        "mask.t()",
        "mask.transpose(0, 1)",
        "mask.T[:, :, None]",
        "mask.transpose(-2, -1).unsqueeze",
    ],
)
def mask_batch_first_on_seq_first_features():
    def f(x, mask):
        return x.masked_fill(mask, 0.0)  # raises

    return f, (r(5, 2, 6), torch.ones(2, 5, dtype=BOOL)), {"x": "S batch n_embd", "mask": "batch S"}


@raises(RuntimeError, "keep (batch=2, S=5, S=5)", suggestion=["keep[:, None]", "keep.unsqueeze(1)"])
def three_axis_mask_in_where():
    def f(scores, keep):
        return torch.where(keep, scores, torch.tensor(-1e9))  # raises

    return (
        f,
        (r(2, 3, 5, 5), torch.ones(2, 5, 5, dtype=BOOL)),
        {"scores": "batch heads S S", "keep": "batch S S"},
    )


@raises(RuntimeError, suggestion=["pad[:, None, None]", "pad[:, None, None, :]"])
def padding_inplace():
    def f(scores, pad):
        scores.masked_fill_(pad, -1e9)  # raises
        return scores

    return (
        f,
        (r(2, 3, 4, 6), torch.ones(2, 6, dtype=BOOL)),
        {"scores": "batch heads tgt src", "pad": "batch src"},
    )


@raises(
    RuntimeError,
    suggestion=["pad.unsqueeze(1)", "pad[:, None]", "pad[:, None, :]", "(~pad).unsqueeze(1)"],
)
def padding_three_axes():
    def f(scores, pad):
        return scores.masked_fill(~pad, float("-inf"))  # raises

    return (
        f,
        (r(2, 4, 6), torch.ones(2, 6, dtype=BOOL)),
        {"scores": "batch tgt src", "pad": "batch src"},
    )


@raises(
    RuntimeError,
    suggestion=["pad.unsqueeze(2)", "pad[:, :, None]", "pad.unsqueeze(1)", "pad[:, None]"],
)
def padding_one_axis_short():
    def f(scores, pad):
        return scores + pad  # raises

    return f, (r(2, 3, 4, 6), r(2, 1, 6)), {"scores": "batch heads tgt src", "pad": "batch _ src"}


@raises(RuntimeError, "mask (block=8, block=8)", suggestion=["mask[:T"])
def buffer_not_cut():
    def f(q, k, mask):
        B, T, C = q.shape
        T = T
        att = q @ k.mT
        att = att.masked_fill(mask, -1e9)  # raises
        return att

    return (
        f,
        (r(2, 5, 4), r(2, 5, 4), torch.ones(8, 8, dtype=BOOL)),
        {"q": "B T C", "k": "B T C", "mask": "block block"},
    )


@raises(RuntimeError, suggestion=["pos[:, :"])
def position_parameter_too_long():
    class P(nn.Module):
        def __init__(self, n_pos, dim):
            super().__init__()
            self.pos = nn.Parameter(torch.zeros(1, n_pos, dim))

        def forward(self, x):
            b, n, d = x.shape
            return x + self.pos  # raises

    return P(9, 6), (r(2, 5, 6),), "batch n dim"


@raises(RuntimeError, suggestion=["logits[:, :-1]", "logits[..., :-1, :]"])
def logits_one_longer():
    def f(logits, target):
        d = logits - target  # raises
        return d

    return f, (r(2, 6, 7), r(2, 5, 7)), {"logits": "batch S vocab", "target": "batch S1 vocab"}


@raises(RuntimeError, suggestion=["tok[:, 1:]"])
def class_token_and_positions():
    def f(cls, x, pos):
        tok = torch.cat([cls.expand(x.shape[0], -1, -1), x], dim=1)
        return tok * pos  # raises

    return (
        f,
        (r(1, 1, 6), r(2, 9, 6), r(9, 6)),
        {"x": "batch n dim", "pos": "n dim", "cls": "_ _ dim"},
    )


@raises(RuntimeError, "x (batch=2, S=5, n_embd=6)", "gate.sigmoid() (batch=2, S=5, hidden=8)")
def other_widths():
    def f(x, gate):
        return x * gate.sigmoid()  # raises

    return f, (r(2, 5, 6), r(2, 5, 8)), {"x": "batch S n_embd", "gate": "batch S hidden"}


@raises(
    RuntimeError, suggestion=["torch.maximum(a, b.unsqueeze(1))", "b[:, None]", "b.unsqueeze(1)"]
)
def maximum_missing():
    def f(a, b):
        return torch.maximum(a, b)  # raises

    return f, (r(2, 5, 6), r(2, 6)), {"a": "batch S D", "b": "batch D"}


@raises(RuntimeError, suggestion=["k[:, None]", "k.unsqueeze(1)"])
def expand_to_heads():
    def f(k, heads):
        batch, S, H = k.shape
        return k.expand(batch, heads, S, H)  # raises

    return (lambda k: f(k, 3)), (r(2, 5, 4),), {"k": "batch S H"}


@raises(RuntimeError, suggestion=["repeat_interleave("])
def expand_kv_heads():
    def f(k, q):
        batch, heads, S, H = q.shape
        return k.expand(batch, heads, S, H)  # raises

    return f, (r(2, 2, 5, 4), r(2, 6, 5, 4)), {"k": "batch kv S H", "q": "batch heads S H"}


@raises(RuntimeError, suggestion=["cls.expand(x.shape[0], -1, -1)", "expand(x.size(0), -1, -1)"])
def expand_too_few():
    def f(cls, x):
        c = cls.expand(x.shape[0], -1)  # raises
        return torch.cat([c, x], 1)

    return f, (r(1, 1, 6), r(2, 5, 6)), {"x": "batch S D"}


@raises(RuntimeError, suggestion=["scores + bias"])
def inplace_into_smaller():
    def f(scores, bias):
        scores += bias  # raises
        return scores

    return f, (r(5, 5), r(3, 5, 5)), {"scores": "S S", "bias": "heads S S"}


@raises(RuntimeError, suggestion=["counts + x", "counts.float()", "counts.to("])
def inplace_float_into_int():
    def f(counts, x):
        counts += x  # raises
        return counts

    return f, (torch.zeros(5, dtype=torch.long), r(5)), {"x": "S"}


@raises(RuntimeError, suggestion=["with torch.no_grad(): self.w.masked_fill_(m, 0)"])
def inplace_into_leaf():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(5, 5))

        def forward(self, m):
            self.w.masked_fill_(m, 0)  # raises
            return self.w

    return M(), (torch.ones(5, 5, dtype=BOOL),), {"m": "S S"}


@raises(RuntimeError, suggestion=["b = b + 1"])
def inplace_into_expanded():
    def f(x):
        b = x.expand(4, 5)
        b += 1  # raises
        return b

    return f, (r(1, 5),), {"x": "_ S"}


# views
@raises(RuntimeError, suggestion=["x.view(batch, S, 3, C // 3)"])
def batch_forgotten_in_view():
    def f(x):
        batch, S, C = x.shape
        return x.view(S, 3, C // 3)  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, "18", suggestion=["3, heads", "3, 3"])
def qkv_not_split():
    class M(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            batch, S, C = x.shape
            heads = self.heads
            return self.qkv(x).view(batch, S, heads, C // heads)  # raises

    return M(6, 3), (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, suggestion=["unflatten(-1, (heads, -1))"])
def unflatten_product():
    def f(x):
        heads = 3
        return x.unflatten(-1, (heads, 4))  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, suggestion=["x.unflatten(-1, (heads, d))", "x.unflatten(2,"])
def unflatten_axis():
    def f(x):
        heads, d = 3, 2
        return x.unflatten(1, (heads, d))  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, "n_embd", "heads")
def unflatten_not_divide():
    def f(x):
        heads = 4
        return x.unflatten(-1, (heads, -1))  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(RuntimeError, suggestion=["x[:, 1:]"])
def class_token_grid_view():
    def f(x):
        batch, N, C = x.shape
        h = w = int((N - 1) ** 0.5)
        return x.reshape(batch, h, w, C).permute(0, 3, 1, 2)  # raises

    return f, (r(2, 10, 6),), "batch N C"


@raises(RuntimeError, suggestion=["x[:, 1:]", "x.transpose(1, 2)[:, :, 1:]"])
def class_token_after_permute():
    def f(x):
        batch, N, C = x.shape
        h = w = int((N - 1) ** 0.5)
        return x.transpose(1, 2).reshape(batch, C, h, w)  # raises

    return f, (r(2, 10, 6),), "batch N C"


@raises(RuntimeError, suggestion=[".reshape(", ".contiguous()"])
def flat_view_of_transposed():
    def f(k):
        batch, S, H = k.shape
        return k.transpose(1, 2).view(batch * H, S)  # raises

    return f, (r(2, 5, 4),), "batch S H"


@raises(RuntimeError, suggestion=["dim=-1", "chunk(3", "dim=2", "split(C, -1)", ", -1)"])
def split_sizes_wrong_axis():
    def f(qkv):
        batch, S, C3 = qkv.shape
        C = C3 // 3
        q, k, v = qkv.split([C, C, C])  # raises
        return q

    return f, (r(2, 5, 18),), "batch S qkv"


@raises(RuntimeError, "18", "12")
def split_sizes_wrong_sum():
    def f(qkv):
        q, k = qkv.split([6, 6], dim=-1)  # raises
        return q

    return f, (r(2, 5, 18),), "batch S qkv"


@raises(ValueError, suggestion=["qkv.chunk(3, dim=-1)", "qkv.chunk(3, -1)"])
def chunk_default_axis():
    def f(qkv):
        q, k, v = qkv.chunk(3)  # raises
        return q @ k.mT

    return f, (r(2, 5, 18),), "batch S qkv"


@raises(ValueError, suggestion=["dim=-1", "dim=2", "C, 2)", "C, -1)"])
def split_default_axis():
    def f(qkv):
        C = qkv.shape[-1] // 3
        q, k, v = qkv.split(C)  # raises
        return q @ k.mT

    return f, (r(2, 5, 18),), "batch S qkv"


@raises(ValueError, suggestion=["unbind(2)", "unbind(dim=2)", "unbind(-3)"])
def unbind_default_axis():
    def f(qkv):
        q, k, v = qkv.unbind()  # raises
        return q

    return f, (r(2, 5, 3, 4, 6),), "batch S three heads H"


@raises(ValueError, suggestion=["unbind("])
def tensor_unpacked():
    def f(x, w):
        y = (x @ w).unflatten(-1, (3, 6))
        q, k, v = y  # raises
        return q

    return f, (r(2, 5, 6), r(6, 18)), {"x": "batch S n_embd"}


@raises(ValueError, "x (batch=2, heads=3, S=5, H=4)", "4", "3")
def shape_unpacked():
    def f(x):
        B, T, C = x.shape  # raises
        return x

    return f, (r(2, 3, 5, 4),), D4


@raises(ValueError, "y (batch=2, S=5)", "2", "3")
def shape_unpacked_size():
    def f(x):
        y = x.mean(-1)
        B, T, C = y.size()  # raises
        return y

    return f, (r(2, 5, 4),), "batch S H"


# cat, stack
@raises(RuntimeError, suggestion=["k.unsqueeze(2)", "k[:, :, None]"])
def cache_missing_axis():
    def f(past, k):
        return torch.cat([past, k], dim=2)  # raises

    return f, (r(2, 3, 7, 4), r(2, 3, 4)), {"past": "batch heads past H", "k": "batch heads H"}


@raises(IndexError, suggestion=["cls.expand(", "cls[None].expand("])
def cat_class_token_vector():
    def f(x, cls):
        return torch.cat([cls, x], dim=1)  # raises

    return f, (r(2, 5, 6), r(6)), {"x": "batch S n_embd", "cls": "n_embd"}


@raises(TypeError, suggestion=["torch.cat([a, b], dim=-1)", "torch.cat((a, b), dim=-1)"])
def cat_of_tensors():
    def f(a, b):
        return torch.cat(a, b, dim=-1)  # raises

    return f, (r(2, 5, 6), r(2, 5, 6)), {"a": "batch S D", "b": "batch S D"}


@raises(TypeError, suggestion=["torch.stack([q, k])", "torch.stack((q, k))"])
def stack_of_tensors():
    def f(q, k):
        return torch.stack(q, k)  # raises

    return f, (r(2, 5, 6), r(2, 5, 6)), {"q": "batch S D", "k": "batch S D"}


@raises(RuntimeError, suggestion=["dim=1", "dim=-2", "torch.cat"])
def stack_where_cat():
    def f(past, new):
        return torch.stack([past, new], dim=1)  # raises

    return f, (r(2, 7, 6), r(2, 1, 6)), {"past": "batch past D", "new": "batch S D"}


@raises(RuntimeError, suggestion=["dim=-1", "dim=2"])
def cat_widths_default_axis():
    def f(a, b):
        return torch.cat([a, b])  # raises

    return f, (r(2, 5, 6), r(2, 5, 8)), {"a": "batch S D", "b": "batch S E"}


@raises(RuntimeError, "prefix (batch=2, p=3, width=8)", "x (batch=2, S=5, dim=6)", "width", "dim")
def prefix_of_other_width():
    def f(prefix, x):
        return torch.cat([prefix, x], dim=1)  # raises

    return f, (r(2, 3, 8), r(2, 5, 6)), {"prefix": "batch p width", "x": "batch S dim"}


# indexing
@raises(IndexError, suggestion=["x[:, -1]", "x[:, T - 1]"])
def last_by_shape():
    def f(x):
        h = x[:, x.shape[1]]  # raises
        return h

    return f, (r(2, 5, 6),), "batch T D"


@raises(IndexError, suggestion=["x[:, -1, :]", "T - 1"])
def last_by_size_full():
    def f(x):
        T = x.size(1)
        return x[:, T, :]  # raises

    return f, (r(2, 5, 6),), "batch T D"


@raises(IndexError, suggestion=["lengths - 1"])
def last_by_lengths():
    def f(x, lengths):
        rows = torch.arange(x.shape[0])
        return x[rows, lengths]  # raises

    return f, (r(2, 5, 6), torch.tensor([3, 5])), {"x": "batch T D", "lengths": "batch"}


@raises(IndexError, "x (batch=2, S=5)", "2")
def too_many_indices():
    def f(x):
        return x[:, 0, :]  # raises

    return f, (r(2, 5),), "batch S"


@raises(IndexError, suggestion=["idx.long()", "idx.int()"])
def float_index():
    def f(x, idx):
        return x[idx]  # raises

    return f, (r(5, 6), torch.tensor([0.0, 3.0])), {"x": "S D", "idx": "k"}


@raises(IndexError, suggestion=["keep.bool()", "keep == 1", "keep > 0"])
def float_mask_index():
    def f(x, keep):
        return x[keep]  # raises

    return f, (r(2, 5, 6), torch.ones(2, 5)), {"x": "batch S D", "keep": "batch S"}


@raises(IndexError, suggestion=["keep.T", "keep.mT", "keep.transpose(", "keep.t()"])
def mask_index_transposed():
    def f(x, keep):
        return x[keep]  # raises

    return f, (r(5, 2, 6), torch.ones(2, 5, dtype=BOOL)), {"x": "S batch D", "keep": "batch S"}


@raises(IndexError, suggestion=["rows[:, None]", "rows.unsqueeze("])
def index_pair_mismatch():
    def f(x, rows, cols):
        return x[rows, cols]  # raises

    return (
        f,
        (r(7, 8), torch.tensor([0, 1]), torch.tensor([1, 2, 3])),
        {"x": "n m", "rows": "a", "cols": "b"},
    )


@raises(IndexError, suggestion=["torch.arange(batch)[:, None]", "torch.arange(batch).unsqueeze"])
def index_arange_mismatch():
    def f(x, top):
        batch = x.shape[0]
        return x[torch.arange(batch), top]  # raises

    return (
        f,
        (r(2, 8, 3), torch.zeros(2, 4, dtype=torch.long)),
        {"x": "batch S D", "top": "batch k"},
    )


@raises(
    RuntimeError,
    suggestion=[
        "target.unsqueeze(-1)",
        "target[..., None]",
        "target.unsqueeze(2)",
        "target[:, :, None]",
    ],
)
def gather_missing_axis():
    def f(logp, target):
        return logp.gather(-1, target)  # raises

    return (
        f,
        (r(2, 5, 7), torch.zeros(2, 5, dtype=torch.long)),
        {"logp": "batch S vocab", "target": "batch S"},
    )


@raises(RuntimeError, suggestion=["last[:, None, None].expand(-1, -1"])
def gather_last_token():
    def f(h, last):
        return torch.gather(h, 1, last)  # raises

    return f, (r(2, 5, 7), torch.zeros(2, dtype=torch.long)), {"h": "batch S D", "last": "batch"}


@raises(RuntimeError, suggestion=["idx.long()"])
def gather_float():
    def f(h, idx):
        return h.gather(1, idx)  # raises

    return f, (r(2, 5), torch.zeros(2, 1)), {"h": "batch S"}


@raises(
    (RuntimeError, IndexError),
    suggestion=["idx.flatten()", "table[idx]", "idx.view(-1)", "idx.reshape(-1)"],
)
def index_select_two_axes():
    def f(table, idx):
        return table.index_select(0, idx)  # raises

    return f, (r(9, 6), torch.zeros(2, 5, dtype=torch.long)), {"table": "vocab D", "idx": "batch S"}


@raises(
    RuntimeError,
    suggestion=[
        "order.unsqueeze(-1)",
        "order[..., None]",
        "order[:, :, None]",
        "order.unsqueeze(2)",
    ],
)
def take_along_missing():
    def f(x, order):
        return torch.take_along_dim(x, order, dim=1)  # raises

    return (
        f,
        (r(2, 5, 6), torch.zeros(2, 5, dtype=torch.long)),
        {"x": "batch S D", "order": "batch S"},
    )


@raises(RuntimeError, suggestion=["m.bool()"])
def masked_select_float():
    def f(x, m):
        return x.masked_select(m)  # raises

    return f, (r(2, 5), torch.ones(2, 5)), {"x": "batch S", "m": "batch S"}


@raises(
    RuntimeError, suggestion=["m.unsqueeze(-1)", "m[..., None]", "m[:, :, None]", "m.unsqueeze(2)"]
)
def masked_select_axes():
    def f(x, m):
        return torch.masked_select(x, m)  # raises

    return f, (r(2, 5, 6), torch.ones(2, 5, dtype=BOOL)), {"x": "batch S D", "m": "batch S"}


@raises(RuntimeError, suggestion=["torch.where(m, fill, x)"])
def masked_fill_tensor():
    def f(x, m, fill):
        return x.masked_fill(m, fill)  # raises

    return (
        f,
        (r(2, 5), torch.ones(2, 5, dtype=BOOL), r(2, 5)),
        {"x": "batch S", "m": "batch S", "fill": "batch S"},
    )


@raises(RuntimeError, suggestion=["m.bool()", "m == 1", "m != 0", "m > 0"])
def where_of_floats():
    def f(x, m):
        return torch.where(m, x, -1e9)  # raises

    return f, (r(2, 5), torch.ones(2, 5)), {"x": "batch S", "m": "batch S"}


# axes
@raises(
    RuntimeError, suggestion=[".mT", ".transpose(-2, -1)", ".transpose(1, 2)", ".transpose(-1, -2)"]
)
def t_of_three():
    def f(q, k):
        return q @ k.t()  # raises

    return f, (r(2, 5, 4), r(2, 5, 4)), {"q": "batch S H", "k": "batch S H"}


@raises(
    RuntimeError,
    "k (batch=2, heads=3, S=5, H=4)",
    suggestion=[".mT", ".transpose(-2, -1)", "permute(0, 1, 3, 2)", ".transpose(2, 3)"],
)
def permute_three_of_four():
    def f(q, k):
        return q @ k.permute(0, 2, 1)  # raises

    return f, (r(2, 3, 5, 4), r(2, 3, 5, 4)), {"q": D4, "k": D4}


@raises(IndexError, suggestion=["dim=-1", "dim=2", "softmax(-1)"])
def softmax_axis():
    def f(x):
        return F.softmax(x, dim=3)  # raises

    return f, (r(2, 5, 5),), "batch S S"


@raises(IndexError, suggestion=["sum(dim=-1", "sum(-1", "sum(dim=2"])
def sum_axis():
    def f(x):
        return x.sum(dim=3, keepdim=True)  # raises

    return f, (r(2, 5, 6),), "batch S D"


@raises(IndexError, suggestion=["mean(dim=-1)", "mean(-1)", "mean(dim=1)", "torch.mean(x, dim=-1)"])
def mean_axis():
    def f(x):
        pooled = torch.mean(x, dim=2)  # raises
        return pooled

    return f, (r(5, 6),), "S D"


@raises(TypeError, suggestion=["softmax(dim=-1)", "softmax(-1)"])
def softmax_no_dim():
    def f(q, k):
        w = (q @ k.mT).softmax()  # raises
        return w

    return f, (r(2, 5, 4), r(2, 5, 4)), {"q": "batch S H", "k": "batch S H"}


@raises(TypeError, suggestion=["torch.softmax(x, dim=-1)", "torch.softmax(x, -1)"])
def torch_softmax_no_dim():
    def f(x):
        return torch.softmax(x) @ x  # raises

    return f, (r(2, 5, 5),), "batch S S"


@raises(RuntimeError, suggestion=["ids.float()"])
def softmax_of_ints():
    def f(ids):
        return ids.softmax(-1)  # raises

    return f, (torch.zeros(2, 5, dtype=torch.long),), "batch S"


@raises(RuntimeError, suggestion=["lengths.float()", "dtype=torch.float"])
def mean_of_ints():
    def f(lengths):
        return lengths.mean()  # raises

    return f, (torch.zeros(2, dtype=torch.long),), "batch"


@raises(RuntimeError, suggestion=["~pad", "pad.logical_not()"])
def one_minus_bool():
    def f(pad):
        return (1 - pad) * -1e9  # raises

    return f, (torch.ones(2, 5, dtype=BOOL),), "batch S"


@raises(TypeError, suggestion=["~m.bool()", "1 - m", "m == 0", "~(m.bool())"])
def not_of_float():
    def f(s, m):
        return s.masked_fill(~m, -1e9)  # raises

    return f, (r(2, 5), torch.ones(2, 5)), {"s": "batch S", "m": "batch S"}


@raises(RuntimeError, suggestion=["m is not None", ".any()", ".all()"])
def if_mask():
    def f(s, m):
        if m:  # raises
            s = s.masked_fill(m, 0)
        return s

    return f, (r(2, 5), torch.ones(2, 5, dtype=BOOL)), {"s": "batch S", "m": "batch S"}


@raises(RuntimeError, suggestion=[".all()", "torch.equal", ".any()"])
def if_equal():
    def f(a, b):
        if a == b:  # raises
            return a
        return b

    return f, (r(2, 5), r(2, 5)), {"a": "batch S", "b": "batch S"}


@raises(RuntimeError, "10", suggestion=[".mean()", ".sum()"])
def item_of_many():
    def f(a, b):
        loss = (a - b).pow(2)
        return loss.item()  # raises

    return f, (r(2, 5), r(2, 5)), {"a": "batch S", "b": "batch S"}


@raises(ValueError, suggestion=["0.1", "10 / 100"])
def dropout_percent():
    def f(x):
        return F.dropout(x, p=10)  # raises

    return f, (r(2, 5),), "batch S"


@raises(TypeError, suggestion=["S // 2"])
def ones_of_half():
    def f(x):
        batch, S = x.shape
        return torch.ones(S / 2, S)  # raises

    return f, (r(2, 6),), "batch S"


@raises(
    TypeError,
    suggestion=[
        "torch.arange(x.shape[1])",
        "torch.arange(x.size(",
        "torch.arange(len(x))",
        "x.shape[",
    ],
)
def arange_of_tensor():
    def f(x):
        return torch.arange(x)  # raises

    return f, (r(2, 6),), "batch S"


@raises(TypeError, suggestion=["torch.tril(torch.ones(T, T))"])
def tril_of_sizes():
    def f(x):
        batch, T = x.shape
        return torch.tril(T, T)  # raises

    return f, (r(2, 6),), "batch S"


@raises(RuntimeError, suggestion=["torch.ones(T, T)"])
def triu_of_one_axis():
    def f(x):
        batch, T = x.shape
        return torch.triu(torch.ones(T), diagonal=1)  # raises

    return f, (r(2, 6),), "batch S"


@raises(AttributeError, suggestion=["k.transpose(-2, -1)"])
def near_name():
    def f(q, k):
        return q @ k.tranpose(-2, -1)  # raises

    return f, (r(2, 5, 4), r(2, 5, 4)), {"q": "batch S H", "k": "batch S H"}


@raises(AttributeError, suggestion=["self.query(x)"])
def near_attribute():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(4, 4)

        def forward(self, x):
            return self.qurey(x)  # raises

    return M(), (r(2, 5, 4),), "batch S n_embd"


@raises(AttributeError, suggestion=["F.softmax(x, dim=-1)", "torch.softmax(x, dim=-1)"])
def near_function():
    def f(x):
        return F.sofmax(x, dim=-1)  # raises

    return f, (r(2, 5, 4),), "batch S n_embd"


@raises(AttributeError, suggestion=["m.to(torch.float32)", "m.float()", "m.to("])
def numpy_method():
    def f(m):
        return m.astype(torch.float32)  # raises

    return f, (torch.ones(2, 5, dtype=BOOL),), "batch S"


@raises(TypeError, suggestion=["x.size(1)", "x.shape[1]"])
def size_indexed():
    def f(x):
        T = x.size[1]  # raises
        return T

    return f, (r(2, 5),), "batch S"


@raises(TypeError, suggestion=["x.shape[1]", "x.size(1)"])
def shape_called():
    def f(x):
        T = x.shape(1)  # raises
        return T

    return f, (r(2, 5),), "batch S"


@raises(RuntimeError, suggestion=["keep[:, None]", "keep.unsqueeze(1)"])
def sdpa_three_axis_mask():
    def cross(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # raises

    k, v = r(2, 2, 3, 6, 8)
    return (
        cross,
        (r(2, 3, 4, 8), k, v, torch.ones(2, 4, 6, dtype=BOOL)),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "keep": "batch tgt src",
        },
    )


@raises(RuntimeError, suggestion=["keep[:, None, None"])
def sdpa_padding_mask():
    def cross(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, keep)  # raises

    k, v = r(2, 2, 3, 6, 8)
    return (
        cross,
        (r(2, 3, 4, 8), k, v, torch.ones(2, 6, dtype=BOOL)),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "keep": "batch src",
        },
    )


@raises(RuntimeError, suggestion=["[:S, :S]", "mask[:"])
def sdpa_buffer():
    def f(q, k, v, mask):
        batch, h, S, d = q.shape
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # raises

    return (
        f,
        (*r(3, 2, 3, 5, 4), torch.ones(9, 9, dtype=BOOL)),
        {"q": D4, "k": D4, "v": D4, "mask": "L L"},
    )


@raises(RuntimeError, suggestion=["lam[:, None, None, None]", "lam.view("])
def per_sample_weight():
    def f(x, lam):
        return lam * x  # raises

    return f, (r(2, 3, 5, 4), r(2)), {"x": "batch heads S H", "lam": "batch"}


@raises(
    RuntimeError,
    suggestion=["mask[:, :, None]", "mask.unsqueeze(-1)", "mask[..., None]", "mask.unsqueeze(2)"],
)
def masked_mean():
    def pool(h, mask):
        total = (h * mask).sum(1)  # raises
        return total / mask.sum(1, keepdim=True)

    return pool, (r(2, 7, 4), torch.ones(2, 7)), {"h": "batch tokens dim", "mask": "batch tokens"}


@raises(
    RuntimeError,
    suggestion=[
        "freqs[:, None]",
        "freqs.unsqueeze(1)",
        "freqs[None, :, None]",
        "freqs[:, None, :]",
    ],
)
def rope_complex():
    def rot(x, freqs):
        xc = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        out = xc * freqs  # raises
        return torch.view_as_real(out).flatten(3)

    return (
        rot,
        (r(2, 5, 3, 8), torch.polar(torch.ones(5, 4), r(5, 4))),
        {"x": "B T n_heads head_dim", "freqs": "T half"},
    )


@raises(RuntimeError, suggestion=["self.pe[:", "pe["])
def sinusoid_buffer():
    class PE(nn.Module):
        def __init__(self, d_model, max_len):
            super().__init__()
            self.register_buffer("pe", torch.zeros(max_len, d_model))

        def forward(self, x):
            return x + self.pe  # raises

    return PE(6, 32), (r(2, 5, 6),), "batch seq d_model"


@raises(RuntimeError, suggestion=["self.pe[:x.shape[0]]", "self.pe[:"])
def sinusoid_seq_first():
    class PE(nn.Module):
        def __init__(self, d_model, max_len):
            super().__init__()
            self.register_buffer("pe", torch.zeros(max_len, 1, d_model))

        def forward(self, x):
            x = x + self.pe  # raises
            return x

    return PE(6, 32), (r(5, 2, 6),), "seq batch d_model"


@raises(RuntimeError, suggestion=["self.tril[:T, :T]"])
def gpt_head():
    class Head(nn.Module):
        def __init__(self, n_embd, head_size, block_size):
            super().__init__()
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            batch, T, C = x.shape
            k, q = self.key(x), self.query(x)
            wei = q @ k.transpose(-2, -1) * C**-0.5
            wei = wei.masked_fill(self.tril == 0, float("-inf"))  # raises
            return F.softmax(wei, dim=-1)

    return Head(6, 4, 8), (r(2, 5, 6),), "batch S n_embd"


@raises(
    RuntimeError, suggestion=["attn_bias[None]", "attn_bias.permute(2, 0, 1)", "attn_bias.movedim"]
)
def bias_q_heads_k():
    def f(scores, attn_bias):
        return torch.add(scores, attn_bias)  # raises

    return f, (r(2, 3, 4, 6), r(4, 6, 3)), {"scores": "b h q k", "attn_bias": "q k h"}


@raises(RuntimeError, "frames = 9", "text = 7")
def two_sequences_added():
    def f(a, b):
        return a + b  # raises

    return f, (r(2, 9, 6), r(2, 7, 6)), {"a": "batch frames D", "b": "batch text D"}


@raises(RuntimeError, suggestion=["pad_mask.unsqueeze(1).unsqueeze(2)", "pad_mask[:, None, None"])
def logical_and_masks():
    def f(causal, pad_mask, scores):
        m = causal & pad_mask  # raises
        return scores.masked_fill(m, 0)

    return (
        f,
        (torch.ones(1, 1, 5, 5, dtype=BOOL), torch.ones(2, 5, dtype=BOOL), r(2, 3, 5, 5)),
        {"causal": "_ _ S S", "pad_mask": "batch S", "scores": "batch heads S S"},
    )


@raises(
    RuntimeError, suggestion=["w.unsqueeze(-1)", "w[..., None]", "w[:, :, None]", "w.unsqueeze(2)"]
)
def weighted_values_by_hand():
    def f(w, v):
        ctx = (w * v).sum(dim=1)  # raises
        return ctx

    return f, (r(2, 5), r(2, 5, 4)), {"w": "batch S", "v": "batch S H"}


@raises(
    RuntimeError, suggestion=["mean.unsqueeze(1)", "mean[:, None]", "mean[:, None, :]", "keepdim"]
)
def center_over_time():
    def f(x):
        mean = x.mean(dim=1)
        return x - mean  # raises

    return f, (r(2, 5, 6),), "batch time feat"


@raises(RuntimeError, suggestion=["self.scale", "[:, None, None]", "unsqueeze"])
def layer_scale_of_heads():
    class M(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(n_heads))

        def forward(self, scores):
            return scores * self.scale  # raises

    return M(3), (r(2, 3, 5, 5),), "batch n_heads S S"


@raises(RuntimeError, suggestion=["temp.unsqueeze(-1)", "temp[:, None]"])
def div_temperature():
    def f(logits, temp):
        return torch.softmax(logits / temp, -1)  # raises

    return f, (r(2, 9), torch.ones(2)), {"logits": "batch vocab", "temp": "batch"}


@raises(
    RuntimeError,
    suggestion=["gate[..., None]", "gate.unsqueeze(-1)", "gate[:, :, None]", "gate.unsqueeze(2)"],
)
def inplace_gate():
    def f(x, gate):
        x *= gate  # raises
        return x

    return f, (r(2, 5, 6), r(2, 5)), {"x": "batch S D", "gate": "batch S"}


@raises(
    RuntimeError,
    suggestion=["k_new.transpose(1, 2)", "k_new.permute(0, 2, 1, 3)", "k_new.swapaxes"],
)
def cache_write():
    def f(cache, k_new):
        cache[:, :, 3:5] = k_new  # raises
        return cache

    return (
        f,
        (torch.zeros(2, 3, 8, 4), r(2, 2, 3, 4)),
        {"cache": "batch heads L H", "k_new": "batch S heads H"},
    )


@raises(RuntimeError, suggestion=["q.reshape(", "contiguous()", "flatten"])
def view_after_permute():
    def f(q):
        b, n, h, d = q.shape
        q = q.permute(0, 2, 1, 3)
        return q.view(b * h, n, d)  # raises

    return f, (r(2, 5, 3, 4),), "b n h d"


@raises(RuntimeError, suggestion=["x.view(B, T, 3, n_head, hs)", "3, n_head", "3, self.n_head"])
def nano_qkv():
    class M(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.n_head = n_head
            self.c_attn = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            B, T, C = x.size()
            hs = C // self.n_head
            qkv = self.c_attn(x)
            return qkv.view(B, T, self.n_head, hs)  # raises

    return M(8, 2), (r(2, 5, 8),), "batch S n_embd"


@raises(RuntimeError, "heads", "7")
def rows_wrong():
    def f(x, heads):
        B, T, C = x.shape
        return x.reshape(B, T, heads, C // heads)  # raises

    return (lambda x: f(x, 3)), (r(2, 5, 7),), "batch T C"


@raises(RuntimeError, "W = 10 does not divide by p = 4")
def patches_view():
    def f(img):
        B, C, Hh, W = img.shape
        p = 4
        return img.reshape(B, C, Hh // p, p, W // p, p)  # raises

    return f, (r(2, 3, 8, 10),), "batch chan height width"


@raises(ValueError, "hidden")
def unpack_two():
    def f(hidden):
        B, S = hidden.shape  # raises
        return hidden

    return f, (r(2, 5, 4),), "batch S D"


@raises(RuntimeError, suggestion=["new_k.transpose(1, 2)", "new_k.permute", "new_k.swapaxes"])
def cat_other_order():
    def f(cache_k, new_k):
        k = torch.cat((cache_k, new_k), dim=-2)  # raises
        return k

    return f, (r(2, 3, 7, 4), r(2, 1, 3, 4)), {"cache_k": "b h past d", "new_k": "b n h d"}


@raises(
    RuntimeError,
    suggestion=[
        "self.cls_token.expand(x.shape[0], -1, -1)",
        "cls_token.expand(B",
        "self.cls_token.expand(",
    ],
)
def cls_param():
    class Vision(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))

        def forward(self, x):
            x = torch.cat([self.cls_token, x], dim=1)  # raises
            return x

    return Vision(6), (r(3, 5, 6),), "batch n dim"


@raises(RuntimeError, suggestion=["last.unsqueeze(1)", "last[:, None]"])
def cat_generated():
    def f(emb, last):
        return torch.cat([emb, last], dim=1)  # raises

    return f, (r(2, 5, 6), r(2, 6)), {"emb": "batch S D", "last": "batch D"}


@raises(RuntimeError, suggestion=["nxt.unsqueeze(-1)", "nxt[:, None]", "nxt.unsqueeze(1)"])
def cat_ids():
    def f(ids, logits):
        nxt = logits.argmax(-1)
        ids = torch.cat([ids, nxt], dim=1)  # raises
        return ids

    return (
        f,
        (torch.zeros(2, 5, dtype=torch.long), r(2, 9)),
        {"ids": "batch S", "logits": "batch vocab"},
    )


@raises(RuntimeError, suggestion=["time_emb.unsqueeze(1)", "time_emb[:, None].expand", "expand"])
def cat_condition():
    def f(x, time_emb):
        return torch.cat([x, time_emb], dim=-1)  # raises

    return f, (r(2, 5, 6), r(2, 4)), {"x": "batch S D", "time_emb": "batch E"}


@raises(IndexError, suggestion=["emb[:, -1]", "emb[:, T - 1]"])
def last_len():
    def f(emb):
        T = emb.size(1)
        last = emb[:, T]  # raises
        return last

    return f, (r(2, 5, 6),), "batch T D"


@raises(IndexError, suggestion=["seq[-1]"])
def last_seq_first():
    def f(seq):
        return seq[len(seq)]  # raises

    return f, (r(5, 2, 6),), "T batch D"


@raises(IndexError, suggestion=["self.mask[:T, :T]"])
def mask_four_indices():
    class M(nn.Module):
        def __init__(self, block):
            super().__init__()
            self.register_buffer("mask", torch.tril(torch.ones(block, block)))

        def forward(self, att):
            T = att.size(-1)
            m = self.mask[:, :, :T, :T]  # raises
            return att * m

    return M(8), (r(2, 3, 5, 5),), "batch heads S S"


@raises(IndexError, suggestion=["ends - 1"])
def gather_ends():
    def f(h, ends):
        b = torch.arange(h.size(0))
        return h[b, ends]  # raises

    return f, (r(3, 6, 4), torch.tensor([2, 6, 4])), {"h": "batch S D", "ends": "batch"}


@raises(
    RuntimeError,
    suggestion=[
        "labels.unsqueeze(-1)",
        "labels[..., None]",
        "labels[:, :, None]",
        "labels.unsqueeze(2)",
    ],
)
def gather_labels():
    def f(logits, labels):
        lp = logits.log_softmax(-1)
        return lp.gather(2, labels).squeeze(-1)  # raises

    return (
        f,
        (r(2, 5, 9), torch.zeros(2, 5, dtype=torch.long)),
        {"logits": "batch S vocab", "labels": "batch S"},
    )


@raises(
    RuntimeError,
    suggestion=[
        "idx[..., None].expand(-1, -1, ",
        "idx.unsqueeze(-1).expand(-1, -1,",
        "idx[:, :, None].expand(-1, -1",
    ],
)
def gather_topk_tokens():
    def f(x, scores):
        idx = scores.topk(3, dim=1).indices
        return x.gather(1, idx)  # raises

    return f, (r(2, 7, 4), r(2, 7)), {"x": "batch n D", "scores": "batch n"}


@raises(IndexError, suggestion=["keep.bool()", "keep == 1", "keep != 0", "keep > 0"])
def float_keep():
    def f(tokens, keep):
        kept = tokens[keep]  # raises
        return kept

    return (
        f,
        (r(2, 5, 4), torch.tensor([[1.0, 1, 1, 0, 0], [1, 1, 1, 1, 1]])),
        {"tokens": "batch n D", "keep": "batch n"},
    )


@raises(IndexError, suggestion=["positions.long()", "positions.int()"])
def float_pos():
    def f(table, positions):
        return table[positions]  # raises

    return f, (r(9, 4), torch.arange(5) * 1.0), {"table": "max_len D", "positions": "S"}


@raises(IndexError, suggestion=["valid[:, 1:]", "valid[:, :-1]"])
def mask_index_short():
    def f(logits, labels, valid):
        pred = logits[:, :-1]
        return pred[valid]  # raises

    return (
        f,
        (r(2, 6, 7), torch.zeros(2, 6, dtype=torch.long), torch.ones(2, 6, dtype=BOOL)),
        {"logits": "batch S vocab", "labels": "batch S", "valid": "batch S"},
    )


@raises(RuntimeError, suggestion=["transpose(-2, -1)", "mT"])
def k_t_four():
    def f(q, k):
        return torch.matmul(q, torch.t(k))  # raises

    return f, (r(2, 3, 5, 4), r(2, 3, 5, 4)), {"q": "b h n d", "k": "b h n d"}


@raises(
    RuntimeError, suggestion=["transpose(-2, -1)", "mT", "permute(0, 1, 3, 2)", "permute(0, 2, 1)"]
)
def permute_of_three():
    def f(q, k):
        return q @ k.permute(0, 1, 3, 2)  # raises

    return f, (r(2, 5, 4), r(2, 5, 4)), {"q": "batch S H", "k": "batch S H"}


@raises(RuntimeError)
def permute_before_split():
    def f(x):
        return x.permute(0, 2, 1, 3)  # raises

    return f, (r(2, 5, 6),), "batch S n_embd"


@raises(TypeError, suggestion=["k.permute(0, 2, 1)"])
def numpy_transpose():
    def f(q, k):
        return q @ k.transpose(0, 2, 1)  # raises

    return f, (r(2, 5, 4), r(2, 5, 4)), {"q": "batch S H", "k": "batch S H"}


@raises(TypeError, suggestion=[".values", "amax"])
def max_tuple():
    def f(scores):
        stable = scores - scores.max(dim=-1, keepdim=True)  # raises
        return stable.exp()

    return f, (r(2, 5, 5),), "batch S S"


@raises(TypeError, suggestion=["out[0]"])
def mha_tuple():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            out = self.mha(x, x, x)
            return x + out  # raises

    return M(), (r(2, 5, 4),), "batch S n_embd"


@raises(AttributeError, suggestion=["x.view(", "x.mean(", "x.unsqueeze(", "x.masked_fill("])
def near_masked():
    def f(x, m):
        return x.maskedfill(m, 0.0)  # raises

    return f, (r(2, 5), torch.ones(2, 5, dtype=BOOL)), {"x": "batch S"}


@raises(AttributeError, suggestion=["n_heads"])
def near_self_int():
    class M(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.n_heads = n_heads

        def forward(self, x):
            b, n, d = x.shape
            return x.view(b, n, self.num_heads, -1)  # raises

    return M(2), (r(2, 5, 4),), "batch S n_embd"


@raises(AttributeError, suggestion=["F.scaled_dot_product_attention(q, k, v)"])
def near_sdpa():
    def f(q, k, v):
        return F.scaled_dot_product(q, k, v)  # raises

    return f, tuple(r(3, 2, 5, 4)), dict.fromkeys("qkv", "batch S H")


@raises(IndexError, suggestion=["F.softmax(scores, dim=-1)"])
def softmax_dim3():
    def f(scores):
        p = F.softmax(scores, dim=3)  # raises
        return p

    return f, (r(2, 5, 5),), "batch S S"


@raises(IndexError, suggestion=["x.mean(-1", "x.mean(dim=-1", "x.mean(dim=1"])
def pool_dim():
    def f(x):
        return x.mean(2)  # raises

    return f, (r(2, 5),), "batch S"


@raises(IndexError, suggestion=["shape[-1]"])
def shape_index():
    def f(x):
        d = x.shape[3]  # raises
        return x / d**0.5

    return f, (r(2, 5, 4),), "batch S H"


@raises(IndexError, suggestion=["x.size(-1)"])
def size_index():
    def f(x):
        d = x.size(3)  # raises
        return x / d**0.5

    return f, (r(2, 5, 4),), "batch S H"


@raises(RuntimeError, suggestion=[".mean()", ".sum()"])
def backward_of_many():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            loss = (self.l(x) - x).pow(2)
            loss.backward()  # raises
            return loss

    return M(), (r(2, 4),), "batch D"


@raises(RuntimeError, suggestion=["keepdim=True", "unsqueeze(-1)", "[..., None]", "unsqueeze(2)"])
def softmax_by_hand():
    def f(s):
        e = s.exp()
        return e / e.sum(-1)  # raises

    return f, (r(2, 3, 5),), "batch q k"


@raises(TypeError, suggestion=["T // 2"])
def arange_float_view():
    def f(x):
        T = x.shape[1]
        return torch.zeros(T, T / 2)  # raises

    return f, (r(2, 6),), "batch T"


@raises(RuntimeError, suggestion=["ids.float()"])
def ids_mean():
    def f(ids):
        return torch.mean(ids, dim=1)  # raises

    return f, (torch.zeros(2, 5, dtype=torch.long),), "batch S"


@raises(RuntimeError, suggestion=["attention_mask.float()", "1.0 -"])
def log_softmax_ints():
    def f(attention_mask):
        return F.log_softmax(attention_mask, dim=-1)  # raises

    return f, (torch.ones(2, 5, dtype=torch.long),), "batch S"


@raises(RuntimeError, suggestion=["1 - ", "~key_padding"])
def bool_minus():
    def f(s, key_padding):
        return s + (1.0 - key_padding)[:, None, :] * -1e9  # raises

    return (
        f,
        (r(2, 4, 5), torch.ones(2, 5, dtype=BOOL)),
        {"s": "batch q k", "key_padding": "batch k"},
    )


@raises(RuntimeError, suggestion=["dim=-1", "qkv.split(d, dim=-1)", "dim=2"])
def split_list():
    def f(x, wq):
        qkv = x @ wq
        d = 4
        q, k, v = torch.split(qkv, [d, d, d])  # raises
        return q

    return f, (r(2, 5, 4), r(4, 12)), {"x": "batch n dim"}


@raises(RuntimeError, suggestion=["-1", "k.expand(-1, ", "repeat_interleave"])
def kv_expand():
    def f(q, k):
        b, h, n, d = q.shape
        k = k.expand(-1, h, -1, -1)  # raises
        return q @ k.mT

    return f, (r(2, 6, 5, 4), r(2, 3, 5, 4)), {"q": "b h n d", "k": "b g n d"}


@raises(RuntimeError, suggestion=["mask[:, None, None, :].expand", "mask[:, None, None]"])
def mask_expand():
    def f(scores, mask):
        b, h, q, k = scores.shape
        m = mask.expand(b, h, q, k)  # raises
        return scores.masked_fill(m, -1e9)

    return f, (r(2, 3, 4, 6), torch.ones(2, 6, dtype=BOOL)), {"scores": "b h q k", "mask": "b k"}


@raises(
    RuntimeError,
    suggestion=[
        "mask[:, None, None, :].expand",
        "mask[:, None, None]",
        "mask[:, None]",
        "mask.unsqueeze",
    ],
)
def mask_expand_as():
    def f(scores, mask):
        m = mask.expand_as(scores)  # raises
        return scores.masked_fill(m, -1e9)

    return f, (r(2, 3, 4, 6), torch.ones(2, 6, dtype=BOOL)), {"scores": "b h q k", "mask": "b k"}


@raises(RuntimeError, suggestion=["reshape(B, N, 3, self.heads, C // self.heads)"])
def fused_projection_of_an_image():
    class M(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(dim, dim * 3)

        def forward(self, x):
            B, N, C = x.shape
            return self.qkv(x).reshape(B, N, self.heads, C // self.heads)  # raises

    return M(8, 2), (r(2, 5, 8),), "B N C"


@raises(RuntimeError, suggestion=["tokens[:, 1:].unflatten(1, hw)"])
def class_token_in_an_unflattened_grid():
    def f(tokens, hw):
        return tokens.unflatten(1, hw)  # raises

    return (lambda tokens: f(tokens, (3, 4))), (r(2, 13, 6),), "batch n D"


@raises(RuntimeError, "int64", suggestion=["scores.float().masked_fill("])
def infinity_in_whole_numbers():
    def f(scores, mask):
        return scores.masked_fill(mask, float("-inf"))  # raises

    scores, mask = torch.zeros(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=BOOL)
    return f, (scores, mask), {"scores": "batch S", "mask": "batch S"}
