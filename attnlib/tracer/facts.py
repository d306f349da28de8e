"""What is known of the tensors of a run: scores, weights, sums of them, and which are fixed."""

from __future__ import annotations

from ..dims import role
from .axes import moved, moves, terms_of
from .notes import Identity, State
from .operation import Operation
from .rules import RULES, pointwise
from .shares import Fact, Logs, Scores, Weights

_ALONG_AN_AXIS = {
    "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin",
    "flip", "roll", "normalize", "batch_norm", "tril", "triu", "argsort",
}  # fmt: skip


class Facts:
    """Remember it, operation by operation."""

    def __init__(self) -> None:
        self._facts: dict[Identity, Fact] = {}
        self._features: dict[Identity, int] = {}  # where the last axis stands, if not last
        self._inputs: set[Identity] = set()
        self._made: set[Identity] = set()
        self._fixed: set[Identity] = set()  # made of weights alone

    def given(self, state: State) -> None:
        """Note a tensor that goes in; what else the run works with are its weights."""
        self._inputs.add(state.identity)

    def note(self, op: Operation, fact: Fact | None) -> None:
        """Note what an operation makes."""
        fixed = bool(op.inputs) and all(map(self.is_fixed, op.inputs))
        place = self._feature_place(op) if len(op.outputs) == 1 and op.inputs else None
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

    def of(self, state: State) -> Fact | None:
        """Return what is known of a tensor."""
        return self._facts.get(state.identity)

    def is_fixed(self, state: State) -> bool:
        identity = state.identity
        known = not self._inputs or identity in self._inputs or identity in self._made
        return identity.weight or identity in self._fixed or not known

    def scores(self, op: Operation, state: State) -> Scores | None:
        """Return what is known of scores; given as such, their names say what they are."""
        fact = self._facts.get(state.identity)
        if isinstance(fact, Scores):
            return fact
        if fact is not None or state.identity in self._made or self.is_fixed(state):
            return None
        names = [role(label.name or "") for label in op.labels(state)[-2:]]
        last = len(state.shape) - 1
        return Scores((last - 1, last)) if names == ["S", "S"] else None

    def weights(self, state: State) -> Weights | None:
        fact = self._facts.get(state.identity)
        return fact if isinstance(fact, Weights) and not isinstance(fact, Logs) else None

    def _feature_axis(self, state: State) -> int:
        return self._features.get(state.identity, len(state.shape) - 1)

    def _feature_place(self, op: Operation) -> int | None:
        """Follow the axis that stood last when a tensor was made."""
        if moves(op):
            return moved(op)[self._feature_axis(op.inputs[0])] if op.inputs[0].shape else None
        if number_by_number(op):
            for state in op.inputs:
                if state.identity in self._features and len(state.shape) == len(op.shape):
                    return self._features[state.identity]
        return None

    def compared(self, op: Operation) -> Scores | None:
        """Find where a product compares two sets: it sums over the features of both."""
        if len(op.inputs) != 2 or any(map(self.is_fixed, op.inputs)):
            return None
        if any(self.weights(state) is not None for state in op.inputs):
            return None
        a, b = op.inputs
        if len(a.shape) < 2 or len(b.shape) < 2:
            return None
        features = (self._feature_axis(a), self._feature_axis(b))
        if op.name == "matmul":
            last = len(op.shape) - 1
            compares = features == (len(a.shape) - 1, len(b.shape) - 2)
            return Scores((last - 1, last), a.shape[-1]) if compares else None
        terms, right = terms_of(op)
        shared = [x for x in terms[0] if x in terms[1] and x not in right] if terms else []
        if len(shared) != 1 or tuple(term.index(shared[0]) for term in terms) != features:
            return None
        free = [[x for x in terms[k] if x in right and x not in terms[1 - k]] for k in (0, 1)]
        if [len(letters) for letters in free] != [1, 1]:
            return None
        pair = right.index(free[0][0]), right.index(free[1][0])
        return Scores(pair, a.shape[features[0]])


def number_by_number(op: Operation) -> bool:
    return RULES.get(op.name) is pointwise and op.name not in _ALONG_AN_AXIS
