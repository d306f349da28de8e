"""The first set-up: what stops it is told in one line, and the next one goes on from there."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

import environment
import kernels

NEEDED = "a network is needed for the first set-up"


def wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    """Write a package that holds nothing but what it asks for."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    asked = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        file.writestr(f"{about}/METADATA", head + asked)
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels beside an index that nobody answers at."""
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{kernels.free_port()}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    wheel(tmp_path / "shelf", "one", "1", "two==1")
    wheel(tmp_path / "shelf", "two", "2")
    return tmp_path / "shelf"


def install(folder: Path, *names: str) -> str:
    """What is said when these packages cannot be installed."""
    with pytest.raises(environment.SetupFailed) as failed:
        environment.pip("install", "--target", str(folder), *names)
    return str(failed.value)


def test_no_index_that_answers_is_told_in_one_line(tmp_path: Path) -> None:
    told = f"no package index answers ([Errno 111] Connection refused); {NEEDED}"
    assert install(tmp_path, "three==3") == told


def test_what_lies_here_hides_no_missing_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where some wheels are here and some are not, pip itself speaks of a conflict of versions."""
    said: list[list[str]] = []
    keep = environment.cause
    monkeypatch.setattr(environment, "cause", lambda lines: said.append(lines) or keep(lines))
    told = install(tmp_path, "one", "two==2")
    assert any("ResolutionImpossible" in line for line in said[0])
    assert told.startswith("no package index answers") and told.endswith(NEEDED)
    assert "\n" not in told


def test_an_index_that_may_not_be_asked_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert install(tmp_path, "three==3") == f"no package index answers; {NEEDED}"


@pytest.fixture
def index(tmp_path: Path) -> str:
    """An index in files, which has pip as every one has, and nothing else."""
    wheel(tmp_path / "index" / "pip", "pip", "99")
    page = '<a href="pip-99-py3-none-any.whl">pip-99-py3-none-any.whl</a>'
    (tmp_path / "index" / "pip" / "index.html").write_text(page)
    return (tmp_path / "index").as_uri()


def test_an_index_in_files_beside_the_usual_one_hides_no_missing_network(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index)
    assert install(tmp_path, "three==3").startswith("no package index answers ([Errno 111]")


def test_an_index_without_a_package_is_told_by_its_name(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    told = install(tmp_path, "three==3")
    assert told.startswith("the package index lacks a package (ERROR: No matching distribution")
    assert "three==3" in told and "\n" not in told


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    said = ["ERROR: Could not install packages: [Errno 28] No space left on device"]
    assert environment.cause(said) == "the disk is full"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".venv").mkdir()
    for name, path in {"ROOT": ".", "VENV": ".venv", "STAMP": ".venv/complete"}.items():
        monkeypatch.setattr(environment, name, tmp_path / path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert environment.main() == 1
    told = f"set-up failed: {tmp_path} cannot be written; work in a copy of it\n"
    assert (capsys.readouterr().err, (tmp_path / ".venv").exists()) == (told, True)
