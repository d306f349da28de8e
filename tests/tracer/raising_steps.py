"""Programs that raise: one step too long, indices of loops, what a line makes in a wrong size.

``suggestion`` names the fixes that are good; where it is empty a fix would only be guessed, and
none may be offered.
"""

from __future__ import annotations

import torch
import torch.nn as nn
from einops import repeat
from einops.layers.torch import Rearrange

from tests.tracer.raising_registry import registry

RAISING, raises = registry()


@raises(RuntimeError, "keep == 0 (B=2, T=6)", suggestion=("keep[:, :-1]",))
def keep_of_the_inputs():
    def fn(x, ids, keep):
        ids = ids[:, :-1]
        return x.masked_fill(keep == 0, 0.0) + ids  # raises

    return (
        fn,
        (torch.randn(2, 5), torch.ones(2, 6), torch.ones(2, 6)),
        {
            "x": "B _",
            "ids": "B T",
            "keep": "B T",
        },
    )


@raises(RuntimeError, "mask (B=2, T=6)", suggestion=())
def nothing_tells_which_end():
    def fn(loss, mask):
        return loss * mask  # raises

    return fn, (torch.randn(2, 5), torch.ones(2, 6)), {"loss": "B _", "mask": "B T"}


@raises(RuntimeError, suggestion=("mask[:, 1:]",))
def mask_of_next_tokens():
    def fn(logp, mask):
        nll = -logp[:, :-1].max(-1).values
        return nll * mask  # raises

    return fn, (torch.randn(2, 6, 11), torch.ones(2, 6)), {"logp": "B T V", "mask": "B T"}


@raises(RuntimeError, suggestion=("x[:, 1:]",))
def differences_of_steps():
    def fn(x):
        return x - x[:, :-1]  # raises

    return fn, (torch.randn(2, 6),), "B T"


@raises(RuntimeError, suggestion=("y.view(batch, S, heads * H)",))
def merged_by_view():
    def merge(y):
        batch, S, heads, H = y.shape
        return y.view(batch, S, H)  # raises

    return merge, (torch.randn(2, 5, 3, 4),), "batch S heads H"


@raises(RuntimeError, suggestion=("x.reshape(batch * S, C)",))
def merged_in_front():
    def fn(x):
        batch, S, C = x.shape
        return x.reshape(S, C)  # raises

    return fn, (torch.randn(2, 5, 12),), "batch S C"


@raises(IndexError, suggestion=("att[:, i]",))
def panels_in_a_comprehension():
    def fn(att):
        return [att[i] for i in range(att.size(1))]  # raises

    return fn, (torch.randn(2, 3, 5, 7),), "batch heads S Sk"


@raises(IndexError, suggestion=("x[i - 1]",))
def counted_from_one():
    def fn(x):
        total = x[0] * 0
        for i in range(1, len(x) + 1):
            total = total + x[i]  # raises
        return total

    return fn, (torch.randn(3, 4),), "S H"


@raises(IndexError, suggestion=())
def a_loop_over_something_else():
    def fn(att):
        for h in range(9):
            att[h].sum()  # raises

    return fn, (torch.randn(2, 3, 5, 7),), "batch heads S Sk"


@raises(RuntimeError, suggestion=("q.flatten(0, 1)",))
def folded_only_the_keys():
    def fn(q, k):
        batch, heads, S, H = k.shape
        k = k.reshape(batch * heads, S, H)
        return torch.bmm(q, k.mT)  # raises

    return (
        fn,
        (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)),
        {
            "q": "batch heads S H",
            "k": "batch heads S H",
        },
    )


@raises(RuntimeError, "rows (S=5, H=4)", suggestion=("rows.transpose(-2, -1)",))
def written_the_other_way():
    def fn(x, rows):
        out = torch.zeros(2, 4, 5)
        H, S = x.shape
        out = out + x
        out[0] = rows  # raises
        return out

    return fn, (torch.randn(4, 5), torch.randn(5, 4)), {"x": "H S", "rows": "S H"}


