"""Several ways to compute the same, timed in rounds, with the noise beside the result.

The machine's speed drifts, so a round runs every way once, close together, and in another order
than the round before; only ratios within a round count. One way stands in twice: the ratio of the
same to itself (an A/A run) shows how far from 1.00 chance alone goes, and a ratio inside its
interval says nothing.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Call = Callable[[], object]


@dataclass(frozen=True)
class Compared:
    """The median ratio of one to the other, its 95 % interval, and the medians in seconds."""

    ratio: float
    low: float
    high: float
    one: float
    other: float

    def __str__(self) -> str:
        return f"{self.ratio:.3f} [{self.low:.3f}, {self.high:.3f}]"


def rounds(calls: dict[str, Call], count: int = 40, device: str = "cpu") -> dict[str, list[float]]:
    """Time every call in each round, after a warm-up; a short one is repeated to fill 10 ms.

    The order is turned by one place from round to round, and every second round runs backwards, so
    that each call follows each other one about equally often.
    """
    names = list(calls)
    repeats = {}
    for name in names:
        once = seconds(calls[name], 3, device)
        repeats[name] = max(1, round(0.01 / max(once, 1e-9)))
        seconds(calls[name], repeats[name], device)
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(count):
        start = turn // 2 % len(names)
        order = names[start:] + names[:start]
        for name in order if turn % 2 else reversed(order):
            found[name].append(seconds(calls[name], repeats[name], device))
    return found


def compare(one: list[float], other: list[float]) -> Compared:
    """Compare two ways that were timed in the same rounds."""
    ratios = [a / b for a, b in zip(one, other, strict=True)]
    medians = statistics.median(one), statistics.median(other)
    return Compared(statistics.median(ratios), *interval(ratios), *medians)


def seconds(call: Call, repeats: int, device: str) -> float:
    """Return the time of one call; a GPU keeps its own time, and is waited for at the end."""
    if device == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1000 / repeats
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def interval(ratios: list[float], draws: int = 2000) -> tuple[float, float]:
    """Where the median lies in 95 of 100 resamplings (bootstrap, seeded)."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]
