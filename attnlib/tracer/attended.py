"""What attention runs over, by name: heads or samples in the place of tokens.

Nothing collides there: an attention takes whatever stands in the place of tokens for tokens, at
every size. So this goes by what the names are (``n_heads``, ``B``), and is silent where they are
none of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import nn

from ..dims import role
from .labels import LAYER, Label
from .operation import Operation
from .rows import Warning
from .shares import FRAMES
from .source import Site
from .symbols import Symbols

_FUSED, _LIBRARY = "scaled_dot_product_attention", "multi_head_attention_forward"
_HEADS = {"nhead", "nheads", "nh"}  # as constructors of torch and of nanoGPT's readers have it
_WIDTHS = {"w", "W", "width"}  # beside one h may be the height of an image


class Attended:
    """Note every attention of a run; say at the end, when all names are known, what it ran over."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._seen: list[tuple[Operation, Site, list[list[Label]]]] = []

    def follow(self, op: Operation, site: Site) -> None:
        """Note an operation of torch that attends."""
        if op.name in (_FUSED, _LIBRARY):
            self._seen.append((op, site, [op.labels(state) for state in op.inputs[:2]]))

    def mixed(self, op: Operation, site: Site, weights: list[Label]) -> None:
        """Note a product of weights (…, queries, keys) and values."""
        self._seen.append((op, site, [weights, weights]))

    def warnings(self) -> Iterator[Warning]:
        """Write what was found, each once for a place in the code."""
        said: set[tuple] = set()
        for op, site, (queries, keys) in self._seen:
            key = (site.path, site.line, site.columns)
            told = self._told(op, queries) or self._told(op, keys)
            if told is not None and key not in said:
                said.add(key)
                message, dims = told
                yield Warning(site.line, site.expression or site.code or op.name, message, dims)

    def _told(self, op: Operation, labels: list[Label]) -> tuple[str, tuple[str, str]] | None:
        words = [self._symbols.text(label) for label in labels]
        roles = [
            "heads" if _named_heads(label) or self._counts_heads(label) else role(word)
            for label, word in zip(labels, words, strict=True)
        ]
        if op.name == _LIBRARY:
            frames = words[0] == "N" and words[1] in FRAMES
            if roles[:2] != ["batch", "S"] or len(words) != 3 or frames:
                return None
            return _library(op, words), (words[0], words[1])
        place = len(words) - 2
        if roles[-3:-1] == ["S", "batch"] and (op.name == _FUSED or roles[-1] == "batch"):
            frames = words[place] == "N" and words[place - 1] in FRAMES
            return None if frames else (over_batch(words), (words[place], words[place - 1]))
        image = words[-2:-1] == ["h"] and any(_WIDTHS & set(word.split("*")) for word in words)
        if roles[-3:-1] != ["S", "heads"] or image:
            return None
        if op.name != _FUSED and roles[-1] != "heads":
            return None
        return f"this {over_heads(words)}", (words[-2], words[-3])

    def _counts_heads(self, label: Label) -> bool:
        """Is a dim without a name what a layer's features were split by, (batch, S, 4, 6)?"""
        if label.root().names:
            return False
        wholes = self._symbols.wholes(label)
        return any(role(whole.name or "") == "n_embd" for whole in wholes)


def _named_heads(label: Label) -> bool:
    """Does a constructor call it so, maybe by an attribute whose argument is called otherwise?"""
    names = label.root().names
    return (
        bool(names)
        and min(names)[0] == LAYER
        and any(
            name in _HEADS or role(name) == "heads" for rank, _, name, _ in names if rank == LAYER
        )
    )


def _library(op: Operation, words: list[str]) -> str:
    """Say it of a layer of torch, (batch, S, n_embd) where it reads (S, batch, n_embd)."""
    batch, tokens = words[:2]
    said = f"this attends over {batch} and takes {tokens} for the batch"
    if not isinstance(op.module, nn.MultiheadAttention):
        return f"{said}: it reads (S, batch, n_embd); exchange the two with transpose(0, 1)"
    first = bool(op.module.batch_first)
    order, other = "(S, batch, n_embd)", "(batch, S, n_embd)"
    if first:
        order, other = other, order
    return (
        f"{said}: nn.MultiheadAttention was built with batch_first={first} and reads {order}; "
        f"build the layer with batch_first={not first}, which reads {other}"
    )


def over_batch(words: Sequence[str]) -> str:
    """Say what queries (S, batch, H) do where no layer reads them so, or weights of them."""
    batch, tokens, place = words[-2], words[-3], len(words) - 2
    return (
        f"this attends over {batch} (axis {place} of ({', '.join(words)})): the samples see each "
        f"other, and no token sees another; bring {batch} in front of {tokens} before, as with "
        f"transpose({place - 1}, {place})"
    )


def over_heads(words: Sequence[str], where: str = "q, k and v") -> str:
    """Say what queries (…, S, heads, H) do, or weights (…, S, heads, heads)."""
    heads, tokens, place = words[-2], words[-3], len(words) - 2
    moved = heads
    if heads.isdigit():
        heads, moved = f"the {heads} heads", f"axis {place}"
    return (
        f"attends over {heads} (axis {place} of ({', '.join(words)})): the heads of one token "
        f"see each other, and no token sees another; bring {moved} before {tokens} in {where}, "
        f"as with transpose({place - 1}, {place}), and back in the output"
    )
