"""Every layout, under every mask and at every shape, gives what the loops give."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

from attnlib import load_qkv, oracle

from .layouts import HEADS, LAYOUTS, N_EMBD, numbers, weights_of

EXACT = {torch.float64: 1e-12, torch.float32: 1e-5}  # of the largest output
BITS_LOST = 2  # of half precision's own: the sums and the three roundings on the way
MASKS = ("none", "causal", "padding", "causal and padding", "any", "each head its own")
SHAPES = {  # leading axes, Sq, Sk
    "alone": ((), 5, 5),
    "S = H": ((2,), 4, 4),
    "one token": ((2,), 1, 1),
    "two batches": ((2, 3), 5, 5),
    "fewer queries": ((2,), 3, 7),
    "fewer keys": ((2,), 7, 5),
}


def mask_of(kind: str, lead: tuple[int, ...], Sq: int, Sk: int) -> Tensor | None:
    """The boolean part of a mask; the causal part is the layer's own."""
    generator = torch.Generator().manual_seed(7)
    if "padding" in kind:
        lengths = torch.arange(lead[-1] if lead else 1) % Sk + 1
        padding = (torch.arange(Sk) < lengths[:, None])[:, None, None]
        return padding.expand(*lead, 1, 1, Sk) if lead else padding[0, 0]
    if kind == "any":
        may_attend = torch.rand(Sq, Sk, generator=generator) > 0.4
        may_attend[0] = False  # the first query sees nothing
        return may_attend
    if kind == "each head its own" and lead:
        return torch.rand(*lead, HEADS, Sq, Sk, generator=generator) > 0.4
    return None


def full(mask: Tensor | None, causal: bool, lead: tuple[int, ...], Sq: int, Sk: int) -> Tensor:
    """The whole mask, (*lead, heads, Sq, Sk), from the loops' own causal one."""
    whole = torch.ones(*lead, HEADS, Sq, Sk, dtype=torch.bool)
    if causal:
        whole &= torch.tensor(oracle.causal_mask(Sq, Sk))
    return whole if mask is None else whole & mask


@cache
def expected(shape: str, kind: str, H: int, biased: bool, mixed: bool) -> Tensor:
    """What the loops give for these weights: one sequence and one head at a time."""
    lead, Sq, Sk = SHAPES[shape]
    weights = weights_of(HEADS * H)
    x, context = inputs(shape)
    masks = full(mask_of(kind, lead, Sq, Sk), "causal" in kind, lead, Sq, Sk)
    sequences = zip(
        x.reshape(-1, Sq, N_EMBD), context.reshape(-1, Sk, N_EMBD),
        masks.reshape(-1, HEADS, Sq, Sk), strict=True,
    )  # fmt: skip
    outputs = []
    for queries, others, mask in sequences:
        parts = []
        for name, source in (("query", queries), ("key", others), ("value", others)):
            bias = weights[f"{name} bias"].tolist() if biased else None
            rows = oracle.project(source.tolist(), weights[name].tolist(), bias)
            parts.append(oracle.split_heads(rows, HEADS))
        q, k, v = parts
        heads = [oracle.attention(q[h], k[h], v[h], mask[h].tolist()) for h in range(HEADS)]
        output = oracle.merge_heads(heads)
        if mixed:
            bias = weights["out bias"].tolist() if biased else None
            output = oracle.project(output, weights["out"].tolist(), bias)
        outputs.append(output)
    return torch.tensor(outputs, dtype=torch.float64).reshape(*lead, Sq, -1)


def inputs(shape: str) -> tuple[Tensor, Tensor]:
    lead, Sq, Sk = SHAPES[shape]
    x = numbers(*lead, Sq, N_EMBD, seed=30)
    return x, x if Sq == Sk else numbers(*lead, Sk, N_EMBD, seed=31)


def allowed(dtype: torch.dtype) -> float:
    return EXACT.get(dtype, 2**BITS_LOST * torch.finfo(dtype).eps)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_attends_as_the_loops_do(layout: str, kind: str, shape: str) -> None:
    build, width, biased, mixed = LAYOUTS[layout]
    lead, Sq, Sk = SHAPES[shape]
    truth = expected(shape, kind, width, biased, mixed)
    mask = mask_of(kind, lead, Sq, Sk)
    weights = weights_of(HEADS * width)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        layer = build({name: weight.to(dtype) for name, weight in weights.items()})
        layer.causal = "causal" in kind
        x, context = (tensor.to(dtype) for tensor in inputs(shape))
        for layer.fused in (True, False):
            output = layer(x, context, may_attend=mask)
            assert output.dtype == dtype
            apart = (output.double() - truth).abs().max()
            assert apart <= allowed(dtype) * truth.abs().max(), (dtype, layer.fused)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_a_state_dict_attends_as_the_loops_do(shape: str, causal: bool, biased: bool) -> None:
    _, Sq, Sk = SHAPES[shape]
    weights, state, parts = weights_of(5), {}, []
    x, context = inputs(shape)
    for name, source in (("query", x), ("key", context), ("value", context)):
        rows = source.reshape(-1, source.shape[-2], N_EMBD).tolist()
        bias = weights[f"{name} bias"] if biased else torch.zeros(5)
        parts.append([oracle.project(r, weights[name].tolist(), bias.tolist()) for r in rows])
        state[f"{name[0].upper()}.weight"] = weights[name]
        state |= {f"{name[0].upper()}.bias": bias} if biased else {}
    mask = oracle.causal_mask(Sq, Sk) if causal else None
    rows = [oracle.attention(*qkv, mask) for qkv in zip(*parts, strict=True)]
    truth = torch.tensor(rows, dtype=torch.float64).reshape(*x.shape[:-1], 5)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        head = load_qkv({name: part.to(dtype) for name, part in state.items()}, causal=causal)
        output = head(x.to(dtype), context.to(dtype))
        assert output.dtype == dtype
        apart = (output.double() - truth).abs().max()
        assert apart <= allowed(dtype) * truth.abs().max(), dtype
