"""Forty-four correct programs: lessons, notebooks, ports from numpy, JAX and TensorFlow.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 44 of 44 silent at four sizes, and no dim that does not hold at others.
"""

# The code is kept in the style that it was written in.
# ruff: noqa: B905, E501, E731, E741, RUF005

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


# ---------------------------------------------------------------- JAX / TensorFlow / numpy ports
@sample
def jax_params_dict(batch, S, heads, H):
    n_embd = heads * H
    params = {
        "query": torch.randn(n_embd, heads, H) / n_embd**0.5,
        "key": torch.randn(n_embd, heads, H) / n_embd**0.5,
        "value": torch.randn(n_embd, heads, H) / n_embd**0.5,
        "out": torch.randn(heads, H, n_embd) / n_embd**0.5,
    }

    def apply(params, x):
        q, k, v = (torch.einsum("bld,dhk->blhk", x, params[n]) for n in ("query", "key", "value"))
        logits = torch.einsum("blhk,bmhk->bhlm", q, k) / math.sqrt(q.shape[-1])
        w = torch.softmax(logits, dim=-1)
        ctx = torch.einsum("bhlm,bmhk->blhk", w, v)
        return torch.einsum("blhk,hkd->bld", ctx, params["out"])

    return lambda x: apply(params, x), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def jax_vmap_one_example(batch, S, heads, H):
    def one_head(q, k, v):  # (S, H)
        return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, dim=-1) @ v

    over_heads = torch.vmap(one_head)
    over_batch = torch.vmap(over_heads)

    def fn(q, k, v):
        return over_batch(q, k, v)

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch heads S H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@sample
def tf_dense_tensordot(batch, S, heads, H):
    class TFAttention(nn.Module):
        def __init__(self, n_embd, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.depth = n_embd // num_heads
            self.kernel = nn.Parameter(torch.randn(n_embd, 3 * n_embd) * 0.1)
            self.bias = nn.Parameter(torch.zeros(3 * n_embd))

        def split_heads(self, x, batch_size):
            x = torch.reshape(x, (batch_size, -1, self.num_heads, self.depth))
            return torch.permute(x, (0, 2, 1, 3))

        def forward(self, x):
            batch_size = x.shape[0]
            n_embd = x.shape[-1]
            mixed = torch.tensordot(x, self.kernel, dims=([2], [0])) + self.bias
            q, k, v = torch.split(mixed, n_embd, dim=-1)
            q, k, v = [self.split_heads(t, batch_size) for t in (q, k, v)]
            matmul_qk = torch.matmul(q, k.transpose(-1, -2))
            weights = F.softmax(matmul_qk / self.depth**0.5, dim=-1)
            out = torch.permute(torch.matmul(weights, v), (0, 2, 1, 3))
            return torch.reshape(out, (batch_size, -1, n_embd)), weights

    n_embd = heads * H
    return TFAttention(n_embd, heads), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def nhwc_nonlocal_block(batch, S, heads, H):
    class NonLocal(nn.Module):  # channels last, theta/phi/g as in Keras
        def __init__(self, channels, inner):
            super().__init__()
            self.theta = nn.Linear(channels, inner)
            self.phi = nn.Linear(channels, inner)
            self.g = nn.Linear(channels, inner)
            self.back = nn.Linear(inner, channels)

        def forward(self, img):
            B, height, width, channels = img.shape
            theta = self.theta(img).flatten(1, 2)
            phi = self.phi(img).flatten(1, 2)
            g = self.g(img).flatten(1, 2)
            f = torch.bmm(theta, phi.transpose(1, 2)).softmax(-1)
            y = torch.bmm(f, g).unflatten(1, (height, width))
            return img + self.back(y)

    return (
        NonLocal(heads * H, H),
        (torch.randn(batch, S, heads, heads * H),),
        "batch height width channels",
    )


@sample
def numpy_softmax_swapaxes(batch, S, heads, H):
    def softmax(x, axis=-1):
        e = torch.exp(x - torch.amax(x, axis=axis, keepdims=True))
        return e / torch.sum(e, axis=axis, keepdims=True)

    def attention(Q, K, V):
        d_k = Q.shape[-1]
        scores = torch.matmul(Q, torch.swapaxes(K, -1, -2)) / d_k**0.5
        return softmax(scores) @ V

    a = torch.randn(batch, S, H)
    b, c = torch.randn(batch, S + 1, H), torch.randn(batch, S + 1, heads)
    return attention, (a, b, c), {"Q": "batch n_q H", "K": "batch n_k H", "V": "batch n_k d_v"}


@sample
def explicit_weights_multi_query(batch, S, heads, H):
    n_embd = heads * H

    def mqa(x, Wq, Wk, Wv, Wo):
        B, T, C = x.shape
        q = F.linear(x, Wq).view(B, T, C // Wk.shape[0], Wk.shape[0]).permute(0, 2, 1, 3)
        k = F.linear(x, Wk).unsqueeze(1)
        v = F.linear(x, Wv).unsqueeze(1)
        att = (q @ k.mT) * Wk.shape[0] ** -0.5
        future = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
        att = att.masked_fill(future, float("-inf")).softmax(-1)
        y = (att @ v).transpose(1, 2).flatten(2)
        return F.linear(y, Wo)

    args = (
        torch.randn(batch, S, n_embd),
        torch.randn(n_embd, n_embd) * 0.2,
        torch.randn(H, n_embd) * 0.2,
        torch.randn(H, n_embd) * 0.2,
        torch.randn(n_embd, n_embd) * 0.2,
    )
    return mqa, args, {"x": "batch S n_embd", "Wk": "H n_embd", "Wv": "H n_embd"}


@sample
def einsum_odd_letters_grouped(batch, S, heads, H):
    rep = 2

    def gqa(q, k, v):
        z, i, g, p, d = q.shape
        s = torch.einsum("zigpd,zjgd->zgpij", q, k) * d**-0.5
        a = s.softmax(dim=4)
        return torch.einsum("zgpij,zjgd->zigpd", a, v).reshape(z, i, g * p * d)

    q = torch.randn(batch, S, heads, rep, H)
    k, v = torch.randn(batch, S, heads, H), torch.randn(batch, S, heads, H)
    kv = "batch S kv_heads H"
    return gqa, (q, k, v), {"q": "batch S kv_heads rep H", "k": kv, "v": kv}


@sample
def haiku_closure_transform(batch, S, heads, H):
    n_embd = heads * H

    def make_linear(n_in, n_out):
        w, b = torch.randn(n_in, n_out) * n_in**-0.5, torch.zeros(n_out)
        return lambda t: t @ w + b

    def make_mlp_block(d_ff):
        up, down = make_linear(n_embd, d_ff), make_linear(d_ff, n_embd)
        return lambda t: down(F.gelu(up(t)))

    def make_norm():
        g = torch.ones(n_embd)

        def norm(t):
            mu = t.mean(-1, keepdim=True)
            var = t.var(-1, keepdim=True, unbiased=False)
            return (t - mu) * torch.rsqrt(var + 1e-5) * g

        return norm

    wq, wk, wv = (make_linear(n_embd, H) for _ in range(3))
    proj, mlp, ln1, ln2 = (
        make_linear(H, n_embd),
        make_mlp_block(4 * n_embd),
        make_norm(),
        make_norm(),
    )

    def block(x):
        h = ln1(x)
        a = torch.softmax(wq(h) @ wk(h).transpose(1, 2) / H**0.5, -1)
        x = x + proj(a @ wv(h))
        return x + mlp(ln2(x))

    return block, (torch.randn(batch, S, n_embd),), "batch S n_embd"


# ---------------------------------------------------------------- seq-first and recurrent
@sample
def seq_first_bmm_fairseq(batch, S, heads, H):
    class SeqFirst(nn.Module):
        def __init__(self, embed_dim, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.head_dim = embed_dim // num_heads
            self.q_proj = nn.Linear(embed_dim, embed_dim)
            self.kv_proj = nn.Linear(embed_dim, 2 * embed_dim)
            self.out_proj = nn.Linear(embed_dim, embed_dim)

        def forward(self, query, memory):
            tgt_len, bsz, embed_dim = query.shape
            src_len = memory.size(0)
            q = self.q_proj(query) * self.head_dim**-0.5
            k, v = self.kv_proj(memory).chunk(2, dim=-1)
            q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            k = k.contiguous().view(src_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            v = v.contiguous().view(src_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            attn = torch.bmm(q, k.transpose(1, 2)).softmax(-1)
            out = torch.bmm(attn, v).transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
            avg = attn.view(bsz, self.num_heads, tgt_len, src_len).mean(1)
            return self.out_proj(out), avg

    n = heads * H
    dims = {"query": "tgt_len bsz embed_dim", "memory": "src_len bsz embed_dim"}
    return SeqFirst(n, heads), (torch.randn(S, batch, n), torch.randn(S + 2, batch, n)), dims


@sample
def additive_seq_first(batch, S, heads, H):
    class Additive(nn.Module):
        def __init__(self, enc_dim, dec_dim, attn_dim):
            super().__init__()
            self.W = nn.Linear(enc_dim, attn_dim, bias=False)
            self.U = nn.Linear(dec_dim, attn_dim, bias=False)
            self.v = nn.Parameter(torch.rand(attn_dim))

        def forward(self, hidden, enc):
            energy = torch.tanh(self.W(enc) + self.U(hidden))  # hidden broadcasts over time
            scores = energy.matmul(self.v)
            alpha = scores.softmax(dim=0)
            return (alpha.unsqueeze(-1) * enc).sum(0), alpha.t()

    args = (torch.randn(batch, heads * H), torch.randn(S, batch, H))
    return (
        Additive(H, heads * H, heads),
        args,
        {"hidden": "batch dec_dim", "enc": "S batch enc_dim"},
    )


@sample
def gru_dot_attention(batch, S, heads, H):
    class Tagger(nn.Module):
        def __init__(self, n_feat, hidden, n_classes):
            super().__init__()
            self.rnn = nn.GRU(n_feat, hidden, batch_first=True)
            self.fc = nn.Linear(2 * hidden, n_classes)

        def forward(self, x):
            out, h = self.rnn(x)
            last = h[-1]
            w = torch.bmm(out, last.unsqueeze(2)).squeeze(2).softmax(1)
            ctx = torch.bmm(w.unsqueeze(1), out).squeeze(1)
            return self.fc(torch.cat((ctx, last), dim=1))

    return Tagger(H, heads * H, 3), (torch.randn(batch, S, H),), "batch S n_feat"


@sample
def encoder_layer_key_padding(batch, S, heads, H):
    n_embd = heads * H
    layer = nn.TransformerEncoderLayer(n_embd, heads, 2 * n_embd, dropout=0.0)

    def fn(x, lengths):  # x is seq-first
        S, batch, _ = x.shape
        pad = torch.arange(S)[None, :] >= lengths[:, None]
        y = layer(x, src_key_padding_mask=pad)
        y = y.masked_fill(pad.t().unsqueeze(-1), 0.0)
        return y.sum(0) / lengths[:, None]

    lengths = torch.arange(batch) % 3 + 2
    return fn, (torch.randn(S, batch, n_embd), lengths), {"x": "S batch n_embd", "lengths": "batch"}


# ---------------------------------------------------------------- a feature added: positions and bias
@sample
def alibi_closure(batch, S, heads, H):
    def alibi(n_heads):
        slopes = torch.tensor([2.0 ** (-8 * (i + 1) / n_heads) for i in range(n_heads)])

        def bias(q_len, k_len):
            dist = torch.arange(k_len)[None, :] - torch.arange(q_len)[:, None]
            return slopes[:, None, None] * -dist.abs()

        return bias

    get_bias = alibi(heads)

    def fn(q, k, v):
        att = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        att = att + get_bias(q.size(-2), k.size(-2))
        return att.softmax(-1) @ v

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch heads S H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@sample
def rope_complex(batch, S, heads, H):
    def rope(x, theta=10000.0):
        B, T, n_head, hd = x.shape
        freqs = 1.0 / theta ** (torch.arange(0, hd, 2).float() / hd)
        angles = torch.outer(torch.arange(T).float(), freqs)
        cis = torch.polar(torch.ones_like(angles), angles)
        xc = torch.view_as_complex(x.reshape(B, T, n_head, hd // 2, 2))
        return torch.view_as_real(xc * cis[:, None, :]).flatten(3)

    def fn(q, k):
        q, k = rope(q), rope(k)
        return torch.einsum("bqhd,bkhd->bhqk", q, k)

    d = "batch S heads H"
    return fn, (torch.randn(batch, S, heads, H), torch.randn(batch, S, heads, H)), {"q": d, "k": d}


@sample
def rope_half_with_offset(batch, S, heads, H):
    max_len = 256
    inv = 1.0 / 10000 ** (torch.arange(0, H, 2).float() / H)
    table = torch.outer(torch.arange(max_len).float(), inv)
    COS, SIN = torch.cat([table, table], -1).cos(), torch.cat([table, table], -1).sin()

    def rotate_half(x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((-b, a), dim=-1)

    def fn(q, k, offset=3):
        T = q.shape[2]
        cos, sin = COS[offset : offset + T], SIN[offset : offset + T]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        return q @ k.mT

    d = "batch heads S H"
    return fn, (torch.randn(batch, heads, S, H), torch.randn(batch, heads, S, H)), {"q": d, "k": d}


@sample
def t5_bucket_bias(batch, S, heads, H):
    class T5(nn.Module):
        def __init__(self, n_embd, n_heads, num_buckets=8):
            super().__init__()
            self.n_heads, self.num_buckets = n_heads, num_buckets
            self.rel = nn.Embedding(num_buckets, n_heads)
            self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = (
                self.qkv(x).view(B, T, 3, self.n_heads, C // self.n_heads).permute(2, 0, 3, 1, 4)
            )
            pos = torch.arange(T)
            bucket = (pos[None, :] - pos[:, None]).clamp(-4, 3) + 4
            bias = self.rel(bucket).permute(2, 0, 1).unsqueeze(0)
            att = (q @ k.transpose(3, 2) + bias).softmax(-1)
            return (att @ v).permute(0, 2, 1, 3).reshape(B, T, C)

    return T5(heads * H, heads), (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def transformer_xl_rel_shift(batch, S, heads, H):
    def rel_shift(x):
        b, h, q, r = x.shape
        x = F.pad(x, (1, 0))
        x = x.view(b, h, r + 1, q)
        return x[:, :, 1:].view(b, h, q, r)

    def fn(q, k, pos):
        ac = torch.einsum("bhid,bhjd->bhij", q, k)
        bd = rel_shift(torch.einsum("bhid,jd->bhij", q, pos))
        return (ac + bd).softmax(-1)

    d = "batch heads S H"
    args = (torch.randn(batch, heads, S, H), torch.randn(batch, heads, S, H), torch.randn(S, H))
    return fn, args, {"q": d, "k": d, "pos": "S H"}


@sample
def learned_positions_and_token_types(batch, S, heads, H):
    class Embeddings(nn.Module):
        def __init__(self, vocab, max_len, n_embd):
            super().__init__()
            self.tok = nn.Embedding(vocab, n_embd)
            self.pos = nn.Embedding(max_len, n_embd)
            self.kind = nn.Embedding(2, n_embd)
            self.ln = nn.LayerNorm(n_embd)

        def forward(self, ids, token_type):
            positions = torch.arange(ids.shape[1]).expand_as(ids)
            x = self.ln(self.tok(ids) + self.pos(positions) + self.kind(token_type))
            return x @ self.tok.weight.T  # tied head

    ids = torch.arange(batch * S).view(batch, S) % 11
    return (
        Embeddings(11, 512, heads * H),
        (ids, ids % 2),
        {"ids": "batch S", "token_type": "batch S"},
    )


# ---------------------------------------------------------------- a feature added: cache, memory, sinks
@sample
def dict_cache_prefill_then_step(batch, S, heads, H):
    class Cached(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.n_head = n_head
            self.c_attn = nn.Linear(n_embd, 3 * n_embd)
            self.c_proj = nn.Linear(n_embd, n_embd)

        def step(self, x, cache):
            B, T, C = x.shape
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (
                t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v)
            )
            if "k" in cache:
                k, v = torch.cat([cache["k"], k], dim=2), torch.cat([cache["v"], v], dim=2)
            cache["k"], cache["v"] = k, v
            y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
            return self.c_proj(y.transpose(1, 2).reshape(B, T, C))

        def forward(self, prompt, new_token):
            cache = {}
            first = self.step(prompt, cache)
            return torch.cat([first, self.step(new_token, cache)], dim=1)

    n = heads * H
    args = (torch.randn(batch, S, n), torch.randn(batch, 1, n))
    return Cached(n, heads), args, {"prompt": "batch S n_embd", "new_token": "batch one n_embd"}


@sample
def persistent_memory_kv(batch, S, heads, H):
    class MemoryKV(nn.Module):
        def __init__(self, dim, heads, n_mem):
            super().__init__()
            self.heads = heads
            self.mem = nn.Parameter(torch.randn(2, heads, n_mem, dim // heads))
            self.to_qkv = nn.Linear(dim, dim * 3, bias=False)

        def forward(self, x):
            q, k, v = rearrange(
                self.to_qkv(x), "b n (three h d) -> three b h n d", three=3, h=self.heads
            )
            mk, mv = (m.expand(x.shape[0], -1, -1, -1) for m in self.mem)
            k, v = torch.cat((mk, k), dim=-2), torch.cat((mv, v), dim=-2)
            attn = torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1)
            return rearrange(attn @ v, "b h n d -> b n (h d)")

    return MemoryKV(heads * H, heads, 3), (torch.randn(batch, S, heads * H),), "batch S dim"


@sample
def sink_logit_column(batch, S, heads, H):
    class Sinks(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.sinks = nn.Parameter(torch.randn(n_heads))

        def forward(self, q, k, v):
            B, n_heads, T, _ = q.shape
            scores = q @ k.mT / q.size(-1) ** 0.5
            extra = self.sinks.reshape(1, -1, 1, 1).expand(B, n_heads, T, 1)
            probs = torch.cat([scores, extra], dim=-1).softmax(-1)[..., :-1]
            return probs @ v

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch n_heads S H"
    return Sinks(heads), (make(), make(), make()), {"q": d, "k": d, "v": d}


@sample
def int8_key_cache(batch, S, heads, H):
    def quantise(t, dim):
        scale = t.abs().amax(dim=dim, keepdim=True).clamp(min=1e-6) / 127
        return (t / scale).round().clamp(-128, 127).to(torch.int8), scale

    def fn(q, k, v):
        k8, ks = quantise(k, dim=2)  # per channel
        v8, vs = quantise(v, dim=-1)  # per token
        scores = (q * ks) @ k8.to(q.dtype).transpose(-1, -2)
        return scores.softmax(-1) @ (v8.float() * vs)

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch heads S H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


# ---------------------------------------------------------------- a feature added: masks, pooling, losses
@sample
def masked_attention_pooling(batch, S, heads, H):
    class Pool(nn.Module):
        def __init__(self, n_embd, n_queries):
            super().__init__()
            self.query = nn.Parameter(torch.randn(n_queries, n_embd))

        def forward(self, x, lengths):
            valid = torch.arange(x.size(1)) < lengths.unsqueeze(1)
            scores = self.query @ x.transpose(1, 2)
            scores = scores.masked_fill(~valid[:, None], -1e9)
            pooled = scores.softmax(-1) @ x
            mean = (x * valid[..., None]).sum(1) / valid.sum(1, keepdim=True)
            return pooled, mean

    lengths = torch.arange(batch) % 4 + 1
    args = (torch.randn(batch, S, heads * H), lengths)
    return Pool(heads * H, heads), args, {"x": "batch S n_embd", "lengths": "batch"}


@sample
def packed_segments_sdpa(batch, S, heads, H):
    def fn(q, k, v, seg):
        same = seg[:, :, None] == seg[:, None, :]
        causal = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril()
        mask = (same & causal).unsqueeze(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch heads S H"
    seg = (torch.arange(S) // 2).repeat(batch, 1)
    return fn, (make(), make(), make(), seg), {"q": d, "k": d, "v": d, "seg": "batch S"}


@sample
def bmm_heads_mask_interleaved(batch, S, heads, H):
    def fn(q, k, v, keep):
        n_batch, n_heads, T, d = q.shape
        q, k, v = (t.reshape(n_batch * n_heads, T, d) for t in (q, k, v))
        big = keep.repeat_interleave(n_heads, dim=0)[:, None, :]
        zeros = torch.zeros(1, 1, 1)
        att = torch.baddbmm(zeros, q, k.transpose(1, 2), alpha=d**-0.5)
        att = torch.where(big > 0, att, torch.full_like(att, -1e4)).softmax(2)
        return torch.bmm(att, v).unflatten(0, (n_batch, n_heads)).transpose(1, 2).flatten(2)

    make = lambda: torch.randn(batch, heads, S, H)
    keep = torch.ones(batch, S)
    d = "batch heads S H"
    return fn, (make(), make(), make(), keep), {"q": d, "k": d, "v": d, "keep": "batch S"}


@sample
def distil_attention_maps(batch, S, heads, H):
    def fn(student, teacher, keep, tau=2.0):
        t = teacher.mean(1, keepdim=True)  # teacher has more heads
        s = student.mean(1, keepdim=True)
        kl = F.softmax(t / tau, -1) * (F.log_softmax(t / tau, -1) - F.log_softmax(s / tau, -1))
        per_query = kl.sum(-1).squeeze(1)
        return (per_query * keep).sum() / keep.sum()

    args = (
        torch.randn(batch, heads, S, S),
        torch.randn(batch, 2 * heads, S, S),
        torch.ones(batch, S),
    )
    dims = {"student": "batch heads S S", "teacher": "batch teacher_heads S S", "keep": "batch S"}
    return fn, args, dims


@sample
def in_batch_contrastive(batch, S, heads, H):
    def encode(tokens):
        w = tokens.norm(dim=-1).softmax(dim=-1)
        return F.normalize(torch.einsum("bs,bsd->bd", w, tokens), dim=-1)

    def loss(text, image):
        a, b = encode(text), encode(image)
        logits = a @ b.t() / 0.07
        target = torch.arange(len(logits))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2

    args = (torch.randn(batch, S, H), torch.randn(batch, heads, H))
    return loss, args, {"text": "batch S H", "image": "batch patches H"}


@sample
def shifted_next_token_loss(batch, S, heads, H):
    vocab = heads * H

    def fn(logits, ids):
        B, T, V = logits.shape
        pred = logits[:, :-1].reshape(-1, V)
        gold = ids[:, 1:].reshape(-1)
        nll = F.cross_entropy(pred, gold, reduction="none").view(B, T - 1)
        same = -logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
        return (nll + same).mean(1)

    ids = torch.arange(batch * S).view(batch, S) % vocab
    return fn, (torch.randn(batch, S, vocab), ids), {"logits": "batch S vocab", "ids": "batch S"}


@sample
def beam_search_step(batch, S, heads, H):
    def step(log_probs, beam_scores, history):
        B, beams, vocab = log_probs.shape
        total = beam_scores[..., None] + log_probs
        top, flat = total.view(B, beams * vocab).topk(beams, dim=-1)
        parent, token = flat // vocab, flat % vocab
        index = parent[:, :, None].expand(-1, -1, history.size(-1))
        history = torch.gather(history, 1, index)
        return top, torch.cat([history, token.unsqueeze(-1)], dim=-1)

    history = torch.arange(batch * heads * S).view(batch, heads, S)
    args = (
        torch.randn(batch, heads, heads * H).log_softmax(-1),
        torch.randn(batch, heads),
        history,
    )
    dims = {
        "log_probs": "batch beams vocab",
        "beam_scores": "batch beams",
        "history": "batch beams S",
    }
    return step, args, dims


# ---------------------------------------------------------------- other attentions
@sample
def causal_linear_attention_cumsum(batch, S, heads, H):
    phi = lambda t: F.elu(t) + 1

    def fn(q, k, v):
        q, k = phi(q), phi(k)
        state = (k[..., :, None] * v[..., None, :]).cumsum(dim=2)
        norm = k.cumsum(dim=2)
        num = (q[..., None, :] @ state).squeeze(-2)
        return num / (q * norm).sum(-1, keepdim=True)

    d = "batch heads S H"
    args = (
        torch.randn(batch, heads, S, H),
        torch.randn(batch, heads, S, H),
        torch.randn(batch, heads, S, H + 1),
    )
    return fn, args, {"q": d, "k": d, "v": "batch heads S d_v"}


@sample
def local_window_unfold(batch, S, heads, H):
    radius = 2

    def fn(x):
        B, T, C = x.shape
        width = 2 * radius + 1
        near = F.pad(x, (0, 0, radius, radius)).unfold(1, width, 1)  # (B, T, C, width)
        scores = torch.einsum("btc,btcw->btw", x, near) / C**0.5
        inside = F.pad(torch.ones(T), (radius, radius)).unfold(0, width, 1) > 0
        scores = scores.masked_fill(~inside, float("-inf"))
        return torch.einsum("btw,btcw->btc", scores.softmax(-1), near)

    return fn, (torch.randn(batch, S, H),), "batch S H"


@sample
def swin_windows_channels_last(batch, S, heads, H):
    class WindowAttention(nn.Module):
        def __init__(self, dim, window=2):
            super().__init__()
            self.window = window
            self.qkv = nn.Linear(dim, 3 * dim)

        def forward(self, x):
            B, rows, cols, C = x.shape
            w = self.window
            x = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
            x = (
                x.view(B, rows // w, w, cols // w, w, C)
                .permute(0, 1, 3, 2, 4, 5)
                .reshape(-1, w * w, C)
            )
            q, k, v = self.qkv(x).chunk(3, -1)
            x = torch.softmax(q @ k.transpose(-2, -1), -1) @ v
            x = (
                x.view(B, rows // w, cols // w, w, w, C)
                .permute(0, 1, 3, 2, 4, 5)
                .reshape(B, rows, cols, C)
            )
            return torch.roll(x, shifts=(1, 1), dims=(1, 2))

    return WindowAttention(H), (torch.randn(batch, 2 * S, 2 * heads, H),), "batch rows cols dim"


@sample
def axial_rows_then_columns(batch, S, heads, H):
    def attend(t):
        return F.scaled_dot_product_attention(t, t, t)

    def fn(img):
        cols = img.shape[2]
        x = rearrange(img, "b r c d -> (b c) r d")
        x = rearrange(attend(x), "(b c) r d -> b r c d", c=cols)
        x = x + img
        y = rearrange(x, "b r c d -> (b r) c d")
        return rearrange(attend(y), "(b r) c d -> b d r c", r=img.shape[1])

    return fn, (torch.randn(batch, S, heads, H),), "batch rows cols dim"


@sample
def talking_heads_pre_post(batch, S, heads, H):
    pre, post = torch.randn(heads, heads), torch.randn(heads, heads)

    def fn(q, k, v):
        j = torch.einsum("bnhk,bmhk->bhnm", q, k)
        j = torch.einsum("bhnm,hg->bgnm", j, pre)
        w = j.softmax(dim=3)
        w = torch.einsum("bgnm,gh->bhnm", w, post)
        return torch.einsum("bhnm,bmhv->bnhv", w, v)

    make = lambda: torch.randn(batch, S, heads, H)
    d = "batch S heads H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@sample
def isab_inducing_points(batch, S, heads, H):
    class ISAB(nn.Module):
        def __init__(self, dim, num_heads, num_inds):
            super().__init__()
            self.I = nn.Parameter(torch.randn(1, num_inds, dim))
            self.mab0 = nn.MultiheadAttention(dim, num_heads, batch_first=True)
            self.mab1 = nn.MultiheadAttention(dim, num_heads, batch_first=True)

        def forward(self, X):
            I = self.I.repeat(X.size(0), 1, 1)
            hidden, _ = self.mab0(I, X, X, need_weights=False)
            out, w = self.mab1(X, hidden, hidden)
            return out + X, w

    return ISAB(heads * H, heads, 3), (torch.randn(batch, S, heads * H),), {"X": "batch S dim"}


@sample
def soft_moe_slots(batch, S, heads, H):
    class SoftMoE(nn.Module):
        def __init__(self, dim, n_experts, slots):
            super().__init__()
            self.n_experts, self.slots = n_experts, slots
            self.phi = nn.Parameter(torch.randn(dim, n_experts, slots))
            self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(n_experts)])

        def forward(self, x):
            logits = torch.einsum("bmd,dnp->bmnp", x, self.phi)
            dispatch = logits.softmax(dim=1)
            combine = logits.flatten(2).softmax(-1).view_as(logits)
            xs = torch.einsum("bmd,bmnp->bnpd", x, dispatch)
            ys = torch.stack([e(xs[:, i]) for i, e in enumerate(self.experts)], dim=1)
            return torch.einsum("bnpd,bmnp->bmd", ys, combine)

    return SoftMoE(H, heads, 2), (torch.randn(batch, S, H),), "batch S dim"


@sample
def squeeze_excite_then_spatial(batch, S, heads, H):
    class CBAM(nn.Module):
        def __init__(self, C, r):
            super().__init__()
            self.mlp = nn.Sequential(nn.Linear(C, r), nn.ReLU(), nn.Linear(r, C))
            self.conv = nn.Conv2d(2, 1, 3, padding=1)

        def forward(self, x):
            gate = torch.sigmoid(self.mlp(x.mean((2, 3))) + self.mlp(x.amax((2, 3))))
            x = x * gate[:, :, None, None]
            two = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True).values], dim=1)
            return x * torch.sigmoid(self.conv(two))

    return CBAM(heads * H, H), (torch.randn(batch, heads * H, S, S + 1),), "batch C height width"


@sample
def cosine_attention_logit_scale(batch, S, heads, H):
    class Cosine(nn.Module):
        def __init__(self, dim, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.scale = nn.Parameter(torch.zeros(num_heads, 1, 1))
            self.qkv = nn.Linear(dim, 3 * dim, bias=False)
            self.q_bias = nn.Parameter(torch.zeros(dim))
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            B, N, C = x.shape
            bias = torch.cat((self.q_bias, torch.zeros_like(self.q_bias), self.q_bias))
            qkv = (
                F.linear(x, self.qkv.weight, bias)
                .reshape(B, N, 3, self.num_heads, -1)
                .permute(2, 0, 3, 1, 4)
            )
            q, k, v = qkv.unbind(0)
            attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
            attn = (attn * self.scale.clamp(max=4.6).exp()).softmax(dim=-1)
            return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))

    return Cosine(heads * H, heads), (torch.randn(batch, S, heads * H),), "batch S dim"


@sample
def dense_gat_layer(batch, S, heads, H):
    class GAT(nn.Module):
        def __init__(self, n_feat, n_heads, n_hidden):
            super().__init__()
            self.n_heads, self.n_hidden = n_heads, n_hidden
            self.W = nn.Linear(n_feat, n_heads * n_hidden, bias=False)
            self.a_src = nn.Parameter(torch.randn(n_heads, n_hidden))
            self.a_dst = nn.Parameter(torch.randn(n_heads, n_hidden))

        def forward(self, x, adj):
            N = x.shape[0]
            h = self.W(x).view(N, self.n_heads, self.n_hidden)
            src, dst = (h * self.a_src).sum(-1), (h * self.a_dst).sum(-1)
            e = F.leaky_relu(src[:, None, :] + dst[None, :, :], 0.2)
            e = e.masked_fill(adj[..., None] == 0, float("-inf"))
            alpha = e.softmax(dim=1)
            return torch.einsum("ijh,jhf->ihf", alpha, h).reshape(N, -1)

    return (
        GAT(H + 1, heads, H),
        (torch.randn(S, H + 1), torch.ones(S, S)),
        {"x": "N n_feat", "adj": "N N"},
    )


@sample
def list_of_heads_cat(batch, S, heads, H):
    class Head(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(64, 64)))

        def forward(self, x):
            B, T, C = x.shape
            wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(-1)
            return wei @ self.value(x)

    class Multi(nn.Module):
        def __init__(self, n_embd, num_heads, head_size):
            super().__init__()
            self.heads = nn.ModuleList([Head(n_embd, head_size) for _ in range(num_heads)])
            self.proj = nn.Linear(num_heads * head_size, n_embd)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(self.proj(torch.cat([h(x) for h in self.heads], dim=-1)))

    return Multi(heads * H, heads, H).eval(), (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def decision_transformer_interleave(batch, S, heads, H):
    def fn(returns, states, actions):
        B, T, C = states.shape
        seq = torch.stack((returns, states, actions), dim=2).reshape(B, 3 * T, C)
        causal = torch.ones(3 * T, 3 * T).tril()
        att = (seq @ seq.transpose(1, 2) / C**0.5).masked_fill(causal == 0, -1e9).softmax(-1)
        out = (att @ seq).reshape(B, T, 3, C).permute(0, 2, 1, 3)
        return out[:, 1], out[:, 2]

    make = lambda: torch.randn(batch, S, H)
    d = "batch S H"
    return fn, (make(), make(), make()), {"returns": d, "states": d, "actions": d}


@sample
def late_interaction_maxsim(batch, S, heads, H):
    def fn(Q, D, doc_keep):
        sim = torch.einsum("qid,pjd->qpij", Q, D)
        sim = sim.masked_fill(doc_keep[None, :, None, :] == 0, -1e4)
        return sim.amax(-1).sum(-1)

    args = (torch.randn(batch, heads, H), torch.randn(batch + 1, S, H), torch.ones(batch + 1, S))
    return (
        fn,
        args,
        {"Q": "n_queries q_len H", "D": "n_docs doc_len H", "doc_keep": "n_docs doc_len"},
    )


@sample
def online_softmax_blocks(batch, S, heads, H):
    # unchecked: the number of blocks depends on S
    def fn(q, k, v, block=2):
        out = torch.zeros_like(q)
        top = torch.full(q.shape[:-1] + (1,), float("-inf"))
        total = torch.zeros_like(top)
        for kb, vb in zip(k.split(block, dim=-2), v.split(block, dim=-2)):
            s = q @ kb.mT
            new = torch.maximum(top, s.amax(-1, keepdim=True))
            p, fix = (s - new).exp(), (top - new).exp()
            total = total * fix + p.sum(-1, keepdim=True)
            out = out * fix + p @ vb
            top = new
        return out / total

    make = lambda: torch.randn(batch, heads, S, H)
    d = "batch heads S H"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@sample
def numpy_loop_over_samples(batch, S, heads, H):
    # unchecked: a loop over the samples, lengths read with .item()
    def fn(x, lengths):
        rows = []
        for i in range(len(x)):
            seq = x[i, : lengths[i].item()]
            a = torch.softmax(seq @ seq.T, dim=1)
            rows.append((a @ seq).mean(0))
        return torch.stack(rows)

    return (
        fn,
        (torch.randn(batch, S, H), torch.arange(batch) % 3 + 1),
        {"x": "batch S H", "lengths": "batch"},
    )
