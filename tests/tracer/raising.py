"""Code that raises: the note must name the line, the operands in dims, the clash, and a correction.

Each sample: (code, inputs, dims, what the note must say, the suggestion or None).
"""

import torch
import torch.nn.functional as F
from torch import nn

RAISING = {}


def raises(kind, *words, suggestion=None):
    def keep(build):
        RAISING[build.__name__] = (build, kind, words, suggestion)
        return build

    return keep


def x_of(*shape):
    return torch.randn(*shape)


QK = {"q": "batch S H", "k": "batch S H"}
QK4 = {"q": "batch heads S H", "k": "batch heads S H"}


@raises(
    RuntimeError, "q (batch=2, S=5, H=3)", "k (batch=2, S=5, H=3)", "H = 3", "S = 5",
    suggestion="q @ k.transpose(-2, -1)",
)  # fmt: skip
def scores_without_transpose():
    def scores(q, k):
        return q @ k

    return scores, (x_of(2, 5, 3), x_of(2, 5, 3)), QK


@raises(RuntimeError, "heads = 4", "(batch=2, S=6, heads=4, H=8)", suggestion="q @ k.mT")
def transpose_of_three_axes():
    def scores(q, k):
        return q @ k.transpose(1, 2)

    return scores, (x_of(2, 4, 6, 8), x_of(2, 4, 6, 8)), QK4


@raises(RuntimeError, ".T reversed all 3 axes of k (batch=2, S=5, H=3)", suggestion="q @ k.mT")
def capital_t():
    def scores(q, k):
        return q @ k.T

    return scores, (x_of(2, 5, 3), x_of(2, 5, 3)), QK


@raises(RuntimeError, "q (batch=2, S=5, H=3)", "H = 3", suggestion="q @ k.transpose(-2, -1)")
def bmm():
    def scores(q, k):
        return torch.bmm(q, k)

    return scores, (x_of(2, 5, 3), x_of(2, 5, 3)), QK


@raises(RuntimeError, "weights compares features with features", "5 rows of v")
def weights_over_features():
    def attend(q, k, v):
        weights = (q.mT @ k).softmax(-1)
        return weights @ v

    return attend, tuple(x_of(2, 5, 3) for _ in range(3)), dict.fromkeys("qkv", "batch S H")


@raises(RuntimeError, "reads d_model = 12 features", "last dim of y is H = 4",
        suggestion="self.out(y.transpose(1, 2).flatten(2))")  # fmt: skip
