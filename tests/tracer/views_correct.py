"""Reshapes that are right, in plain numbers and by sizes that are read where they are used."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES: dict = {}


def sample(build):
    """Keep a program under its name; build(batch, S, heads, H) -> (code, inputs, dims)."""
    SAMPLES[build.__name__] = build
    return build


def x_of(batch, S, heads, H):
    return (torch.randn(batch, S, heads * H),)


NAMED = "batch S n_embd"


@sample
def heads_by_sizes(batch, S, heads, H):
    wq = nn.Linear(heads * H, heads * H)

    def attend(x):
        q = wq(x).view(x.size(0), x.size(1), heads, H).transpose(1, 2)
        y = (q @ q.mT).softmax(-1) @ q
        return y.transpose(1, 2).reshape(x.size(0), x.size(1), x.size(2))

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def heads_by_sizes_and_one_left(batch, S, heads, H):
    def attend(x):
        q = x.view(x.shape[0], -1, heads, H).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q)
        return y.transpose(1, 2).contiguous().view(x.shape[0], -1, heads * H)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def heads_merged_by_their_own_sizes(batch, S, heads, H):
    def merge(x):
        y = x.view(x.shape[0], x.shape[1], heads, H).transpose(1, 2)
        return y.permute(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])

    return merge, x_of(batch, S, heads, H), NAMED


@sample
def heads_folded_into_the_batch(batch, S, heads, H):
    def attend(x):
        q = x.view(x.size(0), x.size(1), heads, H).transpose(1, 2)
        q = q.reshape(x.size(0) * heads, x.size(1), H)
        y = torch.bmm(torch.bmm(q, q.transpose(1, 2)).softmax(-1), q)
        y = y.view(x.size(0), heads, x.size(1), H).transpose(1, 2)
        return y.reshape(x.size(0), x.size(1), heads * H)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def heads_folded_and_one_left(batch, S, heads, H):
    def attend(x):
        q = x.view(x.size(0), x.size(1), heads, H).transpose(1, 2).reshape(-1, x.size(1), H)
        y = (q @ q.mT).softmax(-1) @ q
        return y.view(x.size(0), -1, x.size(1), H).transpose(1, 2).flatten(2)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def tokens_first_by_view_as_fairseq_does(batch, S, heads, H):
    def attend(x):
        q = x.transpose(0, 1).contiguous().view(x.size(1), x.size(0) * heads, H).transpose(0, 1)
        y = torch.bmm(torch.bmm(q, q.transpose(1, 2)).softmax(-1), q)
        y = y.transpose(0, 1).contiguous().view(x.size(1), x.size(0), x.size(2))
        return y.transpose(0, 1)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def features_in_front_of_tokens(batch, S, heads, H):
    conv = nn.Conv1d(heads * H, heads * H, 1)

    def mix(x):
        y = conv(x.transpose(1, 2))
        y = y.view(x.size(0), heads, H, x.size(1))
        return torch.einsum("bhdq,bhdk->bhqk", y, y).softmax(-1)

    return mix, x_of(batch, S, heads, H), NAMED


@sample
def a_picture_into_tokens(batch, S, heads, H):
    def tokens(x):
        y = x.view(x.shape[0], x.shape[1], -1).transpose(1, 2)
        y = (y @ y.mT).softmax(-1) @ y
        return y.transpose(1, 2).reshape(x.shape)

    return tokens, (torch.randn(batch, heads * H, S, 2),), "batch channels height width"


@sample
def patches_by_sizes(batch, S, heads, H):
    def patches(x):
        y = x.view(x.size(0), x.size(1), x.size(2) // 2, 2, x.size(3) // 2, 2)
        y = y.permute(0, 2, 4, 3, 5, 1)
        return y.reshape(x.size(0), (x.size(2) // 2) * (x.size(3) // 2), 4 * x.size(1))

    return patches, (torch.randn(batch, heads, 2 * S, 2 * H),), "batch channels height width"


@sample
def frames_stacked_in_pairs(batch, S, heads, H):
    def stack(x):
        return x.view(x.size(0), x.size(1) // 2, 2 * x.size(2))

    return stack, (torch.randn(batch, 2 * S, heads * H),), NAMED


@sample
def relative_positions_shifted(batch, S, heads, H):
    def shift(scores):
        padded = F.pad(scores, (1, 0))
        padded = padded.view(scores.size(0), scores.size(1), scores.size(3) + 1, scores.size(2))
        return padded[:, :, 1:].view_as(scores)

    return shift, (torch.randn(batch, heads, S, S),), "batch heads S S"


@sample
def relative_positions_shifted_as_in_transformer_xl(batch, S, heads, H):
    def shift(x):
        zeros = torch.zeros((x.size(0), 1, *x.size()[2:]), device=x.device, dtype=x.dtype)
        padded = torch.cat([zeros, x], dim=1)
        padded = padded.view(x.size(1) + 1, x.size(0), *x.size()[2:])
        return padded[1:].view_as(x)

    return shift, (torch.randn(S, S, batch, heads),), "S S batch heads"


@sample
def windows_by_sizes(batch, S, heads, H):
    def attend(x):
        y = x.reshape(x.size(0) * 2, x.size(1) // 2, x.size(2))
        y = (y @ y.mT).softmax(-1) @ y
        return y.reshape(x.shape)

    return attend, (torch.randn(batch, 2 * S, heads * H),), NAMED


@sample
def groups_of_queries_by_sizes(batch, S, heads, H):
    def attend(q, k):
        q = q.view(q.size(0), k.size(1), 2, q.size(2), q.size(3))
        scores = q @ k.unsqueeze(2).mT
        y = scores.softmax(-1) @ k.unsqueeze(2)
        return y.reshape(y.size(0), -1, y.size(3), y.size(4))

    given = torch.randn(batch, 2 * heads, S, H), torch.randn(batch, heads, S, H)
    return attend, given, {"q": "batch heads S H", "k": "batch kv_heads S H"}


@sample
def all_three_in_one_projection(batch, S, heads, H):
    qkv = nn.Linear(heads * H, 3 * heads * H)

    def attend(x):
        q, k, v = qkv(x).view(x.size(0), x.size(1), 3, heads, H).permute(2, 0, 3, 1, 4)
        y = (q @ k.mT).softmax(-1) @ v
        return y.transpose(1, 2).reshape(x.size(0), x.size(1), -1)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def losses_by_sizes(batch, S, heads, H):
    def loss(logits, targets):
        flat = logits.view(logits.size(0) * logits.size(1), logits.size(2))
        return F.cross_entropy(flat, targets.view(-1), reduction="none").view(targets.shape)

    given = torch.randn(batch, S, 11), torch.randint(11, (batch, S))
    return loss, given, {"logits": "batch S vocab", "targets": "batch S"}


@sample
def cross_attention_by_sizes(batch, S, heads, H):
    def attend(x, memory):
        q = x.view(x.size(0), x.size(1), heads, H).transpose(1, 2)
        k = memory.view(memory.size(0), memory.size(1), heads, H).transpose(1, 2)
        y = (q @ k.mT).softmax(-1) @ k
        return y.transpose(1, 2).reshape(x.size())

    given = torch.randn(batch, S, heads * H), torch.randn(batch, S + 2, heads * H)
    return attend, given, {"x": "batch Sq n_embd", "memory": "batch Sk n_embd"}


@sample
def weights_of_any_rank(batch, S, heads, H):
    w = nn.Linear(heads * H, heads * H)

    def attend(x):
        lead = x.shape[:-1]
        q = w(x).view(*lead, heads, H).transpose(-3, -2)
        y = (q @ q.mT).softmax(-1) @ q
        return y.transpose(-3, -2).reshape(*lead, heads * H)

    return attend, x_of(batch, S, heads, H), NAMED


@sample
def steps_of_samples_drawn_again(batch, S, heads, H):
    def shuffle(x):
        flat = x.reshape(x.size(0) * x.size(1), x.size(2))
        flat = flat[torch.arange(flat.size(0), device=x.device).flip(0)]
        return flat.view(x.size(0), x.size(1), x.size(2))

    return shuffle, x_of(batch, S, heads, H), NAMED


@sample
def channels_shuffled(batch, S, heads, H):
    groups = heads

    def shuffle(x):
        y = x.view(x.size(0), groups, H, x.size(2)).transpose(1, 2).contiguous()
        return y.view(x.size(0), x.size(1), x.size(2))

    return shuffle, (torch.randn(batch, heads * H, S),), "batch channels S"


@sample
def relative_positions_shifted_in_a_buffer(batch, S, heads, H):
    def shift(q):
        padded = q.new_zeros(q.size(0), q.size(1), q.size(2), q.size(3) + 1)
        padded[..., 1:] = q
        return padded.view(q.size(0), q.size(1), q.size(3) + 1, q.size(2))[:, :, 1:]

    return shift, (torch.randn(batch, heads, S, S),), "batch heads S S"


@sample
def relative_positions_shifted_flat(batch, S, heads, H):
    def shift(r):
        b, h, n, _ = r.shape
        flat = F.pad(r, (0, 1)).view(b, h, -1)
        flat = F.pad(flat, (0, n - 1))
        return flat.view(b, h, n + 1, 2 * n - 1)[:, :, :n, n - 1 :]

    def scores(q, k):
        return shift(q @ torch.cat((k, k[:, :, 1:]), 2).mT)

    given = torch.randn(batch, heads, S, H), torch.randn(batch, heads, S, H)
    return scores, given, dict.fromkeys("qk", "batch heads S H")


@sample
def a_map_of_attention_over_a_picture(batch, S, heads, H):
    def attend(x):
        B, C, height, width = x.size()
        q = x.view(B, -1, height * width).permute(0, 2, 1)
        att = torch.bmm(q, x.view(B, -1, height * width)).softmax(-1)
        y = torch.bmm(x.view(B, -1, height * width), att.permute(0, 2, 1))
        return y.view(B, C, height, width)

    return attend, (torch.randn(batch, heads, S, H),), "B C height width"


@sample
def windows_of_a_picture(batch, S, heads, H):
    def attend(x):
        B, C, height, width = x.shape
        y = x.permute(0, 2, 3, 1).view(B, height // 2, 2, width // 2, 2, C)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, C)
        y = (y @ y.mT).softmax(-1) @ y
        y = y.view(B, height // 2, width // 2, 2, 2, C).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(B, height, width, C).permute(0, 3, 1, 2)

    return attend, (torch.randn(batch, heads, 2 * S, 2 * H),), "B C height width"


@sample
def rows_and_columns_of_a_picture(batch, S, heads, H):
    def attend(x):
        rows = x.reshape(x.size(0) * x.size(1), x.size(2), x.size(3))
        rows = ((rows @ rows.mT).softmax(-1) @ rows).view(x.shape)
        columns = x.transpose(1, 2).reshape(-1, x.size(1), x.size(3))
        columns = (columns @ columns.mT).softmax(-1) @ columns
        columns = columns.view(x.size(0), x.size(2), x.size(1), x.size(3))
        return rows + columns.transpose(1, 2)

    return attend, (torch.randn(batch, S, S + 1, heads * H),), "B height width C"


@sample
def every_pair_in_one_row(batch, S, heads, H):
    def score(a, b):
        left = a.unsqueeze(2).expand(-1, -1, b.size(1), -1)
        right = b.unsqueeze(1).expand(-1, a.size(1), -1, -1)
        pairs = torch.cat([left, right], -1).reshape(a.size(0), a.size(1) * b.size(1), -1)
        return pairs.sum(-1).view(a.size(0), a.size(1), b.size(1)).softmax(-1) @ b

    given = torch.randn(batch, S, H), torch.randn(batch, S + 1, H)
    return score, given, {"a": "batch Sq H", "b": "batch Sk H"}


@sample
def beams_by_sizes(batch, S, heads, H):
    def mean(x):
        beams = x.repeat_interleave(3, 0)
        beams = beams.view(x.size(0), 3, x.size(1), x.size(2))
        return beams.mean(1).view(x.size(0), x.size(1), -1)

    return mean, x_of(batch, S, heads, H), NAMED


@sample
def gated_channels_by_sizes(batch, S, heads, H):
    weight = nn.Parameter(torch.randn(2 * heads * H, heads * H, 3))

    def gate(x):
        y = F.conv1d(x.mT, weight, padding=1)
        a, b = y.view(x.size(0), 2, x.size(2), x.size(1)).unbind(1)
        return (a * b.sigmoid()).mT

    return gate, x_of(batch, S, heads, H), NAMED


class Causal(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv, self.out = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            part.view(B, T, self.n_heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(n_embd), Causal(n_embd, n_heads)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


@sample
def layer_upon_layer(batch, S, heads, H):
    """What is left of C beside the heads is another label in every layer."""
    blocks = [Block(heads * H, heads) for _ in range(3)]
    layers = nn.Sequential(nn.Embedding(11, heads * H), *blocks)
    return layers, (torch.randint(11, (batch, S)),), "batch S"
