"""Thirty-three correct programs: position codes, windows, caches, slots, layouts of all kinds.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 32 of 33 silent and right at other sizes. In `seq_first_bmm` the batch stands in products
only (``batch*heads``), so that a check at other sizes did not know how large it had been.
"""

# ruff: noqa: B905, E741, RUF005

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, reduce, repeat

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


@sample
def alibi_scores(batch, S, heads, H):
    slopes = torch.tensor([2.0 ** -(i + 1) for i in range(heads)])

    def attend(q, k, v):
        T = k.shape[2]
        pos = torch.arange(T)
        dist = (pos[None, :] - pos[:, None]).abs()
        bias = -slopes[:, None, None] * dist
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return (scores + bias).softmax(-1) @ v

    q, k, v = (torch.randn(batch, heads, S, H) for _ in range(3))
    return attend, (q, k, v), dict.fromkeys("qkv", "batch heads S H")


@sample
def rope_half(batch, S, heads, H):
    def rotate(q, k):
        B, T, nh, hd = q.shape
        freq = 1.0 / 10000 ** (torch.arange(0, hd, 2) / hd)
        angle = torch.outer(torch.arange(T).float(), freq)
        cos = torch.cat([angle.cos(), angle.cos()], dim=-1)[None, :, None, :]
        sin = torch.cat([angle.sin(), angle.sin()], dim=-1)[None, :, None, :]

        def half(x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat((-b, a), dim=-1)

        q = q * cos + half(q) * sin
        k = k * cos + half(k) * sin
        return torch.einsum("bshd,bthd->bhst", q, k)

    q, k = torch.randn(batch, S, heads, H), torch.randn(batch, S, heads, H)
    return rotate, (q, k), {"q": "batch S heads H", "k": "batch S heads H"}


@sample
def seq_first_bmm(batch, S, heads, H):
    n_embd = heads * H

    class SeqFirst(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = heads
            self.in_proj = nn.Linear(n_embd, 3 * n_embd)
            self.out_proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            T, B, C = x.shape
            hd = C // self.heads
            q, k, v = self.in_proj(x).chunk(3, dim=-1)
            q = q.contiguous().view(T, B * self.heads, hd).transpose(0, 1)
            k = k.contiguous().view(T, B * self.heads, hd).transpose(0, 1)
            v = v.contiguous().view(T, B * self.heads, hd).transpose(0, 1)
            att = torch.bmm(q, k.transpose(1, 2)) * hd**-0.5
            out = torch.bmm(att.softmax(dim=-1), v)
            out = out.transpose(0, 1).contiguous().view(T, B, C)
            return self.out_proj(out)

    return SeqFirst(), (torch.randn(S, batch, n_embd),), "S batch n_embd"


@sample
def grouped_query(batch, S, heads, H):
    n_embd = heads * H

    class GQA(nn.Module):
        def __init__(self):
            super().__init__()
            self.n_heads, self.n_kv, self.head_dim = heads, 1, H
            self.wq = nn.Linear(n_embd, self.n_heads * self.head_dim, bias=False)
            self.wk = nn.Linear(n_embd, self.n_kv * self.head_dim, bias=False)
            self.wv = nn.Linear(n_embd, self.n_kv * self.head_dim, bias=False)

        def forward(self, x):
            bsz, seqlen, _ = x.shape
            q = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim)
            k = self.wk(x).view(bsz, seqlen, self.n_kv, self.head_dim)
            v = self.wv(x).view(bsz, seqlen, self.n_kv, self.head_dim)
            rep = self.n_heads // self.n_kv
            k = k.repeat_interleave(rep, dim=2)
            v = v.repeat_interleave(rep, dim=2)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return y.transpose(1, 2).flatten(2)

    return GQA(), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def linear_attention(batch, S, heads, H):
    def linear(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = torch.einsum("bhtd,bhte->bhde", k, v)
        z = 1 / torch.einsum("bhsd,bhd->bhs", q, k.sum(dim=2))
        return torch.einsum("bhsd,bhde,bhs->bhse", q, kv, z)

    args = tuple(torch.randn(batch, heads, S, H) for _ in range(3))
    return linear, args, dict.fromkeys("qkv", "batch heads S H")


@sample
def band_mask(batch, S, heads, H):
    window = 2

    def local(q, k, v):
        S = q.size(-2)
        i = torch.arange(S)
        far = (i[:, None] - i[None, :]).abs() >= window
        att = torch.matmul(q, k.mT) / q.size(-1) ** 0.5
        att = att.masked_fill(far, float("-inf"))
        return torch.matmul(F.softmax(att, dim=-1), v)

    args = tuple(torch.randn(batch, heads, S, H) for _ in range(3))
    return local, args, dict.fromkeys("qkv", "batch heads S H")


@sample
def perceiver_latents(batch, S, heads, H):
    d_model, n_lat = heads * H, 3

    class Latents(nn.Module):
        def __init__(self):
            super().__init__()
            self.latents = nn.Parameter(torch.randn(n_lat, d_model))
            self.to_q = nn.Linear(d_model, d_model)
            self.to_kv = nn.Linear(d_model, 2 * d_model)

        def forward(self, x):
            lat = self.latents.unsqueeze(0).expand(x.shape[0], -1, -1)
            q = self.to_q(lat)
            k, v = self.to_kv(torch.cat([x, lat], dim=1)).chunk(2, dim=-1)
            w = (q @ k.transpose(1, 2) * d_model**-0.5).softmax(-1)
            return lat + w @ v

    return Latents(), (torch.randn(batch, S, d_model),), "batch S d_model"


@sample
def axial_rows_cols(batch, S, heads, H):
    def axial(img):
        B, C, rows, cols = img.shape
        r = img.permute(0, 2, 3, 1).reshape(B * rows, cols, C)
        r = torch.softmax(r @ r.transpose(1, 2) / C**0.5, -1) @ r
        r = r.reshape(B, rows, cols, C).permute(0, 3, 1, 2)
        c = img.permute(0, 3, 2, 1).reshape(B * cols, rows, C)
        c = torch.softmax(c @ c.transpose(1, 2) / C**0.5, -1) @ c
        c = c.reshape(B, cols, rows, C).permute(0, 3, 2, 1)
        return r + c

    return axial, (torch.randn(batch, H, S, heads),), "batch C rows cols"


@sample
def talking_heads(batch, S, heads, H):
    pre, post = torch.randn(heads, heads), torch.randn(heads, heads)

    def talk(q, k, v, pre, post):
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k)
        logits = torch.einsum("bhqk,hg->bgqk", logits, pre)
        w = logits.softmax(-1)
        w = torch.einsum("bgqk,gh->bhqk", w, post)
        return torch.einsum("bhqk,bhkd->bqhd", w, v).flatten(-2)

    args = tuple(torch.randn(batch, heads, S, H) for _ in range(3)) + (pre, post)
    return talk, args, dict.fromkeys("qkv", "batch heads S H")


@sample
def set_pooling(batch, S, heads, H):
    dim, seeds = heads * H, 2

    class PMA(nn.Module):
        def __init__(self):
            super().__init__()
            self.seed = nn.Parameter(torch.randn(1, seeds, dim))
            self.fc_q, self.fc_k = nn.Linear(dim, dim), nn.Linear(dim, dim)
            self.ln = nn.LayerNorm(dim)

        def forward(self, X):
            Q = self.fc_q(self.seed.repeat(X.size(0), 1, 1))
            K = self.fc_k(X)
            Q_ = torch.cat(Q.split(H, 2), 0)
            K_ = torch.cat(K.split(H, 2), 0)
            A = torch.softmax(Q_.bmm(K_.transpose(1, 2)) / math.sqrt(dim), 2)
            O = torch.cat((Q_ + A.bmm(K_)).split(Q.size(0), 0), 2)
            return self.ln(O)

    return PMA(), (torch.randn(batch, S, dim),), "batch S dim"


@sample
def memory_tokens(batch, S, heads, H):
    n_embd, n_mem = heads * H, 2

    class Mem(nn.Module):
        def __init__(self):
            super().__init__()
            self.mem = nn.Parameter(torch.randn(n_mem, n_embd))
            self.qkv = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, x):
            mem = repeat(self.mem, "m d -> b m d", b=x.shape[0])
            x = torch.cat((mem, x), dim=1)
            q, k, v = rearrange(self.qkv(x), "b n (three h d) -> three b h n d", three=3, h=heads)
            o = F.scaled_dot_product_attention(q, k, v)
            o = rearrange(o, "b h n d -> b n (h d)")
            return o[:, n_mem:]

    return Mem(), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def cached_step(batch, S, heads, H):
    n_embd = heads * H

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn = nn.Linear(n_embd, 3 * n_embd)

        def forward(self, tok, past_k, past_v):
            B = tok.shape[0]
            q, k, v = self.c_attn(tok).split(n_embd, dim=-1)
            q = q.view(B, heads, 1, H)
            k = torch.cat([past_k, k.view(B, heads, 1, H)], dim=2)
            v = torch.cat([past_v, v.view(B, heads, 1, H)], dim=2)
            w = (q @ k.transpose(2, 3) / H**0.5).softmax(-1)
            return (w @ v).reshape(B, n_embd), k, v

    past = tuple(torch.randn(batch, heads, S, H) for _ in range(2))
    dims = {"tok": "batch n_embd", "past_k": "batch heads S H", "past_v": "batch heads S H"}
    return Step(), (torch.randn(batch, n_embd),) + past, dims


