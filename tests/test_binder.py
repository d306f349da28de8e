"""Binder's environment is what tools/binder.py writes: small, on the CPU, at the book's pins."""

from __future__ import annotations

import json
import re

import binder
import notebooks
from environment import pins, split


def listed() -> dict[str, str]:
    """name -> version, of everything that Binder installs by name."""
    lines = binder.FILE.read_text(encoding="utf-8").splitlines()
    found = [split(line.split(";")[0]) for line in lines if re.match(r"[\w.-]+==", line)]
    return dict(found)


def test_the_file_is_what_the_tool_writes() -> None:
    assert binder.FILE.read_text(encoding="utf-8") == binder.text()


def test_every_version_is_the_book_s_own_and_torch_comes_without_cuda() -> None:
    own = dict(split(pin.split(";")[0]) for pin in pins())
    assert {name: version for name, version in listed().items() if own.get(name) != version} == {}
    text = binder.FILE.read_text(encoding="utf-8")
    assert f"torch=={own['torch']}+cpu\n" in text
    assert "--extra-index-url https://download.pytorch.org/whl/cpu\n" in text
    assert not re.search(r"^(nvidia|cuda|triton)", text, re.M)


def test_what_only_builds_and_tests_the_book_stays_out() -> None:
    assert {"torch", "jaxtyping", "jupyterlab", "ipykernel"} <= set(listed())
    assert not {"sphinx", "jupyter-book", "pytest", "playwright", "mypy", "ruff"} & set(listed())
    assert len(listed()) < 110


def test_what_the_notebooks_import_is_there() -> None:
    for path in notebooks.notebooks():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        found = set(
            re.findall(r"^\s*(?:from|import) (torch|numpy|matplotlib|IPython)\b", code, re.M)
        )
        assert {name.lower() for name in found} <= set(listed())


def test_the_python_is_one_that_the_book_runs_on() -> None:
    assert (
        binder.FILE.with_name("runtime.txt").read_text()
        == f"python-{binder.IMAGE['python_version']}\n"
    )
