"""Thirty-one programs that run and are wrong, each in one line that takes two dims for one.

They were written by somebody who had read neither the tracer nor its tests, before any was run.
First run: 30 of 31 warned in this line, of these dims. `tensordot_axis_off_by_one` was silent, as
tensordot had no rule. It has one now.
"""

# The code is kept in the style that it was written in.
# ruff: noqa: E731

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

WRONG = {}


def wrong(line, dim_a, dim_b):
    def add(build):
        WRONG[build.__name__] = (build, line, frozenset((dim_a, dim_b)))
        return build

    return add


@wrong("energy = torch.tanh(enc + hidden.unsqueeze(1))", "S", "batch")
def additive_hidden_on_wrong_axis():
    # enc is seq-first: hidden must be broadcast over dim 0
    def score(hidden, enc, v):
        energy = torch.tanh(enc + hidden.unsqueeze(1))
        return (energy @ v).softmax(0)

    args = (torch.randn(4, 6), torch.randn(4, 4, 6), torch.randn(6))
    return score, args, {"hidden": "batch H", "enc": "S batch H", "v": "H"}


@wrong("scores = scores.masked_fill(pad, -1e9)", "batch", "S")
def padding_mask_two_dims():
    # needs pad[:, None, :]
    def single_head(x, pad):
        scores = x @ x.transpose(1, 2)
        scores = scores.masked_fill(pad, -1e9)
        return scores.softmax(-1) @ x

    pad = torch.arange(5)[None, :] >= torch.tensor([5, 4, 3, 2, 1])[:, None]
    return single_head, (torch.randn(5, 5, 8), pad), {"x": "batch S n_embd", "pad": "batch S"}


@wrong('att = torch.einsum("bqhd,bkhd->bhqk", q, k)', "S", "heads")
def einsum_key_already_transposed():
    # k is (batch, heads, S, H) as it comes out of the cache
    def fn(q, k):
        att = torch.einsum("bqhd,bkhd->bhqk", q, k)
        return att.softmax(-1)

    args = (torch.randn(2, 4, 4, 8), torch.randn(2, 4, 4, 8))
    return fn, args, {"q": "batch S heads H", "k": "batch heads S H"}


@wrong("q = x @ Wq", "n_embd", "head_size")
def torch_weight_used_numpy_way():
    # Wq is stored like nn.Linear.weight: (out, in)
    def head(x, Wq, Wk):
        k = F.linear(x, Wk)
        q = x @ Wq
        return torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -1)

    args = (torch.randn(2, 5, 6), torch.randn(6, 6), torch.randn(6, 6))
    return head, args, {"x": "batch S n_embd", "Wq": "head_size n_embd", "Wk": "head_size n_embd"}


@wrong("h = F.gelu(F.linear(x, kernel, bias))", "n_embd", "d_ff")
def jax_kernel_in_functional_linear():
    # flax kernels are (in, out); F.linear wants (out, in)
    def dense(x, kernel, bias):
        h = F.gelu(F.linear(x, kernel, bias))
        return h

    args = (torch.randn(2, 5, 8), torch.randn(8, 8), torch.zeros(8))
    return dense, args, {"x": "batch S n_embd", "kernel": "n_embd d_ff", "bias": "d_ff"}


@wrong("pooled = (x * w.unsqueeze(1)).sum(1)", "S", "H")
def pooling_weights_unsqueezed_wrong():
    # needs w.unsqueeze(-1)
    class Pool(nn.Module):
        def __init__(self, H):
            super().__init__()
            self.score = nn.Linear(H, 1)

        def forward(self, x):
            w = self.score(x).squeeze(-1).softmax(dim=1)
            pooled = (x * w.unsqueeze(1)).sum(1)
            return pooled

    return Pool(6), (torch.randn(3, 6, 6),), "batch S H"


@wrong("return img * gate[:, :, None, None]", "channels", "height")
def squeeze_excite_ported_channels_last():
    class SE(nn.Module):
        def __init__(self, channels, reduced):
            super().__init__()
            self.down = nn.Linear(channels, reduced)
            self.up = nn.Linear(reduced, channels)

        def forward(self, img):
            gate = torch.sigmoid(self.up(F.relu(self.down(img.mean(dim=(1, 2))))))
            return img * gate[:, :, None, None]

    return SE(6, 2), (torch.randn(2, 6, 5, 6),), "batch height width channels"


@wrong("weights = e / e.sum(axis=1)", "n_q", "n_k")
def numpy_softmax_without_keepdims():
    def attention(Q, K, V):
        e = torch.exp(Q @ K.T)
        weights = e / e.sum(axis=1)
        return weights @ V

    args = (torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 7))
    return attention, args, {"Q": "n_q d_k", "K": "n_k d_k", "V": "n_k d_v"}


