"""`make lab` in Chromium: a notebook is opened and run, its player steps, and it is read again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import kernels
import lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PATIENT = {"timeout": 90_000}
NAME = "index.ipynb"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """JupyterLab as `make lab` starts it, on a copy of one notebook and with folders of its own."""
    shutil.copy(lab.BOOK / NAME, tmp_path)
    port = kernels.free_port()
    options = [f"--ServerApp.port={port}", "--no-browser"]
    own = {name: str(tmp_path / ".jupyter") for name in lab.FOLDERS} | {"JUPYTER_TOKEN": "token"}
    own |= lab.quiet(os.environ)
    environment = {k: v for k, v in os.environ.items() if k != "ATTNLIB_STATIC"} | own
    running = subprocess.Popen(
        lab.command(options, tmp_path),
        env=environment,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert kernels.answers(port, running)
        yield f"http://127.0.0.1:{port}/lab/tree/{NAME}?token=token"
    finally:
        running.terminate()
        running.communicate(timeout=30)


def choose(page: Page, menu: str, item: str) -> None:
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}$")).click()


def players(page: Page):
    return page.locator(".jp-OutputArea .attn-player .attn-host")


def test_a_notebook_runs_plays_and_is_read_again_without_a_kernel(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(address)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(**PATIENT)
    assert page.get_by_role("alert").count() == 0  # no question about news or updates
    choose(page, "Run", "Run All Cells")
    expect(players(page).first).to_be_visible(**PATIENT)
    caption = page.locator(".attn-host .caption").first
    told = caption.text_content()
    page.get_by_role("button", name=re.compile("^Next")).first.click()
    expect(caption).not_to_have_text(told)
    assert page.locator(".jp-OutputArea [data-mime-type*='stderr']").count() == 0
    page.keyboard.press("Control+S")
    choose(page, "Kernel", "Shut Down Kernel")
    page.close()

    page = context.new_page()
    page.goto(address + "&reset")
    expect(page.locator(".jp-OutputArea .attn-player").first).to_be_visible(**PATIENT)
    expect(page.locator(".attn-player table, .attn-host").first).to_be_visible()
    context.close()
