"""Correct programs of a reader who took nothing from the book: helpers, factories, libraries' ways.

A helper has its own word for a size that has a name already; layers are made in a comprehension, a
factory, a list; a mask comes without names; an image is as large as one of its windows.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = {}


def sample(build):
    SAMPLES[build.__name__] = build
    return build


# ------------------------------------------------ a helper's own word for the width of a layer
class SplitInAHelper(nn.Module):
    """Self-attention without a projection at its end, added to what went in."""

    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.build(width)

    def build(self, width):
        self.to_q, self.to_k, self.to_v = [nn.Linear(width, width) for _ in "qkv"]

    def per_head(self, t):
        B, T, C = t.shape
        return t.reshape(B, T, self.count, C // self.count).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.per_head(layer(x)) for layer in (self.to_q, self.to_k, self.to_v))
        mixed = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        B, count, T, d = mixed.shape
        return x + mixed.transpose(1, 2).reshape(B, T, count * d)


class LayersOfAFactory(SplitInAHelper):
    def build(self, width):
        make = lambda: nn.Linear(width, width, bias=False)  # noqa: E731
        self.to_q, self.to_k, self.to_v = make(), make(), make()


class LayersOfADict(SplitInAHelper):
    def build(self, width):
        self.maps = nn.ModuleDict({name: nn.Linear(width, width) for name in "qkv"})
        self.to_q, self.to_k, self.to_v = self.maps["q"], self.maps["k"], self.maps["v"]


class LayersCloned(SplitInAHelper):
    def build(self, width):
        one = nn.Linear(width, width)
        self.linears = nn.ModuleList([copy.deepcopy(one) for _ in range(3)])
        self.to_q, self.to_k, self.to_v = self.linears


def _split_in_a_helper(kind):
    def build(batch, S, heads, H):
        width = heads * H
        return kind(width, heads), (torch.randn(batch, S, width),), "batch S n_embd"

    return build


for _kind in (SplitInAHelper, LayersOfAFactory, LayersOfADict, LayersCloned):
    SAMPLES[_kind.__name__] = _split_in_a_helper(_kind)


@sample
def feed_forward_over_all_rows(batch, S, heads, H):
    wide = nn.Linear(H, H)

    def rows(t):
        n, length, inner = t.shape
        return F.gelu(t.reshape(n * length, inner)).reshape(n, length, inner)

    return lambda x: x + rows(wide(x)), (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def gate_from_a_helper(batch, S, heads, H):
    lin = nn.Linear(H, H)

    def opened(z):
        n, length, dim = z.shape
        return z.view(-1, dim).sigmoid().view(n, length, dim)

    return lambda x: x * opened(lin(x)), (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def depthwise_step_on_channels_first(batch, S, heads, H):
    conv = nn.Conv1d(H, H, 3, padding=1)

    def fn(x):
        y = conv(x.transpose(1, 2))
        n, ch, steps = y.shape
        return x + y.permute(0, 2, 1).reshape(n, steps, ch)

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def time_first_inside(batch, S, heads, H):
    lin = nn.Linear(H, H)

    def fn(x):
        y = lin(x).transpose(0, 1)
        steps, n, feats = y.shape
        return x + y.reshape(steps, n * feats).view(steps, n, feats).transpose(0, 1)

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def attention_over_pixels(batch, S, heads, H):
    to_q, to_k, to_v = (nn.Conv2d(H, H, 1) for _ in range(3))

    def fn(x):
        q, k, v = to_q(x), to_k(x), to_v(x)
        n, ch, rows, cols = v.shape
        q, k, v = (z.reshape(n, ch, rows * cols) for z in (q, k, v))
        w = torch.bmm(q.transpose(1, 2), k).softmax(-1)
        return x + 0.5 * torch.bmm(v, w.transpose(1, 2)).reshape(n, ch, rows, cols)

    x = torch.randn(batch, H, S, S + 1)
    return fn, (x,), "batch channels height width"


@sample
def one_layer_twice(batch, S, heads, H):
    """The same weights again: what came out goes in."""
    lin = nn.Linear(H, H)

    def once(t):
        B, T, D = t.shape
        return lin(t.reshape(B * T, D)).reshape(B, T, D)

    def named(t):
        B, T, inner = t.shape
        return t.relu().view(B, T, inner)

    return (
        lambda x: x + named(lin(named(lin(once(x))))),
        (torch.randn(batch, S, H),),
        "batch S n_embd",
    )


@sample
def weights_as_plain_matrices(batch, S, heads, H):
    width = heads * H

    def cut(t, n):
        B, T, C = t.shape
        return t.view(B, T, n, C // n).transpose(1, 2)

    def fn(x, Wq, Wk, Wv, n=heads):
        q, k, v = cut(x @ Wq, n), cut(x @ Wk, n), cut(x @ Wv.T, n)
        y = F.scaled_dot_product_attention(q, k, v)
        B, n, T, d = y.shape
        return x + y.transpose(1, 2).reshape(B, T, n * d)

    matrices = [torch.randn(width, width) for _ in range(3)]
    return fn, (torch.randn(batch, S, width), *matrices), "batch S n_embd"


@sample
def convolution_with_its_own_weight(batch, S, heads, H):
    weight = nn.Parameter(torch.randn(H, H, 3))

    def fn(x):
        out, taken, taps = weight.shape
        y = F.conv1d(x.mT, weight.view(out, taken, taps), padding=taps // 2)
        n, out, steps = y.shape
        return x + y.reshape(n, out, steps).mT

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


class AllHeads(nn.Module):
    """The names of BERT, without its dense layer."""

    def __init__(self, hidden_size, num_attention_heads, all_head_size):
        super().__init__()
        self.num_attention_heads, self.all_head_size = num_attention_heads, all_head_size
        layers = [nn.Linear(hidden_size, self.all_head_size) for _ in range(3)]
        self.query, self.key, self.value = layers

    def transpose_for_scores(self, x):
        return x.view(*x.shape[:2], self.num_attention_heads, -1).permute(0, 2, 1, 3)

    def forward(self, hidden_states):
        layers = (self.query, self.key, self.value)
        q, k, v = (self.transpose_for_scores(layer(hidden_states)) for layer in layers)
        probs = (q @ k.transpose(-1, -2) / k.size(-1) ** 0.5).softmax(-1)
        context = (probs @ v).permute(0, 2, 1, 3).contiguous()
        return hidden_states + context.view(*context.shape[:2], self.all_head_size)


@sample
def all_head_size_and_a_residual(batch, S, heads, H):
    model = AllHeads(heads * H, heads, heads * H)
    return model, (torch.randn(batch, S, heads * H),), "batch S n_embd"


# ------------------------------------------------------------- what comes without names
@sample
def mask_without_names(batch, S, heads, H):
    def attend(x, attention_mask):
        q_length, kv_length = x.shape[1], attention_mask.shape[-1]
        allowed = attention_mask[:, None, :].expand(-1, q_length, kv_length).bool()
        scores = x @ x.mT / x.shape[-1] ** 0.5
        return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ x

    x, mask = torch.randn(batch, S, H), torch.ones(batch, S)
    return attend, (x, mask), {"x": "batch S n_embd", "attention_mask": "batch S"}


@sample
def square_mask_without_names(batch, S, heads, H):
    def attend(x, bias):
        q_len, k_len = bias.shape[-2:]
        scores = x @ x.mT + bias.view(1, q_len, k_len)
        return scores.softmax(-1) @ x

    return attend, (torch.randn(batch, S, H), torch.zeros(S, S)), {"x": "batch _ n_embd"}


@sample
def keys_measured_by_themselves(batch, S, heads, H):
    def attend(q, k, v):
        n = q.shape[-2]
        m = k.shape[-2]
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores + torch.full((n, m), -torch.inf).triu(1) + torch.zeros(1, 1, m)
        return scores.softmax(-1) @ v + q

    make = lambda: torch.randn(batch, heads, S, H)  # noqa: E731
    dims = "batch heads S H"
    return attend, (make(), make(), make()), {"q": dims, "k": dims, "v": dims}


# ------------------------------------------------------- two words for one number of heads
class KeysPerHead(nn.Module):
    """The names of x-transformers: kv_heads are the heads where nobody asks for fewer."""

    def __init__(self, dim, heads, kv_heads=None, dim_head=4):
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        self.heads, self.kv_heads = heads, kv_heads
        self.to_q = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_k = nn.Linear(dim, dim_head * kv_heads, bias=False)
        self.to_v = nn.Linear(dim, dim_head * kv_heads, bias=False)
        self.to_out = nn.Linear(dim_head * heads, dim, bias=False)

    def forward(self, x):
        q = self.to_q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (
            layer(x).unflatten(-1, (self.kv_heads, -1)).transpose(1, 2)
            for layer in (self.to_k, self.to_v)
        )
        heads, kv_heads = q.shape[1], k.shape[1]
        if kv_heads < heads:
            k, v = (t.repeat_interleave(heads // kv_heads, dim=1) for t in (k, v))
        out = torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1) @ v
        return self.to_out(out.transpose(1, 2).flatten(2))


@sample
def keys_per_head_in_two_layers(batch, S, heads, H):
    class Two(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layers = nn.ModuleList(KeysPerHead(dim, heads, dim_head=H) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    return Two(heads * H), (torch.randn(batch, S, heads * H),), "batch S n_embd"


@sample
def heads_folded_into_the_batch_counted_again(batch, S, heads, H):
    """The names of Longformer: at batch 1 all heads are as many as those of one sample."""

    def folded(t, num_heads):
        batch_size, seq_len, num_heads, head_dim = t.shape
        return t.transpose(1, 2).reshape(batch_size * num_heads, seq_len, head_dim)

    def fn(x):
        t = x.transpose(1, 2)
        scores = folded(t, heads) @ folded(t, heads).mT
        total_num_heads, n, m = scores.shape
        scores = scores.view(total_num_heads, n * m).view(total_num_heads, n, m)
        batch_size, num_heads = x.shape[:2]
        probs = scores.view(batch_size, num_heads, n, m).softmax(-1)
        return (probs @ x).transpose(1, 2).flatten(2)

    return fn, (torch.randn(batch, heads, S, H),), "batch heads S H"


# ------------------------------------------------------------- the skew of relative positions
@sample
def skew_of_a_music_transformer(batch, S, heads, H):
    """Pad by a column, read the rows anew, drop the first: positions counted from each query."""

    def skew(rel):
        b, h, rows, cols = F.pad(rel, (1, 0)).shape
        return F.pad(rel, (1, 0)).reshape(b, h, cols, rows)[:, :, 1:, :]

    def skew_of_a_variable(rel):
        padded = F.pad(rel, [1, 0])
        batch_size, num_heads, num_rows, num_cols = padded.shape
        return padded.view(batch_size, num_heads, num_cols, num_rows)[:, :, 1:]

    def fn(q, k, v, table):
        rel = q @ table.mT
        scores = q @ k.mT + skew_of_a_variable(rel) + 0 * skew(rel)
        keep = torch.ones(q.shape[-2], k.shape[-2]).tril().bool()
        return scores.masked_fill(~keep, -torch.inf).softmax(-1) @ v

    q, k, v = torch.randn(3, batch, heads, S, H)
    dims = dict.fromkeys("qkv", "batch heads S H") | {"table": "heads S H"}
    return fn, (q, k, v, torch.randn(heads, S, H)), dims


@sample
def shift_of_transformer_xl(batch, S, heads, H):
    def rel_shift(x):
        bsz, n_head, qlen, klen = x.size()
        zero = x.new_zeros(bsz, n_head, qlen, 1)
        padded = torch.cat([zero, x], dim=3)
        bsz, n_head, qlen, wide = padded.size()
        padded = padded.view(bsz, n_head, wide, qlen)
        return padded[:, :, 1:].view_as(x)

    def fn(q, k, v, r):
        scores = (q @ k.mT + rel_shift(q @ r.mT)) / q.shape[-1] ** 0.5
        return scores.softmax(-1) @ v

    q, k, v = torch.randn(3, batch, heads, S, H)
    dims = dict.fromkeys("qkvr", "batch heads S H")
    return fn, (q, k, v, torch.randn(batch, heads, S, H)), dims


# ------------------------------------------------------------- an image as large as a window
def _patches(img, p):
    b, c, h, w = img.shape
    cut = img.view(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5)
    return cut.reshape(b, (h // p) * (w // p), c * p * p)


def _images(patches, p, h, w):
    b, n, _ = patches.shape
    cut = patches.reshape(b, h // p, w // p, -1, p, p).permute(0, 3, 1, 4, 2, 5)
    return cut.reshape(b, -1, h, w)


def _windowed(x, size):
    B, H, W, C = x.shape
    x = x.view(B, H // size, size, W // size, size, C).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, size * size, C)


def _unwindowed(windows, size, H, W):
    B = windows.shape[0] // (H // size * (W // size))
    x = windows.view(B, H // size, W // size, size, size, -1).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(B, H, W, -1)


def _patch_sample(rows, columns, p):
    def build(batch, S, heads, H):
        def fn(img):
            h, w = img.shape[-2:]
            tokens = _patches(img, p)
            tokens = (tokens @ tokens.mT).softmax(-1) @ tokens
            return img + _images(tokens, p, h, w)

        x = torch.randn(batch, heads, rows * p, columns * p)
        return fn, (x,), "batch channels height width"

    return build


def _window_sample(rows, columns, size):
    def build(batch, S, heads, H):
        def fn(x):
            B, rows, columns, C = x.shape
            t = _windowed(x, size)
            t = (t @ t.mT).softmax(-1) @ t
            return x + _unwindowed(t, size, rows, columns)

        x = torch.randn(batch, rows * size, columns * size, H)
        return fn, (x,), "batch height width n_embd"

    return build


class Grid(nn.Module):
    """The sizes of the grid as attributes."""

    def __init__(self, img_size, patch_size, width):
        super().__init__()
        self.patch_size, self.grid = patch_size, img_size // patch_size
        self.proj = nn.Linear(3 * patch_size**2, width)

    def forward(self, img):
        b, c, height, width = img.shape
        p, grid = self.patch_size, self.grid
        t = img.reshape(b, c, grid, p, grid, p).permute(0, 2, 4, 3, 5, 1)
        return self.proj(t.reshape(b, grid * grid, p * p * c))


def _grid_sample(rows):
    def build(batch, S, heads, H):
        return (
            Grid(2 * rows, 2, H),
            (torch.randn(batch, 3, 2 * rows, 2 * rows),),
            ("batch channels height width"),
        )

    return build


for _rows, _columns in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3)):
    SAMPLES[f"patches_{_rows}_by_{_columns}"] = _patch_sample(_rows, _columns, 2)
    SAMPLES[f"windows_{_rows}_by_{_columns}"] = _window_sample(_rows, _columns, 2)
    SAMPLES[f"wide_windows_{_rows}_by_{_columns}"] = _window_sample(_rows, _columns, 3)
    if _rows == _columns:
        SAMPLES[f"grid_{_rows}"] = _grid_sample(_rows)


@sample
def patches_unfolded_with_floats(batch, S, heads, H):
    """The names of MobileViT: the numbers of patches are worked out without torch."""

    def unfolding(features, patch_width=2, patch_height=2):
        patch_area = int(patch_width * patch_height)
        batch_size, channels, orig_height, orig_width = features.shape
        new_height = int(-(-orig_height // patch_height) * patch_height)
        new_width = int(-(-orig_width // patch_width) * patch_width)
        num_patch_width, num_patch_height = new_width // patch_width, new_height // patch_height
        num_patches = num_patch_height * num_patch_width
        t = features.reshape(
            batch_size * channels * num_patch_height, patch_height, num_patch_width, patch_width
        )
        t = t.transpose(1, 2).reshape(batch_size, channels, num_patches, patch_area)
        t = t.transpose(1, 3).reshape(batch_size * patch_area, num_patches, -1)
        return t, (batch_size, channels, num_patches, num_patch_height, num_patch_width)

    def folding(t, sizes, patch_width=2, patch_height=2):
        batch_size, channels, num_patches, num_patch_height, num_patch_width = sizes
        t = t.view(batch_size, patch_width * patch_height, num_patches, -1).transpose(1, 3)
        t = t.reshape(
            batch_size * channels * num_patch_height, num_patch_width, patch_height, patch_width
        )
        return t.transpose(1, 2).reshape(
            batch_size, channels, num_patch_height * patch_height, num_patch_width * patch_width
        )

    def fn(x):
        for _ in range(2):
            t, sizes = unfolding(x)
            x = x + folding((t @ t.mT).softmax(-1) @ t, sizes)
        return x

    def build(rows, columns):
        return fn, (torch.randn(batch, heads, rows, columns),), "batch channels height width"

    return build(2 if S == 5 else 4, 2 if S < 7 else 4)


# ------------------------------------------------------------- names that must hold elsewhere
@sample
def masks_of_shifted_windows(batch, S, heads, H):
    """The names of Swin: the number of images is what the number of windows leaves of B_."""

    def attention(x, mask):
        B_, N, C = x.shape
        scores = (x @ x.mT)[:, None].expand(-1, heads, -1, -1)
        nW = mask.shape[0]
        scores = scores.view(B_ // nW, nW, heads, N, N) + mask[None, :, None]
        return (scores.view(-1, heads, N, N).softmax(-1) @ x[:, None]).mean(1)

    def fn(x, mask):
        return attention(_windowed(x, 2), mask)

    x, mask = torch.randn(batch, 10, 4, H), torch.zeros(10, 4, 4)
    return fn, (x, mask), "batch height width n_embd"


def _folded(folds):
    def build(batch, S, heads, H):
        def fn(x, n=heads):
            b, t, c = x.shape
            q = folds(x.view(b, t, n, c // n).transpose(1, 2), b, n, t, c)
            y = torch.bmm(torch.bmm(q, q.mT).softmax(-1), q)
            return y.view(b, n, t, -1).transpose(1, 2).reshape(b, t, c)

        return fn, (torch.randn(1, S, heads * H),), "batch S n_embd"

    return build


SAMPLES["one_sample_folded"] = _folded(lambda q, b, n, t, c: q.reshape(b * n, t, c // n))
SAMPLES["one_sample_folded_heads_first"] = _folded(lambda q, b, n, t, c: q.reshape(n * b, t, -1))
SAMPLES["one_sample_folded_by_what_is_left"] = _folded(
    lambda q, b, n, t, c: q.reshape(-1, t, c // n)
)
SAMPLES["one_sample_flattened"] = _folded(lambda q, b, n, t, c: q.flatten(0, 1))


def _asked_by_latents(spread):
    def build(batch, S, heads, H):
        latents = torch.randn(S + 2, heads * H)

        def cut(t, h=heads):
            b, m, _ = t.shape
            return t.reshape(b, m, h, -1).permute(0, 2, 1, 3)

        def fn(data):
            asked = spread(latents, data.shape[0])
            return (cut(asked) @ cut(data).mT).softmax(-1) @ cut(data)

        return fn, (torch.randn(1, S, heads * H),), "batch S n_embd"

    return build


SAMPLES["latents_expanded_for_one"] = _asked_by_latents(lambda t, b: t[None].expand(b, -1, -1))
SAMPLES["latents_repeated_for_one"] = _asked_by_latents(lambda t, b: t.repeat(b, 1, 1))


def _stacked_frames(length):
    def build(batch, S, heads, H):
        def fn(x):
            b, t, c = x.shape
            return x.reshape(b, t // 2, 2 * c)

        return fn, (torch.randn(batch, length, H),), "batch S n_embd"

    return build


for _length in (2, 4, 6, 8):
    SAMPLES[f"frames_stacked_of_{_length}"] = _stacked_frames(_length)


@sample
def frames_padded_and_stacked(batch, S, heads, H):
    def fn(x):
        b, t, c = x.shape
        more = 2 - t % 2
        x = F.pad(x, (0, 0, 0, more))
        t = t + more
        return x.reshape(b, t // 2, 2 * c)

    return fn, (torch.randn(batch, S, H),), "batch S n_embd"


@sample
def rows_of_a_film_attend(batch, S, heads, H):
    """Beside frames h is a height; the rows of a frame see each other."""

    def fn(x):
        b, t, h, c = x.shape
        return F.scaled_dot_product_attention(x, x, x).view(b, t, h, c)

    return fn, (torch.randn(batch, S, heads, H),), "batch T height C"