@wrong('e = e.masked_fill(adj == 0, float("-inf"))', "N", "n_heads")
def gat_adjacency_without_head_axis():
    # e is (N, N, n_heads): needs adj[:, :, None]
    class GAT(nn.Module):
        def __init__(self, n_feat, n_heads):
            super().__init__()
            self.src = nn.Linear(n_feat, n_heads)
            self.dst = nn.Linear(n_feat, n_heads)

        def forward(self, x, adj):
            e = F.leaky_relu(self.src(x)[:, None] + self.dst(x)[None, :])
            e = e.masked_fill(adj == 0, float("-inf"))
            return e.softmax(1)

    adj = torch.ones(4, 4)
    return GAT(6, 4), (torch.randn(4, 6), adj), {"x": "N n_feat", "adj": "N N"}


@wrong("scores = scores + self.table(rel)", "S", "n_heads")
def relative_bias_heads_last():
    # the table gives (S, S, n_heads): permute(2, 0, 1) is missing
    class Bias(nn.Module):
        def __init__(self, n_heads, n_buckets):
            super().__init__()
            self.table = nn.Embedding(n_buckets, n_heads)

        def forward(self, q, k):
            batch, n_heads, S, H = q.shape
            scores = q @ k.transpose(-2, -1)
            rel = (torch.arange(S)[None, :] - torch.arange(S)[:, None]).clamp(-3, 3) + 3
            scores = scores + self.table(rel)
            return scores.softmax(-1)

    d = "batch n_heads S H"
    return Bias(4, 7), (torch.randn(2, 4, 4, 8), torch.randn(2, 4, 4, 8)), {"q": d, "k": d}


@wrong("return x * cos + rotated * sin", "S", "heads")
def rope_table_on_head_axis():
    # x is (batch, S, heads, H): needs cos[:, None, :]
    def rope(x, cos, sin):
        half = x.shape[-1] // 2
        rotated = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
        return x * cos + rotated * sin

    args = (torch.randn(2, 4, 4, 6), torch.randn(4, 6), torch.randn(4, 6))
    return rope, args, {"x": "batch S heads H", "cos": "S H", "sin": "S H"}


@wrong("mixed = probs @ self.mix", "S", "n_heads")
def talking_heads_mixes_keys():
    class Talking(nn.Module):
        def __init__(self, n_heads):
            super().__init__()
            self.n_heads = n_heads
            self.mix = nn.Parameter(torch.randn(n_heads, n_heads))

        def forward(self, q, k, v):
            probs = (q @ k.transpose(2, 3)).softmax(-1)
            mixed = probs @ self.mix
            return mixed @ v

    make = lambda: torch.randn(2, 5, 5, 3)
    d = "batch n_heads S H"
    return Talking(5), (make(), make(), make()), {"q": d, "k": d, "v": d}


@wrong("tokens = feats.view(batch, L, C)", "C", "L")
def conv_features_viewed_as_sequence():
    # transpose(1, 2) is meant
    class Front(nn.Module):
        def __init__(self, mels, C, n_embd):
            super().__init__()
            self.conv = nn.Conv1d(mels, C, 3, padding=1)
            self.proj = nn.Linear(C, n_embd)

        def forward(self, audio):
            feats = F.relu(self.conv(audio))
            batch, C, L = feats.shape
            tokens = feats.view(batch, L, C)
            return self.proj(tokens)

    return Front(8, 6, 10), (torch.randn(2, 8, 9),), "batch mels L"


@wrong("context = attn @ self.v(x)", "T", "S")
def cross_attention_values_from_decoder():
    # values must come from memory
    class Cross(nn.Module):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.q = nn.Linear(n_embd, head_size)
            self.k = nn.Linear(n_embd, head_size)
            self.v = nn.Linear(n_embd, head_size)

        def forward(self, x, memory):
            attn = torch.softmax(self.q(x) @ self.k(memory).transpose(1, 2), dim=-1)
            context = attn @ self.v(x)
            return context

    args = (torch.randn(2, 5, 8), torch.randn(2, 5, 8))
    return Cross(8, 4), args, {"x": "batch S n_embd", "memory": "batch T n_embd"}


@wrong("sim = sim.masked_fill(~doc_mask[:, None, None, :], -1e4)", "n_queries", "n_docs")
def late_interaction_mask_on_queries():
    # sim is (n_queries, n_docs, q_len, doc_len): the mask belongs to dim 1
    def maxsim(Q, D, doc_mask):
        sim = torch.einsum("qid,pjd->qpij", Q, D)
        sim = sim.masked_fill(~doc_mask[:, None, None, :], -1e4)
        return sim.max(-1).values.sum(-1)

    mask = torch.ones(4, 6, dtype=torch.bool)
    args = (torch.randn(4, 3, 8), torch.randn(4, 6, 8), mask)
    return (
        maxsim,
        args,
        {"Q": "n_queries q_len dim", "D": "n_docs doc_len dim", "doc_mask": "n_docs doc_len"},
    )


