"""The player in Chromium, from one saved file: every control, every number, nothing left behind."""

import copy
import itertools
import json
import random
import re
from xml.etree import ElementTree

import pytest
import torch
from playwright.sync_api import Page
from torch.utils.flop_counter import FlopCounterMode

import attnlib
from tests.book.access import Access

from . import played
from .hands import FRAMES, open_tables

PRODUCTS = ("linear", "matmul")

ROOT = "document.querySelector('.attn-host').shadowRoot"
MANY = 8  # times a trace, and its figure no longer waits for the highest
HOSTILE = (
    "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>"
    "`'\"|\n\u001b[31m<!--<script>"
)


def caption(page: Page, nth: int = 0) -> str:
    return page.locator(".caption").nth(nth).text_content()


def where(page: Page, nth: int = 0) -> tuple[int, int]:
    found = re.match(
        r"step (\d+) of \d+ · phase (\d+)", page.locator(".headline .kind").nth(nth).text_content()
    )
    return int(found[1]), int(found[2])


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def button(page: Page, name: str):
    return page.get_by_role("button", name=name)


# ---------- controls


def test_next_steps_through_every_phase_and_back(play, modules, head):
    page = play(head[0])
    counts = modules.evaluate("phasesOf", head[0])
    every = [(s, p) for s, count in enumerate(counts, 1) for p in range(1, count + 1)]
    seen, said = [where(page)], [caption(page)]
    while button(page, "Next").is_enabled():
        button(page, "Next").click()
        seen.append(where(page))
        said.append(caption(page))
    assert seen == every
    assert all(a != b for a, b in itertools.pairwise(said)), "each phase has its own sentence"
    button(page, "Back").click()
    assert where(page) == every[-2]
    button(page, "First").click()
    assert where(page) == (1, 1)
    button(page, "Last").click()
    assert where(page) == every[-1]


def test_every_control_works_by_keyboard_alone(play, head):
    page = play(head[0])
    press(page, "Tab")
    for _ in range(20):
        if page.evaluate(f"{ROOT}.activeElement?.className === 'stage'"):
            break
        press(page, "Tab")
    press(page, "ArrowRight", "ArrowRight")
    assert where(page) == (2, 2)
    press(page, "PageDown")
    assert where(page) == (3, 1)
    press(page, "ArrowLeft", "PageUp")
    assert where(page) == (2, 1)
    press(page, "End")
    assert where(page)[0] == 11
    press(page, "Home")
    assert where(page) == (1, 1)
    press(page, " ")
    assert button(page, "Pause").is_visible()
    press(page, " ")
    assert button(page, "Play").is_visible()
    press(page, "PageDown", "ArrowRight")
    before = caption(page)
    press(page, "Tab")
    assert page.evaluate(f"{ROOT}.activeElement.dataset.pick") == "i"
    press(page, "ArrowUp")
    assert caption(page) != before
    assert page.evaluate(f"{ROOT}.activeElement.dataset.pick") == "i", "focus stays where it was"


def test_cells_can_be_walked_and_read_by_keyboard(play, head):
    page = play(head[0], place="#player-singleheadattention/6.2")
    page.locator(".stage").focus()
    press(page, "Enter")
    assert page.locator(".reading").text_content().startswith("scores at batch 0, S 2, S 1: ")
    press(page, "ArrowUp")
    reading = page.locator(".reading").text_content()
    value = head[1]["scores"][0, 1, 1].item()
    assert f"{value:.6g}".replace("-", "−") in reading
    assert reading.count("×") == 4, "the sum that made it"
    press(page, "Enter")
    assert "Row 1 of q, column 1" in caption(page)
    press(page, "Escape", "ArrowRight")
    assert where(page) == (6, 3)


def test_clicking_and_hovering_a_cell(play, head):
    page = play(head[0], place="#player-singleheadattention/6.1")
    page.locator("[data-cell='scores[0,1,2]']").click()
    assert where(page) == (6, 2)
    assert "Row 1 of q, column 2" in caption(page)
    page.locator("[data-cell='q[0,1,3]']").hover()
    assert page.locator(".reading").text_content().startswith("q at batch 0, S 1, H 3: ")


def test_keys_go_on_working_where_the_way_ends(play, head):
    """A button that cannot be pressed any further keeps the focus, or no key would be heard."""
    page = play(head[0])
    last = len(head[0]["steps"])
    for name, there, key, then in [
        ("Next", "End", "Home", (1, 1)),
        ("First", "Enter", "End", None),
        ("Last", "Enter", "ArrowRight", None),
        ("Back", "Home", "ArrowRight", (2, 1)),
    ]:
        button(page, name).focus()
        press(page, there, key)
        assert page.evaluate(f"{ROOT}.activeElement.getAttribute('aria-label')").startswith(name)
        assert where(page) == then or (then is None and where(page)[0] == last)


