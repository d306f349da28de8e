"""One name, one size: which of its names a dim is written by, once all rows are known.

One word may be the name of several sizes: a helper that is called for queries and for keys
unpacks both into ``H``, a loop unpacks what it makes longer into ``T``. A table in which ``H``
is 4 in one row and 2 in another says nothing, so such a dim goes by another of its names
(``n_q``, ``n_kv``), or by its number. What the caller gave stays what the caller gave it to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from .labels import Label
from .symbols import Symbols

Sizes = dict[str, dict[int, list[Label]]]  # name -> the sizes that it is written for, and where


def agree(symbols: Symbols, roots: Iterable[Label]) -> dict[Label, str]:
    """Write labels: refuse names until each that is written is one size, and keep those sizes."""
    labels = dict.fromkeys(roots)
    given = _given(symbols)
    while True:
        written: Sizes = {}
        words: dict[Label, str] = {}
        for root in labels:
            words[root], named = symbols.spelt(root)
            for name, label in named:
                written.setdefault(name, {}).setdefault(label.size, []).append(label)
        clashing = [name for name, sizes in written.items() if _clashes(sizes, given.get(name))]
        if not clashing:
            break
        _part(symbols, written, clashing, given)
    known = {name: {*sizes} for name, sizes in (*given.items(), *written.items())}
    symbols.sizes = {name: sizes.pop() for name, sizes in known.items() if len(sizes) == 1}
    return words


def _clashes(sizes: Iterable[int], given: set[int] | None) -> bool:
    """Is a name written for more sizes than one, or for others than the caller gave it to?"""
    return len({*sizes}) > 1 if given is None else bool({*sizes} - given)


def _part(
    symbols: Symbols, written: Sizes, clashing: list[str], given: dict[str, set[int]]
) -> None:
    """Refuse the names that clash wherever they do not stay."""
    borne: dict[str, set[int]] = {}  # by the same labels, whether they are written so or not
    for sizes in written.values():
        for size, labels in sizes.items():
            for label in labels:
                for name in symbols.names(label):
                    borne.setdefault(name, set()).add(size)

    def clear(name: str, size: int) -> bool:
        if name in given:
            return size in given[name]
        return {*written.get(name, borne[name])} == {size}

    for name in clashing:
        sizes = written[name]
        stay = given.get(name)
        if stay is None:  # the first that goes by no other name
            alone = (
                size
                for size, labels in sizes.items()
                if not all(any(clear(n, size) for n in symbols.names(one)) for one in labels)
            )
            stay = {*itertools.islice(alone, 1)}
        for size, labels in sizes.items():
            if size in stay:
                continue
            for other in {other for label in labels for other in symbols.names(label)}:
                if not clear(other, size):
                    symbols.refuse(other, size)


def _given(symbols: Symbols) -> dict[str, set[int]]:
    """Return the caller's names and their sizes; ``3*n_embd`` of 36 tells that n_embd is 12.

    Where it is 1 a name is that of any size: what it is elsewhere counts. It is several where
    loose lines give the variable of a loop its dims.
    """
    found: dict[str, set[int]] = {}
    for name, size in symbols.callers():
        found.setdefault(name, set()).add(size)
    found = {name: sizes - {1} or sizes for name, sizes in found.items()}
    for name, sizes in list(found.items()):
        parts = name.split("*")
        unknown = [part for part in parts if not part.isdigit() and part not in found]
        if len(sizes) == len(unknown) == 1 and unknown[0].isidentifier():
            others = [part for part in parts if part not in unknown]
            known = [int(part) if part.isdigit() else min(found[part]) for part in others]
            found[unknown[0]] = {min(sizes) // max(1, math.prod(known))}
    return found
