"""Thirty-nine correct programs from paper code, GPT-style repos, vision, speech, search and RL.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 39 of 39 silent at four sizes, and no dim that does not hold at others.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import einsum

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


# ---------------------------------------------------------------- decoder-only
class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.n_embd = n_head, n_embd
        self.register_buffer(
            "bias",
            torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size),
        )

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class TinyGPT(nn.Module):
    def __init__(self, vocab_size, n_embd, n_head, block_size=32):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss


@sample
def gpt_with_loss(batch, S, heads, H):
    vocab_size = heads * H  # collides with n_embd
    model = TinyGPT(vocab_size, heads * H, heads).eval()
    idx = torch.randint(0, vocab_size, (batch, S))
    return model, (idx, idx.roll(-1, 1)), {"idx": "batch S", "targets": "batch S"}


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class GroupedQueryBlock(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, head_dim
        self.n_rep = n_heads // n_kv_heads
        self.wq = nn.Linear(dim, n_heads * head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * head_dim, bias=False)
        self.wo = nn.Linear(n_heads * head_dim, dim, bias=False)
        self.norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)
        hidden = 2 * dim
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        bsz, seqlen, _ = x.shape
        h = self.norm(x)
        xq = self.wq(h).view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = self.wk(h).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = self.wv(h).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        inv = 1.0 / (10000.0 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        freqs = torch.outer(torch.arange(seqlen).float(), inv)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos()[None, :, None, :], emb.sin()[None, :, None, :]
        xq = xq * cos + rotate_half(xq) * sin
        xk = xk * cos + rotate_half(xk) * sin
        xk = (
            xk[:, :, :, None, :]
            .expand(-1, -1, -1, self.n_rep, -1)
            .reshape(bsz, seqlen, self.n_heads, self.head_dim)
        )
        xv = torch.repeat_interleave(xv, self.n_rep, dim=2)
        out = F.scaled_dot_product_attention(
            xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2), is_causal=True
        )
        x = x + self.wo(out.transpose(1, 2).reshape(bsz, seqlen, -1))
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


@sample
def rope_gqa_swiglu(batch, S, heads, H):
    kv = heads // 2 if heads % 2 == 0 else 1
    model = GroupedQueryBlock(heads * H, heads, kv, H)
    return model, (torch.randn(batch, S, heads * H),), "batch S dim"


@sample
def complex_rotary_pairs(batch, S, heads, H):
    # interleaved pairs as complex numbers
    def attend(q, k):
        b, n, h, d = q.shape
        theta = 10000.0 ** (-torch.arange(0, d, 2).float() / d)
        angle = torch.arange(n).float()[:, None] * theta[None, :]
        cis = torch.polar(torch.ones_like(angle), angle)
        q_ = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
        k_ = torch.view_as_complex(k.float().reshape(*k.shape[:-1], -1, 2))
        q = torch.view_as_real(q_ * cis[None, :, None]).flatten(3)
        k = torch.view_as_real(k_ * cis[None, :, None]).flatten(3)
        return einsum("bihd,bjhd->bhij", q, k) / d**0.5

    q, k = torch.randn(2, batch, S, heads, H)
    return attend, (q, k), {"q": "batch S heads H", "k": "batch S heads H"}


@sample
def alibi_causal(batch, S, heads, H):
    def alibi_attention(q, k, v):
        B, n_heads, T, D = q.shape
        slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
        distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]
        bias = slopes[:, None, None] * distance[None]
        bias = bias.masked_fill(distance > 0, float("-inf"))
        w = torch.softmax(q @ k.mT / math.sqrt(D) + bias, -1)
        return (w @ v).transpose(1, 2).flatten(2)

    q, k, v = torch.randn(3, batch, heads, S, H)
    d = "batch heads S H"
    return alibi_attention, (q, k, v), {"q": d, "k": d, "v": d}


@sample
def cached_decode_step(batch, S, heads, H):
    class Step(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.hd = n_heads, n_embd // n_heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.out = nn.Linear(n_embd, n_embd)

        def forward(self, x_t, past_k, past_v):
            B, n_embd = x_t.shape
            q, k, v = self.qkv(x_t).view(B, 1, 3, self.n_heads, self.hd).permute(2, 0, 3, 1, 4)
            keys = torch.cat([past_k, k], dim=2)
            values = torch.cat([past_v, v], dim=2)
            w = (q @ keys.transpose(2, 3) * self.hd**-0.5).softmax(-1)
            y = self.out((w @ values).transpose(1, 2).reshape(B, n_embd))
            return y, (keys, values)

    x_t = torch.randn(batch, heads * H)
    pk, pv = torch.randn(2, batch, heads, S, H)
    p = "batch heads past H"
    return Step(heads * H, heads), (x_t, pk, pv), {"x_t": "batch n_embd", "past_k": p, "past_v": p}


@sample
def preallocated_cache_prefill(batch, S, heads, H):
    max_len = 24

    def prefill(q, k, v):
        B, n, h, d = k.shape
        cache_k = k.new_zeros(B, h, max_len, d)
        cache_v = v.new_zeros(B, h, max_len, d)
        cache_k[:, :, :n] = k.transpose(1, 2)
        cache_v[:, :, :n] = v.transpose(1, 2)
        q = q.transpose(1, 2)
        live = torch.arange(max_len)[None, :] <= torch.arange(n)[:, None]
        out = F.scaled_dot_product_attention(q, cache_k, cache_v, attn_mask=live)
        return out.transpose(1, 2)

    q, k, v = torch.randn(3, batch, S, heads, H)
    d = "batch S heads H"
    return prefill, (q, k, v), {"q": d, "k": d, "v": d}


@sample
def int8_kv_cache(batch, S, heads, H):
    def quant(x, dim):
        scale = x.abs().amax(dim=dim, keepdim=True).clamp_min(1e-6) / 127
        return torch.round(x / scale).to(torch.int8), scale

    def attend(q, k, v):
        k8, ks = quant(k, dim=2)  # keys per channel
        v8, vs = quant(v, dim=-1)  # values per token
        logits = torch.matmul(q * ks, k8.to(q.dtype).transpose(-1, -2)) / q.shape[-1] ** 0.5
        p = logits.softmax(dim=-1)
        return torch.matmul(p * vs.transpose(-1, -2), v8.to(q.dtype))

    q, k, v = torch.randn(3, batch, heads, S, H)
    d = "batch heads S H"
    return attend, (q, k, v), {"q": d, "k": d, "v": d}


class LatentKV(nn.Module):
    """Low-rank keys and values, rotary part shared by the heads."""

    def __init__(self, d_model, n_heads, d_nope, d_rope, d_latent):
        super().__init__()
        self.n_heads, self.d_nope, self.d_rope = n_heads, d_nope, d_rope
        self.q_proj = nn.Linear(d_model, n_heads * (d_nope + d_rope), bias=False)
        self.kv_down = nn.Linear(d_model, d_latent + d_rope, bias=False)
        self.kv_up = nn.Linear(d_latent, n_heads * 2 * d_nope, bias=False)
        self.o_proj = nn.Linear(n_heads * d_nope, d_model, bias=False)
        self.d_latent = d_latent

    def forward(self, h):
        B, L, _ = h.shape
        q = self.q_proj(h).view(B, L, self.n_heads, -1).transpose(1, 2)
        q_nope, q_rope = q.split([self.d_nope, self.d_rope], dim=-1)
        c, k_rope = self.kv_down(h).split([self.d_latent, self.d_rope], dim=-1)
        kv = self.kv_up(c).view(B, L, self.n_heads, 2 * self.d_nope).transpose(1, 2)
        k_nope, v = kv.chunk(2, dim=-1)
        k_rope = k_rope.unsqueeze(1).expand(-1, self.n_heads, -1, -1)
        q = torch.cat([q_nope, q_rope], -1)
        k = torch.cat([k_nope, k_rope], -1)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(o.transpose(1, 2).reshape(B, L, self.n_heads * self.d_nope))


@sample
def latent_kv(batch, S, heads, H):
    return (
        LatentKV(heads * H, heads, H, H, S),
        (torch.randn(batch, S, heads * H),),
        "batch S d_model",
    )


# ------------------------------------------------------------ encoder-decoder
class RelativeBias(nn.Module):
    def __init__(self, n_buckets, n_heads):
        super().__init__()
        self.n_buckets = n_buckets
        self.table = nn.Embedding(n_buckets, n_heads)

    def forward(self, q_len, k_len):
        rel = torch.arange(k_len)[None, :] - torch.arange(q_len)[:, None]
        bucket = rel.clamp(-self.n_buckets // 2, self.n_buckets // 2 - 1) + self.n_buckets // 2
        return self.table(bucket).permute(2, 0, 1).unsqueeze(0)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_kv):
        super().__init__()
        inner = n_heads * d_kv
        self.n_heads, self.d_kv = n_heads, d_kv
        self.self_q, self.self_k, self.self_v = (
            nn.Linear(d_model, inner, bias=False) for _ in range(3)
        )
        self.cross_q, self.cross_k, self.cross_v = (
            nn.Linear(d_model, inner, bias=False) for _ in range(3)
        )
        self.self_o = nn.Linear(inner, d_model, bias=False)
        self.cross_o = nn.Linear(inner, d_model, bias=False)
        self.rel = RelativeBias(8, n_heads)

    def shape(self, states):
        return states.view(states.size(0), -1, self.n_heads, self.d_kv).transpose(1, 2)

    def unshape(self, states):
        return (
            states.transpose(1, 2).contiguous().view(states.size(0), -1, self.n_heads * self.d_kv)
        )

    def forward(self, hidden, memory, memory_mask):
        q, k, v = (
            self.shape(self.self_q(hidden)),
            self.shape(self.self_k(hidden)),
            self.shape(self.self_v(hidden)),
        )
        scores = torch.matmul(q, k.transpose(3, 2)) + self.rel(q.size(2), k.size(2))
        causal = torch.ones(q.size(2), k.size(2), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(causal, torch.finfo(scores.dtype).min)
        hidden = hidden + self.self_o(self.unshape(scores.softmax(-1) @ v))
        q = self.shape(self.cross_q(hidden))
        k, v = self.shape(self.cross_k(memory)), self.shape(self.cross_v(memory))
        extended = (1.0 - memory_mask[:, None, None, :]) * -1e4
        attn = F.softmax(q @ k.transpose(3, 2) + extended, dim=-1)
        return hidden + self.cross_o(self.unshape(attn @ v))


@sample
def t5_style_decoder(batch, S, heads, H):
    src = heads  # collides with the heads
    mem_mask = torch.ones(batch, src)
    mem_mask[0, -1] = 0
    args = torch.randn(batch, S, heads * H), torch.randn(batch, src, heads * H), mem_mask
    return (
        DecoderLayer(heads * H, heads, H),
        args,
        {"hidden": "batch tgt d_model", "memory": "batch src d_model", "memory_mask": "batch src"},
    )


class SeqFirstAttention(nn.Module):
    """Seq-first, heads folded into the batch."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.v_proj, self.out_proj = (
            nn.Linear(embed_dim, embed_dim),
            nn.Linear(embed_dim, embed_dim),
        )

    def forward(self, query, key, key_padding_mask):
        tgt_len, bsz, embed_dim = query.size()
        src_len = key.size(0)
        q = self.q_proj(query) * self.scaling
        k, v = self.k_proj(key), self.v_proj(key)
        q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        k = k.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        v = v.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        w = torch.bmm(q, k.transpose(1, 2))
        assert list(w.size()) == [bsz * self.num_heads, tgt_len, src_len]
        w = w.view(bsz, self.num_heads, tgt_len, src_len)
        w = w.masked_fill(key_padding_mask.unsqueeze(1).unsqueeze(2), float("-inf"))
        w = w.view(bsz * self.num_heads, tgt_len, src_len)
        p = F.softmax(w, dim=-1)
        attn = torch.bmm(p, v)
        attn = attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        mean_w = p.view(bsz, self.num_heads, tgt_len, src_len).mean(dim=1)
        return self.out_proj(attn), mean_w


