"""Correct attention code in the styles people write it: no row is wrong, nothing is warned of.

Each sample is a function of the sizes that returns (code, inputs, dims).
"""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

SAMPLES = {}
SIZES = (  # batch, S, heads, H: all different, then S == H, batch == S == heads, S == n_embd
    (2, 5, 3, 4),
    (2, 6, 3, 6),
    (4, 4, 4, 8),
    (3, 8, 2, 4),
)


def sample(build):
    SAMPLES[build.__name__] = build
    return build


def x_of(batch, S, n_embd):
    return torch.randn(batch, S, n_embd)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size=64):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        wei = self.dropout(wei)
        v = self.value(x)
        return wei @ v


@sample
def masked_head(batch, S, heads, H):
    return Head(heads * H, H), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def head_without_mask(batch, S, heads, H):
    class Plain(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.W_query = nn.Parameter(torch.rand(d_in, d_out))
            self.W_key = nn.Parameter(torch.rand(d_in, d_out))
            self.W_value = nn.Parameter(torch.rand(d_in, d_out))

        def forward(self, x):
            keys = x @ self.W_key
            queries = x @ self.W_query
            values = x @ self.W_value
            attn_scores = queries @ keys.mT
            attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
            context_vec = attn_weights @ values
            return context_vec

    return Plain(heads * H, H), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def stacked_heads(batch, S, heads, H):
    class Many(nn.Module):
        def __init__(self, n_embd, n_heads, head_size):
            super().__init__()
            self.heads = nn.ModuleList([Head(n_embd, head_size) for _ in range(n_heads)])
            self.proj = nn.Linear(n_heads * head_size, n_embd)

        def forward(self, x):
            out = torch.cat([h(x) for h in self.heads], dim=-1)
            return self.proj(out)

    return Many(heads * H, heads, H), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_by_view(batch, S, heads, H):
    class MHA(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.d_model = d_model
            self.num_heads = num_heads
            self.d_k = d_model // num_heads
            self.W_q = nn.Linear(d_model, d_model)
            self.W_k = nn.Linear(d_model, d_model)
            self.W_v = nn.Linear(d_model, d_model)
            self.W_o = nn.Linear(d_model, d_model)

        def split_heads(self, x):
            batch_size, seq_length, d_model = x.size()
            return x.view(batch_size, seq_length, self.num_heads, self.d_k).transpose(1, 2)

        def combine_heads(self, x):
            batch_size, _, seq_length, d_k = x.size()
            return x.transpose(1, 2).contiguous().view(batch_size, seq_length, self.d_model)

        def scaled(self, Q, K, V, mask=None):
            attn_scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)
            if mask is not None:
                attn_scores = attn_scores.masked_fill(mask == 0, -1e9)
            attn_probs = torch.softmax(attn_scores, dim=-1)
            return torch.matmul(attn_probs, V)

        def forward(self, Q, K, V, mask=None):
            Q = self.split_heads(self.W_q(Q))
            K = self.split_heads(self.W_k(K))
            V = self.split_heads(self.W_v(V))
            attn_output = self.scaled(Q, K, V, mask)
            return self.W_o(self.combine_heads(attn_output))

    x = x_of(batch, S, heads * H)
    return MHA(heads * H, heads), (x, x, x), "batch S n_embd"


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, fused=False):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head = n_head
        self.n_embd = n_embd
        self.fused = fused
        mask = torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64)
        self.register_buffer("bias", mask, persistent=False)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


