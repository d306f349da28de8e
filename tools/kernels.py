"""A Jupyter server that runs the cells of the book's pages: this machine, one origin, a token.

`tools/serve.py` starts it beside the pages. The token stands in the address that is printed and
nowhere else.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from environment import ROOT

HOST = "127.0.0.1"
START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return taken.getsockname()[1]


def command(port: int, origin: str) -> list[str]:
    """Start a Jupyter server that listens to one page's origin and does nothing but run kernels."""
    settings = {
        "ServerApp.ip": HOST,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.allow_origin": origin,
        "ServerApp.root_dir": ROOT,
        "ServerApp.open_browser": False,
        "ServerApp.terminals_enabled": False,
        "ServerApp.log_level": "ERROR",
        # A kernel whose page is gone ends by itself.
        "MappingKernelManager.cull_idle_timeout": 900,
    }
    words = [f"--{name}={value}" for name, value in settings.items()]
    words += ["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []
    return [sys.executable, "-m", "jupyter_server", *words]


@contextmanager
def kernels(origin: str) -> Iterator[str | None]:
    """Run a Jupyter server for the pages of an origin; gives `port/token`, or None where it fails.

    Its settings and its traces lie in a folder of its own: a person's Jupyter stays as it is, and a
    home that is missing or closed does no harm.
    """
    token, port = secrets.token_urlsafe(24), free_port()
    with TemporaryDirectory(prefix="attention-book-") as place:
        own = {f"JUPYTER_{name}_DIR": place for name in ("CONFIG", "DATA", "RUNTIME")}
        # In the environment, since anybody on this machine can read a command line.
        environment = os.environ | own | {"JUPYTER_TOKEN": token, "IPYTHONDIR": place}
        running = subprocess.Popen(
            command(port, origin),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl+C reaches this process, which ends that one
        )
        try:
            yield f"{port}/{token}" if answers(port, running) else None
        finally:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def answers(port: int, running: subprocess.Popen[str]) -> bool:
    """Wait until the server answers; say in one line why it does not."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and running.poll() is None:
        try:
            with urlopen(f"http://{HOST}:{port}/api", timeout=5):
                return True
        except URLError:
            time.sleep(0.1)
    assert running.stderr is not None
    said = running.stderr.read().strip().splitlines() if running.poll() is not None else []
    reason = said[-1] if said else f"no answer for {START_SECONDS} s"
    print(f"cells cannot be run in the pages: {reason}", file=sys.stderr, flush=True)
    return False
