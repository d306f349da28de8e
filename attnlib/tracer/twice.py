"""A softmax of what a softmax gave: weights that are shared out once more become almost even.

Only of scores that compare two sets, and only where nothing but a dropout, a cast or a move of axes
lies between: what is picked, masked or multiplied before the second one may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from .axes import PERMUTING
from .notes import Identity
from .operation import Operation
from .rows import Warning
from .source import Site
from .symbols import Symbols

_PRODUCTS = {"matmul", "einsum"}
_SCORES_STILL = {
    "div", "mul", "add", "sub", "masked_fill", "where", "clamp", "tanh", "to", "contiguous",
    "clone", *PERMUTING,
}  # fmt: skip
_WEIGHTS_STILL = {"dropout", "to", "contiguous", "clone", "detach", *PERMUTING}


class Twice:
    """Follow scores and weights of a run; say at the end what was made of them, in its names."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._scores: set[Identity] = set()
        self._weights: dict[Identity, Site] = {}  # what a softmax gave, and where
        self._found: dict[tuple, tuple[Operation, Site, Site]] = {}  # each once for a place

    def follow(self, op: Operation, site: Site) -> None:
        """Go on after an operation."""
        given, made = [state.identity for state in op.inputs], op.outputs[0].identity
        if not given or len(op.outputs) != 1:
            return
        first = self._weights.get(given[0])
        compared = any(identity in self._scores for identity in given)
        self._scores.discard(made)
        self._weights.pop(made, None)
        if op.name in _PRODUCTS and len(given) == 2:
            if not any(identity.weight or identity in self._weights for identity in given):
                self._scores.add(made)
        elif op.name == "softmax":
            if first is not None:
                self._found.setdefault((site.path, site.line, site.columns), (op, site, first))
            elif compared:
                self._weights[made] = site
        elif first is not None and op.name in _WEIGHTS_STILL:
            self._weights[made] = first
        elif compared and op.name in _SCORES_STILL:
            self._scores.add(made)

    def warnings(self) -> Iterator[Warning]:
        """Write what was found."""
        for op, site, first in self._found.values():
            words = [self._symbols.text(label) for label in op.labels(op.outputs[0])]
            yield _warning(op, words, site, first)


def _warning(op: Operation, words: list[str], site: Site, first: Site) -> Warning:
    where = "" if first.line == site.line else f" in line {first.line}"
    code = first.in_one_line
    before = code if 0 < len(code) <= 50 else "a softmax"
    message = (
        f"this is a softmax of weights ({', '.join(words)}), which {before}{where} has made of "
        "scores already: what comes out is almost even; leave one of the two out"
    )
    *_, row, column = ("", "", *words)
    return Warning(site.line, site.expression or site.code or op.name, message, (row, column))
