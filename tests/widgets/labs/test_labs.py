"""What holds for every lab: fields by keyboard, links, random hands, access, the HTML around it."""

import json
import re
from itertools import product
from pathlib import Path

import pytest

from attnlib.widgets import LABS, lab, output
from tests.book.access import Access

HERE = Path(__file__).parent
ACTIONS = "".join(
    file.read_text(encoding="utf-8") for file in (HERE / "random.js", HERE.parent / "listeners.js")
)
HOSTILE = "</script><script>window.hit=1</script><!--<script>"
# A lab leaves its page and comes back, as when a cell is run again.
LEAVE = """name => {
  window.place = document.querySelector('.attn-lab');
  place.remove();
  attnlibLabs[name]();
  place.querySelector('.attn-host').remove();
}"""
RETURN = "name => { document.querySelector('main').append(place); attnlibLabs[name](); }"
# Each control holds what it may hold.
LEGAL = """() => {
  const root = document.querySelector('.attn-host').shadowRoot;
  const legal = (field) => field.type === 'range'
    ? Number(field.value) >= Number(field.min) && Number(field.value) <= Number(field.max)
    : field.type !== 'number' || (field.value !== '' && Math.abs(field.value) <= Number(field.max));
  const fields = [...root.querySelectorAll('input')];
  const checked = fields.filter((field) => field.checked).map((field) => field.name);
  const one = ({ name }) => checked.filter((other) => other === name).length === 1;
  return fields.every((field) => (field.type === 'radio' ? one(field) : legal(field)));
}"""
SNAPSHOT = """() => {
  const root = document.querySelector('.attn-host').shadowRoot;
  const fields = [...root.querySelectorAll('input')].map(field => [field.value, field.checked]);
  return root.querySelector('.lab').innerHTML + JSON.stringify(fields);
}"""
ROOT = "document.querySelector('.attn-host').shadowRoot"


# ---------- in the page


@pytest.mark.parametrize("name", LABS)
def test_every_field_is_set_by_keyboard_and_reset(shown, name):
    page = shown(name)
    before = page.evaluate(SNAPSHOT)
    fields = page.evaluate(
        f"[...new Set([...{ROOT}.querySelectorAll('[data-field]')].map(f => f.dataset.field))]"
    )
    assert fields
    for field in fields:
        control = page.locator(f"[data-field='{field}']").first
        kind = control.get_attribute("type")
        if kind == "radio":  # arrows lead on from the one that is set
            control = page.locator(f"[data-field='{field}']:checked")
        control.focus()
        at_end = control.evaluate("slider => slider.value === slider.max")
        arrows = {"range": "ArrowLeft" if at_end else "ArrowRight", "number": "ArrowUp"}
        page.keyboard.press(arrows.get(kind, "Enter"))
        if kind == "radio":
            page.keyboard.press("ArrowDown")
        if control.get_attribute("class") == "up":  # the first cannot go up
            page.locator(f"[data-field='{field}'].down").first.press("Enter")
        after = page.evaluate(SNAPSHOT)
        assert after != before, field
        before = after
    page.get_by_role("button", name="Start again").press("Enter")
    start = page.locator(".attn-host .caption").inner_text()
    shown(name)
    assert page.locator(".attn-host .caption").inner_text() == start


@pytest.mark.parametrize("name", LABS)
def test_random_hands_leave_it_whole_and_no_listener(shown, name):
    page = shown(name)
    page.evaluate(ACTIONS)
    page.evaluate(LEAVE, name)
    page.evaluate("countListeners()")
    page.evaluate(RETURN, name)
    assert page.evaluate("listeners") > 5
    said = page.evaluate("actAtRandom", [7, 500])
    assert len(said) > 20
    assert not re.search("undefined|null|Infinity|\\[object", said)
    assert page.evaluate(f"{ROOT}.querySelector('.message')") is None
    texts = page.locator(".attn-host .stage text").all_text_contents()
    assert not [text for text in texts if re.search("undefined|null|Infinity", text)]
    assert page.evaluate(LEGAL)
    page.evaluate(LEAVE, name)
    assert page.evaluate("listeners") == 0
    page.evaluate(RETURN, name)


# As a reader finds it, after many changes, and with all that folds open, a number half typed.
STATES = {
    "start": "null",
    "middle": "actAtRandom([3, 40])",
    "open": f"""(() => {{
      for (const part of {ROOT}.querySelectorAll('details')) part.open = true;
      const field = {ROOT}.querySelector('[type=number]');
      if (!field) return;
      field.value = '';
      field.dispatchEvent(new Event('input'));
    }})()""",
}