@sample
def quantised_cache(batch, S, heads, H):
    def quant(q, k):
        scale = k.abs().amax(dim=2, keepdim=True) / 127
        k8 = (k / scale).round().clamp(-127, 127).to(torch.int8)
        k_hat = k8.to(k.dtype) * scale
        return torch.einsum("bhsd,bhtd->bhst", q, k_hat)

    args = torch.randn(batch, heads, S, H), torch.randn(batch, heads, S, H)
    return quant, args, {"q": "batch heads S H", "k": "batch heads S H"}


@sample
def relation_distillation(batch, S, heads, H):
    def loss(student, teacher, mask):
        def relation(h):
            h = h.permute(0, 2, 1, 3)
            return F.log_softmax(h @ h.transpose(-1, -2) / h.size(-1) ** 0.5, dim=-1)

        s, t = relation(student), relation(teacher)
        kl = (t.exp() * (t - s)).sum(-1)
        m = mask.unsqueeze(1)
        return (kl * m).sum() / (m.sum() * kl.size(1))

    args = (
        torch.randn(batch, S, heads, H),
        torch.randn(batch, S, heads, 2 * H),
        torch.ones(batch, S),
    )
    return (
        loss,
        args,
        {"student": "batch S heads H", "teacher": "batch S heads D", "mask": "batch S"},
    )


