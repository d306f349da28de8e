"""A release is prepared in one step, and a tree that is not one is refused, each in one line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import colab
import notebooks
import package
import release

HOME = {"GITHUB_REPOSITORY": "owner/name"}
OUTPUT = [{"output_type": "stream", "name": "stdout", "text": ["kept\n"]}]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that a release touches, with one notebook."""
    for name in (*package.PARTS, "CITATION.cff"):
        copy = shutil.copytree if (package.ROOT / name).is_dir() else shutil.copyfile
        copy(package.ROOT / name, tmp_path / name)
    log = "# Changelog\n\n## Unreleased\n\n- Something new.\n\n## 0.0.9, 2026-01-01\n\n- Old.\n"
    (tmp_path / "CHANGELOG.md").write_text(log)
    (tmp_path / "tools").mkdir()
    (tmp_path / "book").mkdir()
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
        {"cell_type": "code", "metadata": {}, "source": "print('kept')"}
        | {"execution_count": 2, "outputs": OUTPUT},
    ]
    notebook = notebooks.normalise({"cells": cells, "metadata": {}}, "small")
    (tmp_path / "book" / "small.ipynb").write_text(notebooks.written(notebook))
    return tmp_path


def found(tree: Path, tag: str) -> list[str]:
    return list(release.faults(tag, package.build(tree / "dist", tree), tree))


def test_a_prepared_tree_is_the_release_of_its_tag(tree: Path) -> None:
    sha256 = release.prepare("0.2.0", "2026-12-01", tree, HOME)
    assert found(tree, "v0.2.0") == []
    assert release.version(tree) == "0.2.0"
    assert release.notes("0.2.0", tree) == "- Something new."
    assert release.notes("Unreleased", tree) == ""
    cited = (tree / "CITATION.cff").read_text()
    assert "version: 0.2.0\ndate-released: 2026-12-01\n" in cited
    cells = json.loads((tree / "book" / "small.ipynb").read_text())["cells"]
    assert [cell["id"] == "colab" for cell in cells] == [False, True, False]
    source = "".join(cells[1]["source"])
    address = (
        "https://github.com/owner/name/releases/download/v0.2.0/attnlib-0.2.0-py3-none-any.whl"
    )
    assert f'"{address}"' in source
    assert f"#sha256={sha256}" in source
    assert package.checksum(tree / "dist" / "attnlib-0.2.0-py3-none-any.whl") == sha256
    assert cells[2]["outputs"] == OUTPUT


def test_each_departure_from_the_release_is_named(tree: Path) -> None:
    assert found(tree, "v0.2.0") == ["no release was prepared: tools/release.py prepare"]
    release.prepare("0.2.0", "2026-12-01", tree, HOME)
    assert found(tree, "v0.2.1") == ["the tag is v0.2.1, the library is 0.2.0"]
    with (tree / "README.md").open("a") as readme:
        readme.write("One more line.\n")
    path = tree / "book" / "small.ipynb"
    path.write_text(path.read_text().replace("owner/name", "other/name"))
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    citation = tree / "CITATION.cff"
    citation.write_text(citation.read_text().replace("version: 0.2.0", "version: 0.1.9"))
    assert found(tree, "v0.2.0") == [
        "the wheel is not the one whose checksum was written: something changed since",
        "CITATION.cff names another version",
        "CHANGELOG.md says nothing of 0.2.0",
        "small.ipynb installs something else in Colab",
    ]


def test_what_cannot_be_released_is_refused_and_nothing_is_written(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(release.NotReady, match=r"0\.2 is no version: three numbers"):
        release.prepare("0.2", "2026-12-01", tree, HOME)
    with pytest.raises(release.NotReady, match="no remote `origin` on GitHub"):
        release.prepare("0.2.0", "2026-12-01", tree, {})
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.0.9, 2026-01-01\n")
    before[tree / "CHANGELOG.md"] = (tree / "CHANGELOG.md").read_bytes()
    with pytest.raises(release.NotReady, match="says nothing under `Unreleased`"):
        release.prepare("0.2.0", "2026-12-01", tree, HOME)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_version_is_released_once(tree: Path) -> None:
    release.prepare("0.2.0", "2026-12-01", tree, HOME)
    for version in ("0.2.0", "0.1.10"):
        with pytest.raises(release.NotReady, match=f"{version} is not newer than 0.2.0"):
            release.prepare(version, "2026-12-02", tree, HOME)


def test_the_record_here_if_there_is_one_is_of_this_version() -> None:
    record = colab.released()
    assert record is None or re.fullmatch(r"[0-9a-f]{64}", record["sha256"])
    tags = subprocess.run(["git", "tag"], cwd=package.ROOT, capture_output=True, text=True).stdout
    assert bool(record) or not re.search(r"^v\d", tags, re.M)
