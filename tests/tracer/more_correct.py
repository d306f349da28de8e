"""More correct code, farther from the book: caches, windows, biases, images, whole models."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import einsum, rearrange, repeat
from torch import nn
from torch.utils.checkpoint import checkpoint

MORE = {}


def sample(build):
    MORE[build.__name__] = build
    return build


def x_of(*shape):
    return torch.randn(*shape)


@sample
def alibi(batch, S, heads, H):
    def attend(q, k, v):
        B, h, T, d = q.shape
        slopes = 2.0 ** (-8.0 * torch.arange(1, h + 1, device=q.device) / h)
        distance = (
            torch.arange(T, device=q.device)[None, :] - torch.arange(T, device=q.device)[:, None]
        )
        bias = slopes[:, None, None] * distance[None].clamp(max=0)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d) + bias
        return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)

    return attend, tuple(x_of(batch, heads, S, H) for _ in range(3)), "batch heads S H"


@sample
def sliding_window(batch, S, heads, H):
    def attend(q, k, v, window=3):
        T = q.size(-2)
        i = torch.arange(T, device=q.device).view(T, 1)
        j = torch.arange(T, device=q.device).view(1, T)
        keep = (j <= i) & (i - j < window)
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        scores = torch.where(keep, scores, torch.full_like(scores, -torch.inf))
        return F.softmax(scores, dim=-1) @ v

    return attend, tuple(x_of(batch, heads, S, H) for _ in range(3)), "batch heads S H"


@sample
def cached_decoding(batch, S, heads, H):
    class Cached(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.head_dim = n_heads, n_embd // n_heads
            self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
            self.proj = nn.Linear(n_embd, n_embd, bias=False)
            self.cache = None

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            q, k, v = (t.view(B, T, self.n_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
            if self.cache is not None:
                k = torch.cat([self.cache[0], k], dim=2)
                v = torch.cat([self.cache[1], v], dim=2)
            self.cache = (k, v)
            att = (q @ k.mT) * self.head_dim**-0.5
            y = att.softmax(-1) @ v
            return self.proj(y.transpose(1, 2).reshape(B, T, C))

    layer = Cached(heads * H, heads)

    def decode(prompt, first, second):
        layer.cache = None
        layer(prompt)
        layer(first)
        return layer(second)

    n = heads * H
    inputs = (x_of(batch, S, n), x_of(batch, 1, n), x_of(batch, 1, n))
    return decode, inputs, {"prompt": "batch S n_embd", "first": "batch _ n_embd",
                            "second": "batch _ n_embd"}  # fmt: skip


@dataclass
class Config:
    vocab_size: int
    block_size: int
    n_embd: int
    n_head: int
    n_layer: int = 2
    dropout: float = 0.0


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head = config.n_head
        self.n_embd = config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class ConfiguredBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


@sample
def configured_gpt(batch, S, heads, H):
    class GPT(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.transformer = nn.ModuleDict({
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "h": nn.ModuleList([ConfiguredBlock(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(config.n_embd),
            })  # fmt: skip
            self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, idx, targets=None):
            b, t = idx.size()
            pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
            x = self.transformer.wte(idx) + self.transformer.wpe(pos)
            for block in self.transformer.h:
                x = block(x)
            logits = self.lm_head(self.transformer.ln_f(x))
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
            return {"logits": logits, "loss": loss}

    ids = torch.randint(0, 11, (batch, S))
    return GPT(Config(11, 32, heads * H, heads)), (ids, ids), "batch S"


@sample
def vision(batch, S, heads, H):
    class ViT(nn.Module):
        def __init__(self, dim, n_heads, patch):
            super().__init__()
            self.embed = nn.Conv2d(3, dim, patch, patch)
            self.cls = nn.Parameter(torch.zeros(1, 1, dim))
            self.attn = nn.MultiheadAttention(dim, n_heads, batch_first=True)
            self.norm = nn.LayerNorm(dim)
            self.head = nn.Linear(dim, 10)

        def forward(self, images):
            x = self.embed(images).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1)
            x = x + self.attn(self.norm(x), self.norm(x), self.norm(x))[0]
            return self.head(x[:, 0])

    return ViT(heads * H, heads, 4), (x_of(batch, 3, 8, 12),), "batch _ _ _"


@sample
def windows(batch, S, heads, H):
    def attend(x, size=2):
        B, h, w, C = x.shape
        x = x.view(B, h // size, size, w // size, size, C)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, C)
        y = (x @ x.mT / C**0.5).softmax(-1) @ x
        y = y.view(B, h // size, w // size, size, size, C)
        return y.permute(0, 1, 3, 2, 4, 5).reshape(B, h, w, C)

    return attend, (x_of(batch, 4, 6, heads * H),), "batch rows columns n_embd"


@sample
def multi_query(batch, S, heads, H):
    class MQA(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads, self.head_size = n_heads, n_embd // n_heads
            self.q = nn.Linear(n_embd, n_embd)
            self.kv = nn.Linear(n_embd, 2 * self.head_size)
            self.out = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            b, s, _ = x.shape
            q = self.q(x).view(b, s, self.n_heads, self.head_size).transpose(1, 2)
            k, v = self.kv(x).split(self.head_size, dim=-1)
            k, v = k.unsqueeze(1), v.unsqueeze(1)
            w = (q @ k.transpose(-2, -1) / self.head_size**0.5).softmax(-1)
            return self.out((w @ v).transpose(1, 2).flatten(-2))

    return MQA(heads * H, heads), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def folded_heads(batch, S, heads, H):
    class Folded(nn.Module):
        def __init__(self, dim, nhead):
            super().__init__()
            self.dim, self.nhead = dim, nhead
            self.in_proj = nn.Parameter(torch.randn(3 * dim, dim))

        def forward(self, x):
            bsz, length, dim = x.shape
            hd = dim // self.nhead
            q, k, v = F.linear(x, self.in_proj).chunk(3, dim=-1)
            q = q.reshape(bsz, length, self.nhead, hd).permute(0, 2, 1, 3)
            q = q.reshape(bsz * self.nhead, length, hd)
            k = k.reshape(bsz, length, self.nhead, hd).permute(0, 2, 3, 1)
            k = k.reshape(bsz * self.nhead, hd, length)
            v = v.reshape(bsz, length, self.nhead, hd).permute(0, 2, 1, 3)
            v = v.reshape(bsz * self.nhead, length, hd)
            w = torch.baddbmm(torch.zeros(1, 1, 1, device=x.device), q, k, alpha=hd**-0.5)
            o = torch.bmm(w.softmax(-1), v).view(bsz, self.nhead, length, hd)
            return o.permute(0, 2, 1, 3).reshape(bsz, length, dim)

    return Folded(heads * H, heads), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def einops_all_the_way(batch, S, heads, H):
    def attend(x, wq, wk, wv):
        q = einsum(x, wq, "b s d, h d k -> b h s k")
        k = einsum(x, wk, "b s d, h d k -> b h s k")
        v = einsum(x, wv, "b s d, h d k -> b h s k")
        weights = (einsum(q, k, "b h i k, b h j k -> b h i j") / q.shape[-1] ** 0.5).softmax(-1)
        out = einsum(weights, v, "b h i j, b h j k -> b h i k")
        token = repeat(out[:, :, 0], "b h k -> b h s k", s=x.shape[1])
        return rearrange(out + token, "b h s k -> b s (h k)")

    n = heads * H
    weights = tuple(x_of(heads, n, H) for _ in range(3))
    dims = {"x": "batch S n_embd", **dict.fromkeys(("wq", "wk", "wv"), "heads n_embd H")}
    return attend, (x_of(batch, S, n), *weights), dims


@sample
def decoder_layer(batch, S, heads, H):
    layer = nn.TransformerDecoderLayer(heads * H, heads, 2 * heads * H, batch_first=True)

    def run(tgt, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        return layer(tgt, memory, tgt_mask=mask)

    n = heads * H
    dims = {"tgt": "batch Sq n_embd", "memory": "batch Sk n_embd"}
    return run, (x_of(batch, S, n), x_of(batch, 7, n)), dims


@sample
def checkpointed(batch, S, heads, H):
    block = ConfiguredBlock(Config(11, 32, heads * H, heads))

    def run(x):
        return checkpoint(block, x, use_reentrant=False)

    return run, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def named_arguments(batch, S, heads, H):
    def attend(*, queries, keys, values, may_attend=None):
        scores = torch.matmul(input=queries, other=keys.transpose(dim0=-2, dim1=-1))
        scores = torch.div(scores, queries.shape[-1] ** 0.5)
        if may_attend is not None:
            scores = scores.masked_fill(mask=may_attend.logical_not(), value=float("-inf"))
        return torch.matmul(torch.softmax(input=scores, dim=-1), values)

    inputs = {name: x_of(batch, S, H) for name in ("queries", "keys", "values")}
    inputs["may_attend"] = torch.ones(S, S, dtype=torch.bool).tril()
    dims = {**dict.fromkeys(inputs, "batch S H"), "may_attend": "S S"}
    return attend, inputs, dims


@sample
def tuples_and_dicts(batch, S, heads, H):
    def run(pair, extra):
        q, k = pair
        scores = q @ k.mT
        return {"scores": scores, "biased": scores + extra["bias"], "list": [q, (k, scores)]}

    pair = (x_of(batch, S, H), x_of(batch, S, H))
    dims = {"pair[0]": "batch S H", "pair[1]": "batch S H", "bias": "S S"}
    return run, (pair, {"bias": x_of(S, S)}), dims


@sample
def in_place_all_along(batch, S, heads, H):
    def attend(x, wq, wk):
        q, k = x @ wq, x @ wk
        scores = torch.empty(x.shape[0], x.shape[1], x.shape[1], dtype=x.dtype, device=x.device)
        torch.matmul(q, k.mT, out=scores)
        scores.div_(q.shape[-1] ** 0.5)
        scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        scores /= scores.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        out += scores @ x
        out[:, 0] = 0
        return out

    n = heads * H
    dims = {"x": "batch S n_embd", "wq": "n_embd H", "wk": "n_embd H"}
    return attend, (x_of(batch, S, n), x_of(n, H), x_of(n, H)), dims


@sample
def talking_heads(batch, S, heads, H):
    class Talking(nn.Module):
        def __init__(self, n_embd, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.to_qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
            self.mix = nn.Parameter(torch.randn(n_heads, n_heads))

        def forward(self, x):
            q, k, v = rearrange(self.to_qkv(x), "b n (t h d) -> t b h n d", t=3, h=self.n_heads)
            dots = torch.einsum("b h i d, b h j d -> b h i j", q, k)
            dots = torch.einsum("b h i j, h g -> b g i j", dots, self.mix)
            out = torch.einsum("b h i j, b h j d -> b h i d", dots.softmax(dim=-1), v)
            return rearrange(out, "b h n d -> b n (h d)")

    return Talking(heads * H, heads), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def mixed_precision(batch, S, heads, H):
    layer = Attention(Config(11, 32, heads * H, heads))

    def run(x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=x.device.type == "cpu"):
            return layer(x).float()

    return run, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def recurrent_then_attention(batch, S, heads, H):
    lstm = nn.LSTM(heads * H, heads * H, batch_first=True)

    def run(x):
        states, (last, _) = lstm(x)
        query = last[-1].unsqueeze(1)
        weights = (query @ states.transpose(1, 2)).softmax(-1)
        return (weights @ states).squeeze(1)

    return run, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def topk_attention(batch, S, heads, H):
    def attend(q, k, v, keep=2):
        scores = q @ k.mT
        top, _ = scores.topk(keep, dim=-1)
        scores = scores.masked_fill(scores < top[..., -1:], float("-inf"))
        return scores.softmax(-1) @ v

    return attend, tuple(x_of(batch, S, H) for _ in range(3)), dict.fromkeys("qkv", "batch S H")


@sample
def t5_buckets(batch, S, heads, H):
    class T5(nn.Module):
        def __init__(self, buckets, n_heads):
            super().__init__()
            self.table = nn.Embedding(buckets, n_heads)
            self.buckets = buckets

        def forward(self, scores):
            n = scores.size(-1)
            memory = torch.arange(n, device=scores.device)[None, :]
            context = torch.arange(n, device=scores.device)[:, None]
            bucket = (context - memory).abs().clamp(max=self.buckets - 1)
            values = self.table(bucket).permute([2, 0, 1]).unsqueeze(0)
            return (scores + values).softmax(dim=-1)

    return T5(8, heads), (x_of(batch, heads, S, S),), "batch heads S S"
