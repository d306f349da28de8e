"""Twenty-nine programs that run and are wrong, each in one line that takes two dims for one.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 29 of 29 warned in this line, of these dims.
"""

# ruff: noqa: RUF005

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

WRONG = {}


def wrong(line, a, b):
    def keep(build):
        WRONG[build.__name__] = (build, line, frozenset((a, b)))
        return build

    return keep


R = torch.randn


@wrong("x = x + pos.unsqueeze(1)", "batch", "S")
def position_for_seq_first():
    def embed(x, pos):
        x = x + pos.unsqueeze(1)  # meant pos.unsqueeze(0)
        return F.layer_norm(x, x.shape[-1:])

    return embed, (R(6, 6, 8), R(6, 8)), {"x": "batch S n_embd", "pos": "S n_embd"}


@wrong("scores = scores.masked_fill(pad, -1e9)", "batch", "S")
def pad_mask_as_square():
    def attend(q, k, v, pad):
        scores = torch.einsum("bhsd,bhtd->bhst", q, k)
        scores = scores.masked_fill(pad, -1e9)  # pad[:, None, None]
        return scores.softmax(-1) @ v

    args = R(5, 2, 5, 4), R(5, 2, 7, 4), R(5, 2, 7, 4), torch.zeros(5, 7, dtype=torch.bool)
    return (
        attend,
        args,
        {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H", "pad": "batch T"},
    )


@wrong("out = F.scaled_dot_product_attention(", "batch", "heads")
def sdpa_mask_without_head_axis():
    def attend(q, k, v, keep):
        bias = keep[:, None, :]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)  # one axis short
        return out.transpose(1, 2).flatten(2)

    args = R(3, 3, 5, 4), R(3, 3, 6, 4), R(3, 3, 6, 4), torch.ones(3, 6, dtype=torch.bool)
    return (
        attend,
        args,
        {"q": "batch heads S H", "k": "batch heads T H", "v": "batch heads T H", "keep": "batch T"},
    )


@wrong("logits = logits - slopes", "heads", "T")
def slopes_along_keys():
    def alibi(q, k, slopes):
        logits = q @ k.transpose(-2, -1)
        logits = logits - slopes  # slopes[:, None, None]
        return logits.softmax(-1)

    args = R(2, 4, 5, 8), R(2, 4, 4, 8), torch.rand(4)
    return alibi, args, {"q": "batch heads S H", "k": "batch heads T H", "slopes": "heads"}


@wrong('return torch.einsum("bhsd,d->bshd"', "heads", "H")
def head_gate_on_features():
    def gated(q, k, v, gate):
        w = torch.einsum("bhsd,bhtd->bhst", q, k).softmax(-1)
        out = torch.einsum("bhst,bhtd->bhsd", w, v)
        return torch.einsum("bhsd,d->bshd", out, gate)  # gate is one number a head

    qkv = tuple(R(2, 6, 5, 6) for _ in range(3))
    return (
        gated,
        qkv + (R(6),),
        {"q": "batch heads S H", "k": "batch heads S H", "v": "batch heads S H", "gate": "heads"},
    )


@wrong('ctx = torch.einsum("bqk,bqe->bke"', "S", "T")
def attention_summed_over_queries():
    class Cross(nn.Module):
        def forward(self, q, k, v):
            att = torch.einsum("bqe,bke->bqk", q, k).softmax(dim=-1)
            ctx = torch.einsum("bqk,bqe->bke", att, v)  # keys must be summed
            return ctx

    return (
        Cross(),
        (R(2, 7, 4), R(2, 7, 4), R(2, 7, 4)),
        {"q": "batch S E", "k": "batch T E", "v": "batch T E"},
    )


@wrong("x = x - x.mean(1)", "batch", "T")
def centre_without_keepdim():
    def normalise(x):
        B, T, C = x.shape
        x = x - x.mean(1)
        return x / x.std(dim=1, keepdim=True)

    return normalise, (R(4, 4, 6),), "batch T channels"


@wrong("return q * cos", "S", "heads")
def rope_table_on_heads():
    def rope(q, cos, sin):
        half = q.shape[-1] // 2
        turned = torch.cat([-q[..., half:], q[..., :half]], dim=-1)
        return q * cos + turned * sin  # cos[:, None, :]

    return (
        rope,
        (R(2, 4, 4, 6), R(4, 6), R(4, 6)),
        {"q": "batch S heads H", "cos": "S H", "sin": "S H"},
    )


@wrong("tokens = tokens + pos", "C", "N")
def flattened_map_not_turned():
    class Vit(nn.Module):
        def forward(self, fmap, pos):
            tokens = fmap.flatten(2)  # .transpose(1, 2) forgotten
            B, C, N = tokens.shape
            tokens = tokens + pos
            return tokens.mean(1)

    return Vit(), (R(2, 9, 3, 3), R(9, 9)), {"fmap": "batch C rows cols", "pos": "N C"}