def test_scrub_speed_and_the_list_of_steps(play, head):
    page = play(head[0])
    page.locator(".steps button").nth(8).click()
    assert where(page) == (9, 1)
    assert page.locator(".steps [aria-current=step] .name").text_content() == "masked"
    page.get_by_label("Position in the trace").fill("1")
    assert where(page) == (1, 1)
    page.get_by_label("Speed").select_option("4")
    button(page, "Play").click()
    page.wait_for_function(
        f"{ROOT}.querySelector('.kind').textContent.startsWith('step 2')", timeout=3000
    )
    button(page, "Pause").click()


def test_playing_ends_at_the_last_phase(play):
    page = play(played.scores()[0])
    page.get_by_label("Speed").select_option("4")
    button(page, "Last").click()
    button(page, "Back").click()
    button(page, "Play").click()
    button(page, "Play").wait_for(timeout=3000)
    assert not button(page, "Next").is_enabled()


def test_links_open_a_step(play, head):
    page = play(head[0], place="#player-singleheadattention/10.3")
    assert where(page) == (10, 3)
    link = '<a href="#player-singleheadattention/5">watch the transpose</a>'
    page.locator("main").evaluate(
        "(main, link) => main.insertAdjacentHTML('afterbegin', link)", link
    )
    page.get_by_text("watch the transpose").click()
    assert where(page) == (5, 1)
    press(page, "End")
    page.get_by_text("watch the transpose").click()
    assert where(page) == (5, 1), "the same link again"


def test_the_sheet_in_front_can_be_chosen(play, head):
    page = play(head[0], place="#player-singleheadattention/1")
    page.get_by_label("batch in front").select_option("1")
    drawn = page.locator("[data-cell^='x[']").evaluate_all(
        "nodes => nodes.map(n => n.dataset.cell.slice(2, 3))"
    )
    assert set(drawn) == {"1"}
    assert "river" in page.locator(".stage").text_content()


# ---------- numbers


@pytest.mark.parametrize("make", [played.head, played.heads])
def test_the_numbers_on_the_page_are_pytorchs(play, modules, make):
    trace, tensors = make()
    page = play(trace)
    shown = set()
    for _ in range(sum(modules.evaluate("phasesOf", trace))):
        drawn = page.locator(".cell[data-cell]").evaluate_all(
            "nodes => nodes.map(n => [n.dataset.cell, n.textContent])"
        )
        for cell, text in drawn:
            name, index = cell.rstrip("]").split("[")
            if name not in tensors or text in ("", "True", "False"):
                continue
            want = tensors[name][tuple(map(int, index.split(",")))].item()
            got = float(text.replace("−", "-").replace("∞", "inf"))
            assert got == want or abs(got - want) <= 0.0501, cell
            if len(text.partition(".")[2]) == 2:
                assert abs(got - want) <= 0.00501, cell
            shown.add(name)
        page.keyboard.press("ArrowRight") if page.evaluate(
            f"{ROOT}.activeElement"
        ) else page.locator(".stage").press("ArrowRight")
    assert shown | {"mask"} >= set(tensors)


def test_the_tables_hold_every_number_of_a_step(play, head):
    page = play(head[0], place="#player-singleheadattention/6")
    open_tables(page)
    tables = page.locator(".scroll table")
    assert tables.count() == 6, "two sheets each of q, k transposed and scores"
    for nth, name, batch in ((0, "q", 0), (1, "q", 1), (4, "scores", 0), (5, "scores", 1)):
        rows = (
            tables.nth(nth)
            .locator("tbody tr")
            .evaluate_all(
                "rows => rows.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
            )
        )
        got = torch.tensor([[float(text.replace("−", "-")) for text in row] for row in rows])
        torch.testing.assert_close(got, head[1][name][batch], atol=0.00501, rtol=0)


# ---------- more than one, hostile ones, other places


def test_two_players_do_not_disturb_each_other(play, head):
    first, second = head[0], played.scores()[0]
    page = play(first)
    page.evaluate("addPlayer", [second, "player-second"])
    page.locator(".stage").nth(1).press("End")
    page.locator(".stage").nth(0).press("ArrowRight")
    assert where(page, 0) == (2, 1)
    assert where(page, 1)[0] == 5
    page.evaluate("location.hash = '#player-second/3'")
    page.wait_for_timeout(100)
    assert where(page, 0) == (2, 1)
    assert where(page, 1) == (3, 1)
    ids = page.locator("h3").evaluate_all("nodes => nodes.map(node => node.id)")
    assert len(set(ids)) == 2


def test_two_players_of_one_name_have_two_ids_and_links_mean_the_first(play, head):
    page = play(head[0])
    page.evaluate("addPlayer", [head[0], "player-singleheadattention"])
    ids = page.locator(".attn-player").evaluate_all("all => all.map(place => place.id)")
    assert ids == ["player-singleheadattention", "player-singleheadattention-2"]
    page.evaluate("location.hash = '#player-singleheadattention/3'")
    page.wait_for_timeout(100)
    assert [where(page, n) for n in (0, 1)] == [(3, 1), (1, 1)]
    page.evaluate("location.hash = '#player-singleheadattention-2/5'")
    page.wait_for_timeout(100)
    assert [where(page, n) for n in (0, 1)] == [(3, 1), (5, 1)]


