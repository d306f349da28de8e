"""Faults of the heads: split, shared and merged the wrong way."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from torch import Tensor

from .engine import Fault, Slot, Step, put


def _right_split(x: Tensor, heads: int) -> Tensor:
    batch, S, width = x.shape
    return x.reshape(batch, S, heads, width // heads).transpose(1, 2)


_SPLITS: tuple[tuple[str, str, Callable[[Tensor, int], Tensor]], ...] = (
    (
        "split-by-view", "viewed as (batch, heads, S, H)",
        lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1),
    ),
    (
        "split-by-view", "viewed as (heads, batch, S, H)",
        lambda x, h: x.reshape(h, x.shape[0], x.shape[1], -1).transpose(0, 1),
    ),
    (
        "split-by-view", "features put before the tokens in one view",
        lambda x, h: x.reshape(x.shape[0], h, -1, x.shape[1]).transpose(-2, -1),
    ),
    (
        "split-wrong-order", "every heads-th feature to one head",
        lambda x, h: x.reshape(x.shape[0], x.shape[1], -1, h).permute(0, 3, 1, 2),
    ),
)  # fmt: skip
_SPLIT_AXES: tuple[tuple[str, str, Callable[[Tensor, int], Tensor]], ...] = (
    (
        "transpose-missing", "left as (batch, S, heads, H)",
        lambda x, h: _right_split(x, h).transpose(1, 2),
    ),
    (
        "transpose-wrong-dims", "moved to (heads, batch, S, H)",
        lambda x, h: _right_split(x, h).transpose(0, 1),
    ),
    (
        "transpose-wrong-dims", "moved to (batch, heads, H, S)",
        lambda x, h: _right_split(x, h).transpose(2, 3),
    ),
    (
        "transpose-wrong-dims", "moved to (batch, S, H, heads)",
        lambda x, h: _right_split(x, h).permute(0, 2, 3, 1),
    ),
    (
        "transpose-wrong-dims", "moved to (batch, H, S, heads)",
        lambda x, h: _right_split(x, h).permute(0, 3, 2, 1),
    ),
    (
        "transpose-wrong-dims", "moved to (S, batch, heads, H)",
        lambda x, h: _right_split(x, h).permute(2, 0, 1, 3),
    ),
    (
        "transpose-wrong-dims", "moved to (heads, S, batch, H)",
        lambda x, h: _right_split(x, h).permute(1, 2, 0, 3),
    ),
)  # fmt: skip


SPLIT = "Write the named dims behind the split: (batch, heads, S, H) is what is wanted."
MERGE = "Swap heads and S, no other dims: a token's numbers lie head after head."


def _split_x(split: Callable[[Tensor, int], Tensor]) -> Step:
    return put("r", lambda s: split(s.x, s.n_heads))


def split_one() -> Slot:
    """Split one tensor into heads."""
    faults = [Fault(id_, how, _split_x(split)) for id_, how, split in _SPLITS]
    faults += [Fault(id_, how, _split_x(f), look=SPLIT) for id_, how, f in _SPLIT_AXES]
    return Slot("split", _split_x(_right_split), tuple(faults))


def _split_all(split: Callable[[Tensor, int], Tensor], flat: bool = False) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.q, s.k, s.v = (split(t, s.n_heads) for t in (s.q, s.k, s.v))
        s.flat = flat

    return step


def split_three() -> Slot:
    """Split queries, keys and values into heads."""
    unmoved = _SPLIT_AXES[0]
    faults = [Fault(id_, how, _split_all(f)) for id_, how, f in _SPLITS]
    faults += [
        Fault(unmoved[0], unmoved[1], _split_all(unmoved[2], flat), look=SPLIT)
        for flat in (False, True)
    ]
    return Slot("split", _split_all(_right_split), tuple(faults))


def given(keys: str, values: str) -> Slot:
    """Take keys and values as they were given."""

    def take(keys: str, values: str) -> Step:
        def step(s: SimpleNamespace) -> None:
            s.k, s.v = getattr(s, keys), getattr(s, values)

        return step

    exchanged = Fault("values-exchanged", "keys for values", take(values, keys), rare=True)
    return Slot("project", take(keys, values), (exchanged,))


def expand_groups() -> Slot:
    """Give each query head its key and value head: repeat_interleave, group after group."""

    def grouped(t: Tensor, each: int) -> Tensor:
        return t.repeat_interleave(each, 1)

    def tiled(t: Tensor, each: int) -> Tensor:
        return t.repeat(1, each, 1, 1)

    def expand(keys: Callable = grouped, values: Callable = grouped) -> Step:
        def step(s: SimpleNamespace) -> None:
            each = s.q.shape[1] // s.k.shape[1]
            s.k, s.v = keys(s.k, each), values(s.v, each)

        return step

    def exchange(s: SimpleNamespace) -> None:
        s.k, s.v = s.v, s.k
        expand()(s)

    faults = (
        Fault("values-exchanged", "keys for values", exchange, rare=True),
        Fault("kv-heads-tiled", "heads repeated 0 1 0 1", expand(tiled, tiled)),
        Fault("kv-heads-tiled", "keys repeated 0 1 0 1", expand(keys=tiled), rare=True),
        Fault("kv-heads-tiled", "values repeated 0 1 0 1", expand(values=tiled), rare=True),
    )
    return Slot("split", expand(), faults)


def _right_merge(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


_MERGES: tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...] = (
    (
        "merge-by-view", "viewed as (batch, S, heads*H)",
        lambda x: x.reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "merge-by-view", "heads first, then viewed",
        lambda x: x.transpose(0, 1).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "merge-by-view", "unfolded as (heads, batch)",
        lambda x: x.reshape(x.shape[1], x.shape[0], *x.shape[2:]).permute(1, 2, 0, 3).flatten(2),
    ),
    (
        "transpose-wrong-dims", "heads innermost",
        lambda x: x.permute(0, 2, 3, 1).flatten(2),
    ),
    (
        "transpose-wrong-dims", "H and S swapped",
        lambda x: x.transpose(2, 3).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "transpose-wrong-dims", "H and heads swapped",
        lambda x: x.transpose(1, 3).reshape(x.shape[0], x.shape[2], -1),
    ),
)  # fmt: skip


def _merge(name: str, merge: Callable[[Tensor], Tensor]) -> Step:
    return put(name, lambda s: merge(getattr(s, name)))


def _merges(name: str) -> tuple[Fault, ...]:
    return tuple(
        Fault(id_, how, _merge(name, merge), look=MERGE * (id_ == "transpose-wrong-dims"))
        for id_, how, merge in _MERGES
    )


def merge_one() -> Slot:
    """Put the heads of one tensor side by side."""
    return Slot("merge", _merge("x", _right_merge), _merges("x"))


def merge_last() -> Slot:
    """Put the heads of the output side by side."""

    def right(s: SimpleNamespace) -> Tensor:
        return s.output.flatten(2) if s.flat else _right_merge(s.output)

    return Slot("merge", put("output", right), _merges("output"))
