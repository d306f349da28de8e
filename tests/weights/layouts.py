"""The same weights in every layout that attnlib reads."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib import (
    MultiHeadAttention,
    SingleHeadAttention,
    from_fused,
    from_torch,
    stack,
    unstack,
)

N_EMBD, HEADS, H = 12, 3, 4
Weights = dict[str, Tensor]
Layer = Callable[..., Tensor]


def numbers(*shape: int, seed: int) -> Tensor:
    """Normal numbers that half precision holds exactly, so that one expected value serves all."""
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (drawn * 8).round().double() / 16


def weights_of(inner: int) -> Weights:
    """Query, key, value (inner, n_embd), out (n_embd, inner) and their biases; all differ."""
    names = ("query", "key", "value")
    found = {name: numbers(inner, N_EMBD, seed=seed) for seed, name in enumerate(names)}
    found |= {f"{name} bias": numbers(inner, seed=10 + seed) for seed, name in enumerate(names)}
    return found | {"out": numbers(N_EMBD, inner, seed=20), "out bias": numbers(N_EMBD, seed=21)}


def fused_of(weights: Weights, kind: str = "") -> Tensor:
    return torch.cat([weights[name + kind] for name in ("query", "key", "value")])


def torch_layer(weights: Weights) -> MultiHeadAttention:
    theirs = nn.MultiheadAttention(N_EMBD, HEADS, batch_first=True).to(weights["out"])
    with torch.no_grad():
        theirs.in_proj_weight.copy_(fused_of(weights))
        theirs.in_proj_bias.copy_(fused_of(weights, " bias"))
        theirs.out_proj.weight.copy_(weights["out"])
        theirs.out_proj.bias.copy_(weights["out bias"])
    return from_torch(theirs)


def fused_by_columns(weights: Weights) -> MultiHeadAttention:
    return from_fused(
        fused_of(weights).T.contiguous(),
        fused_of(weights, " bias"),
        n_heads=HEADS,
        layout="in,out",
        out_weight=weights["out"].T.contiguous(),
        out_bias=weights["out bias"],
    )


def fused_by_rows(weights: Weights) -> MultiHeadAttention:
    return from_fused(
        fused_of(weights),
        fused_of(weights, " bias"),
        n_heads=HEADS,
        layout="out,in",
        out_weight=weights["out"],
        out_bias=weights["out bias"],
    )


def fused_without_biases(weights: Weights) -> MultiHeadAttention:
    return from_fused(
        fused_of(weights).T, n_heads=HEADS, layout="in,out", out_weight=weights["out"].T
    )


def fused_alone(weights: Weights) -> MultiHeadAttention:
    return from_fused(fused_of(weights), n_heads=HEADS, layout="out,in")


def single_heads(weights: Weights) -> list[SingleHeadAttention]:
    """One head for each H rows, made without attnlib's own way of cutting."""
    heads = []
    for h in range(HEADS):
        head = SingleHeadAttention(N_EMBD, H, causal=False, bias=True).to(weights["out"])
        for name in ("query", "key", "value"):
            layer = getattr(head, name)
            layer.weight.data = weights[name][h * H : (h + 1) * H].clone()
            layer.bias.data = weights[f"{name} bias"][h * H : (h + 1) * H].clone()
        heads.append(head)
    return heads


def stacked(weights: Weights) -> MultiHeadAttention:
    return stack(single_heads(weights))


class SideBySide(nn.Module):
    """What `unstack` gives, run one after the other."""

    def __init__(self, heads: list[SingleHeadAttention]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    @property
    def causal(self) -> bool:
        return self.heads[0].causal

    @causal.setter
    def causal(self, causal: bool) -> None:
        for head in self.heads:
            head.causal = causal

    def forward(self, x: Tensor, context: Tensor, *, may_attend: Tensor | None) -> Tensor:
        masks = [may_attend] * HEADS
        if may_attend is not None and may_attend.ndim > 2:
            per_head = may_attend.shape[-3] == HEADS
            masks = [may_attend[..., h if per_head else 0, :, :] for h in range(HEADS)]
        parts = zip(self.heads, masks, strict=True)
        return torch.cat([head(x, context, may_attend=mask) for head, mask in parts], -1)


def unstacked(weights: Weights) -> SideBySide:
    layer = MultiHeadAttention(N_EMBD, HEADS, head_size=H).to(weights["out"])
    for name in ("query", "key", "value"):
        getattr(layer, name).weight.data = weights[name]
        getattr(layer, name).bias.data = weights[f"{name} bias"]
    layer.out = nn.Identity()
    return SideBySide(unstack(layer))


LAYOUTS: dict[str, tuple[Callable[[Weights], Layer], int, bool, bool]] = {
    # how to build it · H · biases · output projection
    "torch": (torch_layer, H, True, True),
    "in,out": (fused_by_columns, 5, True, True),
    "out,in": (fused_by_rows, 5, True, True),
    "in,out without biases": (fused_without_biases, H, False, True),
    "out,in alone": (fused_alone, 5, False, False),
    "stack": (stacked, H, True, False),
    "unstack": (unstacked, H, True, False),
}
