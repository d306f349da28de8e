"""Programs that raise: torch's own layers over sequences.

Each with what an explanation has to say, and parts of good fixes: one of them has to be in it.
"""

from __future__ import annotations

import torch
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
R = RuntimeError
r = torch.randn
ones = torch.ones


class A(nn.Module):
    def __init__(self, n_embd, n_heads, bf=True):
        super().__init__()
        self.attn = nn.MultiheadAttention(n_embd, n_heads, batch_first=bf)


class Cross(A):
    def forward(self, x, mem):
        return self.attn(x, mem, mem)[0]


class Self(A):
    def forward(self, x):
        return self.attn(x, x, x)[0]


class Pad(A):
    def forward(self, x, pad):
        y, w = self.attn(x, x, x, key_padding_mask=pad)
        return y


class Mask(A):
    def forward(self, x, mask):
        out, _ = self.attn(x, x, x, attn_mask=mask, need_weights=False)
        return out


class CrossPad(A):
    def forward(self, x, mem, pad):
        out, _ = self.attn(x, mem, mem, key_padding_mask=pad)
        return out


@raises(R, suggestion=("x.transpose(0,1)",))
def cross_not_batch_first():
    return (
        Cross(8, 2, False),
        (r(2, 5, 8), r(2, 7, 8)),
        {"x": "batch tgt n_embd", "mem": "batch src n_embd"},
    )


@raises(R, suggestion=("mem.transpose(0,1)", "mem.permute(1,0,2)"))
def cross_mem_seq_first():
    return (
        Cross(8, 2, True),
        (r(2, 5, 8), r(7, 2, 8)),
        {"x": "batch tgt n_embd", "mem": "src batch n_embd"},
    )


@raises(AssertionError, suggestion=("x.transpose(1,2)", "x.transpose(-2,-1)", "x.permute(0,2,1)"))
def self_channels_first():
    return Self(8, 2), (r(2, 8, 5),), "batch n_embd S"


@raises(AssertionError)
def self_other_width():
    return Self(8, 2), (r(2, 5, 6),), "batch S dim"


@raises(AssertionError, suggestion=("pad.transpose(0,1)", "pad.T", "pad.t()", "pad.mT"))
def pad_transposed():
    return (
        Pad(8, 2),
        (r(2, 5, 8), torch.zeros(5, 2, dtype=torch.bool)),
        {"x": "batch S n_embd", "pad": "S batch"},
    )


@raises(AssertionError, suggestion=("x.transpose(0,1)",))
def pad_not_batch_first():
    return (
        Pad(8, 2, False),
        (r(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)),
        {"x": "batch S n_embd", "pad": "batch S"},
    )


@raises(R, suggestion=("mask.repeat_interleave(",))
def mask_per_sample():
    return (
        Mask(8, 2),
        (r(3, 5, 8), torch.zeros(3, 5, 5, dtype=torch.bool)),
        {"x": "batch S n_embd", "mask": "batch S S"},
    )


@raises(AssertionError, suggestion=("mask.flatten(0,1)", "mask.reshape(", "mask.view("))
def mask_four_axes():
    return (
        Mask(8, 2),
        (r(3, 5, 8), torch.zeros(3, 2, 5, 5, dtype=torch.bool)),
        {"x": "batch S n_embd", "mask": "batch heads S S"},
    )


@raises(R, suggestion=("mask[:5,:5]", "mask[:S,:S]", "mask[:x"))
def mask_too_long():
    return (
        Mask(8, 2),
        (r(3, 5, 8), torch.zeros(9, 9, dtype=torch.bool)),
        {"x": "batch S n_embd", "mask": "max_len max_len"},
    )


@raises(AssertionError, suggestion=("pad.bool()", "pad.to(torch.bool)", "pad==0", "pad!=0"))
def pad_of_ints():
    return (
        Pad(8, 2),
        (r(2, 5, 8), torch.zeros(2, 5, dtype=torch.long)),
        {"x": "batch S n_embd", "pad": "batch S"},
    )


