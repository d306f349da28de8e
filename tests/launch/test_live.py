"""Live cells: a page's own cells run in a real kernel, edited or not, and a dead one is told of."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

import kernels
import serve

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
SITE = Path(os.environ.get("BOOK_SITE", serve.HTML))
PAGE = "book/index.html"
PATIENT = {"timeout": 90_000}
BUILD = [
    {"phase": "waiting", "message": "Waiting\n"},
    {"phase": "building", "message": "Step 1\n"},
    {"phase": "ready", "message": "server running\n"},
]


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """The built pages, as `make serve` shows them; the address of their origin."""
    if not (SITE / "index.html").is_file():
        pytest.fail("there is no built book: run `make book` first")
    with serve.Server((kernels.HOST, 0), partial(serve.Quiet, directory=SITE)) as run:
        Thread(target=run.serve_forever, daemon=True).start()
        yield f"http://{kernels.HOST}:{run.server_port}"
        run.shutdown()


@pytest.fixture(scope="module")
def jupyter(pages: str) -> Iterator[str]:
    with kernels.kernels(pages) as live:
        assert live, "the Jupyter server did not start"
        yield live


def running(jupyter: str) -> list[str]:
    """The ids of the kernels that a server runs."""
    port, token = jupyter.split("/")
    address = f"http://{kernels.HOST}:{port}/api/kernels"
    with urlopen(Request(address, headers={"Authorization": f"token {token}"})) as answer:
        return [kernel["id"] for kernel in json.load(answer)]


def count(jupyter: str, wanted: int) -> bool:
    """Wait until a server runs so many kernels."""
    for _ in range(40):
        if len(running(jupyter)) == wanted:
            return True
        time.sleep(0.25)
    return False


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.asked = []
    page.heard = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    yield page
    context.close()


def make_live(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).first.click()
    page.get_by_role("button", name="Run the cells on this page").click()
    expect(page.locator(".live")).to_be_visible()
    folded = page.locator("main .cell").first.get_by_text("Show code cell source")
    if folded.is_visible():
        folded.click()


def traced_page(page: Page, pages: str, jupyter: str) -> tuple[Locator, list[str]]:
    """Open the page on which code is traced; where it says what runs, and the code of its cells."""
    page.goto(f"{pages}/book/trace-your-own-code.html#live={jupyter}")
    make_live(page)
    code = page.locator("main .cell pre[role=textbox]").all_text_contents()
    return page.locator(".live [role=status]"), code


def leave(page: Page, pages: str, jupyter: str) -> None:
    """Leave a page in which something was typed; its kernel ends."""
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto(f"{pages}/{PAGE}")
    assert count(jupyter, 0)


def write(page: Page, number: int, code: str) -> None:
    """Put code in place of what a cell holds, as a person with a keyboard does."""
    box = page.get_by_role("textbox", name=f"Code of cell {number}", exact=True)
    box.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(code)


def test_cells_run_are_edited_and_run_again_and_a_dead_kernel_is_told(
    page: Page, pages: str, jupyter: str
) -> None:
    page.goto(f"{pages}/{PAGE}#live={jupyter}")
    assert page.evaluate("location.hash") == ""  # the token is not left in the address
    assert [url for url in page.asked if "kernel.js" in url or jupyter.split("/")[0] in url] == []
    said = page.locator(".live [role=status]")
    make_live(page)
    expect(said).to_contain_text("Ready", **PATIENT)
    assert count(jupyter, 1)
    first = page.locator("main .cell").first
    before = first.locator(".cell_output").inner_text()

    first.get_by_role("button", name="Run cell 1").click()
    expect(said).to_contain_text("Cell 1 has run", **PATIENT)
    player = first.locator(".attn-player")
    expect(player).to_have_count(1)
    expect(player.locator(".attn-host")).to_have_count(1)
    assert first.locator(".cell_output").inner_text() == before  # the page told the truth

    write(
        page,
        1,
        "from attnlib import trace\nimport torch\ndef twice(y):\n    z = y + y\n    return z",
    )
    page.keyboard.press("End")
    page.keyboard.press("Enter")  # the line after `return z` begins where that one did
    page.keyboard.insert_text("never")
    assert page.locator("main .cell pre").first.inner_text().endswith("    return z\n    never")
    write(
        page, 1, "import torch\nfrom attnlib import trace\ntrace(lambda y: y + y, torch.ones(2, 7))"
    )
    page.keyboard.press("Shift+Enter")
    expect(player).to_have_attribute("data-title", re.compile("lambda"), **PATIENT)
    expect(said).to_have_text(
        "Cell 1 has run. What stands below it is from before: Run all renews it.", **PATIENT
    )
    caption = player.locator(".caption")
    told = caption.text_content()
    player.get_by_role("button", name=re.compile("^Next")).first.click()
    expect(caption).not_to_have_text(told)

    write(page, 1, "print('one')\nimport sys\nprint('two', file=sys.stderr)\n1 / 0")
    page.keyboard.press("Shift+Enter")
    expect(said).to_contain_text("Cell 1 ended in an error", **PATIENT)
    expect(first.locator(".stdout")).to_have_text("one\n")
    expect(first.locator(".stderr")).to_have_text("two\n")
    expect(first.locator(".traceback")).to_contain_text("ZeroDivisionError: division by zero")

    write(page, 1, "import os\nos._exit(1)")
    page.keyboard.press("Shift+Enter")
    expect(said).to_contain_text("The kernel died", **PATIENT)
    expect(said).to_contain_text("Cell 1 was running. Run a cell to start another kernel.")
    expect(page.get_by_role("button", name="Show that cell")).to_be_visible()
    expect(first.locator(".cell_output")).to_be_empty()  # what stood there came of other code

    write(page, 1, "while True: pass")
    page.keyboard.press("Shift+Enter")
    expect(said).to_contain_text("Running cell 1", **PATIENT)
    page.get_by_role("button", name="Interrupt").click()
    expect(first.locator(".traceback")).to_contain_text("KeyboardInterrupt", **PATIENT)
    expect(said).to_have_text("Cell 1 was interrupted.", **PATIENT)
    assert count(jupyter, 1)
    page.goto(f"{pages}/book/notation.html")
    assert count(jupyter, 0)
    assert page.heard == []


def test_folded_cells_run_with_the_rest_and_the_one_that_fails_is_shown(
    page: Page, pages: str, jupyter: str
) -> None:
    page.goto(f"{pages}/book/01-projections.html#live={jupyter}")
    make_live(page)
    said = page.locator(".live [role=status]")
    expect(said).to_contain_text("Ready", **PATIENT)
    cells = page.locator("main .cell pre[role=textbox]")
    folded = cells.evaluate_all("cells => cells.findIndex(cell => cell.closest('details'))")
    last = cells.count()
    assert 0 <= folded < last - 1
    answers = page.locator("main details:has(.cell_output)")
    assert answers.count()
    open_ones = "folds => folds.filter(fold => fold.open).length"
    assert answers.evaluate_all(open_ones) == 0
    page.get_by_role("button", name="Run all").click()
    expect(said).to_contain_text(f"All {last} cells have run", **PATIENT)
    assert answers.evaluate_all(open_ones) == 0, "an answer is the reader's to open"
    finder = page.get_by_role("button", name="Show that cell")
    expect(finder).to_be_hidden()

    code = cells.nth(folded)
    fold = code.locator("xpath=ancestor::details").first
    code.evaluate("code => { code.closest('details').open = true }")
    write(page, folded + 1, "1 / 0")
    code.evaluate("code => { code.closest('details').open = false }")
    page.get_by_role("button", name="Run all").click()
    expect(said).to_have_text(
        f"Cell {folded + 1} ended in an error, so cells {folded + 2} to {last} were not run.",
        **PATIENT,
    )
    finder.click()
    assert fold.evaluate("fold => fold.open")
    expect(code).to_be_focused()
    expect(code).to_be_in_viewport()
    assert page.heard == []
    page.goto(f"{pages}/{PAGE}")  # a page that is left stops its kernel; one that is closed may not
    assert count(jupyter, 0)


def test_a_cell_run_again_starts_from_what_the_cells_above_it_leave(
    page: Page, pages: str, jupyter: str
) -> None:
    page.goto(f"{pages}/book/01-projections.html#live={jupyter}")
    make_live(page)
    said = page.locator(".live [role=status]")
    code = page.locator("main .cell pre[role=textbox]").all_text_contents()
    last = len(code)
    above = next(number for number, text in enumerate(code, 1) if "assert rows ==" in text)
    binds = re.compile(r"^(weight =|for [\w, ]*\bweight\b)", re.MULTILINE)
    first, *_, over = [number for number, text in enumerate(code, 1) if binds.search(text)]
    assert first < above < over, "no cell below writes over a name that the cell reads"
    page.get_by_role("button", name="Run all").click()
    expect(said).to_contain_text(f"All {last} cells have run. ", **PATIENT)
    again = page.get_by_role("button", name=f"Run cell {above}", exact=True)
    again.click()
    expect(said).to_contain_text(f"Cell {above} has run, after those above it", **PATIENT)
    again.click()  # nothing below it has run since
    expect(said).to_contain_text(f"Cell {above} has run. ", **PATIENT)

    write(page, first, code[first - 1] + "\nchanged = 'seen below'")
    write(page, above, "print(changed)")
    page.get_by_role("button", name="Run all").click()
    expect(said).to_contain_text(f"All {last} cells have run. ", **PATIENT)
    write(page, first, code[first - 1] + "\nchanged = 'seen again'")
    page.get_by_role("button", name="Run all").click()
    place = page.locator("main .cell").nth(above - 1)
    expect(place.locator(".cell_output")).to_have_text("seen again", **PATIENT)
    expect(said).to_contain_text(f"All {last} cells have run. ", **PATIENT)
    assert page.heard == []
    leave(page, pages, jupyter)


def test_what_the_book_asserts_of_its_own_code_stops_no_code_of_the_readers(
    page: Page, pages: str, jupyter: str
) -> None:
    said, code = traced_page(page, pages, jupyter)
    asserts = next(n for n, text in enumerate(code, 1) if "print(traced)\nassert" in text)
    mine = next(n for n, text in enumerate(code, 1) if "class Mine(" in text)
    right = code[mine - 1].replace("y.reshape(B, T, C)", "y.transpose(1, 2).reshape(B, T, C)")
    assert right != code[mine - 1]
    write(page, mine, right)
    page.get_by_role("button", name=f"Run cell {asserts + 1}", exact=True).click()
    expect(said).to_have_text(
        f"Cell {asserts + 1} has run. What cell {asserts} asserts holds of the book's own code, "
        "not of yours.",
        **PATIENT,
    )
    place = page.locator("main .cell").nth(asserts)
    expect(place.locator(".attn-player .warned")).to_have_count(0)
    checks = next(n for n, text in enumerate(code, 1) if "traced.check(batch=3, S=7)" in text)
    theirs = next(n for n, text in enumerate(code, 1) if "class Repaired(" in text)
    assert theirs + 1 < checks, "no cell stands between that needs the book's own layer"
    write(page, theirs, "Repaired = None")
    page.get_by_role("button", name=f"Run cell {checks}", exact=True).click()
    expect(said).to_have_text(
        f"Cell {checks} has run. Cell {theirs + 1} is the book's own and ended in an error with "
        "your code.",
        **PATIENT,
    )
    expect(page.locator("main .cell").nth(theirs)).to_contain_text("TypeError")
    expect(page.locator("main .cell").nth(checks - 1)).to_contain_text("every row's dims hold")
    write(page, asserts, "assert 1 == 2")  # the reader's own is an error as any other
    page.keyboard.press("Shift+Enter")
    expect(said).to_have_text(f"Cell {asserts} ended in an error.", **PATIENT)
    assert page.heard == []
    leave(page, pages, jupyter)


def test_own_code_has_a_place_that_no_other_cell_and_no_sentence_needs(
    page: Page, pages: str, jupyter: str, tmp_path: Path
) -> None:
    said, code = traced_page(page, pages, jupyter)
    yours = next(n for n, text in enumerate(code, 1) if "class Yours(" in text)
    mine = tmp_path / "kept_in_a_file.py"
    mine.write_text("def merged(x):\n    return x.view(2, 5, 3, 4).mT.reshape(2, 5, 12)\n")
    imported = f"import sys; sys.path.append({str(tmp_path)!r})\nfrom kept_in_a_file import merged"
    write(page, yours, imported)
    write(page, yours + 1, 'yours = trace(merged, x, dims="batch S n_embd")\nprint(yours)')
    page.get_by_role("button", name="Run all").click()
    expect(said).to_contain_text(f"All {len(code)} cells have run. Change any cell", **PATIENT)
    expect(page.locator("#player-merged")).to_be_visible()
    page.locator("main a[href='#player-mine/15']").click()
    expect(page.locator("#player-mine .headline .kind")).to_contain_text("step 15 of")

    mine.write_text("def merged(x):\n    return x.reshape(5, 2, 12).reshape(2, 5, 12)\n")
    page.get_by_role("button", name="Run all").click()
    expect(page.locator("main .cell").nth(yours)).to_contain_text("x.reshape(5, 2, 12)", **PATIENT)
    expect(said).to_contain_text(f"All {len(code)} cells have run.", **PATIENT)

    write(page, yours, "def another(x):\n    return x @ x")
    page.get_by_role("button", name="Run all").dblclick()
    not_run = f"Cell {yours + 1} ended in an error, so cell {yours + 2} was not run."
    expect(said).to_have_text(not_run, **PATIENT)
    output = page.locator("main .cell").nth(yours)
    expect(output).to_contain_text("NameError: name 'merged' is not defined")
    expect(page.locator("main .cell").nth(yours + 1).locator(".cell_output")).to_be_empty()
    later = page.locator("main .cell").nth(len(code) - 1)
    expect(later).to_contain_text("mask-inverted")
    page.wait_for_timeout(1500)
    expect(said).to_have_text(not_run)  # both clicks were one

    write(page, yours + 1, 'yours = trace(another, x, dims="batch S n_embd")')
    page.get_by_role("button", name=f"Run cell {yours + 2}", exact=True).click()
    expect(said).to_have_text(not_run, **PATIENT)
    expect(output).to_contain_text(f"matmul failed at cell {yours}, line 2")
    page.get_by_role("button", name=f"Run cell {yours + 3}", exact=True).click()
    expect(said).to_contain_text(f"Cell {yours + 3} has run", **PATIENT)

    page.get_by_role("button", name="Run all").click()
    expect(said).to_contain_text("Starting a")
    page.get_by_role("button", name="Interrupt").click()
    expect(said).to_have_text(
        "Interrupted: cell 1 and what stands below it were not run.", **PATIENT
    )
    assert page.heard == []
    leave(page, pages, jupyter)


def test_a_link_to_a_player_that_a_run_took_away_says_so(
    page: Page, pages: str, jupyter: str
) -> None:
    said, code = traced_page(page, pages, jupyter)
    shows = next(n for n, text in enumerate(code, 1) if text.strip() == "traced")
    link = page.locator("main a[href='#player-mine/15']")
    link.click()
    expect(said).to_contain_text("Ready")
    write(page, shows, "1")
    page.get_by_role("button", name=f"Run cell {shows}", exact=True).click()
    expect(said).to_contain_text(f"Cell {shows} has run", **PATIENT)
    link.click()
    expect(said).to_have_text(
        "This link leads to a player of the book's own code, which yours has replaced in "
        f"cell {shows}."
    )
    page.get_by_role("button", name="Show that cell").click()
    expect(page.locator("main .cell pre[role=textbox]").nth(shows - 1)).to_be_focused()
    write(page, shows - 1, "print(traced)")
    later = next(n for n, text in enumerate(code, 1) if "class Repaired(" in text)
    page.get_by_role("button", name=f"Run cell {later}", exact=True).click()
    expect(said).to_contain_text("What stands below it is from before", **PATIENT)
    assert page.heard == []
    leave(page, pages, jupyter)


def test_the_editor_keeps_to_pythons_indents_and_lets_go(
    page: Page, pages: str, jupyter: str
) -> None:
    page.goto(f"{pages}/{PAGE}#live={jupyter}")
    make_live(page)
    code = page.locator("main .cell pre[role=textbox]").first
    key = lambda *names: [page.keyboard.press(name) for name in names]  # noqa: E731
    text = lambda: code.evaluate("code => code.innerText").rstrip("\n")  # noqa: E731
    write(page, 1, "def f(x):")
    expect(code).to_have_class("plain")  # what is typed anew has the look of no other word
    key("Enter")
    page.keyboard.insert_text("if x:")
    key("Enter")
    page.keyboard.insert_text("a")
    key("Enter", "Backspace")
    page.keyboard.insert_text("b")
    assert text() == "def f(x):\n    if x:\n        a\n    b"
    key("Backspace", "Tab")
    page.keyboard.insert_text("bc")
    key("Backspace")
    assert text() == "def f(x):\n    if x:\n        a\n        b", "in a word one sign goes"
    key("Shift+ArrowUp", "Tab")
    assert text() == "def f(x):\n    if x:\n            a\n            b"
    key("Shift+Tab", "Shift+Tab")
    assert text() == "def f(x):\n    if x:\n    a\n    b"
    key("Shift+Tab", "Shift+Tab")
    assert text() == "def f(x):\n    if x:\na\nb"
    key("Control+z")
    assert text() != "def f(x):\n    if x:\na\nb"
    expect(code).to_be_focused()
    key("Escape", "Tab")
    expect(code).not_to_be_focused()
    said = page.locator(".live [role=status]")
    expect(said).to_contain_text(
        "after Escape it goes on. What you change is not saved.", **PATIENT
    )
    assert page.heard == []
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(f"{pages}/book/notation.html")
    assert asked == ["beforeunload"]
    assert count(jupyter, 0)


def test_an_exercise_that_fails_stops_no_other(page: Page, pages: str, jupyter: str) -> None:
    page.goto(f"{pages}/book/exercises.html#live={jupyter}")
    make_live(page)
    said = page.locator(".live [role=status]")
    expect(said).to_contain_text("Ready", **PATIENT)
    cells = page.locator("main .cell pre[role=textbox]")
    first, second = (
        cells.evaluate_all(
            "(cells, id) => cells.findIndex(cell => cell.closest(`#exercise-${id}`)) + 1", name
        )
        for name in ("scale", "weights")
    )
    write(page, first, "def scale(scores, head_size):\n    return scores / (head_size")
    page.keyboard.press("Shift+Enter")
    expect(said).to_have_text(f"Cell {first} ended in an error.", **PATIENT)
    write(page, second, "check('weights', lambda scores: scores.softmax(dim=-1))")
    page.keyboard.press("Shift+Enter")
    expect(said).to_contain_text(f"Cell {second} has run", **PATIENT)
    expect(page.locator("#exercise-weights .cell_output").first).to_contain_text("✓")
    page.get_by_role("button", name="Run all").click()
    expect(said).to_have_text(f"Cell {first} ended in an error.", **PATIENT)
    expect(page.locator("main .cell .run").last).to_be_visible()
    page.goto(f"{pages}/book/notation.html")
    assert count(jupyter, 0)


def test_another_origin_and_another_token_are_refused(page: Page, pages: str, jupyter: str) -> None:
    port, _ = jupyter.split("/")
    page.goto(f"{pages}/{PAGE}#live={port}/wrong")
    make_live(page)
    said = page.locator(".live [role=status]")
    expect(said).to_contain_text("answers this page", **PATIENT)
    assert count(jupyter, 0)
    elsewhere = pages.replace("127.0.0.1", "localhost")
    page.goto(f"{elsewhere}/{PAGE}#live={jupyter}")
    make_live(page)
    expect(said).to_contain_text("answers this page", **PATIENT)


def test_without_a_server_there_is_no_button_and_a_gone_one_is_told(page: Page, pages: str) -> None:
    page.goto(f"{pages}/{PAGE}")
    page.get_by_role("button", name="Run", exact=True).first.click()
    if page.locator("#live").get_attribute("data-binder") is None:
        expect(page.locator("#live")).to_be_hidden()
        expect(page.locator("#run")).to_contain_text("make serve")
    page.goto(f"{pages}/{PAGE}#live={kernels.free_port()}/gone")
    page.reload()
    page.get_by_role("button", name="Run", exact=True).first.click()
    expect(page.locator("#run")).not_to_contain_text("make serve", use_inner_text=True)
    page.get_by_role("button", name="Run the cells on this page").click()
    expect(page.locator(".live [role=status]")).to_contain_text("answers this page")


def test_binder_is_asked_and_what_it_gives_is_used(page: Page, pages: str, jupyter: str) -> None:
    """Binder's words come from its documentation; the server that it gives is a real one."""
    port, token = jupyter.split("/")
    BUILD[-1] |= {"url": f"http://{kernels.HOST}:{port}/", "token": token}
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in BUILD)
    asked: list[str] = []

    def binder(route: Route) -> None:
        asked.append(route.request.url)
        headers = {"Content-Type": "text/event-stream", "Access-Control-Allow-Origin": "*"}
        route.fulfill(status=200, headers=headers, body=stream)

    page.context.route("https://mybinder.org/**", binder)
    written = (SITE / PAGE).read_text(encoding="utf-8")
    there = re.sub(r' data-binder="[^"]*"', "", written).replace(
        'id="live"', 'id="live" data-binder="gh/owner/name/main"'
    )
    copy = (SITE / PAGE).with_name("planted-binder.html")
    try:
        copy.write_text(there, encoding="utf-8")
        page.goto(f"{pages}/book/{copy.name}")
    finally:
        copy.unlink()
    assert asked == []
    make_live(page)
    expect(page.locator(".live [role=status]")).to_contain_text("Ready", **PATIENT)
    assert asked == ["https://mybinder.org/build/gh/owner/name/main"]
    page.get_by_role("button", name="Run cell 1", exact=True).click()
    expect(page.locator(".live [role=status]")).to_contain_text("Cell 1 has run", **PATIENT)


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900), (390, 844)])
def test_the_line_at_the_foot_does_not_lie_on_a_players_keys(
    page: Page, pages: str, jupyter: str, size: tuple[int, int]
) -> None:
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.goto(f"{pages}/{PAGE}#live={jupyter}")
    make_live(page)
    expect(page.locator(".live")).to_contain_text("Ready", **PATIENT)
    player = page.locator(".attn-player .attn-host").first
    player.evaluate("host => host.scrollIntoView({ block: 'start', behavior: 'instant' })")
    following = player.get_by_role("button", name="Next")
    foot = page.locator(".live").bounding_box()
    place = following.bounding_box()
    assert place["y"] + place["height"] <= foot["y"] + 1
    before = player.locator(".headline .kind").text_content()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    assert player.locator(".headline .kind").text_content() != before
    player.locator(".steps .go").first.click()
    page.keyboard.press(" ")
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
