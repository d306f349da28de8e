"""What a trace costs beside the plain run, and beside what other tracers cost.

    .venv/bin/python benchmarks/tracing.py [--quick]

One head (batch 2, S 8, n_embd 64) and a stack of 12 layers, 768 wide, S 128, in eval mode without
gradients; then code that is wrong although its shapes fit, and who says so. A peer that is not
installed is named and left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnlib import MultiHeadAttention, SingleHeadAttention, trace

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.tracer.wrong import WRONG

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
    silent()


def tracers(model: nn.Module, x: Tensor) -> dict[str, Run]:
    """Each tracer as a function that runs the model once."""

    def bare() -> object:
        with Bare():
            return model(x)

    found: dict[str, Run] = {
        "a bare recorder": bare,
        "attnlib.trace": lambda: trace(model, x, dims="batch S n_embd"),
    }
    if find_spec("torchinfo"):
        from torchinfo import summary

        found["torchinfo"] = lambda: summary(model, input_data=x, verbose=0)
    else:
        print("  torchinfo is not installed")
    if find_spec("torchlens"):
        import torchlens

        found["torchlens"] = lambda: torchlens.trace(model, x)
    else:
        print("  torchlens is not installed")
    return found


def silent() -> None:
    """Run code that is wrong although its shapes fit: who says so?"""
    peers = {name: find_spec(name) is not None for name in ("torchinfo", "torchlens")}
    print("\nwrong code whose shapes fit: does it say so?")
    print(f"  {'':<34}{'attnlib':<22}" + "".join(f"{name:<14}" for name in peers))
    samples = {name: build() for name, (build, *_) in WRONG.items()}
    ours = {}  # all of them first: torchlens leaves its own wrappers around torch's functions
    for name, (fn, inputs, dims) in samples.items():
        warned = trace(fn, *inputs, dims=dims).warnings
        right = (" / ".join(w.dims) for w in warned if frozenset(w.dims) == WRONG[name][2])
        ours[name] = next(right, "no")
    for name, (fn, inputs, _) in samples.items():
        cells = [says(peer, fn, inputs) if there else "not here" for peer, there in peers.items()]
        print(f"  {name[:33]:<34}{ours[name]:<22}" + "".join(f"{cell:<14}" for cell in cells))


def says(peer: str, fn: Callable, inputs: tuple) -> str:
    """Does a peer warn or raise on this code?"""
    if peer == "torchinfo" and not isinstance(fn, nn.Module):
        return "modules only"
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if peer == "torchinfo":
                from torchinfo import summary

                summary(fn, input_data=inputs, verbose=0)
            else:
                import torchlens

                torchlens.trace(fn, list(inputs))
        except Exception as error:
            return "modules only" if "function" in str(error).lower() else "it fails"
    about = [w for w in heard if "dim" in str(w.message) or "shape" in str(w.message)]
    return "yes" if about else "no"


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
