"""Programs that raise where a correction that fits the sizes would say something untrue.

Kept as in ``pasted_raising``; ``TOLD`` holds words that a note has to have, and words that would
be untrue in it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

PASTED: dict[str, tuple] = {}
SILENT: dict[str, tuple] = {}
TOLD: dict[str, tuple] = {}


def sample(shapes, dims, meant=None, says=(), never=()):
    """Keep a program; without a meaning nothing may be offered for it."""

    def keep(program):
        if meant is None:
            SILENT[program.__name__] = (program, shapes, dims)
        else:
            PASTED[program.__name__] = (program, meant, shapes, dims)
        if says or never:
            TOLD[program.__name__] = (program, shapes, dims, says, never)
        return program

    return keep


HEADS = dict.fromkeys("qkv", "batch heads S H")
FOUR = [(3, 4, 5, 6)] * 3


def attended(q, k, v):
    return (q @ k.mT).softmax(-1) @ v


# Weights that are right beside values that were left behind: repeated, or joined, as the keys.

SHARED = {"q": "batch heads S H", "k": "batch kv_heads S H", "v": "batch kv_heads S H"}
GROUPED = [(3, 4, 5, 6), (3, 2, 5, 6), (3, 2, 5, 6)]


def grouped(q, k, v):
    return attended(q, *(x.repeat_interleave(2, dim=1) for x in (k, v)))


@sample(GROUPED, SHARED, grouped, ["v was not repeated", "repeat_interleave"],
        ["should have been"])  # fmt: skip
def values_not_repeated(q, k, v):
    k = k.repeat_interleave(2, dim=1)
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
    return weights @ v


@sample(GROUPED, None, grouped, ["v was not repeated"], ["should have been", "adds up to 1"])
def nameless_values_not_repeated(q, k, v):
    k = torch.repeat_interleave(k, 2, dim=1)
    w = F.softmax(torch.matmul(q, k.mT), -1)
    return torch.matmul(w, v)


@sample(GROUPED, SHARED, grouped, ["v was not repeated"], ["should have been"])
def values_not_expanded(q, k, v):
    k = k[:, :, None].expand(-1, -1, 2, -1, -1).reshape(3, 4, 5, 6)
    w = (q @ k.mT).softmax(-1)
    w = F.dropout(w, 0.1, False)
    return w @ v


PAST = [(3, 4, 5, 6)] * 3 + [(3, 4, 9, 6)]
CACHED = {**HEADS, "past_k": "batch heads past H"}


@sample(PAST, CACHED, None, ["v was not joined with what came before it, as k was: k has 9 + 5"],
        ["should have been"])  # fmt: skip
def values_without_their_past(q, k, v, past_k):
    k = torch.cat([past_k, k], dim=2)
    w = (q @ k.transpose(-2, -1)).softmax(-1)
    return w @ v


@sample(PAST, None, None, ["value was not joined with what came before it, as keys was"],
        ["should have been"])  # fmt: skip
def nameless_values_without_their_past(query, key, value, past):
    keys = torch.cat((past, key), 2)
    scores = torch.matmul(query, keys.mT) / 2
    return torch.matmul(F.softmax(scores, dim=-1), value)


@sample([(3, 4, 1, 6)] * 3 + [(3, 4, 9, 6)], CACHED, None, ["v was not joined"],
        ["should have been"])  # fmt: skip
def one_value_without_its_past(q, k, v, past_k):
    k = torch.cat([past_k, k], dim=-2)
    return (q @ k.mT).softmax(-1).matmul(v)


@sample([(3, 4, 5, 6), (3, 4, 8, 6), (3, 4, 5, 6)],
        {"q": "batch heads Sq H", "k": "batch heads Sk H", "v": "batch heads Sq H"}, None,
        ["w adds up to 1 over Sk = 8"], ["should have been"])  # fmt: skip
def values_of_the_queries(q, k, v):
    w = (q @ k.mT).softmax(-1)
    return w @ v


# Masks of 0 and 1: what may be seen is not what is filled up.

NEVER = float("-inf")
SQUARE = torch.ones(5, 5)
TRIL, TRIU = SQUARE.tril(), SQUARE.triu(1)
SCORED = {**HEADS, "mask": "S S"}


def causal(q, k, v, *_):
    return (q @ k.mT).masked_fill(TRIU.bool(), NEVER).softmax(-1) @ v


@sample([*FOUR, TRIL], SCORED, causal)
def a_triangle_of_what_is_seen(q, k, v, mask):
    s = q @ k.mT
    s = s.masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v


@sample([*FOUR, TRIU], SCORED, causal)
def a_triangle_of_what_is_hidden(q, k, v, mask):
    s = (q @ k.mT).masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v


@sample([*FOUR, torch.ones(40, 40).tril()], HEADS, causal)
def a_triangle_cut_out(q, k, v, bias):
    s = q @ k.mT
    s = s.masked_fill(bias[:5, :5], float("-inf"))
    return s.softmax(-1) @ v


@sample([*FOUR, torch.ones(40, 40).tril()], HEADS, causal)
def one_less_a_triangle(q, k, v, bias):
    s = q @ k.mT
    s = s.masked_fill(1 - bias[:5, :5], float("-inf"))
    return s.softmax(-1) @ v


@sample(FOUR, HEADS, causal)
def a_triangle_made_there(q, k, v):
    s = q @ k.mT
    s = s.masked_fill(torch.tril(torch.ones(5, 5)), float("-inf"))
    return s.softmax(-1) @ v


@sample([(3, 4, 20, 6)] * 3, HEADS,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))  # fmt: skip
def a_triangle_too_large_to_be_kept(q, k, v):
    tril = torch.ones(20, 20).tril()
    s = q @ k.mT / 6**0.5
    s = s.masked_fill(tril, float("-inf"))
    return s.softmax(-1) @ v


@sample(FOUR, HEADS, causal)
def where_a_triangle_is_hidden(q, k, v):
    hidden = torch.ones(5, 5).triu(1)
    s = q @ k.mT
    return torch.where(hidden, float("-inf"), s).softmax(-1) @ v


@sample(FOUR, HEADS, causal)
def where_a_triangle_is_seen(q, k, v):
    s = q @ k.mT
    return torch.where(torch.ones(5, 5).tril(), s, float("-inf")).softmax(-1) @ v


@sample([*FOUR, torch.tensor([[1.0, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])], HEADS,
        lambda q, k, v, m: (q @ k.mT).masked_fill(m[:, None, None] == 0, -1e9))  # fmt: skip
def a_padding_mask_of_what_is_there(q, k, v, m):
    m = m[:, None, None, :]
    return (q @ k.mT).masked_fill(m, -1e9)


@sample([*FOUR, torch.full((5, 5), 0.5)], SCORED)
def a_mask_of_shares(q, k, v, mask):
    s = (q @ k.mT).masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v


@sample(FOUR, HEADS, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
def whole_numbers_that_hide(q, k, v):
    mask = torch.ones(5, 5, dtype=torch.long).triu(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


# A mask of floats as an index: its numbers are no rows.


@sample(FOUR, HEADS, causal)
def a_triangle_as_an_index(q, k, v):
    s = q @ k.mT
    s[torch.ones(5, 5).triu(1)] = float("-inf")
    return s.softmax(-1) @ v


@sample(FOUR, HEADS, causal)
def a_triangle_of_what_is_seen_as_an_index(q, k, v):
    s, mask = q @ k.mT, torch.ones(5, 5).tril()
    s[mask] = -torch.inf
    return s.softmax(-1) @ v


@sample([(3, 5), (3, 5, 6)], {"keep": "batch S", "x": "batch S H"},
        lambda keep, x: x * (keep <= 0).unsqueeze(-1))  # fmt: skip
def a_mask_of_the_first_axes_as_an_index(keep, x):
    x, m = x * 1.0, (keep > 0).float()
    x[m] = 0.0
    return x


@sample([(3, 4, 5, 7)], {"x": "batch heads S H"})
def a_mask_that_lies_nowhere_as_an_index(x):
    m = torch.ones(4, 7)
    return x[m]