def test_a_player_that_takes_anothers_place_opens_where_the_reader_was(play, head):
    page = play(head[0], place="#player-singleheadattention/6.3")
    page.evaluate("history.replaceState(null, '', ' ')")
    page.evaluate("document.querySelector('.attn-player').remove()")
    page.evaluate("addPlayer", [head[0], "player-singleheadattention"])
    assert where(page) == (6, 3)
    page.evaluate("addPlayer", [played.scores()[0], "player-other"])
    assert where(page, 1) == (1, 1)


def test_a_warning_is_told_of_before_its_step_is_reached(play, head):
    trace = copy.deepcopy(head[0])
    scores = trace["steps"][5]
    trace["warnings"] = [
        {"line": scores["line"], "code": scores["code"], "message": "Sums over the wrong dim."}
    ]
    page = play(trace)
    warned = [step["index"] for step in trace["steps"] if step["code"] == scores["code"]]
    assert where(page) == (1, 1) and warned[0] > 1
    assert page.locator(".deck").text_content().endswith(f" · warning at step {warned[0]}")
    marks = page.locator(".steps li:has(.warned) .nth")
    assert marks.all_text_contents() == [str(index) for index in warned]
    assert page.locator(".body .warning").text_content() == ""
    page.locator(".steps li:has(.warned) button").first.click()
    assert page.locator(".body .warning").text_content() == "Sums over the wrong dim."
    assert "warning" not in play(head[0]).locator(".deck").text_content()


def test_a_saved_file_hears_keys_from_the_start(play, head):
    page = play(head[0])
    press(page, "ArrowRight")
    assert where(page) == (2, 1)


@pytest.mark.parametrize("height", [600, 720, 900, 1000, 1300])
def test_next_stays_under_the_hand_in_a_saved_file(play, height):
    """Long lines wrap, sentences grow, figures are low and high: who clicks goes on clicking."""
    trace, _ = played.heads()
    for step in trace["steps"][3::2]:
        step["code"] = "heads = " + " + ".join(["x.view(B, T, n_head, C // n_head)"] * 4)
    page = play(trace)
    page.set_viewport_size({"width": 1280, "height": height})
    page.evaluate(FRAMES)
    at = button(page, "Next").bounding_box()
    deep = page.locator(".rest").bounding_box()["y"]
    assert at["y"] + at["height"] <= height
    clicks = 0
    while button(page, "Next").get_attribute("aria-disabled") != "true":
        page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
        clicks += 1
        assert button(page, "Next").bounding_box() == at
        said = page.locator(".caption").bounding_box()
        assert said["y"] >= 0 and said["y"] + said["height"] <= deep, "the sentence is in sight"
    assert clicks == int(page.locator(".scrub input").get_attribute("max")) - 1
    tool = button(page, "Present")
    tool.focus()
    tool.press("Shift+Tab")
    page.evaluate(FRAMES)
    focused = button(page, "Save SVG").bounding_box()
    assert focused["y"] + focused["height"] <= height


def test_next_stays_under_the_hand_in_the_middle_of_a_page(play):
    """Each step is as high as it needs, and the page, as the book, scrolls smoothly."""
    trace, _ = played.heads()
    trace["steps"] = [
        {**step, "index": index} for index, step in enumerate(trace["steps"] * MANY, start=1)
    ]
    page = play(trace)
    page.evaluate(
        """() => {
          document.documentElement.style.scrollBehavior = 'smooth';
          for (const where of ['afterbegin', 'beforeend'])
            document.querySelector('main').insertAdjacentHTML(where, '<p style="height: 1500px">');
          document.documentElement.style.setProperty('--attn-tall', '0');
        }"""
    )
    page.set_viewport_size({"width": 1280, "height": 860})
    tools = page.locator("summary", has_text="tables")
    tools.evaluate("node => node.scrollIntoView({ block: 'end', behavior: 'instant' })")
    page.evaluate(FRAMES)
    at = button(page, "Next").bounding_box()
    heights = set()
    for name in ["Next (right arrow)"] * 30 + ["Back (left arrow)"] * 20:
        found = button(page, name).bounding_box()
        page.mouse.click(found["x"] + 20, at["y"] + 20)
        page.evaluate(FRAMES)
        assert abs(button(page, name).bounding_box()["y"] - at["y"]) < 5
        heights.add(page.locator(".stage").bounding_box()["height"])
    assert len(heights) > 1, "a figure grew"


