"""The built folder itself: links, weight, what ships, how dimensions and formulas are marked."""

from __future__ import annotations

import gzip
import hashlib
import re
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from attnlib.widgets import LABS

from .conftest import PAGES, ROOT, chapters


@pytest.fixture(scope="session")
def soups(site):
    """Every page, parsed once."""
    return {
        path: BeautifulSoup(path.read_text(), "lxml")
        for path in sorted(site.rglob("*.html"))
        if not path.name.startswith("planted-")
    }


def broken_links(page, soups) -> list[str]:
    """Say which links of `page` lead nowhere inside the site."""
    broken = []
    for tag, key in [("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")]:
        for element in soups[page].find_all(tag, attrs={key: True}):
            link = urlsplit(element[key])
            if link.scheme or link.netloc or element.get("id") == "start":
                continue
            target = (page.parent / unquote(link.path)).resolve() if link.path else page
            # A step of a player, or the state of a lab.
            anchor = re.sub(
                r"^(player-[^/]+)/\d+$|^(lab-[a-z]+)/.*$", r"\1\2", unquote(link.fragment)
            )
            soup = soups.get(target)
            missing_anchor = anchor and soup and not soup.find(id=anchor)
            if not target.is_file() or missing_anchor:
                broken.append(element[key])
    return broken


def test_links_lead_somewhere(site, soups):
    assert {str(p.relative_to(site)): broken_links(p, soups) for p in soups} == {
        str(p.relative_to(site)): [] for p in soups
    }


def test_broken_links_are_found(site):
    page = site / "book" / "notation.html"
    text = '<a href="none.html">a</a> <a href="#nowhere">b</a> <a href="notation.html">c</a>'
    assert broken_links(page, {page: BeautifulSoup(text, "lxml")}) == ["none.html", "#nowhere"]


def test_every_page_was_built(site):
    assert [name for name in PAGES if not (site / name).is_file()] == []


# --- weight: gzipped, plots aside ---------------------------------------------------------------

KB = 1024
ALL_SCRIPTS = 60 * KB
# Scripts count as a page brings them to a reader who has come to its end: those in its head, and
# those of its labs, which come when a reader gets near them. Not among them is what comes when it
# is first used, and counts in ALL_SCRIPTS: the player's tools, and what runs a page's cells. Where
# the minifier has no wheel, scripts keep their long names.
OUR_SCRIPTS = 40 * KB if find_spec("minify") else ALL_SCRIPTS
FIRST_USED = ("player-tools.js", "kernel.js", "live.js")
BUDGET = {"css": 40 * KB, "js": OUR_SCRIPTS, "font": 40 * KB, "html": 50 * KB}


def packed(data: bytes) -> int:
    return len(gzip.compress(data, 9))


def weigh(page, soups) -> dict[str, int]:
    """Weigh what one page asks for, by kind; a font is compressed already.

    Browsers fetch the font of the formulas only where there is a formula.
    """
    soup = soups[page]
    sheet = soup.find("style", id="sheet").text
    weight = {"html": packed(page.read_bytes()), "css": packed(sheet.encode()), "js": 0, "font": 0}
    for font in re.findall(r'url\("?([^")]+)"?\)', sheet) if soup.find("math") else []:
        weight["font"] += (page.parent / font).stat().st_size
    scripts = [page.parent / script["src"] for script in soup.find_all("script", src=True)]
    names = {place["data-lab"] for place in soup.find_all(class_="attn-lab")}
    scripts += [page.parent / "../_static" / f"lab-{name}.js" for name in names]
    weight["js"] = sum(packed(script.resolve().read_bytes()) for script in scripts)
    return weight


@pytest.mark.parametrize("name", chapters())
def test_page_weighs_no_more_than_its_budget(site, soups, name):
    weight = weigh(site / name, soups)
    assert {kind: n for kind, n in weight.items() if n > BUDGET[kind]} == {}


@pytest.mark.parametrize("name", chapters())
def test_page_weighs_no_more_than_all_scripts_may_with_all_it_can_do(site, soups, name):
    later = sum(packed((site / "_static" / script).read_bytes()) for script in FIRST_USED)
    assert weigh(site / name, soups)["js"] + later <= ALL_SCRIPTS


def test_search_page_weighs_no_more_than_a_whole_page_may(site, soups):
    assert sum(weigh(site / "search.html", soups).values()) <= 190 * KB