@raises(AssertionError)
def pad_of_query():
    return (
        CrossPad(8, 2),
        (r(2, 5, 8), r(2, 7, 8), torch.zeros(2, 5, dtype=torch.bool)),
        {"x": "batch tgt n_embd", "mem": "batch src n_embd", "pad": "batch tgt"},
    )


class Enc(nn.Module):
    def __init__(self, d_model, nhead, bf=True):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, nhead, 16, batch_first=bf, dropout=0.0)


class E1(Enc):
    def forward(self, x, pad):
        return self.layer(x, src_key_padding_mask=pad)


class E2(Enc):
    def forward(self, x, mask):
        return self.layer(x, mask)


class E3(Enc):
    def forward(self, x):
        return self.layer(x)


@raises(AssertionError, suggestion=("x.transpose(0,1)",))
def enc_pad_not_bf():
    return (
        E1(8, 2, False),
        (r(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)),
        {"x": "batch S d_model", "pad": "batch S"},
    )


@raises(AssertionError, suggestion=("pad.T", "pad.transpose(0,1)", "pad.t()"))
def enc_pad_t():
    return (
        E1(8, 2),
        (r(2, 5, 8), torch.zeros(5, 2, dtype=torch.bool)),
        {"x": "batch S d_model", "pad": "S batch"},
    )


@raises(R, suggestion=("mask[:5,:5]",))
def enc_mask_long():
    return (
        E2(8, 2),
        (r(2, 5, 8), torch.zeros(9, 9, dtype=torch.bool)),
        {"x": "batch S d_model", "mask": "max_len max_len"},
    )


@raises(R, suggestion=("mask.repeat_interleave",))
def enc_mask_3():
    return (
        E2(8, 2),
        (r(3, 5, 8), torch.zeros(3, 5, 5, dtype=torch.bool)),
        {"x": "batch S d_model", "mask": "batch S S"},
    )


@raises(AssertionError, suggestion=("x.transpose(1,2)", "x.transpose(-2,-1)"))
def enc_cf():
    return E3(8, 2), (r(3, 8, 5),), "batch d_model S"


class Dec(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(d_model, nhead, 16, batch_first=True, dropout=0.0)

    def forward(self, tgt, memory):
        return self.layer(tgt, memory)


@raises(R, suggestion=("memory.transpose(0,1)",))
def dec_memory():
    return (
        Dec(8, 2),
        (r(2, 5, 8), r(7, 2, 8)),
        {"tgt": "batch T d_model", "memory": "src batch d_model"},
    )


class G(nn.Module):
    def __init__(self, d, h, bf=True, kind=nn.GRU):
        super().__init__()
        self.rnn = kind(d, h, batch_first=bf)


class G1(G):
    def forward(self, x):
        out, h = self.rnn(x)
        return out


class G2(G):
    def forward(self, x, h0):
        return self.rnn(x, h0)[0]


@raises(R, suggestion=("x.transpose(1,2)", "x.transpose(-2,-1)"))
def gru_cf():
    return G1(6, 4), (r(2, 6, 5),), "batch d S"


@raises(R, suggestion=("x.transpose(1,2)", "x.transpose(-2,-1)"))
def lstm_cf():
    return G1(6, 4, kind=nn.LSTM), (r(2, 6, 5),), "batch n_mels S"


@raises(R, suggestion=("x.transpose(0,1)",))
def gru_h0_not_bf():
    return G2(6, 4, False), (r(2, 5, 6), r(1, 2, 4)), {"x": "batch S d", "h0": "layers batch h"}


@raises(R, suggestion=("h0.unsqueeze(0)", "h0[None]"))
def gru_h0_flat():
    return G2(6, 4), (r(2, 5, 6), r(2, 4)), {"x": "batch S d", "h0": "batch h"}


@raises(R, suggestion=("h0.transpose(0,1)",))
def gru_h0_bf():
    return G2(6, 4), (r(2, 5, 6), r(2, 1, 4)), {"x": "batch S d", "h0": "batch layers h"}


@raises(ValueError)
def gru_4d():
    return G1(6, 4), (r(2, 3, 5, 6),), "batch heads S d"