@pytest.mark.parametrize("name", LABS)
def test_access_holds_in_three_states(shown, name):
    page = shown(name)
    page.evaluate(ACTIONS)
    access, found = Access(page), {}
    for state, act in STATES.items():
        page.evaluate(act)
        for scheme, width in product(("light", "dark"), (1280, 390)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(50)  # for what the lab does when its width changes
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found[state, scheme, width] = (access.problems(), max(0, wide))
    assert {where: what for where, what in found.items() if what != ([], 0)} == {}
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate(f"for (const part of {ROOT}.querySelectorAll('details')) part.open = false")


def test_one_sentence_is_live_and_it_is_polite(shown):
    page = shown("scaling")
    speaks = "[aria-live], [role=status], [role=alert]"
    live = page.evaluate(f"[...{ROOT}.querySelectorAll('{speaks}')].map(n => n.ariaLive)")
    assert live == ["polite"]


def test_nothing_moves_where_motion_is_not_wanted(shown):
    page = shown("projections")
    page.emulate_media(reduced_motion="reduce")
    style = f"getComputedStyle({ROOT}.querySelector('.mark')).transitionDuration"
    assert page.evaluate(style) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(style) != "0s"


def test_links_set_what_is_legal_and_leave_the_rest(shown):
    page = shown("scaling", "H=1024;by=root-H;from=elsewhere")
    assert page.locator("[data-field=H]").get_attribute("aria-valuetext") == "1024"
    checked = page.locator("input:checked").evaluate_all("all => all.map(r => r.value)")
    assert checked == ["root-H", "unit"]
    shown("scaling", "H=1000;by=")
    assert page.locator("[data-field=H]").get_attribute("aria-valuetext") == "64"
    page.evaluate("location.hash = 'lab-other/H=4'")
    page.wait_for_timeout(30)
    assert page.locator("[data-field=H]").get_attribute("aria-valuetext") == "64"


def test_the_same_lab_twice_has_two_ids_and_links_mean_the_first(shown):
    page = shown("scaling")
    page.evaluate(
        """() => {
          const other = document.querySelector('.attn-lab').cloneNode(true);
          other.querySelector('.attn-host').remove();
          other.id = 'lab-scaling';
          document.querySelector('main').prepend(other);
          attnlibLabs.scaling();
        }"""
    )
    ids = page.locator(".attn-lab").evaluate_all("all => all.map(place => place.id)")
    assert ids == ["lab-scaling-2", "lab-scaling"]
    second, first = (page.locator(".attn-lab").nth(n).locator("[data-field=H]") for n in (0, 1))
    for link, values in {
        "lab-scaling/H=16": ["16", "64"],
        "lab-scaling-2/H=4": ["16", "4"],
    }.items():
        page.evaluate("link => location.hash = link", link)
        page.wait_for_timeout(30)
        assert [one.get_attribute("aria-valuetext") for one in (first, second)] == values
    second.fill("0")
    assert first.get_attribute("aria-valuetext") == "16"
    titles = page.locator(".attn-lab h3").evaluate_all("all => all.map(title => title.id)")
    assert len(set(titles)) == 2
    page.evaluate("document.querySelector('.attn-lab').remove(); attnlibLabs.scaling()")
    assert page.locator(".attn-lab").count() == 1


def test_broken_state_gives_a_sentence(browser, tmp_path):
    file = tmp_path / "broken.html"
    lab("scaling").save_html(file)
    text = file.read_text()
    file.write_text(re.sub(r'"sizes":\[[^]]*\]', '"sizes":null', text))
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".attn-host")
    assert "are not what it needs" in page.locator(".message").inner_text()
    page.close()


# ---------- the HTML


@pytest.fixture
def notebook(monkeypatch):
    """Let outputs stem from one cell or another of one kernel."""
    monkeypatch.setattr(output, "_carriers", {})
    monkeypatch.delenv("ATTNLIB_STATIC", raising=False)
    return lambda cell: monkeypatch.setattr(output, "_cell", lambda: cell)


def test_code_comes_with_the_first_cell_of_each_lab(notebook):
    note = output.NOTE.format(what="lab")
    notebook("a")
    assert note not in lab("scaling")._repr_html_()
    notebook("b")
    assert note in lab("scaling")._repr_html_()
    assert note not in lab("mask")._repr_html_(), "another lab has other code"
    notebook("a")
    assert note not in lab("scaling")._repr_html_(), "the first cell run again must not lose it"


@pytest.mark.parametrize("name", LABS)
def test_committed_output_holds_tables_and_nothing_that_runs(monkeypatch, name):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    text = lab(name)._repr_html_()
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json">']
    assert text == lab(name)._repr_html_()
    assert text.count("<tr>") >= 4
    assert "style=" not in text
    assert len(text) < 60_000


def test_no_word_ends_its_script_or_becomes_a_tag(monkeypatch):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    text = lab("projections", tokens=[HOSTILE, "b", "c"])._repr_html_()
    assert text.count("<script") == 1
    assert "<!--" not in text
    state = re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(state)["tokens"][0] == HOSTILE


def test_an_unknown_lab_is_refused_with_those_there_are():
    with pytest.raises(KeyError, match="there is no 'scale'; there are projections, matmul"):
        lab("scale")


def test_a_lab_says_what_it_asks():
    assert repr(lab("mask")).startswith("What is filled in: which number keeps a token out")


@pytest.mark.parametrize("name", ["projections", "head", "wild"])
def test_on_a_phone_the_tokens_that_are_spoken_of_are_named(shown, name):
    page = shown(name)
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(f"{ROOT}.querySelector('svg.narrow')")
    texts = page.locator(".stage svg .label").all_text_contents()
    if name == "wild":
        assert texts.count("token 5") == 2, "beside the rows of both"
        assert texts.count("5") == 2, "under the columns of both"
        axes = page.locator(".stage svg .axis").all_text_contents()
        assert axes.count("S = 6 queries") == 2
    else:
        assert "S: 0 token 0 · 1 token 1 · 2 token 2" in texts
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(f"!{ROOT}.querySelector('svg.narrow')")
