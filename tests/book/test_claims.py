"""Chapter 9: under each claim's heading a cell settles that claim and no other."""

from __future__ import annotations

import ast
import re

import notebooks

from . import form

CHAPTER = notebooks.ROOT / "book" / "09-claims-checked.ipynb"
VERDICTS = {"true", "false"}


def settled(source: str) -> list[ast.Call]:
    """The calls of `settle` that are asserted."""
    checked = (node.test for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert))
    return [
        call
        for call in checked
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "settle"
    ]


def claims(cells: list[form.Cell]) -> dict[str, list[ast.Call]]:
    """heading -> what is settled below it, up to the next heading."""
    found: dict[str, list[ast.Call]] = {}
    heading = ""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for line in cell["source"].splitlines():
                if line.startswith("#"):
                    heading = line.removeprefix("### ") if line.startswith("### ") else ""
                    if heading:
                        found[heading] = []
        elif heading:
            found[heading] += settled(cell["source"])
    return found


def departures(cells: list[form.Cell]) -> list[str]:
    """The headings whose claim is not settled once, asserted, in their own words."""
    return [
        heading
        for heading, calls in claims(cells).items()
        if [call.args[0].value for call in calls] != [heading]
    ]


def test_each_claim_is_settled_once_and_in_the_words_of_its_heading() -> None:
    cells = form.read(CHAPTER)
    assert departures(cells) == []
    assert len(claims(cells)) > 40


def test_each_verdict_is_true_false_or_names_its_condition() -> None:
    verdicts = [
        [part.value for part in ast.walk(call.args[1]) if isinstance(part, ast.Constant)]
        for calls in claims(form.read(CHAPTER)).values()
        for call in calls
    ]
    words = [word for verdict in verdicts for word in verdict]
    assert all(word in VERDICTS or re.match(r"true if \w", word) for word in words)
    assert len(words) >= len(verdicts)


def test_every_call_of_settle_stands_in_an_assertion() -> None:
    source = "\n".join(c["source"] for c in form.read(CHAPTER) if c["cell_type"] == "code")
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [call for call in calls if ast.unparse(call.func) == "settle"]
    assert len(named) == len(settled(source)) > 40


def test_a_claim_in_other_words_is_found() -> None:
    heading = {"cell_type": "markdown", "source": "### It is so\n\nMany say it."}
    right = {"cell_type": "code", "source": 'assert settle("It is so", "true")'}
    other = {"cell_type": "code", "source": 'assert settle("It is", "true")'}
    loose = {"cell_type": "code", "source": 'settle("It is so", "true")'}
    end = {"cell_type": "markdown", "source": "## The table"}
    assert departures([heading, right, end, other]) == []
    assert departures([heading, other]) == ["It is so"]
    assert departures([heading, loose]) == ["It is so"]
    assert departures([heading, right, right]) == ["It is so"]
    assert departures([heading, end, right]) == ["It is so"]
