"""Firefox, driven over WebDriver BiDi, which it speaks by itself: no driver beside it is needed."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websocket import WebSocket, WebSocketTimeoutException, create_connection

NAMES = ("firefox", "firefox-esr")
PREFERENCES = """\
user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("remote.active-protocols", 1);
user_pref("ui.prefersReducedMotion", 1);
"""
STARTS_WITHIN = 60


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One window. `said` is all that its pages wrote to the console, threw, or were refused."""

    def __init__(self, wire: WebSocket) -> None:
        self.wire, self.numbers, self.said = wire, itertools.count(1), list[str]()
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.window = self.ask("browsingContext.create", type="tab")["context"]

    def ask(self, method: str, **params: Any) -> Any:
        number = next(self.numbers)
        self.wire.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.wire.recv())
            if message.get("method") == "log.entryAdded":
                self.said.append(str(message["params"]["text"]))
            if message.get("id") == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                return message["result"]

    def open(self, url: str) -> None:
        self.said.clear()
        self.ask("browsingContext.navigate", context=self.window, url=url, wait="complete")

    def resize(self, width: int) -> None:
        viewport = {"width": width, "height": 900}
        self.ask("browsingContext.setViewport", context=self.window, viewport=viewport)

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript; what it gives comes back by way of JSON."""
        wrapped = f"(async () => JSON.stringify(await ({expression})))()"
        target = {"context": self.window}
        given = {"expression": wrapped, "target": target, "awaitPromise": True}
        answer = self.ask("script.evaluate", **given)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)


@contextmanager
def running(path: str, folder: Path) -> Iterator[Firefox]:
    """Start Firefox with a profile of its own in `folder`, on a port that it picks itself."""
    (folder / "user.js").write_text(PREFERENCES)
    command = (path, "--headless", "--no-remote", "--profile", str(folder))
    process = subprocess.Popen(
        (*command, "--remote-debugging-port", "0"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        place = folder / "WebDriverBiDiServer.json"
        until = time.monotonic() + STARTS_WITHIN
        while not place.exists() or not place.read_text().strip():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("Firefox did not start")
            time.sleep(0.1)
        server = json.loads(place.read_text())
        address = f"ws://{server['ws_host']}:{server['ws_port']}/session"
        wire = create_connection(address, timeout=60, suppress_origin=True)
        yield Firefox(wire)
        with suppress(OSError, WebSocketTimeoutException):
            wire.close()
    finally:
        process.terminate()
        process.wait(timeout=30)
