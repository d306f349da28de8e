"""Attention modules in other people's styles, written before verify was run on them.

Each function returns (module, keyword arguments for verify), a wrong one also the law that it breaks.
"""
# Written before verify was read; first run: 13 of 14 right ones passed, and in 22 of 26 wrong ones the
# law broke that was named. Since then two errors of the author's own were mended: the cache of
# OwnAttention shifted every score of a row alike, which softmax does not notice (it shifts the values
# now), and its mask was kept as an attribute in all of them, not only where that is the fault.

# ruff: noqa: E501
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

E, HEADS, BLOCK = 12, 3, 32


class Wrapped(nn.Module):
    """nn.MultiheadAttention behind a forward(x)."""

    def __init__(self, causal=False, batch_first=True, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(E, HEADS, dropout=dropout, batch_first=batch_first)
        self.causal = causal

    def forward(self, x):
        mask = None
        if self.causal:
            n = x.shape[1]
            mask = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


class SequenceFirst(nn.Module):
    """nn.MultiheadAttention as it is by default, tokens first, with the swaps that this asks for."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(E, HEADS)

    def forward(self, x, key_padding_mask=None):
        t = x.transpose(0, 1)
        y, _ = self.attn(t, t, t, key_padding_mask=key_padding_mask)
        return y.transpose(0, 1)


@dataclass
class GPTConfig:
    n_embd: int = E
    n_head: int = HEADS
    block_size: int = BLOCK
    dropout: float = 0.1
    bias: bool = True


class CausalSelfAttention(nn.Module):
    """As small GPTs write it; the keyword arguments plant one fault each."""

    def __init__(
        self, config, scale=None, drop_result=False, future=0, always_drop=False, flash=False
    ):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
        self.flash = flash
        self.scale, self.drop_result, self.always_drop = scale, drop_result, always_drop
        mask = torch.tril(torch.ones(config.block_size, config.block_size), diagonal=future)
        self.register_buffer("bias", mask.view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.flash:
            p = self.dropout if self.training or self.always_drop else 0
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (self.scale or 1.0 / math.sqrt(k.size(-1)))
            if self.drop_result:
                att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            else:
                att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Head(nn.Module):
    """One head of a lecture's character model."""

    def __init__(self, head_size, window=None):
        super().__init__()
        self.key = nn.Linear(E, head_size, bias=False)
        self.query = nn.Linear(E, head_size, bias=False)
        self.value = nn.Linear(E, head_size, bias=False)
        tril = torch.tril(torch.ones(BLOCK, BLOCK))
        if window:
            tril = tril.triu(-window)
        self.register_buffer("tril", tril)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ self.value(x)


class LectureHeads(nn.Module):
    def __init__(self, in_a_list=False, window=None):
        super().__init__()
        heads = [Head(E // HEADS, window) for _ in range(HEADS)]
        self.heads = heads if in_a_list else nn.ModuleList(heads)
        self.proj = nn.Linear(E, E)
        self.dropout = nn.Dropout(0.2)

    def train(self, mode=True):
        for head in self.heads:
            head.train(mode)
        return super().train(mode)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.dropout(self.proj(out))


class ViTAttention(nn.Module):
    """As image models write it."""

    def __init__(self, dim=E, num_heads=HEADS, qkv_bias=True, proj_drop=0.1, fault=None):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.scale = self.head_dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(proj_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)
        self.fault = fault

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.fault == "first sample":
            k, v = k[:1], v[:1]
        if self.fault == "no grad":
            k = k.detach()
        attn = (q * self.scale) @ k.transpose(-2, -1)
        if self.fault == "exp":
            attn = attn.exp()
            attn = attn / attn.sum(-1, keepdim=True)
        else:
            attn = attn.softmax(dim=1 if self.fault == "over heads" else -1)
        x = self.attn_drop(attn) @ v
        if self.fault != "merge":
            x = x.transpose(1, 2)
        return self.proj_drop(self.proj(x.reshape(B, N, C)))


class BertSelfAttention(nn.Module):
    """Separate layers and an additive attention_mask made from ones and zeros, as BERT has it."""

    def __init__(self, hidden_size=E, num_attention_heads=HEADS, split=True, invert=False):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.attention_head_size = hidden_size // num_attention_heads
        self.all_head_size = hidden_size
        self.query = nn.Linear(hidden_size, self.all_head_size)
        self.key = nn.Linear(hidden_size, self.all_head_size)
        self.value = nn.Linear(hidden_size, self.all_head_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.dropout = nn.Dropout(0.1)
        self.split, self.invert = split, invert

    def transpose_for_scores(self, x):
        if not self.split:
            return x.view(x.size(0), self.num_attention_heads, x.size(1), self.attention_head_size)
        x = x.view((*x.size()[:-1], self.num_attention_heads, self.attention_head_size))
        return x.permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(hidden_states))
        v = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            hidden = attention_mask == (1 if self.invert else 0)
            scores = scores + hidden[:, None, None, :] * torch.finfo(scores.dtype).min
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view((*context.size()[:-2], self.all_head_size)))


class LlamaAttention(nn.Module):
    """Four query heads on two key and value heads, causal, without positions."""

    def __init__(self, dim=16, n_heads=4, n_kv_heads=2, tile=False):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)
        self.tile = tile

    def forward(self, x):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        rep = self.n_heads // self.n_kv_heads
        if self.tile:
            keys, values = xk.repeat(1, 1, rep, 1), xv.repeat(1, 1, rep, 1)
        else:
            keys, values = xk.repeat_interleave(rep, 2), xv.repeat_interleave(rep, 2)
        xq, keys, values = xq.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        mask = torch.full((seqlen, seqlen), float("-inf"), device=x.device).triu(1)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.head_dim) + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, values).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)


