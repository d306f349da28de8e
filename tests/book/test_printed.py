"""What cells print: sentences wrap, and what stands in columns keeps them and scrolls."""

from __future__ import annotations

import pytest

import pages

from .conftest import chapters
from .page_check import PAINTED, opened

SENTENCE = "  a matmul sums over the last dim of q, H = 8, and the second-to-last of k, S = 4"


def printed(*lines: str) -> list[str]:
    """Give these lines as a page shows them that a cell has printed."""
    head = '<div class="output stream highlight-myst-ansi"><div class="highlight"><pre>'
    body = pages.dress(f"{head}<span></span>{chr(10).join(lines)}</pre></div></div>")
    return body.removeprefix(head).removesuffix("</pre></div></div>").split("\n")


@pytest.mark.parametrize(
    "line",
    [
        SENTENCE,
        "torch: the size of tensor a (4) must match that of b (2) &lt; 3",
        'x is <span class="dim dim-S">S = 3</span> and that is not what was wanted of it here',
    ],
)
def test_a_printed_sentence_may_wrap(line):
    wanted = f'<span class="sentence">{line}</span>'
    assert printed("q (batch=2)", line, "")[1:] == [wanted, ""]


@pytest.mark.parametrize(
    "line",
    [
        "  a name of a column   one more of them   and another   that is the last",
        "| line | variable | operation | inputs | shape | sizes | kind |",
        "        [0.00, 1.00, 0.00, 0.00, 0.00, 0.00], [0.00, 1.00, 0.00]",
        "tensor([nan, -inf, -inf, -inf, -inf, -inf, nan, inf, inf, True, True])",
        "a sentence that is short enough",
        "input · linear · view · transpose · linear · view · transpose · linear ·",
        '<span class="ansi-red">a colour that ends on a line further down may not be cut',
    ],
)
def test_what_stands_in_columns_does_not(line):
    assert printed("", line, "")[1:] == [line, ""]


def test_a_line_that_is_pointed_at_from_below_does_not():
    line = "    if one and other or not that and this in those: keep(them)"
    assert printed("", line, "       ^^^^^")[1] == line


def test_an_interval_in_a_table_stays_on_one_line():
    cell = "<td><p>0.854 {}</p></td>".format
    assert cell('<span class="whole">[0.85, 0.87]</span>') in pages.dress(cell("[0.85, 0.87]"))


@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", chapters())
def test_what_cells_print_is_whole_on_a_desk_and_its_sentences_on_a_phone(browser, server, name):
    beside = """all => all.filter(e => e.getBoundingClientRect().right
        > e.closest("pre").getBoundingClientRect().right + 1).map(e => e.textContent)"""
    with opened(browser, f"{server}/{name}") as (page, _):
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(PAINTED)
            assert page.locator("main .sentence").evaluate_all(beside) == []
            scrolls = page.locator("main .output.stream pre[tabindex]").all_text_contents()
            assert width < 1280 or scrolls == []
