"""Reshapes that take axes for others, their sizes written in numbers or read where they are used.

Each sample is (code, inputs, dims, the line's beginning, the two dims).
"""

from __future__ import annotations

import torch
from torch import nn

WRONG: dict = {}


def wrong(line, *pair):
    """Keep a builder, the beginning of its wrong line and the two dims that are named there."""

    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return keep


def layer(forward, n_embd=12, n_heads=3):
    """Make a layer of three projections that runs ``forward``."""

    class Heads(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.hd = n_heads, n_embd // n_heads
            self.q, self.k = nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)
            self.v = nn.Linear(n_embd, n_embd)

    Heads.forward = forward
    return Heads(n_embd, n_heads)


def x_of(*shape):
    return (torch.randn(*(shape or (2, 5, 12))),)


NAMED = "batch S n_embd"


# Plain numbers that are the sizes of named dims.


@wrong("q = self.q(x).view(2, 3, 5, 4)", "S", "n_embd")
def split_in_numbers():
    def forward(self, x):
        q = self.q(x).view(2, 3, 5, 4)
        return (q @ q.mT).softmax(-1) @ q

    return layer(forward), x_of(), NAMED


@wrong("q = x.reshape(2, 3, 6, 4)", "S", "n_embd")
def split_in_numbers_where_heads_divide_the_tokens():
    def split(x):
        q = x.reshape(2, 3, 6, 4)
        return q @ q.mT

    return split, x_of(2, 6, 12), NAMED


@wrong("q = self.q(x).view(x.size(0), 3, 5, 4)", "S", "n_embd")
def split_in_numbers_but_for_the_batch():
    def forward(self, x):
        q = self.q(x).view(x.size(0), 3, 5, 4)
        return q @ q.mT

    return layer(forward), x_of(), NAMED


@wrong("q = x.view(-1, 3, 5, 4)", "S", "n_embd")
def split_in_numbers_for_any_batch():
    def split(x):
        q = x.view(-1, 3, 5, 4)
        return q @ q.mT

    return split, x_of(), NAMED


@wrong("q = x.reshape(6, 5, 4)", "S", "n_embd")
def heads_into_the_batch_in_numbers():
    def split(x):
        q = x.reshape(6, 5, 4)
        return q @ q.mT

    return split, x_of(), NAMED


@wrong("q = x.view(3, 5, 4)", "S", "n_embd")
def split_in_numbers_without_a_batch():
    def split(x):
        q = x.view(3, 5, 4)
        return q @ q.mT

    return split, x_of(5, 12), "S n_embd"


@wrong("return q @ k.reshape(2, 3, 4, 5)", "H", "S")
def keys_reshaped_and_not_transposed():
    def scores(q, k):
        return q @ k.reshape(2, 3, 4, 5)

    given = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)
    return scores, given, dict.fromkeys("qk", "batch heads S H")


@wrong("return x.view(5, 2, 12)", "S", "batch")
def batch_and_tokens_exchanged_in_numbers():
    def swap(x):
        return x.view(5, 2, 12)

    return swap, x_of(), NAMED


@wrong("return x.reshape(2, 12, 5)", "n_embd", "S")
def tokens_and_features_exchanged_in_numbers():
    def swap(x):
        return x.reshape(2, 12, 5)

    return swap, x_of(), NAMED


@wrong("return x.view(x.shape[0], self.n_heads * self.hd, -1)", "n_embd", "S")
def tokens_and_features_exchanged_by_a_product():
    def forward(self, x):
        return x.view(x.shape[0], self.n_heads * self.hd, -1)

    return layer(forward), x_of(), NAMED


@wrong("y = y.reshape(2, 5, 12)", "S", "3")
def merged_in_numbers():
    def forward(self, x):
        q, k, v = (w(x).view(2, 5, 3, 4).transpose(1, 2) for w in (self.q, self.k, self.v))
        y = (q @ k.mT / 2).softmax(-1) @ v
        y = y.reshape(2, 5, 12)
        return y

    return layer(forward), x_of(), NAMED


