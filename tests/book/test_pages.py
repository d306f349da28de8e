"""Every page of the book, in Chromium: over HTTP and from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import PAGES
from .page_check import check_page, opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", PAGES)
def test_page_holds_over_http(browser, server, name):
    assert check_page(browser, f"{server}/{name}") == []


@pytest.mark.parametrize("name", PAGES)
def test_page_holds_from_disk(browser, site, name):
    page = (site / name).as_uri()
    assert check_page(browser, page, ["dark"], access=False) == []


def test_first_page_leads_into_the_book(browser, address):
    page = browser.new_page()
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.goto(f"{address}/index.html")
    page.wait_for_url("**/book/index.html")
    page.close()
    assert heard == []


def test_lost_reader_is_led_home(browser, site, tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "gone.html").write_text((site / "404.html").read_text())
    with opened(browser, (tmp_path / "book" / "gone.html").as_uri()) as (page, _):
        assert page.locator("#start").get_attribute("href") == f"{tmp_path}/book/index.html"


# --- the check itself is seen red ---------------------------------------------------------------

FAULTS = {
    "another host": ('<img alt="a map of words" src="https://example.org/a.png">', "another host"),
    "a script elsewhere": ('<script src="https://example.org/a.js"></script>', "another host"),
    "a word on the console": ("<script>console.log('hello')</script>", "console log: hello"),
    "an error": ("<script>throw new Error('oh')</script>", "error: oh"),
    "a missing file": ('<img alt="a picture of a map" src="none.png">', "none.png"),
    "too wide": ('<div style="width: 1500px">wide</div>', "too wide"),
    "a white card": ('<p style="background: white; color: black">card</p>', "desk: a card behind"),
    "pale text": ('<p style="color: light-dark(#ccc, #444)">pale</p>', "axe color-contrast"),
    "no text for a picture": ('<img src="../_static/icon.svg" alt="">', "no text for the picture"),
    "TeX left over": ("<p>so it is \\frac{1}{2}</p>", "without JavaScript: TeX in the text"),
    "a second title": ("<h1>Again</h1>", "2 × h1"),
    "an id twice": ('<p id="main">again</p>', "id main twice"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(browser, site, fault):
    planted, said = FAULTS[fault]
    page = site / "book" / f"planted-{fault.replace(' ', '-')}.html"
    text = (site / "book" / "notation.html").read_text()
    page.write_text(text.replace("</article>", f"{planted}</article>"))
    try:
        problems = check_page(browser, page.as_uri(), ["dark"], access=said.startswith("axe"))
        assert any(said in problem for problem in problems)
    finally:
        page.unlink()


def test_policy_is_on_every_page(site):
    for name in PAGES[:-1]:
        text = Path(site, name).read_text()
        assert "default-src 'none'" in text.split("<title>")[0]
