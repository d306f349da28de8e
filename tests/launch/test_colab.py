"""The first code cell of each notebook gets the library in Colab, and is silent elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from repository import Repository, needs_a_copy

import colab
import notebooks
import package
import pages

from .environments import SANDBOX, closure, execute, linked, make_colab, python_of, repacked, say

LIST = Path(__file__).with_name("colab-2026-08-19.txt")
LISTED = dict(re.findall(r"^([\w.-]+)==(\S+)$", LIST.read_text(encoding="utf-8"), re.M))

# What pages offer in Colab.
OFFERED = [p.stem for p in notebooks.notebooks() if not needs_a_copy(p, notebooks.ROOT)]


def record(wheel: Path) -> dict[str, str]:
    return {"version": "0", "wheel": wheel.as_uri(), "sha256": package.checksum(wheel)}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library's wheel and with those of what Colab lacks."""
    folder = tmp_path_factory.mktemp("shelf")
    package.build(folder)
    for name in ("jaxtyping", "wadler-lindig"):
        assert name not in LISTED
        repacked(name, folder)
    return folder


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Colab brings, by name, in this environment's versions; its Python."""
    folder = tmp_path_factory.mktemp("colab")
    return linked(folder, closure(*LISTED) - {"jaxtyping", "attnlib"}, colab=True)


@pytest.fixture
def offline(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_each_notebook_begins_with_it(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    assert "".join(first["source"]) == colab.source(colab.released())
    assert (first["id"], first["outputs"]) == ("colab", [])
    assert first["metadata"]["tags"] == ["remove-cell"]
    assert [cell["id"] for cell in cells].count("colab") == 1


def test_placing_it_twice_changes_nothing_and_a_new_release_replaces_it() -> None:
    cells = [{"cell_type": "markdown", "id": "a"}, {"cell_type": "code", "id": "b"}]
    once = colab.placed(cells, None)
    assert [cell["id"] for cell in once] == ["a", "colab", "b"]
    assert colab.placed(once, None) == once
    renewed = colab.placed(once, {"wheel": "https://a/b.whl", "sha256": "0" * 64})
    assert [cell["id"] for cell in renewed] == ["a", "colab", "b"]
    assert "https://a/b.whl" in renewed[1]["source"]


@pytest.mark.parametrize(
    ("code", "offered"),
    [
        ("from attnlib import trace\nimport torch", True),
        ("import torch\n  import native", False),
        ('where = Path("../native/measured.json")', False),
        ('open("native.txt")', True),
    ],
)
def test_a_page_offers_colab_where_its_notebook_runs_alone(
    code: str, offered: bool, tmp_path: Path
) -> None:
    (tmp_path / "native").mkdir()
    (tmp_path / "attnlib").mkdir()
    cells = [{"cell_type": "code", "source": code.splitlines(keepends=True)}]
    (tmp_path / "page.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    app = SimpleNamespace(
        srcdir=str(tmp_path),
        env=SimpleNamespace(doc2path=lambda name: str(tmp_path / f"{name}.ipynb")),
        config=SimpleNamespace(book_repository=Repository("https://github.com/owner/name", "main")),
    )
    context = {"sourcename": "page.ipynb", "pathto": lambda name, _: name}
    texts = {link["text"] for link in pages.page_links(app, "page", context)}
    assert ("Open in Colab" in texts) == offered
    assert {"Download the notebook", "Open on Binder"} < texts


def test_a_page_that_is_not_offered_says_why() -> None:
    others = [path for path in notebooks.notebooks() if path.stem not in OFFERED]
    assert len(OFFERED) > len(others)
    for path in others:
        assert "It needs a copy of the repository" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("released", [False, True])
def test_it_does_nothing_where_no_colab_is(released: bool, tmp_path: Path, shelf: Path) -> None:
    source = colab.source(record(next(shelf.glob("attnlib*"))) if released else None)
    done = say(Path(sys.executable), "-S", "-c", source, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_before_a_release_it_says_what_to_do_in_one_line(machine: Path, tmp_path: Path) -> None:
    done = say(machine, "-c", colab.source(None), folder=tmp_path)
    assert done.stdout.startswith("No release yet: run  !pip install git+https://")
    assert (done.stdout.count("\n"), done.returncode) == (1, 0)


def test_a_wheel_with_another_checksum_is_refused(
    machine: Path, shelf: Path, tmp_path: Path, offline: None
) -> None:
    wheel = record(next(shelf.glob("attnlib*"))) | {"sha256": "0" * 64}
    done = say(machine, "-c", colab.source(wheel), folder=tmp_path)
    assert "RuntimeError: attnlib was not installed: " in done.stderr.splitlines()[-1]
    assert say(machine, "-c", "import attnlib", folder=tmp_path).returncode == 1


def test_a_notebook_runs_on_what_colab_brings(
    machine: Path, shelf: Path, tmp_path: Path, offline: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = say(machine, "-c", "import torch; print(torch.__version__)", folder=tmp_path).stdout
    path = with_the_cell("index", tmp_path, record(next(shelf.glob("attnlib*"))))
    ran = execute(path, machine, monkeypatch)
    assert next(cell for cell in ran.cells if cell.id == "colab").outputs == []
    now = "import torch, attnlib; print(torch.__version__); print(attnlib.__file__)"
    after, place = say(machine, "-c", now, folder=tmp_path).stdout.splitlines()
    assert (after, str(package.ROOT) in place) == (torch.strip(), False)


def with_the_cell(name: str, folder: Path, release: dict[str, str]) -> Path:
    """Copy a notebook of the book into a folder, as it is after a release."""
    path = folder / f"{name}.ipynb"
    notebook = json.loads((notebooks.ROOT / "book" / path.name).read_text(encoding="utf-8"))
    notebook["cells"] = colab.placed(notebook["cells"], release)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


# --- the real list, in minutes and gigabytes: make test PART=colab ------------------------------


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with Colab's own versions, under Colab's own Python."""
    found = python_of("3.13")
    if found is None:
        pytest.fail("Colab's list is for Python 3.13, which this machine lacks")
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([found, "-m", "venv", str(folder)], check=True)
    python, shared = folder / "bin" / "python", os.environ | SANDBOX
    install = (str(python), "-m", "pip", "install", "-q")
    # torch with its CUDA libraries, without which the registry's wheel does not load.
    subprocess.run([*install, f"torch=={LISTED['torch']}"], env=shared, check=True)
    subprocess.run([*install, "--no-deps", "-r", str(LIST)], env=shared, check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    make_colab(packages)
    return python


@pytest.mark.colab
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", OFFERED)
def test_every_notebook_runs_on_colab_s_own_versions(
    name: str, fresh: Path, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = with_the_cell(name, tmp_path, record(next(shelf.glob("attnlib*"))))
    execute(path, fresh, monkeypatch)
    version = say(fresh, "-c", "import torch; print(torch.__version__)", folder=tmp_path).stdout
    assert version.startswith(LISTED["torch"])
