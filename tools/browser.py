"""Find the Chromium that opens the built pages, or get one.

python tools/browser.py      print its path, installing it first where nothing is found
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WHAT_TO_DO = (
    "no Chromium: install one (Debian: apt install chromium), or say where it is: CHROMIUM=/path"
)


def find() -> str | None:
    """Chromium as named in CHROMIUM, on the PATH, or in Playwright's own folder."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    for name in ON_PATH:
        if path := shutil.which(name):
            return path
    return _playwrights()


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> str | None:
    """Try Debian's package (as root), then Playwright's download; return the path or None."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        _try("apt-get", "update")
        _try("apt-get", "install", "-y", "chromium")
    if find() is None:
        _try(sys.executable, "-m", "playwright", "install", "chromium")
    return find()


def _try(*command: str) -> None:
    print("getting a browser:", *command, file=sys.stderr, flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=environment, stdout=sys.stderr, stdin=subprocess.DEVNULL)


def main() -> int:
    path = find() or install()
    if path is None:
        print(WHAT_TO_DO, file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
