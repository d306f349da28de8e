"""Every mistake that people reported: who answers it, each tried."""

from __future__ import annotations

import json
import linecache
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from headings import slug
from torch import nn

from attnlib import Trace, trace
from attnlib.exercises import check, verify
from tests.exercises.build import function
from tests.exercises.reported_code import CODE
from tests.exercises.reported_functions import FUNCTIONS
from tests.exercises.reported_modules import MODULES

PAGE = Path(__file__).parents[2] / "book" / "from-symptom-to-page.ipynb"


def anchors() -> set[str]:
    """The headings of the page, as links to them are written."""
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    lines = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    headings = re.findall(r"^#{2,3} (.*)$", lines, flags=re.M)
    return {slug(heading.replace("`", "")) for heading in headings}


def compiled(number: int, code: str) -> Callable[[], None]:
    """Make a function of loose code, whose lines a trace can read."""
    text = f"def case():\n{textwrap.indent(code.strip(), '    ')}\n"
    file = f"<report {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"torch": torch, "nn": nn, "F": F}
    exec(compile(text, file, "exec"), space)
    return space["case"]


def traced(number: int, code: str) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace(compiled(number, code), on_error="return")


def explanation(message: str) -> str:
    """What the trace adds to the line itself and to torch's own words."""
    return re.split(r"\n +\^+\n", message.split("torch:")[0])[-1]


@pytest.mark.parametrize("number", FUNCTIONS)
def test_check_answers(number: int) -> None:
    _, exercise, id_, body = FUNCTIONS[number]
    verdict = check(exercise, function(exercise, body))
    assert verdict.diagnosis == id_, verdict
    assert verdict.passed == (id_ is None)


@pytest.mark.parametrize("number", MODULES)
def test_verify_answers(number: int) -> None:
    _, law, make = MODULES[number]
    report = verify(make())
    broken = {found.name for found in report.laws if found.passed is False}
    assert (law in broken) if law else report.passed, report


@pytest.mark.parametrize("number", CODE)
def test_the_trace_or_a_page_answers(number: int) -> None:
    _, who, answer, code = CODE[number]
    if who in {"error", "warning"}:
        result = traced(number, code)
        said = (
            explanation(result.error.message)
            if who == "error"
            else "\n".join(warning.code for warning in result.warnings)
        )
        assert answer in said, said
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(number, code)()
    if who == "symptom":
        assert answer in anchors()


def test_the_reports_are_all_there_and_each_once() -> None:
    every = [*FUNCTIONS, *MODULES, *CODE]
    assert len(every) == len(set(every)) == 135
    assert {who for _, who, _, _ in CODE.values()} == {"error", "warning", "symptom", "elsewhere"}