@sample
def seq_first_folded_heads(batch, S, heads, H):
    src = batch + 1
    pad = torch.zeros(batch, src, dtype=torch.bool)
    pad[0, -1] = True
    args = torch.randn(S, batch, heads * H), torch.randn(src, batch, heads * H), pad
    return (
        SeqFirstAttention(heads * H, heads),
        args,
        {
            "query": "tgt batch embed_dim",
            "key": "src batch embed_dim",
            "key_padding_mask": "batch src",
        },
    )


@sample
def relative_shift_memory(batch, S, heads, H):
    # segment memory with the pad-and-view shift
    def rel_shift(x):
        zero_pad = torch.zeros((x.size(0), 1, *x.size()[2:]), dtype=x.dtype)
        x_padded = torch.cat([zero_pad, x], dim=1)
        x_padded = x_padded.view(x.size(1) + 1, x.size(0), *x.size()[2:])
        return x_padded[1:].view_as(x)

    class RelAttn(nn.Module):
        def __init__(self, d_model, n_head, d_head):
            super().__init__()
            self.n_head, self.d_head = n_head, d_head
            self.q_net = nn.Linear(d_model, n_head * d_head, bias=False)
            self.kv_net = nn.Linear(d_model, 2 * n_head * d_head, bias=False)
            self.r_net = nn.Linear(d_model, n_head * d_head, bias=False)
            self.o_net = nn.Linear(n_head * d_head, d_model, bias=False)
            self.r_w_bias = nn.Parameter(torch.randn(n_head, d_head))
            self.r_r_bias = nn.Parameter(torch.randn(n_head, d_head))

        def forward(self, w, mems):
            qlen, bsz = w.size(0), w.size(1)
            cat = torch.cat([mems, w], 0)
            klen = cat.size(0)
            inv = torch.exp(torch.arange(0, w.size(2), 2.0) * -0.1)
            ang = torch.outer(torch.arange(klen - 1, -1, -1.0), inv)
            r = self.r_net(torch.cat([ang.sin(), ang.cos()], -1)).view(
                klen, self.n_head, self.d_head
            )
            q = self.q_net(w).view(qlen, bsz, self.n_head, self.d_head)
            k, v = torch.chunk(self.kv_net(cat), 2, dim=-1)
            k = k.view(klen, bsz, self.n_head, self.d_head)
            v = v.view(klen, bsz, self.n_head, self.d_head)
            AC = einsum("ibnd,jbnd->ijbn", q + self.r_w_bias, k)
            BD = rel_shift(einsum("ibnd,jnd->ijbn", q + self.r_r_bias, r))
            score = (AC + BD) / self.d_head**0.5
            mask = torch.triu(torch.ones(qlen, klen), diagonal=1 + klen - qlen).bool()[
                :, :, None, None
            ]
            prob = F.softmax(score.masked_fill(mask, -1e30), dim=1)
            vec = einsum("ijbn,jbnd->ibnd", prob, v)
            return w + self.o_net(vec.contiguous().view(qlen, bsz, self.n_head * self.d_head))

    mem_len = heads
    return (
        RelAttn(heads * H, heads, H),
        (torch.randn(S, batch, heads * H), torch.randn(mem_len, batch, heads * H)),
        {"w": "qlen bsz d_model", "mems": "mlen bsz d_model"},
    )