IN_SIGHT = """() => {
  const box = name => ROOT.querySelector(name).getBoundingClientRect();
  const figure = box('.stage svg'), [end, foot] = [box('.keys').top, innerHeight];
  const seen = Math.min(figure.bottom, end, foot) - Math.max(figure.top, 0);
  return seen / figure.height;
}""".replace("ROOT", ROOT)
MOVES = {
    "a click on Next": lambda page: button(page, "Next").click(),
    "Enter on Next": lambda page: button(page, "Next").press("Enter"),
    "Play": lambda page: button(page, "Play").click(),
    "a key": lambda page: page.keyboard.press("ArrowRight"),
    "the slider": lambda page: page.locator(".scrub input").press("ArrowRight"),
}


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1366, 768), (390, 844)])
def test_who_sets_the_player_going_sees_its_figure(play, head, width, height, motion):
    """The keys can stand at the window's foot while the figure is still below that, or above."""
    page = play(head[0], width=width, reduced_motion=motion)
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(
        """() => {
          if (!matchMedia('(prefers-reduced-motion: reduce)').matches)
            document.documentElement.style.scrollBehavior = 'smooth';
          for (const where of ['afterbegin', 'beforeend'])
            document.querySelector('main').insertAdjacentHTML(where, '<p style="height: 1500px">');
          document.documentElement.style.setProperty('--attn-tall', '0');
        }"""
    )
    by = "([name, y]) => scrollBy({ behavior: 'instant', top: ROOT.querySelector(name)"
    by = by.replace("ROOT", ROOT) + ".getBoundingClientRect().top - y })"
    for name, act in MOVES.items():
        page.locator(".stage").press("Home")
        page.wait_for_timeout(0 if motion == "reduce" else 700)  # it may scroll there
        page.evaluate(by, [".caption", height - 200])
        page.evaluate(FRAMES)
        keys = page.locator(".keys").bounding_box()["y"]
        assert page.evaluate(IN_SIGHT) < 0.3 and keys < height, "as a reader may find it"
        act(page)
        page.wait_for_function(f"({IN_SIGHT})() > 0.9", timeout=3000)
        if motion == "reduce":
            assert abs(page.locator(".keys").bounding_box()["y"] - keys) < 5, "under the hand"
        if name == "Play":
            button(page, "Pause").click()
    page.evaluate(by, [".stage svg", 20])
    page.evaluate(FRAMES)
    before = page.evaluate("scrollY")
    button(page, "Next").press("Enter")
    page.wait_for_timeout(200)
    moved = abs(page.evaluate("scrollY") - before)
    assert moved < 60, "what is in sight stays there, but for a line that its words take or leave"


def test_what_is_to_be_predicted_is_passed_over_in_one_step(play):
    """Of a step that is hidden there are no phases to go through."""
    page = play(played.heads()[0])
    button(page, "Predict shapes").click()
    for step in range(2, 7):
        button(page, "Next").click()
        assert where(page) == (step, 1)
        assert page.locator(".ask").count() == 1
    press(page, "ArrowLeft", "ArrowLeft")
    assert where(page) == (4, 1)
    button(page, "Show me").click()
    button(page, "Next").click()
    assert where(page) == (4, 2)


@pytest.mark.parametrize("code", [lambda q, k: q.transpose(1, 2) @ k, lambda q, k: q + k[:, :, 1:]])
def test_a_line_that_fails_says_why_and_what_to_try(play, code):
    tensors = torch.randn(2, 2, 3, 5, 4)
    found = attnlib.trace(code, *tensors, dims="batch heads S H", on_error="return")
    page = play(found.to_dict())
    page.locator(".stage").press("End")
    assert page.locator(".body .warning").text_content() == found.error.message
    assert "torch: The size of tensor a" in page.locator(".body .warning").text_content()
    page.locator(".stage").press("Home")
    assert page.locator(".body .warning").text_content() == ""


