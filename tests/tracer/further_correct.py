"""Twenty correct programs in the styles of twenty codebases: the tracer has to stay silent on each.

They were written by somebody who had not read the tracer's rules, before any was run.
First run: 20 of 20 silent at all four sizes. Asked to run again at other sizes, none disagreed: 11
held, 9 could not be run there. Six of these build a tensor without `device=`, which is then not on
the meta device; three hold weights that fit one size of the second dim that was asked for (with a
free one, or the batch alone, they hold).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn

SAMPLES: dict = {}
SIZES = ((2, 5, 3, 4), (2, 6, 3, 6), (4, 4, 4, 8), (3, 8, 2, 4))  # batch, S, heads, H


def sample(build):
    """Keep a program under its name; build(batch, S, heads, H) -> (code, inputs, dims)."""
    SAMPLES[build.__name__] = build
    return build


@sample
def einsum_weights_per_head(batch, S, heads, H):
    w = torch.randn(3, heads, heads * H, H)
    w_o = torch.randn(heads, H, heads * H)

    def attention(x):
        q, k, v = (torch.einsum("bsm,hmd->bhsd", x, w[i]) for i in range(3))
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * H**-0.5
        context = torch.einsum("bhqk,bhkd->bhqd", logits.softmax(-1), v)
        return torch.einsum("bhqd,hdm->bqm", context, w_o)

    return attention, (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def einops_three_in_one(batch, S, heads, H):
    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
            self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(0.0))

        def forward(self, x):
            qkv = self.to_qkv(x)
            q, k, v = rearrange(qkv, "b n (three h d) -> three b h n d", three=3, h=self.heads)
            dots = torch.einsum("b h i d, b h j d -> b h i j", q, k) * q.shape[-1] ** -0.5
            out = dots.softmax(dim=-1) @ v
            return self.to_out(rearrange(out, "b h n d -> b n (h d)"))

    return Attention(heads * H, heads), (torch.randn(batch, S, heads * H),), "b n dim"


@sample
def bmm_with_heads_folded_into_batch(batch, S, heads, H):
    def attention(query, key, value):
        B, T, E = query.shape
        D = E // heads
        fold = [t.view(B, T, heads, D).permute(0, 2, 1, 3) for t in (query, key, value)]
        q, k, v = (t.reshape(B * heads, T, D) for t in fold)
        attn = torch.baddbmm(torch.zeros(B * heads, T, T), q, k.transpose(1, 2), alpha=D**-0.5)
        out = torch.bmm(F.softmax(attn, dim=2), v)
        return out.view(B, heads, T, D).transpose(1, 2).contiguous().view(B, T, E)

    names = dict.fromkeys(("query", "key", "value"), "B T E")
    return attention, tuple(torch.randn(3, batch, S, heads * H)), names


@sample
def rotary_by_complex_numbers(batch, S, heads, H):
    def rotate(xq, freqs):
        xq_ = torch.view_as_complex(xq.reshape(*xq.shape[:-1], -1, 2))
        turned = xq_ * freqs.view(1, xq_.shape[1], 1, xq_.shape[-1])
        return torch.view_as_real(turned).flatten(3)

    def attention(xq, xk, xv):
        seqlen, head_dim = xq.shape[1], xq.shape[3]
        inv = 1.0 / 10000 ** (torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(seqlen), inv)
        freqs = torch.polar(torch.ones_like(angles), angles)
        q, k, v = (t.transpose(1, 2) for t in (rotate(xq, freqs), rotate(xk, freqs), xv))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2)

    names = dict.fromkeys(("xq", "xk", "xv"), "batch seqlen heads head_dim")
    return attention, tuple(torch.randn(3, batch, S, heads, H)), names


@sample
def grouped_query_by_expand(batch, S, heads, H):
    class GQA(nn.Module):
        def __init__(self, hidden, n_heads, n_kv_heads):
            super().__init__()
            self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
            self.head_dim = hidden // n_heads
            self.n_rep = n_heads // n_kv_heads
            self.q_proj = nn.Linear(hidden, n_heads * self.head_dim, bias=False)
            self.k_proj = nn.Linear(hidden, n_kv_heads * self.head_dim, bias=False)
            self.v_proj = nn.Linear(hidden, n_kv_heads * self.head_dim, bias=False)

        def repeat_kv(self, t):
            b, kv, s, d = t.shape
            return t[:, :, None].expand(b, kv, self.n_rep, s, d).reshape(b, kv * self.n_rep, s, d)

        def forward(self, hidden_states):
            bsz, q_len, _ = hidden_states.size()
            q = self.q_proj(hidden_states).view(bsz, q_len, self.n_heads, self.head_dim)
            k = self.k_proj(hidden_states).view(bsz, q_len, self.n_kv_heads, self.head_dim)
            v = self.v_proj(hidden_states).view(bsz, q_len, self.n_kv_heads, self.head_dim)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            k, v = self.repeat_kv(k), self.repeat_kv(v)
            attn = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
            attn = F.softmax(attn, dim=-1, dtype=torch.float32).to(q.dtype)
            return torch.matmul(attn, v).transpose(1, 2).reshape(bsz, q_len, -1)

    kv_heads = heads // 2 if heads % 2 == 0 else 1
    layer = GQA(heads * H, heads, kv_heads)
    return layer, (torch.randn(batch, S, heads * H),), "bsz q_len hidden"


@sample
def step_with_a_growing_cache(batch, S, heads, H):
    class Cached(nn.Module):
        def __init__(self, d_model, n_head):
            super().__init__()
            self.n_head = n_head
            self.c_attn = nn.Linear(d_model, 3 * d_model)

        def forward(self, x, past_k, past_v):
            B, T, C = x.shape
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (
                t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v)
            )
            k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
            P = k.size(2)
            keep = torch.ones(T, P, dtype=torch.bool).tril(P - T)
            att = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
            att = att.masked_fill(~keep, float("-inf")).softmax(-1)
            return (att @ v).transpose(1, 2).reshape(B, T, C), k, v

    past = torch.randn(2, batch, heads, S + 3, H)
    names = {"x": "B T C", "past_k": "B n_head P0 D", "past_v": "B n_head P0 D"}
    return Cached(heads * H, heads), (torch.randn(batch, S, heads * H), *past), names


@sample
def cross_attention_on_text(batch, S, heads, H):
    class CrossAttention(nn.Module):
        def __init__(self, query_dim, context_dim, heads, dim_head):
            super().__init__()
            inner = heads * dim_head
            self.heads, self.scale = heads, dim_head**-0.5
            self.to_q = nn.Linear(query_dim, inner, bias=False)
            self.to_k = nn.Linear(context_dim, inner, bias=False)
            self.to_v = nn.Linear(context_dim, inner, bias=False)
            self.to_out = nn.Linear(inner, query_dim)

        def forward(self, x, context):
            h = self.heads
            q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
            q, k, v = (rearrange(t, "b n (h d) -> (b h) n d", h=h) for t in (q, k, v))
            sim = torch.einsum("b i d, b j d -> b i j", q, k) * self.scale
            out = torch.einsum("b i j, b j d -> b i d", sim.softmax(dim=-1), v)
            return self.to_out(rearrange(out, "(b h) n d -> b n (h d)", h=h))

    layer = CrossAttention(heads * H, 10, heads, H)
    names = {"x": "batch pixels channels", "context": "batch words width"}
    return layer, (torch.randn(batch, S, heads * H), torch.randn(batch, 7, 10)), names


@sample
def vision_transformer_block(batch, S, heads, H):
    class ViT(nn.Module):
        def __init__(self, patch, dim, num_heads, n_patches):
            super().__init__()
            self.num_heads = num_heads
            self.proj = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            self.pos_embed = nn.Parameter(torch.zeros(1, n_patches + 1, dim))
            self.norm, self.qkv = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim)

        def forward(self, img):
            x = self.proj(img).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
            B, N, C = x.shape
            qkv = self.qkv(self.norm(x)).reshape(B, N, 3, self.num_heads, C // self.num_heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            attn = (q @ k.transpose(-2, -1) * q.size(-1) ** -0.5).softmax(dim=-1)
            x = x + (attn @ v).transpose(1, 2).reshape(B, N, C)
            return x[:, 0]

    image = torch.randn(batch, 3, 2 * S, 4)
    return ViT(2, heads * H, heads, 2 * S), (image,), "batch _ height width"


@sample
def shifted_windows(batch, S, heads, H):
    window = 2

    def attention(x):
        B, L, C = x.shape
        x = torch.roll(x, shifts=-1, dims=1)
        win = x.view(B, L // window, window, C).reshape(-1, window, C)
        q = win.view(-1, window, heads, C // heads).transpose(1, 2)
        attn = (q @ q.mT * (C // heads) ** -0.5).softmax(-1)
        win = (attn @ q).transpose(1, 2).reshape(-1, window, C)
        x = win.view(B, L // window, window, C).view(B, L, C)
        return torch.roll(x, shifts=1, dims=1)

    return attention, (torch.randn(batch, 2 * S, heads * H),), "B L C"


@sample
def one_step_of_training(batch, S, heads, H):
    class Model(nn.Module):
        def __init__(self, vocab, width, n_head):
            super().__init__()
            self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(64, width)
            self.attn = nn.MultiheadAttention(width, n_head, batch_first=True)
            self.ln, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
            self.lm_head.weight = self.tok.weight

        def forward(self, idx):
            x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
            mask = nn.Transformer.generate_square_subsequent_mask(idx.size(1))
            y, _ = self.attn(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
            return self.lm_head(self.ln(x + y))

    model = Model(17, heads * H, heads)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(idx, targets):
        logits = model(idx)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    ids = torch.randint(17, (2, batch, S))
    return step, tuple(ids), {"idx": "batch S", "targets": "batch S"}


@sample
def greedy_generation(batch, S, heads, H):
    emb = nn.Embedding(11, heads * H)
    layer = nn.TransformerEncoderLayer(heads * H, heads, 8, dropout=0.0, batch_first=True)
    head = nn.Linear(heads * H, 11)

    @torch.no_grad()
    def generate(idx):
        for _ in range(3):
            T = idx.shape[1]
            causal = torch.full((T, T), float("-inf")).triu(1)
            logits = head(layer(emb(idx), src_mask=causal))[:, -1, :]
            best, _ = torch.topk(logits, 4)
            logits[logits < best[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, logits.softmax(-1).argmax(-1, keepdim=True)), dim=1)
        return idx

    return generate, (torch.randint(11, (batch, S)),), "B T"


@sample
def linear_biases(batch, S, heads, H):
    def attention(q, k, v):
        b, h, n, d = q.shape
        slopes = 2.0 ** (-8.0 * torch.arange(1, h + 1) / h)
        distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        bias = slopes[:, None, None] * distance[None]
        scores = q.matmul(k.mT).div(d**0.5) + bias
        scores = scores.masked_fill(distance > 0, torch.finfo(scores.dtype).min)
        return scores.softmax(-1).matmul(v)

    return attention, tuple(torch.randn(3, batch, heads, S, H)), {"q": "b h n d"}


@sample
def relative_position_table(batch, S, heads, H):
    class Relative(nn.Module):
        def __init__(self, num_buckets, n_heads):
            super().__init__()
            self.num_buckets = num_buckets
            self.relative_attention_bias = nn.Embedding(num_buckets, n_heads)

        def forward(self, q, k, v):
            query_length, key_length = q.size(2), k.size(2)
            context = torch.arange(query_length)[:, None]
            memory = torch.arange(key_length)[None, :]
            bucket = (memory - context).abs().clamp(max=self.num_buckets - 1)
            values = self.relative_attention_bias(bucket).permute(2, 0, 1).unsqueeze(0)
            scores = torch.matmul(q, k.transpose(3, 2))
            scores += values
            return F.softmax(scores.float(), dim=-1).type_as(scores) @ v

    names = {"q": "batch heads Tq H", "k": "batch heads Tk H", "v": "batch heads Tk H"}
    q, k, v = (torch.randn(batch, heads, n, H) for n in (S, S + 2, S + 2))
    return Relative(6, heads), (q, k, v), names


@sample
def padding_from_lengths(batch, S, heads, H):
    def attention(x, lengths):
        valid = torch.arange(x.size(1))[None, :] < lengths[:, None]
        q = k = v = x.unflatten(-1, (heads, -1)).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-1, -2)) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~valid[:, None, None, :], -torch.inf)
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(-2)
        return (y * valid.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1)

    x, lengths = torch.randn(batch, S, heads * H), torch.randint(1, S + 1, (batch,))
    return attention, (x, lengths), {"x": "batch S n_embd", "lengths": "batch"}


@sample
def talking_heads(batch, S, heads, H):
    class Talking(nn.Module):
        def __init__(self, h):
            super().__init__()
            self.before, self.after = nn.Linear(h, h), nn.Linear(h, h)

        def forward(self, q, k, v):
            attn = q @ k.transpose(-2, -1)
            attn = self.before(attn.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            attn = attn.softmax(dim=-1)
            attn = self.after(attn.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            return attn @ v

    names = dict.fromkeys("qkv", "B h N d")
    return Talking(heads), tuple(torch.randn(3, batch, heads, S, H)), names


@sample
def time_first_as_in_translation(batch, S, heads, H):
    def attention(query, w_in, w_out):
        tgt_len, bsz, embed_dim = query.shape
        head_dim = embed_dim // heads
        q, k, v = F.linear(query, w_in).chunk(3, dim=-1)
        q = q * head_dim**-0.5
        q = q.contiguous().view(tgt_len, bsz * heads, head_dim).transpose(0, 1)
        k = k.contiguous().view(-1, bsz * heads, head_dim).transpose(0, 1)
        v = v.contiguous().view(-1, bsz * heads, head_dim).transpose(0, 1)
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)
        attn = torch.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        mean = weights.view(bsz, heads, tgt_len, tgt_len).mean(dim=1)
        return F.linear(attn, w_out), mean

    E = heads * H
    inputs = torch.randn(S, batch, E), torch.randn(3 * E, E), torch.randn(E, E)
    return attention, inputs, {"query": "tgt_len bsz embed_dim"}


@sample
def rows_then_columns_of_an_image(batch, S, heads, H):
    def attend(t):
        return F.scaled_dot_product_attention(t, t, t)

    def axial(x):
        b, height, width, c = x.shape
        rows = attend(x.reshape(b * height, width, c)).view(b, height, width, c)
        columns = x.permute(0, 2, 1, 3).reshape(b * width, height, c)
        columns = attend(columns).view(b, width, height, c).permute(0, 2, 1, 3)
        return rows + columns

    return axial, (torch.randn(batch, S, heads, H),), "b height width c"


@sample
def keys_in_blocks_with_a_running_maximum(batch, S, heads, H):
    def flash(q, k, v):
        top = torch.full((*q.shape[:-1], 1), -torch.inf)
        total, out = torch.zeros_like(top), torch.zeros_like(q)
        for k_block, v_block in zip(k.split(2, dim=-2), v.split(2, dim=-2), strict=True):
            s = q @ k_block.mT / math.sqrt(q.size(-1))
            new = torch.maximum(top, s.amax(-1, keepdim=True))
            p, fade = torch.exp(s - new), torch.exp(top - new)
            total = total * fade + p.sum(-1, keepdim=True)
            out = out * fade + p @ v_block
            top = new
        return out / total

    return flash, tuple(torch.randn(3, batch, heads, S, H)), dict.fromkeys("qkv", "B h S d")


@sample
def keys_and_values_from_a_narrow_latent(batch, S, heads, H):
    class Latent(nn.Module):
        def __init__(self, dim, rank, n_heads, head_dim):
            super().__init__()
            self.n_heads, self.head_dim = n_heads, head_dim
            self.wq = nn.Linear(dim, n_heads * head_dim)
            self.down, self.norm = nn.Linear(dim, rank), nn.RMSNorm(rank)
            self.up = nn.Linear(rank, n_heads * 2 * head_dim)

        def forward(self, x):
            bsz, seqlen, _ = x.size()
            q = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim)
            kv = self.up(self.norm(self.down(x))).view(bsz, seqlen, self.n_heads, -1)
            k, v = torch.split(kv, [self.head_dim, self.head_dim], dim=-1)
            scores = torch.einsum("bshd,bthd->bsht", q, k) * self.head_dim**-0.5
            scores += torch.full((seqlen, seqlen), -torch.inf).triu_(1).unsqueeze(1)
            return torch.einsum("bsht,bthd->bshd", scores.softmax(dim=-1), v).flatten(2)

    return Latent(heads * H, 5, heads, H), (torch.randn(batch, S, heads * H),), "bsz seqlen dim"


@sample
def learned_queries_read_a_sequence(batch, S, heads, H):
    class Reader(nn.Module):
        def __init__(self, num_latents, dim, heads):
            super().__init__()
            self.heads = heads
            self.latents = nn.Parameter(torch.randn(num_latents, dim))
            self.kv = nn.Linear(dim, 2 * dim)

        def forward(self, x):
            z = repeat(self.latents, "m d -> b m d", b=x.shape[0])
            k, v = self.kv(torch.cat((x, z), dim=1)).chunk(2, dim=-1)
            q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (z, k, v))
            sim = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
            sim = sim - sim.amax(dim=-1, keepdim=True).detach()
            return rearrange(sim.softmax(dim=-1) @ v, "b h m d -> b m (h d)")

    return Reader(3, heads * H, heads), (torch.randn(batch, S, heads * H),), "batch S dim"
