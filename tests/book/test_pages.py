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


def test_policy_is_on_every_page(site):
    for name in PAGES[:-1]:
        text = Path(site, name).read_text()
        assert "default-src 'none'" in text.split("<title>")[0]
