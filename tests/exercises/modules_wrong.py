"""Attention modules as others write them, each with one planted fault."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Fused(nn.Module):
    """One fused layer, heads, a causal buffer: the style of many small language models."""

    def __init__(self, n_embd=12, n_head=3, longest=16):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.n_head, self.n_embd = n_head, n_embd
        self.register_buffer("bias", torch.tril(torch.ones(longest, longest)))

    def split(self, t):
        B, T, C = t.shape
        return t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def scale(self, q, x):
        return 1 / math.sqrt(q.size(-1))

    def weights(self, scores, T):
        return F.softmax(scores.masked_fill(self.bias[:T, :T] == 0, float("-inf")), -1)

    def merge(self, y, x):
        return y.transpose(1, 2).contiguous().view(x.shape)

    def forward(self, x):
        q, k, v = (self.split(t) for t in self.c_attn(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) * self.scale(q, x)
        return self.c_proj(self.merge(self.weights(scores, x.size(1)) @ v, x))


class SplitByView(Fused):
    def split(self, t):
        B, T, C = t.shape
        return t.reshape(B, self.n_head, T, C // self.n_head)


class MergeByView(Fused):
    def merge(self, y, x):
        return y.reshape(x.shape)


class ScaleOfWidth(Fused):
    def scale(self, q, x):
        return x.size(-1) ** -0.5


class OffByOne(Fused):
    def weights(self, scores, T):
        return F.softmax(scores.masked_fill(self.bias.T[:T, :T] == 1, -1e9), -1)


class FutureLeaks(Fused):
    def weights(self, scores, T):
        hidden = torch.ones(T, T, device=scores.device).triu(2) == 1
        return F.softmax(scores.masked_fill(hidden, -1e9), -1)


class MaskAfter(Fused):
    def weights(self, scores, T):
        return F.softmax(scores, -1) * self.bias[:T, :T]


class DropoutInForward(Fused):
    def weights(self, scores, T):
        return nn.Dropout(0.3)(super().weights(scores, T))


class MaskOnCpu(Fused):
    def weights(self, scores, T):
        return F.softmax(scores.masked_fill(torch.ones(T, T).triu(1) == 1, -1e9), -1)


class PlainMask(Fused):
    def __init__(self):
        super().__init__()
        self.mask = torch.tril(torch.ones(16, 16))

    def weights(self, scores, T):
        return F.softmax(scores.masked_fill(self.mask[:T, :T] == 0, float("-inf")), -1)


class Separate(nn.Module):
    """Separate layers with biases, no mask: the style of encoders."""

    def __init__(self, d_model=12, num_heads=2):
        super().__init__()
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.d_model, self.num_heads = d_model, num_heads

    def heads(self, t):
        return t.view(*t.shape[:2], self.num_heads, -1).transpose(1, 2)

    def project(self, x):
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)

    def forward(self, x):
        q, k, v = (self.heads(t) for t in self.project(x))
        w = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), self.dim)
        return self.out_proj((w @ v).transpose(1, 2).flatten(2))

    dim = -1


class OverQueries(Separate):
    dim = -2


class OverBatch(Separate):
    dim = 0


class ValuesFromKeys(Separate):
    def project(self, x):
        return self.q_proj(x), self.k_proj(x), self.k_proj(x)


class NoOut(Separate):
    def forward(self, x):
        q, k, v = (self.heads(t) for t in self.project(x))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class WritesIntoInput(Separate):
    def project(self, x):
        x -= x.mean(-1, keepdim=True)
        return super().project(x)


class BatchSecond(nn.Module):
    """nn.MultiheadAttention given batch first without being told."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(12, 3)

    def forward(self, x):
        return self.attn(x, x, x)[0]


class ListOfHeads(nn.Module):
    """Heads in a plain list: none of their weights is registered."""

    def __init__(self, n_embd=12, n_heads=3):
        super().__init__()
        self.n_embd = n_embd
        self.heads = [nn.MultiheadAttention(n_embd, 1, batch_first=True) for _ in range(n_heads)]
        self.out = nn.Linear(n_heads * n_embd, n_embd)

    def forward(self, x):
        return self.out(torch.cat([head(x, x, x)[0] for head in self.heads], -1))


class NanFirstRow(Fused):
    def weights(self, scores, T):
        return F.softmax(scores.masked_fill(self.bias[:T, :T].tril(-1) == 0, float("-inf")), -1)


# module, the laws of which at least these are broken, what the parity law must name
WRONG = [
    (SplitByView, {"parity", "causality"}, "split-by-view"),
    (MergeByView, {"parity", "causality"}, "merge-by-view"),
    (ScaleOfWidth, {"parity"}, "scale-n-embd"),
    (OffByOne, {"parity"}, "mask-off-by-one"),
    (FutureLeaks, {"parity", "causality"}, "mask-off-by-one"),
    (MaskAfter, {"parity", "permutation"}, "mask-after-softmax"),
    (DropoutInForward, {"determinism"}, ""),
    (MaskOnCpu, {"device"}, ""),
    (PlainMask, {"device"}, ""),
    (OverQueries, {"parity"}, ""),
    (OverBatch, {"parity", "batch"}, ""),
    (ValuesFromKeys, {"parity", "gradients"}, ""),
    (NoOut, {"parity", "gradients"}, ""),
    (WritesIntoInput, {"argument"}, ""),
    (BatchSecond, {"parity", "batch"}, ""),
    (ListOfHeads, {"gradients"}, ""),
    (NanFirstRow, {"finite"}, ""),
]
