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

from ..dims import role
from .attended import Attended
from .axes import Places, lined_up, moved, moves, summed_over, terms_of
from .notes import Identity, State
from .operation import Operation
from .rows import Warning
from .rules import RULES, pointwise
from .shares import Fact, Origin, Scores, Terms, Total, Weights, pooled, told
from .source import Site
from .symbols import Symbols

_KEEPING = {"dropout", "to", "contiguous", "clone", "detach", "data", "nan_to_num"}
_ALONG_AN_AXIS = {
    "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin",
    "flip", "roll", "normalize", "batch_norm", "tril", "triu", "argsort",
}  # fmt: skip
# The gradient of the output goes back through transposed weights.
_GRADIENT = re.compile(r"(?i)(d|grad|g)(_.*|o|out|output|y)?$")


class Mixtures:
    """Follow scores and weights through the operations of a run, in order."""

    def __init__(self, symbols: Symbols, attended: Attended) -> None:
        self._symbols = symbols
        self._attended = attended
        self._facts: dict[Identity, Fact] = {}
        self._features: dict[Identity, int] = {}  # where the last axis stands, if not last
        self._inputs: set[Identity] = set()
        self._made: set[Identity] = set()
        self._fixed: set[Identity] = set()  # made of weights alone
        self._origins: list[Origin] = []

    def given(self, state: State) -> None:
        """Note a tensor that goes in; what else the run works with are its weights."""
        self._inputs.add(state.identity)

    def follow(self, op: Operation, site: Site) -> None:
        """Go on after an operation."""
        fixed = bool(op.inputs) and all(map(self._is_fixed, op.inputs))
        self._mixed(op, site)
        one = len(op.outputs) == 1 and bool(op.inputs)
        fact = self._fact(op, site) if one else None
        place = self._feature_place(op) if one else None
        for state in op.outputs:
            identity = state.identity
            self._made.add(identity)
            self._facts.pop(identity, None)
            self._features.pop(identity, None)
            self._fixed.discard(identity)
            if fixed:
                self._fixed.add(identity)
            if fact is not None:
                self._facts[identity] = fact
            if place is not None and place != len(state.shape) - 1:
                self._features[identity] = place

    def warnings(self) -> Iterator[Warning]:
        """Write what was found, each once for a place in the code."""
        said: set[tuple] = set()
        for origin in self._origins:
            key = (origin.site.path, origin.site.line, origin.site.columns)
            warning = told(origin, self._symbols)
            if warning is not None and key not in said:
                said.add(key)
                yield warning

    # -- what a tensor is -------------------------------------------------------------------

    def _is_fixed(self, state: State) -> bool:
        identity = state.identity
        known = not self._inputs or identity in self._inputs or identity in self._made
        return identity.weight or identity in self._fixed or not known

    def _scores(self, op: Operation, state: State) -> Scores | None:
        """Return what is known of scores; given as such, their names say what they are."""
        fact = self._facts.get(state.identity)
        if isinstance(fact, Scores):
            return fact
        if fact is not None or state.identity in self._made or self._is_fixed(state):
            return None
        names = [role(label.name or "") for label in op.labels(state)[-2:]]
        last = len(state.shape) - 1
        return Scores((last - 1, last)) if names == ["S", "S"] else None

    def _weights(self, state: State) -> Weights | None:
        fact = self._facts.get(state.identity)
        return fact if isinstance(fact, Weights) else None

    def _feature_axis(self, state: State) -> int:
        return self._features.get(state.identity, len(state.shape) - 1)

    def _feature_place(self, op: Operation) -> int | None:
        """Follow the axis that stood last when a tensor was made."""
        if moves(op):
            return moved(op)[self._feature_axis(op.inputs[0])] if op.inputs[0].shape else None
        if _number_by_number(op):
            for state in op.inputs:
                if state.identity in self._features and len(state.shape) == len(op.shape):
                    return self._features[state.identity]
        return None

    # -- what an operation makes of it ------------------------------------------------------

    def _fact(self, op: Operation, site: Site) -> Fact | None:
        first = op.inputs[0]
        if op.name == "softmax":
            return self._normalised(op, site, first, op.params["dim"])
        if op.name in ("matmul", "einsum"):
            return self._compared(op)
        if op.name in ("sum", "nansum"):
            return self._summed(op, first, site)
        if op.name == "setitem":
            return self._scores(op, first)
        if moves(op):
            return self._carried(self._facts.get(first.identity) or self._scores(op, first), op)
        if op.name == "getitem":
            fact = self._facts.get(first.identity)
            return fact if isinstance(fact, Total) else None
        if not _number_by_number(op):
            return None
        by_hand = self._divided(op, site)
        if by_hand is not None:
            return by_hand
        weights = self._weights(first)
        if weights is not None and op.name in _KEEPING:
            return weights
        if any(self._weights(state) for state in op.inputs):
            return self._multiplied(op)
        for state in op.inputs:
            fact = self._facts.get(state.identity) or self._scores(op, state)
            if isinstance(fact, Scores):
                places = lined_up(state.shape, op.shape)
                return Scores((places[fact.pair[0]] or 0, places[fact.pair[1]] or 0))
            if isinstance(fact, Total) and len(op.inputs) == 1:
                return fact
        return None

    def _normalised(self, op: Operation, site: Site, scores: State, axis: int) -> Weights | None:
        known, labels = self._scores(op, scores), op.labels(scores)
        if known is None and not (labels and pooled(labels[axis], self._symbols)):
            return None
        origin = Origin(site, op, labels, axis, known.pair if known else ())
        self._origins.append(origin)
        return Weights(origin, tuple(range(len(scores.shape))))

    def _compared(self, op: Operation) -> Scores | None:
        """Find where a product compares two sets: it sums over the features of both."""
        if len(op.inputs) != 2 or any(map(self._is_fixed, op.inputs)):
            return None
        if any(self._weights(state) is not None for state in op.inputs):
            return None
        a, b = op.inputs
        if len(a.shape) < 2 or len(b.shape) < 2:
            return None
        features = (self._feature_axis(a), self._feature_axis(b))
        if op.name == "matmul":
            last = len(op.shape) - 1
            compares = features == (len(a.shape) - 1, len(b.shape) - 2)
            return Scores((last - 1, last)) if compares else None
        terms, right = terms_of(op)
        shared = [x for x in terms[0] if x in terms[1] and x not in right] if terms else []
        if len(shared) != 1 or tuple(term.index(shared[0]) for term in terms) != features:
            return None
        free = [[x for x in terms[k] if x in right and x not in terms[1 - k]] for k in (0, 1)]
        if [len(letters) for letters in free] != [1, 1]:
            return None
        return Scores((right.index(free[0][0]), right.index(free[1][0])))

    def _summed(self, op: Operation, state: State, site: Site) -> Total | None:
        """Note a sum over one axis: what is divided by it will add up to 1; of terms it mixes."""
        axis = op.params.get("dim")
        axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
        if not isinstance(axis, int):
            return None
        weights = self._weights(state)
        if isinstance(weights, Terms):
            was = weights.was(axis)
            if was is not None:
                weights.origin.mixed(was, site)
            return None
        if weights is not None:
            origin = weights.origin
            says = weights.was(axis) != origin.axis  # over the axis that adds up it says nothing
            return Total(state.identity, axis, origin) if says else None
        scores = self._scores(op, state)
        return None if scores is None else Total(state.identity, axis)

    def _divided(self, op: Operation, site: Site) -> Weights | None:
        """See what is done with a sum: exponentials over it are a softmax by hand."""
        if len(op.inputs) < 2:
            return None
        for state in op.inputs:
            total = self._facts.get(state.identity)
            if not isinstance(total, Total):
                continue
            if total.origin is not None:
                total.origin.fits = True  # normalised anew, or reckoned with
                continue
            numerator, kept = op.inputs[0], len(state.shape) == len(op.shape)
            if op.name == "div" and kept and numerator.identity is total.of:
                return self._normalised(op, site, numerator, total.axis)
        return None

    def _multiplied(self, op: Operation) -> Terms | None:
        """See weights times values, a new axis of theirs beside those of the weights."""
        known = [(state, self._weights(state)) for state in op.inputs]
        for state, weights in known:
            others = [its for its, _ in known if its is not state]
            if weights is None:
                continue
            if any(isinstance(self._facts.get(its.identity), Scores) for its in others):
                weights.origin.fits = True  # a gradient, by hand
            if op.name != "mul" or len(others) != 1 or self._weights(others[0]) is not None:
                continue
            places = lined_up(state.shape, op.shape)
            kept = [None if place is None else places[place] for place in weights.places]
            new = [
                at for n, at in zip(state.shape, places, strict=True) if n == 1 or at not in kept
            ]
            wide = any(op.shape[at] > 1 for at in new if at is not None)
            if wide and not self._is_fixed(others[0]):
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
            return None if query is None or key is None else Scores((query, key))
        return fact

    # -- products ---------------------------------------------------------------------------

    def _mixed(self, op: Operation, site: Site) -> None:
        """Note what a product sums weights over; of two weights, one may carry the other's."""
        if op.name not in ("matmul", "einsum") or len(op.inputs) < 2:
            return
        known = [(state, self._weights(state)) for state in op.inputs]
        fixed = any(map(self._is_fixed, op.inputs))
        for which, (_, weights) in enumerate(known):
            if weights is None:
                continue
            axes = {weights.was(place) for place in summed_over(op, which)}
            normal = weights.origin.axis
            alone = sum(fact is not None for _, fact in known) == 1 and not fixed
            values = [state for state, fact in known if fact is None]
            backward = any(_GRADIENT.match(state.identity.name or "") for state in values)
            if normal in axes:
                weights.origin.fits = True
                pair, labels = weights.origin.pair, weights.origin.labels
                if len(pair) == 2 and pair[1] == normal:
                    others = [label for place, label in enumerate(labels) if place not in pair]
                    self._attended.mixed(op, site, [*others, *(labels[place] for place in pair)])
            elif alone and not backward and weights.places[normal] is not None and len(axes) == 1:
                axis = axes.pop()
                if axis is not None:
                    weights.origin.mixed(axis, site)


def _number_by_number(op: Operation) -> bool:
    return RULES.get(op.name) is pointwise and op.name not in _ALONG_AN_AXIS
