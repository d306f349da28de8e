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


def words(options: list[str]) -> list[str]:
    """Give JupyterLab our few options, but for those that a person's own stand in for."""
    ours = [f"--ServerApp.ip={HOST}", f"--ServerApp.root_dir={BOOK}"]
    # A container's only user is root, which Jupyter refuses where others could reach it.
    ours += ["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []
    named = {option.partition("=")[0] for option in options}
    return [option for option in ours if option.partition("=")[0] not in named] + options


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


def main() -> None:
    os.environ.update(quiet(os.environ) | elsewhere(os.environ))
    if not os.access(BOOK, os.W_OK):
        print(f"{BOOK} cannot be written: cells run, but nothing is saved", file=sys.stderr)
    # Where its folders are is asked when it is imported.
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(words(sys.argv[1:]))
    # All is closed and said. A thread that waits for more files to read would keep the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
