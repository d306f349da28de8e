"""Faults of the projections: which weight, and which way round."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from torch import Tensor

from .engine import Fault, Slot, Step, put

OWN = "Each head has H rows of its own in every weight."


def _apply(x: Tensor, weight: Tensor, form: str = "right") -> Tensor:
    if form == "turned":
        return x @ weight
    if form == "twice":
        return x @ weight.mT @ weight.mT
    if form == "viewed":
        return x @ weight.reshape(weight.shape[1], weight.shape[0])
    return x @ weight.mT


def project_one() -> Slot:
    """Project by one weight."""
    return Slot(
        "project",
        put("result", lambda s: _apply(s.x, s.weight)),
        (
            Fault("weight-transposed", "x @ weight", put("r", lambda s: s.x @ s.weight)),
            Fault(
                "weight-transposed",
                "the weight viewed as (n_embd, H)",
                put("r", lambda s: _apply(s.x, s.weight, "viewed")),
            ),
            Fault(
                "weight-twice",
                "x @ weight.T @ weight.T",
                put("r", lambda s: _apply(s.x, s.weight, "twice")),
            ),
        ),
    )


def _qkv(roles: str = "qkv", forms: tuple[str, ...] = ("right",) * 3) -> Step:
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
    faults += [
        Fault("values-exchanged", f"q, k, v from w{r[0]}, w{r[1]}, w{r[2]}", _qkv(r), True)
        for r in ("qvk", "vkq", "vqk", "kvq")  # q and k alone: that is k @ q, in the scores
    ]
    twice = [w for w in itertools.product(("right", "twice"), repeat=3) if set(w) != {"right"}]
    faults += [
        Fault("weight-twice", f"weights {w}", _qkv(forms=w), rare=set(w) != {"twice"})
        for w in twice
    ]
    if heads:
        faults.append(
            Fault("projection-shared", "every head reads the first", _first_head_only, True, OWN)
        )
    return Slot("project", _qkv(), tuple(faults))


def out() -> Slot:
    """Mix the heads by the output weight."""
    return Slot(
        "out",
        put("output", lambda s: s.output @ s.wo.mT),
        (
            Fault("out-projection-missing", "wo is not used", put("output", lambda s: s.output)),
            Fault("weight-transposed", "output @ wo", put("output", lambda s: s.output @ s.wo)),
            Fault(
                "weight-twice",
                "wo is used twice",
                put("output", lambda s: s.output @ s.wo.mT @ s.wo.mT),
            ),
        ),
    )
