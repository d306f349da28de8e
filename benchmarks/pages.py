"""What a reader waits for: a chapter of the book beside a stock page of the same notebook.

    .venv/bin/python benchmarks/pages.py [--quick] [--store]

Both come from this machine over a slowed line (1.6 Mbit/s, 150 ms) into a browser on a processor
slowed four times, nothing stored, in turns. The book must be built (`make book`); the stock page is
built here. It holds the same notebook, with a table where the book has a player.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mimetypes
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from machine import describe
from stock import build

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from browser import WHAT_TO_DO, find  # noqa: E402

CHAPTER = "06-one-head-complete"
STORED = Path(__file__).with_suffix(".json")
SLOWER = 4
LINE = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
QUIET_MS = 2000
# Filled before the page's own scripts run, read when all is quiet.
OBSERVE = """
window.seen = { paint: 0, shift: 0, blocked: 0 };
const on = (type, take) =>
  new PerformanceObserver(seen => seen.getEntries().forEach(take)).observe({ type, buffered: 1 });
on("largest-contentful-paint", entry => { seen.paint = entry.startTime; });
on("layout-shift", entry => { if (!entry.hadRecentInput) seen.shift += entry.value; });
on("longtask", entry => { seen.blocked += Math.max(0, entry.duration - 50); });
"""
ROWS = {
    "paint": ("largest paint, s", 1000),
    "blocked": ("blocked, s", 1000),
    "shift": ("layout shift", 1),
    "bytes": ("loaded, KB", 1024),
    "requests": ("requests", 1),
}


class Packed(BaseHTTPRequestHandler):
    """Serve a folder as a real host does: text packed."""

    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, *args) -> None:
        self.folder = folder
        super().__init__(*args)

    def do_GET(self) -> None:
        path = (self.folder / self.path.split("?")[0].lstrip("/")).resolve()
        found = path.is_file() and self.folder in path.parents
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        body = path.read_bytes() if found else b""
        packs = found and (kind.startswith("text/") or kind.endswith(("json", "javascript", "xml")))
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        if packs:
            body = gzip.compress(body, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The measurement has an output of its own."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Packed, folder.resolve())) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def load(browser, url: str) -> dict[str, float]:
    """Open `url` in a browser that has never seen it, and wait until all is quiet."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", {"offline": False, **LINE})
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    sizes: list[float] = []
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.add_init_script(OBSERVE)
    page.goto(url, wait_until="load", timeout=120_000)
    loaded = -1
    while loaded != len(sizes):
        loaded = len(sizes)
        page.wait_for_timeout(QUIET_MS)
    seen = page.evaluate("window.seen")
    context.close()
    return seen | {"bytes": sum(sizes), "requests": len(sizes)}


def measure(sites: dict[str, str], rounds: int) -> dict[str, Any]:
    """Load every page once a round, in turns, so that a busy moment hits both; name the browser."""
    from playwright.sync_api import sync_playwright

    taken: dict[str, dict[str, list[float]]] = {name: {row: [] for row in ROWS} for name in sites}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find(),
            chromium_sandbox=False,
            args=["--disable-gpu", "--disable-quic", "--disable-background-networking"],
        )
        for turn in range(rounds):
            for name in list(sites)[:: 1 if turn % 2 else -1]:
                for row, value in load(browser, sites[name]).items():
                    taken[name][row].append(round(value / ROWS[row][1], 3))
        version = browser.version
        browser.close()
    return taken | {"chromium": version}


def report(result: dict) -> None:
    print(f"{'median of ' + str(result['rounds']):<20}{'book':>9}{'stock':>9}{'ratio':>8}")
    for row, (title, _) in ROWS.items():
        book, stock = (statistics.median(result[name][row]) for name in ("book", "stock"))
        ratio = f"{book / stock:>8.2f}" if stock else f"{'':>8}"
        print(f"{title:<20}{book:>9.2f}{stock:>9.2f}{ratio}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three rounds, not nine")
    parser.add_argument("--store", action="store_true", help="keep the result for the book")
    options = parser.parse_args()
    html = ROOT / "_build" / "html"
    if find() is None or not (html / "book" / f"{CHAPTER}.html").exists():
        print(WHAT_TO_DO if find() is None else "nothing is built yet: make book")
        return 1
    scratch = ROOT / "_build" / "bench"
    scratch.mkdir(exist_ok=True)
    try:
        stock = build(ROOT / "book" / f"{CHAPTER}.ipynb", scratch)
    except RuntimeError as reason:
        print(f"left out: {reason}")
        return 0
    with served(html) as ours, served(stock) as theirs:
        sites = {"book": f"{ours}/book/{CHAPTER}.html", "stock": f"{theirs}/{CHAPTER}.html"}
        rounds = 3 if options.quick else 9
        result = {"chapter": CHAPTER, "rounds": rounds, "machine": describe()}
        result["titles"] = {row: title for row, (title, _) in ROWS.items()}
        result |= measure(sites, rounds)
    report(result)
    if options.store:
        STORED.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
