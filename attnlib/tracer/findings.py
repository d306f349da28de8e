"""Findings: two dims that an operation takes for one, although the code itself tells them apart.

Joining an anonymous dim with anything is silent. Two dims with strong names are kept apart, and
reported, when they stand side by side on some tensor: then they cannot be one. Names that never do
are two names for one dim.
"""

from __future__ import annotations

from .labels import CODE, LAYER, Label
from .notes import Call
from .rows import Warning
from .source import Site
from .symbols import Symbols

_WHAT = {
    "matmul": "sums over", "linear": "sums over", "einsum": "sums over",
    "scaled_dot_product_attention": "sums over", "view": "reads", "reshape": "reads",
}  # fmt: skip


class Findings:
    """Join labels; keep apart, and report, those that the code itself calls different."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.aliases: dict[Call, tuple[str, str]] = {}  # where two names turned out to be one dim
        self._together: dict[tuple[Label, ...], None] = {}  # labels of tensors seen so far
        self._collisions: list[tuple[Label, Label, Call, Site, str]] = []

    def stand(self, labels: list[Label]) -> None:
        """Remember which labels stand together on one tensor."""
        if len(labels) > 1:
            self._together[tuple(labels)] = None

    def join(self, a: Label, b: Label, call: Call, site: Site) -> None:
        """Make two axes one, as an operation says they are."""
        a, b = self.symbols.settle(a), self.symbols.settle(b)
        if a is b or a.size != b.size or a.size == 1:
            return
        if self.symbols.within(a, b) or self.symbols.within(b, a):
            return  # n_embd and H where heads = 1: of one size here, but not one
        if a.strong and b.strong and self._apart(a, b):
            self._collide(a, b, call, site, _WHAT.get(call.op, "lines up"))
            return
        if a.names and b.names and max(min(a.names)[0], min(b.names)[0]) <= CODE:
            self.aliases.setdefault(call, (min(a.names)[2], min(b.names)[2]))
        self.symbols.unite(a, b)

    def glued(self, asked: Label, made_of: Label, call: Call, site: Site) -> None:
        """Note a reshape that puts pieces of one dim under another's name."""
        self._collide(asked, made_of, call, site, "glues")

    def warnings(self) -> list[Warning]:
        """Write what was found, each once for a line."""
        found: dict[tuple, Warning] = {}
        for a, b, call, site, verb in self._collisions:
            dims = (self.symbols.text(a), self.symbols.text(b))
            if dims[0] == dims[1]:
                continue
            code = site.expression or site.code or call.op
            key = (site.path, site.line, code, frozenset(dims))
            found.setdefault(key, Warning(site.line, code, _message(verb, dims, a.size), dims))
        return list(found.values())

    def _collide(self, a: Label, b: Label, call: Call, site: Site, verb: str) -> None:
        self._collisions.append((a.root(), b.root(), call, site, verb))

    def _apart(self, a: Label, b: Label) -> bool:
        """Do two labels, or other bearers of their names, stand side by side on some tensor?"""
        mine, its = _names(a), _names(b)
        if mine & its:
            return False
        for labels in self._together:
            roots = [label.root() for label in labels]
            if any(r is a or mine & _names(r) for r in roots) and any(
                r is b or its & _names(r) for r in roots
            ):
                return True
        return False


def _names(label: Label) -> set[str]:
    return {name for rank, _, name in label.root().names if rank <= LAYER}


def _message(verb: str, dims: tuple[str, str], size: int) -> str:
    a, b = dims
    if verb == "glues":
        return (
            f"this reshape puts pieces of {b} under the name {a}: the shape fits, the numbers are "
            f"in other places; move the axes with transpose first"
        )
    return (
        f"this {verb} {a} and {b} as if they were one dim, only because both are {size} here; at "
        f"other sizes it fails, and here the numbers are not what the names say"
    )
