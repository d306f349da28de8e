"""How a cell looks once it can be edited; tests/launch/test_live.py runs cells in a real kernel."""

from __future__ import annotations

from itertools import combinations

import pytest

from .page_check import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
PAGE = "book/trace-your-own-code.html"
NOBODY = "1/none"  # no server listens there: cells can be edited all the same
# What has a colour or a weight of its own in the code.
INKS = """pre => {
  const look = e => {
    const { color, fontWeight, fontStyle } = getComputedStyle(e);
    return [color, fontWeight, fontStyle].join();
  };
  return [...new Set([...pre.querySelectorAll('*')].filter(e => e.textContent.trim()).map(look))];
}"""


def make_live(page) -> None:
    page.get_by_role("button", name="Run", exact=True).first.click()
    page.get_by_role("button", name="Run the cells on this page").click()
    page.locator("pre[role=textbox]").first.wait_for(state="attached")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_buttons_of_a_live_cell_lie_neither_on_each_other_nor_on_code(browser, server, width):
    with opened(browser, f"{server}/{PAGE}#live={NOBODY}", width=width) as (page, _):
        make_live(page)
        found = page.locator(".highlight:has(> .run)").evaluate_all(
            """all => all.map(cell => {
              const box = e => {
                const { left, top, right, bottom } = e.getBoundingClientRect();
                return [left, top, right, bottom];
              };
              const code = document.createRange();
              code.selectNodeContents(cell.querySelector('pre'));
              return [box(cell.querySelector('.copy')), box(cell.querySelector('.run')), box(code)];
            })"""
        )
    assert len(found) > 10
    for boxes in found:
        for one, other in combinations(boxes, 2):
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert across <= 0 or down <= 0, boxes


def test_other_code_in_a_live_cell_has_one_ink(browser, server):
    """A sign more or less leaves the colours; code that is pasted, or a new line, takes them."""
    with opened(browser, f"{server}/{PAGE}#live={NOBODY}") as (page, _):
        make_live(page)
        cells = page.locator("pre[role=textbox]")
        several = cells.evaluate_all(f"all => all.map((e, n) => ({INKS})(e).length > 2 ? n : -1)")
        first, second, third = [n for n in several if n >= 0][:3]
        edits = {
            first: lambda: page.keyboard.insert_text("S = 3  # from elsewhere"),
            second: lambda: page.keyboard.press("Enter"),
            third: lambda: page.keyboard.press("Control+A") or page.keyboard.type("S = 3"),
        }
        for number, edit in edits.items():
            cell = cells.nth(number)
            before = cell.evaluate(INKS)
            cell.click()
            page.keyboard.press("Control+Home")
            page.keyboard.type("x")
            page.keyboard.press("Tab")
            page.keyboard.press("Backspace")
            page.keyboard.press("Backspace")
            assert cell.evaluate(INKS) == before
            edit()
            assert len(cell.evaluate(INKS)) <= 1