@sample
def heads_by_split(batch, S, heads, H):
    return CausalSelfAttention(heads * H, heads), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_fused(batch, S, heads, H):
    module = CausalSelfAttention(heads * H, heads, fused=True)
    return module, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_by_einops(batch, S, heads, H):
    class Attention(nn.Module):
        def __init__(self, dim, heads, dim_head):
            super().__init__()
            inner_dim = dim_head * heads
            self.heads = heads
            self.scale = dim_head**-0.5
            self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
            self.to_out = nn.Linear(inner_dim, dim)

        def forward(self, x):
            qkv = self.to_qkv(x).chunk(3, dim=-1)
            q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), qkv)  # noqa: C417
            dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale
            attn = dots.softmax(dim=-1)
            out = torch.matmul(attn, v)
            out = rearrange(out, "b h n d -> b n (h d)")
            return self.to_out(out)

    return Attention(heads * H, heads, H), (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_by_einsum(batch, S, heads, H):
    def attend(x, wq, wk, wv, wo):
        q = torch.einsum("bsd,dhk->bhsk", x, wq)
        k = torch.einsum("bsd,dhk->bhsk", x, wk)
        v = torch.einsum("bsd,dhk->bhsk", x, wv)
        scores = torch.einsum("bhqk,bhmk->bhqm", q, k) / math.sqrt(q.shape[-1])
        weights = scores.softmax(-1)
        heads_out = torch.einsum("bhqm,bhmk->bqhk", weights, v)
        return torch.einsum("bqhk,hkd->bqd", heads_out, wo)

    n_embd = heads * H
    weights = [torch.randn(n_embd, heads, H) for _ in range(3)] + [torch.randn(heads, H, n_embd)]
    return attend, (x_of(batch, S, n_embd), *weights), "batch S n_embd"


@sample
def packed_qkv(batch, S, heads, H):
    class Packed(nn.Module):
        def __init__(this, dim, num_heads):
            super().__init__()
            this.num_heads = num_heads
            this.qkv = nn.Linear(dim, dim * 3)
            this.proj = nn.Linear(dim, dim)

        def forward(this, x):
            B, N, C = x.shape
            qkv = this.qkv(x).reshape(B, N, 3, this.num_heads, C // this.num_heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            attn = (q @ k.transpose(-2, -1)) * (C // this.num_heads) ** -0.5
            attn = attn.softmax(dim=-1)
            x = (attn @ v).transpose(1, 2).reshape(B, N, C)
            return this.proj(x)

    return Packed(heads * H, heads), (x_of(batch, S, heads * H),), "batch S n_embd"


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, n_head, n_layer):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.ModuleList([Block(n_embd, n_head) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        B, T = idx.shape
        pos = torch.arange(T, device=idx.device)
        x = self.tok(idx) + self.pos(pos)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


@sample
def gpt(batch, S, heads, H):
    ids = torch.randint(0, 11, (batch, S))
    return GPT(11, 32, heads * H, heads, 2), (ids,), "batch S"


@sample
def training_step(batch, S, heads, H):
    model = GPT(11, 32, heads * H, heads, 1)

    def step(ids, targets):
        logits = model(ids)
        B, T, V = logits.shape
        loss = F.cross_entropy(logits.view(B * T, V), targets.view(B * T))
        loss.backward()
        return loss

    ids = torch.randint(0, 11, (batch, S))
    return step, (ids, ids), "batch S"


@sample
def generation(batch, S, heads, H):
    model = GPT(11, 64, heads * H, heads, 1)

    def generate(idx, steps=2):
        for _ in range(steps):
            logits = model(idx)[:, -1, :]
            nxt = logits.argmax(dim=-1, keepdim=True)
            idx = torch.cat((idx, nxt), dim=1)
        return idx

    return generate, (torch.randint(0, 11, (batch, S)),), "batch S"


@sample
def rotary(batch, S, heads, H):
    def rotate_half(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((-x2, x1), dim=-1)

    def apply(q, k):
        T, D = q.shape[-2], q.shape[-1]
        inv_freq = 1.0 / (10000 ** (torch.arange(0, D, 2, device=q.device).float() / D))
        t = torch.arange(T, device=q.device).float()
        freqs = torch.outer(t, inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos(), emb.sin()
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        return (q @ k.mT).softmax(-1)

    q, k = torch.randn(batch, heads, S, H), torch.randn(batch, heads, S, H)
    return apply, (q, k), {"q": "batch heads S H", "k": "batch heads S H"}


@sample
def cross_attention(batch, S, heads, H):
    class Cross(nn.Module):
        def __init__(self, dim, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.dh = dim // n_heads
            self.q = nn.Linear(dim, dim)
            self.kv = nn.Linear(dim, 2 * dim)
            self.out = nn.Linear(dim, dim)

        def forward(self, x, context):
            b, n, d = x.shape
            m = context.shape[1]
            q = self.q(x).view(b, n, self.n_heads, self.dh).transpose(1, 2)
            k, v = self.kv(context).chunk(2, dim=-1)
            k = k.view(b, m, self.n_heads, self.dh).transpose(1, 2)
            v = v.view(b, m, self.n_heads, self.dh).transpose(1, 2)
            w = (q @ k.transpose(-2, -1) / self.dh**0.5).softmax(dim=-1)
            return self.out((w @ v).transpose(1, 2).reshape(b, n, d))

    n = heads * H
    inputs = (x_of(batch, S, n), x_of(batch, 7, n))
    return Cross(n, heads), inputs, {"x": "batch Sq n_embd", "context": "batch Sk n_embd"}


@sample
def linear_attention(batch, S, heads, H):
    def attend(q, k, v):
        q = F.elu(q) + 1
        k = F.elu(k) + 1
        kv = k.transpose(-2, -1) @ v
        z = 1 / (q @ k.sum(dim=-2).unsqueeze(-1))
        return (q @ kv) * z

    shape = (batch, heads, S, H)
    return attend, tuple(torch.randn(shape) for _ in range(3)), "batch heads S H"


@sample
def dims_for_the_first_only(batch, S, heads, H):
    def attn(q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return torch.softmax(scores, dim=-1) @ v

    return attn, tuple(torch.randn(batch, S, H) for _ in range(3)), "batch S H"


@sample
def plain_weights(batch, S, heads, H):
    def head(x, wq, wk, wv):
        q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
        scores = q @ k.transpose(1, 2)
        weights = F.softmax(scores / wq.shape[0] ** 0.5, dim=2)
        return torch.bmm(weights, v)

    n = heads * H
    return head, (x_of(batch, S, n), *(torch.randn(H, n) for _ in range(3))), "batch S n_embd"


@sample
def grouped_query(batch, S, heads, H):
    groups = 2

    def attend(q, k, v):
        B, n_heads, T, D = q.shape
        kv_heads = k.shape[1]
        k = k.repeat_interleave(n_heads // kv_heads, dim=1)
        v = v.repeat_interleave(n_heads // kv_heads, dim=1)
        w = (q @ k.mT / D**0.5).softmax(-1)
        return w @ v

    q = torch.randn(batch, 2 * heads, S, H)
    kv = tuple(torch.randn(batch, 2 * heads // groups, S, H) for _ in range(2))
    return attend, (q, *kv), "batch heads S H"


@sample
def encoder_layer(batch, S, heads, H):
    layer = nn.TransformerEncoderLayer(heads * H, heads, 2 * heads * H, batch_first=True)
    return layer, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def torch_multihead(batch, S, heads, H):
    layer = nn.MultiheadAttention(heads * H, heads, batch_first=True)

    def attend(x):
        out, weights = layer(x, x, x)
        return out + x

    return attend, (x_of(batch, S, heads * H),), "batch S n_embd"


@sample
def padding_mask(batch, S, heads, H):
    def attend(x, lengths):
        T = x.size(1)
        mask = torch.arange(T, device=x.device)[None, :] < lengths[:, None]
        scores = x @ x.transpose(1, 2)
        scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
        return scores.softmax(-1) @ x

    lengths = torch.full((batch,), S)
    dims = {"x": "batch S n_embd", "lengths": "batch"}
    return attend, (x_of(batch, S, heads * H), lengths), dims


@sample
def loops_over_heads(batch, S, heads, H):
    def attend(x, wq, wk, wv):
        outs = []
        for h in range(wq.shape[0]):
            q, k, v = x @ wq[h], x @ wk[h], x @ wv[h]
            outs.append((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)
        return torch.cat(outs, dim=-1)

    n = heads * H
    return attend, (x_of(batch, S, n), *(torch.randn(heads, n, H) for _ in range(3))), {
        "x": "batch S n_embd", "wq": "heads n_embd H"
    }  # fmt: skip


@sample
def unbatched(batch, S, heads, H):
    def attend(x, w_q, w_k, w_v):
        q, k, v = (F.linear(x, w) for w in (w_q, w_k, w_v))
        scores = q @ k.T
        scores /= math.sqrt(k.shape[-1])
        causal = torch.triu(torch.ones_like(scores, dtype=torch.bool), diagonal=1)
        scores[causal] = float("-inf")
        return torch.softmax(scores, dim=-1) @ v

    n = heads * H
    return attend, (torch.randn(S, n), *(torch.randn(H, n) for _ in range(3))), "S n_embd"


@sample
def relative_bias(batch, S, heads, H):
    class Biased(nn.Module):
        def __init__(self, n_embd, n_heads, reach):
            super().__init__()
            self.n_heads, self.head_size, self.reach = n_heads, n_embd // n_heads, reach
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.bias = nn.Parameter(torch.zeros(2 * reach - 1, n_heads))

        def forward(self, x):
            batch, S, n_embd = x.shape
            qkv = self.qkv(x).view(batch, S, 3, self.n_heads, self.head_size)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            at = torch.arange(S, device=x.device)
            table = self.bias[(at[:, None] - at[None, :]) + self.reach - 1]
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_size)
            scores = scores + table.permute(2, 0, 1).unsqueeze(0)
            weights = scores.softmax(dim=-1)
            return (weights @ v).transpose(1, 2).flatten(2)

    return Biased(heads * H, heads, 32), (x_of(batch, S, heads * H),), "batch S n_embd"
