"""Programs that raise: operands without a common axis, whole numbers, layouts, patterns, sums.

Each with parts of good fixes: one of them has to be in what is offered.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange
from einops.layers.torch import Rearrange, Reduce
from torch import nn

RAISING: dict = {}


def raises(program, inputs, dims, *fixes):
    """Keep a program with its inputs, their dims, and parts of good fixes."""
    name = type(program).__name__ if isinstance(program, nn.Module) else program.__name__
    RAISING[name] = (lambda: (program, inputs, dims), Exception, (), fixes)


r = torch.randn


def window(q, k):
    i = torch.arange(q.shape[1])
    j = torch.arange(k.shape[1])
    return i >= j  # raises


raises(
    window, (r(2, 5, 4), r(2, 7, 4)), {"q": "batch Sq H", "k": "batch Sk H"}, "i.unsqueeze(-1)>=j"
)


def rel(q, k):
    i = torch.arange(q.shape[1])
    j = torch.arange(k.shape[1])
    return j - i  # raises


raises(
    rel,
    (r(2, 5, 4), r(2, 7, 4)),
    {"q": "batch Sq H", "k": "batch Sk H"},
    "j-i.unsqueeze(-1)",
    "j.unsqueeze(-1)-i",
)


def angles(x, inv_freq):
    pos = torch.arange(x.shape[1])
    return pos * inv_freq  # raises


raises(angles, (r(2, 5, 8), r(4)), {"x": "batch S H"}, "pos.unsqueeze(-1)*inv_freq")


def angles2(x):
    B, T, C = x.shape
    pos = torch.arange(T)
    freq = 10000 ** (-torch.arange(0, C, 2) / C)
    return torch.sin(pos * freq)  # raises


raises(angles2, (r(2, 5, 8),), {"x": "batch S H"}, "pos.unsqueeze(-1)*freq")


def lens(lengths, T=6):
    keep = torch.arange(T) < lengths  # raises
    return keep


raises(lens, (torch.tensor([3, 4]),), "batch", "lengths.unsqueeze(-1)")


def lens2(x, lengths):
    pad = lengths <= torch.arange(x.size(1), device=x.device)  # raises
    return pad


raises(
    lens2,
    (
        r(2, 6, 4),
        torch.tensor([3, 4]),
    ),
    {"x": "batch S H", "lengths": "batch"},
    "lengths.unsqueeze(-1)",
)


def decay(scores, gamma):
    h, S, _ = scores.shape[1:]
    n = torch.arange(S)
    d = (n[:, None] - n).clamp(min=0)
    return scores * gamma**d  # raises


raises(
    decay,
    (r(2, 3, 5, 5), torch.rand(3)),
    {"scores": "batch heads S S", "gamma": "heads"},
    "gamma[:,None,None]**d",
)


def dist_slopes(scores, slopes):
    p = torch.arange(scores.shape[-1])
    bias = (p[None] - p[:, None]) * slopes  # raises
    return scores + bias


raises(
    dist_slopes,
    (r(2, 3, 5, 5), torch.rand(3)),
    {"scores": "batch heads S S", "slopes": "heads"},
    "slopes[:,None,None]",
)


def temps(scores, temperature):
    return scores / temperature  # raises


raises(
    temps,
    (r(2, 3, 5, 5), torch.rand(3)),
    {"scores": "batch heads S S", "temperature": "heads"},
    "temperature[:,None,None]",
)


def einshd(x, h=3):
    return rearrange(x, "b t h d -> b h t d", h=h)  # raises


raises(einshd, (r(2, 5, 12),), "batch S n_embd", "bt(hd)->bhtd")


def einsdh(x, d=4):
    return rearrange(x, "b t h d -> b h t d", d=d)  # raises


raises(einsdh, (r(2, 5, 12),), "batch S n_embd", "bt(hd)->bhtd")


def einspatch(img, p=4):
    return rearrange(img, "b c h p1 w p2 -> b (h w) (c p1 p2)", p1=p, p2=p)  # raises


raises(einspatch, (r(2, 3, 8, 8),), "batch C height width", "bc(hp1)(wp2)->b(hw)(cp1p2)")


def einsqkv(x):
    q, k, v = rearrange(x, "b n three h d -> three b h n d", three=3, h=2)  # raises
    return q @ k.mT @ v


raises(einsqkv, (r(2, 5, 24),), "batch S n_qkv", "bn(threehd)->threebhnd")


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.split = Rearrange("b n h d -> b h n d", h=3)

    def forward(self, x):
        return self.split(x)  # raises


raises(Split(), (r(2, 5, 12),), "batch S n_embd", 'Rearrange("b n (h d) -> b h n d",h=3)(x)')


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = Reduce("b n d -> b d", "mean")

    def forward(self, x):
        return self.pool(x)  # raises


raises(Pool(), (r(2, 3, 5, 12),), "batch heads S H", "Reduce(\"b h n d -> b h d\",'mean')(x)")


def dotted2(q, k):
    return torch.einsum("...qd,...dk->...qk", q, k)  # raises


raises(
    dotted2,
    (r(2, 3, 5, 4), r(2, 3, 7, 4)),
    {"q": "batch heads S H", "k": "batch heads T H"},
    "...qd,...kd->...qk",
)


def already(x, h=3):
    return rearrange(x, "b n (h d) -> b h n d", h=h)  # raises


raises(already, (r(2, 5, 3, 4),), "batch S heads H", "bnhd->bhnd")


def onehot_einsum(ids, table):
    oh = F.one_hot(ids, 9)
    return torch.einsum("bsv,vd->bsd", oh, table)  # raises


raises(
    onehot_einsum,
    (torch.arange(10).view(2, 5) % 9, r(9, 8)),
    {"ids": "batch S", "table": "vocab n_embd"},
    "oh.float()",
)


def maskmul(keep, v):
    return keep @ v  # raises


raises(
    maskmul,
    (torch.ones(5, 5).tril().bool(), r(2, 5, 4)),
    {"keep": "S S", "v": "batch S H"},
    "keep.float()@v",
    "keep.to(torch.float32)@v",
)


class HalfW(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(r(4, 6))

    def forward(self, x):
        return x @ self.w  # raises


raises(HalfW(), (r(2, 5, 4).double(),), "batch S n_embd", "x.to(torch.float32)@self.w")


class IntW(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(r(4, 6))

    def forward(self, counts):
        return torch.matmul(counts, self.w)  # raises


raises(IntW(), (torch.ones(2, 5, 4).long(),), "batch S n_feat", "counts.float()")


def bmmint(w, v):
    return torch.bmm(w, v)  # raises


raises(
    bmmint,
    (r(2, 5, 5), torch.ones(2, 5, 4).int()),
    {"w": "batch S S", "v": "batch S H"},
    "v.float()",
)


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = x.transpose(0, 1)
        out, _ = self.attn(y, y, y)
        return self.norm(x + out)  # raises


raises(Enc(), (r(2, 5, 8),), "batch S n_embd", "x+out.transpose(0,1)")


class EncI(Enc):
    def forward(self, x):
        y = x.transpose(0, 1)
        out, _ = self.attn(y, y, y)
        x += out  # raises
        return x


raises(EncI(), (r(2, 5, 8),), "batch S n_embd", "out.transpose(0,1)")


def chan(x, conv):
    out = F.conv1d(x.transpose(1, 2), conv, padding=1)
    return x + out  # raises


raises(
    chan,
    (r(2, 5, 8), r(8, 8, 3)),
    {"x": "batch S n_embd", "conv": "n_embd n_embd k"},
    "x+out.transpose(-2,-1)",
    "x+out.mT",
    "x+out.transpose(1,2)",
)


def heads_res(x):
    B, T, C = x.shape
    h = x.view(B, T, 4, 2)
    y = h.transpose(1, 2)
    return h + y  # raises


raises(heads_res, (r(2, 5, 8),), "batch S n_embd", "h+y.transpose(1,2)")


def td(x, w):
    return torch.tensordot(x, w, dims=([2], [0]))  # raises


raises(
    td,
    (r(2, 5, 8), r(3, 8, 4)),
    {"x": "batch S n_embd", "w": "heads n_embd H"},
    "([2],[1])",
    "[[2],[1]]",
)


def td1(x, w):
    return torch.tensordot(x, w, 1)  # raises


raises(
    td1,
    (r(2, 5, 8), r(4, 8)),
    {"x": "batch S n_embd", "w": "d_out n_embd"},
    "([2],[1])",
    "w.T,1",
    "w.mT,1",
)


def td3(y, w):
    return torch.tensordot(y, w, dims=2)  # raises


raises(
    td3,
    (r(2, 5, 3, 4), r(4, 3, 8)),
    {"y": "batch S heads H", "w": "H heads n_embd"},
    "([2,3],[1,0])",
    "w.transpose(0,1)",
)


def scale_head(y, g):
    return y * g  # raises


raises(
    scale_head, (r(2, 5, 3, 4), r(3)), {"y": "batch S heads H", "g": "heads"}, "y*g.unsqueeze(-1)"
)


def per_sample(x, w):
    return x * w  # raises


raises(per_sample, (r(2, 5, 8), r(2)), {"x": "batch S n_embd", "w": "batch"}, "w[:,None,None]")


def seg(ids, doc_ids):
    same = ids == doc_ids  # raises
    return same


raises(
    seg,
    (torch.arange(5), torch.arange(7)),
    {"ids": "n_q", "doc_ids": "n_k"},
    "ids.unsqueeze(-1)==doc_ids",
)