class EinsumAttention(nn.Module):
    """Weights (n_embd, heads, H) as parameters, as people write it who come from JAX."""

    def __init__(self, d_model=E, n_heads=HEADS):
        super().__init__()
        d = d_model // n_heads
        self.w_q = nn.Parameter(torch.randn(d_model, n_heads, d) * d_model**-0.5)
        self.w_k = nn.Parameter(torch.randn(d_model, n_heads, d) * d_model**-0.5)
        self.w_v = nn.Parameter(torch.randn(d_model, n_heads, d) * d_model**-0.5)
        self.w_o = nn.Parameter(torch.randn(n_heads, d, d_model) * d_model**-0.5)

    def forward(self, x):
        q = torch.einsum("bse,ehd->bhsd", x, self.w_q)
        k = torch.einsum("bse,ehd->bhsd", x, self.w_k)
        v = torch.einsum("bse,ehd->bhsd", x, self.w_v)
        w = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5, -1)
        return torch.einsum("bhqk,bhkd,hde->bqe", w, v, self.w_o)


class AnnotatedMultiHead(nn.Module):
    """Four cloned layers and forward(query, key, value, mask), as the Harvard text has it."""

    def __init__(self, h=HEADS, d_model=E, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.attn = None
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value), strict=False)
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        self.attn = self.dropout(scores.softmax(dim=-1))
        x = (
            torch.matmul(self.attn, value)
            .transpose(1, 2)
            .contiguous()
            .view(n, -1, self.h * self.d_k)
        )
        return self.linears[-1](x)


def mha_itself():
    return nn.MultiheadAttention(E, HEADS, dropout=0.1, batch_first=True), {}


def mha_behind_forward():
    return Wrapped(dropout=0.2), {}


def mha_causal():
    return Wrapped(causal=True), {"causal": True}


def mha_sequence_first():
    return SequenceFirst(), {}


def gpt_with_buffer():
    return CausalSelfAttention(GPTConfig()), {"causal": True}


def gpt_with_fused_call():
    return CausalSelfAttention(GPTConfig(bias=False), flash=True), {}


def lecture_heads():
    return LectureHeads(), {"causal": True}


def lecture_single_head():
    return Head(5), {}


def vit():
    return ViTAttention(), {}


def vit_no_bias():
    return ViTAttention(qkv_bias=False), {"x": torch.randn(2, 7, E), "n_heads": HEADS}


def bert():
    return BertSelfAttention(), {}


def llama():
    return LlamaAttention(), {"causal": True}


def einsum_parameters():
    return EinsumAttention(), {"x": torch.randn(2, 5, E)}


def harvard():
    return AnnotatedMultiHead(), {}


RIGHT_MODULES = [
    mha_itself, mha_behind_forward, mha_causal, mha_sequence_first, gpt_with_buffer, gpt_with_fused_call,
    lecture_heads, lecture_single_head, vit, vit_no_bias, bert, llama, einsum_parameters, harvard,
]  # fmt: skip


