"""Programs that raise: einops patterns.

Each with what an explanation has to say, and parts of good fixes: one of them has to be in it.
"""

from __future__ import annotations

import einops
import torch
from einops import EinopsError, rearrange, reduce, repeat
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
R = EinopsError
r = torch.randn


@raises(R, suggestion=("h=self.heads",))
def missing_size():
    class M(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads

        def forward(self, x):
            return rearrange(x, "b n (h d) -> b h n d")

    return M(12, 3), (r(2, 5, 12),), "batch S dim"


@raises(R, suggestion=("p1=patch_size,p2=patch_size",))
def missing_patch():
    def f(img, patch_size=2):
        return rearrange(img, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)")

    return f, (r(2, 3, 4, 6),), "batch chan height width"


@raises(R, suggestion=('"b f n (h d) -> b f h n d"', "..."))
def video():
    def f(x):
        return rearrange(x, "b n (h d) -> b h n d", h=3)

    return f, (r(2, 4, 5, 12),), "batch frames S dim"


@raises(R, suggestion=("b n d -> n b d",))
def keeps():
    def f(x):
        return rearrange(x, "b h n d -> n b d")

    return f, (r(2, 4, 5),), "batch S dim"


@raises(R, suggestion=("repeat(",))
def needs_repeat():
    def f(x, lat):
        b = x.shape[0]
        return rearrange(lat, "n d -> b n d", b=b)

    return f, (r(2, 5, 8), r(3, 8)), {"x": "batch S dim", "lat": "n_latents dim"}


@raises(R, suggestion=("b=b",))
def repeat_unsized():
    def f(x, lat):
        b, n, d = x.shape
        return repeat(lat, "n d -> b n d")

    return f, (r(2, 5, 8), r(3, 8)), {"x": "batch S dim", "lat": "n_latents dim"}


@raises(R, suggestion=("reduce(",))
def needs_reduce():
    def f(x):
        return rearrange(x, "b n d -> b d")

    return f, (r(2, 5, 8),), {"x": "batch S dim"}


@raises(R, suggestion=('(b h) i j -> b i j h", h=h',))
def folded():
    def f(q, k):
        b, h, n, d = q.shape
        q, k = (rearrange(t, "b h n d -> (b h) n d") for t in (q, k))
        w = (q @ k.mT).softmax(-1)
        return einops.rearrange(w, "b h i j -> b i j h")

    return f, (r(2, 3, 5, 8), r(2, 3, 5, 8)), {"q": "batch heads S H", "k": "batch heads S H"}


@raises(R, "12", "5")
def divide():
    def f(x):
        return rearrange(x, "b n (h d) -> b h n d", h=5)

    return f, (r(2, 4, 12),), "batch S dim"


@raises(R, suggestion=('"c h w -> (h w) c"', "unsqueeze(0)", "[None]"))
def unbatched():
    def f(x):
        return rearrange(x, "b c h w -> b (h w) c")

    return f, (r(3, 4, 6),), "channels height width"


@raises(R, suggestion=("b n 1 d", "b n d", "b 1 n d"))
def extra_one():
    def f(x):
        return reduce(x, "b n d -> b d", "mean")

    return f, (r(2, 1, 5, 8),), "batch _ S dim"


@raises(RuntimeError, suggestion=("b h j d", "k"))
def eins():
    def f(q, k):
        return einops.einsum(q, k, "b h i d, b h j d -> b h i j")

    return f, (r(2, 3, 5, 8), r(2, 6, 3, 8)), {"q": "batch heads tgt H", "k": "batch src heads H"}


@raises(RuntimeError, suggestion=("b j d",))
def eins2():
    def f(q, k):
        return einops.einsum(q, k, "b h i d, b h j d -> b h i j")

    return f, (r(2, 3, 5, 8), r(2, 6, 8)), {"q": "batch heads tgt H", "k": "batch src H"}


@raises(RuntimeError)
def pack():
    def f(cls, x):
        return einops.pack([cls, x], "b * d")[0]

    return f, (r(2, 3, 4), r(2, 5, 8)), {"cls": "batch n_cls D", "x": "batch S dim"}


@raises(R)
def conflicting():
    def f(x):
        return rearrange(x, "b h (n p) -> b h n p", n=4, p=4)

    return f, (r(2, 3, 12),), "batch heads S"
