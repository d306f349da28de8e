"""Write the exercises into the notebooks, so that nothing of them is typed twice.

    python tools/exercises.py write [FILES]     replace the made cells; then run the notebooks
    python tools/exercises.py check [FILES]     say where the cells are not what is made; exit 1

A chapter holds its own exercises, `book/exercises.ipynb` all of them, `book/mistakes.ipynb` every
mistake with its example. Made cells carry the tag `exercise` and stand together: where they stood
before, else in front of the closing part. What a reader of an exercise gets: statement, loops, a
stub with its check, hints one at a time, a solution.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from pathlib import Path

import notebooks
from attnlib import oracle
from attnlib.exercises import Exercise, exercises, solution
from catalogue import catalogue
from cells import TAG, Cell, code, fence, fold, markdown

LIST = "exercises"
CATALOGUE = "mistakes"
BEFORE = ("## What you can do now", "## Which mistake can arise where", "## Who reports what")
START = """## Exercises

Write the body in place of the three dots, run the cell, and read what `check` says: passed, or
which mistake it is, with the smallest input that shows it. Hints and a solution are folded below
each. *Done*, on the book's pages, is a note of your own: a ✓ does not tick it."""


def own(path: Path) -> list[Exercise]:
    """The exercises that a notebook holds: its chapter's, or all on the list page."""
    if path.stem == LIST:
        return exercises()
    number = re.match(r"(\d\d)-", path.stem)
    return [e for e in exercises() if number and e.chapter == int(number[1])]


def made(path: Path) -> list[Cell]:
    """Every made cell of a notebook, in order."""
    if path.stem == CATALOGUE:
        return list(catalogue())
    asked = own(path)
    if not asked:
        return []
    cells = [] if path.stem == LIST else [markdown(START), code(_IMPORT)]
    chapter = None
    for exercise in asked:
        if path.stem == LIST and exercise.chapter != chapter:
            chapter = exercise.chapter
            cells.append(markdown(_chapter_heading(chapter)))
        cells += [markdown(_asked(exercise)), code(_stub(exercise)), markdown(_told(exercise))]
    return cells


def placed(notebook: Cell, path: Path) -> Cell:
    """Return the notebook with its made cells replaced; what a cell printed stays with it."""
    old = [cell for cell in notebook["cells"] if is_made(cell)]
    kept = [cell for cell in notebook["cells"] if not is_made(cell)]
    at = _place(notebook["cells"], path) if made(path) else 0
    printed = {text(cell): cell for cell in old if cell["cell_type"] == "code"}
    new = [printed.get(text(cell), cell) for cell in made(path)]
    return notebook | {"cells": [*kept[:at], *new, *kept[at:]]}


def is_made(cell: Cell) -> bool:
    return TAG in cell["metadata"].get("tags", [])


def text(cell: Cell) -> str:
    return "".join(cell["source"])


def faults(path: Path) -> list[str]:
    """Where the made cells of a notebook are not what the library makes."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    wanted = [(cell["cell_type"], text(cell)) for cell in made(path)]
    there = [(cell["cell_type"], text(cell)) for cell in notebook["cells"] if is_made(cell)]
    if there == wanted:
        return []
    other = [i for i, pair in enumerate(zip(there, wanted, strict=False)) if pair[0] != pair[1]]
    where = other[0] if other else min(len(there), len(wanted))
    return [f"made cell {where} of {len(wanted)} is not what tools/exercises.py makes"]


# --- cells --------------------------------------------------------------------------------------

_IMPORT = "from attnlib.exercises import check, hint"
_ORACLE = """`spec` says what is wanted. What it calls from `oracle`, the library's own loops over
lists, stands below it."""
_REST = " What that calls in its turn stands with its own exercise."
_LENGTHS = " There are `Sq` queries and `Sk` keys, not always as many."


def _asked(exercise: Exercise) -> str:
    """What is asked, what may be used, and the same in loops."""
    said = f"{_ORACLE}{_REST * _calls_more(exercise.loops)}\n\n" * ("oracle." in exercise.loops)
    loops = fold("The same in plain loops", said + fence(exercise.loops))
    allowed = f"**Allowed:** {exercise.allowed[0].lower()}{exercise.allowed[1:]}"
    lengths = _LENGTHS if "Sq" in " ".join([exercise.returns, *exercise.dims.values()]) else ""
    asked = f"{exercise.statement} You give back {_returned(exercise.returns)}.{lengths}"
    return f"### Exercise: `{exercise.id}`\n\n{asked}\n\n{allowed}\n\n{loops}"


def _calls_more(loops: str) -> bool:
    """Whether the loops call functions of `oracle` that do not stand among them."""
    own = {name for name, _ in inspect.getmembers(oracle, inspect.isfunction)}
    return bool((own & set(re.findall(r"(\w+)\(", loops))) - set(re.findall(r"def (\w+)", loops)))


def _returned(dims: str) -> str:
    kind, words = ("a bool ", dims[5:]) if dims.startswith("bool ") else ("", dims)
    return f"{kind}`({', '.join(words.split())})`"


def _stub(exercise: Exercise) -> str:
    name = exercise.solution.__name__
    return f'{_mine(exercise, exercise.stub)}\n\ncheck("{exercise.id}", my_{name})'


def _mine(exercise: Exercise, text: str) -> str:
    """The function under a name of its own, so that no name of the chapter is overwritten."""
    name = exercise.solution.__name__
    return text.replace(f"def {name}(", f"def my_{name}(", 1)


def _told(exercise: Exercise) -> str:
    """Hints one at a time, a solution, and what to notice in it."""
    ordinal = ("A hint", "A second hint", "A third hint", "A fourth hint")
    folds = [fold(name, hint) for name, hint in zip(ordinal, exercise.hints, strict=False)]
    solved = fence(_mine(exercise, solution(exercise.id)))
    folds.append(fold("A solution", f"{solved}\n\n{exercise.notice}"))
    return "\n\n".join(folds)


def _chapter_heading(chapter: int) -> str:
    name = next(notebooks.ROOT.glob(f"book/{chapter:02}-*.ipynb")).name
    return f"## Chapter {chapter}\n\nThe end of [the chapter]({name}) has the same."


def _place(cells: list[Cell], path: Path) -> int:
    """Where the made cells go, counted among the others."""
    for at, cell in enumerate(cells):
        if is_made(cell) or text(cell).startswith(BEFORE):
            return at  # no made cell stands before the first one
    raise ValueError(f"{path.name}: no made cell, and none of {BEFORE} to put them in front of")


# --- command ------------------------------------------------------------------------------------


def write(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    normal = notebooks.normalise(placed(notebook, path), path.stem)
    path.write_text(notebooks.written(normal), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["write", "check"])
    parser.add_argument("files", nargs="*", help="notebooks; all of the book's when none is named")
    given = parser.parse_args()
    paths = [path for path in notebooks.notebooks(given.files) if made(path)]
    if given.command == "write":
        for path in paths:
            write(path)
        return 0
    found = [f"{notebooks.spoken(path)}: {fault}" for path in paths for fault in faults(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
