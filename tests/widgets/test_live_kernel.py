"""Sliders in a real kernel: what a page sends when one is moved, and the run that comes back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest
from jupyter_client.manager import start_new_kernel

from notebooks import RUN_ENV

pytestmark = pytest.mark.timeout(180)

CELL = """
import attnlib
from attnlib.widgets import live
view = live(attnlib.SingleHeadAttention, batch=2, S=(2, 9, 3), n_embd=[6, 10], head_size=4)
view
"""


class Page:
    """What a page is to a kernel: it runs cells, keeps the widgets' models, moves sliders."""

    def __init__(self, client):
        self.client, self.models = client, {}

    def run(self, code: str) -> str:
        return self.hear(self.client.execute(code))

    def move(self, description: str, **state) -> None:
        """Set a control as a reader does: a comm message with what changed."""
        model = next(n for n, one in self.models.items() if one.get("description") == description)
        data = {"method": "update", "state": state, "buffer_paths": []}
        message = self.client.session.msg("comm_msg", {"comm_id": model, "data": data})
        self.client.shell_channel.send(message)
        self.hear(message["header"]["msg_id"])

    def hear(self, request: str) -> str:
        """Take what the kernel says of a request until it is idle; return what was printed."""
        printed = ""
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            kind, content = message["msg_type"], message["content"]
            if kind == "error":
                raise AssertionError("\n".join(content["traceback"]))
            if kind == "stream":
                printed += content["text"]
            if kind in ("comm_open", "comm_msg"):
                self.models.setdefault(content["comm_id"], {}).update(content["data"]["state"])
            mine = message["parent_header"].get("msg_id") == request
            if mine and kind == "status" and content["execution_state"] == "idle":
                return printed

    def trace(self) -> dict:
        """Read the trace that stands in the output under the sliders."""
        (outputs,) = [one["outputs"] for one in self.models.values() if one.get("outputs")]
        html = outputs[0]["data"]["text/html"]
        return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


@pytest.fixture
def page() -> Iterator[Page]:
    manager, client = start_new_kernel(env=os.environ | RUN_ENV)
    yield Page(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_slider_moved_in_a_page_traces_a_new_run_in_its_kernel(page):
    page.run(CELL)
    assert page.trace()["sizes"] == {"batch": 2, "S": 3, "n_embd": 6, "H": 4}
    page.move("S", value=7)
    trace = page.trace()
    assert trace["sizes"] == {"batch": 2, "S": 7, "n_embd": 6, "H": 4}
    shapes = {step["variable"]: step["output"]["shape"] for step in trace["steps"]}
    assert (shapes["scores"], shapes["output"]) == ([2, 7, 7], [2, 7, 4])
    page.move("n_embd", index=1)
    assert page.trace()["sizes"] == {"batch": 2, "S": 7, "n_embd": 10, "H": 4}
    code = "print([tuple(view.trace.steps[n].output.shape) for n in (0, -1)])"
    assert page.run(code) == "[(2, 7, 10), (2, 7, 4)]\n", "the kernel's own trace is the same run"
