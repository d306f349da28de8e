"""Programs that Python or a layer refuses, and sizes that a correction has to call by their names.

Kept as in ``misled_raising``; ``WRITTEN`` holds the very correction that is wanted.
"""

from __future__ import annotations

import math

import torch
from torch import nn

PASTED: dict[str, tuple] = {}
WRITTEN: dict[str, tuple] = {}
TOLD: dict[str, tuple] = {}


def sample(shapes, dims, meant=None, written=None, says=(), never=()):
    def keep(program):
        if meant is not None:
            PASTED[program.__name__] = (program, meant, shapes, dims)
        if written is not None:
            WRITTEN[program.__name__] = (program, shapes, dims, written)
        if says or never:
            TOLD[program.__name__] = (program, shapes, dims, says, never)
        return program

    return keep


# A number where torch asks for a tensor.

Q = {"q": "batch heads S H"}
ONE = [(3, 4, 5, 6)]


@sample(ONE, Q, lambda q: q / 6**0.5, "math.sqrt(q.shape[-1])",
        ["torch.sqrt takes a tensor, but q.shape[-1] is a number, 6"], ["Dim"])  # fmt: skip
def the_root_of_a_size(q):
    return q / torch.sqrt(q.shape[-1])


@sample(ONE, Q, lambda q: (q @ q.mT) / math.sqrt(6), "math.sqrt(d_k)", ["d_k is a number, 6"])
def the_root_of_a_variable(q):
    d_k = q.size(-1)
    scores = torch.matmul(q, q.mT) / torch.sqrt(d_k)
    return scores


@sample(ONE, None, lambda q: q * 6**-0.5, None, ["torch.rsqrt takes a tensor"], ["Dim"])
def one_by_the_root(q):
    B, h, S, d = q.shape
    return q * torch.rsqrt(d)


@sample(ONE, Q, lambda q: q * math.log(5), "math.log(q.size(2))", ["torch.log takes a tensor"])
def the_logarithm_of_a_length(q):
    return q * torch.log(q.size(2))


# Sizes by their names.

X = {"x": "batch S n_embd"}


@sample([(3, 5, 24)], X, lambda x: x.view(3, 5, 24),
        "y.transpose(1, 2).contiguous().view(B, T, C)")  # fmt: skip
