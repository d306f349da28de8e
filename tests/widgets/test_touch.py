"""Fingers: every control answers a tap, sliders follow a drag, and a swipe still moves the page."""

import pytest

from attnlib.widgets import LABS, lab, save_html

from .hands import MIDDLE, PHONE, Touch, work_lab, work_player


@pytest.fixture
def held(browser, tmp_path):
    """Open a saved file on a phone; nothing may be said on its console."""
    opened, said = [], []

    def hold(save) -> Touch:
        path = tmp_path / f"{len(opened)}.html"
        save(path)
        # Room below, so that there is somewhere to scroll to.
        path.write_text(
            path.read_text().replace("</main>", '</main><p style="height: 2000px">end</p>')
        )
        context = browser.new_context(**PHONE, accept_downloads=True, reduced_motion="reduce")
        opened.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector(".attn-host")
        return Touch(page)

    yield hold
    for context in opened:
        context.close()
    assert said == []


def test_every_control_of_the_player_answers_a_finger(held, head):
    hands = held(lambda path: save_html(head[0], path))
    work_player(hands.page.locator(".attn-player"), hands)


@pytest.mark.parametrize("name", LABS)
def test_every_field_of_a_lab_answers_a_finger(held, name):
    hands = held(lab(name).save_html)
    work_lab(hands.page.locator(".attn-lab"), hands)


def swiped(hands: Touch, target) -> float:
    """Say how far the page has moved after a swipe on the target."""
    target.evaluate(MIDDLE)
    before = hands.page.evaluate("scrollY")
    hands.swipe(target, 300)
    return hands.page.evaluate("scrollY") - before


def test_a_swipe_on_the_player_moves_the_page_and_nothing_else(held, head):
    hands = held(lambda path: save_html(head[0], path))
    place = hands.page.locator(".attn-player")
    for target in (place.locator(".stage"), place.locator(".caption"), place.locator(".steps")):
        before = place.locator(".kind").text_content()
        assert swiped(hands, target) > 100
        assert place.locator(".kind").text_content() == before


@pytest.mark.parametrize("name", LABS)
def test_a_swipe_on_a_lab_moves_the_page_and_sets_nothing(held, name):
    hands = held(lab(name).save_html)
    place = hands.page.locator(".attn-lab")
    targets = [place.locator(".stage"), *place.locator("input[type=range]").all()[:2]]
    caption = place.locator(".caption").text_content()
    for target in targets:
        assert swiped(hands, target) > 100
    assert place.locator(".caption").text_content() == caption
