"""Labels that travel: joined when an operation says that two axes are one, never by their size."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator

from .labels import BOOK, DIMS, Label, flat, known_as, same, tokens

Spelt = tuple[str, tuple[tuple[str, Label], ...]]  # a word, and the labels that it names


class Symbols:
    """All labels of one trace, and what is known about them."""

    def __init__(self) -> None:
        self.owner = object()
        self._order = 0
        self._layouts: list[tuple[tuple[Label, ...], Label]] = []
        self._scoped: dict[tuple, Label] = {}
        self._longer: dict[Label, Label] = {}  # what an axis is that something was put beside
        self._lengths: dict[ast.AST, set[Label]] = {}  # what each len(x) in the code gave
        self.sizes: dict[str, int] = {}  # of each name that a row is written with
        self.refused: set[tuple[str, int]] = set()  # names that are those of another size

    # -- making labels ----------------------------------------------------------------------

    def fresh(self, size: int, *, literal: bool = False) -> Label:
        """Make a label that nothing is known about (an unknown operation's axis, a number)."""
        return Label(size, owner=self.owner, literal=literal)

    def named(self, name: str, size: int, rank: int, scope: object = None) -> Label:
        """Return the label that ``name`` stands for in ``scope`` at this size."""
        key = (scope, name, size)
        label = self._scoped.get(key)
        if label is None:
            label = self._scoped[key] = self.fresh(size)
            self.name(label, name, rank, scope)
        return label

    def name(self, label: Label, name: str, rank: int, scope: object = None) -> None:
        """Add a name to a label; the strongest rank, then the first, is printed."""
        names = label.root().names
        if not any(rank >= known[0] and name == known[2] for known in names):
            self._order += 1
            names.append((rank, self._order, name, scope))

    def given(self, name: str, size: int) -> Label | None:
        """Return the label that the caller of ``trace`` named so."""
        return self._scoped.get((None, name, size))

    def callers(self) -> Iterator[tuple[str, int]]:
        """Yield the names that the caller of ``trace`` gave, each with its sizes."""
        for (scope, name, size), label in self._scoped.items():
            if scope is None and min(label.root().names)[0] == DIMS:
                yield name, size

    def measured(self, expression: ast.AST, label: Label) -> None:
        """Remember whose length a ``len(x)`` in the code is."""
        self._lengths.setdefault(expression, set()).add(label.root())

    def length(self, expression: ast.AST | None, size: int) -> Label | None:
        """Return the one label that a ``len(x)`` gave; in a loop it may be several."""
        found = {label.root() for label in self._lengths.get(expression, ())} if expression else ()
        return (
            next((label for label in found if label.size == size), None)
            if len(found) == 1
            else None
        )

    def lengthen(self, label: Label, size: int) -> Label:
        """Make the label of an axis that numbers are put before or after."""
        longer = self.fresh(size)
        self._longer[longer] = label
        return longer

    def skewed(self, a: Label, b: Label) -> bool:
        """Is one an axis beside the other that was lengthened, as rows and columns of scores?

        A reshape that exchanges the two shifts each row by one more than the row before, which is
        what turns relative positions into keys.
        """
        for longer, label in self._longer.items():
            for one, other in ((a, b), (b, a)):
                if longer.root() is one.root():
                    root = label.root()
                    unknown = not one.root().names or (not root.names and root.size == other.size)
                    return root is other.root() or unknown or (tokens(root) and tokens(other))
        return False

    def settle(self, label: Label) -> Label:
        """Work out a label that Python arithmetic made (``C // n_heads``), once."""
        root = label.root()
        if root.formula is None:
            return root
        (sign, left, right), root.formula = root.formula, None
        left, right = self.settle(left), self.settle(right)
        if sign == "*":
            # Of a plain number nothing says whether it is written or counted: rows of patches, say.
            plain = any(atom.literal for atom in flat((left, right)))
            known = None if plain else self._equal(self._monomial((left, right)))
            if known is None:
                root.factors = (left, right)
                self._layouts.append((root.factors, root))
        else:
            known = self._quotient(left, (right,))
            if known is None:
                root.share = self._reduced(left, (right,))
                self.define(left, (right, root))
        if known is not None:
            self.unite(known, root)
        return root.root()

    # -- joining ----------------------------------------------------------------------------

    def unite(self, a: Label, b: Label) -> Label:
        """Make two labels one; the caller has checked that it may."""
        a, b = a.root(), b.root()
        if a is b or a.size != b.size:
            return a
        if not a.names and b.names:
            a, b = b, a
        b.parent = a
        a.names = sorted({*a.names, *b.names}, key=lambda known: known[:2])
        a.literal = a.literal and b.literal
        a.share = a.share or b.share
        a.formula = a.formula or b.formula
        a.laid = a.laid and b.laid if a.factors and b.factors else a.laid or b.laid
        a.factors = a.factors or b.factors
        if a.factors is not None and self._circular(a):
            a.factors = None
        return a

    def _circular(self, label: Label) -> bool:
        """Would taking a label apart lead back to it (n_embd = heads*H at heads = 1)?"""
        seen, open_ = set(), list(label.factors or ())
        while open_:
            root = open_.pop().root()
            if root is label:
                return True
            if root not in seen:
                seen.add(root)
                open_ += root.factors or ()
        return False

    def within(self, part: Label, whole: Label) -> bool:
        """Is one label known to be a factor of the other?"""
        return part.root() in self._atoms((whole,)) and part.root() is not whole.root()

    # -- products ---------------------------------------------------------------------------

    def define(self, whole: Label, factors: Iterable[Label]) -> None:
        """Remember that ``whole`` lies in memory as these factors, outer first."""
        whole = whole.root()
        factors = tuple(factor.root() for factor in factors)
        if len(factors) < 2 or math.prod(f.size for f in factors) != whole.size:
            return
        if whole in self._atoms(factors) or self.layout(factors) is not None:
            return
        if whole.factors is None:
            whole.factors = factors
        self._layouts.append((factors, whole))

    def layout(self, factors: Iterable[Label]) -> Label | None:
        """Find the label known to lie in memory as exactly these factors."""
        roots = tuple(factor.root() for factor in factors)
        for known, whole in self._layouts:
            if len(known) == len(roots) and all(map(same, known, roots)):
                return whole.root()
        return None

    def wholes(self, outer: Label) -> Iterator[Label]:
        """Yield the labels known to lie in memory as two factors of which this one is outside."""
        for factors, whole in self._layouts:
            if len(factors) == 2 and factors[0].root() is outer.root():
                yield whole.root()

    def product(self, factors: Iterable[Label]) -> Label:
        """Merge axes that lie side by side, outer first, into one."""
        factors = tuple(factor.root() for factor in factors)
        if len(factors) == 1:
            return factors[0]
        whole = self.layout(factors)
        if whole is None:
            whole = self._equal(self._monomial(factors))
            if whole is None or self.split_otherwise(whole, factors) is not None:
                whole = self.fresh(math.prod(f.size for f in factors))
            self.define(whole, factors)
        return whole.root()

    def merged(self, factors: Iterable[Label]) -> Label:
        """Merge axes of a tensor: then their order is a fact, not only a way to write a number."""
        whole = self.product(factors).root()
        whole.laid = whole.factors is not None
        return whole

    def quotient(self, whole: Label, factors: Iterable[Label], size: int) -> Label:
        """Return what is left of ``whole`` beside ``factors``: known, or a fresh label."""
        factors = tuple(factors)
        known = self._quotient(whole.root(), factors)
        if known is None:
            known = self.fresh(size)
            known.share = self._reduced(whole, factors)
        return known

    def _quotient(self, whole: Label, factors: tuple[Label, ...]) -> Label | None:
        coefficient, atoms = self._monomial((whole,))
        below, gone = self._monomial(factors)
        rest = Counter(atoms)
        rest.subtract(Counter(gone))
        if any(count < 0 for count in rest.values()) or coefficient % below:
            return None
        left = tuple(sorted(rest.elements(), key=id))
        if coefficient == below and len(left) == 1:
            return left[0]
        return self._equal((coefficient // below, left))

    def _reduced(self, whole: Label, factors: tuple[Label, ...]) -> tuple[Label, tuple[Label, ...]]:
        """Cancel what a quotient has above and below: ``3*n_embd // 12`` is ``n_embd // 4``."""
        (above, over), (below, under) = self._monomial((whole,)), self._monomial(factors)
        common = math.gcd(above, below)
        both = Counter(over) & Counter(under)
        over = tuple(sorted((Counter(over) - both).elements(), key=id))
        under = tuple((Counter(under) - both).elements())
        above, below = above // common, below // common
        top = over[0] if above == 1 and len(over) == 1 else self._equal((above, over))
        if below == 1 and len(under) == 1:
            bottom: Label | None = under[0]
        else:
            bottom = None if under else self.fresh(below, literal=True)
        return (whole, factors) if top is None or bottom is None else (top, (bottom,))

    def _equal(self, monomial) -> Label | None:
        for _, whole in self._layouts:
            if self._monomial((whole,)) == monomial:
                return whole.root()
        return None

    def split_otherwise(self, whole: Label, factors: Iterable[Label]) -> list[Label] | None:
        """Return the order in memory that ``whole`` is known by, if it is another one of these."""
        order = list(map(known_as, flat(factors)))
        for known, other in self._layouts:
            if other.root() is whole.root():
                atoms = list(flat(known))
                other_order = list(map(known_as, atoms))
                if other_order != order and Counter(other_order) == Counter(order):
                    return atoms
        return None

    def _atoms(self, factors: Iterable[Label]) -> set[Label]:
        return {factor.root() for factor in factors} | set(flat(factors))

    def _monomial(self, factors: Iterable[Label]) -> tuple[int, tuple[Label, ...]]:
        coefficient, atoms = 1, []
        for atom in flat(factors):
            if atom.literal:
                coefficient *= atom.size
            else:
                atoms.append(atom)
        return coefficient, tuple(sorted(atoms, key=id))

    # -- in words ---------------------------------------------------------------------------

    def text(self, label: Label) -> str:
        """Write a label: its name, the product it is known to be, or its number."""
        return self.spelt(label)[0]

    def names(self, label: Label) -> list[str]:
        """Return the names that a label may go by, the strongest first."""
        root = label.root()
        known = sorted(root.names) if len(root.names) > 1 else root.names
        names = [name for _, _, name, _ in known]
        if len(names) > 1 and known[0][0] == BOOK and {"Sq", "Sk"} <= set(names):
            names.insert(0, "S")
        return [name for name in names if (name, root.size) not in self.refused]

    def refuse(self, name: str, size: int) -> None:
        """Let no label of this size go by this name: it is that of another size."""
        self.refused.add((name, size))

    def spelt(self, label: Label, deep: int = 8) -> Spelt:
        """Write a label, and say which labels the names in it stand for."""
        root = label.root()
        if root.names:
            for name in self.names(root):
                if self.sizes.get(name, root.size) == root.size:
                    return name, ((name, root),)
        number: Spelt = (str(root.size), ())
        if not deep:
            return number
        if root.factors is not None:
            parts = self._told(root.factors, deep)
            if any(not word.isdigit() for word, _ in parts):
                words = [word for word, _ in parts if word != "1"]
                return "*".join(words), tuple([one for _, named in parts for one in named])
        if root.share is not None:
            whole, below = self.spelt(root.share[0], deep - 1), self._told(root.share[1], deep)
            if whole[0].isidentifier() and len(below) == 1 and below[0][0] != whole[0]:
                word, named = below[0]
                if "*" not in word:
                    return f"{whole[0]}//{word}", whole[1] + named
        return number

    def _told(self, labels: Iterable[Label], deep: int) -> list[Spelt]:
        """Write labels; none if one has neither a name nor a number that the code itself writes.

        A size without a name says nothing at other sizes.
        """
        parts = [(label, self.spelt(label, deep - 1)) for label in labels]
        told = all(label.root().literal or not word.isdigit() for label, (word, _) in parts)
        return [spelt for _, spelt in parts] if told else []