@sample
def masked_attention_pool(batch, S, heads, H):
    n_embd = heads * H

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Sequential(nn.Linear(n_embd, H), nn.Tanh(), nn.Linear(H, 1))

        def forward(self, x, pad):
            w = self.score(x).squeeze(-1)
            w = w.masked_fill(pad, -1e9).softmax(dim=1)
            return torch.bmm(w.unsqueeze(1), x).squeeze(1)

    pad = torch.zeros(batch, S, dtype=torch.bool)
    pad[:, -1] = True
    return Pool(), (torch.randn(batch, S, n_embd), pad), {"x": "batch S n_embd", "pad": "batch S"}


@sample
def soft_moe_experts(batch, S, heads, H):
    n_embd, n_exp, hidden = heads * H, 3, 5

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(n_embd, n_exp, bias=False)
            self.w1 = nn.Parameter(torch.randn(n_exp, n_embd, hidden))
            self.w2 = nn.Parameter(torch.randn(n_exp, hidden, n_embd))

        def forward(self, x):
            B, T, C = x.shape
            flat = x.reshape(-1, C)
            p = self.gate(flat).softmax(-1)
            top, idx = p.topk(2, dim=-1)
            weight = torch.zeros_like(p).scatter(1, idx, top / top.sum(-1, keepdim=True))
            h = F.gelu(torch.einsum("nc,ecf->enf", flat, self.w1))
            y = torch.bmm(h, self.w2)
            return torch.einsum("enc,ne->nc", y, weight).view(B, T, C)

    return Experts(), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def adapter_block(batch, S, heads, H):
    n_embd, r = heads * H, 2

    class Adapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(n_embd, n_embd)
            self.A = nn.Parameter(torch.randn(r, n_embd))
            self.B = nn.Parameter(torch.zeros(n_embd, r))
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.base(x) + self.drop(x) @ self.A.T @ self.B.T * 2.0

    return Adapter().eval(), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def beam_step(batch, S, heads, H):
    beams, vocab = heads, S + 3

    def step(logp, scores, hidden):
        B, K, V = logp.shape
        total = scores.unsqueeze(-1) + logp
        best, flat = total.view(B, K * V).topk(K, dim=-1)
        parent = flat // V
        token = flat % V
        index = parent.unsqueeze(-1).expand(-1, -1, hidden.size(-1))
        return best, token, hidden.gather(1, index)

    args = (
        torch.randn(batch, beams, vocab),
        torch.randn(batch, beams),
        torch.randn(batch, beams, H),
    )
    return (
        step,
        args,
        {"logp": "batch beams vocab", "scores": "batch beams", "hidden": "batch beams H"},
    )


