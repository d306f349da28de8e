"""Chapter 8: padding, a cache, and fewer keys than queries."""

from __future__ import annotations

import random

import torch

from .. import oracle
from . import faults
from .form import Exercise, Inputs


def spec_padding(lengths, S):
    """Return `mask[b][0][0][j] = (j < lengths[b])`."""
    return [[[[j < length for j in range(S)]]] for length in lengths]


def padding_mask(lengths, S):
    """lengths int (batch), S a number -> bool (batch, 1, 1, S), True = a real token."""
    positions = torch.arange(S, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]


def spec_cached(q, k_cache, v_cache):
    """Return each head's attention; query i stands at key Sk - Sq + i and sees no later one."""
    return [
        [
            oracle.attention(*parts, oracle.causal_mask(len(parts[0]), len(parts[1])))
            for parts in zip(*sequence, strict=True)
        ]
        for sequence in zip(q, k_cache, v_cache, strict=True)
    ]


def cached_step(q, k_cache, v_cache):
    """q (batch, heads, Sq, H), k_cache and v_cache (batch, heads, Sk, H) -> like q, causal."""
    Sq, Sk = q.shape[-2], k_cache.shape[-2]
    scores = q @ k_cache.transpose(-2, -1) / q.shape[-1] ** 0.5
    may_attend = torch.ones(Sq, Sk, dtype=torch.bool, device=q.device).tril(Sk - Sq)
    return scores.masked_fill(~may_attend, float("-inf")).softmax(-1) @ v_cache


def spec_grouped(q, k, v):
    """Return each query head's attention to the key and value head of its group."""
    return [
        [
            oracle.attention(
                head, keys[h * len(keys) // len(heads)], values[h * len(keys) // len(heads)]
            )
            for h, head in enumerate(heads)
        ]
        for heads, keys, values in zip(q, k, v, strict=True)
    ]


def grouped_query(q, k, v):
    """q (batch, heads, S, H), k and v (batch, kv_heads, S, H) -> like q, scaled, no mask."""
    each = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


def _longest_anywhere(inputs: Inputs, chance: random.Random) -> None:
    """Let any sequence be the longest, with or without padding of its own."""
    lengths = inputs["lengths"]
    lengths[0] -= chance.randrange(2)
    inputs["lengths"] = lengths.roll(chance.randrange(len(lengths)))


COMMON = frozenset({"writes-into-argument", "batch-mixed", "fixed-device"})


def _cache_slots() -> tuple[faults.Slot, ...]:
    return (
        faults.given("k_cache", "v_cache"), faults.meet(4),
        faults.scale("Sk", "Sq", "heads", "batch"),
        faults.hide_future(aligned=True), faults.weigh(4), faults.mix("k", "q"),
    )  # fmt: skip


EXERCISES = (
    Exercise(
        id="padding-mask",
        chapter=8,
        statement="From the lengths of padded sequences make the mask of the real keys, on the "
        "device of the lengths.",
        allowed="Anything but attnlib.",
        dims={"lengths": "lengths batch", "S": "size S"},
        returns="bool batch 1 1 S",
        spec=spec_padding,
        solution=padding_mask,
        hints=(
            "Compare each position with each length: (1, S) against (batch, 1).",
            "Scores are (batch, heads, Sq, Sk): the mask stands on the keys, the last dim.",
        ),
        notice="On the query axis it would block rows; by hand a blocked row is NaN.",
        slots=(faults.padding(), faults.narrowed_too("r")),
        dress=_longest_anywhere,
        extras=frozenset({"fixed-device", "writes-into-argument", "one-length-for-all"}),
    ),
    Exercise(
        id="cached-step",
        chapter=8,
        statement="Attend from the newest Sq tokens to a cache that holds them. A mask belongs "
        "on the device of q.",
        allowed="Anything but attnlib.",
        dims={
            "q": "batch heads Sq H", "k_cache": "batch heads Sk H", "v_cache": "batch heads Sk H",
        },
        returns="batch heads Sq H",
        spec=spec_cached,
        solution=cached_step,
        hints=(
            "Which key is the last query's own? The last one.",
            "is_causal of F.scaled_dot_product_attention aligns the first query with key 0.",
        ),
        notice="With one new token there is nothing to hide at all.",
        slots=_cache_slots(),
        extras=COMMON | {"nan-row", "zero-times-infinity"},
    ),
    Exercise(
        id="grouped-query",
        chapter=8,
        statement="Let several query heads share one key and value head, group after group.",
        allowed="Anything but attnlib.",
        dims={
            "q": "batch heads S H", "k": "batch kv_heads S H", "v": "batch kv_heads S H",
        },
        returns="batch heads S H",
        spec=spec_grouped,
        solution=grouped_query,
        hints=(
            "Heads 0 to heads / kv_heads - 1 are the first group.",
            "repeat gives 0 1 0 1, repeat_interleave gives 0 0 1 1.",
        ),
        notice="Tiled heads have the right shape and another partner.",
        slots=(
            faults.expand_groups(), faults.meet(4), faults.scale("S", "heads", "kv_heads", "batch"),
            faults.masked_too("scores"), faults.weigh(4), faults.masked_too("weights", 0.0),
            faults.mix("k", "q"),
        ),
        extras=COMMON | {"zero-times-infinity"},
    ),
)  # fmt: skip
