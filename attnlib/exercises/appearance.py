"""How a mistake looks: to the checker, in a trace, and to the laws of a whole module."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..tracer import Trace, trace
from . import faults
from .catalogue import BY_ID
from .checker import explained, judge
from .form import COLLIDING, DISTINCT, Exercise, copy, draw
from .heads import EXERCISES, multi_head
from .running import Runner
from .verdict import Verdict
from .verifier import Report, verify

_HEADS = EXERCISES[-1]  # multi-head: every stage but the padding is in it
NOTHING = "nothing"
Compute = Callable[["Planted", Tensor], Any]
SIZES = {DISTINCT: "where all sizes differ", COLLIDING: "where sizes agree"}


@dataclass(frozen=True, repr=False)
class Appearance:
    """What each reports of one mistake; `traced` has a line for each kind of sizes."""

    id: str
    verdict: Verdict
    traced: dict[str, str]
    broken: tuple[str, ...] | None  # laws, None where no module can have the mistake

    @property
    def reporters(self) -> tuple[str, ...]:
        """Who reports it: check, trace, verify."""
        seen = {
            "check": self.verdict.diagnosis == self.id,
            "trace": any(text != NOTHING for text in self.traced.values()),
            "verify": bool(self.broken),
        }
        return tuple(name for name, sees in seen.items() if sees)

    def rows(self) -> list[tuple[str, str]]:
        """Who says what, a line each."""
        first = self.verdict.message.split("\n")[0]
        rows = [("check", f"{self.verdict.diagnosis}: {first}")]
        one = len({text.split(" · ")[0] for text in self.traced.values()}) == 1
        for kind, text in [*self.traced.items()][: 1 if one else None]:
            rows.append(("trace" if one else f"trace, {SIZES[kind]}", text))
        if self.broken is not None:
            said = ", ".join(self.broken) if self.broken else NOTHING
            rows.append(("verify, laws broken by a module with it", said))
        return rows

    def __repr__(self) -> str:
        return "\n".join(f"{who}: {said}" for who, said in self.rows()) + f"\n{self.verdict}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{html.escape(who)}</th><td>{html.escape(said)}</td></tr>"
            for who, said in self.rows()
        )
        fold = "<details><summary>The whole verdict</summary>{}</details>"
        verdict = fold.format(self.verdict._repr_html_())
        return f'<div class="attn-appearance"><table>{rows}</table>{verdict}</div>'


def appear(id: str, function: Callable) -> Appearance:
    """Run a function with a mistake before all who could notice it.

    Example:
        >>> appear("transpose-missing", lambda q, k: q @ k).reporters
        ('check', 'trace', 'verify')
    """
    exercise = _exercise(BY_ID[id].exercise)
    verdict = judge(exercise, function)
    stuck = verdict.diagnosis == "too-slow"
    traced = {} if stuck else {kind: _traced(exercise, function, kind) for kind in SIZES}
    module = _module(id)
    report = verify(module, n_heads=3, causal=True) if module else None
    return Appearance(id, verdict, traced, _broken(report))


def _exercise(id: str) -> Exercise:
    from . import exercises

    return next(exercise for exercise in exercises() if exercise.id == id)


def _broken(report: Report | None) -> tuple[str, ...] | None:
    if report is None:
        return None
    return tuple(law.name for law in report.laws if law.passed is False)


# --- the trace ----------------------------------------------------------------------------------


def _traced(exercise: Exercise, function: Callable, kind: str) -> str:
    """Say in one line what a trace reports: an error, a warning, or nothing."""
    case = draw(exercise, kind, 0)
    given = copy(case.inputs)
    dims = {
        name: form.removeprefix("bool ").removeprefix("lengths ")
        for name, form in exercise.dims.items()
        if isinstance(given[name], Tensor)
    }
    mine = function.__code__.co_varnames[: function.__code__.co_argcount]
    named = dict(zip(exercise.dims, mine, strict=False))
    dims = {named[name]: form for name, form in dims.items() if name in named}
    runner = Runner(function)
    result = runner.run(lambda: trace(function, *given.values(), dims=dims, on_error="return"))
    return _said(result)


def _said(result: Trace) -> str:
    if result.error is not None:
        first, *lines = explained(result.error.message).split("\n")
        carets = [i for i, line in enumerate(lines) if line and not line.strip(" ^")]
        clash = [line.strip() for line in lines[carets[0] + 1 if carets else 0 :]]
        return f"error: {' · '.join([first, *clash])}"  # the line itself stands in the example
    warned = [f"warning: {w.message}" for w in result.warnings]
    return warned[0] if warned else NOTHING


# --- a module with the mistake ------------------------------------------------------------------


class Planted(nn.Module):
    """Multi-head attention as in the exercise, computed with one fault switched on."""

    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.n_embd, self.n_heads, self.causal = 12, 3, True
        self.query, self.key, self.value, self.out = (
            nn.Linear(12, 12, bias=False) for _ in range(4)
        )
        self.compute = compute

    def weights(self) -> dict[str, Tensor]:
        """The four weights under the names of the exercise."""
        named = {"wq": self.query, "wk": self.key, "wv": self.value, "wo": self.out}
        return {name: layer.weight for name, layer in named.items()}

    def forward(self, x: Tensor) -> Any:
        """Compute as it was told to."""
        return self.compute(self, x)


def _right(module: Planted, x: Tensor) -> Tensor:
    return multi_head(x, **module.weights(), n_heads=module.n_heads)


# Mistakes that are no wrong stage: what they would be in a module that is right otherwise.
_AROUND: dict[str, Compute] = {
    "raises": lambda module, x: x @ x,
    "wrong-type": lambda module, x: None,
    "wrong-shape": lambda module, x: _right(module, x).flatten(0, 1),
    "writes-into-argument": lambda module, x: _right(module, x.mul_(0.5)),
    "fixed-device": lambda module, x: _right(module, x) + torch.zeros(x.shape[1], 1),
    "dropout-active": lambda module, x: F.dropout(_right(module, x), 0.5),
    "batch-mixed": lambda module, x: _right(module, x - x.mean(0)),
}


def _module(id: str) -> nn.Module | None:
    """Return a module with this mistake alone, or None where a module has no such place."""
    if id in _AROUND:
        return Planted(_AROUND[id])
    planted = [fault for slot in _HEADS.slots for fault in slot.faults if fault.id == id]
    if not planted:
        return None

    def compute(module: Planted, x: Tensor) -> Tensor:
        sizes = {"batch": x.shape[0], "S": x.shape[1], "n_embd": x.shape[2], "H": 4, "heads": 3}
        inputs = {"x": x, **module.weights(), "n_heads": 3}
        result = faults.replay(_HEADS.slots, faults.start(inputs, sizes), (planted[0],))
        if result is None:
            raise RuntimeError(f"{id} does not run at these sizes")
        return result

    return Planted(compute)
