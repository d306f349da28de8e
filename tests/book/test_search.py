"""The search finds what people type and paste: symbols, code, errors with their own numbers."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .page_check import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

# what is typed -> a page that must be among the first five places
EXPECTED = {
    "q @ k.transpose": "02-transpose-and-matmul",
    "k.transpose(-2, -1)": "02-transpose-and-matmul",
    "Expected size for first two dimensions of batch2 tensor to be: [7, 5] but got: [7, 9].": (
        "02-transpose-and-matmul"
    ),
    "mat1 and mat2": "from-symptom-to-page",
    "mat1 and mat2 shapes cannot be multiplied (12x64 and 32x64)": "from-symptom-to-page",
    "(B,T,C)": "07-multi-head",
    "masked_fill": "04-the-causal-mask",
    "masked fill": "04-the-causal-mask",
    "softmax": "05-softmax-and-the-weighted-sum",
    "√H": "03-scaling",
    "sqrt(H)": "03-scaling",
    "d_k": "notation",
    "dk": "notation",
    "Glorot": "references",
    "how to split heads": "07-multi-head",
    "nan": "from-symptom-to-page",
    "wieghts": None,
}


# what is typed -> the place that must be first: one thing under the names that people have for it
FIRST = {
    "softmax wrong axis": "softmax-and-the-weighted-sum.html#where-it-breaks-the-wrong-dimension",
    "softmax over the wrong dim": "mistakes.html#softmax-wrong-dim",
}


def places(page) -> list[str]:
    links = page.locator("#search-results li a")
    return links.evaluate_all("all => all.slice(0, 5).map(a => a.getAttribute('href'))")


def test_what_people_type_finds_its_page(browser, address):
    with opened(browser, f"{address}/search.html") as (page, heard):
        missed = {}
        for typed, wanted in EXPECTED.items():
            page.locator("#page-search-field").fill(typed)
            found = places(page)
            if wanted is None:
                expect(page.locator("#search-said")).to_have_text("Nothing in the book holds that.")
            elif not any(wanted in place for place in found):
                missed[typed] = found
        assert missed == {}
        assert heard == []


@pytest.mark.parametrize("typed", FIRST)
def test_the_place_about_it_comes_first(browser, address, typed):
    with opened(browser, f"{address}/search.html") as (page, _):
        page.locator("#page-search-field").fill(typed)
        assert places(page)[0].endswith(FIRST[typed])


@pytest.mark.parametrize("symbol", ["n_embd", "Sq", "S", "batch_first", "H"])
def test_a_symbol_is_looked_up_in_the_table_of_names(browser, address, symbol):
    with opened(browser, f"{address}/search.html") as (page, _):
        page.locator("#page-search-field").fill(symbol)
        found = places(page)
        named = symbol != "batch_first"  # PyTorch's, not of this book
        assert ("notation.html#" in found[0]) == named, found


def test_places_that_are_not_shown_can_be(browser, address):
    with opened(browser, f"{address}/search.html?q=n_embd") as (page, heard):
        said, rest = page.locator("#search-said"), page.locator("#search-rest")
        expect(said).to_contain_text("places, the first 20 of them here")
        count = int(said.text_content().split()[0])
        rest.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#search-results li")).to_have_count(count)
        expect(said).to_have_text(f"{count} places")
        expect(rest).to_be_hidden()
        expect(page.locator("#search-results li").nth(20).locator("a")).to_be_focused()
        page.locator("#page-search-field").fill("Glorot")
        expect(rest).to_be_hidden()
        assert heard == []


def test_place_opens_at_the_section_with_the_words(browser, address):
    with opened(browser, f"{address}/search.html?q=masked_fill") as (page, heard):
        expect(page.locator("#search-said")).to_contain_text("places")
        assert page.locator("#search-results mark").first.inner_text().lower() == "masked_fill"
        page.locator("#search-results a").first.click()
        page.wait_for_url("**/book/*#*")
        section = page.locator(":target")
        assert "masked_fill" in section.text_content()
        assert heard == []


def test_what_is_typed_stays_text(browser, site):
    with opened(browser, f"{site.as_uri()}/search.html") as (page, heard):
        for typed in ("<img src=x onerror=alert(1)>", "[", "\\", "(?<", "a" * 5000, "$&", "   "):
            page.locator("#page-search-field").fill(typed)
            assert page.locator("#search-results img").count() == 0
        assert heard == []


def test_the_field_beside_the_search_page_searches_anew(browser, address):
    with opened(browser, f"{address}/search.html?q=mask#main") as (page, _):
        field = page.locator("#search-field")
        field.fill("contiguous")
        field.press("Enter")
        expect(page.locator("#page-search-field")).to_have_value("contiguous")
        assert page.url == f"{address}/search.html?q=contiguous"
