"""Mixtures: weights that add up to 1 over one axis, in a product that sums over another.

Scores compare two sets of tokens: a product over the features of both. What a softmax makes of them
is followed, axis by axis, to the product that mixes values with it. Where that sums over an axis
that was not normalised, the shares of a mixture do not add up to 1. Nothing is said of weights that
are divided by their own sum, multiplied with each other or summed over the right axis too, nor of
the softmax of what is no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import sums
from .attended import Attended
from .axes import Places, has_features, lined_up, lonely, moved, moves, summed_over
from .facts import Facts, number_by_number
from .flaws import Alone, Flaw, Scaled
from .notes import State
from .operation import Operation
from .rows import Warning
from .scaling import scale
from .shares import Fact, Logs, Origin, Scores, Share, Terms, Weights, pooled, told
from .source import Site
from .sums import SUMS, Total
from .symbols import Symbols

_KEEPING = {"dropout", "to", "contiguous", "clone", "detach", "data", "nan_to_num"}
# The gradient of the output goes back through transposed weights.
_GRADIENT = re.compile(r"(?i)(d|grad|g)(_.*|o|out|output|y)?$")


class Mixtures:
    """Follow scores and weights through the operations of a run, in order."""

    def __init__(self, symbols: Symbols, attended: Attended) -> None:
        self._symbols = symbols
        self._attended = attended
        self._facts = Facts()
        self._origins: list[Origin] = []

    def given(self, state: State) -> None:
        """Note a tensor that goes in; what else the run works with are its weights."""
        self._facts.given(state)

    def follow(self, op: Operation, site: Site) -> None:
        """Go on after an operation."""
        self._mixed(op, site)
        one = len(op.outputs) == 1 and bool(op.inputs)
        self._facts.note(op, self._fact(op, site) if one else None)

    def warnings(self) -> Iterator[Warning]:
        """Write what was found, each once for a place in the code."""
        said: set[tuple] = set()
        for origin in self._origins:
            key = (origin.site.path, origin.site.line, origin.site.columns)
            warning = told(origin, self._symbols)
            if warning is not None and key not in said:
                said.add(key)
                yield warning

    # -- what an operation makes of it ------------------------------------------------------

    def _fact(self, op: Operation, site: Site) -> Fact | None:
        first = op.inputs[0]
        if op.name == "softmax":
            return self._normalised(op, site, first, op.params["dim"])
        if op.name in ("matmul", "einsum"):
            return self._facts.compared(op)
        if op.name == "log_softmax":
            weights = self._normalised(op, site, first, op.params["dim"])
            return None if weights is None else Logs(weights.origin, weights.places)
        if op.name in SUMS:
            return self._summed(op, first, site)
        if op.name == "setitem":
            return self._facts.scores(op, first)
        if moves(op):
            return self._carried(self._facts.of(first) or self._facts.scores(op, first), op)
        if op.name == "getitem":
            fact = self._facts.of(first)
            return fact if isinstance(fact, Share) else None
        if not number_by_number(op):
            return None
        by_hand = self._divided(op, site)
        if by_hand is not None:
            return by_hand
        known = self._facts.of(first)
        if isinstance(known, Logs) and op.name == "exp":
            return Weights(known.origin, known.places)
        weights = self._facts.weights(first)
        if weights is not None and op.name in _KEEPING:
            return weights
        if any(self._facts.weights(state) for state in op.inputs):
            return self._multiplied(op) if weights is None else self._scaled(op, weights, site)
        for state in op.inputs:
            fact = self._facts.of(state) or self._facts.scores(op, state)
            if isinstance(fact, Scores):
                places = lined_up(state.shape, op.shape)
                pair = places[fact.pair[0]] or 0, places[fact.pair[1]] or 0
                return Scores(pair, fact.features)
            if isinstance(fact, Total) and len(op.inputs) == 1:
                return sums.kept(fact, op)
            if isinstance(fact, Share) and len(op.inputs) == 1:
                return fact
        return None

    def _normalised(
        self, op: Operation, site: Site, scores: State, axis: int, flaw: Flaw | None = None
    ) -> Weights | None:
        known, labels = self._facts.scores(op, scores), op.labels(scores)
        if known is None and not (labels and pooled(labels[axis], self._symbols)):
            return None
        pair, features = (known.pair, known.features) if known else ((), 0)
        origin = Origin(site, op, labels, axis, pair, features=features, flaw=flaw)
        self._origins.append(origin)
        return Weights(origin, tuple(range(len(scores.shape))))

    def _flawed(self, origin: Origin, op: Operation, site: Site, flaw: Flaw) -> Origin:
        """Begin anew with weights that add up to 1 no more."""
        made = Origin(site, op, origin.labels, origin.axis, origin.pair, flaw=flaw)
        self._origins.append(made)
        return made

    def _scaled(self, op: Operation, weights: Weights, site: Site) -> Weights | None:
        """See weights that are scaled as their scores should have been."""
        origin = weights.origin
        factor = None if origin.flaw or isinstance(weights, Terms) else scale(op, origin.features)
        if factor is None or origin.axis not in origin.pair:
            return self._multiplied(op)
        return Weights(self._flawed(origin, op, site, Scaled(factor)), weights.places)

    def _summed(self, op: Operation, state: State, site: Site) -> Total | Share | None:
        """Note a sum: what is divided by it will add up to 1; of terms it mixes."""
        weights, axes = self._facts.weights(state), sums.summed_axes(op)
        if weights is None:
            return None if self._facts.scores(op, state) is None else sums.total(op)
        if len(axes) != 1 or op.name == "logsumexp":
            return None
        was = weights.was(axes[0])
        if isinstance(weights, Terms):
            if was is not None:
                weights.origin.mixed(was, site)
            return None
        # over the axis that adds up it says nothing
        says = was != weights.origin.axis or weights.origin.flaw is not None
        return Share(weights.origin) if says else None

    def _divided(self, op: Operation, site: Site) -> Weights | None:
        """See what is done with a sum: exponentials over it are a softmax by hand."""
        if len(op.inputs) < 2:
            return None
        for state in op.inputs:
            total = self._facts.of(state)
            if isinstance(total, Share):
                total.origin.fits = True  # normalised anew, or reckoned with
            elif isinstance(total, Total) and sums.is_share(total, op):
                return self._shared(op, site, total, state)
        return None

    def _shared(self, op: Operation, site: Site, total: Total, state: State) -> Weights | None:
        """See scores that are divided by a sum of them: one for each row, or another one."""
        scores = op.inputs[0]
        known = self._facts.scores(op, scores)
        over = sums.shared_over(total, op, state, known.pair if known else ())
        made = self._normalised(op, site, scores, *over) if over else None
        return Logs(made.origin, made.places) if made and total.logarithm else made

    def _multiplied(self, op: Operation) -> Terms | None:
        """See weights times values, a new axis of theirs beside those of the weights."""
        known = [(state, self._facts.weights(state)) for state in op.inputs]
        for state, weights in known:
            others = [its for its, _ in known if its is not state]
            if weights is None:
                continue
            if any(isinstance(self._facts.of(its), Scores) for its in others):
                weights.origin.fits = True  # a gradient, by hand
            if op.name != "mul" or len(others) != 1 or self._facts.weights(others[0]) is not None:
                continue
            places = lined_up(state.shape, op.shape)
            kept = [None if place is None else places[place] for place in weights.places]
            new = [
                at for n, at in zip(state.shape, places, strict=True) if n == 1 or at not in kept
            ]
            wide = any(op.shape[at] > 1 for at in new if at is not None)
            if wide and not self._facts.is_fixed(others[0]):
                return Terms(weights.origin, tuple(kept))
        return None

    def _carried(self, fact: Fact | None, op: Operation) -> Fact | None:
        """Take what is known of a tensor along when its axes move."""
        places: Places = moved(op)
        if isinstance(fact, Weights):
            kept = [None if place is None else places[place] for place in fact.places]
            return type(fact)(fact.origin, tuple(kept))
        if isinstance(fact, Scores):
            query, key = (places[axis] for axis in fact.pair)
            if query is None or key is None:
                return None
            return Scores((query, key), fact.features)
        return sums.carried(fact, op) if isinstance(fact, Total) else fact

    # -- products ---------------------------------------------------------------------------

    def _mixed(self, op: Operation, site: Site) -> None:
        """Note what a product sums weights over; of two weights, one may carry the other's."""
        if op.name not in ("matmul", "einsum") or len(op.inputs) < 2:
            return
        known = [(state, self._facts.weights(state)) for state in op.inputs]
        fixed = any(map(self._facts.is_fixed, op.inputs))
        for which, (_, weights) in enumerate(known):
            if weights is None:
                continue
            origin, normal = weights.origin, weights.origin.axis
            places = summed_over(op, which)
            axes = {weights.was(place) for place in places}
            alone = sum(fact is not None for _, fact in known) == 1 and not fixed
            values = [state for state, fact in known if fact is None]
            backward = any(_GRADIENT.match(state.identity.name or "") for state in values)
            alone = alone and not backward and len(axes) == 1 and has_features(op, which)
            if normal in axes and (origin.flaw is None or len(axes) > 1):
                origin.fits = True
                pair, labels = origin.pair, origin.labels
                letter = lonely(op, which, places[0]) if alone and normal in pair else None
                if letter is not None:
                    made = self._flawed(origin, op, site, Alone(letter))
                    made.mixed(normal, site)
                elif len(pair) == 2 and pair[1] == normal:
                    others = [label for place, label in enumerate(labels) if place not in pair]
                    self._attended.mixed(op, site, [*others, *(labels[place] for place in pair)])
            elif alone and weights.places[normal] is not None:
                axis = axes.pop()
                if axis is not None:
                    origin.mixed(axis, site)