@wrong("h = self.mix(x)", "S", "n_embd")
def token_mixer_on_channels():
    S, n_embd, hidden = 8, 8, 12

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.Linear(S, hidden)
            self.back = nn.Linear(hidden, S)

        def forward(self, x):
            h = self.mix(x)  # mix(x.transpose(1, 2))
            return x + self.back(F.gelu(h))

    return Mixer(), (R(2, S, n_embd),), "batch S n_embd"


@wrong("x = self.wte(idx) + pos", "batch", "S")
def positions_counted_over_batch():
    vocab, block, n_embd = 11, 16, 6

    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(vocab, n_embd)
            self.wpe = nn.Embedding(block, n_embd)

        def forward(self, idx):
            pos = self.wpe(torch.arange(idx.size(0)))  # size(1)
            x = self.wte(idx) + pos
            return x

    return Embed(), (torch.randint(0, 11, (5, 5)),), "batch S"


@wrong('y = torch.einsum("te,etc->tc"', "N", "experts")
def expert_axis_swapped():
    def combine(gates, outs):
        p = gates.softmax(-1)
        y = torch.einsum("te,etc->tc", p, outs)  # tec
        return y

    return combine, (R(4, 4), R(4, 4, 7)), {"gates": "N experts", "outs": "N experts n_embd"}


@wrong("total = logp / lengths.unsqueeze(1)", "beams", "vocab")
def length_penalty_over_vocab():
    def rank(logp, lengths):
        total = logp / lengths.unsqueeze(1)  # unsqueeze(-1)
        return total.flatten(1).topk(3).indices

    return (
        rank,
        (R(2, 6, 6), torch.ones(2, 6)),
        {"logp": "batch beams vocab", "lengths": "batch beams"},
    )


@wrong("k = k8.float() * scale", "heads", "S")
def dequantised_with_head_scale():
    def scores(q, k8, scale):
        k = k8.float() * scale  # scale[:, None]
        return torch.matmul(q, k.transpose(2, 3))

    k8 = torch.randint(-9, 9, (2, 4, 4, 6)).to(torch.int8)
    return (
        scores,
        (R(2, 4, 4, 6), k8, torch.rand(4, 6)),
        {"q": "batch heads S H", "k8": "batch heads S H", "scale": "heads H"},
    )


@wrong("return (student - teacher)", "batch", "S")
def teacher_is_seq_first():
    def hint(student, teacher):
        return (student - teacher).pow(2).mean()

    return (
        hint,
        (R(3, 3, 5), R(3, 3, 5)),
        {"student": "batch S n_embd", "teacher": "S batch n_embd"},
    )


@wrong("x = states * rtg[:, None]", "K", "C")
def return_scales_features():
    def condition(states, rtg):
        x = states * rtg[:, None]  # rtg[..., None]
        return x.cumsum(1)

    return condition, (R(2, 6, 6), R(2, 6)), {"states": "batch K C", "rtg": "batch K"}


@wrong("z = z * self.gain", "channels", "T")
def affine_after_the_turn():
    channels = 7

    class RevIn(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.randn(channels))

        def forward(self, x):
            z = x.transpose(1, 2)
            z = z * self.gain
            return z.softmax(-1)

    return RevIn(), (R(2, 7, channels),), "batch T channels"


@wrong("spec = spec.masked_fill(~valid[:, :, None]", "mels", "frames")
def frame_mask_on_mels():
    def clean(spec, lengths):
        B, mels, frames = spec.shape
        valid = torch.arange(frames)[None, :] < lengths[:, None]
        spec = spec.masked_fill(~valid[:, :, None], 0.0)  # valid[:, None]
        return spec.sum(-1)

    return (
        clean,
        (R(2, 8, 8), torch.tensor([8, 5])),
        {"spec": "batch mels frames", "lengths": "batch"},
    )


@wrong("pooled = torch.bmm(w.unsqueeze(1), x.transpose(1, 2))", "S", "D")
def pool_over_features():
    D = 6

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(D, 1)

        def forward(self, x):
            w = self.score(x).squeeze(-1).softmax(-1)
            pooled = torch.bmm(w.unsqueeze(1), x.transpose(1, 2))
            return pooled.squeeze(1)

    return Pool(), (R(2, 6, D),), "batch S D"


@wrong("out = phi_q @ state.mT", "H", "E")
def state_turned():
    def linear(q, k, v):
        phi_q, phi_k = q.relu(), k.relu()
        state = phi_k.mT @ v
        out = phi_q @ state.mT  # state is (H, E) already
        return out

    return (
        linear,
        (R(2, 3, 7, 5), R(2, 3, 7, 5), R(2, 3, 7, 5)),
        {"q": "batch heads S H", "k": "batch heads S H", "v": "batch heads S E"},
    )


