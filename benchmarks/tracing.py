"""What a trace costs beside the plain run, and beside what other tracers cost.

    .venv/bin/python benchmarks/tracing.py [--quick]

One head (batch 2, S 8, n_embd 64) and a stack of 12 layers, 768 wide, S 128, in eval mode without
gradients. A peer that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnlib import MultiHeadAttention, SingleHeadAttention, trace

Run = Callable[[], object]


class Bare(TorchFunctionMode):
    """The least a recorder can do: count the operations and let them run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


class Layer(nn.Module):
    """One layer of a decoder, its attention in explicit steps."""

    def __init__(self, n_embd: int, n_heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attention = MultiHeadAttention(n_embd, n_heads, causal=True, fused=False)
        self.wider = nn.Linear(n_embd, 4 * n_embd)
        self.back = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + self.back(torch.nn.functional.gelu(self.wider(self.second(x))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer pairs")
    quick = parser.parse_args().quick
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {os.cpu_count()} cores\n")
    print(f"{'':<30}{'plain ms':>10}{'traced ms':>11}{'ratio':>9}{'pairs':>7}")
    head = SingleHeadAttention(64, 16).eval()
    stack = nn.Sequential(*(Layer(768, 12) for _ in range(12))).eval()
    cases = {
        "one head, (2, 8, 64)": (head, torch.randn(2, 8, 64), 20 if quick else 200),
        "12 layers of 768, (1, 128)": (stack, torch.randn(1, 128, 768), 3 if quick else 20),
    }
    with torch.no_grad():
        for title, (model, x, pairs) in cases.items():
            print(title)
            for name, tracer in tracers(model, x).items():
                report(name, lambda model=model, x=x: model(x), tracer, pairs)


def tracers(model: nn.Module, x: Tensor) -> dict[str, Run]:
    """Each tracer as a function that runs the model once."""

    def bare() -> object:
        with Bare():
            return model(x)

    found: dict[str, Run] = {
        "a bare recorder": bare,
        "attnlib.trace": lambda: trace(model, x, dims="batch S n_embd"),
    }
    if importlib.util.find_spec("torchinfo"):
        from torchinfo import summary

        found["torchinfo"] = lambda: summary(model, input_data=x, verbose=0)
    else:
        print("  torchinfo is not installed")
    if importlib.util.find_spec("torchlens"):
        import torchlens

        found["torchlens"] = lambda: torchlens.log_forward_pass(model, x, layers_to_save="none")
    else:
        print("  torchlens is not installed")
    return found


def report(name: str, plain: Run, traced: Run, pairs: int) -> None:
    """Run both in alternating pairs and print the medians; the ratio is that within pairs."""
    pairs = pairs if name != "torchlens" else max(3, pairs // 10)
    plain(), traced()
    ratios, ones, others = [], [], []
    for turn in range(pairs):
        one, other = _times(plain, traced) if turn % 2 else _times(traced, plain)[::-1]
        ratios.append(other / one)
        ones.append(one)
        others.append(other)
    one, other = statistics.median(ones) * 1e3, statistics.median(others) * 1e3
    print(f"  {name:<28}{one:>10.2f}{other:>11.2f}{statistics.median(ratios):>8.2f}×{pairs:>7}")


def _times(first: Run, second: Run) -> list[float]:
    found = []
    for run in (first, second):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return found


if __name__ == "__main__":
    main()
