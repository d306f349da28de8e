"""Two ways to compute the same, timed in alternating pairs, with the noise beside the result.

The machine's speed drifts, so a pair is measured close together, in turn the one and the other
first, and only ratios within a pair count. An A/A run, the same function under both names, shows
how far from 1.00 chance alone goes: a ratio inside that interval says nothing.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

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


def compare(one: Call, other: Call, pairs: int = 40) -> Compared:
    """Time both in alternation after a warm-up; a short call is repeated to fill 10 ms."""
    repeats = max(1, round(0.01 / max(seconds(one, 3), 1e-9)))
    seconds(other, repeats)
    timed = []
    for turn in range(pairs):
        if turn % 2:
            second = seconds(other, repeats)
            timed.append((seconds(one, repeats), second))
        else:
            first = seconds(one, repeats)
            timed.append((first, seconds(other, repeats)))
    ratios = [a / b for a, b in timed]
    low, high = interval(ratios)
    return Compared(
        statistics.median(ratios),
        low,
        high,
        statistics.median(a for a, _ in timed),
        statistics.median(b for _, b in timed),
    )


def seconds(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def interval(ratios: list[float], draws: int = 2000) -> tuple[float, float]:
    """Where the median lies in 95 of 100 resamplings (bootstrap, seeded)."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]
