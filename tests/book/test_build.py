"""A build that was killed, or whose store was half written, does no harm to the next one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import book


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder with read pages and a sound list of runs; nothing is really built."""
    for name, place in {"PAGES_READ": ".doctrees", "RUNS": ".jupyter_cache"}.items():
        (tmp_path / place).mkdir()
        (tmp_path / place / "kept").touch()
        monkeypatch.setattr(book, name, tmp_path / place)
    with closing(sqlite3.connect(tmp_path / ".jupyter_cache" / "global.db")) as database, database:
        database.execute("CREATE TABLE nbcache (hashkey TEXT, data TEXT)")
        rows = [(f"run {i}", "x" * 500) for i in range(200)]
        database.executemany("INSERT INTO nbcache VALUES (?, ?)", rows)
    for key, _ in rows:
        run = tmp_path / ".jupyter_cache" / "executed" / key / "base.ipynb"
        run.parent.mkdir(parents=True)
        run.write_text('{"cells": []}')
    monkeypatch.setattr(book, "LOOK", tmp_path / "look")
    monkeypatch.setattr(book, "look", lambda: "as it is")
    (tmp_path / "look").write_text("as it is")
    return tmp_path


def sound() -> int:
    """A build of pages that finds nothing wrong."""
    return 0


def kept(folder: Path) -> tuple[bool, bool]:
    return tuple((folder / name / "kept").exists() for name in (".doctrees", ".jupyter_cache"))


def test_a_sound_store_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert book.build(sound) == 0
    assert kept(folder) == (True, True)
    assert capsys.readouterr().out == ""


def test_a_half_written_store_is_told_and_made_anew(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = folder / ".jupyter_cache" / "global.db"
    stored.write_bytes(stored.read_bytes()[:-20_000])
    assert book.build(sound) == 0
    assert kept(folder) == (False, False)
    assert capsys.readouterr().out == "the stored runs are damaged; every notebook runs again\n"


@pytest.mark.parametrize("left", [b"", b'{"cells": [', None], ids=["empty", "half", "nothing"])
def test_a_half_written_run_is_told_and_made_anew(
    left: bytes | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = folder / ".jupyter_cache" / "executed" / "run 7" / "base.ipynb"
    run.unlink() if left is None else run.write_bytes(left)
    assert book.build(sound) == 0
    assert kept(folder) == (False, False)
    assert capsys.readouterr().out == "the stored runs are damaged; every notebook runs again\n"


def test_after_a_killed_build_the_pages_are_read_anew(folder: Path) -> None:
    def killed() -> int:
        raise KeyboardInterrupt("Ctrl+C")

    with pytest.raises(KeyboardInterrupt, match="Ctrl"):
        book.build(killed)
    assert kept(folder) == (True, True)
    assert book.build(sound) == 0
    assert kept(folder) == (False, True)


def test_a_folder_that_cannot_be_written_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(book, "BUILD", tmp_path / "file" / "_build")
    monkeypatch.setattr(book, "loaded", lambda command: None)
    monkeypatch.setattr(sys, "argv", ["book.py"])
    assert book.main() == 1
    told = capsys.readouterr().err
    assert told.startswith("the book was not built: [Errno 20] Not a directory: ")
    assert told.count("\n") == 1


def test_a_kernel_that_dies_is_told_with_its_notebook_and_cell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = (
        "import sys; sys.stdin.readline()\n"
        "print('/b/one.ipynb: Executing notebook using local CWD [mystnb]')\n"
        "print('\\x1b[31m/b/two.ipynb: Executing notebook using local CWD [mystnb]\\x1b[0m')\n"
        "print('the kernel died in: x = big()')\n"
        "print('nbclient.exceptions.DeadKernelError: Kernel died')\n"
        "print('a long traceback'); sys.exit(1)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", said], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert book.run(running) == 1
    *passed, last = capsys.readouterr().out.splitlines()
    assert (len(passed), last.split(":")[0]) == (4, "/b/two.ipynb")
    assert "its kernel died in the cell that begins `x = big()`" in last
    assert "\x1b" not in "".join(passed)
