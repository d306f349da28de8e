"""Open the notebooks in JupyterLab: on this machine only, at a free port, with a token.

.venv/bin/python tools/lab.py [JUPYTERLAB'S OWN OPTIONS]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import zmq

from environment import ROOT
from kernels import HOST

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

BOOK = ROOT / "book"
# No question about news before the first cell, and nothing asked of another host. All cells are
# laid out at once: if that waits until they come into sight, links to sections land beside them.
QUIET = ROOT / "tools" / "jupyter"
FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def words(options: list[str]) -> list[str]:
    """Give JupyterLab our few options, but for those that a person's own stand in for."""
    ours = [f"--ServerApp.ip={HOST}", f"--ServerApp.root_dir={BOOK}"]
    # A container's only user is root, which Jupyter refuses where others could reach it.
    ours += ["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []
    # What a kernel hears and says on this machine is encrypted; without, each new one warns of it.
    ours += ["--KernelManager.transport_encryption=auto"] if zmq.has("curve") else []
    named = {option.partition("=")[0] for option in options}
    # What goes wrong is shown; of the rest, `said_in_one_line` tells what a person needs.
    if not named & {"--debug", "--log-level"}:
        ours += ["--log-level=ERROR", "--LabApp.log_level=ERROR"]
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


def said_in_one_line() -> type[ServerApp]:
    """Make a server that prints its address, token included, where others log twenty lines."""
    # Where its folders are is asked when it is imported.
    from jupyter_server.serverapp import ServerApp

    class Server(ServerApp):
        def init_httpserver(self) -> None:
            asked = self.port
            super().init_httpserver()
            if asked and self.port != asked:
                print(f"port {asked} is taken; taking {self.port}", flush=True)

        def write_server_info_file(self) -> None:
            super().write_server_info_file()
            address = self.display_url.split()[0]  # shows the token only if nobody has chosen it
            line = f"JupyterLab: {address}   (Ctrl+C, and y, ends it)"
            self.identity_provider.token_generated = False  # told below, so not once more
            self.io_loop.add_callback(print, line, flush=True)  # once it listens, not before

    return Server


def main() -> None:
    os.environ.update(quiet(os.environ) | elsewhere(os.environ))
    if not os.access(BOOK, os.W_OK):
        print(f"{BOOK} cannot be written: cells run, but nothing is saved", file=sys.stderr)
    from jupyterlab.labapp import LabApp

    LabApp.serverapp_class = said_in_one_line()
    LabApp.launch_instance(words(sys.argv[1:]))
    # All is closed and said. A thread that waits for more files to read would keep the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
