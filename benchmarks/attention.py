"""What the library's time is beside what PyTorch has and beside the same lines by hand.

    .venv/bin/python benchmarks/attention.py [--quick]

All ways of a row hold the same weights, and their outputs are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import (
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    from_torch,
    unstack,
    weighted_sum,
)
from machine import describe, devices
from pairs import Call, Compared, compare, rounds

SIZES = ((8, 512, 512, 8), (2, 2048, 512, 8), (32, 64, 256, 4), (1, 128, 512, 8))
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
PEER, BY_HAND, PLAIN, STACKED = (
    *("nn.MultiheadAttention", "six lines of SDPA", "plain softmax", "single heads"),
)
BUDGETS = {PEER: 1.05, BY_HAND: 1.03, PLAIN: 1.35, STACKED: None}
SMALL = (1, 128, 512, 8)  # its fixed costs weigh more than its work
SMALL_BUDGET = 1.25
Forward = Callable[[], Tensor]


@dataclass(frozen=True)
class Row:
    """Ours against another way: the ratio, the same twice, and the budget if there is one."""

    against: str
    size: tuple[int, ...]  # batch, S, n_embd, heads; for explicit steps batch, heads, S, Sk
    causal: bool
    training: bool  # forward and backward, else forward without gradients
    device: str
    ours: Compared
    same: Compared
    budget: float | None

    def __str__(self) -> str:
        what = f"{'training' if self.training else 'forward'}{', causal' if self.causal else ''}"
        return (
            f"{self.against:<22}{what:<18}{self.size!s:<20}{1000 * self.ours.one:>9.2f}"
            f"{1000 * self.ours.other:>9.2f}  {self.ours!s:<23}{self.same!s:<23}"
            f"{self.budget or '':<6}{'' if self.holds else 'over'}"
        )

    @property
    def holds(self) -> bool:
        return self.budget is None or self.ours.ratio <= self.budget


HEADINGS = (
    f"{'ours against':<22}{'':<18}{'size':<20}{'ours ms':>9}{'theirs':>9}  "
    f"{'ratio [95 %]':<23}{'the same twice [95 %]':<23}budget"
)


def multi_head(
    size: tuple[int, int, int, int], causal: bool, training: bool, count: int, device: str
) -> Iterator[Row]:
    """Fused multi-head beside `nn.MultiheadAttention`, the faster of its modes, and beside SDPA."""
    batch, S, n_embd, heads = size
    torch.manual_seed(0)
    x = torch.randn(batch, S, n_embd, device=device)
    theirs = {True: nn.MultiheadAttention(n_embd, heads, batch_first=True, device=device)}
    theirs[False] = copy.deepcopy(theirs[True]).eval()
    ours = from_torch(theirs[True])
    ours.causal = causal
    hidden = torch.ones(S, S, dtype=torch.bool, device=device).triu(1) if causal else None
    options = {"need_weights": False, "attn_mask": hidden, "is_causal": causal}

    def by_hand() -> Tensor:
        q, k, v = (
            F.linear(x, layer.weight, layer.bias).view(batch, S, heads, -1).transpose(1, 2)
            for layer in (ours.query, ours.key, ours.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        merged = mixed.transpose(1, 2).reshape(batch, S, n_embd)
        return F.linear(merged, ours.out.weight, ours.out.bias)

    forwards: dict[str, tuple[nn.Module, Forward]] = {
        "ours": (ours, lambda: ours(x)),
        "train mode": (theirs[True], lambda: theirs[True](x, x, x, **options)[0]),
        "eval mode": (theirs[False], lambda: theirs[False](x, x, x, **options)[0]),
        BY_HAND: (ours, by_hand),
        "ours again": (ours, lambda: ours(x)),
    }
    for _, forward in forwards.values():
        torch.testing.assert_close(forward(), ours(x), rtol=1e-3, atol=1e-4)
    calls = {name: step(module, run, training) for name, (module, run) in forwards.items()}
    times = rounds(calls, count, device)
    against = [compare(times["ours"], times[mode]) for mode in ("train mode", "eval mode")]
    same = compare(times["ours"], times["ours again"])
    budget = SMALL_BUDGET if size == SMALL else BUDGETS[PEER]
    faster = min(against, key=lambda mode: mode.other)
    yield Row(PEER, size, causal, training, device, faster, same, budget)
    hand = compare(times["ours"], times[BY_HAND])
    yield Row(BY_HAND, size, causal, training, device, hand, same, BUDGETS[BY_HAND])


def step(module: nn.Module | None, forward: Forward, training: bool) -> Call:
    """Return the call to time: forward alone without gradients, or forward and backward."""

    def train() -> None:
        if module is not None:
            module.zero_grad()
        forward().sum().backward()

    def infer() -> None:
        with torch.no_grad():
            forward()

    return train if training else infer


def explicit(
    size: tuple[int, int, int, int], training: bool, count: int, device: str
) -> Iterator[Row]:
    """The stages, checks and safe softmax included, beside the same lines with plain softmax."""
    batch, heads, S, _ = size
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(batch, heads, S, 64, device=device, requires_grad=training) for _ in range(3)
    )

    def stages() -> Tensor:
        return weighted_sum(attention_weights(attention_scores(q, k)), v)

    def plain() -> Tensor:
        return torch.softmax(q @ k.transpose(-2, -1), -1) @ v

    torch.testing.assert_close(stages(), plain())
    ways = {"ours": stages, "theirs": plain, "ours again": stages}
    yield _row(PLAIN, size, training, count, device, ways)


def stacked(
    size: tuple[int, int, int, int], training: bool, count: int, device: str
) -> Iterator[Row]:
    """One layer with flat projections beside the same heads, one after the other."""
    batch, S, n_embd, heads = size
    torch.manual_seed(0)
    x = torch.randn(batch, S, n_embd, device=device)
    flat = MultiHeadAttention(n_embd, heads, fused=False).to(device)
    flat.out = nn.Identity()
    apart = nn.ModuleList(unstack(flat))

    def one_after_the_other() -> Tensor:
        return torch.cat([head(x) for head in apart], -1)

    torch.testing.assert_close(flat(x), one_after_the_other(), rtol=1e-3, atol=1e-4)
    ways = {"ours": lambda: flat(x), "theirs": one_after_the_other, "ours again": lambda: flat(x)}
    yield _row(STACKED, size, training, count, device, ways)


def _row(
    against: str,
    size: tuple[int, ...],
    training: bool,
    count: int,
    device: str,
    ways: dict[str, Forward],
) -> Row:
    times = rounds({n: step(None, way, training) for n, way in ways.items()}, count, device)
    ours, same = (compare(times["ours"], times[other]) for other in ("theirs", "ours again"))
    return Row(against, size, False, training, device, ours, same, BUDGETS[against])


def growth(lengths: tuple[int, ...], count: int, device: str) -> Iterator[dict[str, Any]]:
    """Seconds of a forward pass at one length after the other: fused, explicit, PyTorch's."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(256, 4, batch_first=True, device=device)
    fused = from_torch(theirs)
    plain = from_torch(theirs)
    plain.fused = False
    for S in lengths:
        x = torch.randn(1, S, 256, device=device)
        ways = {
            "fused": lambda x=x: fused(x),
            "explicit": lambda x=x: plain(x),
            "nn.MultiheadAttention with weights": lambda x=x: theirs(x, x, x)[0],
        }
        calls = {name: step(None, way, False) for name, way in ways.items()}
        times = rounds(calls, count, device)
        medians = {name: sorted(found)[len(found) // 2] for name, found in times.items()}
        yield {"S": S, "device": device, **medians}


def rows(quick: bool, count: int, device: str) -> Iterator[Row]:
    """Every comparison on one device, each in so many rounds."""
    for size in SIZES[2:] if quick else SIZES:
        for causal in (False, True):
            for training in (False, True):
                yield from multi_head(size, causal, training, count, device)
    for training in (False, True):
        yield from explicit(
            (2, 4, 128, 128) if quick else (8, 8, 512, 512), training, count, device
        )
        yield from stacked(SIZES[2] if quick else SIZES[0], training, count, device)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small sizes only")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    quick = given.quick
    print(*(f"{name}: {value}" for name, value in describe().items()), sep="\n")
    for device in devices():
        print(f"\n{device}; a ratio under 1 means that ours is faster\n{HEADINGS}")
        for row in rows(quick, given.rounds, device):
            print(row, flush=True)
        for point in growth(LENGTHS[:5] if quick else LENGTHS, 10, device):
            S = f"S {point.pop('S')} on {point.pop('device')}"
            print(S, *(f"{name} {1000 * time:.2f} ms" for name, time in point.items()), sep=", ")


if __name__ == "__main__":
    main()
