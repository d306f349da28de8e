"""What a trace costs beside the plain run and beside other tracers, and who notices silent bugs.

    .venv/bin/python benchmarks/tracing.py [--quick] [--store]

One head (batch 2, S 8, n_embd 64) and a stack of 12 layers, 768 wide, S 128, in eval mode without
gradients; before that, code that is wrong although its shapes fit (`silent.py`). What is measured
is the processor's time in one thread, so that other programs do not count. `--store` keeps the
result in `tracing.json`. The other tools are no packages of the project: `make bench` puts them
into `_build/peers`; one that is not there is named and left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.append(str(Path(__file__).parent.parent / "_build" / "peers"))

import silent
from attnlib import MultiHeadAttention, SingleHeadAttention, trace
from machine import describe

Run = Callable[[], object]
STORED = Path(__file__).with_suffix(".json")
PEERS = (
    "torchinfo",
    "torchlens",
)  # in this order: torchlens leaves its wrappers on torch's functions


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
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--store", action="store_true", help=f"keep the result in {STORED.name}")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    result: dict = {"machine": describe(), "silent": {}, "cost": {}}
    print("  ".join(f"{name}: {value}" for name, value in result["machine"].items()), "\n")
    here = {name: find_spec(name) is not None for name in PEERS}
    for name in (name for name, there in here.items() if not there):
        print(f"{name} is not installed: make bench fetches it")
    result["silent"] = silent.ours()
    head = SingleHeadAttention(64, 16).eval()
    stack = nn.Sequential(*(Layer(768, 12) for _ in range(12))).eval()
    models = {
        "one head, (2, 8, 64)": (head, torch.randn(2, 8, 64), 40 if given.quick else 400),
        "12 layers of 768, (1, 128)": (stack, torch.randn(1, 128, 768), 3 if given.quick else 15),
    }
    with torch.no_grad():
        for title, (model, x, rounds) in models.items():
            result["cost"][title] = timed(tracers(model, x, here), rounds)
        # What torchlens has once traced goes through its wrappers of torch's functions for good.
        if here["torchlens"]:
            for title, (model, x, rounds) in models.items():
                found = timed(torchlens_beside(model, x), max(3, rounds // 8))
                result["cost"][title]["plain, beside torchlens"] = found["plain"]
                result["cost"][title]["torchlens"] = found["torchlens"]
    silent.peers(result["silent"], here)
    for title, rows in result["cost"].items():
        show(title, rows)
    budgets(result["cost"])
    if given.store:
        STORED.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def show(title: str, rows: dict[str, dict]) -> None:
    print(f"\n{title:<30}{'ms':>10}{'at best':>10}{'ratio':>10}{'rounds':>8}")
    for name, row in rows.items():
        ratio = f"{row['ratio']:.2f}×"
        print(f"  {name:<28}{row['ms']:>10.2f}{row['best']:>10.2f}{ratio:>10}{row['rounds']:>8}")


def tracers(model: nn.Module, x: Tensor, here: dict[str, bool]) -> dict[str, Run]:
    """Each tracer as a function that runs the model once, the plain run first."""

    def bare() -> object:
        with Bare():
            return model(x)

    found: dict[str, Run] = {
        "plain": lambda: model(x),
        "a bare recorder": bare,
        "attnlib.trace": lambda: trace(model, x, dims="batch S n_embd"),
    }
    if here["torchinfo"]:
        from torchinfo import summary

        found["torchinfo"] = lambda: summary(model, input_data=x, verbose=0)
    return found


def torchlens_beside(model: nn.Module, x: Tensor) -> dict[str, Run]:
    import torchlens

    return {"plain": lambda: model(x), "torchlens": lambda: torchlens.trace(model, x)}


def timed(runs: dict[str, Run], rounds: int) -> dict[str, dict]:
    """Time all in turn: medians, the best, and the median ratio to the plain run of the round.

    A slow moment of the machine then meets them all; the best is what the code itself takes.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for turn in range(rounds):
        order = list(runs.items())
        for name, run in order if turn % 2 else reversed(order):
            start = time.thread_time()
            run()
            times[name].append(time.thread_time() - start)
    found = {}
    for name, taken in times.items():
        ratios = [mine / plain for mine, plain in zip(taken, times["plain"], strict=True)]
        found[name] = {
            "ms": round(1e3 * statistics.median(taken), 3),
            "best": round(1e3 * min(taken), 3),
            "overhead": round(1e3 * (min(taken) - min(times["plain"])), 3),
            "ratio": round(statistics.median(ratios), 3),
            "rounds": rounds,
        }
    return found


def budgets(cost: dict[str, dict]) -> None:
    """Print what the project promises of its tracer beside what was measured."""
    head, stack = cost.values()
    ours, layers = head["attnlib.trace"], stack["attnlib.trace"]
    print("\npromised, and measured at best")
    print(f"  a head in at most 5 ms: {ours['best']:.1f}")
    print(f"  12 layers at most 1.4 times as slow: {layers['best'] / stack['plain']['best']:.2f}")
    if "torchlens" in head:
        times = head["torchlens"]["best"] / ours["best"]
        over = stack["torchlens"]["overhead"] / layers["overhead"]
        print(f"  torchlens at least 10 times as slow on the head: {times:.0f}")
        print(f"  and with at least 8 times the overhead on the layers: {over:.0f}")


if __name__ == "__main__":
    main()
