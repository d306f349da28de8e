"""Clashes in einsum: a letter that stands for two dims, an operand with other axes than letters."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

import torch
from torch import Tensor

from ...dims import role
from ..equations import spread
from ..labels import Label
from .changes import alike, may_be
from .clash import Candidate, Failed, Tensors, clash
from .equation import Equation, Term
from .features import shares
from .kinds import kinds
from .recounted import recounted
from .unlettered import unlettered

_MOST = 5  # letters of a term whose every order is tried


@clash("einsum")
def einsum(failed: Failed) -> tuple[str, list[Candidate]]:
    text = failed.op.params.get("equation", "")
    if not isinstance(text, str):
        return kinds(failed)
    pattern = _pattern(failed)
    told = unlettered(failed, text)
    if told is not None:
        return told
    if "..." in text:
        return kinds(failed) if pattern is not None else _dotted(failed, text)
    equation = Equation.read(pattern or text, words=pattern is not None)
    text = pattern or text
    said = _told(failed, equation)
    return (said, list(_corrections(failed, text, equation))) if said else kinds(failed)


def _dotted(failed: Failed, text: str) -> tuple[str, list[Candidate]]:
    """Explain an equation with ``...``: each axis there has a letter for the while."""
    try:
        whole, run = spread(text, [len(info.shape) for info in failed.infos])
    except ValueError:
        return kinds(failed)
    equation = Equation.read(whole)
    said = _told(failed, equation)
    if not said or not run:
        return kinds(failed)
    kept = [_told_run(term, run) for term in equation.terms]
    found = []
    for candidate in _corrections(failed, text, equation):
        new = re.search(r"[A-Za-z, ]+->[A-Za-z ]*", candidate.code)
        if new is None:
            continue
        terms = new[0].replace(" ", "").partition("->")[0].split(",")
        if [_told_run(tuple(term), run) for term in terms] == kept:
            written = new[0]
            for part in sorted({part for part in kept if part}, key=len, reverse=True):
                written = written.replace(part, "...")
            found.append(Candidate(candidate.code.replace(new[0], written), candidate.run))
    return _folded(said, kept), found


def _told_run(term: Term, run: str) -> str:
    """Return the letters of a term that stand for ``...``."""
    return "".join(letter for letter in term if letter in run)


def _folded(said: str, runs: Sequence[str]) -> str:
    first, _, rest = said.partition(" ")
    for part in sorted({run for run in runs if run}, key=len, reverse=True):
        first = first.replace(part, "...")
    return f"{first} {rest}" if first != "the" else said


def _pattern(failed: Failed) -> str | None:
    """Return the words that were given to einops; torch is given letters in their place."""
    called = failed.code.partition("(")[0]
    found = re.findall(r"""["']([^"']*->[^"']*)["']""", failed.code)
    if len(found) != 1 or found[0] == failed.op.params.get("equation"):
        return None
    return found[0] if called in ("einsum", "einops.einsum") else None


def _told(failed: Failed, equation: Equation) -> str:
    seen: dict[str, tuple[int, int]] = {}
    if len(equation.terms) != len(failed.infos):
        return f"the equation has {len(equation.terms)} terms, for {len(failed.infos)} operands"
    for which, (term, info) in enumerate(zip(equation.terms, failed.infos, strict=True)):
        if len(term) != len(info.shape):
            return (
                f"{equation.term(which)} names {len(term)} axes, but {info.name} has "
                f"{len(info.shape)}, {info.in_names()}"
            )
        for axis, letter in enumerate(term):
            first, at = seen.setdefault(letter, (which, axis))
            if failed.infos[first].shape[at] != info.shape[axis]:
                return (
                    f"the letter {letter} stands for {failed.size(first, at)} in "
                    f"{failed.names[first]} and for {failed.size(which, axis)} in {info.name}"
                )
    for letter in equation.result or ():
        if letter not in seen:
            return f"the letter {letter} of the result stands in no operand"
    return ""


def _corrections(failed: Failed, text: str, equation: Equation) -> Iterator[Candidate]:
    """Try other letters; the names of the axes decide which."""
    rows = [failed.op.labels(state) for state in failed.states]
    if text not in failed.code or len(rows) != len(equation.terms):
        return
    offers = []
    kept = _alone(equation) if len(rows) == 1 else set()
    for place, other in enumerate(_others(failed, equation, rows)):
        score = _score(failed, other, rows)
        if _features_for_tokens(equation, other, rows) or _tokens_by_size(equation, other, rows):
            continue
        if _keeps_shares(failed, other):
            continue
        if score is not None and _alone(other) <= kept:
            changed = sum(a != b for a, b in zip(other.terms, equation.terms, strict=True))
            offers.append((_lost(equation, other), -score, changed, place, other))
    spaced = " " in text.split(",")[0].strip()
    for *_, other in sorted(offers, key=lambda offer: offer[:4]):
        new = other.written(spaced)
        yield Candidate(
            failed.code.replace(text, new), functools.partial(_einsum, other.lettered())
        )


def _einsum(equation: str, t: Tensors) -> Tensor:
    return torch.einsum(equation, *t)


