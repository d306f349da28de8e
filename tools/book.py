"""Run the book's notebooks and build its pages into `_build/html`.

    .venv/bin/python tools/book.py
    .venv/bin/python tools/book.py --links      ask every address that they link to; builds no pages
    .venv/bin/python tools/book.py --when-told  load all that a build needs, wait for a line, build

Jupyter Book stores the runs and repeats only what changed; book/_ext/execution.py drops them when
the library has changed. Sphinx for its part does not see that the extensions have: then the pages
are read anew, from the stored runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from environment import ROOT, lock
from notebooks import RUN_ENV

BUILD = ROOT / "_build"
HTML = BUILD / "html"
PAGES_READ = BUILD / ".doctrees"
RUNS = BUILD / ".jupyter_cache"
LOOK = BUILD / "look.sha256"
NOISE = "Kernel is running over TCP without encryption"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
RUNNING = re.compile(r"(\S.*\.ipynb): Executing notebook")
DIED = re.compile(r"the kernel died in: (.*)")
FIRST = "running the notebooks and building the pages; the first time takes minutes"
COMMAND = ("build", ".", "-W", "-n", "--keep-going")
# Sphinx's own check, in a folder of its own; it asks other hosts: for a person or a schedule.
LINKS = ("build", ".", "--builder", "linkcheck", "--keep-going")
# Loading takes longer than building one page. What may change meanwhile, our own, is not among it.
LOADED = """\
import sys
import matplotlib.pyplot, myst_nb.sphinx_ext, sphinx_book_theme, torch
from jupyter_book import sphinx
from jupyter_book.cli.main import main
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
execute = NotebookClient.async_execute_cell
async def telling(self, cell, *given, **named):
    try:
        return await execute(self, cell, *given, **named)
    except DeadKernelError:
        print("the kernel died in:", *cell.source.strip().splitlines()[:1], flush=True)
        raise
NotebookClient.async_execute_cell = telling
if sys.stdin.readline():
    main()
"""


def look() -> str:
    """One number for everything that decides how a page looks, its text left aside."""
    folders = ("book/_ext", "book/_templates", "book/assets")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    total = hashlib.sha256()
    for path in sorted([*files, *ROOT.glob("_*.yml"), ROOT / "requirements.txt"]):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def build(jupyter_book: Callable[[], int]) -> int:
    """Build the pages, after dropping what an earlier build left that would mislead this one."""
    now = look()
    if not LOOK.exists() or LOOK.read_text() != now:
        shutil.rmtree(PAGES_READ, ignore_errors=True)
    drop_damaged_runs()
    LOOK.unlink(missing_ok=True)  # a build that is killed leaves none, and half a page is read anew
    code = jupyter_book()
    if code:
        # A page that was read with a warning would pass in silence the next time.
        shutil.rmtree(PAGES_READ, ignore_errors=True)
    LOOK.write_text(now)
    return code


def drop_damaged_runs() -> None:
    """Forget the stored runs where one, or their list, was half written; they are made again."""
    if (RUNS / "global.db").exists() and not sound_runs():
        print("the stored runs are damaged; every notebook runs again", flush=True)
        shutil.rmtree(RUNS)
        shutil.rmtree(PAGES_READ, ignore_errors=True)


def sound_runs() -> bool:
    """Whether the list of the stored runs, and every run on it, can be read."""
    try:
        with closing(sqlite3.connect(RUNS / "global.db")) as database:
            if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return False
            listed = database.execute("SELECT hashkey FROM nbcache").fetchall()
        for (key,) in listed:
            json.loads((RUNS / "executed" / key / "base.ipynb").read_bytes())
    except (sqlite3.DatabaseError, OSError, ValueError):
        return False
    return True


def loaded(command: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start Jupyter Book, which loads what it needs and then waits."""
    environment = os.environ | RUN_ENV | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", LOADED, *command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def run(jupyter_book: subprocess.Popen[str]) -> int:
    """Let it build, passing on all that it says but what every kernel says of its socket."""
    assert jupyter_book.stdin is not None
    assert jupyter_book.stdout is not None
    print(file=jupyter_book.stdin, flush=True)
    notebook, died = "", None
    for coloured in jupyter_book.stdout:
        line = COLOUR.sub("", coloured)  # whatever NO_COLOR says
        died = died or DIED.match(line)
        if NOISE not in line and not DIED.match(line):
            print(line, end="", flush=True)
        if found := RUNNING.match(line):
            notebook = found[1]
    if died:
        print(f"{notebook}: its kernel died in the cell that begins `{died[1]}`,", end=" ")
        print("often for want of memory; what ran before it is kept")
    return jupyter_book.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--links", action="store_true", help="ask every address; build no pages")
    parser.add_argument("--when-told", action="store_true", help="wait for a line before building")
    given = parser.parse_args()
    waiting = loaded(LINKS if given.links else COMMAND)
    if given.when_told and not sys.stdin.readline():
        waiting.communicate()  # nobody will tell; it ends by itself
        return 0
    start = time.monotonic()
    try:
        BUILD.mkdir(exist_ok=True)
        with lock(BUILD, "building the book"):
            if not (given.links or LOOK.exists()):
                print(FIRST, flush=True)
            code = run(waiting) if given.links else build(partial(run, waiting))
    except OSError as error:  # a folder that cannot be written, a full disk
        print(f"the book was not built: {error}", file=sys.stderr)
        return 1
    if given.links:
        print("a link leads nowhere: see above" if code else "every link leads somewhere")
        return code
    if code:
        print("the book was not built: see above", file=sys.stderr)
        return code
    page = HTML / "index.html"
    print(f"pages built in {time.monotonic() - start:.0f} s; open them: {page.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
