"""Open the notebooks in JupyterLab: on this machine only, at a free port, with a token.

.venv/bin/python tools/lab.py [JUPYTERLAB'S OWN OPTIONS]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from environment import ROOT
from kernels import HOST

BOOK = ROOT / "book"
# No question about news before the first cell, and nothing asked of another host.
QUIET = ROOT / "tools" / "jupyter"
FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def command(options: list[str], folder: Path = BOOK) -> list[str]:
    """JupyterLab on a folder, with a person's own options behind ours."""
    words = [sys.executable, "-m", "jupyterlab", f"--ServerApp.ip={HOST}"]
    words.append(f"--ServerApp.root_dir={folder}")
    # A container's only user is root, which Jupyter refuses where others could reach it.
    words += ["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []
    return [*words, *options]


def quiet(environ: Mapping[str, str]) -> dict[str, str]:
    """Put the book's few settings for JupyterLab in front of a person's own."""
    paths = [str(QUIET), environ.get("JUPYTER_CONFIG_PATH", "")]
    return {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}


def elsewhere(environ: Mapping[str, str]) -> dict[str, str]:
    """Give Jupyter folders to write to where there is no home, or one that is closed."""
    home = Path(environ.get("HOME") or "~").expanduser()
    if home.is_dir() and os.access(home, os.W_OK):
        return {}
    folder = mkdtemp(prefix="attention-book-")
    print(f"the home folder {home} cannot be written; settings go to {folder}", file=sys.stderr)
    return {name: folder for name in FOLDERS if name not in environ}


def main() -> int:
    environment = os.environ | quiet(os.environ) | elsewhere(os.environ)
    if not os.access(BOOK, os.W_OK):
        print(f"{BOOK} cannot be written: cells run, but nothing is saved", file=sys.stderr)
    words = command(sys.argv[1:])
    os.execve(words[0], words, environment)


if __name__ == "__main__":
    sys.exit(main())
