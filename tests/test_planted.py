"""Every planted fault is seen: the check that should be red is red."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from native.building import C
from notebooks import RUN_ENV

from .planted.faults import FAULTS, Fault
from .planted.tracing import TRACING

ROOT = Path(__file__).resolve().parent.parent
PAGES = "_build/html"
WARM = ROOT / "tests" / "planted" / "warm.py"

ROWS = [*FAULTS, *TRACING]
OF_THE_TREE = [fault for fault in ROWS if not fault.file.startswith(PAGES)]


def own_files() -> Iterator[str]:
    """Every file of the tree that Git keeps or would keep, as it is now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in sorted(set(os.fsdecode(listing).split("\0")) - {""}):
        if (ROOT / name).is_file():
            yield name


def plant(fault: Fault, folder: Path) -> None:
    """Copy the tree and put the fault in."""
    for name in own_files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    if fault.file.startswith(PAGES):
        assert (ROOT / PAGES).is_dir(), "there is no built book: run `make book` first"
        shutil.copytree(ROOT / PAGES, folder / PAGES)
    file = folder / fault.file
    text = file.read_text(encoding="utf-8")
    assert fault.old in text, f"{fault.file} no longer holds {fault.old!r}: the row must follow"
    file.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")


@pytest.fixture(scope="session")
def outcome() -> Iterator[Callable[[tuple[str, ...], Path], tuple[int, str]]]:
    """Run pytest in a folder, on the copy's own library; return its exit code and output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | RUN_ENV
    command = [sys.executable, "-P", WARM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as warm:

        def run(tests: tuple[str, ...], folder: Path) -> tuple[int, str]:
            output = folder.with_suffix(".txt")
            print(json.dumps([str(folder), tests, str(output)]), file=warm.stdin, flush=True)
            return int(warm.stdout.readline()), output.read_text(encoding="utf-8")

        yield run
        warm.stdin.close()


@pytest.mark.parametrize("fault", OF_THE_TREE, ids=lambda fault: fault.name)
def test_the_row_follows_the_code(fault: Fault) -> None:
    """Told in a second, long before the faults are planted: each has one place."""
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, f"{fault.file} no longer holds {fault.old!r} once"


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.name)
@pytest.mark.planted
@pytest.mark.timeout(300)
def test_planted_fault_is_red(fault: Fault, tmp_path: Path, outcome) -> None:
    if fault.file.startswith("native/") and C.compiler is None:
        pytest.skip("there is no C compiler on this machine")
    plant(fault, tmp_path)
    code, output = outcome(fault.tests, tmp_path)
    assert code == pytest.ExitCode.TESTS_FAILED, output
    for words in fault.words:
        assert words in output
    shutil.rmtree(tmp_path)
