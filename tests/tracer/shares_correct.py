"""Correct programs that normalise over another axis than the last, or sum over another one: silent.

Competition for tokens, two softmaxes of one matrix, columns used as columns, gradients by hand.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn

SAMPLES: dict = {}


def sample(build):
    """Keep a program under its name; build(batch, S, heads, H) -> (code, inputs, dims)."""
    SAMPLES[build.__name__] = build
    return build


def maps(width, count=3):
    return [nn.Linear(width, width, bias=False) for _ in range(count)]


def x_of(batch, S, heads, H):
    return (torch.randn(batch, S, heads * H),)


@sample
def efficient_attention(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        q, k, v = wq(x).softmax(-1), wk(x).softmax(-2), wv(x)
        context = k.transpose(-2, -1) @ v
        return q @ context

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def feature_map_of_softmax(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        q, k, v = wq(x).softmax(-1), wk(x).softmax(-1), wv(x)
        state = k.mT @ v
        norm = q @ k.sum(-2, keepdim=True).mT
        return q @ state / norm

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def slot_attention(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(slots, x):
        q, k, v = wq(slots), wk(x), wv(x)
        attn = torch.einsum("bid,bjd->bij", q, k).softmax(dim=1) + 1e-8
        attn = attn / attn.sum(dim=-1, keepdim=True)
        return torch.einsum("bjd,bij->bid", v, attn)

    return (
        attend,
        (torch.randn(batch, 7, heads * H), *x_of(batch, S, heads, H)),
        {"slots": "batch slots n_embd", "x": "batch S n_embd"},
    )


@sample
def slot_attention_divided_by_its_sum(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(takers, x):
        q, k, v = wq(takers), wk(x), wv(x)
        attn = (q @ k.transpose(-2, -1)).softmax(1)
        attn = attn / attn.sum(2, keepdim=True)
        return attn @ v

    return (
        attend,
        (torch.randn(batch, 7, heads * H), *x_of(batch, S, heads, H)),
        {"takers": "batch takers n_embd", "x": "batch S n_embd"},
    )


@sample
def divided_after_the_product(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        attn = (wq(x) @ wk(x).mT).softmax(dim=1)
        taken = attn @ wv(x)
        return taken / (attn.sum(dim=-1)[..., None] + 1e-6)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def slots_that_only_gather(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(slots, x):
        attn = (wq(slots) @ wk(x).mT).softmax(dim=1)
        return attn @ wv(x)

    return (
        attend,
        (torch.randn(batch, 7, heads * H), *x_of(batch, S, heads, H)),
        {"slots": "batch n_slots n_embd", "x": "batch S n_embd"},
    )


@sample
def soft_mixture_of_experts(batch, S, heads, H):
    width = heads * H
    phi = nn.Parameter(torch.randn(width, 6))
    experts = nn.Linear(width, width)

    def mix(x):
        logits = x @ phi
        dispatch, combine = logits.softmax(dim=1), logits.softmax(dim=-1)
        slots = dispatch.transpose(1, 2) @ x
        return combine @ experts(slots)

    return mix, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def soft_mixture_by_letters(batch, S, heads, H):
    class Moe(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.slots = nn.Parameter(torch.randn(3, 2, width))

        def forward(self, x):
            logits = einsum(x, self.slots, "b n d, e s d -> b n e s")
            dispatch = logits.softmax(dim=1)
            combine = rearrange(logits, "b n e s -> b n (e s)").softmax(dim=-1)
            slots = einsum(x, dispatch, "b n d, b n e s -> b e s d")
            return einsum(
                rearrange(slots, "b e s d -> b (e s) d"), combine, "b s d, b n s -> b n d"
            )

    return Moe(heads * H), x_of(batch, S, heads, H), "batch S n_embd"


@sample
def dual_softmax(batch, S, heads, H):
    wa, wb, wv = maps(heads * H)

    def match(x, other):
        scores = wa(x) @ wb(other).mT
        both = scores.softmax(1) * scores.softmax(2)
        return both @ wv(other)

    return (
        match,
        (*x_of(batch, S, heads, H), torch.randn(batch, S + 2, heads * H)),
        {"x": "batch Sq n_embd", "other": "batch Sk n_embd"},
    )


@sample
def two_softmaxes_multiplied(batch, S, heads, H):
    wc, wq, _ = maps(heads * H)

    def flow(context, question):
        scores = wc(context) @ wq(question).transpose(1, 2)
        rows, columns = F.softmax(scores, dim=2), F.softmax(scores, dim=1)
        a = torch.bmm(rows, question)
        b = torch.bmm(torch.bmm(rows, columns.transpose(1, 2)), context)
        return torch.cat([context, a, context * a, context * b], dim=-1)

    return (
        flow,
        (*x_of(batch, S, heads, H), torch.randn(batch, S + 2, heads * H)),
        {"context": "batch n n_embd", "question": "batch m n_embd"},
    )


@sample
def columns_used_as_columns(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        scores = wk(x) @ wq(x).mT  # keys first
        weights = F.dropout(scores.softmax(dim=-2), 0.0)
        return weights.transpose(-2, -1) @ wv(x)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def values_on_the_left(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        q, k, v = wq(x).mT, wk(x).mT, wv(x).mT  # columns are tokens
        weights = (k.mT @ q / H**0.5).softmax(dim=1)
        return v @ weights

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def both_directions(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x, other):
        sim = torch.einsum("bid,bjd->bij", wq(x), wk(other))
        out = torch.einsum("bij,bjd->bid", sim.softmax(dim=-1), wv(other))
        back = torch.einsum("bij,bid->bjd", sim.softmax(dim=-2), wv(x))
        return out.sum() + back.sum()

    return (
        attend,
        (*x_of(batch, S, heads, H), torch.randn(batch, S + 2, heads * H)),
        {"x": "batch Sq n_embd", "other": "batch Sk n_embd"},
    )


@sample
def gradients_by_hand(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def backward(x, d_out):
        q, k, v = wq(x), wk(x), wv(x)
        p = (q @ k.mT / H**0.5).softmax(-1)
        d_v = p.mT @ d_out
        d_p = d_out @ v.mT
        d_s = p * (d_p - (d_p * p).sum(-1, keepdim=True))
        return d_s @ k + d_s.mT @ q + d_v

    given = torch.randn(batch, S, heads * H)
    return backward, (*x_of(batch, S, heads, H), given), {"x": "batch S n_embd"}


@sample
def how_much_each_token_is_looked_at(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        weights = (wq(x) @ wk(x).mT).softmax(-1)
        looked_at = weights.sum(dim=1)
        return weights @ wv(x) * looked_at[..., None]

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def attention_rolled_out(batch, S, heads, H):
    wq, wk, _ = maps(heads * H)

    def roll(x):
        first = (wq(x) @ wk(x).mT).softmax(-1)
        second = (wk(x) @ wq(x).mT).softmax(-1)
        return second @ first @ x

    return roll, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def keys_before_heads(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        q, k, v = (rearrange(w(x), "b s (h d) -> b s h d", h=heads) for w in (wq, wk, wv))
        scores = torch.einsum("bqhd,bkhd->bqkh", q, k)
        weights = scores.softmax(dim=2)
        return torch.einsum("bqkh,bkhd->bqhd", weights, v).flatten(2)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def talking_heads(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)
    before, after = torch.randn(heads, heads), torch.randn(heads, heads)

    def attend(x):
        q, k, v = (w(x).unflatten(-1, (heads, H)).transpose(1, 2) for w in (wq, wk, wv))
        scores = torch.einsum("bhqk,hg->bgqk", q @ k.mT, before)
        weights = torch.einsum("bhqk,hg->bgqk", scores.softmax(-1), after)
        return (weights @ v).transpose(1, 2).flatten(2)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def prototypes_of_classes(batch, S, heads, H):
    to_classes = nn.Linear(heads * H, 6)

    def pool(x):
        shares = to_classes(x).softmax(-1)
        return shares.mT @ x

    return pool, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def residuals_of_a_codebook(batch, S, heads, H):
    centers = nn.Parameter(torch.randn(6, heads * H))

    def pool(x):
        shares = (x @ centers.T).softmax(-1)
        return shares.mT @ x - shares.sum(1)[..., None] * centers

    return pool, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def keys_and_queries_in_one_softmax(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        weights = scores.flatten(1).softmax(dim=1).view_as(scores)
        return weights @ wv(x)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def channels_attend(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        q, k, v = wq(x).mT, wk(x).mT, wv(x).mT
        weights = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT).softmax(-1)
        return (weights @ v).mT

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def contrast_of_two_views(batch, S, heads, H):
    wa, wb, _ = maps(heads * H)

    def loss(x):
        a, b = wa(x).mean(1), wb(x).mean(1)
        logits = a @ b.mT
        one, other = logits.log_softmax(0), logits.log_softmax(1)
        return one.diagonal().mean() + other.diagonal().mean()

    return loss, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def softmax_by_hand(batch, S, heads, H):
    wq, wk, wv = maps(heads * H)

    def attend(x):
        scores = wq(x) @ wk(x).mT
        e = (scores - scores.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True) @ wv(x)

    return attend, x_of(batch, S, heads, H), "batch S n_embd"


@sample
def stored_patterns(batch, S, heads, H):
    def retrieve(patterns, state):
        weights = (2 * patterns @ state.mT).softmax(dim=-2)
        return patterns.mT @ weights

    return (
        retrieve,
        (torch.randn(batch, S, H), torch.randn(batch, S + 2, H)),
        {"patterns": "batch S H", "state": "batch m H"},
    )


@sample
def one_score_for_each_token(batch, S, heads, H):
    def pool(query, keys):
        scores = torch.tanh(query.unsqueeze(1) + keys).sum(-1, keepdim=True)
        return (scores.softmax(dim=1) * keys).sum(dim=1)

    inputs = (torch.randn(batch, H), torch.randn(batch, S, H))
    return pool, inputs, {"query": "batch H", "keys": "batch S H"}


@sample
def one_expert_of_one(batch, S, heads, H):
    gate, expert = nn.Linear(H, 1), nn.Linear(H, H)

    def mix(x):
        weights = gate(x).softmax(dim=-1)
        return (weights * expert(x)).sum(dim=-1) + weights.squeeze(-1)

    return mix, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def the_first_of_many_steps(batch, S, heads, H):
    def decode(q, k, v):
        weights = (q[:, -1:] @ k[:, :1].mT).softmax(dim=-1)
        return weights @ v[:, :1], (weights * v[:, :1]).sum(1)

    given = torch.randn(3, batch, S, H)
    return decode, tuple(given), dict.fromkeys("qkv", "batch S H")
