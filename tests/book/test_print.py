"""The book on paper: what is folded on a page is open, what is for a screen is away."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

import printing

from .page_check import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
NAMES = ["index", "03-scaling", "04-the-causal-mask"]


@pytest.fixture(scope="module")
def files(browser, server, tmp_path_factory):
    return printing.printed(browser, NAMES, server, tmp_path_factory.mktemp("printed"))


@pytest.fixture(scope="module")
def whole(files, server, tmp_path_factory):
    target = tmp_path_factory.mktemp("whole") / "book.pdf"
    printing.joined(files, server).write(target)
    return target


def text_of(file) -> str:
    text = " ".join(sheet.extract_text() for sheet in PdfReader(file).pages)
    return re.sub(r"\s", "", text)


def test_all_text_is_on_paper_and_no_button(site, files):
    soup = BeautifulSoup((site / "book" / "03-scaling.html").read_text(), "lxml")
    text = text_of(files[1])
    folded = [part.get_text() for part in soup.select("main details p")]
    captions = [part.get_text() for part in soup.select("table.attn-fallback caption")]
    assert len(folded) > 5 and len(captions) > 0
    lost = [words for words in folded + captions if re.sub(r"\s", "", words)[:40] not in text]
    assert lost == []
    for button in ("Theme:auto", "Skiptothetext", "Press/tosearch", "Copy", "Contents"):
        assert button not in text


def test_player_on_paper_shows_its_last_step(site, files):
    soup = BeautifulSoup((site / "book" / "03-scaling.html").read_text(), "lxml")
    steps = [len(table.select("tbody tr")) for table in soup.select(".attn-player .attn-fallback")]
    assert steps
    for count in steps:
        assert f"step{count}of{count}" in text_of(files[1])


def test_no_line_of_a_printed_table_is_broken_on_paper(browser, server):
    """The widest things that the book prints have 100 columns; on a sheet each keeps its lines."""
    with opened(browser, f"{server}/book/07-multi-head.html", width=printing.WIDTH) as (page, _):
        page.emulate_media(media="print")
        rows = page.evaluate(
            """() => [...document.querySelectorAll("main .cell_output pre")].map(pre => {
              const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(pre);
              const high = pre.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom);
              const lines = pre.textContent.trimEnd().split("\\n");
              const wide = Math.max(...lines.map(line => line.length));
              return [wide, lines.length, Math.round(high / parseFloat(lineHeight))];
            })"""
        )
    shown = [(wide, lines, high) for wide, lines, high in rows if high and wide <= 100]
    assert max(wide for wide, _, _ in shown) == 100
    assert [row for row in shown if row[1] != row[2]] == []


def test_cells_that_print_nothing_are_not_tied_together(files):
    """Or a sheet with the goals alone is all that stands before a chapter's first cells."""
    first = PdfReader(files[2]).pages[0].extract_text()
    assert "You will be able to" in first and "import torch" in first


def test_no_page_is_wider_than_a_sheet(browser, server, site):
    """Chromium prints all of such a page smaller."""
    wide = {}
    names = sorted(path.name for path in (site / "book").glob("*.html"))
    with opened(browser, f"{server}/book/index.html", width=printing.WIDTH) as (page, _):
        page.emulate_media(media="print")
        for name in names:
            page.goto(f"{server}/book/{name}", wait_until="load")
            wide[name] = page.evaluate("document.documentElement.scrollWidth")
    assert {name: width for name, width in wide.items() if width > printing.WIDTH} == {}


def test_what_is_hatched_is_no_picture_of_the_page(site, files):
    """Chromium prints what an SVG pattern fills as pixels, as many as its clip has room for."""
    assert "masked" in (site / "book" / "04-the-causal-mask.html").read_text()
    images = re.findall(rb"/Image\s+/Width (\d+)\s+/Height (\d+)", files[2].read_bytes())
    assert images and max(int(width) * int(height) for width, height in images) < 200 * 200
    assert files[2].stat().st_size < 3_000_000


def test_pictures_bring_no_ground_of_their_own(site):
    pictures = [path.read_text("utf-8") for path in (site / "_images").glob("*.svg")]
    grounds = [re.search(r'id="patch_1">\s*<path[^>]* style="([^"]*)"', text) for text in pictures]
    assert len(grounds) > 10
    assert {ground[1] for ground in grounds if ground} == {"fill: none"}


def test_whole_book_links_inside_itself(whole, files):
    reader = PdfReader(whole)
    chapter = len(PdfReader(files[0]).pages)  # the sheet that it starts on
    titles = [item.title for item in reader.outline if not isinstance(item, list)]
    assert [title[:4] for title in titles] == ["Atte", "3 · ", "4 · "]
    aims = set()
    for sheet in reader.pages:
        for link in sheet.get("/Annots", []):
            link = link.get_object()
            address = str(link.get("/A", {}).get("/URI", ""))
            assert "127.0.0.1" not in address and not address.startswith("file:")
            if "/Dest" in link:
                aims.add(reader.get_page_number(link["/Dest"][0].get_object()))
    assert chapter in aims, "no link of the first page leads to the chapter"
    assert b"127.0.0.1" not in whole.read_bytes()
