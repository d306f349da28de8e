"""Findings: two dims that an operation takes for one, although the code itself tells them apart.

Joining an anonymous dim with anything is silent. Two dims with strong names are kept apart, and
reported, when they stand side by side on some tensor: then they cannot be one. Names that never do
are two names for one dim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..dims import role
from .evidence import Evidence, firm
from .labels import CODE, DIMS, Label, laid
from .notes import Call, is_state
from .rows import Warning
from .source import Site
from .symbols import Symbols

SUMS, LINES_UP, READS, GLUES, TURNS = "sums over", "lines up", "reads", "glues", "turns round"


class Findings:
    """Join labels; keep apart, and report, those that the code itself calls different."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.aliases: dict[Call, tuple[str, str]] = {}  # where two names turned out to be one dim
        self.evidence = Evidence()
        self._collisions: list[tuple[Label, Label, Call, Site, str]] = []
        # a dim, what was merged under its name, what it was split into, outer first
        self._merged: list[tuple[Label, list[Label], list[Label], Call, Site]] = []

    def join(self, a: Label, b: Label, call: Call, site: Site, verb: str = LINES_UP) -> None:
        """Make two axes one, as an operation says they are."""
        a, b = self.symbols.settle(a), self.symbols.settle(b)
        if a is b or a.size != b.size or a.size == 1:
            return
        if self.symbols.within(a, b) or self.symbols.within(b, a):
            return  # n_embd and H where heads = 1: of one size here, but not one
        if verb == SUMS and _two_lengths(a, b) and self._of_two_inputs(a, b):
            self._collide(a, b, call, site, verb)
            return
        if self.apart(a, b):
            self._collide(a, b, call, site, verb)
            return
        mine, its = laid(a), laid(b)
        for merged, whole, known in ((mine, b, its), (its, a, mine)):
            if len(merged) > 1 and len(known) == 1 and whole.strong:
                order = self.symbols.split_otherwise(whole, merged)
                if order is not None and any(role(x.name or "") == "heads" for x in merged):
                    self._merged.append((whole, merged, order, call, site))
        if len(mine) > 1 and len(its) > 1 and self._products(mine, its, call, site, verb):
            self._collide(a, b, call, site, TURNS)
            return
        if a.names and b.names and max(min(a.names)[0], min(b.names)[0]) <= CODE:
            self.aliases.setdefault(call, (min(a.names)[2], min(b.names)[2]))
        self.symbols.unite(a, b)

    def _of_two_inputs(self, a: Label, b: Label) -> bool:
        """Are there two tensors alike but for these dims, as (batch, Sq, H) and (batch, Sk, H)?"""
        rows = self.evidence.rows()
        mine = [row for row in rows if row.count(a) == 1 and b not in row]
        return any(tuple([b if label is a else label for label in row]) in rows for row in mine)

    def _products(
        self, mine: list[Label], its: list[Label], call: Call, site: Site, verb: str
    ) -> bool:
        """Compare two products factor by factor; True if they lie in memory in another order."""
        if Counter(mine) == Counter(its):
            return mine != its and sum(bool(piece.names) for piece in mine) > 1
        if [piece.size for piece in mine] == [piece.size for piece in its]:
            for one, other in zip(mine, its, strict=True):
                self.join(one, other, call, site, verb)
        return False

    def glued(self, asked: Label, made_of: Label, call: Call, site: Site) -> None:
        """Note a reshape that puts pieces of one dim under another's name."""
        self._collide(asked, made_of, call, site, GLUES)

    def warnings(self) -> list[Warning]:
        """Write what was found, each once for a line."""
        found: dict[tuple, Warning] = {}
        for message, dims, call, site in self._told():
            code = site.expression or site.code or call.op
            key = (site.path, site.line, code, frozenset(dims))
            found.setdefault(key, Warning(site.line, code, message, dims))
        return list(found.values())

    def _told(self) -> Iterator[tuple[str, tuple[str, str], Call, Site]]:
        for a, b, call, site, verb in self._collisions:
            size = a.size
            whole = (self.symbols.text(a), self.symbols.text(b))
            if verb == TURNS:  # a reader mixed up two of the factors
                factors = zip(laid(a), laid(b), strict=True)
                a, b = next((mine, its) for mine, its in factors if mine is not its)
            dims = (self.symbols.text(a), self.symbols.text(b))
            if dims[0] != dims[1]:
                yield _message(verb, dims, whole, size, call), dims, call, site
        for merged_as, merged, order, call, site in self._merged:
            message, dims = self._interleaved(merged_as, merged, order, call)
            yield message, dims, call, site

    def _interleaved(
        self, whole: Label, merged: list[Label], order: list[Label], call: Call
    ) -> tuple[str, tuple[str, str]]:
        name = self.symbols.text(whole)
        now, was = (list(map(self.symbols.text, labels)) for labels in (merged, order))
        outer, instead = next((a, b) for a, b in zip(was, now, strict=True) if a != b)
        return (
            f"this {call.op} merges ({', '.join(now)}) under the name {name}, which was split as "
            f"({', '.join(was)}): the same numbers in another order, which only a layer that was "
            f"trained on it can read; bring {outer} before {instead} first"
        ), (outer, instead)

    def apart(self, a: Label, b: Label) -> bool:
        """Does the code itself tell two axes apart?"""
        a, b = a.root(), b.root()
        return a is not b and firm(a) and firm(b) and self.evidence.apart(a, b)

    def _collide(self, a: Label, b: Label, call: Call, site: Site, verb: str) -> None:
        self._collisions.append((a.root(), b.root(), call, site, verb))


def _two_lengths(a: Label, b: Label) -> bool:
    """Did the caller name two numbers of tokens? A sum over both mixes keys of one with the other.

    Other names of the caller may well be one dim's (``n_embd`` of an input, ``C`` of its weights).
    """
    known = [min(label.root().names)[::2] for label in (a, b) if label.root().names]
    return len(known) == 2 and all(rank == DIMS and role(name) == "S" for rank, name in known)


def _splits(call: Call) -> bool:
    """Does a reshape give more axes than it takes?"""
    return any(is_state(x) and len(x.shape) < len(call.out.shape) for x in call.args[:1])


def _message(
    verb: str, dims: tuple[str, str], whole: tuple[str, str], size: int, call: Call
) -> str:
    a, b = dims
    if verb == GLUES:
        what = f"an axis of {b}" if b.isdigit() else f"pieces of {b}"
        where = f"in the place of one of {a}" if a.isdigit() else f"under the name {a}"
        advice = "move the axes with transpose first"
        if _splits(call):
            advice = (
                "leave the axes in their order, split the one that is made of several, "
                "and transpose the result"
            )
        return (
            f"this {call.op} puts {what} {where}: the shape fits, the numbers are in other places; "
            f"{advice}"
        )
    if verb == TURNS:
        return (
            f"this lines up {whole[0]} and {whole[1]}: both are {size}, at all sizes, but in one "
            f"{a} is outside and in the other {b}, so numbers meet that do not belong together"
        )
    return (
        f"this {verb} {a} and {b} as if they were one dim, only because both are {size} here; at "
        f"other sizes it fails, and here the numbers are not what the names say"
    )
