"""The exercises in the notebooks are those of the library, and their questions rest on a run."""

from __future__ import annotations

import ast
import builtins
import copy
import json
import re
from pathlib import Path

import pytest
import torch

import catalogue
import exercises as tool
import notebooks
from attnlib.exercises import exercises, mistakes

HOLDERS = [path for path in notebooks.notebooks() if tool.own(path) or path.stem == tool.CATALOGUE]
CHAPTERS = [path for path in HOLDERS if path.stem[0].isdigit()]


def named(path: Path) -> str:
    return path.stem


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_exercise_stands_in_its_chapter_and_on_the_list() -> None:
    assert [int(path.stem[:2]) for path in CHAPTERS] == list(range(1, 9))
    for path in HOLDERS:
        whole = path.read_text(encoding="utf-8")
        for exercise in tool.own(path):
            assert whole.count(f"### Exercise: `{exercise.id}`") == 1
    assert {e.id for path in CHAPTERS for e in tool.own(path)} == {e.id for e in exercises()}


@pytest.mark.parametrize("path", HOLDERS, ids=named)
def test_made_cells_are_what_the_tool_makes(path: Path) -> None:
    assert tool.faults(path) == []


@pytest.mark.parametrize("path", HOLDERS, ids=named)
def test_making_them_again_changes_nothing(path: Path) -> None:
    notebook = read(path)
    again = notebooks.normalise(tool.placed(copy.deepcopy(notebook), path), path.stem)
    assert notebooks.written(again) == notebooks.written(notebook)


@pytest.mark.parametrize("path", CHAPTERS, ids=named)
def test_they_stand_together_before_the_closing_bullets(path: Path) -> None:
    cells = read(path)["cells"]
    made = [index for index, cell in enumerate(cells) if tool.is_made(cell)]
    end = next(i for i, cell in enumerate(cells) if tool.text(cell).startswith(tool.BEFORE))
    assert made == list(range(made[0], made[-1] + 1))
    assert all("question" in cell["metadata"]["tags"] for cell in cells[made[-1] + 1 : end])
    assert 2 <= end - made[-1] - 1 <= 3


def test_a_cell_that_was_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / CHAPTERS[0].name
    notebook = read(CHAPTERS[0])
    place = next(i for i, cell in enumerate(notebook["cells"]) if tool.is_made(cell))
    for change in (
        lambda cells: cells[place]["source"].append("x"),
        lambda cells: cells.pop(place),
    ):
        changed = copy.deepcopy(notebook)
        change(changed["cells"])
        path.write_text(json.dumps(changed), encoding="utf-8")
        assert tool.faults(path) == [f"made cell 0 of {len(tool.made(path))} is not what "
                                     "tools/exercises.py makes"]  # fmt: skip


def test_a_stub_that_nobody_has_filled_says_so() -> None:
    for path in CHAPTERS:
        stubs = [c for c in read(path)["cells"] if tool.is_made(c) and "check(" in tool.text(c)]
        assert len([c for c in stubs if c["cell_type"] == "code"]) == len(tool.own(path))
        for cell in stubs:
            if cell["cell_type"] == "code":
                assert "○ not-written" in json.dumps(cell["outputs"], ensure_ascii=False)


@pytest.mark.parametrize("path", [p for p in HOLDERS if tool.own(p)], ids=named)
def test_the_page_holds_what_its_exercises_ask_for(path: Path) -> None:
    """The hint that the check names can be called there, and a pasted solution passes."""
    cells = read(path)["cells"]
    space = {"torch": torch}
    exec(next(text for cell in cells if "import check" in (text := tool.text(cell))), space)
    made = [cell for cell in cells if tool.is_made(cell)]
    for exercise in tool.own(path):
        stub = next(text for c in made if f'check("{exercise.id}"' in (text := tool.text(c)))
        body, called = stub.rsplit("\n", 1)
        exec(body, space)
        said = str(eval(called, space))
        assert eval(re.search(r"hint\(.*?\)", said)[0], space) == exercise.hints[0]
        told = next(text for c in made if exercise.notice in (text := tool.text(c)))
        exec(re.search(r"```python\n(.*?)```", told, flags=re.S)[1], space)
        assert eval(called, space).passed


def names(source: str, kind: type[ast.expr_context]) -> set[str]:
    """The names that a text of Python reads or binds; calls of the notebook's own are none."""
    tree = ast.parse(source)
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}
    if kind is ast.Store:
        found |= {n.asname or n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
        found |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        found |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return found


@pytest.mark.parametrize("path", [p for p in HOLDERS if tool.own(p)], ids=named)
def test_a_solution_reads_no_name_that_the_cells_above_lack(path: Path) -> None:
    """Whoever runs the page from the top can paste a solution, or write one with torch."""
    known, solved = set(dir(builtins)), 0
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "code":
            known |= names(tool.text(cell), ast.Store)
        elif tool.is_made(cell) and "<summary>A solution</summary>" in tool.text(cell):
            folded = re.search(r"```python\n(.*?)```", tool.text(cell), flags=re.S)[1]
            lacks = names(folded, ast.Load) - known - names(folded, ast.Store)
            assert not lacks, f"{lacks} in:\n{folded}"
            assert "torch" in known
            solved += 1
    assert solved == len(tool.own(path))


def test_every_mistake_stands_on_its_page_once() -> None:
    ids = [id_ for group in catalogue.GROUPS.values() for id_ in group]
    assert sorted(ids) == sorted(mistake.id for mistake in mistakes())


@pytest.mark.parametrize("path", CHAPTERS, ids=named)
def test_each_answer_rests_on_a_cell_that_asserts_it(path: Path) -> None:
    cells = read(path)["cells"]
    facts = {tag for cell in cells for tag in cell["metadata"].get("tags", ()) if "fact:" in tag}
    for cell in cells:
        tags = cell["metadata"].get("tags", [])
        if "question" in tags:
            backed = [tag.removeprefix("backed-by:") for tag in tags if tag != "question"]
            assert backed and {f"fact:{id_}" for id_ in backed} <= facts
            assert tool.text(cell).count("<summary>The answer</summary>") == 1
