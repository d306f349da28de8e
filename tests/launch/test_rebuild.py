"""By the book's own build: a changed text is in its page, and a kernel that dies is told."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import notebooks
import serve

pytestmark = pytest.mark.timeout(300)
# All that builds pages; the two pages themselves are the test's own, so that no notebook runs.
PARTS = ("tools", "attnlib", "book/_ext", "book/_templates", "book/assets")
FILES = ("_config.yml", "requirements.txt")
TOC = "format: jb-book\nroot: book/index\nchapters:\n- file: book/page\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    leavings = shutil.ignore_patterns("__pycache__", ".*")
    for name in PARTS:
        shutil.copytree(serve.ROOT / name, tmp_path / name, ignore=leavings)
    for name in FILES:
        shutil.copyfile(serve.ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "book" / "index.md").write_text("# Welcome\n\nRead the [page](page.md).\n")
    (tmp_path / "book" / "page.md").write_text("# A page\n\nIt says little.\n")
    return tmp_path


@pytest.fixture
def said(tree: Path) -> Iterator[Iterator[str]]:
    """What `make serve` says in that tree, line by line; it has built the pages and shows them."""
    subprocess.run([sys.executable, "tools/book.py"], cwd=tree, check=True, capture_output=True)
    running = subprocess.Popen(
        [sys.executable, "tools/serve.py"], cwd=tree, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    yield iter(running.stdout.readline, "")
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0


def test_an_edit_of_the_text_is_in_the_page(tree: Path, said: Iterator[str]) -> None:
    page, built = tree / "book" / "page.md", tree / "_build" / "html" / "book" / "page.html"
    assert "It says little." in built.read_text(encoding="utf-8")
    assert any("A change of a file is built" in line for line in said)
    time.sleep(1)
    for words in ("It says more.", "It says most."):
        page.write_text(f"# A page\n\n{words}\n")
        assert next(said) == "changed: book/page.md; building\n"
        line = next(said)
        assert line.startswith("built in"), line
        assert words in built.read_text(encoding="utf-8")


def test_a_build_says_what_its_time_is_the_time_of(tree: Path) -> None:
    """The set-up and the compiler, which tell their own times, are not in it."""
    announced = "running the notebooks and building the pages; the first time takes minutes"
    for first in (True, False):
        done = subprocess.run(
            [sys.executable, "tools/book.py"], cwd=tree, check=True, capture_output=True, text=True
        )
        lines = done.stdout.splitlines()
        assert (announced in lines) is first
        page = (tree / "_build" / "html" / "index.html").as_uri()
        assert re.fullmatch(rf"pages built in \d+ s; open them: {page}", lines[-1])


DIES = """
# what it needs is not there
import os
os._exit(1)"""


@pytest.fixture
def dying(tree: Path) -> Path:
    """A notebook in that tree whose last cell ends its kernel."""
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "# A page"}]
    cells += [code | {"source": source} for source in ("size = 10**9", DIES)]
    (tree / "book" / "page.md").unlink()
    path = tree / "book" / "page.ipynb"
    normal = notebooks.normalise({"cells": cells, "metadata": {}}, "page")
    path.write_text(notebooks.written(normal))
    return path


@pytest.mark.parametrize("tool", ["tools/book.py", "tools/notebooks.py run book/page.ipynb"])
def test_a_kernel_that_dies_is_told_with_notebook_and_cell(
    tool: str, tree: Path, dying: Path
) -> None:
    before = dying.read_bytes()
    command = [sys.executable, *tool.split()]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 1
    said = (done.stdout + done.stderr).splitlines()
    (told,) = [line for line in said if "kernel died in" in line]
    assert "the cell that begins `# what it needs is not there`" in told
    assert "book/page.ipynb: " in told
    assert dying.read_bytes() == before
