"""Weights that add up to 1 over an axis: where they were made so, what sums over them, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..dims import role
from .flaws import Flaw, Place, called
from .labels import Label
from .normalising import corrected
from .operation import Operation
from .rows import Warning
from .source import Site
from .sums import Total
from .symbols import Symbols

# What takes tokens for itself: its shares are meant to add up over the takers.
_TAKERS = re.compile(r"slot|cluster|expert|centroid|proto|caps|class|concept|component|topic|group")
FRAMES = {"T", "time"}  # beside them N may be the places in a frame, which are tokens


@dataclass(eq=False)
class Origin:
    """Weights where they were normalised, and what became of them."""

    site: Site
    op: Operation
    labels: list[Label]  # of the scores that were normalised
    axis: int
    pair: tuple[int, ...]  # the axes of the two sets that were compared; none of other scores
    fits: bool = False  # the weights are used so that they do add up, or so that it is no matter
    sums: dict[int, Site] = field(default_factory=dict)  # the axes that products sum over, in order
    features: int = 0  # how many of each were compared
    flaw: Flaw | None = None  # they add up to 1 over no axis

    def mixed(self, axis: int, site: Site) -> None:
        """Note the axis that a product sums over."""
        if axis == self.axis and self.flaw is None:
            self.fits = True
        else:
            self.sums.setdefault(axis, site)


@dataclass(frozen=True)
class Scores:
    """A comparison: where the axes of the two sets stand, and by how many features."""

    pair: tuple[int, int]
    features: int = 0


@dataclass(frozen=True)
class Weights:
    """Normalised scores: where each axis stands that they had then."""

    origin: Origin
    places: tuple[int | None, ...]

    def was(self, place: int) -> int | None:
        """Return which axis it was that stands at a place now."""
        return self.places.index(place) if place in self.places else None


@dataclass(frozen=True)
class Terms(Weights):
    """Weights times values, not yet summed."""


@dataclass(frozen=True)
class Logs(Weights):
    """Their logarithms, as of log_softmax."""


@dataclass(frozen=True)
class Share:
    """A sum over an axis of weights: what it is divided by is normalised anew."""

    origin: Origin


Fact = Scores | Weights | Total | Share


def told(origin: Origin, symbols: Symbols) -> Warning | None:
    """Warn of weights that are only summed over another axis than adds up to 1."""
    words = [symbols.text(label) for label in origin.labels]
    if origin.flaw is not None:
        return _flawed(origin, words)
    if origin.fits or _TAKERS.search(words[origin.axis]):
        return None
    wrong = (axis for axis in origin.sums if _is_wrong(origin, axis, words))
    axis = next(wrong, None)
    return None if axis is None else _warning(origin, origin.sums[axis], axis, words)


def pooled(label: Label, symbols: Symbols) -> bool:
    """Is it worth following a softmax of what is no comparison? Over samples, over one number."""
    return label.size == 1 or role(symbols.text(label)) == "batch"


def _is_wrong(origin: Origin, axis: int, words: list[str]) -> bool:
    """Say whether values are mixed over this axis by shares of the other.

    Of a comparison the last axis is that of the keys. The first may be too (``v.mT @ w``, and
    slots that take tokens): there the names must say that both hold tokens.
    """
    normal, pair = words[origin.axis], origin.pair
    roles = (role(normal), role(words[axis]))
    if not pair and origin.labels[origin.axis].size == 1:
        return origin.labels[axis].size > 1  # each weight is 1
    if not pair:
        return roles == ("batch", "S") and not (normal == "N" and words[axis] in FRAMES)
    if axis not in pair:
        return False
    return axis == len(words) - 1 or origin.axis not in pair or roles == ("S", "S")


def _warning(origin: Origin, product: Site, axis: int, words: list[str]) -> Warning:
    over, summed = words[origin.axis], words[axis]
    site = origin.site
    message = (
        f"this makes the weights add up to 1 over {called(over, origin.axis)} of "
        f"({', '.join(words)}), but {_code(product, site)} sums over {called(summed, axis)}: "
        f"the shares that it mixes do not add up to 1"
    )
    if axis in origin.pair and axis < len(words) - 1 and origin.axis in origin.pair:
        message += f"; sum over axis {origin.axis} there, or normalise over axis {axis} here"
    elif said := corrected(site, origin.op, axis - len(words)):
        message += f"; try: {said}"
    return Warning(
        site.line, site.expression or site.code or origin.op.name, message, (over, summed)
    )


def _flawed(origin: Origin, words: list[str]) -> Warning | None:
    """Warn of weights that add up to 1 over no axis, where a product sums over one of them.

    What takes tokens for itself may share them out by any sum.
    """
    axis = next((axis for axis in origin.sums if axis in origin.pair), None)
    if origin.fits or axis is None or any(_TAKERS.search(words[place]) for place in origin.pair):
        return None
    site, sizes = origin.site, [label.size for label in origin.labels]
    code = _code(origin.sums[axis], site)
    told = origin.flaw.told(Place(words, sizes, origin.pair, axis, code)) if origin.flaw else None
    if told is None:
        return None
    return Warning(site.line, site.expression or site.code or origin.op.name, *told)


def _code(product: Site, site: Site) -> str:
    """Quote a product, with its line where that is another one."""
    code = " ".join(product.expression.split()) or product.code or "a product"
    return code if product.line == site.line else f"{code} in line {product.line}"
