"""Programs that raise: products, einsum, fused attention, layers and norms that read one axis.

Each with what an explanation has to say, and parts of good fixes: one of them has to be in it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
R = RuntimeError
r = torch.randn
T12 = ("transpose(1,2)", "transpose(-2,-1)", ".mT", "permute(0,2,1)")


@raises(R, suggestion=("w.transpose", "w.mT", "w.T"))
def weight_out_in():
    def proj(x, w):
        return x @ w

    return proj, (r(2, 5, 8), r(6, 8)), {"x": "batch S n_embd", "w": "d_out n_embd"}


@raises(R, suggestion=("x@w", "torch.matmul(x,w)"))
def operands_swapped():
    def proj(x, w):
        return w @ x

    return proj, (r(2, 5, 8), r(8, 6)), {"x": "batch S n_embd", "w": "n_embd d_out"}


@raises(R, suggestion=("attn@v",))
def v_before_attn():
    def ctx(attn, v):
        return v @ attn

    return ctx, (r(2, 4, 7), r(2, 7, 3)), {"attn": "batch tgt src", "v": "batch src H"}


@raises(R, suggestion=("k.permute(0,2,3,1)", "k.transpose(1,2)"))
def key_token_major():
    def sc(q, k):
        return q @ k.transpose(-2, -1)

    return sc, (r(2, 3, 5, 4), r(2, 6, 3, 4)), {"q": "batch heads S H", "k": "batch src heads H"}


@raises(R, suggestion=("v.unsqueeze(1)", "v[:,None]"))
def shared_value_head():
    def sc(attn, v):
        return attn @ v

    return sc, (r(2, 3, 5, 5), r(2, 5, 4)), {"attn": "batch heads S S", "v": "batch S H"}


@raises(R, suggestion=("x.unsqueeze(1)", "x[:,None]", "einsum"))
def per_head_weights():
    def sc(x, w):
        return x @ w

    return sc, (r(2, 5, 8), r(3, 8, 4)), {"x": "batch S n_embd", "w": "heads n_embd H"}


@raises(R, suggestion=("attn.unsqueeze(1)", "attn[:,None]"))
def pooled():
    def sc(attn, x):
        return torch.bmm(attn, x)

    return sc, (r(2, 5), r(2, 5, 8)), {"attn": "batch S", "x": "batch S n_embd"}


@raises(R, suggestion=("torch.matmul(x,w)", "x@w"))
def bmm_shared_weight():
    def sc(x, w):
        return torch.bmm(x, w)

    return sc, (r(2, 5, 8), r(8, 4)), {"x": "batch S n_embd", "w": "n_embd H"}


@raises(R, suggestion=("torch.matmul(x,w)", "x@w"))
def mm_three():
    def sc(x, w):
        return torch.mm(x, w)

    return sc, (r(2, 5, 8), r(8, 4)), {"x": "batch S n_embd", "w": "n_embd H"}


@raises(
    R,
    suggestion=(
        "k.permute",
        "k.transpose",
    ),
)
def seq_first_bmm():
    def sc(q, k):
        return torch.bmm(q, k)

    return sc, (r(2, 5, 4), r(7, 2, 4)), {"q": "batch tgt H", "k": "src batch H"}


@raises(R, suggestion=("k.repeat_interleave", "k.transpose(1,2).repeat_interleave", "k[:,"))
def folded_in_bad():
    def sc(q, k):
        b, h, n, d = q.shape
        q = q.flatten(0, 1)
        return q @ k.transpose(1, 2)

    return sc, (r(2, 3, 5, 4), r(2, 5, 4)), {"q": "batch heads S H", "k": "batch S H"}


@raises(R, suggestion=T12)
def linear_channels_first_ff():
    class M(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            self.ff = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())

        def forward(self, x):
            return self.ff(x)

    return M(6, 12), (r(2, 6, 9),), "batch dim L"


@raises(R, suggestion=T12)
def token_mix():
    class M(nn.Module):
        def __init__(self, n_tokens):
            super().__init__()
            self.mix = nn.Linear(n_tokens, n_tokens)

        def forward(self, x):
            return x + self.mix(x)

    return M(9), (r(2, 9, 6),), "batch n_tokens dim"


@raises(R, suggestion=("f.flatten(2).transpose(1,2)", "f.permute(0,2,3,1)"))
def image_tokens():
    class M(nn.Module):
        def __init__(self, ch, dim):
            super().__init__()
            self.conv = nn.Conv2d(3, ch, 2, stride=2)
            self.proj = nn.Linear(ch, dim)

        def forward(self, img):
            f = self.conv(img)
            return self.proj(f)

    return M(5, 8), (r(2, 3, 8, 12),), "batch c height width"


@raises(R, suggestion=("f.flatten(1)", "f.reshape(", "f.view("))
def classifier():
    class M(nn.Module):
        def __init__(self, ch, n_classes):
            super().__init__()
            self.conv = nn.Conv2d(3, ch, 2, stride=2)
            self.head = nn.Linear(ch * 4 * 6, n_classes)

        def forward(self, img):
            f = self.conv(img)
            return self.head(f)

    return M(5, 8), (r(2, 3, 8, 12),), "batch c height width"


@raises(R, suggestion=("img.permute(0,3,1,2)",))
def nhwc():
    class M(nn.Module):
        def __init__(self, chans, dim):
            super().__init__()
            self.patch = nn.Conv2d(chans, dim, 4, stride=4)

        def forward(self, img):
            return self.patch(img).flatten(2)

    return M(3, 8), (r(2, 8, 12, 3),), "batch height width chans"


@raises(R, suggestion=("x.permute(1,2,0)",))
def seq_first_conv():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.dw = nn.Conv1d(dim, dim, 3, padding=1, groups=dim)

        def forward(self, x):
            return self.dw(x)

    return M(6), (r(9, 2, 6),), "S batch dim"


@raises(R, suggestion=("wave.unsqueeze(1)", "wave[:,None]"))
def wave():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.c = nn.Conv1d(1, dim, 3)

        def forward(self, wave):
            return self.c(wave)

    return M(6), (r(2, 16),), "batch samples"


@raises(R, suggestion=("spec.unsqueeze(1)", "spec[:,None]"))
def spec():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.c = nn.Conv2d(1, dim, 3)

        def forward(self, spec):
            return self.c(spec)

    return M(6), (r(2, 16, 20),), "batch mels frames"


@raises(R, suggestion=("video.flatten(0,1)", "video.reshape("))
def video():
    class M(nn.Module):
        def __init__(self, chan, dim):
            super().__init__()
            self.c = nn.Conv2d(chan, dim, 3)

        def forward(self, video):
            return self.c(video)

    return M(3, 6), (r(2, 4, 3, 16, 20),), "batch frames chan height width"


@raises(R, suggestion=T12)
def layernorm_cf():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)

        def forward(self, x):
            return self.norm(x)

    return M(6), (r(2, 6, 9),), "batch dim L"


@raises(R, suggestion=("x.permute(0,2,3,1)",))
def layernorm_image():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)

        def forward(self, x):
            return self.norm(x)

    return M(6), (r(2, 6, 9, 4),), "batch dim height width"


@raises(R)
def layernorm_after_split():
    class M(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.norm = nn.LayerNorm(n_embd)

        def forward(self, x):
            return self.norm(x)

    return M(12), (r(2, 3, 5, 4),), "batch heads S H"


@raises(R, suggestion=T12)
def batchnorm_cl():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.bn = nn.BatchNorm1d(dim)

        def forward(self, x):
            return self.bn(x)

    return M(6).eval(), (r(2, 9, 6),), "batch S dim"


@raises(R, suggestion=T12)
def groupnorm_cl():
    class M(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.gn = nn.GroupNorm(2, dim)

        def forward(self, x):
            return self.gn(x)

    return M(6), (r(2, 9, 6),), "batch S dim"


@raises(R, suggestion=("bqk,bkd->bqd",))
def einsum_third_letter():
    def ctx(attn, v):
        return torch.einsum("bqk,bqd->bqd", attn, v)

    return ctx, (r(2, 4, 7), r(2, 7, 3)), {"attn": "batch tgt src", "v": "batch src H"}


@raises(R, suggestion=("bid,bjd->bij",))
def einsum_missing_output():
    def ctx(q, k):
        return torch.einsum("bid,bid->bij", q, k)

    return ctx, (r(2, 4, 7), r(2, 4, 7)), {"q": "batch S H", "k": "batch S H"}


@raises(R, suggestion=("bhid,bjd->bhij",))
def einsum_mqa():
    def ctx(q, k):
        return torch.einsum("bhid,bhjd->bhij", q, k)

    return ctx, (r(2, 3, 4, 7), r(2, 6, 7)), {"q": "batch heads tgt H", "k": "batch src H"}


@raises(R, suggestion=("bnd,de->bne", "bnd,d e"))
def einsum_swapped_weight():
    def ctx(x, w):
        return torch.einsum("bnd,ed->bne", x, w)

    return ctx, (r(2, 4, 7), r(7, 3)), {"x": "batch S dim", "w": "dim inner"}


@raises(R, suggestion=("bhij,bhjd->bhid", "bhij,bhjd->bihd"))
def einsum_apply_j():
    def ctx(attn, v):
        return torch.einsum("bhij,bhid->bhid", attn, v)

    return (
        ctx,
        (r(2, 3, 4, 6), r(2, 3, 6, 5)),
        {"attn": "batch heads tgt src", "v": "batch heads src H"},
    )


@raises(R, suggestion=("keep[:,None,None", "keep.unsqueeze(1).unsqueeze", "keep.view("))
def sdpa_padding():
    def at(q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    return (
        at,
        (r(2, 3, 4, 8), r(2, 3, 6, 8), r(2, 3, 6, 8), torch.ones(2, 6, dtype=torch.bool)),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "keep": "batch src",
        },
    )


@raises(R, suggestion=("mask[:tgt,:src]", "mask[:4,:6]", "mask[:q", "mask[:"))
def sdpa_maxlen():
    def at(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask)

    return (
        at,
        (r(2, 3, 4, 8), r(2, 3, 6, 8), r(2, 3, 6, 8), torch.ones(9, 9, dtype=torch.bool)),
        {
            "q": "batch heads tgt H",
            "k": "batch heads src H",
            "v": "batch heads src H",
            "mask": "max_len max_len",
        },
    )


@raises(R, suggestion=("q.transpose(1,2)",))
def sdpa_token_major_cross():
    def at(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    return (
        at,
        (r(2, 4, 3, 8), r(2, 6, 3, 8), r(2, 6, 3, 8)),
        {"q": "batch tgt heads H", "k": "batch src heads H", "v": "batch src heads H"},
    )


@raises(R, suggestion=("k.transpose(1,2)",))
def sdpa_cache_layout():
    def at(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    return (
        at,
        (r(2, 3, 4, 8), r(2, 6, 3, 8), r(2, 6, 3, 8)),
        {"q": "batch heads tgt H", "k": "batch src heads H", "v": "batch src heads H"},
    )


@raises(R, suggestion=("(q,k,v",))
def sdpa_transposed_key():
    def at(q, k, v):
        return F.scaled_dot_product_attention(q, k.transpose(-2, -1), v)

    return (
        at,
        (r(2, 3, 4, 8), r(2, 3, 6, 8), r(2, 3, 6, 8)),
        {"q": "batch heads tgt H", "k": "batch heads src H", "v": "batch heads src H"},
    )


@raises(R, suggestion=("v.repeat_interleave", "enable_gqa"))
def sdpa_gqa():
    def at(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return (
        at,
        (r(2, 4, 4, 8), r(2, 2, 4, 8), r(2, 2, 4, 8)),
        {"q": "batch n_heads S H", "k": "batch n_kv S H", "v": "batch n_kv S H"},
    )