@raises(RuntimeError, suggestion=("torch.ones(S, S).tril()",))
def triangle_of_the_batch():
    def fn(scores):
        batch, S, _ = scores.shape
        return scores.masked_fill(torch.ones(batch, batch).tril() == 0, -1e9)  # raises

    return fn, (torch.randn(3, 5, 5),), "batch S S"


@raises(RuntimeError, suggestion=("torch.cat([a, b], dim=2)", "torch.cat([a, b], dim=-1)"))
def residual_of_two_halves():
    def fn(x, a, b):
        return x + torch.cat([a, b], dim=1)  # raises

    return (
        fn,
        (torch.randn(2, 5, 8), torch.randn(2, 5, 4), torch.randn(2, 5, 4)),
        {
            "x": "batch S n_embd",
            "a": "batch S H",
            "b": "batch S H",
        },
    )


@raises(RuntimeError, suggestion=("torch.stack(parts)",))
def means_in_a_tuple():
    def fn(x):
        parts = (x[0].mean(), x[1].mean())
        return torch.cat(parts, dim=0)  # raises

    return fn, (torch.randn(2, 5),), "batch S"


@raises(IndexError, suggestion=("x[order]",))
def rows_in_another_order():
    def fn(x, order):
        return x[:, order]  # raises

    return fn, (torch.randn(8, 3, 4), torch.arange(7, -1, -1)), {"x": "beams S H", "order": "beams"}


@raises(RuntimeError, suggestion=("probs.flatten(0, 2)",))
def drawn_for_every_head():
    def fn(scores):
        probs = scores.softmax(-1)
        return torch.multinomial(probs, 1)  # raises

    return fn, (torch.randn(2, 3, 5, 7),), "batch heads S Sk"


@raises(RuntimeError, suggestion=("rows.to(out.dtype)",))
def added_in_half():
    def fn(rows, index):
        out = torch.zeros(9, 4)
        return out.index_add(0, index, rows)  # raises

    return fn, (torch.randn(5, 4).half(), torch.arange(5)), {"rows": "S H", "index": "S"}


@raises(RuntimeError, suggestion=("cos.repeat_interleave(2, dim=-1)",))
def angles_of_neighbours():
    def fn(q, cos, sin):
        flipped = torch.stack([-q[..., 1::2], q[..., ::2]], dim=-1).flatten(-2)
        return q * cos + flipped * sin  # raises

    return (
        fn,
        (torch.randn(2, 3, 5, 8), torch.randn(5, 4), torch.randn(5, 4)),
        {
            "q": "batch heads S H",
            "cos": "S half",
            "sin": "S half",
        },
    )


@raises(RuntimeError, suggestion=("torch.cos(angles)[:, :-1]",))
def odd_table():
    def fn(angles):
        table = torch.zeros(6, 7)
        table[:, ::2] = torch.sin(angles)
        table[:, 1::2] = torch.cos(angles)  # raises
        return table

    return fn, (torch.randn(6, 4),), "S pairs"


@raises(Exception, suggestion=("self.grid(x[:, 1:])",))
def layer_of_a_grid():
    class Grid(nn.Module):
        def __init__(self):
            super().__init__()
            self.grid = Rearrange("b (h w) c -> b c h w", h=3)

        def forward(self, x):
            return self.grid(x)  # raises

    return Grid(), (torch.randn(2, 10, 12),), "batch tokens n_embd"


@raises(Exception, "cls (1, n_embd=12)", suggestion=("b=x.shape[0]",))
def class_token_for_all():
    def fn(cls, x):
        token = repeat(cls, "n d -> b n d")  # raises
        return torch.cat([token, x], dim=1)

    return (
        fn,
        (torch.randn(1, 12), torch.randn(2, 5, 12)),
        {
            "cls": "1 n_embd",
            "x": "batch S n_embd",
        },
    )