@wrong("loss = ((student - teacher.mean(1)) ** 2).mean()", "batch", "heads")
def distillation_mean_without_keepdim():
    def attention_loss(student, teacher):
        loss = ((student - teacher.mean(1)) ** 2).mean()
        return loss

    args = (torch.randn(4, 4, 6, 6), torch.randn(4, 12, 6, 6))
    return (
        attention_loss,
        args,
        {"student": "batch heads S S", "teacher": "batch teacher_heads S S"},
    )


@wrong("out = (gates.unsqueeze(-1) * outs).sum(2)", "S", "n_experts")
def moe_experts_stacked_on_dim_one():
    # outs is (batch, n_experts, S, d): stack with dim=2
    class MoE(nn.Module):
        def __init__(self, n_embd, n_experts):
            super().__init__()
            self.router = nn.Linear(n_embd, n_experts)
            self.experts = nn.ModuleList([nn.Linear(n_embd, n_embd) for _ in range(n_experts)])

        def forward(self, x):
            gates = self.router(x).softmax(-1)
            outs = torch.stack([expert(x) for expert in self.experts], dim=1)
            out = (gates.unsqueeze(-1) * outs).sum(2)
            return out

    return MoE(6, 4), (torch.randn(2, 4, 6),), "batch S n_embd"


@wrong("weighted = -(logp * adv)", "n_envs", "n_steps")
def policy_loss_time_major_advantage():
    # adv is time-major: adv.T is meant
    def policy_loss(logp, adv):
        weighted = -(logp * adv)
        return weighted.mean()

    args = (torch.randn(6, 6), torch.randn(6, 6))
    return policy_loss, args, {"logp": "n_envs n_steps", "adv": "n_steps n_envs"}


@wrong("k8 = (k / scale.unsqueeze(-1)).round()", "S", "H")
def per_channel_scale_unsqueezed_last():
    # amax over S leaves (batch, heads, H): unsqueeze(2) is meant
    def quantise(k):
        scale = k.abs().amax(dim=2) / 127
        k8 = (k / scale.unsqueeze(-1)).round()
        return k8.to(torch.int8), scale

    return quantise, (torch.randn(2, 3, 6, 6),), "batch heads S H"


@wrong('out = torch.einsum("bcij,bcjd->bcid", col_attn, v)', "rows", "cols")
def axial_column_attention_on_row_layout():
    # v is (batch, rows, cols, dim); col_attn is (batch, cols, rows, rows)
    def column_attention(q, k, v):
        col_attn = torch.einsum("bicd,bjcd->bcij", q, k).softmax(-1)
        out = torch.einsum("bcij,bcjd->bcid", col_attn, v)
        return out

    make = lambda: torch.randn(2, 5, 5, 4)
    d = "batch rows cols dim"
    return column_attention, (make(), make(), make()), {"q": d, "k": d, "v": d}


