"""The reference pages are complete: every public name, every chapter's lesson, no stale word."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re

import pytest
import yaml

import attnlib
import attnlib.exercises
import attnlib.widgets
import notebooks

from . import form

BOOK = notebooks.ROOT / "book"
CHAPTERS = [path for path in notebooks.notebooks() if path.stem[0].isdigit()]
DIRECTIVE = re.compile(r"^```\{library\} (\S+)\n(.*?)^```", re.M | re.S)


def listed() -> list[tuple[str, str]]:
    """(module, name) of everything that the page asks for."""
    blocks = DIRECTIVE.findall((BOOK / "library.md").read_text(encoding="utf-8"))
    return [(module, name) for module, names in blocks for name in names.split()]


@pytest.mark.parametrize("module", [attnlib, attnlib.exercises, attnlib.widgets])
def test_every_public_name_is_on_the_page_of_the_library(module: object) -> None:
    names = {name for name in module.__all__ if not inspect.ismodule(getattr(module, name))}
    assert {name for where, name in listed() if where == module.__name__} == names


def test_each_name_stands_there_once() -> None:
    names = [name for _, name in listed()]
    assert len(names) == len(set(names)) > 50


@pytest.mark.parametrize(("module", "name"), listed(), ids=lambda given: given)
def test_an_example_runs_after_the_lines_that_the_page_names(module: str, name: str) -> None:
    text = (BOOK / "library.md").read_text(encoding="utf-8")
    space: dict[str, object] = {}
    exec(re.search(r"^```python\n(.*?)^```", text, re.M | re.S)[1], space)
    exec(f"from {module} import *", space)
    thing = getattr(importlib.import_module(module), name)
    own = vars(thing) if inspect.isclass(thing) else {}
    shown = [thing] if callable(thing) else []
    shown += [getattr(thing, method) for method in own if not method.startswith("_")]
    said: list[str] = []
    for one in shown:
        docs = doctest.DocTestParser().get_doctest(
            inspect.getdoc(one) or "", dict(space), name, None, None
        )
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(docs, out=said.append)
    assert said == [], "".join(said)


def lessons() -> dict[str, str]:
    """title -> text, a lesson for each chapter."""
    parts = re.split(r"^## ", (BOOK / "for-teachers.md").read_text(encoding="utf-8"), flags=re.M)
    return {part.splitlines()[0]: part for part in parts[1:]}


def test_each_chapter_has_a_lesson_under_its_own_title() -> None:
    titles = [form.read(path)[0]["source"].splitlines()[0][2:] for path in CHAPTERS]
    assert list(lessons()) == titles


@pytest.mark.parametrize("title", lessons())
def test_a_lesson_takes_45_minutes_and_expects_two_misconceptions(title: str) -> None:
    text = lessons()[title]
    minutes = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)]
    assert sum(minutes) == 45
    asked = re.search(r"\*\*Ask before.*?\n\n", text, re.S)
    assert asked and asked[0].count("?") >= 2
    expected = re.search(r"\*\*Expect:\*\*.*", text, re.S)
    assert expected and len(re.findall(r"\"[^\"]+\"", expected[0])) == 2


def terms() -> list[str]:
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```", text, re.M | re.S)
    return re.findall(r"^(\S.*)$", "\n".join(blocks), re.M)


def test_the_glossary_holds_words_of_the_book_and_each_once() -> None:
    prose = " ".join(text for path in CHAPTERS for _, text in form.prose(form.read(path)))
    words = re.sub(r"[*\s]+", " ", prose).lower()
    assert [term for term in terms() if term.lower().rstrip("s") not in words] == []
    assert len(terms()) == len(set(terms())) > 60


def test_the_menu_of_symptoms_leads_to_each_of_them() -> None:
    cells = form.read(BOOK / "from-symptom-to-page.ipynb")
    texts = "\n".join(text for _, text in form.prose(cells))
    assert re.findall(r"^- \[(.*)\]\(#", texts, re.M) == re.findall(r"^### (.*)$", texts, re.M)


def test_the_index_leads_to_every_page() -> None:
    contents = yaml.safe_load((notebooks.ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    texts = "\n".join(text for _, text in form.prose(form.read(BOOK / "index.ipynb")))
    linked = re.findall(r"^- \[.*\]\((.*)\.(?:ipynb|md)\)$", texts, re.M)
    assert [f"book/{page}" for page in linked] == pages