@wrong("y = y.contiguous().view(2, 5, 12)", "S", "n_heads")
def merged_in_numbers_heads_by_name():
    def forward(self, x):
        q = self.q(x).view(2, 5, self.n_heads, self.hd).transpose(1, 2)
        y = (q @ q.mT / 2).softmax(-1) @ q
        y = y.contiguous().view(2, 5, 12)
        return y

    return layer(forward), x_of(), NAMED


@wrong("return y.reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])", "S", "3")
def merged_by_its_own_sizes():
    def merge(x):
        y = x.view(2, 5, 3, 4).transpose(1, 2)
        return y.reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])

    return merge, x_of(), NAMED


@wrong("return y.reshape(2, -1, 12)", "S", "3")
def merged_in_numbers_one_left_over():
    def merge(x):
        y = x.view(2, 5, 3, 4).transpose(1, 2)
        return y.reshape(2, -1, 12)

    return merge, x_of(), NAMED


# Sizes of a tensor that nobody named: the code says itself which axis it means.


@wrong("q = self.q(x).view(x.size(0), self.n_heads, x.size(1), self.hd)", "n_heads", "5")
def split_by_sizes_without_names():
    def forward(self, x):
        q = self.q(x).view(x.size(0), self.n_heads, x.size(1), self.hd)
        return (q @ q.mT).softmax(-1) @ q

    return layer(forward), x_of(), None


@wrong("q = self.q(x).view(x.shape[0], 3, x.shape[1], -1)", "5", "n_embd")
def split_by_sizes_and_numbers_without_names():
    def forward(self, x):
        q = self.q(x).view(x.shape[0], 3, x.shape[1], -1)
        return (q @ q.mT).softmax(-1) @ q

    return layer(forward), x_of(), None


@wrong("return x.view(x.size(1), x.size(0), x.size(2))", "5", "2")
def batch_and_tokens_exchanged_without_names():
    def swap(x):
        return x.view(x.size(1), x.size(0), x.size(2))

    return swap, x_of(), None


@wrong("return x.view(x.shape[1], x.shape[0], -1)", "5", "2")
def batch_and_tokens_exchanged_the_rest_left_over():
    def swap(x):
        return x.view(x.shape[1], x.shape[0], -1)

    return swap, x_of(), None


@wrong("return x.reshape(x.shape[0], x.shape[2], x.shape[1])", "12", "5")
def tokens_and_features_exchanged_without_names():
    def swap(x):
        return x.reshape(x.shape[0], x.shape[2], x.shape[1])

    return swap, x_of(), None


@wrong("y = y.reshape(x.size(0), x.size(1), x.size(2))", "5", "n_heads")
def merged_by_sizes_without_names():
    def forward(self, x):
        heads = (x.size(0), x.size(1), self.n_heads, self.hd)
        q, k, v = (w(x).view(heads).transpose(1, 2) for w in (self.q, self.k, self.v))
        y = (q @ k.mT / 2).softmax(-1) @ v
        y = y.reshape(x.size(0), x.size(1), x.size(2))
        return y

    return layer(forward), x_of(), None


@wrong("return y.reshape(x.shape)", "5", "3")
def merged_as_it_came_without_names():
    def merge(x):
        y = x.view(x.shape[0], x.shape[1], 3, 4).transpose(1, 2)
        return y.reshape(x.shape)

    return merge, x_of(), None


@wrong("return y.contiguous().view_as(x)", "5", "3")
def merged_like_another_without_names():
    def merge(x):
        y = x.unflatten(-1, (3, 4)).transpose(1, 2)
        return y.contiguous().view_as(x)

    return merge, x_of(), None


@wrong("return q @ k.reshape(k.size(0), k.size(2), k.size(1))", "12", "5")
def keys_reshaped_by_sizes_without_names():
    def scores(q, k):
        return q @ k.reshape(k.size(0), k.size(2), k.size(1))

    return scores, (*x_of(), *x_of()), None
