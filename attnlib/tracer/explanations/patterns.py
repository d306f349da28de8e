"""Clashes in einops patterns: axes that are not as many as the words, words that have no size.

Words are matched with dims by what they are called: ``h`` may be heads, ``b`` batch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from ...dims import role
from ..labels import Dim, Label, pieces
from .scope import Scope

_WIDTHS = {"batch", "heads", "n_embd", "H"}
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8}
Group = tuple[str, ...]  # the words of one axis
Correction = tuple[str, dict[str, str], str | None]  # pattern, sizes to give, other function


def groups_of(side: str) -> list[Group]:
    found: list[Group] = []
    for part in re.findall(r"\([^)]*\)|[^\s()]+", side):
        found.append(tuple(part.strip("()").split()) if part[0] == "(" else (part,))
    return found


def _text(groups: Sequence[Group]) -> str:
    return " ".join(g[0] if len(g) == 1 else f"({' '.join(g)})" for g in groups)


class Pattern:
    """A pattern beside the tensor that it was given."""

    def __init__(
        self, left: list[Group], right: list[Group], given: dict, labels: list[Label], scope: Scope
    ) -> None:
        self.left, self.right, self.given = left, right, given
        self.labels, self.scope = labels, scope
        self.extra: int | None = None  # the axis that holds a class token beside its grid

    def clash(self, function: str) -> tuple[str, list[Correction]]:
        left = [word for group in self.left for word in group]
        right = [word for group in self.right for word in group]
        dotted = "..." in left or "…" in left
        if not dotted and len(self.left) != len(self.labels):
            said = (
                f"the pattern reads {len(self.left)} axes, ({_text(self.left)}), but the tensor "
                f"has {len(self.labels)}"
            )
            few = len(self.labels) < len(self.left)
            if few:
                return said, list(self._joined())
            return said, list(self._reduced() if function == "reduce" else self._added())
        new = [word for word in right if word not in left and not word.isdigit()]
        gone = [word for word in left if word not in right and not word.isdigit()]
        pattern = f"{_text(self.left)} -> {_text(self.right)}"
        if function == "rearrange" and (new or gone):
            said = f"rearrange keeps every axis, but {', '.join(new + gone)} stands on one side"
            if new and not gone:
                sizes = {word: text for word in new if (text := self._size(word))}
                sizes = {word: text for word, text in sizes.items() if word not in self.given}
                return f"{said}; repeat makes new ones", [(pattern, sizes, "repeat")]
            return said, [(pattern, {}, "reduce")] if not new else []
        if function == "repeat" and [word for word in new if word not in self.given]:
            missing = [word for word in new if word not in self.given]
            sizes = {word: text for word in missing if (text := self._part(word))}
            said = f"repeat makes {', '.join(missing)}, and has to be told how large"
            return said, [(pattern, sizes, None)]
        if not dotted:
            return self._split(pattern)
        return "", []

    def _split(self, pattern: str) -> tuple[str, list[Correction]]:
        """Explain an axis that is taken apart: into what, and how large each part is."""
        sizes: dict[str, str] = {}
        said = ""
        for group, label in zip(self.left, self.labels, strict=True):
            unknown = [word for word in group if word not in self.given and not word.isdigit()]
            known = 1
            for word in group:
                known *= int(self.given.get(word, 1))
            name = f"{label.name} = {label.size}" if label.name else str(label.size)
            if len(group) > 1 and len(unknown) > 1:
                words = ", ".join(unknown)
                said = said or f"({' '.join(group)}) is {name}: one of {words} needs a size"
                whole = label.size // math.gcd(label.size, known)
                counted = sorted(unknown, key=lambda word: word not in _NUMBERS)
                told = {word: text for word in counted if (text := self._part(word, whole))}
                for word in list(told)[: len(unknown) - 1]:
                    sizes[word] = told[word]
            elif known and label.size % known:
                token = (label.size - 1) % known == 0 and label.size > known
                if token and len(group) > 1 and role(label.name or "") not in _WIDTHS:
                    self.extra = self.labels.index(label)
                return f"({' '.join(group)}): {name} does not divide by {known}", []
        return said, [(pattern, sizes, None)] if sizes else []

    def _joined(self) -> Iterator[Correction]:
        """Read fewer axes: several words on one that holds them all, or without a word of 1."""
        more = len(self.left) - len(self.labels)
        ones = [place for place, group in enumerate(self.left) if group == ("1",)]
        if len(ones) == more:
            left = [group for place, group in enumerate(self.left) if place not in ones]
            yield f"{_text(left)} -> {_text(self.right)}", {}, None
        gone = [group for group in self.left if len(group) == 1 and group not in self._flat()]
        if len(gone) == more and not ones:
            left = [group for group in self.left if group not in gone]
            yield f"{_text(left)} -> {_text(self.right)}", {}, None
        groups, sizes, words = [], {}, iter(self.left)
        for label in self.labels:
            held = pieces(label)
            taken = [next(words, ()) for _ in range(len(held))]
            if len(held) > 1 and all(len(group) == 1 for group in taken):
                for group, piece in list(zip(taken, held, strict=True))[1:]:
                    if group[0] not in self.given:
                        sizes[group[0]] = self._called(piece)
            elif len(held) > 1:
                return
            groups.append(tuple(word for group in taken for word in group))
        if not list(words):
            yield f"{_text(groups)} -> {_text(self.right)}", sizes, None
        if not any(len(pieces(label)) > 1 for label in self.labels):
            yield from self._composed()
        if more == 1 and not ones and self.left[0] in self.right and self._named(self.left[1:]):
            right = [group for group in self.right if group != self.left[0]]
            yield f"{_text(self.left[1:])} -> {_text(right)}", {}, None

    def _composed(self) -> Iterator[Correction]:
        """Read neighbouring words on one axis: the call, or a variable, says how large they are."""
        offers: list[tuple[bool, int, int, list[Group], dict[str, str]]] = []
        if any(len(group) != 1 or group[0] == "1" for group in self.left):
            return
        words = [group[0] for group in self.left]
        for cuts in combinations(range(1, len(words)), len(self.labels) - 1):
            ends = (0, *cuts, len(words))
            groups = [tuple(words[a:b]) for a, b in pairwise(ends)]
            sizes = self._sizes(groups)
            if sizes is None:
                continue
            pairs = list(zip(groups, self.labels, strict=True))
            named = [len(g) == 1 and means(g[0], label.name) for g, label in pairs]
            joined = [role(label.name or "") for g, label in pairs if len(g) > 1]
            features = all(found in ("n_embd", "H") for found in joined)
            offers.append((not features, -sum(named), len(offers), groups, sizes))
        for *_, groups, sizes in sorted(offers, key=lambda offer: offer[:3]):
            yield f"{_text(groups)} -> {_text(self.right)}", sizes, None

    def _sizes(self, groups: Sequence[Group]) -> dict[str, str] | None:
        """Find the sizes that are still to be given; None where these words cannot be the axes."""
        sizes: dict[str, str] = {}
        for group, label in zip(groups, self.labels, strict=True):
            known = math.prod(int(self.given[word]) for word in group if word in self.given)
            if len(group) == 1:
                if known not in (1, label.size):
                    return None
                continue
            unknown = [word for word in group if word not in self.given]
            found = {w: text for w in unknown if (text := self._part(w, label.size))}
            needed = dict(list(found.items())[: max(len(unknown) - 1, 0)])
            if len(unknown) == len(group) or len(needed) < len(unknown) - 1 or label.size % known:
                return None
            sizes |= needed
        return sizes

    def _flat(self) -> list[Group]:
        return [(word,) for group in self.right for word in group]

    def _added(self) -> Iterator[Correction]:
        """Read what is apart already as it is, or give an axis without a word one on both sides."""
        apart = [(word,) for group in self.left for word in group]
        if len(apart) == len(self.labels) and self._sizes(apart) is not None:
            yield f"{_text(apart)} -> {_text(self.right)}", {}, None
        if len(self.labels) != len(self.left) + 1:
            return
        used = {word for group in (*self.left, *self.right) for word in group}
        places = [*range(1, len(self.labels)), 0]
        named = {at: self._named([*self.left[:at], ("?",), *self.left[at:]]) for at in places}
        places.sort(key=lambda at: (self.labels[at].size != 1, not named[at]))
        for place in places:
            name = (self.labels[place].name or "").lower()
            letters = [name[:1], name, *"fgkmtuvxyz"]
            word = next(w for w in letters if w.isidentifier() and w not in used)
            new: Group = ("1",) if self.labels[place].size == 1 else (word,)
            left = [*self.left[:place], new, *self.left[place:]]
            right = list(self.right)
            if new != ("1",):
                before = [right.index(group) for group in self.left[:place] if group in right]
                at = max(before) + 1 if before else 0
                right.insert(at, new)
            yield f"{_text(left)} -> {_text(right)}", {}, None

    def _reduced(self) -> Iterator[Correction]:
        """Read more axes; the result is the one asked for, unless what vanishes is known by name.

        ``b n d -> b d`` sums over tokens, so that heads have to stay; of ``b c n`` beside rows and
        columns nothing says that only one of them goes.
        """
        result = _text(self.right)
        gone = [place for place, group in enumerate(self.left) if group not in self.right]
        roles = {role(label.name or "") for label in self.labels} - {None}
        named = roles & {role(word) for place in gone for word in self.left[place]}
        for pattern, sizes, other in self._added():
            left, right = map(groups_of, pattern.split("->"))
            axes = zip(left, self.labels, strict=True)
            summed = {role(label.name or "") for group, label in axes if group not in right}
            if pattern.endswith(f"-> {result}") or named & summed:
                yield pattern, sizes, other
        if named or not gone or gone != list(range(gone[0], len(self.left))):
            return
        kept = self.left[: gone[0]]
        if all(len(g) == 1 and means(g[0], self.labels[at].name) for at, g in enumerate(kept)):
            yield f"{_text(kept)} ... -> {result}", {}, None

    def _named(self, groups: Sequence[Group]) -> bool:
        """Do the words of the axes stand for the names that these have?"""
        if len(groups) != len(self.labels):
            return False
        return all(
            len(group) > 1 or group[0] in "?1" or means(group[0], label.name)
            for group, label in zip(groups, self.labels, strict=True)
        )

    def _called(self, label: Label) -> str:
        """Write a dim's size as a variable that was unpacked from it, or as its number."""
        held = self.scope.integers()
        names = (n for n, v in held if isinstance(v, Dim) and v.label.root() is label.root())
        return next(names, str(label.size))

    def _part(self, word: str, whole: int = 0) -> str | None:
        """Find how large a word is; a number's name, as in ``(three h d)``, says it itself."""
        number = _NUMBERS.get(word)
        if number is None:
            return self._size(word, whole)
        return None if whole % number else str(number)

    def _size(self, word: str, whole: int = 0) -> str | None:
        """Find a variable that says how large a word is; of a part, one that divides the whole."""
        found = [
            (not means(word, name.rpartition(".")[2], exact=True), place, name)
            for place, (name, value) in enumerate(self.scope.integers())
            if means(word, name.rpartition(".")[2])
            and (not whole or (value > 0 and whole % value == 0))
        ]
        return min(found)[-1] if found else None


def means(word: str, name: str | None, exact: bool = False) -> bool:
    """May a pattern's word stand for a name: the same, of one role, or its first letter?"""
    if not name:
        return not exact
    word, name = word.rstrip("0123456789").lower(), name.lower().lstrip("_")
    if word == name:
        return True
    if exact or not word:
        return False
    bare = re.sub(r"^(num|n)_", "", name)
    same_role = role(word) is not None and role(word) == role(name)
    return same_role or bare.startswith(word) or word.startswith(bare)
