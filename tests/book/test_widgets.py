"""Players and labs where readers meet them: on every page, by mouse, by finger, by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.widgets.hands import Keyboard, Mouse, Touch, work_lab, work_player

from .conftest import SITE, chapters
from .page_check import listen

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

HEAD = "book/00-the-whole-pipeline.html"
TOOLS = "player-tools.js"
WIDGET = re.compile('class="attn-(player|lab)"')
SCRIPTS = "[...document.scripts].map(script => script.src.split('/').pop())"


def with_widgets() -> list[str]:
    built = [name for name in chapters() if (SITE / name).is_file()]
    return [name for name in built if WIDGET.search((SITE / name).read_text())]


@pytest.fixture
def visit(browser):
    """Open a page as hands of one kind have it; a page that says anything fails the test."""
    opened, heard = [], []

    def start(kind: type[Mouse], url: str) -> Mouse:
        context = browser.new_context(
            **kind.context, accept_downloads=True, reduced_motion="reduce"
        )
        opened.append(context)
        page = context.new_page()
        listen(page, url, heard)
        page.goto(url, wait_until="load")
        return kind(page)

    yield start
    for context in opened:
        context.close()
    assert heard == []


@pytest.mark.parametrize("kind", [Mouse, Touch, Keyboard])
@pytest.mark.parametrize("name", with_widgets())
def test_every_control_on_a_page_does_what_it_says(visit, server, kind, name):
    hands = visit(kind, f"{server}/{name}")
    for place in hands.page.locator("main .attn-player").all():
        place.scroll_into_view_if_needed()
        work_player(place, hands)
    for place in hands.page.locator("main .attn-lab").all():
        place.scroll_into_view_if_needed()
        place.locator(".attn-host").wait_for()
        work_lab(place, hands)


# ---------- what comes at its first use


FIRST_USES = {
    "Predict shapes": ".tools [aria-pressed=true]",
    "Copy table": ".reading:has-text('The table is')",
    "Present": ".attn-host[data-present]",
    "The numbers of this step as tables": "details .scroll table",
    "The same code at your sizes": ".sizes input",
}


@pytest.mark.parametrize("kind", [Mouse, Keyboard])
@pytest.mark.parametrize("tool", FIRST_USES)
def test_the_first_use_of_a_tool_fetches_it_and_does_its_work(visit, address, kind, tool):
    hands = visit(kind, f"{address}/{HEAD}")
    place = hands.page.locator(".attn-player").first
    place.locator(".caption").wait_for()
    assert TOOLS not in hands.page.evaluate(SCRIPTS)
    hands.press(place.get_by_text(tool, exact=True))
    place.locator(FIRST_USES[tool]).first.wait_for()
    assert hands.page.evaluate(SCRIPTS).count(TOOLS) == 1


@pytest.mark.parametrize("kind", [Mouse, Keyboard])
def test_who_leaves_the_full_screen_is_back_at_the_player(visit, server, kind):
    hands = visit(kind, f"{server}/book/04-the-causal-mask.html")
    place = hands.page.locator("main .attn-player").last
    place.scroll_into_view_if_needed()
    button = place.get_by_role("button", name="Present")
    button.scroll_into_view_if_needed()
    hands.page.wait_for_timeout(100)
    top = lambda: place.evaluate("player => player.getBoundingClientRect().top")  # noqa: E731
    before = top()
    hands.press(button)
    place.locator(".attn-host[data-present]").wait_for()
    hands.page.keyboard.press("Escape")
    place.locator(".attn-host:not([data-present])").wait_for()
    hands.page.wait_for_timeout(300)  # the browser leaves its full screen a little later
    assert abs(top() - before) < 2


def test_what_is_pressed_while_the_tools_come_is_done_in_its_order(visit, server):
    hands = visit(Mouse, f"{server}/{HEAD}")
    page, place = hands.page, hands.page.locator(".attn-player").first
    held = []
    page.route(f"**/{TOOLS}", lambda route: held.append(route))
    predict = place.get_by_role("button", name="Predict shapes")
    for _ in range(3):
        predict.click()
    place.get_by_role("button", name="Next").click()
    while not held:
        page.wait_for_timeout(10)
    assert predict.get_attribute("aria-pressed") is None
    held[0].continue_()
    expect(predict).to_have_attribute("aria-pressed", "true")
    assert len(held) == 1
    assert place.locator("form.ask").count(), "the step that was gone to meanwhile is asked for"


def test_tools_that_do_not_come_are_said_and_asked_for_again(browser, server):
    page = browser.new_page()
    page.goto(f"{server}/{HEAD}", wait_until="load")
    place = page.locator(".attn-player").first
    page.route(f"**/{TOOLS}", lambda route: route.abort())
    predict = place.get_by_role("button", name="Predict shapes")
    predict.click()
    expect(place.locator(".reading")).to_contain_text("Press again to try again")
    page.unroute(f"**/{TOOLS}")
    predict.click()
    expect(predict).to_have_attribute("aria-pressed", "true")
    page.close()