def heads_joined_to_the_width_of_one(x):
    B, T, C = x.shape
    n_head = 4
    y = x.view(B, T, n_head, C // n_head).transpose(1, 2)
    return y.transpose(1, 2).contiguous().view(B, T, C // n_head)


@sample([(3, 5, 24)], X, lambda x: x.view(3, 5, 24), "y.reshape(B, T, C)")
def split_features_joined_to_the_width_of_one(x):
    B, T, C = x.shape
    y = x.reshape(B, T, 4, C // 4)
    return y.reshape(B, T, C // 4)


TARGETS = {"src": "batch Ss n_embd", "tgt": "batch St n_embd", "pe": "max_len n_embd"}


@sample([(3, 7, 24), (3, 5, 24), (20, 24)], TARGETS, lambda src, tgt, pe: tgt * 2 + pe[:5],
        "torch.mul(tgt, 2) + pe[:tgt.shape[1]]")  # fmt: skip
def positions_of_the_other_sequence(src, tgt, pe):
    return torch.mul(tgt, 2) + pe[: src.shape[1]]


@sample([(3, 7, 24), (3, 5, 24), (20, 24)], TARGETS, lambda src, tgt, pe: tgt + pe[:5],
        "tgt + pe[:tgt.shape[1], :]")  # fmt: skip
def positions_of_the_other_sequence_with_all_features(src, tgt, pe):
    return tgt + pe[: src.shape[1], :]


@sample([*ONE, (4, 6, 6)], Q, lambda q, bias: q @ q.mT + bias[:, :5, :5],
        "q @ q.mT + bias[:, :q.shape[2], :q.shape[2]]")  # fmt: skip
def a_bias_for_more_tokens(q, bias):
    return q @ q.mT + bias


# A cache, whatever the caller and the code call its axes.


@sample([(3, 5, 24), (3, 4, 9, 6)], {"x": "batch S n_embd", "past_k": "batch heads past H"},
        lambda x, past_k: torch.cat([past_k, x.view(3, 5, 4, 6).transpose(1, 2)], 2))  # fmt: skip
def a_cache_joined_along_the_heads(x, past_k):
    n_heads = 4
    B, T, C = x.shape
    k = x.view(B, T, n_heads, C // n_heads).transpose(1, 2)
    return torch.cat([past_k, k], dim=1)


@sample([(3, 5, 24), (3, 4, 9, 6)], {"past_k": "batch heads past H"},
        lambda x, past: torch.cat([past, x.view(3, 5, 4, 6).transpose(1, 2)], 2))  # fmt: skip
def a_cache_joined_along_the_features(x, past_k):
    B, T, C = x.shape
    nh, hd = 4, C // 4
    k = x.view(B, T, nh, hd).transpose(1, 2)
    return torch.cat((past_k, k), dim=-1)


# A whole transformer.

TR = nn.Transformer(24, 4, 1, 1, 48, batch_first=True, dropout=0.0)
BOTH = {"s": "batch Ss n_embd", "t": "batch St n_embd"}
TWO = [(3, 7, 24), (3, 5, 24)]
UNNAMED = ["arg5", "arg6", "transposed"]


def masked(s, t):
    return TR(s, t, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5))


@sample(TWO, BOTH, masked, None, ["src_mask is (queries, keys) = (7, 7)"], UNNAMED)
def a_mask_for_the_other_side(s, t):
    mask = nn.Transformer.generate_square_subsequent_mask(t.shape[1])
    return TR(s, t, src_mask=mask)


@sample(TWO, None, masked, None, ["src_mask is (queries, keys) = (7, 7)"], UNNAMED)
def a_mask_made_in_the_call(s, t):
    return TR(s, t, src_mask=nn.Transformer.generate_square_subsequent_mask(t.shape[1]))


@sample(TWO, BOTH, None, None, ["tgt_mask is (queries, keys) = (5, 5)"], UNNAMED)
def a_mask_of_the_wrong_length(s, t):
    mask = torch.zeros(3, 3)
    return TR(s, t, tgt_mask=mask)


@sample([(7, 3, 24), (3, 5, 24)], {"s": "Ss batch n_embd", "t": "batch St n_embd"},
        lambda s, t: TR(s.transpose(0, 1), t), None, ["batch_first=True"], UNNAMED)  # fmt: skip
def one_sequence_the_other_way_round(s, t):
    return TR(s, t)


class Cache(nn.Module):
    """Keys joined with those before them along the heads; its width is called n."""

    def __init__(self, d, n):
        super().__init__()
        self.n_heads, self.hd = n, d // n

    def forward(self, x, past_k):
        k = x.view(x.shape[0], x.shape[1], self.n_heads, self.hd).transpose(1, 2)
        return torch.cat([past_k, k], dim=1)


# A causal mask that is cut to the batch: it hides keys from queries, and no sample's padding.

SCORES = [(3, 4, 5, 5)]
SQUARE = {"att": "batch heads S S"}
TRIANGLE = ["the axes of a causal mask are queries and keys"]


class Causal(nn.Module):
    """A buffer as most code has it, under a name that says so or not."""

    def __init__(self, name, mask):
        super().__init__()
        self.name = name
        self.register_buffer(name, mask)


class ByName(Causal):
    def forward(self, att):
        B, _, T, _ = att.shape
        return att.masked_fill(~self.tril[:B, :T], float("-inf"))


class ByValue(Causal):
    def forward(self, att):
        B, _, T, _ = att.shape
        return att.masked_fill(self.bias[:B, :T] == 0, float("-inf"))


BY_NAME = ByName("tril", torch.ones(9, 9, dtype=torch.bool).tril())
BY_VALUE = ByValue("bias", torch.ones(9, 9).tril())


@sample(SCORES, SQUARE, None, None, TRIANGLE, ["try:"])
def a_triangle_cut_to_the_batch(att):
    return BY_NAME(att)


@sample(SCORES, SQUARE, None, None, TRIANGLE, ["try:"])
def a_buffer_that_is_a_triangle_cut_to_the_batch(att):
    return BY_VALUE(att)


@sample(
    [*SCORES, torch.tensor([[1.0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])],
    SQUARE | {"keep": "batch S"},
    lambda att, keep: att.masked_fill((keep == 0)[:, None, None, :], float("-inf")),
)
def padding_that_looks_like_a_triangle(att, keep):
    return att.masked_fill(keep == 0, float("-inf"))
