"""The committed notebooks are in the normal form; their players and labs show what a run gives."""

from __future__ import annotations

import copy
import difflib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_cache import get_cache

import notebooks

NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
WIDGET = re.compile(r'<div class="attn-(player|lab)"')
BOOK = notebooks.notebooks()


def named(path: Path) -> str:
    return path.stem


def shown(notebook: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(cell, kind, text) of each output that must come out again; a picture has no text.

    What a cell shows of time, or of the machine, is tagged `nbval-ignore-output`, as other tools
    call it.
    """
    for cell in notebook["cells"]:
        if "nbval-ignore-output" in cell["metadata"].get("tags", []):
            continue
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                yield cell["id"], output["name"], "".join(output["text"])
            for kind, text in sorted(output.get("data", {}).items()):
                is_pixels = kind in ("image/png", "image/jpeg")
                yield cell["id"], kind, "" if is_pixels else "".join(text)


def differences(committed: str, fresh: str) -> Iterator[str]:
    """Where two outputs differ: in a letter; in a player or lab in a number, by more than 1e-5."""
    if not WIDGET.search(committed):
        if committed != fresh:
            yield "\n".join(difflib.unified_diff(committed.splitlines(), fresh.splitlines(), n=0))
        return
    if NUMBER.sub("#", committed) != NUMBER.sub("#", fresh):
        yield "the texts around the numbers differ"
        return
    numbers = zip(NUMBER.finditer(committed), NUMBER.finditer(fresh), strict=True)
    for one, other in numbers:
        if not math.isclose(float(one[0]), float(other[0]), rel_tol=1e-5, abs_tol=1e-5):
            yield f"{one[0]} is committed, {other[0]} comes out"


def test_the_book_has_notebooks() -> None:
    assert BOOK, "the other tests of this file would compare nothing"


@pytest.mark.parametrize("path", BOOK, ids=named)
def test_committed_notebook_is_in_the_normal_form(path: Path) -> None:
    assert notebooks.faults(path) == []


def run_of(path: Path) -> dict[str, Any]:
    """Run a notebook, unless tools/suite.py has just had the book built and its runs stored."""
    runs = os.environ.get("RUNS_OF_NOW")
    return (runs and notebooks.stored(path, Path(runs))) or notebooks.executed(path)


@pytest.mark.executes
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", BOOK, ids=named)
def test_a_fresh_run_gives_what_is_committed(path: Path) -> None:
    committed = list(shown(json.loads(path.read_text())))
    fresh = list(shown(run_of(path)))
    assert [output[:2] for output in fresh] == [output[:2] for output in committed]
    for (cell, kind, ours), (_, _, theirs) in zip(committed, fresh, strict=True):
        assert list(differences(ours, theirs)) == [], f"cell {cell}, {kind}"


def shows_a_player(cell: dict[str, Any]) -> bool:
    return '<div class="attn-player' in json.dumps(cell.get("outputs", [])).replace('\\"', '"')


@pytest.mark.parametrize("path", BOOK, ids=named)
def test_a_cell_that_shows_a_player_asserts_nothing(path: Path) -> None:
    """Whoever tries other sizes there sees the player; a statement is checked in the next cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    players = ["".join(cell["source"]) for cell in cells if shows_a_player(cell)]
    assert [source for source in players if re.search(r"^ *assert\b", source, re.M)] == []
    chapter = path.stem[0].isdigit() and path.stem[:2] != "09"
    assert players or not chapter, "no player is found in this chapter"


PLAYER = '<div class="attn-player">'


def test_differences_sees_words_and_numbers() -> None:
    assert list(differences(PLAYER + "S = 3: 0.500000", PLAYER + "S = 3: 0.500001")) == []
    assert list(differences(PLAYER + "0.5 1e-09", PLAYER + "0.5 -2e-09")) == []
    found = list(differences(PLAYER + "0.5", PLAYER + "0.5001"))
    assert found == ["0.5 is committed, 0.5001 comes out"]
    found = list(differences(PLAYER + "S = 3: 0.5", PLAYER + "S = 4: 0.5"))
    assert found == ["the texts around the numbers differ"]
    assert list(differences("0.500000", "0.500000")) == []
    assert "+0.500001" in next(differences("0.500000", "0.500001"))


def test_shown_leaves_out_what_varies_and_the_pixels_of_a_picture() -> None:
    notebook = a_notebook()
    picture = {
        "output_type": "display_data",
        "data": {"image/png": "x", "text/plain": ["<Figure>"]},
    }
    notebook["cells"][2]["outputs"].append(picture)
    kinds = [(kind, text) for _, kind, text in shown(notebook)]
    assert kinds == [("stdout", "1\n"), ("image/png", ""), ("text/plain", "<Figure>")]
    notebook["cells"][2]["metadata"]["tags"] = ["nbval-ignore-output"]
    assert list(shown(notebook)) == []


def a_notebook() -> dict[str, Any]:
    """A small notebook in the normal form, as it would lie in a file named `small.ipynb`."""
    code = {
        "cell_type": "code",
        "execution_count": 2,
        "metadata": {"tags": ["hide-input"]},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
        "source": ["print(1)"],
    }
    prose = {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]}
    raw = {"cells": [prose, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return notebooks.normalise(raw, "small")


def faults_after(notebook: dict[str, Any], folder: Path) -> list[str]:
    path = folder / "small.ipynb"
    path.write_text(notebooks.written(notebook))
    return notebooks.faults(path)


def test_the_normal_form_has_no_fault_and_is_its_own_normal_form(tmp_path: Path) -> None:
    assert faults_after(a_notebook(), tmp_path) == []
    assert notebooks.normalise(a_notebook(), "small") == a_notebook()


def test_a_stored_run_is_that_of_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, ran = tmp_path / "small.ipynb", a_notebook()
    path.write_text(notebooks.written(ran))
    get_cache(tmp_path / "runs").cache_notebook_file(path, check_validity=False)
    monkeypatch.setenv("RUNS_OF_NOW", str(tmp_path / "runs"))
    ran["cells"][2]["outputs"][0]["text"] = ["2\n"]
    path.write_text(notebooks.written(ran))
    assert run_of(path) == a_notebook(), "what is committed is not taken for what came out"
    ran["cells"][2]["source"] = ["print(2)"]
    path.write_text(notebooks.written(ran))
    assert notebooks.stored(path, tmp_path / "runs") is None
    monkeypatch.setattr(notebooks, "executed", lambda path: {"run": path.stem})
    assert run_of(path) == {"run": "small"}


VIEW = {
    "output_type": "display_data",
    "metadata": {},
    "data": {notebooks.WIDGET_VIEW: {"model_id": "1"}},
}
WARNED = {"output_type": "stream", "name": "stderr", "text": ["careful\n"]}
RAISED = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("cells", 2, "id"), "mine", "id 'mine'"),
        (("cells", 2, "execution_count"), 7, "execution_count 7"),
        (("cells", 2, "execution_count"), None, "execution_count None"),
        (("cells", 2, "outputs"), [VIEW], "a widget view"),
        (("cells", 2, "outputs"), [WARNED], "written to stderr"),
        (("cells", 2, "outputs"), [RAISED], "an error is committed: ValueError"),
        (("cells", 2, "metadata", "collapsed"), True, "not in the normal form"),
        (("metadata", "kernelspec"), {"name": "mine"}, "kernelspec is"),
        (("metadata", "widgets"), {"state": {}}, "widget state"),
        (("cells", 1, "source"), ["pass"], "not in the normal form"),
        (("cells", 1, "id"), "mine", "the cell for Colab is missing"),
        (("cells", 0, "source"), ["x" * notebooks.MAX_BYTES], "more than 300,000"),
    ],
)
def test_each_departure_from_the_normal_form_is_named(
    where: tuple[Any, ...], value: object, words: str, tmp_path: Path
) -> None:
    notebook = copy.deepcopy(a_notebook())
    place: Any = notebook
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value
    assert any(words in fault for fault in faults_after(notebook, tmp_path))


def test_normalise_joins_streams_and_drops_what_remembers_the_run() -> None:
    notebook = a_notebook()
    stream = {"output_type": "stream", "name": "stdout", "text": "1\n"}
    notebook["cells"][2]["outputs"] = [stream, stream | {"text": "2\n"}, VIEW]
    notebook["cells"][2]["metadata"]["execution"] = {"iopub.execute_input": "2026"}
    notebook["metadata"]["widgets"] = {"state": {}}
    cell = notebooks.normalise(notebook, "small")["cells"][2]
    assert cell["outputs"] == [stream | {"text": ["1\n", "2\n"]}]
    assert cell["metadata"] == {"tags": ["hide-input"]}
