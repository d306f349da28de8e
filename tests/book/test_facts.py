"""Every fact that the book is to hold is asserted by a cell of its page that ran."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import notebooks

BOOK = notebooks.ROOT / "book"
FACTS = Path(__file__).with_name("facts.yml")
TAG = "fact:"
Cell = dict[str, Any]


class EachKeyOnce(yaml.SafeLoader):
    """YAML lets a later key replace an earlier one in silence; here that is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f"{node.start_mark}: {', '.join(sorted(twice))} stands there twice")
        return super().construct_mapping(node, deep)


def facts() -> dict[str, dict[str, str]]:
    """page -> fact id -> statement."""
    return yaml.load(FACTS.read_text(encoding="utf-8"), EachKeyOnce)


def asserts(source: str) -> bool:
    """Say whether code holds an assertion about something that it computed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and any(
            isinstance(part, ast.Name) for part in ast.walk(node.test)
        ):
            return True
        if isinstance(node, ast.Raise) and "AssertionError" in ast.unparse(node):
            return True
    return False


def tagged(page: str) -> dict[str, list[Cell]]:
    """fact id -> the cells of a page that carry it."""
    found: dict[str, list[Cell]] = {}
    path = BOOK / f"{page}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
    for cell in cells:
        for tag in cell["metadata"].get("tags", []):
            if tag.startswith(TAG):
                found.setdefault(tag.removeprefix(TAG), []).append(cell)
    return found


def fault(cells: list[Cell]) -> str | None:
    """Say why these cells do not settle a fact, if so."""
    if len(cells) != 1:
        return f"{len(cells)} cells carry it"
    if cells[0]["cell_type"] != "code" or cells[0]["execution_count"] is None:
        return "its cell was not executed"
    return None if asserts("".join(cells[0]["source"])) else "its cell asserts nothing"


@pytest.mark.parametrize("page", facts())
def test_each_fact_is_asserted_by_a_cell_that_ran(page: str) -> None:
    cells = tagged(page)
    wrong = {id_: fault(cells.get(id_, [])) for id_ in facts()[page]}
    assert {id_: why for id_, why in wrong.items() if why} == {}


def test_each_tag_of_a_cell_is_a_listed_fact() -> None:
    pages = [path.stem for path in notebooks.notebooks()]
    listed = facts()
    unlisted = [id_ for page in pages for id_ in tagged(page) if id_ not in listed.get(page, {})]
    assert unlisted == []


def test_an_id_begins_with_its_page() -> None:
    listed = facts()
    strangers = [
        id_
        for page, group in listed.items()
        for id_ in group
        if id_.split("-")[0] not in page.split("-")
    ]
    assert strangers == []
    statements = [statement for group in listed.values() for statement in group.values()]
    assert all(statement.endswith(".") for statement in statements)
    assert len(statements) == len(set(statements)) > 200


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("assert x.sum() == 1", True),
        ("try:\n    f()\nexcept E:\n    pass\nelse:\n    raise AssertionError('no')", True),
        ("assert True", False),
        ("assert 2 + 2 == 4", False),
        ("print('assert x == 1')", False),
        ("# assert x == 1", False),
    ],
)
def test_an_assertion_is_told_from_its_look(source: str, seen: bool) -> None:
    assert asserts(source) is seen


def test_what_does_not_settle_a_fact_is_named() -> None:
    ran = {"cell_type": "code", "execution_count": 1, "source": ["assert x"]}
    assert fault([ran]) is None
    assert fault([]) == "0 cells carry it"
    assert fault([ran, ran]) == "2 cells carry it"
    assert fault([ran | {"execution_count": None}]) == "its cell was not executed"
    assert fault([ran | {"source": ["x"]}]) == "its cell asserts nothing"


def test_an_id_that_stands_twice_is_noticed() -> None:
    with pytest.raises(ValueError, match="one stands there twice"):
        yaml.load("page:\n  one: a\n  one: b\n", EachKeyOnce)
