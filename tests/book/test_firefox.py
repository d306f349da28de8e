"""Every page once more in a second engine: silent, no wider than its window, formulas, players.

Where no Firefox is installed this says so and is skipped; Chromium alone is asked for.
"""

from __future__ import annotations

import pytest

from . import firefox
from .access import AXE, WCAG
from .conftest import PAGES
from .page_check import STRUCTURE, WIDTHS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(firefox.find() is None, reason="no Firefox here (Debian: firefox-esr)"),
]

PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
WRONG = """(async () => {
  const wrong = [];
  const extra = document.documentElement.scrollWidth - window.innerWidth;
  if (extra > 0) wrong.push(`${extra} px too wide`);
  for (const math of document.querySelectorAll("math")) {
    const { width, height } = math.getBoundingClientRect();
    if (!math.closest("details:not([open])") && width * height === 0)
      wrong.push(`an empty formula: ${math.textContent}`);
  }
  for (const place of document.querySelectorAll(".attn-player, .attn-lab")) {
    place.scrollIntoView(); // labs come when a reader gets near them
    for (let turn = 0; turn < 100 && !place.querySelector(".attn-host")?.shadowRoot; turn++)
      await new Promise(done => setTimeout(done, 50));
    if (!place.querySelector(".attn-host")?.shadowRoot) wrong.push(`${place.id} does not play`);
  }
  return wrong;
})()"""


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with firefox.running(firefox.find(), tmp_path_factory.mktemp("profile")) as running:
        yield running


def problems(window, url: str) -> list[str]:
    window.open(url)
    found = window.run(f"({STRUCTURE})()")
    for screen, width in WIDTHS.items():
        window.resize(width)
        window.run(PAINTED)
        found += [f"{screen}: {problem}" for problem in window.run(WRONG)]
    return found + window.said


@pytest.mark.parametrize("name", PAGES)
def test_page_holds_in_firefox(window, server, name):
    assert problems(window, f"{server}/{name}") == []


@pytest.mark.parametrize("name", ["book/notation.html", "search.html"])
def test_page_holds_from_disk_and_axe_agrees(window, site, name):
    assert problems(window, (site / name).as_uri()) == []
    window.run(f"(() => {{ {AXE}; }})()")
    options = f"{{ preload: false, runOnly: {{ type: 'tag', values: {WCAG} }} }}"
    broken = window.run(f"axe.run(document, {options}).then(r => r.violations.map(v => v.id))")
    assert broken == []


def test_faults_are_seen_in_firefox_too(window, site, tmp_path):
    page = tmp_path / "page.html"
    text = (site / "book" / "notation.html").read_text()
    planted = '<div style="width: 3000px">wide</div><math></math><script>undefined.a</script>'
    planted += '<div class="attn-lab" id="lab-none"></div>'
    page.write_text(text.replace("../_static", f"{site}/_static").replace("</article>", planted))
    found = " ".join(problems(window, page.as_uri()))
    for words in ("px too wide", "an empty formula", "undefined", "lab-none does not play"):
        assert words in found


def test_search_and_keyboard_in_firefox(window, site):
    window.open(f"{site.as_uri()}/search.html?q=masked_fill")
    assert window.run("document.querySelectorAll('#search-results li').length") > 3
    window.open(f"{site.as_uri()}/book/03-scaling.html")
    keys = [{"type": kind, "value": "\ue004"} for kind in ("keyDown", "keyUp")]
    actions = [{"type": "key", "id": "keys", "actions": keys}]
    window.ask("input.performActions", context=window.window, actions=actions)
    assert window.run("document.activeElement.textContent") == "Skip to the text"
    assert window.said == []