# -------------------------------------------------------------------- vision
class ViT(nn.Module):
    def __init__(self, chans, dim, n_heads, patch=2, n_classes=5):
        super().__init__()
        self.patch_embed = nn.Conv2d(chans, dim, kernel_size=patch, stride=patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 512, dim))
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(dim, n_classes)
        self.num_heads, self.scale = n_heads, (dim // n_heads) ** -0.5

    def forward(self, img):
        x = self.patch_embed(img).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = self.drop(x + self.pos[:, : x.shape[1]])
        B, N, C = x.shape
        qkv = (
            self.qkv(self.norm(x))
            .reshape(B, N, 3, self.num_heads, C // self.num_heads)
            .permute(2, 0, 3, 1, 4)
        )
        q, k, v = qkv.unbind(0)
        attn = self.drop(((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1))
        x = x + self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))
        return self.head(x[:, 0])


@sample
def vit_cls_token(batch, S, heads, H):
    img = torch.randn(batch, 3, 2 * S, 2 * heads)
    return ViT(3, heads * H, heads).eval(), (img,), "batch chans height width"


@sample
def shifted_windows(batch, S, heads, H):
    win = 2

    class WindowAttention(nn.Module):
        def __init__(self, dim, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.qkv = nn.Linear(dim, 3 * dim)
            self.bias = nn.Parameter(torch.randn(n_heads, win * win, win * win))

        def forward(self, x):
            B, Hh, Ww, C = x.shape
            shifted = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
            t = shifted.view(B, Hh // win, win, Ww // win, win, C)
            t = t.permute(0, 1, 3, 2, 4, 5).reshape(-1, win * win, C)
            q, k, v = rearrange(
                self.qkv(t), "n w (three h d) -> three n h w d", three=3, h=self.n_heads
            )
            a = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5 + self.bias.unsqueeze(0)
            y = (a.softmax(-1) @ v).transpose(1, 2).reshape(-1, win, win, C)
            y = (
                y.view(B, Hh // win, Ww // win, win, win, C)
                .permute(0, 1, 3, 2, 4, 5)
                .reshape(B, Hh, Ww, C)
            )
            return x + torch.roll(y, shifts=(1, 1), dims=(1, 2))

    # sides are multiples of the window
    return (
        WindowAttention(heads * H, heads),
        (torch.randn(batch, 2 * S, 2 * heads, heads * H),),
        "batch height width dim",
    )


@sample
def axial_rows_then_columns(batch, S, heads, H):
    def plain(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) / q.size(-1) ** 0.5, -1) @ v

    def axial(x, w_row, w_col):
        b, c, h, w = x.shape
        rows = x.permute(0, 2, 3, 1).reshape(b * h, w, c)
        q, k, v = (rows @ w_row).chunk(3, dim=-1)
        x = x + plain(q, k, v).view(b, h, w, c).permute(0, 3, 1, 2)
        cols = x.permute(0, 3, 2, 1).reshape(b * w, h, c)
        q, k, v = (cols @ w_col).chunk(3, dim=-1)
        return x + plain(q, k, v).view(b, w, h, c).permute(0, 3, 2, 1)

    c = H
    args = torch.randn(batch, c, S, heads), torch.randn(c, 3 * c), torch.randn(c, 3 * c)
    return (
        axial,
        args,
        {"x": "batch chan height width", "w_row": "chan chan3", "w_col": "chan chan3"},
    )


class UNetAttention(nn.Module):
    """Spatial attention of a diffusion net with time modulation."""

    def __init__(self, ch, n_heads, t_dim):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.GroupNorm(n_heads, ch)
        self.to_qkv = nn.Conv2d(ch, ch * 3, 1, bias=False)
        self.to_out = nn.Conv2d(ch, ch, 1)
        self.ada = nn.Linear(t_dim, 2 * ch)

    def forward(self, x, t_emb):
        b, c, hh, ww = x.shape
        scale, shift = self.ada(F.silu(t_emb))[:, :, None, None].chunk(2, dim=1)
        h = self.norm(x) * (1 + scale) + shift
        q, k, v = (
            rearrange(t, "b (h c) x y -> b h c (x y)", h=self.n_heads)
            for t in self.to_qkv(h).chunk(3, dim=1)
        )
        sim = einsum("b h d i, b h d j -> b h i j", q * q.shape[2] ** -0.5, k)
        out = einsum("b h i j, b h d j -> b h i d", sim.softmax(dim=-1), v)
        out = rearrange(out, "b h (x y) d -> b (h d) x y", x=hh, y=ww)
        return x + self.to_out(out)


@sample
def unet_spatial_attention(batch, S, heads, H):
    args = torch.randn(batch, heads * H, S, heads), torch.randn(batch, H)
    return (
        UNetAttention(heads * H, heads, H),
        args,
        {"x": "batch ch height width", "t_emb": "batch t_dim"},
    )


class ObjectQueries(nn.Module):
    """Object queries on torch's own attention, seq-first."""

    def __init__(self, d_model, n_heads, n_queries):
        super().__init__()
        self.query_embed = nn.Embedding(n_queries, d_model)
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, dropout=0.1)
        self.cross_attn = nn.MultiheadAttention(d_model, n_heads, dropout=0.1)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.bbox = nn.Linear(d_model, 4)

    def forward(self, feat, pos):
        bs = feat.shape[0]
        src = feat.flatten(2).permute(2, 0, 1)
        pos = pos.flatten(1).permute(1, 0).unsqueeze(1)
        query_pos = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        tgt = torch.zeros_like(query_pos)
        q = k = tgt + query_pos
        tgt = self.norm1(tgt + self.self_attn(q, k, value=tgt)[0])
        tgt = self.norm2(tgt + self.cross_attn(query=tgt + query_pos, key=src + pos, value=src)[0])
        return self.bbox(tgt.transpose(0, 1)).sigmoid()


@sample
def detection_queries(batch, S, heads, H):
    d = heads * H
    args = torch.randn(batch, d, S, 2), torch.randn(d, S, 2)
    return (
        ObjectQueries(d, heads, S).eval(),
        args,
        {"feat": "batch d_model height width", "pos": "d_model height width"},
    )


# -------------------------------------------------------------------- speech
class ConformerBlock(nn.Module):
    def __init__(self, n_mels, d, n_heads, kernel=3):
        super().__init__()
        self.sub = nn.Conv1d(n_mels, d, 3, stride=1, padding=1)
        self.attn = nn.MultiheadAttention(d, n_heads, batch_first=True)
        self.ln_a, self.ln_c = nn.LayerNorm(d), nn.LayerNorm(d)
        self.pw1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.pw2 = nn.Conv1d(d, d, 1)

    def forward(self, mels, lengths):
        x = F.relu(self.sub(mels)).transpose(1, 2)
        pad = torch.arange(x.size(1))[None, :] >= lengths[:, None]
        h = self.ln_a(x)
        x = x + self.attn(h, h, h, key_padding_mask=pad, need_weights=False)[0]
        h = self.ln_c(x).transpose(1, 2).masked_fill(pad[:, None], 0.0)
        h = F.glu(self.pw1(h), dim=1)
        h = self.pw2(F.silu(self.bn(self.dw(h)))).transpose(1, 2)
        return (x + h).masked_fill(pad.unsqueeze(-1), 0.0)


@sample
def conformer_block(batch, S, heads, H):
    n_mels = S
    lengths = torch.full((batch,), 3)
    return (
        ConformerBlock(n_mels, heads * H, heads).eval(),
        (torch.randn(batch, n_mels, S), lengths),
        {"mels": "batch n_mels frames", "lengths": "batch"},
    )


class LocationSensitive(nn.Module):
    """Additive attention that sees where it looked before."""

    def __init__(self, rnn_dim, enc_dim, attn_dim, n_filters):
        super().__init__()
        self.query = nn.Linear(rnn_dim, attn_dim, bias=False)
        self.memory = nn.Linear(enc_dim, attn_dim, bias=False)
        self.conv = nn.Conv1d(2, n_filters, 3, padding=1, bias=False)
        self.loc = nn.Linear(n_filters, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, hidden, enc, prev, cum):
        loc = self.conv(torch.stack((prev, cum), dim=1)).transpose(1, 2)
        e = self.v(torch.tanh(self.query(hidden.unsqueeze(1)) + self.memory(enc) + self.loc(loc)))
        alpha = F.softmax(e.squeeze(-1), dim=1)
        context = torch.bmm(alpha.unsqueeze(1), enc).squeeze(1)
        return context, alpha, cum + alpha


@sample
def location_sensitive_step(batch, S, heads, H):
    prev = torch.softmax(torch.randn(batch, S), -1)
    args = torch.randn(batch, heads * H), torch.randn(batch, S, H), prev, prev.clone()
    return (
        LocationSensitive(heads * H, H, S, heads),
        args,
        {
            "hidden": "batch rnn_dim",
            "enc": "batch frames enc_dim",
            "prev": "batch frames",
            "cum": "batch frames",
        },
    )


@sample
def attentive_statistics_pooling(batch, S, heads, H):
    # speaker embedding: weighted mean and deviation over time
    class ASP(nn.Module):
        def __init__(self, chan, bottleneck):
            super().__init__()
            self.tdnn = nn.Conv1d(3 * chan, bottleneck, 1)
            self.conv = nn.Conv1d(bottleneck, chan, 1)

        def forward(self, x):
            mu = x.mean(2, keepdim=True).expand_as(x)
            sd = x.var(2, unbiased=False, keepdim=True).add(1e-5).sqrt().expand_as(x)
            w = self.conv(torch.tanh(self.tdnn(torch.cat((x, mu, sd), dim=1)))).softmax(dim=2)
            mean = (w * x).sum(2)
            std = ((w * (x - mean[..., None]) ** 2).sum(2) + 1e-5).sqrt()
            return torch.cat((mean, std), 1)

    return ASP(heads * H, H), (torch.randn(batch, heads * H, S),), "batch chan time"


# ------------------------------------------------- efficient attention variants
@sample
def causal_linear_attention(batch, S, heads, H):
    def phi(x):
        return F.elu(x) + 1

    def linear_attn(q, k, v):
        q, k = phi(q), phi(k)
        state = torch.cumsum(einsum("bhtd,bhte->bhtde", k, v), dim=2)
        z = 1.0 / (einsum("bhtd,bhtd->bht", q, k.cumsum(2)) + 1e-6)
        return einsum("bhtd,bhtde,bht->bhte", q, state, z)

    q, k, v = torch.randn(3, batch, heads, S, H)
    d = {"q": "batch heads S H", "k": "batch heads S H", "v": "batch heads S H"}
    return linear_attn, (q, k, v), d


class RandomFeatureAttention(nn.Module):
    def __init__(self, dim, n_heads, n_feat):
        super().__init__()
        self.h = n_heads
        self.to_q, self.to_k, self.to_v = (
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
        )
        self.feat = nn.Linear(dim // n_heads, n_feat, bias=False)

    def kernel(self, x):
        x = x * x.shape[-1] ** -0.25
        sq = (x**2).sum(-1, keepdim=True) / 2
        return torch.exp(self.feat(x) - sq) / self.feat.out_features**0.5 + 1e-4

    def forward(self, x):
        q, k, v = (
            rearrange(f(x), "b n (h d) -> b h n d", h=self.h)
            for f in (self.to_q, self.to_k, self.to_v)
        )
        q, k = self.kernel(q), self.kernel(k)
        d_inv = 1.0 / einsum("...nm,...m->...n", q, k.sum(dim=-2))
        context = k.transpose(-1, -2) @ v
        out = (q @ context) * d_inv.unsqueeze(-1)
        return rearrange(out, "b h n d -> b n (h d)")


@sample
def random_features(batch, S, heads, H):
    return (
        RandomFeatureAttention(heads * H, heads, S),
        (torch.randn(batch, S, heads * H),),
        "batch S dim",
    )


@sample
def banded_by_unfold(batch, S, heads, H):
    radius = 1

    def local(q, k, v):
        B, h, n, d = q.shape
        width = 2 * radius + 1
        kw = F.pad(k, (0, 0, radius, radius)).unfold(2, width, 1)
        vw = F.pad(v, (0, 0, radius, radius)).unfold(2, width, 1)
        ok = F.pad(torch.ones(n), (radius, radius)).unfold(0, width, 1).bool()
        s = einsum("bhnd,bhndw->bhnw", q, kw) / d**0.5
        p = s.masked_fill(~ok, float("-inf")).softmax(-1)
        return einsum("bhnw,bhndw->bhnd", p, vw)

    q, k, v = torch.randn(3, batch, heads, S, H)
    return local, (q, k, v), dict.fromkeys("qkv", "batch heads S H")


@sample
def online_softmax_chunks(batch, S, heads, H):
    # unchecked: as many passes as key blocks
    block = 2

    def flash(q, k, v):
        q = q * q.shape[-1] ** -0.5
        m = q.new_full((*q.shape[:-1], 1), float("-inf"))
        l = torch.zeros_like(m)  # noqa: E741 - as papers call it
        acc = torch.zeros_like(q)
        for kb, vb in zip(k.split(block, dim=2), v.split(block, dim=2), strict=True):
            s = q @ kb.transpose(-1, -2)
            m_new = torch.maximum(m, s.amax(-1, keepdim=True))
            p = torch.exp(s - m_new)
            alpha = torch.exp(m - m_new)
            l = alpha * l + p.sum(-1, keepdim=True)  # noqa: E741
            acc = alpha * acc + p @ vb
            m = m_new
        return acc / l

    q, k, v = torch.randn(3, batch, heads, S, H)
    return flash, (q, k, v), dict.fromkeys("qkv", "batch heads S H")


@sample
def retention_parallel(batch, S, heads, H):
    class Retention(nn.Module):
        def __init__(self, d_model, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.wq, self.wk = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
            self.wv, self.wg = nn.Linear(d_model, 2 * d_model), nn.Linear(d_model, 2 * d_model)
            self.wo = nn.Linear(2 * d_model, d_model)
            self.gn = nn.GroupNorm(n_heads, 2 * d_model)

        def forward(self, x):
            B, N, D = x.shape
            gamma = 1 - torch.exp2(-5.0 - torch.arange(self.n_heads))
            idx = torch.arange(N)
            decay = (gamma[:, None, None] ** (idx[:, None] - idx[None, :])).tril()
            q = self.wq(x).reshape(B, N, self.n_heads, -1)
            k = self.wk(x).reshape(B, N, self.n_heads, -1)
            v = self.wv(x).reshape(B, N, self.n_heads, -1)
            s = einsum("bnhd,bmhd->bhnm", q, k) * decay
            y = einsum("bhnm,bmhe->bnhe", s, v).reshape(B * N, 2 * D)
            y = self.gn(y).view(B, N, 2 * D)
            return self.wo(F.silu(self.wg(x)) * y)

    return Retention(heads * H, heads), (torch.randn(batch, S, heads * H),), "batch S d_model"


class GatedAttentionUnit(nn.Module):
    """One shared projection, squared relu, gate on the value path."""

    def __init__(self, dim, expansion, s):
        super().__init__()
        self.e, self.s = expansion, s
        self.uv = nn.Linear(dim, 2 * expansion + s)
        self.gamma = nn.Parameter(torch.randn(2, s))
        self.beta = nn.Parameter(torch.randn(2, s))
        self.o = nn.Linear(expansion, dim)

    def forward(self, x):
        n = x.shape[1]
        u, v, base = torch.split(F.silu(self.uv(x)), [self.e, self.e, self.s], dim=-1)
        base = base[..., None, :] * self.gamma + self.beta
        q, k = torch.unbind(base, dim=2)
        kernel = F.relu(torch.matmul(q, k.transpose(1, 2)) / n) ** 2
        return x + self.o(u * torch.bmm(kernel, v))


@sample
def gated_attention_unit(batch, S, heads, H):
    return (
        GatedAttentionUnit(heads * H, 2 * H, S),
        (torch.randn(batch, S, heads * H),),
        "batch S dim",
    )


@sample
def talking_heads(batch, S, heads, H):
    def talk(x, Wq, Wk, Wv, Pl, Pw, Wo):
        q = einsum("bnd,dhk->bhnk", x, Wq)
        k = einsum("bnd,dhk->bhnk", x, Wk)
        v = einsum("bnd,dhk->bhnk", x, Wv)
        J = einsum("bhnk,bhmk->bhnm", q, k)
        L = einsum("bhnm,hg->bgnm", J, Pl)
        U = einsum("bgnm,gh->bhnm", L.softmax(-1), Pw)
        return einsum("bhnm,bhmk,hkd->bnd", U, v, Wo)

    d = heads * H
    w = [torch.randn(d, heads, H) for _ in range(3)]
    args = (
        torch.randn(batch, S, d),
        *w,
        torch.randn(heads, heads),
        torch.randn(heads, heads),
        torch.randn(heads, H, d),
    )
    return (
        talk,
        args,
        {
            "x": "batch S d_model",
            "Wq": "d_model heads H",
            "Wk": "d_model heads H",
            "Wv": "d_model heads H",
            "Pl": "heads heads",
            "Pw": "heads heads",
            "Wo": "heads H d_model",
        },
    )


# ------------------------------------------------------------- sets and latents
class MAB(nn.Module):
    """Set block: heads split off by split and cat along the batch."""

    def __init__(self, dim_Q, dim_K, dim_V, num_heads):
        super().__init__()
        self.dim_V, self.num_heads = dim_V, num_heads
        self.fc_q, self.fc_k = nn.Linear(dim_Q, dim_V), nn.Linear(dim_K, dim_V)
        self.fc_v, self.fc_o = nn.Linear(dim_K, dim_V), nn.Linear(dim_V, dim_V)

    def forward(self, Q, K):
        Q = self.fc_q(Q)
        K, V = self.fc_k(K), self.fc_v(K)
        dim_split = self.dim_V // self.num_heads
        Q_ = torch.cat(Q.split(dim_split, 2), 0)
        K_ = torch.cat(K.split(dim_split, 2), 0)
        V_ = torch.cat(V.split(dim_split, 2), 0)
        A = torch.softmax(Q_.bmm(K_.transpose(1, 2)) / math.sqrt(self.dim_V), 2)
        O = torch.cat((Q_ + A.bmm(V_)).split(Q.size(0), 0), 2)  # noqa: E741
        return O + F.relu(self.fc_o(O))


class ISAB(nn.Module):
    def __init__(self, dim_in, dim_out, num_heads, num_inds):
        super().__init__()
        self.I = nn.Parameter(torch.randn(1, num_inds, dim_out))
        self.mab0 = MAB(dim_out, dim_in, dim_out, num_heads)
        self.mab1 = MAB(dim_in, dim_out, dim_out, num_heads)

    def forward(self, X):
        inner = self.mab0(self.I.repeat(X.size(0), 1, 1), X)
        return self.mab1(X, inner)


@sample
def induced_set_attention(batch, S, heads, H):
    return ISAB(H, heads * H, heads, heads), (torch.randn(batch, S, H),), "batch points dim_in"


class Resampler(nn.Module):
    """Latents read from media frames and from themselves."""

    def __init__(self, dim, n_heads, n_latents):
        super().__init__()
        self.heads = n_heads
        self.latents = nn.Parameter(torch.randn(n_latents, dim))
        self.norm_m, self.norm_l = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim * 2, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, media):
        x = self.norm_m(media)
        lat = repeat(self.latents, "n d -> b n d", b=media.shape[0])
        ln = self.norm_l(lat)
        kv_in = torch.cat((x, ln), dim=-2)
        q = self.to_q(ln)
        k, v = self.to_kv(kv_in).chunk(2, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), (q, k, v))  # noqa: C417
        sim = einsum("b h i d, b h j d -> b h i j", q * q.shape[-1] ** -0.5, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        out = einsum("b h i j, b h j d -> b h i d", sim.softmax(-1), v)
        return lat + self.to_out(rearrange(out, "b h n d -> b n (h d)"))


@sample
def perceiver_resampler(batch, S, heads, H):
    return Resampler(heads * H, heads, S), (torch.randn(batch, S, heads * H),), "batch frames dim"


@sample
def prefix_tuned_attention(batch, S, heads, H):
    class Prefix(nn.Module):
        def __init__(self, n_embd, n_head, n_prefix, bottleneck):
            super().__init__()
            self.n_head = n_head
            self.prefix = nn.Parameter(torch.randn(2, n_head, n_prefix, n_embd // n_head))
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.down, self.up = nn.Linear(n_embd, bottleneck), nn.Linear(bottleneck, n_embd)

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = (
                t.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1)
            )
            pk, pv = self.prefix.unsqueeze(1).expand(-1, B, -1, -1, -1)
            P = pk.size(2)
            k, v = torch.cat([pk, k], 2), torch.cat([pv, v], 2)
            mask = torch.ones(T, T, dtype=torch.bool).tril()
            mask = torch.cat([mask.new_ones(T, P), mask], dim=1)
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            o = o.transpose(1, 2).flatten(-2)
            return x + o + self.up(F.relu(self.down(o)))

    return Prefix(heads * H, heads, S, H), (torch.randn(batch, S, heads * H),), "batch S n_embd"


# ------------------------------------------------------------ structure, graphs
@sample
def triangle_update(batch, S, heads, H):
    class Triangle(nn.Module):
        def __init__(self, c_s, c_z, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.left, self.right = nn.Linear(c_s, c_z), nn.Linear(c_s, c_z)
            self.a, self.b, self.g = nn.Linear(c_z, c_z), nn.Linear(c_z, c_z), nn.Linear(c_z, c_z)
            self.qkv = nn.Linear(c_z, 3 * c_z, bias=False)
            self.bias = nn.Linear(c_z, n_heads, bias=False)

        def forward(self, s):
            z = self.left(s)[:, :, None, :] + self.right(s)[:, None, :, :]
            z = z + torch.sigmoid(self.g(z)) * einsum("bikc,bjkc->bijc", self.a(z), self.b(z))
            B, N, _, C = z.shape
            q, k, v = self.qkv(z).view(B, N, N, 3, self.n_heads, C // self.n_heads).unbind(3)
            # around the starting node: rows attend along j
            logits = einsum("bijhd,bikhd->bhijk", q, k) / (C // self.n_heads) ** 0.5
            logits = logits + self.bias(z).permute(0, 3, 1, 2).unsqueeze(2)
            o = einsum("bhijk,bikhd->bijhd", logits.softmax(-1), v)
            return z + o.reshape(B, N, N, C)

    return Triangle(H, heads * H, heads), (torch.randn(batch, S, H),), "batch residues c_s"


@sample
def dense_graph_attention(batch, S, heads, H):
    class GAT(nn.Module):
        def __init__(self, d_in, n_heads, d_head):
            super().__init__()
            self.n_heads, self.d_head = n_heads, d_head
            self.lin = nn.Linear(d_in, n_heads * d_head, bias=False)
            self.a_src = nn.Parameter(torch.randn(n_heads, d_head))
            self.a_dst = nn.Parameter(torch.randn(n_heads, d_head))

        def forward(self, x, adj):
            B, N, _ = x.shape
            h = self.lin(x).view(B, N, self.n_heads, self.d_head)
            src = (h * self.a_src).sum(-1)
            dst = (h * self.a_dst).sum(-1)
            e = F.leaky_relu(dst[:, :, None, :] + src[:, None, :, :], 0.2)
            e = e.masked_fill(adj.unsqueeze(-1) == 0, -1e9)
            alpha = F.softmax(e, dim=2)
            return F.elu(einsum("bijh,bjhd->bihd", alpha, h).flatten(2))

    adj = (torch.rand(batch, S, S) > 0.5).float() + torch.eye(S)
    return (
        GAT(H, heads, H),
        (torch.randn(batch, S, H), adj),
        {"x": "batch nodes d_in", "adj": "batch nodes nodes"},
    )


# ------------------------------------------------------------------ routing, RL
class TopKMoE(nn.Module):
    def __init__(self, d, n_experts, k, d_ff):
        super().__init__()
        self.k, self.n_experts = k, n_experts
        self.gate = nn.Linear(d, n_experts, bias=False)
        self.w_in = nn.Parameter(torch.randn(n_experts, d, d_ff))
        self.w_out = nn.Parameter(torch.randn(n_experts, d_ff, d))

    def forward(self, x):
        B, T, D = x.shape
        flat = x.reshape(B * T, D)
        probs = self.gate(flat).softmax(-1)
        top_p, top_i = probs.topk(self.k, dim=-1)
        top_p = top_p / top_p.sum(-1, keepdim=True)
        dispatch = F.one_hot(top_i, self.n_experts).to(x.dtype)
        combine = (dispatch * top_p.unsqueeze(-1)).sum(1)
        h = F.gelu(einsum("td,edf->etf", flat, self.w_in))
        y = einsum("etf,efd,te->td", h, self.w_out, combine)
        load = dispatch.sum(1).mean(0)
        aux = self.n_experts * (load * probs.mean(0)).sum()
        return y.view(B, T, D), aux


@sample
def topk_moe(batch, S, heads, H):
    return TopKMoE(H, batch * S, 2, heads), (torch.randn(batch, S, H),), "batch S d"


@sample
def decision_transformer_tokens(batch, S, heads, H):
    class DT(nn.Module):
        def __init__(self, state_dim, act_dim, hidden):
            super().__init__()
            self.e_r, self.e_s, self.e_a = (
                nn.Linear(1, hidden),
                nn.Linear(state_dim, hidden),
                nn.Linear(act_dim, hidden),
            )
            self.qkv = nn.Linear(hidden, 3 * hidden)
            self.act = nn.Linear(hidden, act_dim)

        def forward(self, rtg, states, actions):
            B, K = states.shape[0], states.shape[1]
            toks = torch.stack(
                (self.e_r(rtg.unsqueeze(-1)), self.e_s(states), self.e_a(actions)), dim=1
            )
            toks = toks.permute(0, 2, 1, 3).reshape(B, 3 * K, -1)
            q, k, v = self.qkv(toks).chunk(3, -1)
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            o = o.reshape(B, K, 3, -1).permute(0, 2, 1, 3)
            return torch.tanh(self.act(o[:, 1]))

    args = torch.randn(batch, S), torch.randn(batch, S, H), torch.randn(batch, S, heads)
    return (
        DT(H, heads, heads * H),
        args,
        {"rtg": "batch K", "states": "batch K state_dim", "actions": "batch K act_dim"},
    )


@sample
def clipped_policy_loss(batch, S, heads, H):
    def loss_fn(logits, tokens, old_logp, advantages, mask):
        logp = torch.gather(logits.log_softmax(-1), 2, tokens.unsqueeze(-1)).squeeze(-1)
        ratio = torch.exp(logp - old_logp)
        adv = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        adv = adv.unsqueeze(1)
        per_token = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
        return ((per_token * mask).sum(1) / mask.sum(1)).mean()

    vocab = heads + 1
    args = (
        torch.randn(batch, S, vocab),
        torch.randint(0, vocab, (batch, S)),
        -torch.rand(batch, S),
        torch.randn(batch),
        torch.ones(batch, S),
    )
    return (
        loss_fn,
        args,
        {
            "logits": "batch S vocab",
            "tokens": "batch S",
            "old_logp": "batch S",
            "advantages": "batch",
            "mask": "batch S",
        },
    )


@sample
def beam_search_step(batch, S, heads, H):
    beam = heads

    def step(logits, scores, cache_k):
        n, k, vocab = logits.shape
        total = scores.unsqueeze(-1) + logits.log_softmax(-1)
        best, flat = total.view(n, k * vocab).topk(beam, dim=-1)
        origin = torch.div(flat, vocab, rounding_mode="floor")
        token = flat % vocab
        idx = origin[:, :, None, None].expand(-1, -1, cache_k.size(2), cache_k.size(3))
        return best, token, cache_k.gather(1, idx)

    args = torch.randn(batch, beam, S + 2), torch.randn(batch, beam), torch.randn(batch, beam, S, H)
    return (
        step,
        args,
        {"logits": "batch beam vocab", "scores": "batch beam", "cache_k": "batch beam past H"},
    )


# ------------------------------------------------------- retrieval, distillation
@sample
def late_interaction(batch, S, heads, H):
    def maxsim(q, d, d_mask):
        q, d = F.normalize(q, dim=-1), F.normalize(d, dim=-1)
        sim = einsum("qid,njd->qnij", q, d)
        sim = sim.masked_fill(~d_mask[None, :, None, :].bool(), -1.0)
        scores = sim.max(dim=-1).values.sum(dim=-1)
        return F.cross_entropy(scores, torch.arange(q.size(0)))

    # as many documents as queries or more
    docs = batch
    mask = torch.ones(docs, heads)
    mask[0, -1] = 0
    args = torch.randn(batch, S, H), torch.randn(docs, heads, H), mask
    return maxsim, args, {"q": "batch qlen D", "d": "batch dlen D", "d_mask": "batch dlen"}


@sample
def two_tower_contrastive(batch, S, heads, H):
    class Towers(nn.Module):
        def __init__(self, d_img, d_txt, d_joint):
            super().__init__()
            self.vis, self.txt = (
                nn.Linear(d_img, d_joint, bias=False),
                nn.Linear(d_txt, d_joint, bias=False),
            )
            self.logit_scale = nn.Parameter(torch.tensor(2.6592))

        def forward(self, image_feats, text_hidden, eot):
            b = text_hidden.shape[0]
            i = self.vis(image_feats.mean(1))
            t = self.txt(text_hidden[torch.arange(b), eot])
            i, t = i / i.norm(dim=1, keepdim=True), t / t.norm(dim=1, keepdim=True)
            logits = self.logit_scale.exp() * i @ t.t()
            labels = torch.arange(b)
            return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2

    args = torch.randn(batch, heads, H), torch.randn(batch, S, heads * H), torch.full((batch,), 2)
    return (
        Towers(H, heads * H, S),
        args,
        {"image_feats": "batch patches d_img", "text_hidden": "batch S d_txt", "eot": "batch"},
    )


@sample
def relation_distillation(batch, S, heads, H):
    n_rel = 2

    def relation(h):
        b, t, d = h.shape
        r = h.reshape(b, t, n_rel, d // n_rel).transpose(1, 2)
        return r @ r.transpose(-1, -2) / (d // n_rel) ** 0.5

    def loss(student, teacher):
        ls = relation(student).log_softmax(-1)
        pt = relation(teacher).softmax(-1)
        return F.kl_div(ls, pt, reduction="none").sum(-1).mean()

    # the widths of student and teacher differ, the relations do not
    args = torch.randn(batch, S, 2 * H), torch.randn(batch, S, 2 * heads)
    return loss, args, {"student": "batch S d_student", "teacher": "batch S d_teacher"}


# --------------------------------------------------------------- time series
@sample
def patched_channels(batch, S, heads, H):
    patch, stride = 4, 2

    class PatchTS(nn.Module):
        def __init__(self, d_model, n_heads, horizon):
            super().__init__()
            self.embed = nn.Linear(patch, d_model)
            self.layer = nn.TransformerEncoderLayer(d_model, n_heads, 2 * d_model, batch_first=True)
            self.head = nn.Linear(d_model, horizon)

        def forward(self, series):
            B, L, M = series.shape
            mu = series.mean(1, keepdim=True)
            x = (series - mu).transpose(1, 2).unfold(-1, patch, stride)
            x = self.embed(x).flatten(0, 1)
            x = self.layer(x).mean(1)
            return self.head(x).view(B, M, -1).transpose(1, 2) + mu

    return PatchTS(heads * H, heads, S).eval(), (torch.randn(batch, S + 3, heads),), "batch L M"
