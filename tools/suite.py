"""Everything that must hold, part by part, with the time of each.

    .venv/bin/python tools/suite.py [PART ...]      all parts when none is named, but for `colab`

Every part runs, also after another has failed; the last lines say which did.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from book import RUNS
from browser import WHAT_TO_DO, find, install
from environment import ROOT
from notebooks import RUN_ENV

PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2")
EXECUTED = (*PYTEST, "--dist", "worksteal", "tests/test_notebooks.py", "-m", "executes")
# Where signatures hold shapes. The tracer reads the code that called it, which the check rewrites.
SHAPED = (
    "--jaxtyping-packages="
    "attnlib.stages,attnlib.pipeline,attnlib.modules,attnlib.weights,beartype.beartype",
    *("--ignore=tests/tracer", "--ignore=tests/widgets", "--ignore=tests/test_notebooks.py"),
    "--ignore=tests/exercises",  # learners' code, which passes what it likes
    # These run what `unit` has run, and call no signature that others do not.
    *("--ignore=tests/launch", "--ignore=tests/native", "--ignore=tests/book"),
    *("--ignore=tests/test_planted.py", "--ignore=tests/test_peak_memory.py"),
)
UNIT = ("tests", "-m", "not browser and not executes and not planted and not colab")
OTHER_CPU = {"ATEN_CPU_CAPABILITY": "avx2"}


@dataclass
class Part:
    """A name, commands that must all succeed, and what they need."""

    name: str
    commands: list[tuple[str, ...]]
    env: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    skip: Callable[[], str | None] = lambda: None
    by_hand: bool = False  # minutes and gigabytes; run where it is named


def no_avx2() -> str | None:
    """The reason why the second CPU mode cannot be run on this machine."""
    import torch

    able = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    return None if able else "this CPU has no AVX2"


NOTEBOOKS = Part("notebooks", [EXECUTED], dict(RUN_ENV))
PARTS = [
    Part(
        "style",
        [
            (sys.executable, "-m", "ruff", "check", "."),
            (sys.executable, "-m", "ruff", "format", "--check", "."),
            (sys.executable, "-m", "mypy"),
        ],
    ),
    Part("unit", [(*PYTEST, *UNIT)]),
    Part("shapes", [(*PYTEST, *UNIT, *SHAPED)]),
    Part("book", [(sys.executable, "tools/book.py")]),
    NOTEBOOKS,
    Part("notebooks-avx2", [EXECUTED], RUN_ENV | OTHER_CPU, ("MKL_CBWR",), no_avx2),
    Part("pages", [(*PYTEST, "--dist", "worksteal", "tests", "-m", "browser")]),
    Part("planted", [(*PYTEST, "tests", "-m", "planted")]),
    Part("colab", [(*PYTEST, "-n", "0", "tests/launch", "-m", "colab")], by_hand=True),
]


def run(part: Part) -> str:
    """Run one part; return `passed`, `FAILED` or `skipped: why`."""
    print(f"\n== {part.name}", flush=True)
    if reason := part.skip():
        print(reason)
        return f"skipped: {reason}"
    environment = os.environ | part.env
    for name in part.without:
        environment.pop(name, None)
    passed = True
    for command in part.commands:
        shown = " ".join("python" if word == sys.executable else word for word in command)
        print(f"-- {shown}", flush=True)
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
        passed = passed and done.returncode == 0
    return "passed" if passed else "FAILED"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [part.name for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {' '.join(names)}")
    wanted = parser.parse_args().parts or [part.name for part in PARTS if not part.by_hand]
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(names)}")
    browser = find() or ("pages" in wanted and install())
    # Where no run is stored, the book's build makes them all, and `notebooks` compares those.
    if "book" in wanted and not RUNS.exists():
        NOTEBOOKS.env["RUNS_OF_NOW"] = str(RUNS)
    results = []
    start = time.monotonic()
    # Beside the checks of style, which leave a core idle; what needs it waits for its lock.
    compiling = subprocess.Popen((sys.executable, "native/building.py"), cwd=ROOT)
    for part in PARTS:
        if part.name in wanted:
            if part.name != "style":
                compiling.wait()
            began = time.monotonic()
            results.append((part.name, run(part), time.monotonic() - began))
    compiling.wait()
    print("\n== times")
    for name, result, seconds in results:
        print(f"{name:<16}{seconds:>7.0f} s  {result}")
    print(f"{'together':<16}{time.monotonic() - start:>7.0f} s")
    failed = [name for name, result, _ in results if result == "FAILED"]
    if "pages" in wanted and not browser:
        print(f"FAILED: {WHAT_TO_DO}")
        failed.append("browser")
    print(f"FAILED: {', '.join(failed)}" if failed else "everything holds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
