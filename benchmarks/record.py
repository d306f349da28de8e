"""Measure time and memory, keep the results in `measured.json`, and run the page that shows them.

    .venv/bin/python benchmarks/record.py [--rounds 40] [--quick]

Leave the machine alone meanwhile. Numbers keep four digits; the rest is noise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import attention
import memory
from machine import describe, devices

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "measured.json"
PAGE = ("tools/notebooks.py", "run", "book/measured.ipynb")


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    """Run every measurement on every device, and say so while it goes on."""
    found: dict[str, Any] = {"machine": describe(), "rounds": rounds}
    found |= {"times": [], "growth": [], "memory": []}
    lengths = attention.LENGTHS[:5] if quick else attention.LENGTHS
    for device in devices():
        print(attention.HEADINGS, flush=True)
        for row in attention.rows(quick, rounds, device):
            print(row, flush=True)
            found["times"].append(asdict(row))
        found["growth"] += attention.growth(lengths, 10, device)
        for point in memory.points(device):
            print(point, flush=True)
            found["memory"].append(asdict(point))
    return found


def rounded(value: Any) -> Any:
    """The same with four digits in every number that is no whole one."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try this file")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    found = rounded(measure(given.quick, given.rounds))
    lines = [f' "{name}": {_lines(part)}' for name, part in found.items()]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return subprocess.run((sys.executable, *PAGE), cwd=HERE.parent, check=False).returncode


def _lines(part: Any) -> str:
    """A list with an entry a line, so that a diff shows which measurement moved."""
    if not isinstance(part, list):
        return json.dumps(part)
    return "[\n  " + ",\n  ".join(map(json.dumps, part)) + "\n ]"


if __name__ == "__main__":
    sys.exit(main())