@wrong("den = q @ k.sum(dim=-1, keepdim=True)", "H", "S")
def linear_attention_normaliser_over_features():
    # the normaliser sums over S: k.sum(dim=-2).unsqueeze(-1)
    def linear_attention(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        num = q @ (k.mT @ v)
        den = q @ k.sum(dim=-1, keepdim=True)
        return num / den

    make = lambda: torch.randn(2, 3, 8, 8)
    d = "batch heads S H"
    return linear_attention, (make(), make(), make()), {"q": d, "k": d, "v": d}


@wrong("h = self.conv(x).transpose(1, 2)", "S", "n_feat")
def time_series_conv_without_transpose():
    # Conv1d wants (batch, n_feat, S)
    class Forecaster(nn.Module):
        def __init__(self, n_feat, n_embd):
            super().__init__()
            self.conv = nn.Conv1d(n_feat, n_embd, kernel_size=3, padding=1)
            self.query = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            h = self.conv(x).transpose(1, 2)
            return torch.softmax(self.query(h) @ h.transpose(1, 2), -1) @ h

    return Forecaster(7, 4), (torch.randn(2, 7, 7),), "batch S n_feat"


@wrong("x = self.norm(x)", "n_embd", "S")
def layer_norm_channels_first():
    class Norm(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.norm = nn.LayerNorm(n_embd)

        def forward(self, x):
            x = self.norm(x)
            return x.transpose(1, 2)

    return Norm(6), (torch.randn(2, 6, 6),), "batch n_embd S"


@wrong("x = x + table.T[: x.shape[1]]", "S", "n_embd")
def sinusoid_table_transposed():
    # the table was (S, n_embd) already
    def add_positions(x, table):
        x = x + table.T[: x.shape[1]]
        return x

    return (
        add_positions,
        (torch.randn(3, 8, 8), torch.randn(8, 8)),
        {"x": "batch S n_embd", "table": "S n_embd"},
    )


@wrong("total = log_probs + beam_scores[:, None]", "beams", "vocab")
def beam_scores_added_to_vocab():
    # needs beam_scores[:, :, None]
    def step(log_probs, beam_scores):
        total = log_probs + beam_scores[:, None]
        return total.flatten(1).topk(log_probs.size(1))

    args = (torch.randn(2, 5, 5).log_softmax(-1), torch.randn(2, 5))
    return step, args, {"log_probs": "batch beams vocab", "beam_scores": "batch beams"}


@wrong("att = att.masked_fill(pad[:, None].repeat(n_heads, 1, 1), -1e9)", "n_batch", "n_heads")
def mask_repeat_instead_of_interleave():
    # rows of att run (n_batch, n_heads); repeat gives (n_heads, n_batch)
    def fn(q, k, pad):
        n_batch, n_heads, S, H = q.shape
        q = q.reshape(n_batch * n_heads, S, H)
        k = k.reshape(n_batch * n_heads, S, H)
        att = torch.bmm(q, k.transpose(1, 2))
        att = att.masked_fill(pad[:, None].repeat(n_heads, 1, 1), -1e9)
        return att.softmax(-1)

    pad = torch.arange(5)[None, :] >= torch.tensor([5, 3, 2])[:, None]
    args = (torch.randn(3, 3, 5, 4), torch.randn(3, 3, 5, 4), pad)
    d = "n_batch n_heads S H"
    return fn, args, {"q": d, "k": d, "pad": "n_batch S"}


@wrong("out = out.view(bsz, T, n_heads * hd)", "n_heads", "T")
def bmm_heads_merged_without_transpose():
    def fn(q, k, v):
        bsz, n_heads, T, hd = q.shape
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        out = torch.bmm((q @ k.mT).softmax(-1), v)
        out = out.view(bsz, T, n_heads * hd)
        return out

    make = lambda: torch.randn(2, 3, 5, 4)
    d = "bsz n_heads T hd"
    return fn, (make(), make(), make()), {"q": d, "k": d, "v": d}


@wrong("keep = torch.arange(S) < lengths", "S", "batch")
def length_mask_without_column():
    # needs lengths[:, None]
    def masked_mean(x, lengths):
        batch, S, H = x.shape
        keep = torch.arange(S) < lengths
        return (x * keep[:, None]).sum(1) / lengths[:, None]

    args = (torch.randn(4, 4, 6), torch.tensor([1, 2, 3, 4]))
    return masked_mean, args, {"x": "batch S H", "lengths": "batch"}


@wrong("ctx = torch.bmm(w.t().unsqueeze(1), enc.transpose(0, 1))", "S", "batch")
def dot_weights_transposed_twice():
    # enc is (S, batch, H), w is (batch, S) already
    def context(hidden, enc):
        w = torch.einsum("bd,sbd->bs", hidden, enc).softmax(dim=1)
        ctx = torch.bmm(w.t().unsqueeze(1), enc.transpose(0, 1))
        return ctx.squeeze(1)

    args = (torch.randn(4, 6), torch.randn(4, 4, 6))
    return context, args, {"hidden": "batch H", "enc": "S batch H"}


@wrong("q = torch.tensordot(x, Wq, dims=([2], [1]))", "n_embd", "head_dim")
def tensordot_axis_off_by_one():
    # Wq is (n_heads, head_dim, n_embd): axis 2 holds n_embd
    def project(x, Wq):
        q = torch.tensordot(x, Wq, dims=([2], [1]))
        return q.permute(0, 2, 1, 3)

    return (
        project,
        (torch.randn(2, 5, 6), torch.randn(3, 6, 6)),
        {"x": "batch S n_embd", "Wq": "n_heads head_dim n_embd"},
    )


@wrong("x = x + self.adapter(gate)", "S", "n_embd")
def adapter_residual_on_transposed():
    # the adapter's output is (batch, n_embd, S) and must be transposed back
    class Mixer(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.adapter = nn.Conv1d(n_embd, n_embd, 1)

        def forward(self, x):
            gate = torch.sigmoid(x).transpose(1, 2)
            x = x + self.adapter(gate)
            return x

    return Mixer(6), (torch.randn(2, 6, 6),), "batch S n_embd"
