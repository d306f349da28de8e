"""The pipeline once more, with faults that can be switched on: what each mistake would give.

Every slot is one stage: the right step and the wrong ones. A diagnosis is the claim "your numbers
are those of the pipeline with this fault, and with no smaller set of faults".
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import Tensor

Step = Callable[[SimpleNamespace], None]
LOW = -1e9


@dataclass(frozen=True)
class Fault:
    """One wrong step and the id of the mistake; `how` says which form of it this is.

    A rare form is tried alone, not together with a second fault: pairs grow with the square.
    """

    id: str
    how: str
    step: Step
    rare: bool = False


@dataclass(frozen=True)
class Slot:
    """One stage: its name, the right step, the wrong ones."""

    stage: str
    right: Step
    faults: tuple[Fault, ...]


def walk(
    slots: tuple[Slot, ...],
    state: SimpleNamespace,
    most: int,
    wanted: Callable[[Fault], bool] = lambda fault: True,
    free: frozenset[str] = frozenset(),
) -> Iterator[tuple[tuple[Fault, ...], Tensor]]:
    """Yield every choice of at most `most` faults with what it computes; leave out what raises.

    Faults with an id in `free` do not count.
    """
    if not slots:
        yield (), state.result
        return
    slot, rest = slots[0], slots[1:]
    wrong = [f for f in slot.faults if wanted(f) and (most or f.id in free)]
    for fault in (None, *wrong):
        after = copy.copy(state)
        try:
            (fault.step if fault else slot.right)(after)
        except (RuntimeError, IndexError, ValueError):
            continue  # this mistake raises at these sizes
        left = most - (fault is not None and fault.id not in free)
        for chosen, result in walk(rest, after, left, wanted, free):
            yield ((fault, *chosen) if fault else chosen), result


def replay(
    slots: tuple[Slot, ...], state: SimpleNamespace, chosen: tuple[Fault, ...]
) -> Tensor | None:
    """Compute one choice of faults; None where it raises."""
    try:
        for slot in slots:
            fault = next((f for f in chosen if f in slot.faults), None)
            (fault.step if fault else slot.right)(state)
    except (RuntimeError, IndexError, ValueError):
        return None
    return state.result


def start(inputs: dict, sizes: dict) -> SimpleNamespace:
    """Lay out the inputs of a case for the first slot."""
    tensors = {k: v.clone() if isinstance(v, Tensor) else v for k, v in inputs.items()}
    return SimpleNamespace(**tensors, sizes=sizes, after=(), sees=lambda s: s.x)


def _put(name: str, compute: Callable[[SimpleNamespace], Tensor]) -> Step:
    """Make a step that keeps one value, which is also the result so far."""

    def step(s: SimpleNamespace) -> None:
        s.result = compute(s)
        setattr(s, name, s.result)

    return step


# project ---------------------------------------------------------------------------------------


def _apply(x: Tensor, weight: Tensor, form: str = "right") -> Tensor:
    if form == "turned":
        return x @ weight
    if form == "viewed":
        return x @ weight.reshape(weight.shape[1], weight.shape[0])
    return x @ weight.mT


def project_one() -> Slot:
    """Project by one weight."""
    return Slot(
        "project",
        _put("result", lambda s: _apply(s.x, s.weight)),
        (
            Fault("weight-transposed", "x @ weight", _put("r", lambda s: s.x @ s.weight)),
            Fault(
                "weight-transposed",
                "the weight viewed as (n_embd, H)",
                _put("r", lambda s: _apply(s.x, s.weight, "viewed")),
            ),
        ),
    )


def _qkv(roles: str = "qkv", forms: tuple[str, str, str] = ("right",) * 3) -> Step:
    def step(s: SimpleNamespace) -> None:
        weights = {"q": s.wq, "k": s.wk, "v": s.wv}
        s.q, s.k, s.v = (
            _apply(s.x, weights[role], form) for role, form in zip(roles, forms, strict=True)
        )

    return step


def _first_head_only(s: SimpleNamespace) -> None:
    _qkv()(s)
    heads, H = s.n_heads, s.q.shape[-1] // s.n_heads
    s.q, s.k, s.v = (t[..., :H].repeat(1, 1, heads) for t in (s.q, s.k, s.v))


def project_three(heads: bool = False) -> Slot:
    """Project to queries, keys and values, each by its own weight."""
    shared = [r for r in itertools.product("qkv", repeat=3) if len(set(r)) < 3]
    forms = [
        f for form in ("turned", "viewed") for f in itertools.product(("right", form), repeat=3)
    ]
    faults = [
        Fault("weight-transposed", f"weights {f}", _qkv(forms=f), rare=f != ("turned",) * 3)
        for f in forms
        if set(f) != {"right"}
    ]
    faults += [
        Fault(
            "projection-shared",
            f"q, k, v from w{r[0]}, w{r[1]}, w{r[2]}",
            _qkv("".join(r)),
            rare="".join(r) not in {"qqv", "kkv", "qkk", "qqq"},
        )
        for r in shared
    ]
    if heads:
        faults.append(
            Fault("projection-shared", "every head reads the first", _first_head_only, True)
        )
    return Slot("project", _qkv(), tuple(faults))


# split -----------------------------------------------------------------------------------------


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


def split_one() -> Slot:
    """Split one tensor into heads."""
    faults = tuple(
        Fault(id_, how, _put("r", lambda s, f=f: f(s.x, s.n_heads)))
        for id_, how, f in (*_SPLITS, *_SPLIT_AXES)
    )
    return Slot("split", _put("r", lambda s: _right_split(s.x, s.n_heads)), faults)


def _split_all(split: Callable[[Tensor, int], Tensor], flat: bool = False) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.q, s.k, s.v = (split(t, s.n_heads) for t in (s.q, s.k, s.v))
        s.flat = flat

    return step


def split_three() -> Slot:
    """Split queries, keys and values into heads."""
    unmoved = _SPLIT_AXES[0]
    faults = [Fault(id_, how, _split_all(f)) for id_, how, f in (*_SPLITS, unmoved)]
    faults.append(Fault(unmoved[0], unmoved[1], _split_all(unmoved[2], flat=True)))
    return Slot("split", _split_all(_right_split), tuple(faults))


def given(keys: str, values: str) -> Slot:
    """Take keys and values as they were given."""

    def take(s: SimpleNamespace) -> None:
        s.k, s.v = getattr(s, keys), getattr(s, values)

    return Slot("project", take, ())


def expand_groups() -> Slot:
    """Give each query head its key and value head: repeat_interleave, group after group."""

    def expand(how: Callable[[Tensor, int], Tensor]) -> Step:
        def step(s: SimpleNamespace) -> None:
            each = s.q.shape[1] // s.k.shape[1]
            s.k, s.v = how(s.k, each), how(s.v, each)

        return step

    tiled = expand(lambda t, each: t.repeat(1, each, 1, 1))
    return Slot(
        "split",
        expand(lambda t, each: t.repeat_interleave(each, 1)),
        (Fault("kv-heads-tiled", "heads repeated 0 1 0 1", tiled),),
    )


# transpose -------------------------------------------------------------------------------------


def meet(axes: int) -> Slot:
    """Let queries meet keys; `axes` is the number of axes of q."""
    swaps = [p for p in itertools.combinations(range(axes), 2) if p != (axes - 2, axes - 1)]
    wrong = "transpose-wrong-dims"
    faults = [
        Fault("transpose-missing", "q @ k", _put("scores", lambda s: s.q @ s.k)),
        Fault(
            "transpose-missing",
            "k reshaped, not transposed",
            _put("scores", lambda s: s.q @ s.k.reshape(*s.k.shape[:-2], s.k.shape[-1], -1)),
        ),
        Fault(wrong, "k @ q instead of q @ k", _put("scores", lambda s: s.k @ s.q.mT)),
        Fault(wrong, "q transposed instead of k", _put("scores", lambda s: s.q.mT @ s.k)),
        Fault(
            wrong, "k transposed on the other side", _put("scores", lambda s: s.k.mT @ s.q), True
        ),
        Fault(
            wrong,
            "all dims reversed",
            _put("scores", lambda s: s.q @ s.k.permute(*reversed(range(s.k.ndim)))),
            rare=True,
        ),
    ]
    faults += [
        Fault(
            wrong,
            f"dims {a} and {b} of k",
            _put("scores", lambda s, a=a, b=b: s.q @ s.k.transpose(a, b)),
            rare=True,
        )
        for a, b in swaps
    ]
    return Slot("transpose", _put("scores", lambda s: s.q @ s.k.mT), tuple(faults))


# scale -----------------------------------------------------------------------------------------


def _head_size(s: SimpleNamespace) -> int:
    return s.head_size if hasattr(s, "head_size") else s.q.shape[-1]


def _times(power: float) -> Step:
    return _put("scores", lambda s: s.scores * _head_size(s) ** power)


def _by(name: str, power: float) -> Step:
    return _put("scores", lambda s: s.scores * s.sizes[name] ** power)


def _scale_later(power: float) -> Step:
    def step(s: SimpleNamespace) -> None:
        H = _head_size(s)
        s.after = (*s.after, lambda w: w * H**power)

    return step


def scale(*others: str, later: bool = True) -> Slot:
    """Divide by the root of H; `others` are the sizes that could be taken for it."""
    faults = [
        Fault("scale-missing", "not scaled", _put("scores", lambda s: s.scores)),
        Fault("scale-no-root", "divided by H", _times(-1)),
        Fault("scale-inverted", "multiplied by the root of H", _times(0.5)),
        Fault("scale-inverted", "multiplied by H", _times(1)),
    ]
    for name in others:
        id_ = "scale-n-embd" if name == "n_embd" else "scale-wrong-size"
        faults.append(Fault(id_, f"divided by the root of {name}", _by(name, -0.5)))
        faults.append(Fault(id_, f"divided by {name}", _by(name, -1), True))
    if later:
        faults += [
            Fault("scale-after-softmax", "weights divided by the root of H", _scale_later(-0.5)),
            Fault("scale-after-softmax", "weights divided by H", _scale_later(-1), True),
            Fault(
                "scale-after-softmax",
                "weights multiplied by the root of H",
                _scale_later(0.5),
                True,
            ),
        ]
    return Slot("scale", _times(-0.5), tuple(faults))


# mask ------------------------------------------------------------------------------------------


def diagonal(s: SimpleNamespace, shift: int = 0) -> Tensor:
    """Who may attend to whom; shift moves the edge, 0 is right."""
    Sq, Sk = s.scores.shape[-2:]
    return torch.ones(Sq, Sk, dtype=torch.bool).tril(Sk - Sq + shift)


def _right_may(s: SimpleNamespace) -> Tensor:
    return s.may_attend if hasattr(s, "may_attend") else diagonal(s)


def _hide(may: Callable[[SimpleNamespace], Tensor], fill: float, safe: bool = False) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.scores = s.result = s.scores.masked_fill(~may(s), fill)
        if safe:
            s.after = (*s.after, lambda w: w.nan_to_num(0.0))

    return step


def _any_fill(id_: str, how: str, may: Callable[[SimpleNamespace], Tensor]) -> list[Fault]:
    """The three fates of a row that sees nothing: NaN, uniform weights, zeros."""
    return [
        Fault(id_, how, _hide(may, -math.inf)),
        Fault(id_, how, _hide(may, LOW), rare=True),
        Fault(id_, how, _hide(may, -math.inf, safe=True), rare=True),
    ]


def _mask_later(fill: float) -> Step:
    def step(s: SimpleNamespace) -> None:
        blocked = ~_right_may(s)
        s.after = (*s.after, lambda w: w.masked_fill(blocked, fill))

    return step


def _add_mask(sign: float, blocked: bool) -> Step:
    def add(s: SimpleNamespace) -> Tensor:
        may = _right_may(s)
        return s.scores + sign * (~may if blocked else may).to(s.scores.dtype)

    return _put("scores", add)


def _mask_faults() -> list[Fault]:
    faults = _any_fill("mask-inverted", "the allowed keys are hidden", lambda s: ~_right_may(s))
    faults.append(Fault("mask-ignored", "nothing is hidden", _put("scores", lambda s: s.scores)))
    faults += [
        Fault("mask-additive-01", "the mask is added as 0 and 1", _add_mask(1.0, False)),
        Fault("mask-additive-01", "1 is added where blocked", _add_mask(1.0, True)),
        Fault("mask-additive-01", "1 is subtracted where blocked", _add_mask(-1.0, True)),
    ]
    for fill in (0.0, -1.0, -2.0, -5.0, -10.0, 1.0):
        faults.append(
            Fault("mask-fill-not-low-enough", f"fill {fill:g}", _hide(_right_may, fill), fill != 0)
        )
    return faults


def hide() -> Slot:
    """Hide by a mask that was given."""
    faults = _mask_faults()
    faults += [
        Fault("mask-inverted", "1e9 added or the wrong sign", _hide(_right_may, math.inf)),
        *_any_fill("mask-wrong-axis", "the mask is transposed", lambda s: s.may_attend.mT),
        *_any_fill("mask-wrong-axis", "one column for all", lambda s: s.may_attend[..., :1]),
        *_any_fill("mask-wrong-axis", "one row for all", lambda s: s.may_attend[..., :1, :]),
        *_any_fill("mask-wrong-axis", "whole rows", lambda s: s.may_attend.all(-1, keepdim=True)),
        *_any_fill(
            "mask-wrong-axis", "whole columns", lambda s: s.may_attend.all(-2, keepdim=True)
        ),
    ]
    return Slot("mask", _hide(_right_may, -math.inf), tuple(faults))


def hide_future(aligned: bool = False) -> Slot:
    """Hide what comes later; `aligned` where there are more keys than queries."""
    faults = _mask_faults()
    faults += _any_fill("mask-inverted", "triu for tril", lambda s: ~diagonal(s, -1))
    faults += _any_fill("mask-off-by-one", "a token does not see itself", lambda s: diagonal(s, -1))
    faults += _any_fill("mask-off-by-one", "one token of the future", lambda s: diagonal(s, 1))
    for fill in (0.0, -math.inf):
        faults.append(Fault("mask-after-softmax", f"weights filled with {fill}", _mask_later(fill)))
    if aligned:
        top_left = lambda s: torch.ones_like(diagonal(s)).tril()  # noqa: E731
        faults += _any_fill("causal-misaligned", "aligned at the first key", top_left)
        later = lambda s: torch.ones_like(diagonal(s)).triu()  # noqa: E731
        faults += _any_fill("mask-inverted", "triu at the first key", later)
    return Slot("mask", _hide(_right_may, -math.inf), tuple(faults))


def causal() -> Slot:
    """Make a causal mask."""

    def edge(shift: int) -> Step:
        return _put(
            "r", lambda s: torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(s.Sk - s.Sq + shift)
        )

    def corner(shift: int = 0) -> Callable[[SimpleNamespace], Tensor]:
        return lambda s: torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(shift)

    def right(s: SimpleNamespace) -> Tensor:
        return torch.ones(s.Sq, s.Sk, dtype=torch.bool).tril(s.Sk - s.Sq)

    return Slot(
        "mask",
        edge(0),
        (
            Fault("mask-inverted", "True = blocked", _put("r", lambda s: ~right(s))),
            Fault("mask-off-by-one", "a token does not see itself", edge(-1)),
            Fault("mask-off-by-one", "one token of the future", edge(1)),
            Fault("mask-inverted", "triu for tril", _put("r", lambda s: right(s).flip(0, 1))),
            Fault("causal-misaligned", "aligned at the first key", _put("r", corner())),
            Fault("mask-inverted", "triu at the first key", _put("r", lambda s: ~corner(-1)(s))),
            Fault("mask-inverted", "triu at the first key", _put("r", lambda s: ~corner()(s))),
            Fault("mask-off-by-one", "aligned at the first key, and off", _put("r", corner(1))),
            Fault("mask-off-by-one", "aligned at the first key, and off", _put("r", corner(-1))),
            Fault("mask-ignored", "all True", _put("r", lambda s: torch.ones_like(right(s)))),
            Fault("mask-wrong-axis", "keys down, queries across", _put("r", lambda s: right(s).mT)),
        ),
    )


def padding() -> Slot:
    """Make a padding mask."""

    def real(s: SimpleNamespace, shift: int = 0) -> Tensor:
        return torch.arange(s.S) < s.lengths[:, None] + shift

    def keys(t: Tensor) -> Tensor:
        return t[:, None, None, :]

    wrong = "mask-wrong-axis"
    return Slot(
        "mask",
        _put("r", lambda s: keys(real(s))),
        (
            Fault("mask-inverted", "True = padding", _put("r", lambda s: ~keys(real(s)))),
            Fault("mask-off-by-one", "one padded key", _put("r", lambda s: keys(real(s, 1)))),
            Fault("mask-off-by-one", "one key missing", _put("r", lambda s: keys(real(s, -1)))),
            Fault("mask-ignored", "all True", _put("r", lambda s: keys(real(s, s.S)))),
            Fault(wrong, "on the queries", _put("r", lambda s: real(s)[:, None, :, None])),
            Fault(wrong, "on the heads", _put("r", lambda s: real(s)[:, :, None, None])),
            Fault(wrong, "in front", _put("r", lambda s: real(s)[None, :, None, :])),
            Fault(wrong, "in front", _put("r", lambda s: real(s)[None, None])),
            Fault(wrong, "transposed", _put("r", lambda s: real(s).mT[:, None, None, :])),
            Fault(
                wrong,
                "queries and keys",
                _put("r", lambda s: real(s)[:, None, :, None] & keys(real(s))),
            ),
        ),
    )


# softmax ---------------------------------------------------------------------------------------


def _weigh(softmax: Callable[[Tensor], Tensor]) -> Step:
    def step(s: SimpleNamespace) -> None:
        s.weights = softmax(s.scores)
        for change in s.after:
            s.weights = change(s.weights)
        s.result = s.weights

    return step


def _rows(scores: Tensor, safe: bool) -> Tensor:
    weights = scores.softmax(-1)
    return (
        weights.masked_fill((scores == -math.inf).all(-1, keepdim=True), 0.0) if safe else weights
    )


def weigh(axes: int, safe: bool = False) -> Slot:
    """Turn scores into weights; `safe` gives zeros to a row that sees nothing."""
    faults = []
    fills = (lambda t: t.clamp(min=LOW), lambda t: t)  # a finite fill, -inf
    for i, low in enumerate(fills):
        for dim in range(axes - 1):
            soft = lambda t, dim=dim, low=low: low(t).softmax(dim)  # noqa: E731
            faults.append(Fault("softmax-wrong-dim", f"over dim {dim}", _weigh(soft), i > 0))
        for axis in range(axes - 1):
            soft = lambda t, a=axis, low=low: low(t).flatten(a).softmax(-1).reshape(t.shape)  # noqa: E731
            faults.append(Fault("softmax-wrong-dim", f"from dim {axis} on", _weigh(soft), True))
        folded = lambda t, low=low: low(t).flatten(0, -3).softmax(0).reshape(t.shape)  # noqa: E731
        faults.append(Fault("softmax-wrong-dim", "over batch and heads", _weigh(folded), True))
    faults.append(
        Fault("softmax-twice", "softmax of weights", _weigh(lambda t: _rows(t, safe).softmax(-1)))
    )
    for dim in range(axes - 1):
        both = lambda t, dim=dim: _rows(t, safe).softmax(dim)  # noqa: E731
        faults.append(Fault("softmax-twice", f"over -1, then over {dim}", _weigh(both), True))
    if safe:
        finite = lambda t: t.clamp(min=LOW).softmax(-1)  # noqa: E731
        faults.append(Fault("nan-row", "0 divided by 0", _weigh(lambda t: t.softmax(-1))))
        faults.append(Fault("nan-row", "uniform weights there", _weigh(finite)))
        gone = lambda t: t.softmax(-1).nan_to_num(1.0)  # noqa: E731
        faults.append(Fault("nan-row", "ones there", _weigh(gone)))
    return Slot("softmax", _weigh(lambda t: _rows(t, safe)), tuple(faults))


# sum, merge, out -------------------------------------------------------------------------------


def again() -> Slot:
    """Weights are given: a second softmax is one too many."""
    twice = _put("weights", lambda s: s.weights.softmax(-1))
    return Slot(
        "softmax",
        _put("weights", lambda s: s.weights),
        (Fault("softmax-twice", "softmax of weights", twice),),
    )


def mix(*others: str) -> Slot:
    """Mix the values; `others` are the tensors that could be taken for them."""
    faults = [
        Fault(
            "transpose-wrong-dims",
            "summed over the queries",
            _put("output", lambda s: s.weights.mT @ s.v),
        ),
        Fault("values-unused", "the weights are returned", _put("output", lambda s: s.weights)),
    ]
    faults += [
        Fault(
            "values-unused",
            f"weights @ {o}",
            _put("output", lambda s, o=o: s.weights @ getattr(s, o)),
        )
        for o in others
    ]
    return Slot("sum", _put("output", lambda s: s.weights @ s.v), tuple(faults))


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


def merge_one() -> Slot:
    """Put the heads of one tensor side by side."""
    faults = tuple(Fault(id_, how, _put("r", lambda s, f=f: f(s.x))) for id_, how, f in _MERGES)
    return Slot("merge", _put("r", lambda s: _right_merge(s.x)), faults)


def merge_last() -> Slot:
    """Put the heads of the output side by side."""

    def right(s: SimpleNamespace) -> Tensor:
        return s.output.flatten(2) if s.flat else _right_merge(s.output)

    faults = tuple(
        Fault(id_, how, _put("output", lambda s, f=f: f(s.output))) for id_, how, f in _MERGES
    )
    return Slot("merge", _put("output", right), faults)


def out() -> Slot:
    """Mix the heads by the output weight."""
    return Slot(
        "out",
        _put("output", lambda s: s.output @ s.wo.mT),
        (
            Fault("out-projection-missing", "wo is not used", _put("output", lambda s: s.output)),
            Fault("weight-transposed", "output @ wo", _put("output", lambda s: s.output @ s.wo)),
        ),
    )
