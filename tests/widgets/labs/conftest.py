"""Labs as a reader has them, opened from the disk, and their pure functions on a blank page."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from attnlib.widgets import LABS, lab
from attnlib.widgets.source import Bundle

# Asked by every test of a lab: what the page computes for a state, as plain data.
ASK = """([name, what, data, state]) => {
  const lab = window.labs[name];
  const fields = Object.fromEntries(lab.fields(data).map((field) => [field.name, field.start]));
  const given = lab[what](data, { ...fields, ...state });
  return what === 'sentence' ? given.map((part) => part.text).join('') : given;
}"""

# Tests share a page: each finds it closed, in the state of its own link.
OPEN = """link => {
  document.querySelector('.attn-host').shadowRoot.querySelector('details').open = false;
  location.hash = '';
  location.hash = link;
}"""


@pytest.fixture(scope="session")
def _labs_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in LABS:
        last = f"(window.labs ??= {{}}).{name} = $labs_{name};\n"
        page.add_script_tag(content=Bundle(f"labs/{name}.js", last).text())
    yield page
    page.close()
    assert said == []


@pytest.fixture
def ask(_labs_page: Page) -> Callable[..., Any]:
    """Call a pure function of a lab: ask("scaling", "rowAt", H=4); what is not given starts."""

    def call(name: str, what: str, data: dict | None = None, **state: Any) -> Any:
        return _labs_page.evaluate(ASK, [name, what, data or lab(name).data, state])

    return call


@pytest.fixture(scope="session")
def _saved_labs(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Every lab opened once; tests set its state by its links."""
    folder, opened = tmp_path_factory.mktemp("labs"), {}

    def start(name: str) -> Page:
        if name not in opened:
            file = folder / f"{name}.html"
            lab(name).save_html(file)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            said: list[str] = []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto(Path(file).as_uri())
            page.wait_for_selector(".attn-host")
            opened[name] = page, said
        return opened[name][0]

    yield start
    for page, said in opened.values():
        page.close()
        assert said == []


@pytest.fixture
def shown(_saved_labs: Callable[[str], Page]) -> Callable[..., Page]:
    """Give the page of a lab in the state that a link asks for."""

    def show(name: str, link: str = "") -> Page:
        page = _saved_labs(name)
        page.evaluate(OPEN, f"lab-{name}/{link}")
        page.wait_for_timeout(30)  # the event comes after the address has changed
        return page

    return show
