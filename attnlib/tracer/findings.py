"""Findings: joining two dims, and what is wrong when they only happen to have one size."""

from __future__ import annotations

from .recorder import Call
from .source import Site
from .symbols import BOOK, Label, Symbols


class Findings:
    """Join labels; keep apart, and report, those that the code itself calls different."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.collisions: list[tuple[Label, Label, Call, Site]] = []
        self.gluings: list[tuple] = []

    def join(self, a: Label, b: Label, call: Call, site: Site) -> None:
        """Make two axes one, as an operation says they are."""
        a, b = self.symbols.settle(a), self.symbols.settle(b)
        if a is b or a.size != b.size or a.size == 1:
            return
        if self.symbols.within(a, b) or self.symbols.within(b, a):
            return  # n_embd and H where heads = 1: of one size here, but not one
        self.symbols.unite(a, b)

    def glued(self, old, sizes, asked, call: Call, site: Site) -> None:
        """Note a reshape that takes pieces of several axes for one."""
        self.gluings.append((old, sizes, asked, call, site))
