"""The HTML form: readable without scripts, safe with any string, small, and whole on the disk."""

import json
import re
from types import SimpleNamespace

import pytest

from attnlib import dims
from attnlib.widgets import (
    LABS,
    lab_script,
    output,
    page_script,
    player_html,
    save_html,
    tokens_css,
    tools_script,
)
from attnlib.widgets.source import Bundle

from . import played

NOTE = output.NOTE.format(what="player")
HOSTILE = "</script><script>window.hit=1</script><!--<script>"


@pytest.fixture(autouse=True)
def _kernel(monkeypatch):
    monkeypatch.setattr(output, "_carriers", {})
    monkeypatch.delenv("ATTNLIB_STATIC", raising=False)


def notebook(monkeypatch, cell: str) -> None:
    """Pretend that a notebook's cell is running."""
    kernel = SimpleNamespace(get_parent=lambda: {"metadata": {"cellId": cell}})
    shell = SimpleNamespace(kernel=kernel, execution_count=1)
    monkeypatch.setitem(output.sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_the_table_says_every_step_without_scripts(monkeypatch, head):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    text = player_html(head[0])
    table = text[: text.index("</table>")]
    assert table.count("<tr>") == 12
    for words in (
        "<b>k transposed</b>",
        "(batch, H, S)",
        "(2, 4, 3)",
        "<code>scores = q @ k.transpose(-2, -1)</code>",
        "view",
    ):
        assert words in table
    assert "style=" not in text, "front ends strip it; the table must not need it"


def test_static_output_holds_nothing_that_runs_and_is_the_same_twice(monkeypatch, head):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    text = player_html(head[0])
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json">']
    assert text == player_html(head[0])
    assert 'id="player-singleheadattention"' in text


def test_the_state_comes_back_whole(head):
    state = re.search(
        r'<script type="application/json">(.*?)</script>', player_html(head[0]), re.DOTALL
    )[1]
    assert json.loads(state) == head[0]


def test_no_string_ends_its_script_or_becomes_a_tag(monkeypatch, head):
    monkeypatch.setenv("ATTNLIB_STATIC", "1")
    trace = json.loads(json.dumps(head[0]).replace("q = self.query(x)", HOSTILE)) | {
        "title": HOSTILE
    }
    text = player_html(trace, id=HOSTILE)
    assert text.count("<script") == 1
    assert "<!--" not in text


def test_no_field_of_a_trace_from_outside_becomes_a_tag(monkeypatch, head):
    """Also where a number should stand: `player_html` takes any dict."""
    monkeypatch.setenv("ATTNLIB_STATIC", "1")

    def hostile(value):
        if isinstance(value, dict):
            return {key: hostile(item) for key, item in value.items()}
        return [hostile(item) for item in value] if isinstance(value, list) else HOSTILE

    text = player_html(hostile(json.loads(json.dumps(head[0]))))
    assert text.count("<script") == 1
    assert text.count("&lt;script&gt;window.hit=1") > len(head[0]["steps"])


def test_the_code_comes_once_a_kernel_and_with_its_own_cell_again(monkeypatch, head):
    long = len(page_script())
    notebook(monkeypatch, "a")
    assert len(player_html(head[0])) > long, "the first output brings it"
    notebook(monkeypatch, "b")
    later = player_html(head[0])
    assert len(later) < 40_000
    assert NOTE in later
    notebook(monkeypatch, "a")
    assert len(player_html(head[0])) > long, "the first cell run again must not lose it"


def test_in_colab_every_output_is_a_page_of_its_own(monkeypatch, head):
    monkeypatch.setitem(output.sys.modules, "google.colab", SimpleNamespace())
    notebook(monkeypatch, "a")
    player_html(head[0])
    notebook(monkeypatch, "b")
    assert len(player_html(head[0])) > len(page_script())


def test_a_saved_file_is_small_whole_and_replaces_only_when_complete(monkeypatch, head, tmp_path):
    path = tmp_path / "head.html"
    save_html(head[0], path)
    before = path.read_text()
    assert path.stat().st_size <= 120_000
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", before)
    monkeypatch.setattr(
        output.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(OSError, match="disk full"):
        save_html(played.big(), path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["head.html"]


def test_no_script_ends_its_own_element():
    assert "</" not in page_script() + page_script(book=True) + tools_script()
    assert not any("</" in lab_script(name) for name in LABS)


def test_modules_of_one_script_may_not_give_the_same_name():
    both = Bundle("labs/mask.js", "", ("labs/wild.js",))
    with pytest.raises(ValueError, match=r"labs/wild.js and labs/mask.js both give the name"):
        both.text()
    taken = Bundle("labs/mask.js", "", ("tables.js",), ("labs/fields.js", "kit.js"))
    assert taken.text().startswith("(() => {\n'use strict';\nconst $shared = window.attnlibShared")


def test_colours_come_from_the_named_dimensions():
    css = tokens_css()
    for dim in dims.DIMS.values():
        for voice in ("ink", "fill", "tint"):
            light, dark = getattr(dim, voice)
            assert f"--{dim.symbol}-{voice}: light-dark({light}, {dark});" in css


def test_every_colour_the_player_uses_is_defined():
    from attnlib.widgets.source import text_of

    style = text_of("base.css") + text_of("player.css")
    defined = set(re.findall(r"(--[\w-]+):", tokens_css() + style))
    assert set(re.findall(r"var\((--[\w-]+)\)", style + page_script())) <= defined | {"--fill"}


def test_what_is_no_trace_is_refused(modules):
    for bad in (
        {},
        [],
        {"format": "attnlib-trace", "version": 2},
        {"format": "attnlib-trace", "version": 1, "steps": []},
    ):
        message = modules.evaluate("refusal", bad)
        assert message.startswith("This is not a trace that can be played"), bad


def test_a_form_needs_a_dict():
    with pytest.raises(TypeError, match="must give a dict"):
        player_html(SimpleNamespace(to_dict=list))
