"""Equations of einsum with ``...`` or without a result, written with a letter for every axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_letters


def spread(text: str, counts: Sequence[int]) -> tuple[str, str]:
    """Return the equation with letters in place of ``...``, and these letters.

    Operands that have fewer axes there line up from the last, as in broadcasting.

    Example:
        >>> spread("...qd,kd->...qk", (4, 2))
        ('abqd,kd->abqk', 'ab')
    """
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(counts):
        raise ValueError(text)
    more = [n - len(term.replace("...", "")) for term, n in zip(terms, counts, strict=True)]
    dotted = [n for term, n in zip(terms, more, strict=True) if "..." in term]
    if any(n < 0 for n in dotted):
        raise ValueError(text)
    free = [letter for letter in ascii_letters if letter not in text]
    run = "".join(free[: max(dotted, default=0)])
    made = [
        term.replace("...", run[len(run) - n :] if n > 0 else "")
        for term, n in zip(terms, more, strict=True)
    ]
    if not arrow:
        times = Counter(letter for term in terms for letter in term.replace("...", ""))
        right = "..." + "".join(sorted(letter for letter, n in times.items() if n == 1))
    return f"{','.join(made)}->{right.replace('...', run)}", run
