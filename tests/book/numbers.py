"""Numbers in prose: each stands in a cell nearby, which ran, or is allowed for a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .form import Cell, visible

NUMBER = re.compile(r"(?<![\w.\-])−?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
IN_CODE = re.compile(r"\d+(?:[_,]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
SHAPE = re.compile(r"\((?:`\w+` )?\d+(?:, (?:`\w+` )?\d+)+\)")

# A pattern, and why what it matches needs no run.
ALLOWED = {
    r"(?i)\bchapters? \[?\d+\]?(?:(?:,| to| and) \[?\d+\]?)*": "the number of a chapter",
    r"\[\d+ · |^# \d+ · ": "the title of a chapter",
    r"Reading time: \d+ minutes": "a plan, not a measurement",
    r"(?:al\.|and \w+), \d{4}|paper of 2017": "the year of a paper",
    r"(?<![\d.])[01](?!\d|\.\d)": "exact: nothing and the whole, mean and variance, off and on",
    r"1/3 · 1/3 = 1/9|/9": "worked out in the sentence before; measured two cells further down",
    r"power of [24]": "arithmetic",
    r"at place 3|place 2 ": "places chosen to speak of",
    r"with 32 bits": "the definition of float32",
}


def outputs(cell: Cell) -> str:
    """What a cell printed or returned, as text."""
    parts: list[Any] = []
    for output in cell.get("outputs", []):
        parts.append(output.get("text", ""))
        data = output.get("data", {})
        parts += [data[kind] for kind in ("text/plain", "text/markdown") if kind in data]
    return "\n".join("".join(part) for part in parts)


def values(text: str) -> set[float]:
    """The numbers in code or in its output, with and without separators between thousands."""
    found = [*IN_CODE.findall(text), *re.findall(r"\d+(?:\.\d+)?", text)]
    return {float(number.replace("_", "").replace(",", "")) for number in found}


def sections(cells: list[Cell]) -> list[list[tuple[int, Cell]]]:
    """The cells of a notebook, cut at second-level headings."""
    cut: list[list[tuple[int, Cell]]] = [[]]
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "markdown" and cell["source"].startswith("## "):
            cut.append([])
        cut[-1].append((index, cell))
    return cut


def code(section: list[tuple[int, Cell]]) -> str:
    cells = (cell for _, cell in section if cell["cell_type"] == "code")
    return "\n".join(f"{cell['source']}\n{outputs(cell)}" for cell in cells)


def unmeasured(text: str, nearby: set[float]) -> Iterator[str]:
    """The numbers of a prose cell that no cell nearby holds and nothing allows."""
    text = re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", " ", visible(text), flags=re.S)
    for pattern in ALLOWED:
        text = re.sub(pattern, " ", text, flags=re.M)
    for number in NUMBER.finditer(text):
        if abs(float(number[0].replace(",", "").replace("−", "-"))) not in nearby:
            yield " ".join(text[max(0, number.start() - 25) : number.end() + 15].split())


def typed(cells: list[Cell]) -> Iterator[str]:
    """Every number in prose that stands in no cell of its section or of the section before.

    Where a section asks for a prediction the run comes after it, and holds each shape as a whole.
    """
    cut = [*sections(cells), []]
    for place, section in enumerate(cut):
        nearby = values(code(cut[place - 1]) + code(section))
        predicts = bool(section) and section[0][1]["source"].startswith("## Predict")
        if predicts:
            nearby |= values(code(cut[place + 1]))
        for index, cell in section:
            if cell["cell_type"] == "markdown":
                text = cell["source"]
                if predicts:
                    later = "".join(code(following) for following in cut[place:])
                    yield from (f"cell {index}: {shape}" for shape in never_run(text, later))
                    text = SHAPE.sub(" ", text)
                yield from (f"cell {index}: … {found} …" for found in unmeasured(text, nearby))


def never_run(text: str, later: str) -> list[str]:
    """The shapes in `text` whose numbers, names left out, stand in no later cell."""
    shapes = [re.findall(r"\b\d+\b", shape[0]) for shape in SHAPE.finditer(text)]
    return [f"({', '.join(shape)})" for shape in shapes if ", ".join(shape) not in later]
