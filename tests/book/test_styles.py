"""The style sheet holds what some page can take, and the pages look as under all its rules."""

from __future__ import annotations

import re

import dimensions
import pytest
import scripts
import styles

from .conftest import ROOT
from .page_check import PAINTED, opened

ASSETS = ROOT / "book" / "assets"
PAGE = """<main id="main"><p class="kept">a <a href="#">link</a></p>
<details><summary>folded</summary></details></main>"""
SCRIPT = 'element("div", { className: "made" }); root.dataset.nowPlaying = ""'


def left(css: str) -> str:
    """Give what is left of a sheet for the page and the script above."""
    return re.sub(r"\s+", " ", styles.used(css, [PAGE], [SCRIPT])).strip()


@pytest.mark.parametrize(
    "rule",
    [
        ".kept {}",
        "main > p:first-child a:hover::after {}",
        "p.kept:not(.gone) {}",
        "details[open] > summary {}",
        "details::details-content {}",
        ".made p {}",
        ':root[data-now-playing="x"] .kept {}',
        ".attn-verdict p {}",
        'a[href^="http"] {}',
        "*, ::before {}",
        "p:has(a) {}",
        "@media print { .kept {} }",
        "@font-face { font-family: x }",
    ],
)
def test_what_can_match_is_kept(rule):
    assert left(rule) == rule


@pytest.mark.parametrize(
    ("rule", "rest"),
    [
        (".gone {}", ""),
        ("h4 {}", ""),
        ("#gone .kept {}", ""),
        (".kept > .gone:hover {}", ""),
        (".kept[lang] {}", ""),
        ("p:has(.gone) {}", ""),
        (":is(h4, .gone) a {}", ""),
        ("h4, .kept, .gone {}", ".kept{}"),
        (":is(h4, p) a {}", ":is( p) a {}"),
        ("@media print { .gone {} .kept {} }", "@media print { .kept {} }"),
        ("@media print { .gone {} } p {}", "p {}"),
    ],
)
def test_what_can_match_nothing_is_dropped(rule, rest):
    assert left(rule) == rest


def test_built_sheet_names_nothing_that_is_nowhere(site):
    """Asked in another way: each class in the sheet stands, as a word, on a page or in a script."""
    page = (site / "book" / "index.html").read_text()
    sheet = re.search(r'<style id="sheet">(.*?)</style>', page, re.S)[1]
    sheet = re.sub(r"\{[^{}]*\}", "{}", sheet)
    sheet = re.sub(r":not\([^)]*\)", "", sheet)
    classes = set(re.findall(r"\.([a-z][\w-]*)", sheet))
    pages = [path.read_text() for path in site.rglob("*.html")]
    words = {
        word
        for page in pages
        for value in re.findall(r'class="([^"]*)"', page)
        for word in value.split()
    }
    for path in [*ASSETS.glob("*.js"), ROOT / "book" / "_templates" / "layout.html"]:
        words.update(re.findall(r"[\w-]+", path.read_text().lower()))
    assert len(classes) > 50
    assert {name for name in classes - words if not name.startswith("attn-")} == set()


# One element of each kind: what it is, what it stands in, what stands before it. Two sheets can
# make it differ in no property but those that some rule sets.
LOOKS = """css => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  const names = new Set();
  const collect = rules => {
    for (const rule of rules) {
      for (const name of rule.style ?? []) if (!name.startsWith("--")) names.add(name);
      collect(rule.cssRules ?? []);
    }
  };
  collect(sheet.cssRules);
  const name = e => e && `${e.localName}.${e.className}#${e.id && 1}`;
  const paths = new Map([[null, ""]]);
  const look = style => [...names].map(p => style.getPropertyValue(p));
  const seen = new Map();
  for (const e of document.querySelectorAll("*")) {
    const key = `${paths.get(e.parentElement)} > ${name(e.previousElementSibling)} + ${name(e)}`;
    paths.set(e, key);
    if (!seen.has(key))
      seen.set(key, ["", "::before", "::after"].map(part => getComputedStyle(e, part))
        .filter((style, part) => !part || style.content !== "none").map(look).join());
  }
  return [...seen].map(([key, looks]) => `${key}: ${looks}`);
}"""
SWAP = """css => {
  document.getElementById("sheet").textContent = css;
}"""
STATES = [
    (1280, "screen", "light", "as it is"),
    (1280, "screen", "dark", "no contents"),
    (1280, "screen", "light", "dark by choice"),
    (390, "screen", "light", "contents"),
    (390, "screen", "dark", "folds open"),
    (800, "print", "light", "as it is"),
]
SHOW = """state => {
  const root = document.documentElement;
  root.classList.toggle("contents-open", state === "contents");
  root.classList.toggle("contents-hidden", state === "no contents");
  if (state === "dark by choice") root.dataset.theme = "dark";
  else delete root.dataset.theme;
  for (const fold of document.querySelectorAll("details")) fold.open = state === "folds open";
}"""


@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [
        "book/index.html",
        "book/03-scaling.html",
        "book/exercises.html",
        "book/library.html",
        "book/glossary.html",
        "search.html?q=mask",
    ],
)
def test_pages_look_as_under_all_rules(browser, server, site, name):
    whole = scripts.shortened(styles.whole(ASSETS, dimensions.rules()), "text/css")
    whole = whole.replace("math.woff2", f"{server}/_static/math.woff2")
    looks = {}
    with opened(browser, f"{server}/{name}") as (page, _):
        for sheet in ("built", "whole"):
            if sheet == "whole":
                page.evaluate(SWAP, whole)
            for state in STATES:
                show(page, *state)
                looks[sheet, state] = page.evaluate(LOOKS, whole)
    assert len(looks["built", STATES[0]]) > 50
    for state in STATES:
        pairs = zip(looks["built", state], looks["whole", state], strict=True)
        differ = [(one[-2000:], other[-2000:]) for one, other in pairs if one != other]
        assert differ == [], state


def show(page, width, media, theme, state) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media=media, color_scheme=theme)
    page.evaluate(SHOW, state)
    page.evaluate(PAINTED)
