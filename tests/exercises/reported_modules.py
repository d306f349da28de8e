"""Mistakes as people reported them, as whole modules: number -> what, the law that must break.

None: the module was reported although it is right, and no law may break.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

E, HEADS = 12, 3


class Base(nn.Module):
    """Four layers and the usual steps; a subclass changes one of them."""

    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.n_embd, self.n_heads, self.causal = E, HEADS, True
        self.q, self.k, self.v, self.out = (nn.Linear(E, E, bias=bias) for _ in range(4))

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def may(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        s = q @ k.mT / q.shape[-1] ** 0.5
        s = s.masked_fill(~self.may(x), -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Swallowed(Base):
    """A mask of 0 and -inf taken for one of 0 and 1: all that is allowed is drowned alike."""

    def forward(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        additive = torch.zeros_like(self.may(x), dtype=x.dtype).masked_fill(
            ~self.may(x), -torch.inf
        )
        s = q @ k.mT / q.shape[-1] ** 0.5 + (1 - additive) * -1e9
        return self.out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))


class ShortBuffer(Base):
    """A buffer of length 1, cut to the length and broadcast over it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("tril", torch.ones(1, 1, dtype=torch.bool).tril())

    def may(self, x):
        S = x.shape[1]
        return self.tril[:S, :S]


class PlainAttribute(Base):
    """The mask as an attribute: it stays where it was made."""

    def __init__(self):
        super().__init__()
        self.mask = torch.ones(16, 16, dtype=torch.bool).tril()

    def may(self, x):
        return self.mask[: x.shape[1], : x.shape[1]]


class OutputDropout(Base):
    """Dropout on the output and not on the weights: another choice, not a mistake."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(super().forward(x))


class HardCoded(Base):
    """The number of heads that was asked for is kept and never used."""

    def heads(self, x):
        return x.unflatten(-1, (4, -1)).transpose(1, 2)


class TimeFirst(nn.Module):
    """PyTorch's encoder layer as it is by default, given the batch first."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(E, HEADS, dropout=0.0)

    def forward(self, x):
        return self.layer(x)


class ListedHeads(nn.Module):
    """Heads in a Python list."""

    def __init__(self):
        super().__init__()
        self.n_embd = E
        self.parts = [nn.Linear(E, 4) for _ in range(HEADS)]
        self.proj = nn.Linear(E, E)

    def forward(self, x):
        rows = [F.scaled_dot_product_attention(*(part(x),) * 3) for part in self.parts]
        return self.proj(torch.cat(rows, -1))


class Doubled(nn.Module):
    """Projected by layers of its own, and once more inside of PyTorch's: wasteful, not wrong."""

    def __init__(self):
        super().__init__()
        self.own = nn.ModuleList(nn.Linear(E, E, bias=False) for _ in range(3))
        self.mha = nn.MultiheadAttention(E, HEADS, batch_first=True)

    def forward(self, x):
        return self.mha(*(layer(x) for layer in self.own), need_weights=False)[0]


class OnlyWithAMask(Base):
    """The causal flag is looked at only where another mask is given."""

    def forward(self, x, mask=None):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask & self.may(x)), -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Unused(nn.Module):
    """The result of the attention under a name that nobody reads."""

    def __init__(self):
        super().__init__()
        self.n_embd = E
        self.mha = nn.MultiheadAttention(E, HEADS, batch_first=True)
        self.ff = nn.Linear(E, E)

    def forward(self, x):
        attended, _ = self.mha(x, x, x)
        return self.ff(x) + x


MODULES: dict[int, tuple[str, str | None, Callable[[], nn.Module]]] = {
    59: ("a mask of 0 and minus infinity taken for one of 0 and 1", "parity", Swallowed),
    94: ("a mask buffer of length 1, which broadcasts", "causality", ShortBuffer),
    109: ("the mask as a plain attribute", "device", PlainAttribute),
    119: ("dropout on the output: another choice", None, OutputDropout),
    121: ("projections with a bias: right", None, Base),
    122: ("no gradient for the bias of the keys: right", None, Base),
    128: ("the number of heads hard-coded", "parity", HardCoded),
    131: ("PyTorch's encoder layer without batch_first", "batch", TimeFirst),
    160: ("heads in a Python list", "gradients", ListedHeads),
    194: ("projected twice: wasteful, not wrong", None, Doubled),
    197: ("a causal flag that only counts beside another mask", "causality", OnlyWithAMask),
    200: ("the result of the attention never used", "gradients", Unused),
}
