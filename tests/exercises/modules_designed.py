"""Attention that is right and differs from the book's on purpose: windows, positions, sharing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Window(nn.Module):
    """Every token sees itself and those before it, as far as the window reaches."""

    def __init__(self, window=2, d_model=12, num_heads=3):
        super().__init__()
        self.d_model, self.num_heads, self.window = d_model, num_heads, window
        self.qkv, self.proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def may(self, back):
        return (back >= 0) & (back < self.window)

    def scale(self, q):
        return q.shape[-1] ** -0.5

    def forward(self, x):
        place = torch.arange(x.shape[1], device=x.device)
        parts = (t.unflatten(-1, (self.num_heads, -1)) for t in self.qkv(x).chunk(3, -1))
        q, k, v = (t.transpose(1, 2) for t in parts)
        may = self.may(place[:, None] - place)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=may, scale=self.scale(q))
        return self.proj(y.transpose(1, 2).flatten(2))


class Around(Window):
    """The window reaches to both sides."""

    def may(self, back):
        return back.abs() < self.window


class Blocks(Window):
    """Tokens see what comes before them in their own block of two."""

    def may(self, back):
        place = torch.arange(len(back), device=back.device)
        return (back >= 0) & (place[:, None] // 2 == place // 2)


class Prefix(Window):
    """Two tokens that are known from the start see one another; what follows is causal."""

    def may(self, back):
        key = torch.arange(len(back), device=back.device)
        return (back >= 0) | (key < 2)


class UnscaledWindow(Window):
    """Wrong: the scale is missing."""

    def scale(self, q):
        return 1.0


class WithoutItself(Window):
    """Wrong: the mask is off by one; the first token, which sees none, sees itself."""

    def may(self, back):
        return (back > 0) | (back.cumsum(0) == 0)


class Onwards(Window):
    """Wrong: the mask is upside down."""

    def may(self, back):
        return back <= 0


def rotated(t):
    half = t.shape[-1] // 2
    freqs = 100.0 ** (-torch.arange(half, device=t.device) / half)
    angles = torch.arange(t.shape[-2], device=t.device)[:, None] * freqs
    a, b = t.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Rotary(nn.Module):
    """Grouped heads whose queries and keys are turned by a function: nothing of it is kept."""

    causal = True

    def __init__(self, d_model=16, n_q=4, n_kv=2):
        super().__init__()
        self.d_model, self.n_q, self.n_kv, self.width = d_model, n_q, n_kv, d_model // n_q
        self.q_proj, self.o_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.k_proj, self.v_proj = (nn.Linear(d_model, n_kv * self.width) for _ in range(2))

    turned = staticmethod(rotated)

    def heads(self, t):
        return t.unflatten(-1, (-1, self.width)).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.heads(part(x)) for part in (self.q_proj, self.k_proj, self.v_proj))
        k, v = (t.repeat_interleave(self.n_q // self.n_kv, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=self.causal)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Encoder(Rotary):
    """The same without a mask."""

    causal = False


class Grouped(Rotary):
    """Grouped heads, and no positions."""

    @staticmethod
    def turned(t):
        return t


class WithoutOut(nn.Module):
    """Heads without a projection behind them; their number has a name of its own."""

    def __init__(self, d_model=12, parts=3):
        super().__init__()
        self.d_model, self.parts = d_model, parts
        self.query, self.key, self.value = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x):
        q, k, v = (
            part(x).unflatten(-1, (self.parts, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class FusedGrouped(nn.Module):
    """One layer for queries, keys and values, of which there are fewer."""

    def __init__(self, d_model=16, n_heads=4, n_kv=2):
        super().__init__()
        self.d_model, self.n_heads, self.n_kv = d_model, n_heads, n_kv
        self.qkv = nn.Linear(d_model, (n_heads + 2 * n_kv) * d_model // n_heads)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        heads = self.qkv(x).unflatten(-1, (self.n_heads + 2 * self.n_kv, -1)).transpose(1, 2)
        q, k, v = heads.split((self.n_heads, self.n_kv, self.n_kv), 1)
        k, v = (t.repeat_interleave(self.n_heads // self.n_kv, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class Cross(nn.Module):
    """Queries from one sequence, keys and values from another."""

    def __init__(self, d_model=12, d_context=12, n_heads=3):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.to_q, self.to_out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.to_k, self.to_v = (nn.Linear(d_context, d_model) for _ in range(2))

    def forward(self, x, context):
        q, k, v = (
            t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for t in (self.to_q(x), self.to_k(context), self.to_v(context))
        )
        return self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class AlwaysDropped(Window):
    """Wrong: a dropout that eval does not switch off."""

    def forward(self, x):
        return F.dropout(super().forward(x), 0.3)


class RotaryMadeElsewhere(Rotary):
    """Right numbers, but for the angles a tensor is made without a device."""

    @staticmethod
    def turned(t):
        return rotated(t) * torch.ones(t.shape[-1])


class RotaryWithoutGradient(Rotary):
    """Right numbers, but no gradient reaches the keys."""

    def heads(self, t):
        return super().heads(t.detach() if t.shape[-1] < self.d_model else t)


class HeadByHead(nn.Module):
    """One layer whose rows are query, key and value of the first head, then of the next."""

    def __init__(self, d_model=12, n_heads=3, bias=True):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.qkv, self.proj = nn.Linear(d_model, 3 * d_model, bias), nn.Linear(d_model, d_model)

    def turned(self, t):
        return t

    def scale(self, q):
        return q.shape[-1] ** -0.5

    def forward(self, x):
        heads = self.qkv(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        q, k, v = heads.chunk(3, -1)
        y = F.scaled_dot_product_attention(
            self.turned(q), self.turned(k), v, is_causal=True, scale=self.scale(q)
        )
        return self.proj(y.transpose(1, 2).flatten(2))


class UntoldHeadByHead(HeadByHead):
    """The number of heads has a name of its own."""

    def __init__(self):
        super().__init__()
        self.parts = self.n_heads
        del self.n_heads

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (self.parts, -1)).transpose(1, 2).chunk(3, -1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class UnscaledHeadByHead(HeadByHead):
    """Wrong: the scale is missing."""

    def scale(self, q):
        return 1.0


class ExchangedHeadByHead(HeadByHead):
    """Wrong: the heads are not brought back behind the tokens before they are joined."""

    def forward(self, x):
        heads = self.qkv(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        q, k, v = heads.chunk(3, -1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.reshape(x.shape))


class InterleavedFused(HeadByHead):
    """Another layout: query, key and value of each number after each other."""

    def forward(self, x):
        t = self.qkv(x).unflatten(-1, (self.n_heads, -1, 3)).transpose(1, 2)
        y = F.scaled_dot_product_attention(*t.unbind(-1), is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))
