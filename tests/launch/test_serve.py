"""`make serve` and `make lab`: a taken port, no home, no book, a changed file; one line each."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import kernels
import lab
import serve

ROOT = serve.ROOT
BUILDER = """\
import pathlib, sys
if not sys.stdin.readline():
    sys.exit()
page = pathlib.Path("book/page.md").read_text()
if "wrong" in page:
    sys.exit("page.md:1: a warning")
pathlib.Path("_build/html/index.html").write_text(page)
"""


@pytest.fixture(scope="module")
def jupyter() -> Iterator[str]:
    with kernels.kernels("http://127.0.0.1:8000") as live:
        assert live, "the Jupyter server did not start"
        yield live


def ask(port: str, path: str, **headers: str) -> tuple[int, str | None]:
    """The status of an answer, and which origin may read it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}/{path}", headers=named)) as answer:
            return answer.status, answer.headers["Access-Control-Allow-Origin"]
    except HTTPError as refused:
        return refused.code, refused.headers["Access-Control-Allow-Origin"]


def test_only_one_origin_with_the_token_is_heard(jupyter: str) -> None:
    port, token = jupyter.split("/")
    right, own = {"Authorization": f"token {token}"}, "http://127.0.0.1:8000"
    assert ask(port, "api/kernels", **right, Origin=own) == (200, own)
    assert ask(port, "api/kernels", Origin=own)[0] == 403
    for other in ("http://localhost:8000", "http://127.0.0.1:8001", "null"):
        assert ask(port, "api/kernels", **right, Origin=other)[1] in (None, own)
    assert token not in " ".join(kernels.command(int(port), own))


def test_it_listens_to_this_machine_only(jupyter: str) -> None:
    port = int(jupyter.split("/")[0])
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", port))


def test_a_server_that_does_not_start_is_told_in_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = [sys.executable, "-c", "import sys; sys.exit('no Jupyter here')"]
    monkeypatch.setattr(kernels, "command", lambda port, origin: dies)
    with kernels.kernels("http://127.0.0.1:8000") as live:
        assert live is None
    assert capfd.readouterr().err == "cells cannot be run in the pages: no Jupyter here\n"


def test_a_taken_port_is_told_and_another_is_taken(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with serve.server(tmp_path, port) as running:
            assert running.server_port not in (port, 0)
            assert capfd.readouterr().out == f"port {port} is taken; taking {running.server_port}\n"


def test_a_port_that_was_just_left_is_free_again(tmp_path: Path) -> None:
    with serve.server(tmp_path, 0) as first:
        port = first.server_port
        with socket.create_connection(("127.0.0.1", port)) as reader:
            connection, _ = first.get_request()
            connection.shutdown(socket.SHUT_RDWR)  # the side that ends first holds the port a while
            connection.close()
            assert reader.recv(1) == b""
    with serve.server(tmp_path, port) as again:
        assert again.server_port == port


def test_without_a_built_book_it_says_how_to_build_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "HTML", tmp_path)
    monkeypatch.setattr(sys, "argv", ["serve.py"])
    assert serve.main() == 1
    assert capsys.readouterr().err == "nothing is built yet: make book\n"


@contextmanager
def serving(tmp_path: Path, **words: str) -> Iterator[Iterator[str]]:
    """`make serve` in a small tree, with these words in its environment; gives its lines.

    What `tools/book.py` itself costs is not what is asked here.
    """
    for name in ("serve.py", "kernels.py", "environment.py"):
        (tmp_path / "tools").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    (tmp_path / "tools" / "book.py").write_text(BUILDER)
    page, built = tmp_path / "book" / "page.md", tmp_path / "_build" / "html" / "index.html"
    for path in (page, built):
        path.parent.mkdir(parents=True)
        path.write_text("first")
    running = subprocess.Popen(
        [sys.executable, "tools/serve.py"],
        cwd=tmp_path,
        env=os.environ | words,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    try:
        lines = iter(running.stdout.readline, "")
        assert next(line for line in lines if "#live=" in line).startswith("the book: http://127.")
        next(lines)
        time.sleep(1)
        yield lines
    finally:
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0


def test_a_change_is_built_and_a_fault_leaves_the_last_pages(tmp_path: Path) -> None:
    page, built = tmp_path / "book" / "page.md", tmp_path / "_build" / "html" / "index.html"
    with serving(tmp_path) as lines:
        page.write_text("wrong")
        assert next(lines) == "changed: book/page.md; building\n"
        assert next(lines) == "page.md:1: a warning\n"
        assert next(lines) == "not built: see above; the pages are the last that were\n"
        assert built.read_text() == "first"
        page.write_text("second")
        assert next(lines) == "changed: book/page.md; building\n"
        assert next(lines).startswith("built in")
        assert built.read_text() == "second"


def test_names_that_the_terminal_cannot_write_end_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, PYTHONIOENCODING="ascii") as lines:
        for name in ("größe.md", "one.md", "three.md", "two.md"):
            (tmp_path / "book" / name).touch()
        first = r"book/gr\xf6\xdfe.md, book/one.md, book/three.md"
        assert next(lines) == f"changed: {first} ...; building\n"
        assert next(lines).startswith("built in")


def test_lab_without_a_home_has_folders_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.elsewhere({"HOME": str(tmp_path)}) == {}
    (tmp_path / "file").touch()
    for home in (tmp_path / "gone", tmp_path / "file"):
        given = lab.elsewhere({"HOME": str(home), "IPYTHONDIR": "mine"})
        assert set(given) == {"JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"}
        assert all(os.access(folder, os.W_OK) for folder in given.values())
        said = capsys.readouterr().err
        assert said.startswith(f"the home folder {home} cannot be written; settings go to ")
        assert said.count("\n") == 1
