"""Correct attention modules in the styles of others."""

from __future__ import annotations

import math

import einops
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import MultiHeadAttention, SelfAttention, SingleHeadAttention
from tests.exercises.modules_wrong import Fused, Separate


class TorchInside(nn.Module):
    """nn.MultiheadAttention in a wrapper, with a padding mask."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(12, 3, batch_first=True, dropout=0.1)

    def forward(self, x, key_padding_mask=None):
        return self.attn(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]


class CausalTorch(nn.Module):
    """nn.MultiheadAttention, causal, in a block with a norm and a residual."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.attn = nn.MultiheadAttention(12, 2, batch_first=True)

    def forward(self, x):
        y, S = self.norm(x), x.size(1)
        mask = torch.ones(S, S, dtype=torch.bool, device=x.device).triu(1)
        return x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]


class Head(nn.Module):
    """One head, the mask kept as a buffer."""

    def __init__(self, d_in=12, head_size=5):
        super().__init__()
        self.d_in = d_in
        self.key = nn.Linear(d_in, head_size, bias=False)
        self.query = nn.Linear(d_in, head_size, bias=False)
        self.value = nn.Linear(d_in, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(16, 16)))

    def forward(self, x):
        S = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        w = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        w = w.masked_fill(self.tril[:S, :S] == 0, float("-inf"))
        return F.softmax(w, dim=-1) @ v


class ManyHeads(nn.Module):
    """Heads in a ModuleList, concatenated and projected."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([Head(12, 4) for _ in range(3)])
        self.proj = nn.Linear(12, 12)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class Einops(nn.Module):
    """Named axes, one fused layer, no mask, dropout on the weights while training."""

    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = einops.rearrange(
            self.to_qkv(x), "b n (three h d) -> three b h n d", three=3, h=self.heads
        )
        dots = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
        out = torch.einsum("bhij,bhjd->bhid", self.drop(dots.softmax(-1)), v)
        return self.to_out(einops.rearrange(out, "b h n d -> b n (h d)"))


class Sdpa(Fused):
    """The kernel of torch, causal."""

    def forward(self, x):
        q, k, v = (self.split(t) for t in self.c_attn(x).chunk(3, -1))
        return self.c_proj(self.merge(F.scaled_dot_product_attention(q, k, v, is_causal=True), x))


RIGHT = {
    "fused": Fused,
    "separate": Separate,
    "kernel": Sdpa,
    "wrapped": TorchInside,
    "block": CausalTorch,
    "one-head": Head,
    "list": ManyHeads,
    "einops": Einops,
    "torch": lambda: nn.MultiheadAttention(12, 3, batch_first=True),
    "torch-batch-second": lambda: nn.MultiheadAttention(12, 3),
    "ours": lambda: MultiHeadAttention(12, 3, causal=True),
    "ours-open": lambda: MultiHeadAttention(12, 3, fused=False, dropout=0.2),
    "ours-self": lambda: SelfAttention(12, 5),
    "ours-single": lambda: SingleHeadAttention(12, 5, block_size=5),
}