@sample
def conv_projection(batch, S, heads, H):
    channels = heads * H

    class ConvQKV(nn.Module):
        def __init__(self):
            super().__init__()
            self.dw = nn.Conv1d(channels, channels, 3, padding=1, groups=channels)
            self.pw = nn.Conv1d(channels, 3 * channels, 1)

        def forward(self, x):
            B, C, T = x.shape
            q, k, v = self.pw(self.dw(x)).view(B, 3, heads, H, T).unbind(1)
            att = torch.softmax(q.transpose(-1, -2) @ k / H**0.5, dim=-1)
            out = v @ att.transpose(-1, -2)
            return x + out.reshape(B, C, T)

    return ConvQKV(), (torch.randn(batch, channels, S),), "batch channels S"


@sample
def relative_shift(batch, S, heads, H):
    def xl(q, k, r, u, w):
        ac = torch.einsum("ibnd,jbnd->bnij", q + u, k)
        bd = torch.einsum("ibnd,jnd->bnij", q + w, r)
        B, N, I, J = bd.shape
        bd = F.pad(bd, (1, 0)).view(B, N, J + 1, I)[:, :, 1:].view(B, N, I, J)
        return (ac + bd) / q.size(-1) ** 0.5

    args = (
        torch.randn(S, batch, heads, H),
        torch.randn(S, batch, heads, H),
        torch.randn(S, heads, H),
        torch.randn(heads, H),
        torch.randn(heads, H),
    )
    dims = {
        "q": "S batch heads H",
        "k": "S batch heads H",
        "r": "S heads H",
        "u": "heads H",
        "w": "heads H",
    }
    return xl, args, dims


@sample
def in_batch_contrast(batch, S, heads, H):
    def info_nce(queries, passages):
        q = F.normalize(queries.mean(dim=1), dim=-1)
        p = F.normalize(passages[:, 0], dim=-1)
        logits = q @ p.T / 0.07
        labels = torch.arange(logits.size(0), device=logits.device)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2

    args = torch.randn(batch, S, H), torch.randn(batch, S + 2, H)
    return info_nce, args, {"queries": "batch S H", "passages": "batch T H"}


@sample
def late_interaction(batch, S, heads, H):
    def maxsim(Q, D, keep):
        sim = torch.einsum("qsh,dth->qdst", Q, D)
        sim = sim.masked_fill(~keep[None, :, None, :], -1e4)
        return sim.max(dim=-1).values.sum(dim=-1)

    args = (
        torch.randn(batch, S, H),
        torch.randn(heads, S + 1, H),
        torch.ones(heads, S + 1, dtype=torch.bool),
    )
    return maxsim, args, {"Q": "batch S H", "D": "docs T H", "keep": "docs T"}