@wrong("att = att.masked_fill(causal == 0", "H", "S")
def causal_mask_of_head_size():
    def attend(q, k, v):
        B, nh, S, H = q.shape
        causal = torch.tril(torch.ones(H, H))  # ones(S, S)
        att = q @ k.transpose(-2, -1) * H**-0.5
        att = att.masked_fill(causal == 0, float("-inf"))
        return att.softmax(-1) @ v

    qkv = tuple(R(2, 3, 8, 8) for _ in range(3))
    return attend, qkv, dict.fromkeys("qkv", "batch heads S H")


@wrong("feat = feat * gamma[:, None, None]", "C", "cols")
def film_on_columns():
    C, cond = 6, 5

    class Film(nn.Module):
        def __init__(self):
            super().__init__()
            self.to_gamma = nn.Linear(cond, C)

        def forward(self, feat, z):
            gamma = self.to_gamma(z)
            feat = feat * gamma[:, None, None]  # gamma[:, :, None, None]
            return feat.relu()

    return Film(), (R(2, C, 4, 6), R(2, cond)), {"feat": "batch C rows cols", "z": "batch cond"}


@wrong("sim = rearrange(q,", "S", "heads")
def head_bias_along_queries():
    def bias(q, k, temp):
        sim = rearrange(q, "b s h d -> b h s d") * temp[:, None]
        return sim @ rearrange(k, "b t h d -> b h d t")

    return (
        bias,
        (R(2, 5, 5, 4), R(2, 7, 5, 4), R(5)),
        {"q": "batch S heads H", "k": "batch T heads H", "temp": "heads"},
    )


@wrong("rows = x.view(B * heads, T, H)", "S", "heads")
def heads_folded_into_batch():
    def fold(x):
        B, T, heads, H = x.shape
        rows = x.view(B * heads, T, H)  # transpose(1, 2) first
        return torch.bmm(rows, rows.transpose(1, 2)).softmax(-1)

    return fold, (R(2, 5, 3, 4),), "batch S heads H"


@wrong("seq = hidden.view(K, B, C)", "batch", "beams")
def beams_first_by_view():
    def reorder(hidden, parent):
        B, K, C = hidden.shape
        seq = hidden.view(K, B, C)  # transpose(0, 1)
        return seq.gather(0, parent[..., None].expand(-1, -1, C))

    parent = torch.tensor([[0, 1], [2, 0], [1, 1]])
    return reorder, (R(2, 3, 4), parent), {"hidden": "batch beams C", "parent": "beams batch"}


@wrong("frames = y.reshape(B, T, C)", "C", "T")
def conv_output_reshaped():
    C = 6

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(3, C, 3, padding=1)
            self.norm = nn.LayerNorm(C)

        def forward(self, mel):
            y = self.conv(mel)
            B, C, T = y.shape
            frames = y.reshape(B, T, C)  # y.transpose(1, 2)
            return self.norm(frames)

    return Encoder(), (R(2, 3, 9),), "batch mels T"


@wrong("return x + y", "S", "n_embd")
def residual_left_turned():
    n_embd = 6

    class ConvBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(n_embd, n_embd, 3, padding=1, groups=n_embd)

        def forward(self, x):
            y = self.conv(x.transpose(1, 2))
            return x + y  # y.transpose(1, 2)

    return ConvBlock(), (R(2, 6, n_embd),), "batch S n_embd"


@wrong('return rearrange(out, "(h b) s d', "batch", "heads")
def heads_unfolded_in_other_order():
    def attend(q, k, v):
        heads = q.shape[1]
        q, k, v = (rearrange(t, "b h s d -> (b h) s d") for t in (q, k, v))
        out = torch.bmm(torch.bmm(q, k.mT).softmax(-1), v)
        return rearrange(out, "(h b) s d -> b s (h d)", h=heads)  # (b h)

    qkv = tuple(R(2, 3, 5, 4) for _ in range(3))
    return attend, qkv, dict.fromkeys("qkv", "batch heads S H")


@wrong("att = torch.where(valid[:, None, :, None]", "S", "T")
def key_mask_on_queries():
    def attend(q, k, v, valid):
        att = torch.einsum("bhsd,bhtd->bhst", q, k)
        att = torch.where(valid[:, None, :, None], att, torch.tensor(-1e9))  # valid[:, None, None]
        return torch.einsum("bhst,bhtd->bshd", att.softmax(-1), v)

    valid = torch.ones(2, 6, dtype=torch.bool)
    valid[1, 4:] = False
    args = R(2, 3, 6, 4), R(2, 3, 6, 4), R(2, 3, 6, 4), valid
    return (
        attend,
        args,
        {
            "q": "batch heads S H",
            "k": "batch heads T H",
            "v": "batch heads T H",
            "valid": "batch T",
        },
    )