def heads_not_merged():
    class Out(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.out = nn.Linear(d_model, d_model)

        def forward(self, y):
            return self.out(y)

    return Out(12), (x_of(2, 3, 5, 4),), "batch heads S H"


@raises(RuntimeError, "reads 7 features", "S = 5", suggestion="F.linear(x.transpose(-2, -1), w)")
def linear_over_the_wrong_axis():
    def project(x, w):
        return F.linear(x, w)

    return project, (x_of(2, 7, 5), x_of(3, 7)), "batch n_embd S"


@raises(RuntimeError, "w (n_embd=12, H=4)", "last dim of x is n_embd = 12", suggestion="x @ w")
def weight_in_out():
    def project(x, w):
        return F.linear(x, w)

    return project, (x_of(2, 5, 12), x_of(12, 4)), {"x": "batch S n_embd", "w": "n_embd H"}


@raises(RuntimeError, "mask (batch=2, S=5, S=5)", "heads = 3", "batch = 2",
        suggestion='scores.masked_fill(mask.unsqueeze(1), float("-inf"))')  # fmt: skip
def mask_without_head_axis():
    def fill(scores, mask):
        return scores.masked_fill(mask, float("-inf"))

    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    dims = {"scores": "batch heads S S", "mask": "batch S S"}
    return fill, (x_of(2, 3, 5, 5), mask), dims


@raises(RuntimeError, "pad (batch=2, S=5)", suggestion="scores + pad[:, None, None, :]")
def padding_without_axes():
    def fill(scores, pad):
        return scores + pad

    return fill, (x_of(2, 3, 5, 5), x_of(2, 5)), {"scores": "batch heads Sq S", "pad": "batch S"}


@raises(
    RuntimeError, "mask (9, 9)", "S = 5",
    suggestion='scores.masked_fill(mask[:scores.shape[1], :scores.shape[2]], float("-inf"))',
)  # fmt: skip
def mask_too_long():
    mask = torch.ones(9, 9, dtype=torch.bool)

    def fill(scores):
        return scores.masked_fill(mask, float("-inf"))

    return fill, (x_of(2, 5, 5),), "batch S S"


@raises(RuntimeError, "x (batch=2, S=5, n_embd=12)", "out (batch=2, S=5, H=4)", "n_embd = 12")
def residual_of_another_width():
    def add(x, out):
        return x + out

    dims = {"x": "batch S n_embd", "out": "batch S H"}
    return add, (x_of(2, 5, 12), x_of(2, 5, 4)), dims


@raises(RuntimeError, "n_embd = 10 does not divide by n_heads = 4")
def heads_that_would_be_five_of_another_size():
    def split(x, n_heads=4):
        batch, S, n_embd = x.shape
        return x.view(batch, S, n_heads, n_embd // n_heads)

    return split, (x_of(2, 6, 10),), "batch S n_embd"


@raises(RuntimeError, "n_embd = 64 does not divide by heads = 5", "640 numbers")
def heads_do_not_divide():
    def split(x, heads):
        B, T, C = x.shape
        return x.view(B, T, heads, C // heads)

    return split, (x_of(2, 5, 64), 5), "batch S n_embd"


@raises(RuntimeError, "not laid out in this order", "(batch, S, heads, H)",
        suggestion="y.transpose(1, 2).reshape(B, T, h * d)")  # fmt: skip
def view_after_transpose():
    def merge(y):
        B, h, T, d = y.shape
        return y.transpose(1, 2).view(B, T, h * d)

    return merge, (x_of(2, 3, 5, 4),), "batch heads S H"


@raises(RuntimeError, "not laid out", suggestion="y.transpose(1, 2).reshape(2, 5, 12)")
def view_without_moving_heads():
    def merge(x):
        y = x.transpose(1, 2)
        return y.view(2, 5, 12)

    return merge, (x_of(2, 5, 3, 4),), "batch S heads H"


@raises(RuntimeError, "b (batch=2, T=7, C=3)", "axis 1", suggestion="torch.cat((a, b), dim=-2)")
def cat_along_the_wrong_axis():
    def join(a, b):
        return torch.cat((a, b), dim=-1)

    return join, (x_of(2, 5, 3), x_of(2, 7, 3)), {"a": "batch S C", "b": "batch T C"}


@raises(RuntimeError, "every other axis equal", "axis 1")
def stack_of_two_lengths():
    def join(a, b):
        return torch.stack((a, b))

    return join, (x_of(2, 5), x_of(2, 7)), {"a": "batch S", "b": "batch T"}


@raises(IndexError, "k has 3 axes", suggestion="k.transpose(-2, -1)")
def axis_out_of_range():
    def scores(q, k):
        return q @ k.transpose(2, 3)

    return scores, (x_of(2, 5, 3), x_of(2, 5, 3)), QK


@raises(IndexError, "has 10 rows, so ids are 0 … 9", "holds 3 … 11")
def id_out_of_range():
    class Embed(nn.Module):
        def __init__(self, vocab, n_embd):
            super().__init__()
            self.table = nn.Embedding(vocab, n_embd)

        def forward(self, ids):
            return self.table(ids)

    return Embed(10, 4), (torch.tensor([[3, 11]]),), "batch S"


@raises(RuntimeError, "ids is float32",
        suggestion="F.embedding(ids.long(), table)")  # fmt: skip
def ids_that_are_floats():
    def embed(ids, table):
        return F.embedding(ids, table)

    return embed, (torch.ones(2, 5), x_of(10, 4)), "batch S"


@raises(RuntimeError, "ids holds whole numbers (int64)", "embed ids first")
def whole_numbers_into_a_layer():
    def project(ids, w):
        return F.linear(ids, w)

    return project, (torch.ones(2, 5, dtype=torch.long), x_of(3, 5)), "batch S"


@raises(RuntimeError, "weights is float64, v float32", suggestion="weights.to(torch.float32) @ v")
def double_weights():
    def attend(weights, v):
        return weights @ v

    return attend, (x_of(2, 5, 5).double(), x_of(2, 5, 3)), "batch S S"


@raises(RuntimeError, "float16", "-1000000000.0 does not fit",
        suggestion='scores.masked_fill(mask, float("-inf"))')  # fmt: skip
def fill_too_low_for_half():
    def fill(scores, mask):
        return scores.masked_fill(mask, -1e9)

    mask = torch.ones(5, 5, dtype=torch.bool)
    return fill, (x_of(2, 5, 5).half(), mask), "batch S S"


@raises(RuntimeError, "scores is on meta, mask on cpu",
        suggestion='scores.masked_fill(mask.to(scores.device), float("-inf"))')  # fmt: skip
def mask_on_another_device():
    def fill(scores):
        mask = torch.ones(5, 5, dtype=torch.bool)
        return scores.masked_fill(mask, float("-inf"))

    return fill, (torch.empty(2, 5, 5, device="meta"),), "batch S S"


@raises(RuntimeError, "the letter d stands for H = 3 in q and for D = 4 in k")
def einsum_letter():
    def scores(q, k):
        return torch.einsum("bid,bjd->bij", q, k)

    return scores, (x_of(2, 5, 3), x_of(2, 5, 4)), {"q": "batch S H", "k": "batch S D"}


@raises(RuntimeError, "q has heads = 8 where k has kv_heads = 2",
        suggestion="F.scaled_dot_product_attention(q, k, v, enable_gqa=True)")  # fmt: skip
def grouped_without_saying_so():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    kv = "batch kv_heads S H"
    inputs = (x_of(2, 8, 5, 4), x_of(2, 2, 5, 4), x_of(2, 2, 5, 4))
    return attend, inputs, {"q": "batch heads S H", "k": kv, "v": kv}


@raises(RuntimeError, "q has heads = 8 where k.mT has kv_heads = 2",
        suggestion="q @ k.mT.repeat_interleave(4, dim=1)")  # fmt: skip
def grouped_by_hand():
    def scores(q, k):
        return q @ k.mT

    dims = {"q": "batch heads S H", "k": "batch kv_heads S H"}
    return scores, (x_of(2, 8, 5, 4), x_of(2, 2, 5, 4)), dims


@raises(RuntimeError, "batch_first=True", "the batch of q is 5, of k 7")
def library_batch_first():
    layer = nn.MultiheadAttention(8, 2)

    def attend(q, k):
        return layer(q, k, k)

    return attend, (x_of(2, 5, 8), x_of(2, 7, 8)), None


@raises(RuntimeError, "axis -1 of mask is S = 5, of the scores 7")
def mask_of_the_queries():
    def attend(q, k, mask):
        return F.scaled_dot_product_attention(q, k, k, attn_mask=mask)

    mask = torch.ones(5, 5, dtype=torch.bool)
    return attend, (x_of(2, 5, 4), x_of(2, 7, 4), mask), {"q": "batch S H", "mask": "S S"}