def test_site_is_small_and_holds_no_source_maps(site):
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 15 * KB * KB
    assert [path.name for path in files if path.suffix == ".map"] == []


def test_only_listed_files_ship(site):
    """What others made is listed with its checksum; nothing of the theme is left."""
    listed = (ROOT / "book" / "assets" / "THIRD-PARTY.md").read_text()
    ours = {
        "book.js",
        "player.js",
        "player-tools.js",
        "search.js",
        "search-index.js",
        "icon.svg",
        "card.png",
    }
    ours |= {"kernel.js", "live.js"}
    ours |= {"THIRD-PARTY.md", "GUST-FONT-LICENSE.txt", *(f"lab-{name}.js" for name in LABS)}
    for path in (site / "_static").iterdir():
        if path.name in ours:
            continue
        assert f"`{path.name}`" in listed
        row = next(line for line in listed.splitlines() if f"`{path.name}`" in line)
        digest = re.search(r"`([0-9a-f]{64})`", row)
        if digest:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == digest[1], path.name


def test_player_code_is_linked_only_where_a_player_is(soups):
    for page, soup in soups.items():
        linked = any("player.js" in s["src"] for s in soup.find_all("script", src=True))
        assert linked == bool(soup.find(class_=["attn-player", "attn-lab"])), page.name


# --- dimensions and formulas --------------------------------------------------------------------


@pytest.fixture(scope="session")
def notation(site, soups):
    return soups[site / "book" / "notation.html"]


def test_inline_code_takes_the_colour_of_its_dimension(notation):
    found = {c.text: c["class"] for c in notation.find_all("code", class_="dim")}
    for name, role in {
        "S": "S",
        "Sq": "S",
        "Hv": "H",
        "n_embd": "n_embd",
        "heads": "heads",
    }.items():
        assert f"dim-{role}" in found[name]
    plain = {c.text for c in notation.find_all("code") if "dim" not in c["class"]}
    assert {"x", "scores", "may_attend"} <= plain


def test_shapes_in_comments_and_printed_tables_are_painted(site, soups):
    soup = soups[site / "book" / "01-projections.html"]
    comments = [c for c in soup.select(".c1") if re.search(r"\(\w*, ?n_embd\)", c.text)]
    assert comments
    assert all(c.find(class_="dim-n_embd") for c in comments)
    prints = [o for o in soup.select(".cell_output pre") if "(batch, S, n_embd)" in o.text]
    assert prints
    assert all(o.find(class_="dim-batch") and o.find(class_="dim-S") for o in prints)


def test_a_quotient_and_the_sizes_of_a_printed_trace_are_painted(site, soups):
    soup = soups[site / "book" / "trace-your-own-code.html"]
    (table, *_) = [o for o in soup.select(".cell_output pre") if "n_embd//n_heads)" in o.text]
    head, *rows = str(table).split("\n")
    assert 'dim-heads">n_heads = 3<' in head
    assert 'dim-batch">batch = 2<' in head, "the comma is no part of the size"
    cut = [row for row in rows if "//" in row]
    assert cut
    assert all('dim-batch">batch<' in row and 'dim-heads">n_heads<' in row for row in cut)


def test_a_formula_keeps_the_sign_behind_it_on_its_line(soups):
    formulas = [math for soup in soups.values() for math in soup.select("p math")]
    behind = [(math, str(math.next_sibling or "")) for math in formulas]
    signed = [math for math, text in behind if re.match(r"[.,;:!?)]", text)]
    assert signed
    assert all("whole" in math.parent.get("class", ()) for math in signed)


def test_dimensions_in_formulas_are_painted(soups):
    identifiers = [mi for soup in soups.values() for mi in soup.select("math mi")]
    heads = [mi for mi in identifiers if mi.text == "H"]
    assert heads
    assert all("dim-H" in mi.get("class", []) or mi.find_parent(class_="dim-H") for mi in heads)
    assert not any("class" in mi.attrs for mi in identifiers if mi.text in {"Q", "K", "V", "x"})


def test_formulas_are_mathml_and_nothing_else(soups):
    for page, soup in soups.items():
        assert soup.select(".math.notranslate, mjx-container") == [], page.name
        assert not any("mathjax" in str(part).lower() for part in soup.select("script, link"))
