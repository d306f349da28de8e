"""Thirty-one programs that run and are wrong, each in one line that takes two dims for one.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 29 of 31 warned in this line, of these dims. `cache_write_heads_first` was silent (a
place with a number in its index was not lined up); `folded_mask_in_the_wrong_order` was warned of
as batch*heads and heads*batch, not as the two that changed places. Both are now told so.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import einsum as named_einsum
from einops import rearrange

WRONG = {}


def wrong(line, *pair):
    def add(build):
        WRONG[build.__name__] = (build, line, frozenset(pair))
        return build

    return add


# ----------------------------------------------------------------- retrieval
@wrong("scores = (docs * query).sum(-1)", "batch", "n_docs")
def reranker_query_without_axis():
    batch, n_docs, D = 4, 4, 6

    def rerank(query, docs):
        query, docs = F.normalize(query, dim=-1), F.normalize(docs, dim=-1)
        scores = (docs * query).sum(-1)
        return scores.log_softmax(-1)

    return (
        rerank,
        (torch.randn(batch, D), torch.randn(batch, n_docs, D)),
        {"query": "batch D", "docs": "batch n_docs D"},
    )


@wrong('sim = named_einsum(q, d, "', "dlen", "D")
def maxsim_document_layout():
    batch, qlen, dlen, D = 2, 3, 6, 6

    # the index hands documents out as columns
    def maxsim(q, d):
        sim = named_einsum(q, d, "b i c, b j c -> b i j")
        return sim.amax(-1).sum(-1)

    return (
        maxsim,
        (torch.randn(batch, qlen, D), torch.randn(batch, D, dlen)),
        {"q": "batch qlen D", "d": "batch D dlen"},
    )


# ---------------------------------------------------------------------- masks
@wrong("scores = scores.masked_fill(pad[:, None]", "batch", "heads")
def pad_mask_one_axis_short():
    batch, heads, tgt, src, H = 3, 3, 5, 7, 4

    def cross(q, k, v, pad):
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(pad[:, None], -1e9)
        return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), v)

    kv = torch.randn(2, batch, heads, src, H)
    pad = torch.zeros(batch, src, dtype=torch.bool)
    pad[:, -1] = True
    return (
        cross,
        (torch.randn(batch, heads, tgt, H), kv[0], kv[1], pad),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "pad": "batch src",
        },
    )


@wrong("return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)", "batch", "tgt")
def fused_attention_takes_raw_keep_mask():
    batch, heads, tgt, src, H = 4, 2, 4, 6, 8

    def attend(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    keep = torch.ones(batch, src, dtype=torch.bool)
    keep[1, 3:] = False
    k, v = torch.randn(2, batch, heads, src, H)
    return (
        attend,
        (torch.randn(batch, heads, tgt, H), k, v, keep),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "keep": "batch src",
        },
    )


class TorchEncoder(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.norm = nn.LayerNorm(n_embd)
        self.attn = nn.MultiheadAttention(n_embd, n_heads)  # batch_first forgotten
        self.ff = nn.Linear(n_embd, n_embd)

    def forward(self, x, pad):
        h = self.norm(x)
        h, _ = self.attn(h, h, h, key_padding_mask=pad)
        return x + self.ff(h)


@wrong("h, _ = self.attn(h, h, h, key_padding_mask=pad)", "batch", "S")
def batch_first_forgotten():
    batch, S, n_embd = 4, 4, 6
    pad = torch.zeros(batch, S, dtype=torch.bool)
    pad[0, 2:] = True
    return (
        TorchEncoder(n_embd, 2),
        (torch.randn(batch, S, n_embd), pad),
        {"x": "batch S n_embd", "pad": "batch S"},
    )


@wrong("w = w.masked_fill(pad.repeat(", "batch", "heads")
def folded_mask_in_the_wrong_order():
    batch, heads, S, H = 2, 4, 5, 3

    # scores run batch-major, the mask heads-major: wrong at every size
    def folded(q, k, v, pad):
        B, heads, S, H = q.shape
        q, k, v = (t.reshape(B * heads, S, H) for t in (q, k, v))
        w = torch.bmm(q, k.transpose(1, 2)) * H**-0.5
        w = w.masked_fill(pad.repeat(heads, 1)[:, None, :], -1e9)
        return torch.bmm(w.softmax(-1), v).view(B, heads, S, H)

    q, k, v = torch.randn(3, batch, heads, S, H)
    pad = torch.zeros(batch, S, dtype=torch.bool)
    pad[0, 3:] = True
    d = "batch heads S H"
    return folded, (q, k, v, pad), {"q": d, "k": d, "v": d, "pad": "batch S"}


# ------------------------------------------------------------------ positions
@wrong("q = q * cos + rotate_half(q) * sin", "S", "heads")
def rotary_before_the_transpose():
    batch, S, heads, H = 2, 4, 4, 6

    def rotate_half(x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((-b, a), -1)

    def scores(q, k, cos, sin):
        # cos and sin fit (batch, heads, S, H), this is (batch, S, heads, H)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        return torch.einsum("bihd,bjhd->bhij", q, k)

    q, k = torch.randn(2, batch, S, heads, H)
    angle = torch.outer(torch.arange(S), 100.0 ** -(torch.arange(H // 2) / H)).repeat(1, 2)
    return (
        scores,
        (q, k, angle.cos(), angle.sin()),
        {"q": "batch S heads H", "k": "batch S heads H", "cos": "S H", "sin": "S H"},
    )


@wrong("bias = slopes * distance", "S", "heads")
def alibi_slopes_along_the_keys():
    batch, heads, S, H = 2, 4, 4, 8

    def alibi(q, k, slopes):
        batch, heads, S, H = q.shape
        pos = torch.arange(S)
        distance = -(pos[:, None] - pos[None, :]).abs()
        bias = slopes * distance
        return (q @ k.transpose(-1, -2) / H**0.5 + bias).softmax(-1)

    q, k = torch.randn(2, batch, heads, S, H)
    slopes = 2.0 ** -torch.arange(1.0, heads + 1)
    return (
        alibi,
        (q, k, slopes),
        {"q": "batch heads S H", "k": "batch heads S H", "slopes": "heads"},
    )


@wrong("scores = scores + rel_bias", "klen", "qlen")
def relative_bias_keys_by_queries():
    batch, heads, qlen, klen, H = 2, 3, 5, 5, 4

    def cross(q, k, v, rel_bias):
        scores = q @ k.transpose(-1, -2)
        scores = scores + rel_bias
        return scores.softmax(-1) @ v

    k, v = torch.randn(2, batch, heads, klen, H)
    return (
        cross,
        (torch.randn(batch, heads, qlen, H), k, v, torch.randn(heads, klen, qlen)),
        {
            "q": "batch heads qlen H",
            "k": "batch heads klen H",
            "v": "batch heads klen H",
            "rel_bias": "heads klen qlen",
        },
    )


class SeqFirstEmbedding(nn.Module):
    def __init__(self, vocab, n_embd, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.pos = nn.Embedding(max_len, n_embd)
        self.enc = nn.Linear(n_embd, n_embd)

    def forward(self, tokens):
        S, batch = tokens.shape
        h = self.tok(tokens)
        p = self.pos(torch.arange(S))
        h = h + p
        return self.enc(h)


@wrong("h = h + p", "S", "batch")
def positions_on_a_seq_first_batch():
    S, batch, n_embd = 5, 5, 8
    return (
        SeqFirstEmbedding(11, n_embd, 32),
        (torch.randint(0, 11, (S, batch)),),
        {"tokens": "S batch"},
    )


@wrong("x = x + row_embed", "height", "width")
def row_embedding_on_columns():
    batch, height, width, C = 2, 4, 4, 6

    def embed(x, row_embed, col_embed):
        x = x + row_embed
        x = x + col_embed
        return x.flatten(1, 2)

    return (
        embed,
        (torch.randn(batch, height, width, C), torch.randn(height, C), torch.randn(width, C)),
        {"x": "batch height width C", "row_embed": "height C", "col_embed": "width C"},
    )


# ----------------------------------------------------------- heads and features
class TalkingHeads(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.talk = nn.Linear(n_heads, n_heads, bias=False)
        self.out = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, S, n_embd = x.shape
        q, k, v = (
            self.qkv(x).view(B, S, 3, self.n_heads, n_embd // self.n_heads).permute(2, 0, 3, 1, 4)
        )
        attn = (q @ k.transpose(-2, -1)).softmax(-1)
        attn = self.talk(attn)
        y = (attn @ v).transpose(1, 2).reshape(B, S, n_embd)
        return self.out(y)


@wrong("attn = self.talk(attn)", "S", "n_heads")
def heads_mixed_along_the_keys():
    batch, S, n_heads, H = 2, 4, 4, 3
    return (
        TalkingHeads(n_heads * H, n_heads),
        (torch.randn(batch, S, n_heads * H),),
        "batch S n_embd",
    )


@wrong("out = out.view(heads, B, S, H)", "B", "heads")
def unfolded_heads_first():
    batch, heads, S, H = 2, 4, 5, 3

    def attend(q, k, v):
        B, heads, S, H = q.shape
        q, k, v = (t.reshape(B * heads, S, H) for t in (q, k, v))
        out = torch.baddbmm(torch.zeros(1, 1, 1), q, k.mT, alpha=H**-0.5).softmax(-1).bmm(v)
        out = out.view(heads, B, S, H)
        return out.permute(1, 2, 0, 3).flatten(2)

    q, k, v = torch.randn(3, batch, heads, S, H)
    return attend, (q, k, v), dict.fromkeys("qkv", "B heads S H")


@wrong("k8 = torch.round(k / scale)", "heads", "H")
def per_head_scale_on_channels():
    batch, heads, S, H = 2, 4, 6, 4

    def quantised_scores(q, k):
        scale = k.abs().amax(dim=(0, 2, 3)) / 127
        k8 = torch.round(k / scale).clamp(-127, 127).to(torch.int8)
        return torch.einsum("bhid,bhjd,h->bhij", q, k8.float(), scale)

    q, k = torch.randn(2, batch, heads, S, H)
    return quantised_scores, (q, k), {"q": "batch heads S H", "k": "batch heads S H"}


@wrong("cache[:, :, pos] = k_new", "batch", "heads")
def cache_write_heads_first():
    batch, heads, max_len, H = 3, 3, 8, 4

    def write_and_score(q, k_new, cache):
        pos = 5
        cache = cache.clone()
        cache[:, :, pos] = k_new
        return torch.einsum("bhd,bhtd->bht", q, cache[:, :, : pos + 1]).softmax(-1)

    return (
        write_and_score,
        (
            torch.randn(batch, heads, H),
            torch.randn(heads, batch, H),
            torch.randn(batch, heads, max_len, H),
        ),
        {"q": "batch heads H", "k_new": "heads batch H", "cache": "batch heads max_len H"},
    )


@wrong("kv = torch.matmul(k, v)", "S", "H")
def linear_attention_state():
    batch, heads, S, H = 2, 3, 6, 6

    def linear_attn(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = torch.matmul(k, v)
        z = (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
        return torch.matmul(q, kv) / z

    q, k, v = torch.randn(3, batch, heads, S, H)
    return linear_attn, (q, k, v), dict.fromkeys("qkv", "batch heads S H")


@wrong('AC = torch.einsum("ibnd,jbnd->ijbn", q, k)', "batch", "klen")
def einsum_on_a_batch_first_key():
    qlen, batch, klen, heads, H = 6, 4, 4, 2, 3

    # q is seq-first, k came out of a batch-first cache
    def score(q, k):
        AC = torch.einsum("ibnd,jbnd->ijbn", q, k)
        return AC.softmax(dim=1)

    return (
        score,
        (torch.randn(qlen, batch, heads, H), torch.randn(batch, klen, heads, H)),
        {"q": "qlen batch heads H", "k": "batch klen heads H"},
    )


# ------------------------------------------------------------ latents, pooling
class LatentReadout(nn.Module):
    def __init__(self, dim, n_latents):
        super().__init__()
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)

    def forward(self, latents, tokens):
        q, k, v = self.to_q(latents), self.to_k(tokens), self.to_v(tokens)
        sim = torch.bmm(k, q.transpose(1, 2)) * q.size(-1) ** -0.5
        p = sim.softmax(dim=1)
        out = torch.bmm(p, v)
        return latents + out


@wrong("out = torch.bmm(p, v)", "S", "n_latents")
def latents_taken_for_tokens():
    batch, S, n_latents, dim = 2, 5, 5, 8
    return (
        LatentReadout(dim, n_latents),
        (torch.randn(batch, n_latents, dim), torch.randn(batch, S, dim)),
        {"latents": "batch n_latents dim", "tokens": "batch S dim"},
    )


class StructuredPooling(nn.Module):
    """Several attention hops over a sentence."""

    def __init__(self, d_hidden, d_a, hops):
        super().__init__()
        self.w1 = nn.Linear(d_hidden, d_a, bias=False)
        self.w2 = nn.Linear(d_a, hops, bias=False)

    def forward(self, hidden):
        a = F.softmax(self.w2(torch.tanh(self.w1(hidden))), dim=1)
        m = torch.bmm(a, hidden)
        return m.flatten(1)


@wrong("m = torch.bmm(a, hidden)", "hops", "S")
def hops_not_transposed():
    batch, S, hops, d_hidden = 2, 4, 4, 6
    return (
        StructuredPooling(d_hidden, 5, hops),
        (torch.randn(batch, S, d_hidden),),
        "batch S d_hidden",
    )


# ------------------------------------------------------- speech, vision, series
class SpeechStem(nn.Module):
    def __init__(self, n_mels, d_model):
        super().__init__()
        self.conv = nn.Conv1d(n_mels, d_model, kernel_size=3, padding=1)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, mels):
        h = F.gelu(self.conv(mels))
        return self.proj(h.transpose(1, 2))


@wrong("h = F.gelu(self.conv(mels))", "frames", "n_mels")
def conv_over_the_mel_axis():
    batch, frames, n_mels, d_model = 2, 8, 8, 6
    return SpeechStem(n_mels, d_model), (torch.randn(batch, frames, n_mels),), "batch frames n_mels"


class ChannelFirstNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dw = nn.Conv1d(dim, dim, 3, padding=1, groups=dim)
        self.norm = nn.LayerNorm(dim)
        self.pw = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        h = self.dw(x.transpose(1, 2))
        h = self.norm(h)
        return self.pw(h.transpose(1, 2))


@wrong("h = self.norm(h)", "S", "dim")
def layer_norm_on_channels_first():
    batch, S, dim = 2, 6, 6
    return ChannelFirstNorm(dim), (torch.randn(batch, S, dim),), "batch S dim"


@wrong("return x * gate[:, None]", "chan", "L")
def squeeze_excite_gate_axis():
    batch, chan, L = 2, 6, 6

    def excite(x, w_down, w_up):
        s = x.mean(dim=-1)
        gate = torch.sigmoid(F.relu(s @ w_down) @ w_up)
        return x * gate[:, None]

    return (
        excite,
        (torch.randn(batch, chan, L), torch.randn(chan, 3), torch.randn(3, chan)),
        {"x": "batch chan L", "w_down": "chan mid", "w_up": "mid chan"},
    )


@wrong("tokens = x.reshape(B * L, V)", "L", "V")
def variables_glued_to_time():
    batch, n_vars, steps = 2, 3, 5

    # wrong at every size
    def per_step(x, w):
        B, V, L = x.shape
        tokens = x.reshape(B * L, V)
        return (tokens @ w).view(B, L, -1)

    return (
        per_step,
        (torch.randn(batch, n_vars, steps), torch.randn(n_vars, 4)),
        {"x": "B V L", "w": "V d_model"},
    )


# ------------------------------------------------------- routing, graphs, search
class SoftMoE(nn.Module):
    def __init__(self, d_model, n_experts):
        super().__init__()
        self.n_experts, self.d_model = n_experts, d_model
        self.router = nn.Linear(d_model, n_experts)
        self.experts = nn.Linear(d_model, n_experts * d_model)

    def forward(self, tokens):
        n_tok = tokens.size(0)
        gates = self.router(tokens).softmax(-1)
        outs = self.experts(tokens).view(n_tok, self.n_experts, self.d_model).permute(1, 0, 2)
        mixed = gates.unsqueeze(-1) * outs
        return mixed.sum(0)


@wrong("mixed = gates.unsqueeze(-1) * outs", "n_tok", "n_experts")
def gates_not_transposed():
    n_tok, n_experts, d_model = 4, 4, 6
    return SoftMoE(d_model, n_experts), (torch.randn(n_tok, d_model),), "n_tok d_model"


@wrong("e = F.leaky_relu(a_src + a_dst.T", "nodes", "heads")
def graph_logits_by_plain_transpose():
    nodes, heads, H = 3, 3, 5

    def gat_logits(h, src_w, dst_w):
        a_src = (h * src_w).sum(-1)
        a_dst = (h * dst_w).sum(-1)
        e = F.leaky_relu(a_src + a_dst.T, 0.2)
        return e.softmax(-1)

    return (
        gat_logits,
        (torch.randn(nodes, heads, H), torch.randn(heads, H), torch.randn(heads, H)),
        {"h": "nodes heads H", "src_w": "heads H", "dst_w": "heads H"},
    )


@wrong("total = scores.unsqueeze(1) + logp", "beam", "vocab")
def beam_scores_along_the_vocabulary():
    batch, beam, vocab = 2, 4, 4

    def step(logits, scores):
        logp = logits.log_softmax(-1)
        total = scores.unsqueeze(1) + logp
        best, flat = total.flatten(1).topk(4, dim=-1)
        return best, flat % logits.size(-1)

    return (
        step,
        (torch.randn(batch, beam, vocab), torch.randn(batch, beam)),
        {"logits": "batch beam vocab", "scores": "batch beam"},
    )


class Codebook(nn.Module):
    def __init__(self, n_codes, D):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, D)

    def forward(self, z):
        dist = (z.unsqueeze(2) - self.codebook.weight).pow(2).sum(-1)
        soft = (-dist).softmax(-1)
        quant = soft @ self.codebook.weight.t()
        return quant, soft


@wrong("quant = soft @ self.codebook.weight.t()", "n_codes", "D")
def soft_codes_times_transposed_book():
    batch, S, n_codes, D = 2, 5, 6, 6
    return Codebook(n_codes, D), (torch.randn(batch, S, D),), "batch S D"


# -------------------------------------------------------------- losses, RL
class ActorCritic(nn.Module):
    def __init__(self, obs, hidden):
        super().__init__()
        self.body = nn.Linear(obs, hidden)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, states, returns, logp):
        values = self.critic(torch.tanh(self.body(states)))  # (batch, T, 1)
        adv = returns - values
        return -(logp * adv.detach()).mean()


@wrong("adv = returns - values", "batch", "T")
def critic_column_against_rows():
    batch, T, obs = 5, 5, 3
    return (
        ActorCritic(obs, 8),
        (torch.randn(batch, T, obs), torch.randn(batch, T), torch.randn(batch, T)),
        {"states": "batch T obs", "returns": "batch T", "logp": "batch T"},
    )


class NextToken(nn.Module):
    def __init__(self, n_embd, vocab):
        super().__init__()
        self.head = nn.Linear(n_embd, vocab)

    def forward(self, hidden, targets):
        logits = self.head(hidden)
        loss = F.cross_entropy(logits, targets)
        return loss


@wrong("loss = F.cross_entropy(logits, targets)", "S", "vocab")
def classes_on_the_time_axis():
    batch, S, n_embd, vocab = 2, 6, 4, 6
    return (
        NextToken(n_embd, vocab),
        (torch.randn(batch, S, n_embd), torch.randint(0, 6, (batch, S))),
        {"hidden": "batch S n_embd", "targets": "batch S"},
    )


@wrong("loss = F.mse_loss(s_att, t_att.transpose(1, 2))", "heads", "S")
def attention_maps_in_two_layouts():
    batch, heads, S, H = 2, 4, 4, 3

    # the teacher keeps (batch, heads, S, S) as well, the transpose is left over
    def distill(sq, sk, t_att):
        s_att = rearrange(sq, "b n h d -> b h n d") @ rearrange(sk, "b n h d -> b h d n")
        s_att = s_att.softmax(-1)
        loss = F.mse_loss(s_att, t_att.transpose(1, 2))
        return loss

    sq, sk = torch.randn(2, batch, S, heads, H)
    return (
        distill,
        (sq, sk, torch.rand(batch, heads, S, S)),
        {"sq": "batch S heads H", "sk": "batch S heads H", "t_att": "batch heads S S"},
    )


@wrong("h = x * (1 + scale) + shift", "batch", "S")
def modulation_without_the_token_axis():
    batch, S, dim = 3, 3, 8

    def modulate(x, cond, w):
        scale, shift = (F.silu(cond) @ w).chunk(2, dim=-1)
        h = x * (1 + scale) + shift
        return h.softmax(-1)

    return (
        modulate,
        (torch.randn(batch, S, dim), torch.randn(batch, 4), torch.randn(4, 2 * dim)),
        {"x": "batch S dim", "cond": "batch d_cond", "w": "d_cond dim2"},
    )
