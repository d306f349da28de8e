"""Attention code that runs and is wrong: each must be warned of, on its line, with its two dims.

Each sample is (code, inputs, dims, the line's beginning, the two dims).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

WRONG = {}


def wrong(line, *pair):
    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return keep


def x_of(*shape):
    return torch.randn(*shape)


class Projected(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.head_size = head_size
        self.query = nn.Linear(n_embd, head_size)
        self.key = nn.Linear(n_embd, head_size)
        self.value = nn.Linear(n_embd, head_size)

    def qkv(self, x):
        return self.query(x), self.key(x), self.value(x)


@wrong("scores = q @ k", "S", "head_size")
def no_transpose():
    class Head(Projected):
        def forward(self, x):
            q, k, v = self.qkv(x)
            scores = q @ k / math.sqrt(self.head_size)
            return scores.softmax(-1) @ v

    return Head(12, 6), (x_of(2, 6, 12),), "batch S n_embd"


@wrong("scores = torch.bmm(q, k)", "T", "D")
def no_transpose_bmm():
    def attend(q, k, v):
        B, T, D = q.shape
        scores = torch.bmm(q, k)
        return scores.softmax(-1) @ v

    return attend, tuple(x_of(2, 5, 5) for _ in range(3)), dict.fromkeys("qkv", "B T D")


@wrong("out = out.reshape(batch, S, n_embd)", "S", "heads")
def merge_without_transpose():
    class Many(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads, self.head_size = heads, n_embd // heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.out = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            batch, S, n_embd = x.shape
            q, k, v = (
                part.view(batch, S, self.heads, self.head_size).transpose(1, 2)
                for part in self.qkv(x).chunk(3, dim=-1)
            )
            out = (q @ k.mT / self.head_size**0.5).softmax(-1) @ v
            out = out.reshape(batch, S, n_embd)
            return self.out(out)

    return Many(12, 3), (x_of(2, 5, 12),), "batch S n_embd"


@wrong("return q.view(B, self.h, T, self.d)", "h", "S")
def split_by_view():
    class Split(nn.Module):
        def __init__(self, width, h):
            super().__init__()
            self.h, self.d = h, width // h
            self.q = nn.Linear(width, width)

        def forward(self, x):
            B, T, C = x.size()
            q = self.q(x)
            return q.view(B, self.h, T, self.d)

    return Split(12, 3), (x_of(2, 5, 12),), "batch S n_embd"


@wrong("return q.view(B, self.h, T, self.d)", "h", "S")
def split_by_view_at_equal_sizes():
    class Split(nn.Module):
        def __init__(self, width, h):
            super().__init__()
            self.h, self.d = h, width // h
            self.q = nn.Linear(width, width)

        def forward(self, x):
            B, T, C = x.size()
            q = self.q(x)
            return q.view(B, self.h, T, self.d)

    return Split(12, 3), (x_of(2, 3, 12),), "batch S n_embd"


@wrong("scores = scores + pad", "batch", "S")
def padding_on_the_wrong_axis():
    def attend(q, k, v, pad):
        scores = q @ k.mT
        scores = scores + pad
        return scores.softmax(-1) @ v

    dims = {"q": "batch S H", "k": "batch S H", "v": "batch S H", "pad": "batch S"}
    return attend, (*(x_of(4, 4, 6) for _ in range(3)), x_of(4, 4)), dims


@wrong("scores = scores.masked_fill(mask", "batch", "heads")
def three_dim_mask():
    def attend(q, k, mask):
        scores = q @ k.mT
        scores = scores.masked_fill(mask == 0, float("-inf"))
        return scores.softmax(-1)

    dims = {"q": "batch heads S H", "k": "batch heads S H", "mask": "batch S S"}
    mask = torch.ones(3, 5, 5)
    return attend, (x_of(3, 3, 5, 4), x_of(3, 3, 5, 4), mask), dims


@wrong("return torch.einsum(", "S", "H")
def einsum_letters():
    def scores(q, k):
        return torch.einsum("bid,bdj->bij", q, k)

    dims = {"q": "batch S H", "k": "batch S H"}
    return scores, (x_of(2, 6, 6), x_of(2, 6, 6)), dims


@wrong("scores = q @ k.transpose(1, 2)", "heads", "S")
def transpose_of_three_axes():
    def attend(q, k, v):
        scores = q @ k.transpose(1, 2)
        return scores.softmax(-1)

    dims = dict.fromkeys("qkv", "batch heads S H")
    return attend, tuple(x_of(2, 4, 4, 4) for _ in range(3)), dims


@wrong("return x + self.proj(x.transpose(1, 2))", "S", "n_embd")
def linear_over_tokens():
    class Mix(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            return x + self.proj(x.transpose(1, 2))

    return Mix(6), (x_of(2, 6, 6),), "batch S n_embd"


@wrong("return weights @ v.transpose(1, 2)", "S", "H")
def values_transposed():
    def attend(q, k, v):
        weights = F.softmax(q @ k.transpose(1, 2), dim=-1)
        return weights @ v.transpose(1, 2)

    return attend, tuple(x_of(2, 6, 6) for _ in range(3)), dict.fromkeys("qkv", "batch S H")


@wrong("x = x + pos", "batch", "S")
def positions_by_batch():
    def embed(x, pos):
        x = x + pos[:, None, :]
        return x

    return embed, (x_of(5, 5, 8), x_of(5, 8)), {"x": "batch S n_embd", "pos": "S n_embd"}


@wrong("y = F.scaled_dot_product_attention(q, k, v)", "heads", "S")
def fused_without_transpose():
    class Fused(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.heads, self.head_size = heads, n_embd // heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x, memory):
            batch, S, n_embd = x.shape
            q = self.qkv(x)[..., :n_embd].view(batch, S, self.heads, self.head_size)
            k, v = memory, memory
            y = F.scaled_dot_product_attention(q, k, v)
            return y

    dims = {"x": "batch S n_embd", "memory": "batch heads S head_size"}
    return Fused(12, 4), (x_of(2, 4, 12), x_of(2, 4, 4, 3)), dims


@wrong("return x.view(seq, batch, width)", "seq", "batch")
def batch_first_by_view():
    def swap(x):
        batch, seq, width = x.shape
        return x.view(seq, batch, width)

    return swap, (x_of(2, 5, 6),), None


@wrong("return scores * scale", "heads", "S")
def scale_per_head():
    def scaled(scores, scale):
        return scores * scale

    dims = {"scores": "batch heads S S", "scale": "heads"}
    return scaled, (x_of(2, 5, 5, 5), x_of(5)), dims


@wrong("h = torch.cat((a, b), dim=-1)", "S", "n_embd")
def cat_of_a_transposed():
    def both(a, b):
        b = b.mT
        h = torch.cat((a, b), dim=-1)
        return h

    return both, (x_of(2, 6, 6), x_of(2, 6, 6)), dict.fromkeys("ab", "batch S n_embd")


@wrong("return y.reshape(B, T, h * d)", "T", "h")
def merge_with_sizes_that_are_plain_numbers():
    B, h, T, d = 2, 3, 5, 4

    def merge(x):
        y = x.view(B, h, T, d) * 2
        return y.reshape(B, T, h * d)

    return merge, (x_of(B, h, T * d),), None
