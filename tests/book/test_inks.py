"""Text inside figures, players and labs can be read, in both themes and at every step."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from .conftest import chapters
from .inks import Inks
from .page_check import PAINTED, opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SIZE = "width='200' height='40'"
WRITTEN = f"<svg xmlns='http://www.w3.org/2000/svg' {SIZE}>{{}}</svg>"
WORD = "<text x='20' y='25' {}>a word</text>"
DARK_HALF = "<rect width='45' height='40' fill='#222'/>"


def word(look: str, *, below: str = "") -> str:
    return WRITTEN.format(below + WORD.format(look))


def judged(browser, body: str, theme: str = "light") -> list[str]:
    page = browser.new_page(color_scheme=theme, viewport={"width": 600, "height": 400})
    page.set_content(
        f"<style>:root {{ background: light-dark(white, black); color-scheme:"
        f" light dark; fill: light-dark(black, white) }}</style><main>{body}</main>"
    )
    found = Inks(page).problems()
    page.close()
    return found


PALE, BLACK = word("fill='#888'"), word("fill='#000'")
DEEP = "<div id=deep></div><script>deep.attachShadow({ mode: 'open' }).innerHTML = `%s`</script>"
PICTURE = '<img alt="" src="data:image/svg+xml;.svg,%s" style="%s">'


@pytest.mark.parametrize(
    "body",
    [
        PALE,
        word("fill='#999' style='font-size: 30px'"),
        word("style='opacity: 0.4'"),
        WRITTEN.format(f"<g opacity='0.4'>{WORD.format('')}</g>"),
        word("", below=DARK_HALF),
        word(
            "style='transform: translate(30px, 0)'",
            below="<rect x='45' width='50' height='40' fill='#333'/>",
        ),
        word("transform='rotate(90 40 20)' fill='#888'"),
        word("fill='#fff' style='paint-order: stroke; stroke: #ccc; stroke-width: 4px'"),
        WRITTEN.format("<text x='20' y='25'>black <tspan fill='#aaa'>pale</tspan></text>"),
        DEEP % PALE,
        PICTURE % (quote(PALE), ""),
    ],
)
def test_word_that_cannot_be_read_is_found(browser, body):
    (found,) = judged(browser, body)
    assert "to 1, not" in found


def test_dark_picture_is_judged_as_it_is_shown(browser):
    """What a filter makes of a picture decides, not what its file says."""
    assert judged(browser, PICTURE % (quote(BLACK), "filter: invert(1)"), "dark") == []
    assert judged(browser, PICTURE % (quote(BLACK), "")) == []
    assert len(judged(browser, PICTURE % (quote(BLACK), ""), "dark")) == 1


@pytest.mark.parametrize(
    "body",
    [
        word(""),
        word("fill='#888' style='font-size: 30px'"),
        word("style='font-size: 20px; font-weight: 700; fill: #888'"),
        word("", below="<path d='M0 20h200' stroke='#333'/>"),
        word("fill='#fff'", below="<rect width='200' height='40' fill='#333'/>"),
        word("visibility='hidden' fill='#eee'"),
    ],
)
def test_word_that_can_be_read_is_left_alone(browser, body):
    assert judged(browser, body) == []


@pytest.mark.parametrize("name", chapters())
def test_every_word_in_a_drawing_can_be_read(browser, server, name):
    with opened(browser, f"{server}/{name}") as (page, _):
        inks, wrong = Inks(page), []
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.evaluate(PAINTED)
            wrong += [f"{theme}: {problem}" for problem in inks.problems()]
            for player in page.locator("main .attn-player .attn-host").all():
                wrong += [f"{theme}, {problem}" for problem in walk(page, inks, player)]
        assert wrong == []


def walk(page, inks, player) -> list[str]:
    """Judge a player's drawing where each of its steps begins: with what the last one gave."""
    stage, wrong = player.locator(".stage svg").first, []
    player.locator(".stage").focus()
    page.keyboard.press("Home")
    seen = None
    while seen != (now := player.locator(".headline").inner_text()):
        wrong += [f"{now}: {problem}" for problem in inks.of(stage.element_handle())]
        player.locator(".stage").focus()
        page.keyboard.press("PageDown")
        seen = now
    return wrong
