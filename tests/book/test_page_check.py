"""The check of a page is seen red: every kind of fault is planted, and some in one state alone."""

from __future__ import annotations

from itertools import product

import pytest

from .access import Access, whole
from .page_check import WIDTHS, check_page, opened, show

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CONTRAST = "axe color-contrast: Elements must meet minimum color contrast ratio thresholds: "
SCROLLS = "axe scrollable-region-focusable: Scrollable region must have keyboard access: "
WHITE = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='40' height='40'%3E"
    "%3Crect width='40' height='40' fill='white'/%3E%3C/svg%3E"
)

# what is wrong -> (what is planted, the words that the check has for it)
FAULTS = {
    "another host": (
        '<img alt="a map of words" src="https://example.org/a.png">',
        "names another host: https://example.org/a.png",
    ),
    "a script elsewhere": (
        '<script src="https://example.org/a.js"></script>',
        "names another host: https://example.org/a.js",
    ),
    "against the policy": (
        '<link rel="stylesheet" href="data:text/css,b%7Bcolor:red%7D">',
        "violates the following Content Security Policy directive",
    ),
    "a word on the console": ("<script>console.log('hello')</script>", "console log: hello"),
    "an error": ("<script>throw new Error('oh')</script>", "error: oh"),
    "an error later": (
        "<script>setTimeout(() => { throw new Error('late') }, 100)</script>",
        "error: late",
    ),
    "a missing file": ('<img alt="a picture of a map" src="none.png">', "none.png"),
    "too wide": ('<div style="width: 1500px">wide</div>', "light, desk: 2"),
    "a white card": (
        '<p style="background: white; color: black">card</p>',
        'dark, desk: a card behind <p style="background: white',
    ),
    "no text for a picture": (
        '<img src="../_static/icon.svg" alt="">',
        "no text for the picture ../_static/icon.svg",
    ),
    "a picture on a card": (
        f'<figure><img alt="a white square" style="filter: none" src="{WHITE}"></figure>',
        "dark, phone: the picture data:image/svg+xml",
    ),
    "TeX left over": ("<p>so it is \\frac{1}{2}</p>", "without JavaScript: TeX in the text"),
    "a second title": ("<h1>Again</h1>", "2 × h1"),
    "an id twice": ('<p id="main">again</p>', "id main twice"),
    "pale text": (
        '<p class="pale" style="color: light-dark(#ccc, #444)">pale</p>',
        CONTRAST + '<p class="pale"',
    ),
}
# The same for what only one state has: (style, what is planted, the words).
NARROW = "@media (width < 700px)"
DARK = "@media (width < 700px) and (prefers-color-scheme: dark)"
IN_ONE_STATE = {
    "one pale word of many": (
        DARK + " { .of-many:nth-child(3) { color: #555 } }",
        '<p><b class="of-many">1 a</b><b class="of-many">2 b</b><b class="of-many">3 c</b>'
        '<b class="of-many">4 d</b><b class="of-many">5 e</b></p>',
        f'dark, phone: {CONTRAST}<b class="of-many">3',
    ),
    "text over a neighbour's ground": (
        DARK + " { .below { background: #eee } }",
        '<div style="position: relative; height: 40px">'
        '<div class="below" style="position: absolute; inset: 0"></div>'
        '<p class="above" style="position: absolute; inset: 0">above</p></div>',
        f'dark, phone: {CONTRAST}<p class="above"',
    ),
    "pale in a shadow": (
        "",
        '<div id="deep"></div><script>deep.attachShadow({ mode: "open" }).innerHTML = "<style>'
        + DARK
        + ' { p { color: \\#555 } }</style><p class=deep>deep</p>"</script>',
        f'dark, phone: {CONTRAST}<p class="deep"',
    ),
    "a link like its text": (
        DARK + " { .plain { text-decoration: none; color: #ccc } }",
        '<p>A text with <a class="plain" href="#main">a link</a> in it.</p>',
        "dark, phone: axe link-in-text-block",
    ),
    "a button without a name": (
        ".narrow { display: none } " + NARROW + " { .narrow { display: block } }",
        '<button class="narrow" type="button"></button>',
        'phone: axe button-name: Buttons must have discernible text: <button class="narrow"',
    ),
    "a name lost in the dark": (
        "",
        '<button id="lost" type="button" aria-label="found"></button><script>'
        'const dark = matchMedia("(prefers-color-scheme: dark)"), name = () =>'
        ' lost.setAttribute("aria-label", dark.matches ? "" : "found");'
        ' name(); dark.addEventListener("change", name)</script>',
        'dark, desk: axe button-name: Buttons must have discernible text: <button id="lost"',
    ),
    "a box that scrolls by mouse only": (
        NARROW + " { .mouse-only { height: 30px; overflow: auto } }",
        '<div class="mouse-only"><p>one</p><p>two</p><p>three</p></div>',
        f'phone: {SCROLLS}<div class="mouse-only"',
    ),
    "a card in one state": (
        DARK + " { .carded { background: #ddd } }",
        '<div class="carded" style="height: 20px"></div>',
        'dark, phone: a card behind <div class="carded"',
    ),
}


@pytest.fixture(scope="module")
def planted(site):
    """A page of the book with every fault on it."""
    text = (site / "book" / "notation.html").read_text()
    faults = [fault for fault, _ in FAULTS.values()]
    faults += [f"<style>{style}</style>{fault}" for style, fault, _ in IN_ONE_STATE.values()]
    page = site / "book" / "planted-faults.html"
    page.write_text(text.replace("</article>", "\n".join(faults) + "</article>"))
    yield page
    page.unlink()


@pytest.fixture(scope="module")
def problems(browser, planted):
    return check_page(browser, planted.as_uri())


def test_every_fault_is_found(problems):
    words = {name: fault[-1] for name, fault in (FAULTS | IN_ONE_STATE).items()}
    missed = [n for n, said in words.items() if not any(said in problem for problem in problems)]
    assert missed == []


def test_fault_of_one_state_is_said_of_no_other(problems):
    for name in ("one pale word of many", "text over a neighbour's ground", "pale in a shadow"):
        said = IN_ONE_STATE[name][-1].removeprefix("dark, phone: ")
        assert [p.split(": ")[0] for p in problems if said in p] == ["dark, phone"], name


def test_short_way_breaks_the_rules_that_the_whole_breaks(browser, planted):
    with opened(browser, planted.as_uri()) as (page, _):
        access, broken = Access(page), set()
        for screen, theme in product(WIDTHS, ("light", "dark")):
            show(page, screen, theme)
            now = {problem.split(":")[0].split()[1] for problem in access.problems()}
            assert now == whole(page), (screen, theme)
            broken |= now
    assert broken >= {"color-contrast", "link-in-text-block", "button-name"}


def test_link_that_loses_its_line_is_asked_of_again(browser):
    """Its look as a text is the same and known; what it must be told apart from is outside it."""
    page = browser.new_page()
    page.set_content(
        '<html lang="en"><title>A page</title><style>a { color: #555 }</style>'
        '<main><p>A text with <span><a href="#main">a link</a></span> in it.</p></main></html>'
    )
    access = Access(page)
    assert access.problems() == []
    page.add_style_tag(content="a { text-decoration: none }")
    (problem,) = access.problems()
    assert problem.startswith("axe link-in-text-block")
    page.close()