@sample
def channel_independent_series(batch, S, heads, H):
    d_model = H

    class Series(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(2, d_model)
            self.attn = nn.MultiheadAttention(d_model, 2, batch_first=True)

        def forward(self, x):
            B, T, n_vars = x.shape
            mu = x.mean(dim=1, keepdim=True)
            sd = x.std(dim=1, keepdim=True) + 1e-5
            z = ((x - mu) / sd).permute(0, 2, 1)
            z = z.unfold(-1, 2, 2)
            P = z.size(2)
            z = self.embed(z).reshape(B * n_vars, P, d_model)
            z, _ = self.attn(z, z, z)
            return z.reshape(B, n_vars, P, d_model).mean(2)

    return Series().eval(), (torch.randn(batch, 2 * S, heads),), "batch T n_vars"


@sample
def interleaved_trajectory(batch, S, heads, H):
    n_embd, act = heads * H, 3

    class Decision(nn.Module):
        def __init__(self):
            super().__init__()
            self.er, self.es, self.ea = (
                nn.Linear(1, n_embd),
                nn.Linear(H, n_embd),
                nn.Embedding(act, n_embd),
            )
            self.head = nn.Linear(n_embd, act)

        def forward(self, states, actions, rtg):
            B, K = actions.shape
            toks = torch.stack(
                (self.er(rtg.unsqueeze(-1)), self.es(states), self.ea(actions)), dim=2
            )
            x = toks.reshape(B, 3 * K, n_embd)
            causal = torch.ones(3 * K, 3 * K).triu(1).bool()
            w = (x @ x.transpose(1, 2)).masked_fill(causal, float("-inf")).softmax(-1)
            y = (w @ x).reshape(B, K, 3, n_embd)
            return self.head(y[:, :, 1])

    args = torch.randn(batch, S, H), torch.randint(0, act, (batch, S)), torch.randn(batch, S)
    return Decision(), args, {"states": "batch S H", "actions": "batch S", "rtg": "batch S"}


@sample
def channel_and_spatial_gate(batch, S, heads, H):
    C = heads * H

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(C, 4), nn.ReLU(), nn.Linear(4, C))
            self.conv = nn.Conv2d(2, 1, 3, padding=1)

        def forward(self, f):
            b, c, _, _ = f.shape
            ca = torch.sigmoid(self.fc(f.mean((2, 3))) + self.fc(f.amax((2, 3)))).view(b, c, 1, 1)
            f = f * ca
            sa = torch.cat([f.mean(1, keepdim=True), f.amax(1, keepdim=True)], 1)
            return f * torch.sigmoid(self.conv(sa))

    return Gate(), (torch.randn(batch, C, S, H),), "batch C rows cols"


