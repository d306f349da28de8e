"""One name, one size: which of its names a dim is written by, once all rows are known.

One word may be the name of several sizes: a helper that is called for queries and for keys
unpacks both into ``H``, a loop unpacks what it makes longer into ``T``. A table in which ``H``
is 4 in one row and 2 in another says nothing, so such a dim goes by another of its names
(``n_q``, ``n_kv``), or by its number. What the caller gave stays what the caller gave it to.
"""

from __future__ import annotations

import re
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
        clashing = [
            name for name, sizes in written.items()
            if len(sizes) > 1 or given.get(name, next(iter(sizes))) not in sizes
        ]  # fmt: skip
        if not clashing:
            break
        _part(symbols, written, clashing, given)
    symbols.sizes = {**given, **{name: next(iter(sizes)) for name, sizes in written.items()}}
    return words


def _part(symbols: Symbols, written: Sizes, clashing: list[str], given: dict[str, int]) -> None:
    """Refuse the names that clash wherever they do not stay."""
    borne: dict[str, set[int]] = {}  # by the same labels, whether they are written so or not
    for sizes in written.values():
        for size, labels in sizes.items():
            for label in labels:
                for name in symbols.names(label):
                    borne.setdefault(name, set()).add(size)

    def clear(name: str, size: int) -> bool:
        return given.get(name, size) == size and set(written.get(name, borne[name])) == {size}

    for name in clashing:
        sizes = written[name]
        stays = given.get(name)
        if stays is None:  # the first that goes by no other name
            stays = next(
                (
                    size
                    for size, labels in sizes.items()
                    if not all(any(clear(n, size) for n in symbols.names(one)) for one in labels)
                ),
                None,
            )
        for size, labels in sizes.items():
            if size == stays:
                continue
            for other in {other for label in labels for other in symbols.names(label)}:
                if not clear(other, size):
                    symbols.refuse(other, size)


def _given(symbols: Symbols) -> dict[str, int]:
    """Return the caller's names and their sizes; ``3*n_embd`` of 36 tells that n_embd is 12.

    Where it is 1 a name is that of any size: what it is elsewhere counts.
    """
    found: dict[str, int] = {}
    for name, size in symbols.callers():
        if found.get(name, 1) == 1:
            found[name] = size
    for name, size in list(found.items()):
        words = re.split(r"\*", name)
        unknown = [word for word in words if not word.isdigit() and word not in found]
        if len(words) > 1 and len(unknown) == 1 and unknown[0].isidentifier():
            for word in words:
                if word not in unknown:
                    size //= int(word) if word.isdigit() else found[word]
            found[unknown[0]] = size
    return found