class OwnAttention(nn.Module):
    """A beginner's module; the name of the fault says what is wrong in it."""

    def __init__(self, fault, d_model=E, n_heads=HEADS):
        super().__init__()
        self.fault, self.n_heads = fault, n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        if fault == "mask as attribute":
            self.kept_mask = torch.ones(BLOCK, BLOCK, dtype=torch.bool).tril()  # no buffer
        self.cache = None

    def heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def visible(self, n, x):
        if self.fault == "mask on the cpu":
            return torch.ones(n, n, dtype=torch.bool).tril()
        if self.fault == "mask as attribute":
            return self.kept_mask[:n, :n]
        below = -1 if self.fault == "diagonal hidden" else 0
        return torch.ones(n, n, dtype=torch.bool, device=x.device).tril(below)

    def forward(self, x):
        if self.fault == "writes":
            x *= 0.5
        if self.fault == "batch mean":
            x = x - x.mean(dim=0)
        if self.fault == "squeeze":
            x = x.squeeze()
        q, k = self.q_proj(x), self.k_proj(x)
        v = self.k_proj(x) if self.fault == "value layer unused" else self.v_proj(x)
        if self.fault == "cache":
            v = v if self.cache is None else v + self.cache
            self.cache = v.detach().mean()
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        s = s.masked_fill(~self.visible(x.shape[-2], x), float("-inf"))
        y = (s.softmax(-1) @ v).transpose(1, 2).flatten(2)
        if self.fault == "pooled":
            return self.out_proj(y).mean(1)
        return y if self.fault == "out layer unused" else self.out_proj(y)


class DeafMHA(nn.MultiheadAttention):
    """Takes a key_padding_mask and forgets it."""

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, **rest
    ):
        return super().forward(query, key, value, need_weights=need_weights, attn_mask=attn_mask)


def own(fault):
    return OwnAttention(fault), {"causal": True}


def scale_by_width():
    return CausalSelfAttention(GPTConfig(), scale=E**-0.5), {"causal": True}, "parity"


def fill_not_kept():
    return CausalSelfAttention(GPTConfig(), drop_result=True), {"causal": True}, "causality"


def one_future_token():
    return CausalSelfAttention(GPTConfig(), future=1), {"causal": True}, "causality"


def dropout_in_eval():
    return (
        CausalSelfAttention(GPTConfig(dropout=0.3), flash=True, always_drop=True),
        {"causal": True},
        "determinism",
    )


def heads_in_a_list():
    return LectureHeads(in_a_list=True), {"causal": True}, "gradients"


def two_tokens_back_only():
    return LectureHeads(window=1), {"causal": True}, "reach"


def split_by_view():
    return BertSelfAttention(split=False), {"causal": False}, "permutation"


def merge_by_view():
    return ViTAttention(fault="merge"), {}, "permutation"


def softmax_over_heads():
    return ViTAttention(fault="over heads"), {}, "parity"


def keys_of_the_first_sample():
    return ViTAttention(fault="first sample"), {}, "batch"


def keys_detached():
    return ViTAttention(fault="no grad"), {}, "gradients"


def exp_without_shift():
    return ViTAttention(fault="exp"), {}, "finite"


def batch_first_forgotten():
    return Wrapped(batch_first=False), {}, "batch"


def padding_mask_forgotten():
    return DeafMHA(E, HEADS, batch_first=True), {}, "padding"


def attention_mask_inverted():
    return BertSelfAttention(invert=True), {}, "padding"


def kv_heads_tiled():
    return LlamaAttention(tile=True), {"causal": True}, "parity"


def input_halved_in_place():
    return (*own("writes"), "argument")


def mean_of_the_batch():
    return (*own("batch mean"), "batch")


def squeezed():
    return (*own("squeeze"), "batch")


def value_layer_unused():
    return (*own("value layer unused"), "gradients")


def out_layer_unused():
    return (*own("out layer unused"), "gradients")


def diagonal_hidden():
    return (*own("diagonal hidden"), "finite")


def mask_on_the_cpu():
    return (*own("mask on the cpu"), "device")


def mask_as_attribute():
    return (*own("mask as attribute"), "device")


def values_kept_between_calls():
    return (*own("cache"), "determinism")


def pooled():
    return (*own("pooled"), "runs")


WRONG_MODULES = [
    scale_by_width, fill_not_kept, one_future_token, dropout_in_eval, heads_in_a_list, two_tokens_back_only,
    split_by_view, merge_by_view, softmax_over_heads, keys_of_the_first_sample, keys_detached, exp_without_shift,
    batch_first_forgotten, padding_mask_forgotten, attention_mask_inverted, kv_heads_tiled, input_halved_in_place,
    mean_of_the_batch, squeezed, value_layer_unused, out_layer_unused, diagonal_hidden, mask_on_the_cpu,
    mask_as_attribute, values_kept_between_calls, pooled,
]  # fmt: skip
