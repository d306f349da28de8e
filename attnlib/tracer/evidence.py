"""Evidence: what tells two names apart as names of two dims.

Axes of one tensor are two dims. But a weight that maps n_embd to C does not say whether C is n_embd
again, as it is where the two are added; nor does a tensor that the caller left without names. And
what the code unpacks may be its own word for a dim that has a name: kv_length is S where a sequence
attends to itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dims import role
from .labels import CODE, DIMS, LAYER, Label, tokens
from .notes import Identity, State

Row = tuple[Label, ...]


class Evidence:
    """Remember which axes stood side by side on a tensor that tells them apart."""

    def __init__(self) -> None:
        self._together: dict[Row, None] = {}  # labels of tensors seen so far
        self._beside: list[Row] = []  # weights that go into the operation at hand
        self._strangers: list[Row] = []  # of tensors that nobody named
        # weights, tensors that nobody has words for, and what is made of such alone
        self._silent: set[Identity] = set()
        self._unpacked: dict[Identity, set[int]] = {}  # axes that the code has its own words for

    def stand(self, labels: Sequence[Label]) -> None:
        """Remember which labels stand together on one tensor."""
        if len(labels) > 1:
            self._together[tuple(labels)] = None

    def written(self, state: State, sizes: Sequence[Label]) -> None:
        """Remember sizes that a reshape of this tensor writes side by side."""
        if state.identity not in self._silent:
            self.stand(sizes)

    def unpacked(self, state: State, labels: Sequence[Label], axis: int) -> None:
        """Note that the code unpacks an axis: two words for two axes tell them apart."""
        axes = self._unpacked.setdefault(state.identity, set())
        axes.add(axis)
        if len(axes) > 1 and not state.identity.weight:
            self.stand(labels)

    def met(self, state: State, labels: Sequence[Label]) -> None:
        """Meet a tensor that no operation made."""
        identity = state.identity
        if identity.weight:
            self._silent.add(identity)
        elif all(rank == CODE for label in labels for rank, *_ in label.root().names):
            self._strangers.append(tuple(labels))
            if len(self._unpacked.get(identity, ())) < 2:
                self._silent.add(identity)

    def used(self, inputs: Sequence[tuple[State, list[Label]]]) -> None:
        """Note what goes into an operation: what is silent tells dims apart in it alone.

        A layer's output may well be the dim that went in (``x + layer(x)``), whatever the
        constructor calls the two.
        """
        self._beside = [tuple(row) for state, row in inputs if state.identity in self._silent]
        for state, labels in inputs:
            if state.identity not in self._silent:
                self.stand(labels)

    def made(self, state: State, labels: Sequence[Label], inputs: Sequence[State]) -> None:
        """Note a result: of silent tensors alone it is as silent as they are."""
        if inputs and all(one.identity in self._silent for one in inputs):
            self._silent.add(state.identity)
        else:
            self.stand(labels)

    def rows(self) -> set[Row]:
        """Return the labels of all tensors that tell, as they are known now."""
        return {tuple([label.root() for label in row]) for row in self._together}

    def apart(self, a: Label, b: Label) -> bool:
        """Do two labels, or other bearers of their names, stand side by side on some tensor?"""
        mine, its = _names(a), _names(b)
        if {name for name, _ in mine} & {name for name, _ in its} or _of_one_kind(a, b):
            return False
        if self._nobody_knows(a, b) or self._nobody_knows(b, a):
            return False
        declared = not (_only_unpacked(a) or _only_unpacked(b))
        return any(
            _side_by_side(a, b, [label.root() for label in row])
            for row in (*self._together, *(self._beside if declared else ()))
        )

    def _nobody_knows(self, a: Label, b: Label) -> bool:
        """Is one an axis of a tensor that nobody named, on which the other does not stand?

        Then it may be that very dim, from another tensor.
        """
        if not _only_unpacked(a):
            return False
        rows = [{label.root() for label in row} for row in self._strangers]
        own = [row for row in rows if a in row]
        if not own or any(b in row for row in own):
            return False
        return not _only_unpacked(b) or any(b in row for row in rows)


def firm(label: Label) -> bool:
    """Does the code tell a dim apart: by a name, or as a share of one (``C // n_head``)?"""
    root = label.root()
    if root.strong or root.names or root.share is None:
        return root.strong
    whole, below = root.share
    return whole.strong and any(part.root().names for part in below)


def _side_by_side(a: Label, b: Label, row: list[Label]) -> bool:
    mine = {place for place, label in enumerate(row) if _bears(label, a)}
    its = {place for place, label in enumerate(row) if _bears(label, b)}
    return any(row[i] is not row[j] for i in mine for j in its)


def _bears(label: Label, other: Label) -> bool:
    """Is it that label, or one that the caller or the same layer calls so?

    A word of the code is no name beyond its own size: another function may use it otherwise, and
    of a class two layers may be of two sizes.
    """
    if label is other:
        return True
    return any(
        (name == word and DIMS in (rank, kind)) or (name, scope) == (word, place)
        for rank, _, name, scope in label.names
        for kind, _, word, place in other.names
        if {rank, kind} <= {DIMS, LAYER}
    )


def _only_unpacked(label: Label) -> bool:
    names = label.root().names
    return bool(names) and min(names)[0] == CODE


def _of_one_kind(a: Label, b: Label) -> bool:
    """Are both numbers of tokens, or both of features, and one of them a word of the code only?"""
    if not (_only_unpacked(a) or _only_unpacked(b)):
        return False
    if tokens(a) and tokens(b):
        return True
    kinds = [{role(name) for *_, name, _ in label.root().names} for label in (a, b)]
    return bool((kinds[0] & kinds[1]) - {None})


def _names(label: Label) -> set[tuple[str, object]]:
    """Return a label's strong names, each with the layer whose constructor gave it."""
    return {
        (name, scope if rank == LAYER else None)
        for rank, _, name, scope in label.root().names
        if rank <= LAYER
    }
