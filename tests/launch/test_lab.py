"""`make lab` in Chromium: a chapter is run, its player steps, it is saved; links lead on."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from headings import slug
from playwright.sync_api import Browser, Locator, Page, expect

import kernels
import lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PATIENT = {"timeout": 90_000}
NAME = "index.ipynb"
NO_KERNEL = (
    "--KernelSpecManager.ensure_native_kernel=False",
    "--KernelSpecManager.allowed_kernelspecs=none",
)


@contextmanager
def jupyterlab(folder: Path, *options: str) -> Iterator[str]:
    """JupyterLab as `make lab` starts it, on a folder of notebooks; gives its address."""
    port = kernels.free_port()
    options = (*options, f"--ServerApp.root_dir={folder}", f"--ServerApp.port={port}")
    environment = {k: v for k, v in os.environ.items() if k != "ATTNLIB_STATIC"}
    own = {name: str(folder.with_name("settings")) for name in lab.FOLDERS}
    running = subprocess.Popen(
        [sys.executable, "tools/lab.py", "--no-browser", "--log-level=ERROR", *options],
        cwd=lab.ROOT,
        env=environment | own | {"JUPYTER_TOKEN": "token"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background have it ignored, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert kernels.answers(port, running)
        yield f"http://{kernels.HOST}:{port}/lab"
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0
        assert "without encryption" not in running.stderr.read()
    finally:
        running.kill()
        running.communicate()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()


def unrun(folder: Path) -> Path:
    """Copy the chapter without its outputs: what is seen later was made in this run."""
    notebook = json.loads((lab.BOOK / NAME).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    folder.mkdir()
    (folder / NAME).write_text(json.dumps(notebook), encoding="utf-8")
    return folder / NAME


def code_cells(file: Path) -> list[dict]:
    """The cells of a notebook that hold code, as the file has them."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def choose(page: Page, menu: str, item: str) -> None:
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}$")).click()


def outputs(page: Page) -> Locator:
    """What the cells of the notebook in front show."""
    return page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea-output")


def steps_forward(page: Page) -> None:
    """Press the first player's own button, and see its caption change."""
    player = outputs(page).locator(".attn-player").first
    player.scroll_into_view_if_needed(**PATIENT)
    caption = player.locator(".caption")
    told = caption.text_content(**PATIENT)
    player.get_by_role("button", name=re.compile("^Next")).first.click()
    expect(caption).not_to_have_text(told)


def read_only(page: Page, address: str, name: str) -> None:
    """Open a notebook alone, where there is no kernel for it."""
    page.goto(f"{address}/tree/{name}?reset&token=token")
    page.get_by_role("dialog").get_by_role("button", name="No Kernel").click(**PATIENT)


def save(page: Page) -> None:
    choose(page, "File", "Save Notebook")
    expect(page.locator(".lm-DockPanel-tabBar .jp-mod-dirty")).to_have_count(0, **PATIENT)


def section(page: Page, name: str) -> Locator:
    """A heading of the notebook in front."""
    front = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    return front.locator(f'[data-jupyter-id="{name}"]')


def follow(page: Page, name: str, notebook: str = "#") -> None:
    """Click a link to a section; what stands between the two is JupyterLab's."""
    front = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    link = front.locator(f'a[href*="{notebook}"][href$="#{name}"]:not(.jp-InternalAnchorLink)')
    link.first.click(**PATIENT)


def open_by_link(page: Page, name: str, notebook: str) -> None:
    """Follow a link to a notebook that is not open, and come back.

    JupyterLab looks for the section before it has drawn the cells: what it shows is the top.
    """
    here = page.locator(".lm-DockPanel-tabBar .lm-mod-current")
    label = here.inner_text()
    follow(page, name, notebook)
    page.get_by_role("dialog").get_by_role("button", name="No Kernel").click(**PATIENT)
    expect(section(page, name)).to_be_attached(**PATIENT)
    page.get_by_role("tab", name=label).click()


@pytest.mark.parametrize("options", [[], ["--log-level=INFO"], ["--debug"]], ids=str)
def test_a_person_s_own_options_stand_in_for_ours(options: list[str]) -> None:
    ours = [word for word in lab.words(options) if "log" in word or "debug" in word]
    assert ours == (options or ["--log-level=ERROR", "--LabApp.log_level=ERROR"])


def opened_by(folder: Path) -> tuple[str, Path]:
    """The command of a browser that only notes the address it was told to open, and the note."""
    note, browser = folder / "opened", folder / "browser.py"
    browser.write_text(
        f"import pathlib, sys\npathlib.Path({str(note)!r}).write_text(sys.argv[1])\n"
    )
    return f"{sys.executable} {browser} %s", note


