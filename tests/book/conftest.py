"""The built book, as a folder and on a local address. The tests read what `make book` has made."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("BOOK_SITE", ROOT / "_build" / "html"))


def chapters() -> list[str]:
    """Every page of the table of contents, so that a page which was not built is missed."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [f"{name}.html" for name in [toc["root"], *files]]


PAGES = [*chapters(), "search.html", "404.html"]


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.fail(f"there is no built book in {SITE}: run `make book` first")
    return SITE


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The tests have an output of their own."""


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    """The site over HTTP, on this machine only."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture(params=["http", "file"])
def address(request: pytest.FixtureRequest, site: Path, server: str) -> str:
    """Where the pages stand: a web server, or a folder that somebody was handed."""
    return server if request.param == "http" else site.as_uri()
