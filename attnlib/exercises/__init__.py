"""Exercises that know your mistake: check, hint, solution, mistakes, and verify for modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import indent

from . import heads, masking, one_head, projections, scaling, scores, softmax, wild
from .catalogue import MISTAKES
from .checker import judge
from .form import Exercise, source
from .mistake import Mistake
from .subject import Law
from .verdict import Verdict
from .verifier import Report, verify

__all__ = [
    "Exercise",
    "Law",
    "Mistake",
    "Report",
    "Verdict",
    "check",
    "exercises",
    "hint",
    "mistakes",
    "solution",
    "verify",
]

_CHAPTERS = (projections, scores, scaling, masking, softmax, one_head, heads, wild)
_BY_ID = {exercise.id: exercise for chapter in _CHAPTERS for exercise in chapter.EXERCISES}


def _whole(mistake: Mistake) -> Mistake:
    """Complete a mistake's body to a function of its exercise."""
    head = (
        f"def {mistake.exercise.replace('-', '_')}({', '.join(_BY_ID[mistake.exercise].dims)}):\n"
    )
    return replace(mistake, code=head + indent(mistake.wrong, "    "))


_MISTAKES = tuple(_whole(mistake) for mistake in MISTAKES)


def check(id: str, function: Callable) -> Verdict:
    """Check a function against an exercise: passed, or which mistake it is.

    Never raises for what the function does; the same function gets the same verdict.

    Raises: KeyError (no exercise of that id).
    Example:
        >>> check("scores", lambda q, k: q @ k.mT).passed
        True
        >>> check("scores", lambda q, k: q @ k).diagnosis
        'transpose-missing'
    """
    return judge(_exercise(id), function)


def exercises() -> list[Exercise]:
    """Return the exercises in the order of the book.

    Example:
        >>> [exercise.id for exercise in exercises()][:3]
        ['project', 'scores', 'scale']
    """
    return list(_BY_ID.values())


def hint(id: str, n: int = 1) -> str:
    """Return the n-th hint; past the last one, the last.

    Raises: KeyError, ValueError (n below 1).
    Example:
        >>> hint("scale", 2)
        'The spread is the root of the variance: divide by it.'
    """
    if n < 1:
        raise ValueError(f"hint: n is {n} but the first hint is 1")
    hints = _exercise(id).hints
    return hints[min(n, len(hints)) - 1]


def solution(id: str) -> str:
    """Return one solution as source text.

    Raises: KeyError.
    Example:
        >>> print(solution("weighted-sum"))
        def weighted_sum(weights, v):
            '''weights (batch, Sq, Sk), v (batch, Sk, H) -> (batch, Sq, H).'''
            return weights @ v
    """
    return source(_exercise(id).solution).replace('"""', "'''")


def mistakes(id: str | None = None) -> list[Mistake]:
    """Return the mistakes that can be named, all of them or those that can arise in one exercise.

    Raises: KeyError.
    Example:
        >>> [mistake.id for mistake in mistakes("scale") if mistake.id.startswith("scale-")]
        ['scale-missing', 'scale-wrong-size', 'scale-no-root', 'scale-inverted']
        >>> print(next(m for m in mistakes("scores") if m.id == "transpose-missing").code)
        def scores(q, k):
            return q @ k
    """
    if id is None:
        return list(_MISTAKES)
    possible = _exercise(id).ids
    return [mistake for mistake in _MISTAKES if mistake.id in possible]


def _exercise(id: str) -> Exercise:
    if id not in _BY_ID:
        raise KeyError(f"no exercise {id!r}; there are {', '.join(_BY_ID)}")
    return _BY_ID[id]
