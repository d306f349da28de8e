"""Weights that are normalised by hand, normalised otherwise, or scaled on purpose: silent."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES: dict = {}
NAMED = "batch S n_embd"


def sample(build):
    """Keep a program under its name; build(batch, S, heads, H) -> (code, inputs, dims)."""
    SAMPLES[build.__name__] = build
    return build


def one_head(mix):
    """Make a sample of what is done with queries, keys and values of one head."""

    def build(batch, S, heads, H):
        wq, wk, wv = (nn.Linear(heads * H, H, bias=False) for _ in range(3))
        given = (torch.randn(batch, S, heads * H),)
        return (lambda x: mix(wq(x), wk(x), wv(x))), given, NAMED

    SAMPLES[mix.__name__] = build
    return mix


def many_heads(mix):
    """Make a sample of what is done with (batch, heads, S, H)."""

    def build(batch, S, heads, H):
        q, k, v = torch.randn(3, batch, heads, S, H)
        return mix, (q, k, v), dict.fromkeys("qkv", "batch heads S H")

    SAMPLES[mix.__name__] = build
    return mix


def two_sets(mix):
    """Make a sample of what is done with queries of one set, keys and values of another."""

    def build(batch, S, heads, H):
        q, k, v = torch.randn(batch, S, H), torch.randn(batch, S, H), torch.randn(batch, S, H)
        return mix, (q, k, v), {"q": "batch Sq H", "k": "batch Sk H", "v": "batch Sk H"}

    SAMPLES[mix.__name__] = build
    return mix


# Shares by hand.


@one_head
def a_root_that_is_added(q, k, v):
    weights = (q @ k.mT).softmax(-1)
    return (weights + q.shape[-1] ** -0.5) @ v


@one_head
def the_axis_is_kept(q, k, v):
    e = (q @ k.mT / q.shape[-1] ** 0.5).exp()
    return e / e.sum(-1, keepdim=True) @ v


@one_head
def the_axis_comes_back(q, k, v):
    e = torch.exp(q @ k.mT)
    w = e / e.sum(-1).unsqueeze(-1)
    return w @ v


@one_head
def a_new_axis_behind(q, k, v):
    scores = q @ k.mT
    e = (scores - scores.amax(-1)[..., None]).exp()
    w = e / (e.sum(2)[:, :, None] + 1e-6)
    return torch.bmm(w, v)


@one_head
def the_sum_is_expanded(q, k, v):
    e = (q @ k.mT).exp()
    total = e.sum(-1).view(e.size(0), e.size(1), 1).expand_as(e)
    return torch.div(e, total) @ v


@one_head
def masked_shares(q, k, v):
    e = (q @ k.mT).exp()
    e = e * torch.ones_like(e).tril()
    w = e / e.sum(-1, keepdim=True).clamp(min=1e-6)
    return w @ v


@one_head
def turned_divided_and_turned_back(q, k, v):
    e = (q @ k.mT).exp()
    w = (e.mT / e.sum(-1).unsqueeze(-2)).mT
    return w @ v


@one_head
def keys_in_rows(q, k, v):
    e = (k @ q.mT).exp()
    w = e / e.sum(1).unsqueeze(1)
    return w.mT @ v


@one_head
def logarithms_first(q, k, v):
    return (q @ k.mT).log_softmax(dim=-1).exp() @ v


@one_head
def logarithms_by_hand(q, k, v):
    scores = q @ k.mT
    w = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return w @ v


@one_head
def divided_behind_the_product(q, k, v):
    e = (q @ k.mT).exp()
    return (e @ v) / e.sum(-1).unsqueeze(-1)


@one_head
def one_more_in_the_sum(q, k, v):
    e = (q @ k.mT).exp()
    return e / (1 + e.sum(-1, keepdim=True)) @ v


@one_head
def a_running_sum(q, k, v):
    top = q.new_full((*q.shape[:-1], 1), float("-inf"))
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for keys, values in ((k[:, :2], v[:, :2]), (k[:, 2:], v[:, 2:])):
        scores = q @ keys.mT
        now = torch.maximum(top, scores.amax(-1, keepdim=True))
        e, shrunk = (scores - now).exp(), (top - now).exp()
        total = total * shrunk + e.sum(-1, keepdim=True)
        out, top = out * shrunk + e @ values, now
    return out / total


@one_head
def two_halves_joined(q, k, v):
    parts = []
    for keys, values in ((k[:, :2], v[:, :2]), (k[:, 2:], v[:, 2:])):
        scores = q @ keys.mT
        parts.append((scores.softmax(-1) @ values, scores.logsumexp(-1, keepdim=True)))
    (a, la), (b, lb) = parts
    share = torch.sigmoid(la - lb)
    return share * a + (1 - share) * b


@many_heads
def by_hand_in_heads(q, k, v):
    e = torch.einsum("bhqd,bhkd->bhqk", q, k).exp()
    w = e / e.sum(-1).unsqueeze(-1)
    return torch.einsum("bhqk,bhkd->bhqd", w, v)


@two_sets
def by_hand_across(q, k, v):
    e = torch.exp(q @ k.mT)
    w = e / torch.sum(e, dim=-1)[:, :, None]
    return w @ v


@one_head
def with_relative_positions(q, k, v):
    place = torch.arange(q.size(1), device=q.device)
    e = (q @ k.mT - (place[:, None] - place).abs()).exp()
    w = e / e.sum(dim=-1, keepdim=True)
    return w @ v


@one_head
def in_a_window(q, k, v):
    place = torch.arange(q.size(1), device=q.device)
    near = (place[:, None] - place).abs() < 3
    e = (q @ k.mT).exp().where(near, 0.0)
    w = e / e.sum(-1)[..., None]
    return w @ v


@sample
def groups_of_queries(batch, S, heads, H):
    def attend(q, k, v):
        q = q.unflatten(1, (-1, 2))
        e = torch.einsum("bgnqd,bgkd->bgnqk", q, k).exp()
        w = e / e.sum(-1).unsqueeze(-1)
        return torch.einsum("bgnqk,bgkd->bgnqd", w, v).flatten(1, 2)

    q, k = torch.randn(batch, 2 * heads, S, H), torch.randn(batch, heads, S, H)
    dims = {"q": "batch heads S H", "k": "batch kv_heads S H", "v": "batch kv_heads S H"}
    return attend, (q, k, k.clone()), dims


# Without a softmax.


@one_head
def a_feature_map(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    total = q @ k.sum(1).unsqueeze(-1)
    return q @ (k.mT @ v) / total


@one_head
def a_feature_map_token_by_token(q, k, v):
    q, k = q.relu(), k.relu()
    w = q @ k.mT
    w = w / (w.sum(-1, keepdim=True) + 1e-6)
    return w @ v


@one_head
def distances(q, k, v):
    near = (-(q.unsqueeze(2) - k.unsqueeze(1)).square().sum(-1)).exp()
    return near / near.sum(-1).unsqueeze(-1) @ v


@one_head
def squares(q, k, v):
    w = (q @ k.mT).relu().square() / k.size(1)
    return w @ v


# Normalised over both, or over another axis on purpose.


@one_head
def rows_and_columns_in_turn(q, k, v):
    w = (q @ k.mT).exp()
    w = w / w.sum()
    for _ in range(3):
        w = w / w.sum(-1, keepdim=True)
        w = w / w.sum(-2, keepdim=True)
    return w @ v


@one_head
def a_plan_of_transport(q, k, v):
    kernel = (q @ k.mT).exp()
    u = torch.ones_like(kernel[..., 0])
    for _ in range(2):
        t = 1 / (kernel.mT @ u.unsqueeze(-1)).squeeze(-1)
        u = 1 / (kernel @ t.unsqueeze(-1)).squeeze(-1)
    plan = u.unsqueeze(-1) * kernel * t.unsqueeze(-2)
    return plan @ v


@one_head
def everything_first_then_each_row(q, k, v):
    joint = (q @ k.mT).exp()
    joint = joint / joint.sum()
    w = joint / joint.sum(-1, keepdim=True)
    return w @ v


@sample
def slots_that_compete(batch, S, heads, H):
    def attend(slots, x):
        e = (slots @ x.mT).exp()
        w = e / e.sum(1).unsqueeze(1) + 1e-8
        w = w / w.sum(-1, keepdim=True)
        return w @ x

    given = torch.randn(batch, 7, H), torch.randn(batch, S, H)
    return attend, given, {"slots": "batch slots H", "x": "batch S H"}


@sample
def a_graph_by_degrees(batch, S, heads, H):
    def mix(x):
        a = (x @ x.mT).exp()
        root = a.sum(-1).rsqrt()
        return (root.unsqueeze(-1) * a * root.unsqueeze(-2)) @ x

    return mix, (torch.randn(batch, S, H),), "batch S H"


@sample
def a_graph_divided_twice(batch, S, heads, H):
    def mix(x):
        a = (x @ x.mT).exp()
        root = a.sum(-1).sqrt()
        return (a / root.unsqueeze(-2) / root.unsqueeze(-1)) @ x

    return mix, (torch.randn(batch, S, H),), "batch S H"


@sample
def a_pair_of_sets_pooled_together(batch, S, heads, H):
    def pool(a, b):
        e = torch.einsum("bid,bjd->bij", a, b).exp()
        p = e / e.sum((1, 2), keepdim=True)
        return torch.einsum("bid,bij,bjd->bd", a, p, b)

    given = torch.randn(batch, S, H), torch.randn(batch, 7, H)
    return pool, given, {"a": "batch S H", "b": "batch regions H"}


@sample
def a_pair_of_sets_pooled_in_two_steps(batch, S, heads, H):
    def pool(a, b):
        e = (a @ b.mT).exp()
        p = e / e.sum((-2, -1))[:, None, None]
        return (a * (p @ b)).sum(1)

    given = torch.randn(batch, S, H), torch.randn(batch, 7, H)
    return pool, given, {"a": "batch S H", "b": "batch regions H"}


@one_head
def heads_of_a_mean(q, k, v):
    p = (q @ k.mT).exp()
    p = p / p.sum()
    return -(p * p.log()).sum()


@sample
def pairs_that_belong_together(batch, S, heads, H):
    def loss(a, b):
        e = (a @ b.mT / 0.1).exp()
        return -(e / e.sum(-1, keepdim=True)).diag().log() - (e / e.sum(0)).diag().log()

    given = torch.randn(S, H), torch.randn(S, H)
    return loss, given, {"a": "S H", "b": "S H"}


@sample
def ranks_of_tokens(batch, S, heads, H):
    def rank(x):
        near = (x @ x.mT).relu()
        step = near / near.sum(0)
        ranks = torch.ones(len(x), device=x.device) / len(x)
        for _ in range(2):
            ranks = step @ ranks
        return ranks

    return rank, (torch.randn(S, H),), "S H"


# Weights that are changed on purpose.


@many_heads
def heads_that_talk(q, k, v):
    w = (q @ k.mT).softmax(-1)
    mix = torch.ones(q.size(1), q.size(1), device=q.device)
    return torch.einsum("bhqk,hg->bgqk", w, mix) @ v


@one_head
def renormalised(q, k, v):
    w = (q @ k.mT).softmax(-1) * torch.ones(k.size(1), k.size(1), device=q.device).tril()
    w = w / w.sum(-1).unsqueeze(-1)
    return w @ v


@one_head
def the_largest_alone(q, k, v):
    top, places = (q @ k.mT).softmax(-1).topk(2, -1)
    top = top / top.sum(-1, keepdim=True)
    w = torch.zeros_like(q @ k.mT).scatter(-1, places, top)
    return w @ v


@one_head
def half_of_two(q, k, v):
    w = 0.5 * ((q @ k.mT).softmax(-1) + (k @ q.mT).softmax(-1))
    return w @ v


@one_head
def half_of_each(q, k, v):
    """Where H is 4, a half is one over its root."""
    w = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    return 0.5 * w @ v + 0.5 * v


@one_head
def a_quarter_of_each(q, k, v):
    w = (q @ k.mT).softmax(-1)
    return w / 2 @ v + w / 4 @ v.relu() + w * (1 / 4) @ v.tanh()


@many_heads
def a_mean_over_heads(q, k, v):
    w = (q @ k.mT).softmax(-1) / q.size(1)
    return torch.einsum("bhqk,bhkd->bqd", w, v)


@many_heads
def one_less_the_other(q, k, v):
    a, b = (q @ k.mT).softmax(-1), (k @ q.mT).softmax(-1)
    return (a - 0.8 * b) @ v


@one_head
def dropped_by_hand(q, k, v):
    w = (q @ k.mT).softmax(-1)
    w = w * (torch.rand_like(w) < 0.75) / 0.75
    return w @ v


@one_head
def scaled_before(q, k, v):
    scale = q.size(-1) ** -0.5
    return ((q * scale) @ k.mT).softmax(-1) @ v + (q @ k.mT * scale).softmax(-1) @ v


@one_head
def scaled_by_four_roots(q, k, v):
    root = q.size(-1) ** 0.25
    return ((q / root) @ (k / root).mT).softmax(-1) @ v


@many_heads
def features_that_are_shared_out(q, k, v):
    q, k = q.softmax(-1), k.softmax(-2)
    q = q * q.size(-1) ** -0.5
    return torch.einsum("bhqd,bhde->bhqe", q, torch.einsum("bhkd,bhke->bhde", k, v))


@one_head
def values_of_unit_spread(q, k, v):
    w = (q @ k.mT).softmax(-1) * math.sqrt(k.size(1))
    return w @ v


@one_head
def scaled_and_divided_again(q, k, v):
    w = (q @ k.mT).softmax(-1) / math.sqrt(q.size(-1))
    w = w / w.sum(-1, keepdim=True)
    return w @ v


@one_head
def a_gate_for_each_query(q, k, v):
    w = (q @ k.mT).softmax(-1) * q.sum(-1, keepdim=True).sigmoid()
    return w @ v


# Letters of their own that are meant.


@many_heads
def all_heads_at_once(q, k, v):
    w = torch.einsum("bhqd,bhkd->bhqk", q, k).softmax(-1)
    return torch.einsum("bhqk,bhkd->bqd", w, v)


@one_head
def three_operands(q, k, v):
    w = torch.einsum("bqd,bkd->bqk", q, k).softmax(-1)
    keep = torch.ones(k.shape[:2], device=k.device)
    return torch.einsum("bqk,bk,bkd->bqd", w, keep, v)


@one_head
def features_behind_in_front(q, k, v):
    w = torch.einsum("bqd,bkd->bqk", q, k).softmax(-1)
    return torch.einsum("bqk,bkd->bdq", w, v).mT


@one_head
def how_much_each_key_gets(q, k, v):
    w = (q @ k.mT).softmax(-1)
    got = torch.einsum("bqk,bq->bk", w, q.sum(-1).sigmoid())
    return got.unsqueeze(-1) * v


@one_head
def every_value_times_its_weight(q, k, v):
    w = (q @ k.mT).softmax(-1)
    return torch.einsum("bqk,bkd->bqkd", w, v).sum(2)


@one_head
def a_scale_that_is_learned(q, k, v):
    scale = torch.tensor(0.5, device=q.device)  # as large as one over the root of 4 features
    return ((q @ k.mT).softmax(-1) * scale) @ v


@one_head
def weights_of_weights(q, k, v):
    w = (q @ k.mT).softmax(-1)
    kept = (w + torch.eye(k.size(1), device=q.device)) / 2
    return kept @ w @ v


@one_head
def rows_and_columns_by_logarithms(q, k, v):
    scores = q @ k.mT
    for _ in range(3):
        scores = scores.log_softmax(-1).log_softmax(-2)
    return scores.exp() @ v


@one_head
def both_ways_by_logarithms(q, k, v):
    scores = q @ k.mT
    return (scores.log_softmax(-1) + scores.log_softmax(-2)).exp() @ v


@one_head
def gradients_by_hand(q, k, v):
    scale = q.size(-1) ** -0.5
    w = (q @ k.mT * scale).softmax(-1)
    grad = torch.ones_like(v)
    inner = grad @ v.mT
    scores = w * (inner - (inner * w).sum(-1, keepdim=True))
    return scores * scale @ k, (scores * scale).mT @ q, w.mT @ grad
