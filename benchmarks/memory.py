"""How much memory attention needs at its peak, and how that grows with the sequence.

    .venv/bin/python benchmarks/memory.py

Each point is measured in a process of its own, from before the first operation to the highest that
the process ever needed, so that nothing an earlier run left behind counts; on a GPU, by PyTorch's
own count.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from attnlib import MultiHeadAttention
from machine import devices

MASKS = ("no mask", "causal", "key padding", "causal and key padding")
BUDGET = 2.2  # of twice the sequence to the sequence; S × S would make it 4
PAIR = (2048, 4096)
LENGTHS = (256, 512, 1024, 2048, 4096)
N_EMBD, HEADS = 256, 4
# Large blocks come from the system and go back to it, whatever was asked for before.
STEADY = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


@dataclass(frozen=True)
class Point:
    """One peak in bytes above what the process held with its weights and its input."""

    fused: bool
    mask: str
    training: bool
    S: int
    device: str
    peak: int


def run(fused: bool, mask: str, training: bool, S: int, device: str) -> int:
    """Attend once in this process; return the bytes at the peak."""
    layer = MultiHeadAttention(N_EMBD, HEADS, causal="causal" in mask, fused=fused).to(device)
    layer(torch.randn(1, 16, N_EMBD, device=device)).sum().backward()  # load what is loaded once
    layer.zero_grad()
    x = torch.randn(1, S, N_EMBD, device=device)
    may_attend = None
    if "padding" in mask:
        may_attend = (torch.arange(S, device=device) < S - S // 8)[None, None, None]
    before = _peak(device, start=True)
    with torch.set_grad_enabled(training):
        output = layer(x, may_attend=may_attend)
        if training:
            output.sum().backward()
    return _peak(device) - before


def _peak(device: str, start: bool = False) -> int:
    """Return what is held now, and begin to watch from here; or return the highest since then."""
    if device == "cuda":
        torch.cuda.synchronize()
        if start:
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        return torch.cuda.max_memory_allocated()
    watched = Path("/proc/self/clear_refs")
    if not watched.exists():  # no Linux: the highest of the process's whole life
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if start:
        watched.write_text("5")  # the highest so far is forgotten
    name = "VmRSS" if start else "VmHWM"
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in status if line.startswith(f"{name}:")))


def point(fused: bool, mask: str, training: bool, S: int, device: str) -> Point:
    """Measure in a fresh process."""
    command = (sys.executable, __file__, "--one", str(int(fused)), mask, str(int(training)), str(S))
    done = subprocess.run(
        (*command, device), env=os.environ | STEADY, capture_output=True, text=True, check=True
    )
    return Point(fused, mask, training, S, device, int(done.stdout))


def points(device: str) -> Iterator[Point]:
    """The fused layer under every mask at S and 2S, then both paths at one length after another."""
    for mask in MASKS:
        for training in (False, True):
            for S in PAIR:
                yield point(True, mask, training, S, device)
    for S in LENGTHS[:-2]:
        yield point(True, "no mask", True, S, device)
    for S in LENGTHS:
        yield point(False, "no mask", True, S, device)


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        fused, mask, training, S, device = sys.argv[2:]
        print(run(bool(int(fused)), mask, bool(int(training)), int(S), device))
        return
    for device in devices():
        for found in points(device):
            path = "fused" if found.fused else "explicit"
            what = f"{path}, {'training' if found.training else 'forward'}, {found.mask}"
            print(f"{what:<48}S {found.S:<6}{found.peak / 2**20:>9.1f} MiB  {device}", flush=True)


if __name__ == "__main__":
    main()
