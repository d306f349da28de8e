"""The memory that a process really needs at its peak doubles with S, where S × S is not built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)
CLEAR = Path("/proc/self/clear_refs")
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
LENGTHS = (1024, 2048)
CODE = """
import json, memory
print(json.dumps({
    f"{fused} {mask}": [memory.run(fused, mask, True, S, "cpu") for S in LENGTHS]
    for fused, mask in [*((True, mask) for mask in memory.MASKS), (False, "no mask")]
}))
"""


@pytest.fixture(scope="module")
def peaks() -> dict[str, list[int]]:
    """Bytes at S and at 2S, all measured in one process that gives back what it frees."""
    if not (CLEAR.exists() and os.access(CLEAR, os.W_OK)):
        pytest.skip("this system does not say what a process needed at its peak")
    steady = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    code = f"LENGTHS = {LENGTHS}\n{CODE}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=BENCHMARKS,
        env=os.environ | steady | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_fused_memory_grows_with_the_length_not_its_square(peaks) -> None:
    fused = {name: found for name, found in peaks.items() if name.startswith("True")}
    assert len(fused) == 4
    for name, (short, long) in fused.items():
        assert long <= 2.2 * short, name
        assert long < 4 * 4 * LENGTHS[1] ** 2, f"{name}: as much as the scores of four heads"


def test_explicit_memory_grows_with_the_square(peaks) -> None:
    short, long = peaks["False no mask"]
    assert 3 * short < long
    assert long > 4 * 4 * LENGTHS[1] ** 2
