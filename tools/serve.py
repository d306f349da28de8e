"""Show the built pages on this machine, build them again when a file changes, and run their cells.

    .venv/bin/python tools/serve.py [--once]      127.0.0.1 only, at port 8000 or a free one

The pages' cells run in a Jupyter server of their own, `tools/kernels.py`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import TextIOWrapper
from pathlib import Path
from threading import Thread

from environment import ROOT
from kernels import HOST, kernels

HTML = ROOT / "_build" / "html"
PORT = 8000
WATCHED = ("book", "attnlib", "native", "_config.yml", "_toc.yml")
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
PAUSE = 0.5


class Quiet(SimpleHTTPRequestHandler):
    """No line for each request; nothing stored by the browser, which would show the old build."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


class Server(ThreadingHTTPServer):
    # A port that was just left is free; only Windows would share one that another server holds.
    allow_reuse_address = os.name == "posix"
    daemon_threads = True


def server(folder: Path = HTML, port: int = PORT) -> Server:
    handler = partial(Quiet, directory=str(folder))
    try:
        return Server((HOST, port), handler)
    except OSError:
        free = Server((HOST, 0), handler)
        print(f"port {port} is taken; taking {free.server_port}", flush=True)
        return free


# --- changes -----------------------------------------------------------------------------------


def state() -> dict[str, tuple[int, int]]:
    """The time and size of every file that the pages are made of."""
    found = {}
    for name in WATCHED:
        top = ROOT / name
        for path in [top, *top.rglob("*")] if top.exists() else []:
            try:
                if path.is_file() and not IGNORED & set(path.parts):
                    seen = path.stat()
                    found[str(path)] = (seen.st_mtime_ns, seen.st_size)
            except OSError:
                continue  # an editor has just put another file in its place
    return found


def builder() -> subprocess.Popen[str]:
    """A build that has loaded all it needs and waits to be told; it ends when this process does."""
    return subprocess.Popen(
        [sys.executable, "tools/book.py", "--when-told"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def rebuild_on_change() -> None:
    """Build the book whenever a file has changed and then stayed as it is for a moment."""
    built, waiting = state(), builder()
    while True:
        time.sleep(PAUSE)
        now = state()
        if now == built:
            continue
        time.sleep(PAUSE)
        if state() != now:
            continue  # still being written
        changed = {path for path in now.keys() | built.keys() if now.get(path) != built.get(path)}
        names = sorted(str(Path(path).relative_to(ROOT)) for path in changed)
        print(f"changed: {', '.join(names[:3])}{' ...' if names[3:] else ''}; building", flush=True)
        start, built = time.monotonic(), now
        said, _ = waiting.communicate("\n")
        if waiting.returncode:
            print(said, end="", flush=True)
            print("not built: see above; the pages are the last that were", flush=True)
        else:
            print(f"built in {time.monotonic() - start:.0f} s; reload the page", flush=True)
        waiting = builder()


def endure() -> None:
    """Print a letter that the terminal lacks, as in a file's name, by its number; end on none."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def main() -> int:
    endure()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--once", action="store_true", help="neither rebuild nor run cells")
    only_show = parser.parse_args().once
    if not (HTML / "index.html").exists():
        print("nothing is built yet: make book", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        origin = f"http://{HOST}:{running.server_port}"
        try:
            if only_show:
                print(f"the book: {origin}/index.html   (Ctrl+C ends it)", flush=True)
                signal.pause()
            with kernels(origin) as live:
                page = f"{origin}/book/index.html" + (f"#live={live}" if live else "")
                print(f"the book: {page}   (Ctrl+C ends it)", flush=True)
                print("cells run in the page: menu Run. A change of a file is built.", flush=True)
                rebuild_on_change()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
