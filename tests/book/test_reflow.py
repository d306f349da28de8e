"""Every page at 200 percent and with wide spacing: nothing is cut off (WCAG 1.4.4, 1.4.12)."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup

from .conftest import PAGES, SITE, chapters
from .page_check import PAINTED, opened, overflow

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# As the success criterion names them; players and labs keep their text in shadow roots.
SPACED = """() => {
  const style = `:not(svg *) { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important } p { margin-bottom: 2em !important }`;
  const roots = [document.head];
  for (const e of document.querySelectorAll("*")) if (e.shadowRoot) roots.push(e.shadowRoot);
  for (const root of roots)
    root.append(Object.assign(document.createElement("style"), { textContent: style }));
}"""
# Text that reaches out of a box which neither shows nor scrolls what is outside it.
CUT = """() => {
  const up = e => e.assignedSlot || e.parentElement || e.getRootNode().host || null;
  function* all(root) {
    for (const child of [...(root.shadowRoot?.children ?? []), ...root.children]) {
      yield child;
      yield* all(child);
    }
  }
  const meets = (text, box) =>
    text.left >= box.left - 2 && text.right <= box.right + 2 &&
    text.top >= box.top - 2 && text.bottom <= box.bottom + 2;
  const wrong = [];
  for (const e of all(document.body)) {
    if (e.closest("svg, script, style, math, .skip") || !e.checkVisibility()) continue;
    for (const node of e.childNodes) {
      if (node.nodeType !== 3 || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const text = range.getBoundingClientRect();
      if (text.width * text.height === 0) continue;
      for (let box = e; box; box = up(box)) {
        const { overflowX, overflowY, clipPath } = getComputedStyle(box);
        if (clipPath !== "none" || /auto|scroll/.test(overflowX + overflowY)) break;
        const holds = /hidden|clip/.test(overflowX + overflowY) || box.matches("button, select");
        if (holds && !meets(text, box.getBoundingClientRect())) {
          wrong.push(`cut off: ${node.data.trim().slice(0, 60)}`);
          break;
        }
      }
    }
  }
  return wrong;
}"""


PLOT = re.compile(r'class="cell_output(?:(?!class="cell).)*?<img ', re.S)


def cut(page) -> list[str]:
    """Say which text of a page is cut off, or makes it scroll sideways."""
    page.evaluate(PAINTED)
    return overflow(page) + page.evaluate(CUT)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_when_enlarged_or_spaced(browser, server, name):
    with opened(browser, f"{server}/{name}", width=640) as (page, _):
        wrong = [f"at 200 percent: {problem}" for problem in cut(page)]
        page.evaluate(SPACED)
        for width in (640, 1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            wrong += [f"spaced, {width}: {problem}" for problem in cut(page)]
    assert wrong == []


def with_plots() -> list[str]:
    """The chapters that show one; those that are not built are missed elsewhere."""
    built = [name for name in chapters() if (SITE / name).is_file()]
    return [name for name in built if PLOT.search((SITE / name).read_text())]


@pytest.mark.parametrize("name", with_plots())
def test_a_plot_keeps_the_size_of_its_words_on_a_phone(browser, server, name):
    """Drawn with words of 12 points: below two thirds of that nobody reads them."""
    with opened(browser, f"{server}/{name}", width=390) as (page, _):
        pictures = page.locator(".cell_output img")
        shown = pictures.evaluate_all("all => all.map(e => [e.clientWidth, e.naturalWidth])")
    assert shown
    assert all(3 * width >= 2 * natural for width, natural in shown if natural), shown


@pytest.mark.parametrize(
    "body",
    [
        "<p style='overflow: hidden; width: 60px; white-space: nowrap'>a long line</p>",
        "<p style='overflow: clip; height: 9px'>a line</p>",
        "<button style='width: 40px; white-space: nowrap'>a long line</button>",
        "<p style='width: 2000px'>wide</p>",
    ],
)
def test_cut_text_is_found(browser, body):
    page = browser.new_page()
    page.set_content(f"<main>{body}<p>whole</p></main>")
    assert len(cut(page)) == 1
    page.close()


@pytest.mark.parametrize("name", [*chapters(), "search.html"])
def test_every_part_of_a_page_is_a_landmark(site, name):
    body = BeautifulSoup((site / name).read_text(), "lxml").body
    column = body.find(class_="column")
    parts = [*body.find_all(recursive=False), *body.find(class_="page").find_all(recursive=False)]
    parts += column.find_all(recursive=False)
    names = [(part.name, part.get("aria-label")) for part in parts if part.name != "div"]
    wanted = [("a", None), ("header", None), ("nav", "Contents"), ("main", None)]
    assert names[:4] == wanted and names[-1] == ("footer", None)
    assert names[4:-1] in ([], [("nav", "Neighbouring chapters")])
    assert [form["role"] for form in body.find_all("form")] == ["search"] * len(
        body.find_all("form")
    )