def test_long_names_have_room_in_the_list_and_beside_the_figure(play):
    """A head's size that has no name of its own, as most code writes it."""

    def scores(x, n_head):
        B, T, C = x.shape
        heads = x.view(B, T, n_head, C // n_head).transpose(1, 2)
        return heads @ heads.transpose(-2, -1)

    trace = attnlib.trace(scores, torch.randn(2, 5, 12), 3, dims="batch S n_embd").to_dict()
    page = play(trace)
    lines = page.locator(".steps .name").evaluate_all(
        "names => names.map(name => [name.textContent, name.offsetHeight])"
    )
    for name, height in lines:
        assert height <= 24 * (1 + len(name) // 20), "no word is broken"
    page.locator(".stage").press("End")
    figure = page.locator(".stage").bounding_box()
    labels = page.locator(".stage text").evaluate_all(
        "all => all.filter(text => text.textContent.includes('//'))"
        ".map(text => [text.textContent, text.getBoundingClientRect().left])"
    )
    drawn = page.locator(".stage svg").bounding_box()
    assert len(labels) > 1
    for text, left in labels:
        assert left >= max(figure["x"], drawn["x"]) - 1, text


def test_hostile_strings_are_text(play, head):
    trace = copy.deepcopy(head[0])
    trace["title"] = HOSTILE
    trace["roles"] = {HOSTILE: "S", "__proto__": "batch", "batch": HOSTILE}
    trace["tokens"] = [HOSTILE] * 6
    trace["warnings"] = [
        {"line": 2, "code": HOSTILE, "message": HOSTILE, "dims": [HOSTILE, HOSTILE]}
    ]
    for step in trace["steps"]:
        step["code"] = step["variable"] = step["note"] = HOSTILE
        for tensor in [*step["inputs"], step["output"]]:
            tensor["name"] = HOSTILE + str(step["index"])
            tensor["dims"] = [HOSTILE, "constructor", *tensor["dims"]][: len(tensor["dims"])]
    page = play(trace)
    for _ in range(40):
        page.locator(".stage").press("ArrowRight")
    open_tables(page)
    assert page.evaluate("window.hit") is None
    assert page.evaluate(f"{ROOT}.querySelectorAll('img').length") == 0
    assert "<script>" in page.locator(".title").text_content()


def mutate(value, chance: random.Random):
    """Change a trace somewhere: drop, repeat, swap types, grow, nest."""
    odd = [
        None,
        -1,
        0,
        1.5,
        1e308,
        "",
        "nan",
        "x" * 500,
        [],
        {},
        [[]],
        True,
        {"a": []},
        [None],
        2**60,
        HOSTILE,
    ]
    if chance.random() < 0.0015:
        return chance.choice(odd)
    if isinstance(value, dict):
        return {key: mutate(item, chance) for key, item in value.items() if chance.random() > 0.001}
    if isinstance(value, list):
        items = [mutate(item, chance) for item in value if chance.random() > 0.0003]
        return items + items[:1] if chance.random() < 0.002 else items
    return value


@pytest.mark.parametrize("seed", range(5))
def test_mutated_traces_give_a_message_or_play_and_never_throw(modules, seed):
    chance = random.Random(seed)
    made = [
        lambda: played.head()[0],
        lambda: played.heads()[0],
        played.kinds,
        lambda: played.scores()[0],
    ]
    traces = [mutate(make(), chance) for _ in range(25) for make in made]
    outcome = modules.evaluate("traces => playAll(JSON.parse(traces))", json.dumps(traces))
    assert outcome["wrong"] == []
    assert outcome["played"] > 10
    assert outcome["refused"] > 10


def test_random_actions_leave_a_valid_player_and_no_listener(play, head):
    page = play(head[0])
    page.evaluate("countListeners")
    page.evaluate("document.querySelector('.attn-player').remove()")
    page.evaluate("addPlayer", [head[0], "again"])
    assert page.evaluate("listeners") > 5
    state = page.evaluate("actAtRandom", 11)
    assert state[0].endswith(".")
    assert re.match(r"step \d+ of 11 · phase \d", state[1])
    page.evaluate(
        "document.querySelector('.attn-player').remove(); window.attnlibPlayer.mountAll();"
    )
    assert page.evaluate("listeners") == 0


# ---------- looks


def test_dark_and_light_follow_the_page(play, head):
    page = play(head[0], color_scheme="light")
    paper = f"getComputedStyle({ROOT}.querySelector('.frame')).backgroundColor"
    light = page.evaluate(paper)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(50)
    dark = page.evaluate(paper)
    assert (light, dark) == ("rgb(253, 252, 249)", "rgb(22, 24, 27)")
    page.evaluate("delete document.documentElement.dataset.theme")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_timeout(50)
    assert page.evaluate(paper) == dark


def test_nothing_travels_with_reduced_motion(play, head):
    page = play(head[0], reduced_motion="reduce", place="#player-singleheadattention/5.2")
    assert (
        page.locator(".mark").first.evaluate("node => getComputedStyle(node).transitionDuration")
        == "0s"
    )
    assert (
        page.locator(".mark").first.evaluate("node => getComputedStyle(node).animationName")
        == "none"
    )


def test_neighbours_do_not_lie_on_the_outline_of_a_cell(play, head):
    page = play(head[0], place="#player-singleheadattention/5.3", reduced_motion="reduce")
    outlined = page.locator(".cell.on rect").evaluate_all(
        "all => all.map(r => [+r.getAttribute('x'), +r.getAttribute('y'), r.parentNode.getBBox()])"
    )
    assert len(outlined) >= 6
    assert all(x > 0.75 and y > 0.75 for x, y, _ in outlined), "half of its own line, and theirs"


def test_cells_travel_from_k_to_its_transposed(play, head):
    page = play(head[0], place="#player-singleheadattention/5.1")
    cell = page.locator("[data-cell='k[0,2,0]']").first
    page.wait_for_timeout(800)
    cell.evaluate("node => { window.kept = node; window.was = node.getBoundingClientRect().x; }")
    page.locator(".stage").press("ArrowRight")
    page.wait_for_timeout(250)
    between = page.evaluate(
        "[window.kept.isConnected, window.kept.dataset.cell, window.kept.getBoundingClientRect().x]"
    )
    page.wait_for_timeout(800)
    there = page.evaluate("window.kept.getBoundingClientRect().x")
    assert between[:2] == [True, "k transposed[0,0,2]"]
    assert page.evaluate("window.was") < between[2] < there


@pytest.mark.parametrize("width", [1280, 1000, 700, 390])
def test_the_controls_stay_put_and_nothing_scrolls_sideways(play, head, width):
    page = play(head[0], width=width)
    tops = set()
    for _ in range(28):
        tops.add(page.locator(".scrub").bounding_box()["y"])
        page.locator(".stage").press("ArrowRight")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    boxes = [
        page.locator(name).bounding_box() for name in (".headline", ".words", ".stage", ".picks")
    ]
    boxes.sort(key=lambda box: box["y"])
    for above, below in itertools.pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"] + 1, "nothing stands on anything else"
    assert max(tops) - min(tops) <= 60, "a wrapped headline or picker line at most"


def test_on_a_phone_what_has_the_focus_is_not_under_the_bar(play, head):
    page = play(head[0], width=390)
    bar = page.locator(".keys").bounding_box()["y"]
    ends = page.locator(".steps button, .tools button").evaluate_all(
        "nodes => nodes.map((node) => (node.focus(), node.getBoundingClientRect().bottom))"
    )
    assert len(ends) >= 11 + 4, "the steps, and the tools"
    assert max(ends) <= bar


@pytest.mark.parametrize("width", [1200, 1000, 390])
def test_the_tab_key_goes_as_the_controls_stand(play, head, width):
    """The keys, the slider, the tools; the steps last where they stand below."""
    page = play(head[0], width=width)
    bar = (".keys", ".rest")
    for place in ("0", "document.documentElement.scrollHeight"):
        page.evaluate(f"scrollTo(0, {place})")
        page.evaluate(FRAMES)
        keys, rest = (page.locator(name).bounding_box() for name in bar)
        assert (keys["y"], keys["x"]) < (rest["y"] + rest["height"] / 2, rest["x"] + 1)
        assert width > 560 or keys["y"] + keys["height"] <= rest["y"] + 1
    page.locator(".stage").focus()
    parts = []
    for _ in range(40):
        press(page, "Tab")
        part = page.evaluate(
            f"{ROOT}.activeElement?.closest('.keys, .rest, .tools, .steps')?.className"
        )
        if part not in parts:
            parts.append(part)
    assert [part for part in parts if part] == ["keys", "rest", "tools", "steps"]
    below = page.locator(".steps").bounding_box(), page.locator(".body").bounding_box()
    if width < 1080 and below[1]:
        assert below[0]["y"] >= below[1]["y"] + below[1]["height"]


def predict(page: Page) -> None:
    """Ask for a shape, and give a wrong answer, so that the reply stands there."""
    button(page, "Predict shapes").click()
    for group in page.locator("fieldset").all():
        group.locator("input").first.check()
    button(page, "Check").click()


def dims_live(page: Page) -> None:
    """Open the tables, and the sliders at sizes that are warned of."""
    open_tables(page)
    page.get_by_text("The same code at your sizes").click()
    page.get_by_role("slider", name="S", exact=True).fill("3")
    assert page.locator(".verdict").text_content().startswith("Dangerous")


# As a reader finds it, in the middle of four operations, and with its tools open.
STATES = {
    "start": None,
    **{step: f"#player-singleheadattention/{step}" for step in ("2.2", "5.2", "9.2", "10.3")},
    "dims live": dims_live,
    "predict": predict,
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_access_holds_in_every_state(play, head, scheme, width):
    page = play(head[0], width=width, color_scheme=scheme, reduced_motion="reduce")
    access, found = Access(page), {}
    for state, act in STATES.items():
        if isinstance(act, str):
            page.evaluate("link => location.hash = link", act)
        elif act:
            act(page)
        page.wait_for_timeout(100)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found[state] = (access.problems(), max(0, wide))
    assert {where: what for where, what in found.items() if what != ([], 0)} == {}


# ---------- predict, dims live, what a reader takes along


def answer(page: Page, dims: list[str], labels: list[str]) -> None:
    """Answer a question by keyboard: Tab to each axis, arrows to a name, Enter."""
    for label in dims:
        press(page, "Tab")
        steps = labels.index(label)
        press(page, *(["ArrowDown"] * steps or [" "]))
    press(page, "Enter")


@pytest.mark.parametrize("module", ["head", "heads"])
def test_predict_can_be_finished_by_keyboard_alone(play, head, module):
    trace = head[0]
    if module == "heads":
        layer = attnlib.MultiHeadAttention(8, 2, fused=False)
        trace = attnlib.trace(layer, torch.ones(1, 3, 8), dims="batch S n_embd").to_dict()
    page = play(trace)
    page.get_by_role("button", name="Predict shapes").focus()
    press(page, "Enter")
    assert page.locator(".steps .shape").nth(1).text_content() == "(?, ?, ?)"
    assert page.locator(".reading").text_content().startswith("Go on: ")
    page.locator(".stage").focus()
    for step in trace["steps"][1:]:
        press(page, "PageDown")
        assert caption(page).startswith(f"Predict the shape of {step['variable']} ")
        options = page.locator("fieldset").first.locator("input")
        labels = options.evaluate_all("nodes => nodes.map(node => node.value)")
        answer(page, step["output"]["dims"], labels)
        assert page.locator(".ask").count() == 0, step["variable"]
        told = page.locator(".reading").text_content()
        assert told.startswith("Right: ") and told.endswith(
            f"({', '.join(step['output']['dims'])})."
        )
    asked = len(trace["steps"]) - 1
    assert f"{asked} of {asked} at the first try" in page.locator(".kind").text_content()


def test_a_tempting_answer_is_explained_and_costs_the_first_try(play, head):
    page = play(head[0], place="#player-singleheadattention/6")
    page.get_by_role("button", name="Predict shapes").click()
    for axis, label in enumerate(("batch", "S", "H")):
        page.locator("fieldset").nth(axis).locator(f"input[value={label}]").check()
    page.get_by_role("button", name="Check").click()
    reply = page.locator(".reply").text_content()
    assert reply.startswith("Axis 2 is not H. H is the inner dim: it is summed away")
    page.locator("fieldset").nth(2).locator("input[value=S]").check()
    page.get_by_role("button", name="Check").click()
    assert "0 of 1 at the first try" in page.locator(".kind").text_content()
    page.get_by_role("button", name="Predict shapes").click()
    assert page.locator(".steps .shape").nth(9).text_content() == "(batch, S, S)"


def test_after_a_click_the_space_bar_plays(play, head):
    page = play(head[0])
    button(page, "Next").click()
    at = where(page)
    page.keyboard.press(" ")
    assert button(page, "Pause").count() == 1 and where(page) == at
    button(page, "Next").focus()  # by the keyboard it presses what has the focus, as everywhere
    page.keyboard.press(" ")
    assert where(page) != at


def test_numbers_that_were_not_recorded_say_what_records_them(play):
    run = lambda tiny, **where: attnlib.trace(  # noqa: E731
        torch.nn.Linear(24, 5, **where), torch.ones(2, 7, 24, **where), tiny=tiny
    )
    for traced, told in (
        (run(256), "numbers not recorded (trace(…, tiny=336) records them)"),
        (run(336), ""),
        (run(336, device="meta"), "numbers not recorded"),
    ):
        page = play(traced.to_dict())
        open_tables(page)
        said = page.locator("details .scroll p").first.text_content()
        assert said.endswith(told or "= (2, 7, 24)")


def test_no_other_place_shows_a_shape_that_is_asked_for(play, head):
    page = play(head[0], place="#player-singleheadattention/6")
    page.get_by_text("The same code at your sizes").click()
    page.locator(".sizes tbody").wait_for()
    open_tables(page)
    page.get_by_role("button", name="Predict shapes").click()
    said = page.locator(".attn-host").evaluate(
        "host => host.shadowRoot.querySelector('.player').innerText"
    )
    assert "(batch, S, S)" not in said
    page.get_by_role("button", name="Show me").click()
    assert not page.locator(".reading").text_content(), "what is given up is not told to be right"
    page.get_by_role("button", name="Predict shapes").click()
    assert page.locator(".sizes tbody").is_visible()


def test_other_sizes_give_pytorchs_shapes_and_parameters(play, modules):
    layer = attnlib.MultiHeadAttention(8, 2, fused=False)
    trace = attnlib.trace(layer, torch.ones(1, 3, 8), dims="batch S n_embd").to_dict()
    sizes = {"batch": 4, "S": 5, "n_embd": 24, "heads": 3, "H": 8}
    other = attnlib.MultiHeadAttention(24, 3, fused=False)
    run = attnlib.trace(other, torch.ones(4, 5, 24), dims="batch S n_embd").to_dict()
    counted = modules.evaluate("countAt", [trace, sizes])
    assert counted["shapes"] == [[step["output"]["shape"]] for step in run["steps"]]
    assert counted["parameters"] == sum(p.numel() for p in other.parameters())
    with FlopCounterMode(display=False) as counter:
        other(torch.ones(4, 5, 24), return_weights=True)
    products = [w for w, op in zip(counted["work"], counted["ops"], strict=True) if op in PRODUCTS]
    assert sum(products) == counter.get_total_flops()


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"batch": 1, "S": 4, "n_embd": 8, "heads": 2, "H": 4}, "dangerous"),
        ({"batch": 1, "S": 3, "n_embd": 8, "heads": 3, "H": 8 / 3}, "illegal"),
        ({"batch": 64, "S": 4096, "n_embd": 8, "heads": 2, "H": 4}, "out of range"),
        ({"batch": 1, "S": 3, "n_embd": 8, "heads": 2, "H": 4}, ""),
    ],
)
def test_a_choice_of_sizes_is_judged(modules, sizes, says):
    layer = attnlib.MultiHeadAttention(8, 2, fused=False)
    trace = attnlib.trace(layer, torch.ones(1, 3, 8), dims="batch S n_embd").to_dict()
    assert modules.evaluate("countAt", [trace, sizes])["verdict"] == says