def _score(failed: Failed, equation: Equation, rows: Sequence[Sequence[Label]]) -> int | None:
    """Count the axes that share a letter and a name; None if it fails, or mixes two dims up."""
    seen: dict[str, Label] = {}
    score = 0
    for term, labels in zip(equation.terms, rows, strict=True):
        if len(term) != len(labels) or len(set(term)) != len(term):
            return None
        for letter, label in zip(term, labels, strict=True):
            known = seen.setdefault(letter, label)
            if known is not label and not may_be(failed, known, label):
                return None
            score += known is not label and alike(known, label)
    result = equation.result
    if result is not None and (len(set(result)) != len(result) or set(result) - set(seen)):
        return None
    samples = [letter for letter in result or () if role(seen[letter].name or "") == "batch"]
    return None if len(samples) > 1 else score  # every sample against every other


def _features_for_tokens(
    equation: Equation, other: Equation, rows: Sequence[Sequence[Label]]
) -> bool:
    """Is a last axis without a name, mostly features, taken for another only as it is as large?"""
    tokens = {
        letter
        for term, labels in zip(other.terms, rows, strict=True)
        for letter, label in zip(term, labels, strict=False)
        if role(label.name or "") == "S"
    }
    ends = Counter(term[-1] for term in equation.terms if term)
    pairs = list(zip(equation.terms, other.terms, rows, strict=True))
    if any(
        old and new and ends[old[-1]] > 1 and old[-1] != new[-1] and labels[-1].name is None
        for old, new, labels in pairs
    ):
        return True  # features that both have last
    return any(
        len(new) > 2 and new[-1] in tokens and labels[-1].name is None and new[-1] in old[:-1]
        for old, new, labels in pairs
    )


def _tokens_by_size(equation: Equation, other: Equation, rows: Sequence[Sequence[Label]]) -> bool:
    """Do weights (Sq, Sk) lie the other way round only as what they weigh is as large?"""
    for old, new, labels in zip(equation.terms, other.terms, rows, strict=True):
        tokens = [
            (letter, label)
            for before, letter, label in zip(old, new, labels, strict=False)
            if before != letter and role(label.name or "") == "S"
        ]
        held = [
            label
            for term, row in zip(other.terms, rows, strict=True)
            for letter, label in zip(term, row, strict=False)
            if row is not labels and letter in [letter for letter, _ in tokens]
        ]
        if len(tokens) > 1 and not alike(tokens[0][1], tokens[1][1]):
            return bool(held) and all(label.name is None for label in held)
    return False


def _keeps_shares(failed: Failed, equation: Equation) -> bool:
    """Is the axis over which weights add up to 1 not summed over?"""
    result = equation.result
    for which, term in enumerate(equation.terms if result else ()):
        axis = shares(failed, which)
        if axis is not None and axis < len(term) and term[axis] in (result or ()):
            return True
    return False


def _alone(equation: Equation) -> set[str]:
    """Return the letters of one term alone that are summed: mostly a letter gone astray."""
    if equation.result is None:
        return set()
    times = Counter(letter for term in equation.terms for letter in term)
    return {letter for letter, n in times.items() if n == 1 and letter not in equation.result}


def _lost(equation: Equation, other: Equation) -> int:
    """Count the letters that some term has no more; one that was summed over weighs more."""
    both = list(zip(equation.terms, other.terms, strict=True))
    gone = {letter for old, new in both for letter in set(old) - set(new)}
    more = any(set(new) - set(old) for old, new in both)
    return 0 if more else len(gone) + len(gone - set(equation.result or ()))


def _others(
    failed: Failed, equation: Equation, rows: Sequence[Sequence[Label]]
) -> Iterator[Equation]:
    counts = [len(labels) for labels in rows]
    if any(len(term) != n for term, n in zip(equation.terms, counts, strict=True)):
        yield from recounted(failed, equation, rows)
        return
    letters = dict.fromkeys(letter for term in equation.terms for letter in term)
    letters |= dict.fromkeys(equation.result or ())
    for which, term in reversed(list(enumerate(equation.terms))):
        replaced = list(_replaced(term, letters, equation.result or ()))
        both = (new for other in replaced for new in _reordered(other))
        for new in (*_reordered(term), *replaced, *both):
            terms = (*equation.terms[:which], new, *equation.terms[which + 1 :])
            yield Equation(terms, equation.result)


def _reordered(term: Term) -> Iterator[Term]:
    """Yield the term's letters in other orders, two changed over first."""
    if len(term) <= _MOST:
        for order in sorted(permutations(term), key=lambda new: _moved(term, new)):
            if order != term:
                yield order


def _moved(term: Term, new: Term) -> int:
    return sum(a != b for a, b in zip(term, new, strict=True))


def _replaced(term: Term, letters: dict[str, None], result: Term) -> Iterator[Term]:
    """Yield the term with one letter replaced by another: a kept one first, the batch last."""
    for place in sorted(range(len(term)), key=lambda at: (term[at] not in result, at == 0)):
        for letter in letters:
            if letter not in term:
                yield (*term[:place], letter, *term[place + 1 :])
