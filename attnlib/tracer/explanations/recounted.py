"""Equations of einsum with as many letters as the operands have axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from ..labels import Label
from .changes import alike, may_be
from .clash import Failed
from .equation import Equation, Term


def recounted(
    failed: Failed, equation: Equation, rows: Sequence[Sequence[Label]]
) -> Iterator[Equation]:
    """Give every axis a letter: an axis too many gets its own, a new one in the result too."""
    options = [list(_fitted(failed, equation, which, rows)) for which in range(len(equation.terms))]
    for terms in product(*options):
        result = equation.result
        if result is not None:
            letters = {letter for term in terms for letter in term}
            result = tuple(letter for letter in result if letter in letters)
            known = {letter for term in equation.terms for letter in term}
            for term in terms:
                for place, letter in enumerate(term):
                    if letter not in known and letter not in result:
                        before = [result.index(x) for x in term[:place] if x in result]
                        at = max(before) + 1 if before else 0
                        result = (*result[:at], letter, *result[at:])
        yield Equation(terms, result)


def _fitted(
    failed: Failed, equation: Equation, which: int, rows: Sequence[Sequence[Label]]
) -> Iterator[Term]:
    term, labels = equation.terms[which], rows[which]
    more = len(labels) - len(term)
    if more <= 0:
        yield from combinations(term, len(labels))
        return
    for places in sorted(combinations(range(len(labels)), more), key=_inside):
        letters = iter(term)
        names: list[str] = []
        for axis, label in enumerate(labels):
            known = _known(failed, equation, which, rows, label) if axis in places else None
            names.append(known or _letter(equation, label) if axis in places else next(letters))
        yield tuple(names)


def _known(
    failed: Failed,
    equation: Equation,
    which: int,
    rows: Sequence[Sequence[Label]],
    label: Label,
) -> str | None:
    """Find the letter that a dim has in another term: a new one would pair it with itself."""
    held = [
        (letter, other)
        for at, (term, labels) in enumerate(zip(equation.terms, rows, strict=True))
        if at != which and len(term) == len(labels)
        for letter, other in zip(term, labels, strict=True)
        if letter not in equation.terms[which]
    ]
    named = [letter for letter, other in held if alike(other, label)]
    sized = [letter for letter, other in held if may_be(failed, other, label) and label.size > 1]
    return next(iter((*named, *sized)), None)


def _inside(places: tuple[int, ...]) -> tuple[bool, tuple[int, ...]]:
    """Put what stands behind the first axis, the batch, before what stands in front of it."""
    return 0 in places, places


def _letter(equation: Equation, label: Label) -> str:
    """Choose a letter for an axis that has none: the first of its name that is free."""
    used = {letter for known in equation.terms for letter in known} | {*(equation.result or ())}
    wanted = [letter for letter in (label.name or "").lower() if letter.isalpha()]
    return next(letter for letter in [*wanted, *"hgzuvwxyabc"] if letter not in used)
