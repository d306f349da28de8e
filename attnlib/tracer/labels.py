"""Labels and tagged ints: what an axis is known by, whatever its size.

A label is a node of a union-find. It may have names (each with a rank: who gave it) and it may be
known as a product of other labels, in the order of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..dims import role

# Who gave a name, strongest first: the caller's dims=, an unpacked shape, a constructor, the way a
# plain number is written, the book. The first three are strong: the code itself tells them apart.
DIMS, CODE, LAYER, WRITTEN, BOOK = range(5)
# q_length, key_len, src_seq: a number of queries or of keys
_TOKENS = re.compile(r"(?i)(q|k|kv|key|query|src|tgt|source|target)_?(seq_?)?(len|length|seq)")


class Label:
    """One dimension: a node of the union-find."""

    __slots__ = (
        "factors", "formula", "laid", "literal", "names", "owner", "parent", "share", "size",
    )  # fmt: skip

    def __init__(self, size: int, *, owner: object = None, literal: bool = False) -> None:
        self.size = size
        self.owner = owner
        self.literal = literal  # a number written in the code: equal only by value
        self.parent: Label | None = None
        # (rank, order of appearance, name, where it is the name of one dim)
        self.names: list[tuple[int, int, str, object]] = []
        self.factors: tuple[Label, ...] | None = None  # known as this product, outer first
        self.laid = False  # axes were merged so in memory; Python's h * d says nothing about order
        self.formula: tuple[str, Label, Label] | None = None  # how Python computed it
        self.share: tuple[Label, tuple[Label, ...]] | None = None  # what is left of another label

    def root(self) -> Label:
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def strong(self) -> bool:
        """Did the caller, an unpacked shape or a constructor name it?"""
        names = self.root().names
        return bool(names) and min(names)[0] <= LAYER

    @property
    def name(self) -> str | None:
        names = self.root().names
        return min(names)[2] if names else None


class Dim(int):
    """An int that remembers which dimension it came from (``B, T, C = x.shape``)."""

    label: Label

    def __new__(cls, size: int, label: Label) -> Dim:
        number = int.__new__(cls, size)
        number.label = label
        return number

    def __reduce__(self):
        return int, (int(self),)  # saved, copied or sent elsewhere it is a plain number

    def __mul__(self, other):
        return _computed("*", self, other, int.__mul__(self, other))

    def __rmul__(self, other):
        return _computed("*", other, self, int.__mul__(self, other))

    def __floordiv__(self, other):
        if isinstance(other, int) and other and int(self) % int(other) == 0:
            return _computed("//", self, other, int.__floordiv__(self, other))
        return int.__floordiv__(self, other)

    __repr__ = int.__repr__
    __hash__ = int.__hash__


def _computed(sign: str, left, right, result):
    if not isinstance(result, int) or not isinstance(left, int) or not isinstance(right, int):
        return result
    owner = next(side for side in (left, right) if isinstance(side, Dim)).label.owner
    label = Label(int(result), owner=owner)
    label.formula = (sign, _label_of(left, owner), _label_of(right, owner))
    return Dim(result, label)


def _label_of(number: int, owner: object) -> Label:
    if isinstance(number, Dim) and number.label.owner is owner:
        return number.label
    return Label(int(number), owner=owner, literal=True)


def parts(label: Label) -> list[Label]:
    """Return the factors that a label is known to lie in memory as, down to the last."""
    return list(flat((label,)))


def pieces(label: Label) -> list[Label]:
    """Return what an axis is by name: itself, or the factors of a bare product, outer first."""
    root = label.root()
    if root.names or root.factors is None:
        return [root]
    return [piece for factor in root.factors for piece in pieces(factor) if piece.size != 1]


def laid(label: Label) -> list[Label]:
    """Return what an axis is known to hold in memory: the pieces that were merged into it."""
    return pieces(label) if label.root().laid else [label.root()]


def flat(factors: Iterable[Label]) -> Iterator[Label]:
    for factor in factors:
        root = factor.root()
        if root.factors is not None:
            yield from flat(root.factors)
        else:
            yield root


def known_as(label: Label) -> Label | int:
    """Return what a label is told by: a number of the code by its value."""
    root = label.root()
    return root.size if root.literal else root


def same(a: Label, b: Label) -> bool:
    a, b = a.root(), b.root()
    return a is b or (a.literal and b.literal and a.size == b.size)


def tokens(label: Label) -> bool:
    """Does one of its names say that a dim counts tokens?"""
    return any(role(name) == "S" or _TOKENS.match(name) for *_, name, _ in label.root().names)
