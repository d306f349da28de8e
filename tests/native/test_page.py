"""The page on C++ and C runs on a machine without a compiler too, and says what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import native

PAGE = Path(__file__).parents[2] / "book" / "same-head-in-c.ipynb"
REASON = "there is no compiler on this machine"


def code_cells() -> list[dict]:
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_without_a_compiler_every_cell_runs_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native, "missing", lambda part: REASON)
    names: dict[str, object] = {}
    silent = 0
    for cell in code_cells():
        exec(compile("".join(cell["source"]), "cell", "exec"), names)
        depends = "nbval-ignore-output" in cell["metadata"].get("tags", [])
        silent += depends != (REASON in capsys.readouterr().out)
    assert silent == 0, "the cells that are not compared are those that a compiler changes"


def test_committed_outputs_come_from_a_machine_with_both_compilers() -> None:
    said = json.dumps([cell["outputs"] for cell in code_cells()])
    assert "C   compiled by" in said and "C++ compiled by" in said
    assert "passed identity weights give the values" in said
    assert not any(words in said for words in (REASON, "not compiled yet", "refused the sources"))
