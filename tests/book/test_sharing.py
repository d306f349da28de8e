"""Addresses that others need stand on the pages of a copy that knows its own, and on no others."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import sharing
from PIL import Image
from repository import Repository

from .conftest import ROOT, chapters

HOME = Repository("https://github.com/owner/name", "main")


@pytest.fixture
def app(tmp_path):
    pages = [name.removesuffix(".html") for name in chapters()]
    return SimpleNamespace(
        builder=SimpleNamespace(name="html"),
        outdir=tmp_path,
        config=SimpleNamespace(book_repository=HOME, root_doc=pages[0]),
        env=SimpleNamespace(toctree_includes={pages[0]: pages[1:]}),
    )


def described(app, page="book/03-scaling", doctree=True):
    context = {}
    sharing.describe_page(app, page, "page.html", context, doctree or None)
    return context


def test_page_knows_its_address_and_card(app, monkeypatch):
    monkeypatch.delenv("BOOK_ADDRESS", raising=False)
    assert described(app) == {
        "address": "https://owner.github.io/name/book/03-scaling.html",
        "card": "https://owner.github.io/name/_static/card.png",
    }
    monkeypatch.setenv("BOOK_ADDRESS", "https://books.example.org/attention")
    assert described(app)["address"] == "https://books.example.org/attention/book/03-scaling.html"
    assert described(app, doctree=False) == {}  # the search page and the like


def test_sitemap_lists_every_page_once(app, monkeypatch):
    monkeypatch.delenv("BOOK_ADDRESS", raising=False)
    sharing.write_sitemap(app, None)
    tree = ElementTree.parse(app.outdir / "sitemap.xml")
    found = [place.text for place in tree.iter() if place.tag.endswith("}loc")]
    assert found == [f"https://owner.github.io/name/{page}" for page in chapters()]


def test_copy_without_an_address_names_none(app, monkeypatch):
    monkeypatch.delenv("BOOK_ADDRESS", raising=False)
    sharing.write_sitemap(app, None)
    app.config.book_repository = None
    sharing.write_sitemap(app, None)
    assert described(app) == {}
    assert not (app.outdir / "sitemap.xml").exists()


def test_card_has_the_size_that_the_pages_name():
    layout = (ROOT / "book" / "_templates" / "layout.html").read_text()
    with Image.open(ROOT / "book" / "assets" / "card.png") as card:
        for side, length in zip(("width", "height"), card.size, strict=True):
            assert f'"og:image:{side}" content="{length}"' in layout
