"""What axe cannot tell: the order that a screen reader reads in, zoom, focus, hostile names."""

from __future__ import annotations

import json
import re

import dimensions
import pytest

import pages
from attnlib.widgets import player_html
from tests.widgets import played
from tests.widgets.test_player import HOSTILE

from .page_check import PAINTED, opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
CHAPTER = "book/03-scaling.html"


@pytest.fixture(scope="module")
def read_aloud(browser, site):
    """The chapter as the browser hands it to a screen reader: one line for each thing, in order."""
    with opened(browser, (site / CHAPTER).as_uri()) as (page, _):
        headings = page.locator("main :is(h1, h2, h3)").all_inner_texts()
        return page.locator("body").aria_snapshot(), headings


def test_parts_of_a_page_are_read_in_order(read_aloud):
    tree, _ = read_aloud
    parts = [line.strip("- :'") for line in tree.splitlines() if not line.startswith(" ")]
    assert parts == [
        'link "Skip to the text"',
        "banner",
        'navigation "Contents"',
        "main",
        'navigation "Neighbouring chapters"',
        "contentinfo",
    ]


def test_headings_of_a_chapter_are_read_in_order(read_aloud):
    tree, headings = read_aloud
    main = tree.split("\n- main")[1]
    read = re.findall(r"- '?heading \"(.*?)\" \[level=(\d)\]", main)
    words = [name for name, _ in read]
    shown = [re.sub(r"\s+", " ", heading).removesuffix("#").strip() for heading in headings]
    assert [word for word in words if word in shown] == shown  # players have headings as well
    assert read[0][1] == "1" and {level for _, level in read} <= {"1", "2", "3", "4"}


def test_code_and_what_it_prints_are_told_apart(read_aloud):
    """No run of text holds both the output of a cell and the code of the next one."""
    tree, _ = read_aloud
    groups = re.findall(r'- group "(Code|Output)"', tree)
    assert groups.count("Code") > 30 and groups.count("Output") > 15
    loose = re.findall(r"^    - text: .*(?:assert|print\().*", tree, re.M)
    assert loose == []


def test_nothing_that_can_be_pressed_lacks_a_name(read_aloud):
    tree, _ = read_aloud
    pressed = re.findall(r"- '?(?:link|button|checkbox|searchbox|slider|combobox|radio)\b.*", tree)
    assert len(pressed) > 60
    assert [line for line in pressed if not re.search(r'"[^"]*\w[^"]*"', line)] == []


def test_page_holds_at_200_percent(browser, site):
    """1280 pixels at twice the size are 640; nothing is cut off, and all tools are still there."""
    with opened(browser, (site / CHAPTER).as_uri(), width=640) as (page, _):
        page.set_viewport_size({"width": 640, "height": 450})
        page.evaluate(PAINTED)
        assert page.evaluate("document.documentElement.scrollWidth") <= 640
        for name in ("Contents", "Run", "Theme: auto"):
            assert page.get_by_role("button", name=name, exact=True).first.is_visible()
        # Only the text enlarged, as a browser's own setting does.
        page.add_style_tag(content="html { font-size: 200% !important }")
        page.evaluate(PAINTED)
        assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_focus_is_seen_wherever_it_goes(browser, site):
    ringed = """() => {
      let e = document.activeElement;
      while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(e);
      const { width, height } = e.getBoundingClientRect();
      const ring = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
      const seen = (ring || e.className === "skip") && width * height > 0;
      return [e.outerHTML.slice(0, 80), seen];
    }"""
    with opened(browser, (site / CHAPTER).as_uri()) as (page, _):
        stops = []
        for _ in range(90):
            page.keyboard.press("Tab")
            stops.append(page.evaluate(ringed))
    assert len({stop for stop, _ in stops}) > 60
    assert [stop for stop, seen in stops if not seen] == []


@pytest.mark.parametrize("javascript", [True, False])
def test_hostile_names_are_text_on_a_page(browser, site, tmp_path, monkeypatch, javascript):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    trace = json.loads(json.dumps(played.head()[0]))
    trace["title"] = HOSTILE
    for step in trace["steps"]:
        step["code"] = step["variable"] = step["op"] = step["kind"] = HOSTILE
        step["output"]["dims"] = [HOSTILE for _ in step["output"]["dims"]]
    body = pages.dress(dimensions.paint_blocks(player_html(trace)))
    text = (site / "book" / "notation.html").read_text()
    text = text.replace("../_static", f"{site.as_uri()}/_static").replace("'self'", "file:")
    player = f'<script defer src="{site.as_uri()}/_static/player.js"></script></head>'
    page_file = tmp_path / "hostile.html"
    page_file.write_text(text.replace("</article>", f"{body}</article>").replace("</head>", player))
    with opened(browser, page_file.as_uri(), javascript=javascript) as (page, _):
        if javascript:
            page.locator(".attn-host").wait_for()
            assert page.evaluate("window.hit") is None
        assert page.locator("main img").count() == 0
        cells = page.locator(".attn-fallback td").all_text_contents()
        assert sum("<img src=x onerror" in cell for cell in cells) >= 4 * len(trace["steps"])
