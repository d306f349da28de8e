"""Programs that raise where a correction that fits the sizes would say something untrue.

Kept as in ``pasted_raising``; ``TOLD`` holds words that a note has to have, and words that would
be untrue in it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

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
PAIR = dict.fromkeys("qk", "batch heads S H")


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


@sample([*FOUR, TRIL], SCORED, causal,
        ["what is True is filled up, and the ones of mask are what may be seen"])  # fmt: skip
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


# Letters of an einsum: a dim has one letter, and no letter of one term is summed away.

WEIGHED = {"s": "batch heads S S", "v": "batch heads S H"}
SV = [(3, 4, 5, 5), (3, 4, 5, 6)]


def weighed(s, v):
    return s @ v


@sample(SV, WEIGHED, weighed)
def values_with_the_letter_of_the_queries(s, v):
    return torch.einsum("bhij,bihd->bhid", s, v)


@sample(SV, WEIGHED, weighed)
def a_letter_for_heads_forgotten(s, v):
    return torch.einsum("bqk,bhkd->bhqd", s, v)


@sample(SV, WEIGHED, weighed)
def a_letter_for_heads_of_values_forgotten(s, v):
    return torch.einsum("bhqk,bkd->bhqd", s, v)


@sample(SV, None, weighed)
def a_letter_for_nameless_heads_forgotten(s, v):
    return torch.einsum("bqk,bhkd->bhqd", s, v)


@sample(FOUR[:2], PAIR, lambda q, k: q @ k.mT)
def a_letter_for_heads_of_keys_forgotten(q, k):
    return torch.einsum("bhqd,bkd->bhqk", q, k)


@sample([(3, 4, 5, 8), (3, 4, 8, 6)], {"w": "batch heads Sq Sk", "v": "batch heads Sk H"},
        weighed)  # fmt: skip
def values_with_the_letter_of_other_queries(w, v):
    return torch.einsum("nhqk,nqhd->nhqd", w, v)


@sample([(3, 4, 5, 5), (3, 5, 4, 6)], {"s": "batch heads S S", "v": "batch S heads H"},
        lambda s, v: torch.einsum("nhqk,nkhd->nqhd", s, v))  # fmt: skip
def the_other_letters_stay(s, v):
    return torch.einsum("nhqk,nhkd->nqhd", s, v)


# Features are not heads, and tokens are no features.


@sample([(3, 5, 24)], {"x": "batch S n_embd"})
def queries_split_the_other_way_round(x):
    h = 4
    B, T, C = x.shape
    q = x.view(B, T, C // h, h).transpose(1, 2)
    k = x.view(B, T, h, C // h).transpose(1, 2)
    att = q @ k.transpose(-2, -1)
    return att.softmax(-1)


@sample([(3, 5, 24)], {"x": "batch S n_embd"})
def keys_split_the_other_way_round(x):
    B, T, C = x.shape
    n_head = 4
    q = x.view(B, T, n_head, C // n_head).transpose(1, 2)
    k = x.view(B, T, C // n_head, n_head).transpose(1, 2)
    return q @ k.transpose(-2, -1)


@sample([(3, 4, 5, 6), (3, 6, 5, 4)], {"q": "batch heads S H", "k": "batch H S heads"})
def features_in_the_place_of_heads(q, k):
    return q @ k.mT


@sample([(3, 6, 6)], {"y": "batch S heads"})
def tokens_are_no_features(y):
    layer = torch.nn.Linear(36, 36)
    return layer(y)


@sample([(3, 5, 24)], {"x": "batch S n_embd"})
def heads_joined_along_the_tokens(x):
    proj, heads = torch.nn.Linear(20, 20), [torch.nn.Linear(24, 6) for _ in range(4)]
    out = torch.cat([h(x) for h in heads], dim=1)
    return proj(out)


def projected(x):
    return torch.cat([x[..., 6 * i : 6 * i + 6] * 2 for i in range(4)], -1) @ PROJECTION.weight.T


PROJECTION = torch.nn.Linear(24, 24, bias=False)


@sample([(3, 5, 24)], {"x": "batch S n_embd"}, projected)
def heads_stacked_behind_their_features(x):
    B, S, C = x.shape
    head_size = C // 4
    out = torch.stack([h * 2 for h in x.split(head_size, -1)], dim=-1)
    return PROJECTION(out)


@sample([(3, 5, 24)], {"x": "batch S n_embd"}, projected)
def heads_stacked_before_their_features(x):
    B, S, C = x.shape
    head_size = C // 4
    out = torch.stack([h * 2 for h in x.split(head_size, -1)], dim=2)
    return PROJECTION(out)


# Where a length is wrong, the axis stays where it stands; what knows no samples is not laid there.


@sample([(3, 4, 5, 6), (3, 4, 7, 6), (3, 5)],
        {"q": "batch heads Sq H", "k": "batch heads Sk H", "valid": "batch Sq"})  # fmt: skip
def padding_of_the_queries(q, k, valid):
    s = (q @ k.mT).masked_fill(~(valid > 0)[:, None, None, :], -1e9)
    return s


@sample([(3, 4, 5, 7), (3, 1, 1, 5)], {"s": "batch heads Sq Sk", "bias": "batch 1 1 Sq"})
def what_is_added_to_the_keys(s, bias):
    return s + bias


@sample([(3, 4, 5, 7), (3, 5)], {"s": "batch heads Sq Sk", "pad": "batch Sq"})
def padding_without_axes(s, pad):
    return s.masked_fill(pad > 0, -1e9)


@sample([(6, 7, 24), (1, 6, 24)], {"x": "batch S n_embd"})
def positions_one_short(x, pos_embed):
    return x + pos_embed


@sample([(6, 7, 24), (1, 6, 24)], {"x": "batch S n_embd", "pe": "1 max_len n_embd"})
def named_positions_one_short(x, pe):
    return x + pe


@sample([(3, 4, 5, 6)], {"q": "batch heads S hd"})
def half_of_the_angles(q):
    hd, s = q.shape[-1], q.shape[2]
    angles = torch.outer(torch.arange(s).float(), 100 ** -torch.arange(hd // 2).float())
    sin = angles.sin()[None, None]
    return q.roll(1, -1) / sin


@sample(
    [(3, 4, 5, 6)],
    {"q": "batch heads S hd"},
    lambda q: q.flip(-1) * torch.arange(5.0)[:, None] * torch.arange(3.0).repeat(2),
)
def half_of_the_angles_of_what_is_turned(q):
    s = q.shape[2]
    sin = torch.outer(torch.arange(s).float(), torch.arange(3).float())[None, None]
    return q.flip(-1) * sin


def turned(x):
    return x.flip(-1)


@sample([(3, 4, 5, 6)], {"q": "batch heads S hd"},
        lambda q: turned(q) * torch.arange(5.0)[:, None] * torch.arange(3.0).repeat(2))  # fmt: skip
def half_of_the_angles_beside_a_call(q):
    hd, s = q.shape[-1], q.shape[2]
    sin = torch.outer(torch.arange(s).float(), torch.arange(hd // 2).float())[None, None]
    return turned(q) * sin


@sample([(3, 5, 24), (3, 5, 5)], {"x": "batch S n_embd", "w": "batch S S"})
def weights_added_to_the_stream(x, w):
    return x + w


ATTENTION = torch.nn.MultiheadAttention(24, 4, batch_first=True)


@sample([(3, 5, 24)], {"x": "batch S n_embd"}, lambda x: x + ATTENTION(x, x, x)[0],
        ["w holds the weights, which ATTENTION returns after its output, out"])  # fmt: skip
def the_second_result_added(x):
    out, w = ATTENTION(x, x, x)
    return x + w


@sample([(3, 5, 24)], {"x": "batch S n_embd"}, None, ["weights holds the weights"])
def the_only_result_kept_added(x):
    _, weights = ATTENTION(x, x, x)
    return x + weights


# An elementwise product of what was transposed for a product.


@sample(FOUR[:2], PAIR, lambda q, k: q @ k.mT)
def a_star_for_an_at(q, k):
    s = q * k.mT
    return s


@sample(FOUR[:2], PAIR, lambda q, k: (q @ k.mT) / 6**0.5)
def a_star_for_an_at_that_is_scaled(q, k):
    return q * k.transpose(-2, -1) / 6**0.5


@sample(FOUR, HEADS, attended)
def weights_times_values(q, k, v):
    w = (q @ k.mT).softmax(-1)
    return w * v


@sample(FOUR[:2], None, lambda q, k: q @ k.mT)
def a_call_for_an_at(q, k):
    return torch.mul(q, k.transpose(2, 3))


# Pieces: the axis that was cut stays where names tell that the others are whole.


@sample([(3, 5, 72)], {"x": "batch S n_embd"}, lambda x: x.view(3, 5, 3, 4, 6)[:, :, 1])
def pieces_beside_as_many_samples(x):
    B, N, D = x.shape
    q, k, v = x.reshape(B, N, 3, 4, D // 12).unbind(3)
    return k


@sample([(3, 5, 3, 4)], {"x": "batch S 3 H"}, lambda x: x[:, :, 1])
def pieces_beside_as_many_samples_of_a_variable(x):
    q, k, v = x.unbind(1)
    return k


@sample([(3, 8, 5, 12)], {"kv": "batch heads S KV"}, lambda kv: kv[..., 6:])
def three_pieces_for_two(kv):
    k, v = kv.chunk(3, -1)
    return v


@sample([(3, 4, 5, 12)], {"kv": "batch heads S KV"}, lambda kv: kv[..., 6:])
def three_pieces_for_two_of_few_heads(kv):
    k, v = torch.chunk(kv, 3, dim=-1)
    return v


@sample([(3, 8, 5, 12)], {"kv": "batch heads S KV"}, lambda kv: kv[..., 6:])
def small_pieces(kv):
    k, v = kv.split(4, dim=-1)
    return v


@sample([(3, 5, 48)], {"x": "batch S 2*n_embd"})
def a_layer_for_two_pieces_of_three(x):
    n_embd = 24
    q, k, v = x.split(n_embd, dim=2)
    return v


@sample([(3, 5, 24)], {"x": "batch S n_embd"}, lambda x: x[..., 16:])
def pieces_as_wide_as_heads_are_many(x):
    n_head = 4
    q, k, v = x.split(n_head, dim=2)
    return v


# A view: the size that the names call wrong.


CROSS_X = {"mem": "batch Sk n_embd", "x": "batch Sq n_embd"}


@sample([(3, 6, 24), (3, 8, 24)], CROSS_X | {"x": "batch Sq n_embd"},
        lambda x, mem: mem.view(3, 8, 4, 6) * 2)  # fmt: skip
def keys_as_many_as_queries(x, mem):
    B, T, C = x.shape
    n_head = 4
    return mem.view(B, T, n_head, C // n_head) * 2


@sample([(3, 6, 24), (3, 8, 24)], CROSS_X, lambda x, mem: mem.view(3, 8, 4, 6).transpose(1, 2))
def keys_as_many_as_queries_in_numbers(x, mem):
    B, T = x.shape[:2]
    return mem.view(B, T, 4, 6).transpose(1, 2)


@sample([(3, 6, 24), (3, 12, 24)], None, lambda x, mem: mem.view(3, 12, 2, 12))
def nameless_keys_as_many_as_queries(x, mem):
    B, T, C = x.shape
    return mem.view(B, T, 2, C // 2)


class Shared(nn.Module):
    """Keys of fewer heads than the queries have, viewed as the queries are."""

    def __init__(self, n_embd, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, n_embd // n_heads
        self.wk = nn.Linear(n_embd, n_kv_heads * self.head_dim)

    def forward(self, x):
        B, T, _ = x.shape
        return self.wk(x).view(B, T, self.n_heads, self.head_dim)


class InGroups(Shared):
    """The same beside a name for the width, and as a reshape."""

    def forward(self, x):
        batch, length, width = x.shape
        keys = self.wk(x)
        return keys.reshape(batch, length, self.n_heads, width // self.n_heads)


class Narrow(Shared):
    """Heads whose width is wrong, and not their number."""

    def forward(self, x):
        B, T, C = x.shape
        return self.wk(x).view(B, T, self.n_kv_heads, C // self.n_kv_heads)


@sample([(3, 5, 12)], {"kv": "batch S n_kv_heads*head_dim"})
def shared_keys_in_all_heads_in_numbers(kv):
    n_heads, head_dim = 4, 6
    B, T, _ = kv.shape
    return kv.view(B, T, n_heads, 3 * head_dim)


# Features in columns.

COLUMNS = dict.fromkeys("QKV", "batch H S")
IN_COLUMNS = [(3, 6, 5)] * 3


@sample(IN_COLUMNS, COLUMNS, None, ["A compares features with features", "K.transpose(-2, -1) @ Q"],
        ["the two must be equal"])  # fmt: skip
def columns_compared_by_features(Q, K, V):
    A = (K @ Q.mT).softmax(dim=-2)
    return V @ A


@sample(IN_COLUMNS, COLUMNS, None, ["compares features with features"])
def scaled_columns_compared_by_features(Q, K, V):
    scores = K @ Q.transpose(-2, -1)
    A = F.softmax(scores / 6**0.5, dim=-2)
    return torch.matmul(V, A)


# The same where sizes are equal, or nothing has a name.


@sample([(3, 6, 24)], {"x": "batch S n_embd"}, projected)
def heads_stacked_where_tokens_are_as_many(x):
    B, S, C = x.shape
    head_size = C // 4
    out = torch.stack([h * 2 for h in x.split(head_size, -1)], dim=-1)
    return PROJECTION(out)


@sample(
    [(3, 4, 6, 5), (3, 4, 8, 5), (3, 4, 6, 8)], {"q": "batch heads Sq H", "k": "batch heads Sk H"}
)
def values_of_fewer_tokens(q, k, v):
    attn = (q @ k.mT).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", attn, v)


@sample([(3, 4, 5, 7), (3, 5)], None)
def nameless_padding_of_the_queries(s, valid):
    return s.masked_fill((valid < 0)[:, None, None, :], -1e9)


@sample(IN_COLUMNS, None, None, ["A compares features with features", "K.transpose(-2, -1) @ Q"])
def nameless_columns_compared_by_features(Q, K, V):
    A = (K @ Q.mT).softmax(dim=-2)
    return V @ A


@sample([(3, 4, 5, 6), (3, 4, 7, 6), (3,)], None)
def nameless_padding_beside_its_scores(q, k, lengths):
    valid = torch.arange(q.shape[2])[None, :] < lengths[:, None]
    scores = q @ k.mT
    return scores.masked_fill(~valid[:, None, None, :], torch.finfo(scores.dtype).min)


@sample([(3, 4, 5, 7), (7, 5)], {"s": "batch heads Sq Sk", "pad": "Sk Sq"},
        lambda s, pad: s.masked_fill(pad.mT > 0, torch.finfo(s.dtype).min))  # fmt: skip
def a_mask_beside_its_scores(s, pad):
    return s.masked_fill(pad > 0, torch.finfo(s.dtype).min)


@sample([(3, 4, 2, 4), (3, 4, 4, 2)], {"q": "batch S 2 4", "k": "batch S 4 2"})
def features_of_two_widths(q, k):
    return torch.einsum("bnhd,bshd->bhns", q, k)


@sample([(4, 3, 5, 6)] * 2, {"q": "4 batch S 6", "k": "4 batch S 6"}, lambda q, k: q @ k.mT)
def keys_turned_with_their_heads(q, k):
    return q @ k.transpose(0, -1)


@sample([(4, 3, 5, 6)] * 2, None, lambda q, k: q @ k.mT)
def nameless_keys_turned_with_their_heads(q, k):
    return torch.matmul(q, k.transpose(-1, 1))


@sample([(3, 5, 24)], {"x": "batch S n_embd"})
def features_in_as_many_parts_as_tokens(x):
    return x.unflatten(-1, (5, -1))


@sample([(6, 4, 7, 5), (1, 1, 6, 5)], {"q": "batch heads S H"})
def angles_one_short(q, cos):
    return q * cos


@sample([(6, 7, 24), (1, 6, 24)], None)
def positions_one_short_of_unpacked_tokens(x, pos):
    B, T, C = x.shape
    return x.view(B, T, C) + pos


@sample([(4, 5, 96)], {"x": "batch S n_embd"}, lambda x: x.view(4, 5, 4, 6, 4)[..., 1])
def four_pieces_beside_four_samples(x):
    B, S, E = x.shape
    heads, d = 4, E // 16
    q, k, v, g = x.view(B, S, heads, d, 4).unbind(1)
    return k


@sample([(2, 5, 48)], {"x": "batch S n_embd"}, lambda x: x.view(2, 5, 2, 4, 6)[:, :, 1])
def two_pieces_beside_two_samples(x):
    B, S, E = x.shape
    k, v = torch.unbind(x.reshape(B, S, 2, 4, E // 8), dim=1)
    return v


@sample([(3, 4, 6, 8), (3, 4, 6, 8)], {"attn": "batch heads Sq Sk"})
def weights_that_were_given_beside_fewer_values(attn, v):
    return torch.einsum("bhij,bhjd->bhid", attn, v)
