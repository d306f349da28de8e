"""The notebooks keep to the book's form, and the rules see what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import notebooks

from . import form
from .numbers import typed

BOOK = notebooks.notebooks()
CHAPTERS = [path for path in BOOK if path.stem[0].isdigit()]
EVERYWHERE = (
    form.long_prose,
    form.long_code,
    form.without_alt,
    form.without_caption,
    form.small_words,
    typed,
)
IN_CHAPTERS = (form.long_on_the_whole, form.too_many_ideas, form.opening_and_end)
Rule = Callable[[list[form.Cell]], Iterator[str]]


def short(value: Any) -> str:
    """A name that is the same in every process."""
    return getattr(value, "__name__", str(value))[:30]


def cases() -> list[Any]:
    pairs = [(path, rule) for path in BOOK for rule in EVERYWHERE]
    pairs += [(path, rule) for path in CHAPTERS for rule in IN_CHAPTERS]
    pairs += [(path, form.two_questions) for path in CHAPTERS if path.stem >= "02"]
    return [pytest.param(*pair, id=f"{pair[0].stem}-{pair[1].__name__}") for pair in pairs]


@pytest.mark.parametrize(("path", "rule"), cases())
def test_a_notebook_keeps_to_the_form(path: Any, rule: Rule) -> None:
    assert list(rule(form.read(path))) == []


def test_there_are_ten_chapters() -> None:
    assert [path.stem[:2] for path in CHAPTERS] == [f"{number:02}" for number in range(10)]


def prose(text: str) -> form.Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(source: str, printed: str = "", *tags: str, alt: str | None = None) -> form.Cell:
    data = {"text/plain": printed} | ({"image/svg+xml": "<svg/>"} if alt is not None else {})
    metadata = {"tags": list(tags), "mystnb": {"image": {"alt": alt or ""}}}
    outputs = [{"output_type": "execute_result", "data": data}]
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs}


def picture(caption: str) -> form.Cell:
    cell = code("plot", alt="")
    cell["metadata"]["mystnb"]["figure"] = {"caption": caption}
    return cell


def svg(width: float, size: float) -> form.Cell:
    """A picture `width` wide with words of that size."""
    drawing = f'<svg viewBox="0 0 {width} 90"><text style="font: {size}px sans-serif"/></svg>'
    return code("plot") | {"outputs": [{"data": {"image/svg+xml": drawing}}]}


START = prose("**You will be able to**\n\n- see;\n- say;\n- do.")
TIME = prose("Reading time: 30 minutes.")
END = prose("## What you can do now\n\n- see;\n- say;\n- do.")
ASKED = prose("## Two questions on what came before")
ANSWER = code("assert x", "", "hide-output")
NEXT = prose("## One question more")

FAULTS = [
    (form.long_prose, [prose("word " * 81)], "cell 0: 81 words"),
    (form.long_code, [code("x\n" * 13)], "cell 0: 13 lines"),
    (form.long_on_the_whole, [code("x"), code("x\n" * 6), code("x\n" * 7)], "have 6 lines"),
    (form.too_many_ideas, [prose(f"## Idea {n}") for n in range(9)], "9 ideas: Idea 0"),
    (form.without_alt, [code("plot", alt="")], "a picture with 0 words"),
    (form.without_alt, [code("plot", alt="A picture of scores.")], "a picture with 4 words"),
    (form.without_alt, [prose("![](a.png)")], "a picture without words"),
    (form.without_alt, [prose('<img src="a.png">')], "a picture without words"),
    (form.without_caption, [code("plot", alt="")], "a caption of 0 words"),
    (form.without_caption, [picture("The more of them, the wider they spread")], "of 8 words"),
    (form.without_caption, [picture("The weights of all the 6 tokens, row by row.")], "a number"),
    (form.small_words, [svg(700, 12)], "words of 6.0 pixels"),
    (form.small_words, [svg(300, 5)], "words of 5.8 pixels"),
    (form.opening_and_end, [TIME, END], "0 bullets at the start"),
    (form.opening_and_end, [START, TIME, prose(END["source"] + "\n- more.")], "not those of"),
    (form.opening_and_end, [START, END], "no reading time"),
    (form.two_questions, [NEXT, NEXT], "does not open with two questions"),
    (form.two_questions, [ASKED, ANSWER, NEXT, ANSWER], "1 folded answers"),
    (form.two_questions, [ASKED, ANSWER, code("x", "", "hide-output"), NEXT], "2 folded answers"),
    (typed, [prose("It is 0.33 then."), code("x", "0.32")], "It is 0.33 then."),
    (typed, [prose("It takes 4,096 of them."), code("4097")], "4,096"),
    (typed, [prose("A fall of −3 points."), code("x", "2")], "of −3 points"),
    (typed, [prose("## Predict\nIt is (2, 3)."), code("x", "(2, 4, 3)")], "cell 0: (2, 3)"),
    (typed, [code("x", "0.33"), NEXT, prose("## Next"), prose("So 0.33 it is.")], "So 0.33"),
]


@pytest.mark.parametrize(("rule", "cells", "said"), FAULTS, ids=short)
def test_a_fault_of_form_is_named(rule: Rule, cells: list[form.Cell], said: str) -> None:
    found = list(rule(cells))
    assert len(found) >= 1
    assert said in found[0]


RIGHT = [
    (form.long_prose, [prose("word " * 79 + "[word](" + "x " * 9 + ")\n| a | b |")]),
    (form.long_code, [code("x\n" * 12), code("x\n" * 40, "", "hide-input")]),
    (form.too_many_ideas, [prose(f"## Idea {n}") for n in range(8)] + [prose("## Watch it")]),
    (form.without_alt, [code("plot", alt="Six cells in a row, the first of them is dark.")]),
    (
        form.without_caption,
        [picture("Each row asks once, each column of `x2` is asked."), code("x")],
    ),
    (form.small_words, [svg(700, 13.5), svg(200, 5)]),
    (form.opening_and_end, [START, TIME, END]),
    (form.two_questions, [ASKED, ANSWER, ANSWER, NEXT]),
    (typed, [prose("Chapters 1 to 8, and [Vaswani et al., 2017]: the rest is 0 or `-1e9`.")]),
    (typed, [code("x", "786,432"), prose("## So"), prose("So 786,432 it is, or 786432.")]),
    (typed, [prose("## Predict\n(`batch` 2, `S` 3)"), prose("## Next"), code("x", "(2, 3)")]),
]


@pytest.mark.parametrize(("rule", "cells"), RIGHT, ids=short)
def test_what_keeps_to_the_form_passes(rule: Rule, cells: list[form.Cell]) -> None:
    assert list(rule(cells)) == []