def test_it_says_in_one_line_where_it_is_and_opens_a_browser_there(tmp_path: Path) -> None:
    command, note = opened_by(tmp_path)
    own = {name: str(tmp_path / "settings") for name in lab.FOLDERS} | {"BROWSER": command}
    with socket.create_server((kernels.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        running = subprocess.Popen(
            [sys.executable, "tools/lab.py", f"--ServerApp.port={port}"],
            cwd=lab.ROOT,
            env={k: v for k, v in os.environ.items() if k != "JUPYTER_TOKEN"} | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            first, second = running.stdout.readline(), running.stdout.readline()
            said = re.fullmatch(rf"port {port} is taken; taking (\d+)\n", first)
            assert said, first
            origin = f"http://{kernels.HOST}:{said[1]}"
            told = re.fullmatch(rf"JupyterLab: ({origin}/lab\?token=\w{{20,}})   \(.*\)\n", second)
            assert told, second
            with urlopen(told[1], timeout=30) as answer:
                assert answer.status == 200
            with pytest.raises(HTTPError, match="403"):
                urlopen(f"{origin}/api/contents", timeout=30)
            end = time.monotonic() + 20
            while not note.exists() and time.monotonic() < end:
                time.sleep(0.1)
            assert note.read_text().startswith("file:///")  # a file that holds the address
            running.send_signal(signal.SIGINT)
            assert running.communicate(timeout=30)[0] == ""
        finally:
            running.kill()
            running.communicate()


def test_what_goes_wrong_is_seen(tmp_path: Path) -> None:
    own = {name: str(tmp_path / "settings") for name in lab.FOLDERS}
    done = subprocess.run(
        [sys.executable, "tools/lab.py", "--no-browser", "--ServerApp.root_dir=/nowhere"],
        cwd=lab.ROOT,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "/nowhere" in done.stderr and "JupyterLab: " not in done.stdout


def test_a_chapter_runs_plays_is_saved_and_is_read_again(page: Page, tmp_path: Path) -> None:
    file = unrun(tmp_path / "book")
    before = (lab.BOOK / NAME).read_bytes()
    with jupyterlab(file.parent) as address:
        assert page.request.get(address.replace("/lab", "/api/contents")).status == 403
        page.goto(f"{address}/tree/{NAME}?token=token")
        # The notebook says *Idle* before it has a kernel; the status bar does when it has one.
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle", **PATIENT)
        choose(page, "Run", "Run All Cells")
        # Cells run in order. A folded one shows no number, so the last one's is waited for.
        last = page.locator(".jp-CodeCell .jp-InputPrompt").last
        expect(last).to_have_text(f"[{len(code_cells(file))}]:", **PATIENT)
        steps_forward(page)
        save(page)
        assert page.locator(".jp-Dialog, .jp-toast-message").count() == 0  # no question, no news
    saved = code_cells(file)
    assert [cell["execution_count"] for cell in saved] == list(range(1, len(saved) + 1))
    kinds = [output["output_type"] for cell in saved for output in cell["outputs"]]
    assert "execute_result" in kinds and "error" not in kinds

    sent = file.with_name("sent.ipynb")  # by somebody else: this Jupyter has not seen it run
    sent.write_text(file.read_text(encoding="utf-8").replace("Four promises", "Promises"))
    with jupyterlab(file.parent, *NO_KERNEL) as address:
        read_only(page, address, NAME)
        steps_forward(page)
        read_only(page, address, sent.name)
        expect(outputs(page).locator("table").first).to_contain_text("q = self.query(x)")
        assert outputs(page).locator(".attn-host").count() == 0
    assert (lab.BOOK / NAME).read_bytes() == before
    assert [url for url in page.asked if f"//{kernels.HOST}:" not in url] == []


def test_links_lead_to_sections(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    here, exercises = "from-symptom-to-page.ipynb", "exercises.ipynb"
    chapter = "07-multi-head.ipynb"
    for name in (here, exercises, chapter):
        (folder / name).write_bytes((lab.BOOK / name).read_bytes())
    with jupyterlab(folder, *NO_KERNEL) as address:
        read_only(page, address, here)
        expect(section(page, "Right-at-some-sizes-only")).to_be_attached(**PATIENT)
        headings = page.locator(":is(h1, h2, h3)[data-jupyter-id]")
        told = headings.evaluate_all("all => all.map(h => [h.dataset.jupyterId, h.textContent])")
        assert [name for name, _ in told] == [slug(text.removesuffix("¶")) for _, text in told]
        for name in ("Right-at-some-sizes-only", "NaN-in-the-first-row,-or-in-the-last"):
            expect(section(page, name)).not_to_be_in_viewport()
            follow(page, name)
            expect(section(page, name)).to_be_in_viewport()

        open_by_link(page, "Under-the-hood", chapter)
        open_by_link(page, "A-whole-module", exercises)
        follow(page, "A-whole-module", exercises)
        expect(section(page, "A-whole-module")).to_be_in_viewport()
        # The chapter, which is open, has a heading of this name too.
        follow(page, "Exercise:-merge-heads", exercises)
        expect(section(page, "Exercise:-merge-heads")).to_be_in_viewport()
