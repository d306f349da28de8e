"""A page with the player's modules on it, and a page that plays a trace; both must stay silent."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from attnlib.widgets import save_html
from attnlib.widgets.source import Bundle

from . import played

# As text: Playwright takes longer to hand over a trace, value by value, than the page to draw it.
FACTS = "([trace, ...where]) => facts([JSON.parse(trace), ...where])"
MODULES = ("trace", "phases", "rows", "sizes", "player")
ACTIONS = "".join(
    (Path(__file__).parent / name).read_text(encoding="utf-8")
    for name in ("actions.js", "listeners.js")
)


class Silent:
    """Everything a page said to its console or threw; a test ends with none."""

    def __init__(self, page: Page):
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))


@pytest.fixture(scope="session")
def _modules(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    silent = Silent(page)
    listed = ", ".join(f"{name}: ${name}" for name in MODULES)
    files = tuple(f"{name}.js" for name in MODULES)
    last = f"window.modules = {{ {listed} }};\n"
    page.add_script_tag(content=Bundle("page.js", last, files).text())
    page.add_script_tag(content=ACTIONS)
    yield page
    page.close()
    assert silent.said == []


@pytest.fixture
def modules(_modules: Page) -> Page:
    """A blank page whose `modules` are the player's own, for tests of what is pure."""
    return _modules


@pytest.fixture
def facts(modules: Page) -> Callable[..., dict]:
    """Read one phase of a trace as data: caption, height, marks."""

    def read(trace: dict, step: int, phase: int, **more: Any) -> dict:
        return modules.evaluate(FACTS, [json.dumps(trace), step - 1, phase - 1, more])

    return read


@pytest.fixture
def play(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Save a trace as one file and open it from the disk."""
    opened: list[tuple[Any, Silent]] = []

    def start(trace: dict, width: int = 1280, place: str = "", **context: Any) -> Page:
        path = tmp_path / f"{len(opened)}.html"
        save_html(trace, path)
        made = browser.new_context(viewport={"width": width, "height": 900}, **context)
        page = made.new_page()
        opened.append((made, Silent(page)))
        page.goto(path.as_uri() + place)
        page.wait_for_selector(".attn-host")
        page.add_script_tag(content=ACTIONS)
        return page

    yield start
    for made, silent in opened:
        made.close()
        assert silent.said == []


@pytest.fixture(scope="session")
def head() -> tuple[dict, dict]:
    return played.head()
