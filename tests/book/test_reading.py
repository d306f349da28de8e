"""What a reader does with a page by keyboard: theme, contents, search, sections, copying."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from .page_check import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
CHAPTER = "book/01-projections.html"
THEME = "document.documentElement.dataset.theme ?? 'auto'"


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focus_text(page) -> str:
    return page.evaluate("document.activeElement.textContent.trim()")


def test_first_tab_stop_skips_to_the_text(browser, address):
    with opened(browser, f"{address}/{CHAPTER}") as (page, _):
        press(page, "Tab")
        assert focus_text(page) == "Skip to the text"
        press(page, "Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_theme_goes_round_and_is_remembered(browser, address):
    with opened(browser, f"{address}/{CHAPTER}", theme="light") as (page, heard):
        page.locator("#theme").focus()
        seen = []
        for _ in range(3):
            press(page, "Enter")
            seen.append((page.evaluate(THEME), page.locator("#theme").inner_text()))
        names = ["light", "dark", "auto"]
        assert seen == [(name, f"Theme: {name}") for name in names]
        press(page, "Enter", "Enter")
        page.reload()
        assert page.evaluate(THEME) == "dark"
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert ground == "rgb(22, 24, 27)"
        assert heard == []


@pytest.mark.parametrize("width", [1280, 390])
def test_contents_open_and_close(browser, address, width):
    with opened(browser, f"{address}/{CHAPTER}", width=width) as (page, _):
        contents, toggle = page.locator("#contents"), page.locator("#contents-toggle")
        before = contents.is_visible()
        assert (
            toggle.get_attribute("aria-expanded") == str(before).lower() == str(width > 999).lower()
        )
        toggle.focus()
        press(page, "Enter")
        assert contents.is_visible() is not before
        assert toggle.get_attribute("aria-expanded") == str(not before).lower()


def test_contents_are_there_without_javascript(browser, address):
    with opened(browser, f"{address}/{CHAPTER}", width=390, javascript=False) as (page, _):
        assert not page.locator("#contents").is_visible()
        page.locator("#contents-toggle").click()
        assert page.locator("#contents a[href*='notation']").is_visible()
        assert not page.locator("#theme").is_visible()


def test_slash_searches_the_book(browser, address):
    with opened(browser, f"{address}/{CHAPTER}") as (page, heard):
        press(page, "/")
        page.keyboard.type("softmax")
        press(page, "Enter")
        page.wait_for_url("**/search.html?q=softmax")
        found = page.locator("#search-results a[href*='05-softmax-and-the-weighted-sum']")
        expect(found.first).to_be_visible()
        assert page.locator("#page-search-field").input_value() == "softmax"
        assert heard == []


@pytest.mark.parametrize(
    "typed",
    [
        "must match the size of tensor b at non-singleton dimension",
        "rows do not sum to 1",
        "NaN in the first row",
        "loss falls",
        "padded batch differs",
        "c10::Half without overflow",
    ],
)
def test_a_symptom_as_people_type_it_finds_its_page(browser, server, typed):
    with opened(browser, f"{server}/search.html?q={quote(typed)}") as (page, heard):
        found = page.locator("#search-results li a[href*='from-symptom-to-page']").first
        expect(found).to_be_visible()
        assert heard == []


FETCHED = "[...document.scripts].map(s => s.src.split('/').pop()).filter(s => /^lab-/.test(s))"


def test_a_labs_code_comes_when_a_reader_gets_near_it(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/book/03-scaling.html")
    page.locator(".attn-player .caption").first.wait_for()
    assert page.evaluate(FETCHED) == []
    page.locator(".attn-lab").scroll_into_view_if_needed()
    page.locator(".attn-lab .caption").wait_for()
    assert page.evaluate(FETCHED) == ["lab-scaling.js"]
    assert not page.locator(".attn-lab > .scroll table").first.is_visible()
    page.close()


def test_a_link_sets_the_lab_wherever_a_reader_is(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/book/03-scaling.html#lab-scaling/H=1024;by=nothing")
    page.locator(".attn-lab .caption").wait_for()
    slider = page.locator(".attn-lab [data-field=H]")
    assert slider.get_attribute("aria-valuetext") == "1024"
    page.locator("a[href^='#lab-scaling/H=16']").focus()
    press(page, "Enter")
    expect(slider).to_have_attribute("aria-valuetext", "16")
    assert "Divided by 8.00" in page.locator(".attn-lab .caption").inner_text()
    page.close()


def test_search_code_stays_on_its_page(browser, server):
    with opened(browser, f"{server}/{CHAPTER}") as (page, _):
        scripts = page.evaluate("[...document.scripts].map(s => s.src.split('/').pop())")
    labs = {script for script in scripts if script.startswith("lab-")}
    assert set(scripts) - labs <= {"", "book.js", "player.js"}


def test_section_in_view_is_marked(browser, address):
    with opened(browser, f"{address}/{CHAPTER}") as (page, _):
        link = page.locator("#contents .sections a").nth(3)
        link.click()
        expect(link).to_have_attribute("aria-current", "true")
        assert page.locator("#contents [aria-current=true]").count() == 1


def test_code_can_be_copied(browser, server):
    with opened(browser, f"{server}/{CHAPTER}") as (page, _):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        block = page.locator("main .cell_input .highlight").first
        block.locator(".copy").focus()
        press(page, "Enter")
        expect(page.locator(":focus")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == block.locator("pre").text_content()


def test_wide_code_scrolls_by_keyboard(browser, server):
    with opened(browser, f"{server}/{CHAPTER}", width=390) as (page, _):
        wide = page.locator("main pre[tabindex='0']").first
        wide.focus()
        press(page, "ArrowRight", "ArrowRight")
        wide.evaluate(
            "async box => { while (!box.scrollLeft) await new Promise(requestAnimationFrame) }"
        )


def test_page_survives_refused_storage(browser, site):
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
    )
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / CHAPTER).as_uri())
    page.locator("#theme").click()
    assert page.evaluate(THEME) == "light"
    context.close()
    assert errors == []


@pytest.mark.parametrize("javascript", [True, False])
def test_what_runs_a_page_opens_and_closes_by_keyboard(browser, site, javascript):
    with opened(browser, (site / CHAPTER).as_uri(), width=390, javascript=javascript) as (page, _):
        page.get_by_role("button", name="Run").focus()
        press(page, "Enter")
        notebook = page.get_by_role("link", name="Download the notebook")
        assert notebook.is_visible()
        assert notebook.get_attribute("href").endswith("/01-projections.ipynb")
        if javascript:  # from the disk a browser shows the file, and leaves the book for it
            assert "Ctrl+S saves it" in notebook.text_content()
            assert notebook.get_attribute("target") == "_blank"
        press(page, "Escape")
        assert not notebook.is_visible()
