"""What the library costs beside what PyTorch has: fused multi-head, and the explicit head.

    .venv/bin/python benchmarks/attention.py [--quick]

Both sides hold the same weights, and their outputs are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib import attention_scores, attention_weights, weighted_sum
from attnlib.weights import from_torch
from pairs import Compared, compare

SIZES = [(8, 512, 512, 8), (2, 2048, 512, 8), (32, 64, 256, 4), (1, 128, 512, 8)]
HEADINGS = ("ours ms", "theirs ms", "ratio [95 %]", "the same twice [95 %]")
Forward = Callable[[], Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small sizes, 10 pairs")
    quick = parser.parse_args().quick
    pairs = 10 if quick else 40
    sizes = SIZES[2:] if quick else SIZES
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {os.cpu_count()} cores")
    print(f"{pairs} alternating pairs a row; a ratio under 1 means that ours is faster\n")
    print(f"{'':<48}{HEADINGS[0]:>9}{HEADINGS[1]:>11}  {HEADINGS[2]:<24}{HEADINGS[3]}")
    for size in sizes:
        for causal in (False, True):
            for training in (False, True):
                multi_head(size, causal, training, pairs)
    explicit((2, 4, 128, 64) if quick else (8, 8, 512, 64), pairs)


def multi_head(size: tuple[int, int, int, int], causal: bool, training: bool, pairs: int) -> None:
    """Fused multi-head beside `nn.MultiheadAttention`, the faster of its two modes."""
    batch, S, n_embd, heads = size
    torch.manual_seed(0)
    x = torch.randn(batch, S, n_embd)
    theirs = nn.MultiheadAttention(n_embd, heads, batch_first=True)
    ours = from_torch(theirs)
    ours.causal = causal
    hidden = torch.ones(S, S, dtype=torch.bool).triu(1) if causal else None

    def theirs_forward() -> Tensor:
        return theirs(x, x, x, need_weights=False, attn_mask=hidden, is_causal=causal)[0]

    def ours_forward() -> Tensor:
        return ours(x)

    torch.testing.assert_close(ours_forward(), theirs_forward(), rtol=1e-4, atol=1e-5)
    run_ours, run_theirs = (
        step(ours, ours_forward, training),
        step(theirs, theirs_forward, training),
    )
    modes = []
    for mode in (True, False):
        theirs.train(mode)
        modes.append(compare(run_ours, run_theirs, pairs))
    what = "training step" if training else "forward"
    name = f"{what}, {'causal' if causal else 'no mask'}, {size}"
    show(name, max(modes, key=lambda mode: mode.ratio), compare(run_ours, run_ours, pairs))


def step(module: nn.Module, forward: Forward, training: bool) -> Callable[[], None]:
    """Return the call to time: forward alone without gradients, or forward and backward."""

    def train() -> None:
        module.zero_grad()
        forward().sum().backward()

    def infer() -> None:
        with torch.no_grad():
            forward()

    return train if training else infer


def explicit(size: tuple[int, int, int, int], pairs: int) -> None:
    """The stages, checks and safe softmax included, beside three lines of plain PyTorch."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, *size)

    def stages() -> Tensor:
        return weighted_sum(attention_weights(attention_scores(q, k)), v)

    def plain() -> Tensor:
        return torch.softmax(q @ k.transpose(-2, -1), -1) @ v

    torch.testing.assert_close(stages(), plain())
    show(
        f"explicit stages / plain softmax, {size}",
        compare(stages, plain, pairs),
        compare(plain, plain, pairs),
    )


def show(name: str, result: Compared, same: Compared) -> None:
    ours, theirs = 1000 * result.one, 1000 * result.other
    print(f"{name:<48}{ours:>9.2f}{theirs:>11.2f}  {result!s:<24}{same}", flush=True)


if __name__ == "__main__":
    main()