@sample
def shifted_windows(batch, S, heads, H):
    ws = 2  # rows and cols must be even

    def window(x):
        x = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
        B, R, W, C = x.shape
        win = (
            x.view(B, R // ws, ws, W // ws, ws, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, ws * ws, C)
        )
        win = torch.softmax(win @ win.transpose(-2, -1) * C**-0.5, dim=-1) @ win
        x = win.view(B, R // ws, W // ws, ws, ws, C).permute(0, 1, 3, 2, 4, 5).reshape(B, R, W, C)
        return torch.roll(x, shifts=(1, 1), dims=(1, 2))

    return window, (torch.randn(batch, 2 * S, 2 * heads, H),), "batch rows cols H"


@sample
def bucketed_bias(batch, S, heads, H):
    buckets = 4

    class Bias(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(buckets, heads)

        def forward(self, q, k, v):
            i, j = torch.arange(q.size(2)), torch.arange(k.size(2))
            rel = (j[None, :] - i[:, None]).abs().clamp(max=buckets - 1)
            bias = self.table(rel).permute(2, 0, 1).unsqueeze(0)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    args = (
        torch.randn(batch, heads, S, H),
        torch.randn(batch, heads, S + 1, H),
        torch.randn(batch, heads, S + 1, H),
    )
    return Bias(), args, {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H"}


@sample
def additive_pointer(batch, S, heads, H):
    units = H

    class Pointer(nn.Module):
        def __init__(self):
            super().__init__()
            self.W1 = nn.Linear(H, units, bias=False)
            self.W2 = nn.Linear(H, units, bias=False)
            self.v = nn.Parameter(torch.randn(units))

        def forward(self, dec, enc):
            e = torch.tanh(self.W1(enc).unsqueeze(1) + self.W2(dec).unsqueeze(2))
            return F.log_softmax(e @ self.v, dim=-1)

    return (
        Pointer(),
        (torch.randn(batch, heads, H), torch.randn(batch, S, H)),
        {"dec": "batch L H", "enc": "batch S H"},
    )


@sample
def graph_attention(batch, S, heads, H):
    feats = heads * H

    class GAT(nn.Module):
        def __init__(self):
            super().__init__()
            self.W = nn.Linear(feats, heads * H, bias=False)
            self.a_src = nn.Parameter(torch.randn(heads, H))
            self.a_dst = nn.Parameter(torch.randn(heads, H))

        def forward(self, x, adj):
            h = self.W(x).unflatten(-1, (heads, H))
            src = (h * self.a_src).sum(-1)
            dst = (h * self.a_dst).sum(-1)
            e = F.leaky_relu(src.unsqueeze(2) + dst.unsqueeze(1), 0.2)
            e = torch.where(adj.unsqueeze(-1) > 0, e, torch.full_like(e, -1e9))
            return torch.einsum("bijh,bjhd->bihd", e.softmax(2), h).flatten(2)

    adj = torch.ones(batch, S, S).triu()
    return (
        GAT(),
        (torch.randn(batch, S, feats), adj),
        {"x": "batch nodes feats", "adj": "batch nodes nodes"},
    )


@sample
def cross_covariance(batch, S, heads, H):
    n_embd = heads * H

    class XCA(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(n_embd, n_embd * 3)
            self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

        def forward(self, x):
            B, N, C = x.shape
            qkv = self.qkv(x).reshape(B, N, 3, heads, C // heads).permute(2, 0, 3, 4, 1)
            q, k, v = qkv[0], qkv[1], qkv[2]
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            attn = (q @ k.transpose(-2, -1)) * self.temperature
            return (attn.softmax(dim=-1) @ v).permute(0, 3, 1, 2).reshape(B, N, C)

    return XCA(), (torch.randn(batch, S, n_embd),), "batch S n_embd"


@sample
def online_softmax_chunks(batch, S, heads, H):
    # unchecked: the number of chunks depends on T
    def flash(q, k, v):
        m = torch.full(q.shape[:-1] + (1,), float("-inf"))
        den = torch.zeros(q.shape[:-1] + (1,))
        acc = torch.zeros_like(q)
        for kc, vc in zip(k.split(2, dim=2), v.split(2, dim=2)):
            s = q @ kc.transpose(-1, -2) / q.size(-1) ** 0.5
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            p = torch.exp(s - new)
            fix = torch.exp(m - new)
            den = den * fix + p.sum(-1, keepdim=True)
            acc = acc * fix + p @ vc
            m = new
        return acc / den

    args = (
        torch.randn(batch, heads, S, H),
        torch.randn(batch, heads, S + 2, H),
        torch.randn(batch, heads, S + 2, H),
    )
    return flash, args, {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H"}


@sample
def grouped_norm_retention(batch, S, heads, H):
    def retention(q, k, v):
        n = q.shape[-3]
        gamma = 1 - 2.0 ** (-5 - torch.arange(heads).float())
        i = torch.arange(n)
        lag = (i[:, None] - i[None, :]).clamp(min=0)
        decay = (gamma[:, None, None] ** lag) * (i[:, None] >= i[None, :])
        s = torch.einsum("b s h d, b t h d -> b h s t", q, k) * decay
        o = torch.einsum("b h s t, b t h d -> b s h d", s, v)
        return F.layer_norm(o, o.shape[-1:])

    args = tuple(torch.randn(batch, S, heads, H) for _ in range(3))
    return retention, args, dict.fromkeys("qkv", "batch S heads H")


@sample
def slot_iteration(batch, S, heads, H):
    slots = 3

    class Slots(nn.Module):
        def __init__(self):
            super().__init__()
            self.mu = nn.Parameter(torch.randn(slots, H))
            self.gru = nn.GRUCell(H, H)

        def forward(self, x):
            B, N, D = x.shape
            s = self.mu.expand(B, -1, -1)
            att = (torch.einsum("bkd,bnd->bkn", s, x) * D**-0.5).softmax(dim=1)
            att = att / att.sum(dim=-1, keepdim=True)
            upd = torch.einsum("bkn,bnd->bkd", att, x)
            s = self.gru(upd.reshape(-1, D), s.reshape(-1, D))
            return reduce(s.view(B, slots, D), "b k d -> b d", "mean")

    return Slots(), (torch.randn(batch, S, H),), "batch N H"