def test_parts_of_a_dim_are_counted_and_what_has_no_name_keeps_its_size(modules):
    def parts(x):
        half, _ = x.chunk(2, -1)
        return half @ x[..., :3].mT, torch.cat([x, x], -1)

    trace = attnlib.trace(parts, torch.ones(2, 5, 6), dims="batch S n_embd").to_dict()
    at = modules.evaluate("countAt", [trace, {"batch": 3, "S": 7, "n_embd": 9}])
    shapes = dict(zip(at["ops"], at["shapes"], strict=True))
    assert shapes["chunk"] == [[3, 7, 4], [3, 7, 4]]
    assert shapes["cat"] == [[3, 7, 18]]
    assert all(size is not None for each in at["shapes"] for shape in each for size in shape)
    labels = ["n_embd//2*S", "S*n_embd//2", "n_embd//2*S*batch", "7*S"]
    for label, size in zip(labels, [9 // 2 * 7, 7 * (9 // 2), 9 // 2 * 7 * 3, 49], strict=True):
        other = copy.deepcopy(trace)
        other["steps"][0]["output"]["dims"] = [label, "S", "n_embd"]
        at = modules.evaluate("countAt", [other, {"batch": 3, "S": 7, "n_embd": 9}])
        assert at["shapes"][0] == [[size, 7, 9]]
    trace["sizes"].pop("n_embd")  # a name that stands for several sizes is in no list of sizes
    kept = modules.evaluate("countAt", [trace, {"batch": 3, "S": 7}])["shapes"]
    assert kept[1] == [[3, 7, 3], [3, 7, 3]]


def test_a_tensor_of_many_axes_plays(play):
    deep = attnlib.trace(lambda x: x.sum(-1), torch.ones([2] * 12)).to_dict()
    page = play(deep)
    page.get_by_role("button", name="Last").click()
    assert page.locator(".headline .kind").text_content().startswith("step 2 of 2")


@pytest.mark.parametrize("op", ["constructor", "toString", "__proto__"])
def test_an_operation_named_as_what_every_object_has_plays(modules, op):
    trace = copy.deepcopy(played.head()[0])
    for step in trace["steps"]:
        step["op"] = step["kind"] = op
    assert modules.evaluate("playAll", [trace]) == {"wrong": [], "played": 1, "refused": 0}


def test_sliders_count_again_and_say_what_is_wrong(play, head):
    page = play(head[0])
    page.get_by_text("The same code at your sizes").click()
    page.get_by_role("slider", name="S", exact=True).fill("3")
    row = page.locator(".sizes tbody tr").nth(5)
    assert "(batch, S, S) = (2, 4, 4)" in row.text_content()
    assert page.locator(".verdict").text_content().startswith("Dangerous: S = 4 and H = 4")


def test_the_table_is_copied_as_markdown(play, head):
    trace = copy.deepcopy(head[0])
    trace["steps"][1]["code"] = "q = a | `b`\n<b>"
    page = play(trace)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy table").click()
    page.get_by_text("The table is on the clipboard").wait_for()
    page.get_by_role("button", name="Copied").wait_for()
    page.get_by_role("button", name="Copy table").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(lines) == 13
    assert (
        "| k transposed | k.transpose(-2, -1) | transpose | k | (batch, H, S) | (2, 4, 3) |"
        in lines[6]
    )
    assert r"q = a \| \`b\` \<b\>" in lines[3]


def test_a_step_is_saved_as_svg(play, head, tmp_path):
    page = play(head[0], place="#player-singleheadattention/9.2", reduced_motion="reduce")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save SVG").click()
    path = tmp_path / "step.svg"
    waiting.value.save_as(path)
    root = ElementTree.parse(path).getroot()
    text = "".join(root.itertext())
    assert text.startswith("Where mask says False the score becomes −∞")
    assert "S = 3 keys" in text
    assert "var(" not in path.read_text()
    drawn = [node for node in root.iter() if node.get("data-cell", "").startswith("masked")]
    assert len(drawn) == 9


def test_present_keeps_the_pickers_above_the_keys(play, head):
    page = play(head[0])
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_role("button", name="Present").click()
    page.wait_for_timeout(300)
    picker = page.get_by_role("combobox", name="batch in front").bounding_box()
    assert picker["y"] + picker["height"] <= page.locator(".bar").bounding_box()["y"] + 1


def test_present_fills_the_screen_and_escape_ends_it(play, head):
    page = play(head[0], width=1920)
    page.get_by_role("button", name="Present").click()
    page.wait_for_timeout(300)
    box = page.locator(".attn-host").bounding_box()
    assert (box["x"], box["y"], box["width"]) == (0, 0, 1920)
    assert page.locator(".keys").bounding_box()["y"] < 900
    page.locator(".stage").press("ArrowRight")
    assert where(page) == (2, 1)
    page.locator(".stage").press("Escape")
    page.wait_for_timeout(300)
    assert page.locator(".attn-host").bounding_box()["width"] < 1300
