"""What a reader ticks as done: kept in the browser, taken along, cleared, and never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .page_check import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
CHAPTER, LIST = "book/04-the-causal-mask.html", "book/exercises.html"
KEPT = "localStorage.getItem('attention-book.1.exercises')"


def test_ticks_are_kept_taken_along_and_cleared(browser, server, tmp_path: Path) -> None:
    with opened(browser, f"{server}/{CHAPTER}") as (page, heard):
        count = page.locator("#exercises > .count")
        assert count.inner_text() == "0 of 2 done"
        box = page.get_by_role("checkbox", name="Done: causal-mask")
        box.focus()
        page.keyboard.press("Space")
        assert count.inner_text() == "1 of 2 done"
        assert json.loads(page.evaluate(KEPT))["done"] == ["causal-mask"]

        page.goto(f"{server}/{LIST}")
        assert page.get_by_role("checkbox", name="Done: causal-mask").is_checked()
        lines = page.locator("section[id^=chapter-] > .count").all_inner_texts()
        assert lines == [f"{int(n == 4)} of {n_in} done" for n, n_in in enumerate(IN_CHAPTER, 1)]
        with page.expect_download() as download:
            page.get_by_role("button", name="Save to a file").click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        assert json.loads(saved.read_text()) == {
            "book": "attention-book", "version": 1, "done": ["causal-mask"],
        }  # fmt: skip

        clear = page.get_by_role("button", name="Clear")
        clear.focus()
        page.keyboard.press("Enter")
        assert page.get_by_role("checkbox", name="Done: causal-mask").is_checked()
        page.keyboard.press("Enter")
        assert page.locator("main input[type=checkbox]:checked").count() == 0
        assert json.loads(page.evaluate(KEPT))["done"] == []

        page.locator("input[type=file]").set_input_files(saved)
        page.get_by_text("Loaded.").wait_for()
        assert page.get_by_role("checkbox", name="Done: causal-mask").is_checked()
        (tmp_path / "other.json").write_text('{"done": "<script>"}')
        page.locator("input[type=file]").set_input_files(tmp_path / "other.json")
        page.get_by_text("That is no file of this page.").wait_for()
        assert page.get_by_role("checkbox", name="Done: causal-mask").is_checked()
        assert heard == []


IN_CHAPTER = (1, 1, 1, 2, 3, 1, 3, 3)  # exercises of chapters 1 to 8


def test_a_browser_that_keeps_nothing_can_still_tick(browser, site) -> None:
    refuse = "Storage.prototype.getItem = Storage.prototype.setItem = () => { throw Error() }"
    context = browser.new_context()
    context.add_init_script(refuse)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto((site / LIST).as_uri())
    page.get_by_role("checkbox", name="Done: scale").check()
    assert page.locator("#chapter-3 > .count").inner_text() == "1 of 1 done"
    assert page.get_by_text("This browser keeps nothing").is_visible()
    context.close()
    assert heard == []
