"""The form of a notebook: how long its cells are, what a chapter opens with, where numbers stand.

Each rule takes a notebook and says what departs from it, in plain words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

Cell = dict[str, Any]
WORDS, LINES, MEDIAN, IDEAS = 80, 12, 5, 8
PHONE, SMALLEST = 350, 6.5  # pixels
HIDDEN = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
# The rungs of the ladder that every chapter climbs; any other second-level heading is an idea.
RUNGS = re.compile(
    r"(?i)by hand|predict|loops?\b|\blines?\b|watch it|the trace$|where it breaks|one question|"
    r"two questions|your turn|exercise|try it|the lab|what libraries call it|under the hood|"
    r"what you can do now|read, run|the table$"
)


def read(path: Path) -> list[Cell]:
    """The cells of a notebook, each with its source as one string."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def tags(cell: Cell) -> set[str]:
    return set(cell["metadata"].get("tags", []))


def prose(cells: list[Cell]) -> Iterator[tuple[int, str]]:
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            yield index, cell["source"]


def visible(text: str) -> str:
    """What is read of a prose cell: no addresses of links, no tags, tables, listings or menus."""
    text = re.sub(r"```.*?```|<[^>]*>", " ", text, flags=re.S)
    text = re.sub(r"^- \[[^]]*\]\([^)]*\)$", "", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


def headings(cells: list[Cell]) -> list[str]:
    texts = (text for _, text in prose(cells))
    return [line[3:] for text in texts for line in text.splitlines() if line.startswith("## ")]


# --- counts --------------------------------------------------------------------------------------


def long_prose(cells: list[Cell]) -> Iterator[str]:
    for index, text in prose(cells):
        words = len(re.sub(r"\$\$.*?\$\$", "", visible(text), flags=re.S).split())
        if words > WORDS:
            yield f"cell {index}: {words} words"


def shown_lines(cells: list[Cell]) -> dict[int, int]:
    """index -> lines, of the code cells that stand open on the page."""
    return {
        index: len(cell["source"].splitlines())
        for index, cell in enumerate(cells)
        if cell["cell_type"] == "code" and not tags(cell) & HIDDEN
    }


def long_code(cells: list[Cell]) -> Iterator[str]:
    for index, lines in shown_lines(cells).items():
        if lines > LINES:
            yield f"cell {index}: {lines} lines"


def long_on_the_whole(cells: list[Cell]) -> Iterator[str]:
    middle = median(shown_lines(cells).values())
    if middle > MEDIAN:
        yield f"half of the code cells have {middle} lines or more"


def too_many_ideas(cells: list[Cell]) -> Iterator[str]:
    ideas = [heading for heading in headings(cells) if not RUNGS.search(heading)]
    if len(ideas) > IDEAS:
        yield f"{len(ideas)} ideas: {'; '.join(ideas)}"


def is_picture(cell: Cell) -> bool:
    kinds = (kind for output in cell.get("outputs", []) for kind in output.get("data", {}))
    return any(kind.startswith("image/") for kind in kinds)


def without_alt(cells: list[Cell]) -> Iterator[str]:
    """A picture says in words what is to be seen."""
    for index, cell in enumerate(cells):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        if is_picture(cell) and len(alt.split()) < 10:
            yield f"cell {index}: a picture with {len(alt.split())} words"
    for index, text in prose(cells):
        if re.search(r"!\[\s*\]|<img(?![^>]*alt=\")", re.sub(r"`[^`]*`", "", text)):
            yield f"cell {index}: a picture without words"


def without_caption(cells: list[Cell]) -> Iterator[str]:
    """Below a picture stands what to see in it; what was measured is left to the cells."""
    for index, cell in enumerate(cells):
        if is_picture(cell):
            caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
            if len(caption.split()) < 8 or not caption.endswith("."):
                yield f"cell {index}: a caption of {len(caption.split())} words"
            if re.search(r"\d", re.sub(r"`[^`]*`", "", caption)):
                yield f"cell {index}: a number in a caption"


def small_words(cells: list[Cell]) -> Iterator[str]:
    """Words in a picture can be read on a phone: nothing under 6.5 pixels on a column of 350."""
    for index, cell in enumerate(cells):
        for output in cell.get("outputs", []):
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            sizes = [
                float(size) for size in re.findall(r"font(?:-size)?: (?:\d+ )?([\d.]+)px", svg)
            ]
            if sizes:
                width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
                pixels = min(sizes) * min(PHONE / width, 4 / 3)  # a point is 4/3 of a pixel
                if pixels < SMALLEST:
                    yield f"cell {index}: words of {pixels:.1f} pixels on a phone"


# --- how a chapter begins and ends ---------------------------------------------------------------


def bullets(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


def opening_and_end(cells: list[Cell]) -> Iterator[str]:
    """Three bullets that come back word for word, and the time that a chapter takes."""
    texts = [text for _, text in prose(cells)]
    first = next((bullets(text) for text in texts if "**You will be able to**" in text), [])
    last = next((bullets(text) for text in texts if text.startswith("## What you can do now")), [])
    if len(first) != 3:
        yield f"{len(first)} bullets at the start"
    if first != last:
        yield "the bullets at the end are not those of the start"
    if not any(text.startswith("Reading time: 30 minutes") for text in texts):
        yield "no reading time"


def two_questions(cells: list[Cell]) -> Iterator[str]:
    """From chapter 2 on: two questions on earlier chapters, each answered by a run, folded."""
    starts = [i for i, text in prose(cells) if text.startswith("## ")][:2]
    first, following = starts
    if not cells[first]["source"].startswith("## Two questions on what came before"):
        yield "it does not open with two questions"
        return
    answers = [cell for cell in cells[first:following] if "hide-output" in tags(cell)]
    if len(answers) != 2 or not all("assert" in cell["source"] for cell in answers):
        yield f"{len(answers)} folded answers from a run, of which each must assert"
