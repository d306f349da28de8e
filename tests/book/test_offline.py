"""The packed book: unpacked in another place, everything that it needs is in it."""

from __future__ import annotations

import os
import shutil
import zipfile

import pytest
from bs4 import BeautifulSoup

import offline

from .page_check import check_page
from .test_site import broken_links

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def unpacked(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("another place, with a space")
    packed = offline.pack(site, folder / "book.zip")
    zipfile.ZipFile(packed).extractall(folder)
    return folder / offline.NAME


def test_all_links_lead_somewhere_in_it(unpacked):
    files = sorted(unpacked.rglob("*.html"))
    soups = {path: BeautifulSoup(path.read_text(), "lxml") for path in files}
    assert len(soups) > 15
    assert {path.name: broken_links(path, soups) for path in soups} == {
        path.name: [] for path in soups
    }


def test_chapter_plays_and_is_searched_from_it(browser, unpacked):
    chapter = unpacked / "book" / "06-one-head-complete.html"
    assert check_page(browser, chapter.as_uri(), ["light"], access=False) == []
    page = browser.new_page()
    page.goto((unpacked / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    page.goto((unpacked / "search.html").as_uri() + "?q=masked_fill")
    assert page.locator("#search-results li").count() > 3
    page.close()


def test_same_pages_give_the_same_file(tmp_path):
    pages = tmp_path / "pages"
    (pages / "book").mkdir(parents=True)
    for name in ("index.html", "book/b.html", "book/a.html"):
        (pages / name).write_text(name)
    first = offline.pack(pages, tmp_path / "first.zip").read_bytes()
    again = shutil.copytree(pages, tmp_path / "again")
    os.utime(again / "index.html", (2e9, 2e9))
    (again / "index.html").chmod(0o600)
    assert offline.pack(again, tmp_path / "second.zip").read_bytes() == first
    (again / "book" / "a.html").write_text("b")
    assert offline.pack(again, tmp_path / "third.zip").read_bytes() != first
