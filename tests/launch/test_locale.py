"""A terminal without our letters: what it can show is shown, and nothing of ours ends a script."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import attnlib
from attnlib.exercises import check, verify
from attnlib.exercises.appearance import appear

ROOT = Path(attnlib.__file__).resolve().parent.parent
# C as Python has it where it may not help itself: ASCII in, ASCII out, and for files as well.
BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SAVES = """
import locale, sys, torch, attnlib
from attnlib.tracer import page
def kopf(größe):
    return größe @ größe.mT
trace = attnlib.trace(kopf, torch.randn(2, 3, 6), dims="batch S n_embd")
trace.save_html("player.html")
page.save_html(trace, "table.html")
print(sys.stdout.encoding, locale.getpreferredencoding())
print(trace)
"""


@pytest.fixture(params=["ascii", "cp1252", "utf-8"])
def printed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Print to a terminal of this encoding; gives what stands there. Windows' files have cp1252."""

    def through(thing: object) -> str:
        terminal = io.TextIOWrapper(io.BytesIO(), encoding=request.param)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            print(thing)
            terminal.flush()
        return terminal.buffer.getvalue().decode(request.param)

    through.encoding = request.param
    return through


def kopf(x, größe):
    α = x @ größe
    for _ in range(9):
        α = α + 1
    was_jede_anfrage_von_jedem_schlüssel_nimmt = α.softmax(-1)
    return was_jede_anfrage_von_jedem_schlüssel_nimmt


@pytest.fixture(scope="module")
def traced() -> attnlib.tracer.Trace:
    return attnlib.trace(kopf, torch.randn(2, 3, 6), torch.randn(6, 4), dims="batch S n_embd")


def test_a_table_is_printed_with_every_row_in_its_columns(printed, traced) -> None:
    lines = printed(traced).splitlines()
    heads, rule, *rows = lines[2:]
    assert set(rule) <= ({" ", "─"} if printed.encoding == "utf-8" else {" ", "-"})
    ruled = [i for i, sign in enumerate(rule) if sign != " " and rule[i - 1 : i] in ("", " ")]
    rows = [row for row in rows if "more times" not in row]
    assert len(rows) == 5
    for row in (heads, *rows):
        assert all(row[start - 2 : start] == "  " for start in ruled[1:])
    name = {"ascii": r"gr\xf6\xdfe", "cp1252": "größe", "utf-8": "größe"}[printed.encoding]
    assert rows[1].split()[1] == name


def test_a_narrow_table_is_cut_in_letters_that_are_there(
    printed, traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = printed(traced).splitlines()
    assert max(map(len, lines)) <= 60
    assert any(("..." if printed.encoding == "ascii" else "…") in line for line in lines)


def test_what_is_said_of_a_trace_is_printed(printed, traced) -> None:
    assert printed(traced.check(batch=3)).startswith("checked at batch = 3: every row's dims hold")


def test_verdicts_are_printed(printed) -> None:
    plain = printed.encoding != "utf-8"
    mark = {"right": "ok" if plain else "✓", "open": "o" if plain else "○"}
    assert printed(check("scores", lambda q, k: q @ k.mT)).startswith(mark["right"] + " scores:")
    assert printed(check("scores", lambda q, k: ...)).startswith(mark["open"] + " not-written:")
    laws = printed(verify(attnlib.SingleHeadAttention(n_embd=6, head_size=4)))
    assert f"\n{mark['right']} causality" in laws
    assert "transpose-missing" in printed(appear("transpose-missing", lambda q, k: q @ k))


def test_an_output_without_an_encoding_is_left_as_it_is(monkeypatch, traced) -> None:
    whole = str(traced)
    for output in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stdout", output)
        assert str(traced) == whole


def test_what_is_saved_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "saves.py").write_text(SAVES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "saves.py"],
        cwd=tmp_path,
        env=os.environ | BARE | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *table = done.stdout.splitlines()
    assert first.lower().split() == ["ascii", "ansi_x3.4-1968"]
    assert any(r"gr\xf6\xdfe" in line for line in table)
    for name in ("player.html", "table.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert '<meta charset="utf-8">' in text
        assert "größe" in text or r"gr\u00f6\u00dfe" in text
