"""The wheel: the same bytes twice, complete, and at work where nothing of the repository is."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from repository import needs_a_copy

import attnlib
import notebooks
import package

from .environments import closure, execute, linked, say

KERNEL = ("torch", "jaxtyping", "ipykernel", "pip")
PLAIN = """
import torch, attnlib
print(attnlib.__version__, attnlib.__file__)
head = attnlib.SingleHeadAttention(n_embd=6, head_size=4)
print(attnlib.trace(head, torch.randn(2, 3, 6), dims="batch S n_embd"))
attnlib.trace(head, torch.randn(2, 3, 6), dims="batch S n_embd").save_html("head.html")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with torch, jaxtyping, a kernel, and attnlib from its wheel."""
    python = linked(tmp_path_factory.mktemp("alone"), closure(*KERNEL, "numpy", "matplotlib"))
    done = say(python, "-m", "pip", "install", "--no-index", str(wheel), folder=wheel.parent)
    assert done.returncode == 0, done.stderr
    return python


def another_tree(folder: Path) -> Path:
    """The same sources as somebody else has them: elsewhere, of another time, with leavings."""
    for name in package.PARTS:
        copy = shutil.copytree if (package.ROOT / name).is_dir() else shutil.copyfile
        copy(package.ROOT / name, folder / name)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1e9, 1e9))
    for left in (".ipynb_checkpoints/dims.py", "__pycache__/dims.cpython-311.pyc", ".DS_Store"):
        (folder / "attnlib" / left).parent.mkdir(exist_ok=True)
        (folder / "attnlib" / left).write_text("left behind")
    return folder


def test_two_builds_are_equal(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234567890")
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    (tmp_path / "tree").mkdir()
    again = package.build(tmp_path / "made", another_tree(tmp_path / "tree"))
    assert package.checksum(again) == package.checksum(wheel)


def test_a_changed_line_is_another_wheel(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    tree = another_tree(tmp_path / "tree")
    with (tree / "attnlib" / "dims.py").open("a") as file:
        file.write("# one more line\n")
    assert package.checksum(package.build(tmp_path / "made", tree)) != package.checksum(wheel)


@pytest.mark.parametrize("why", ["the folder", "the builder"])
def test_what_keeps_it_from_being_built_is_told_in_one_line(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "file" / "dist" if why == "the folder" else tmp_path
    (tmp_path / "file").touch()
    monkeypatch.setattr(package, "BUILD", "import no_builder")
    monkeypatch.setattr(sys, "argv", ["package.py", str(folder)])
    assert package.main() == 1
    told = capsys.readouterr().err
    said = {"the folder": "Not a directory", "the builder": "No module named 'no_builder'"}[why]
    assert told.startswith("the wheel was not built: ") and said in told
    assert told.count("\n") == 1


def test_it_holds_the_library_and_nothing_else(wheel: Path) -> None:
    home = Path(attnlib.__file__).parent
    kinds = {".py", ".js", ".css", ".html"}
    own = {str(p.relative_to(home.parent)) for p in home.rglob("*") if p.suffix in kinds}
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        metadata = file.read(f"attnlib-{attnlib.__version__}.dist-info/METADATA").decode()
    assert {name for name in names if ".dist-info/" not in name} == own | {"attnlib/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    needs = [
        line for line in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M) if ";" not in line
    ]
    assert [re.match(r"\w+", line)[0] for line in needs] == ["torch", "jaxtyping"]
    assert f"\nVersion: {attnlib.__version__}\n" in metadata


def test_the_citation_names_the_version() -> None:
    cited = (package.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {attnlib.__version__}\n" in cited


def test_it_traces_in_plain_python_far_from_the_repository(alone: Path, tmp_path: Path) -> None:
    done = say(alone, "-c", PLAIN, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    first, *table = done.stdout.splitlines()
    version, place = first.split(" ", 1)
    assert (version, str(package.ROOT) in place) == (attnlib.__version__, False)
    assert sum(line.rstrip().endswith(("view", "new", "input", "copy")) for line in table) >= 11
    assert '"format":"attnlib-trace"' in (tmp_path / "head.html").read_text(encoding="utf-8")


# In `make test` only these, of some 10 s of CPU each: the first page, the one that uses most of
# PyTorch's own layers and of other libraries' words, and the one that judges and shows answers.
# All of them: `pytest tests/launch/test_wheel.py -m executes`.
REPRESENTATIVE = ("index", "08-attention-in-the-wild", "exercises")
OFFERED = [path for path in notebooks.notebooks() if not needs_a_copy(path, notebooks.ROOT)]


def offered(path: Path) -> ParameterSet:
    marks = () if path.stem in REPRESENTATIVE else (pytest.mark.executes,)
    return pytest.param(path, id=path.stem, marks=(*marks, pytest.mark.timeout(400)))


def test_the_pages_offer_notebooks_alone() -> None:
    assert set(REPRESENTATIVE) < {path.stem for path in OFFERED}
    assert len(OFFERED) >= 15


@pytest.mark.parametrize("path", [offered(path) for path in OFFERED])
def test_a_downloaded_notebook_runs_alone(
    path: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATTNLIB_STATIC", raising=False)
    shutil.copy(path, tmp_path)
    ran = execute(tmp_path / path.name, alone, monkeypatch)
    outputs = [output for cell in ran.cells for output in cell.get("outputs", [])]
    assert [o["text"] for o in outputs if o.get("name") == "stderr"] == []
    shown = "".join(o.get("data", {}).get("text/html", "") for o in outputs)
    assert "attn-player" in shown or path.stem != "index"
    assert "attnlibPlayer" in shown or "attn-player" not in shown
    assert [left.name for left in tmp_path.iterdir()] == [path.name]
