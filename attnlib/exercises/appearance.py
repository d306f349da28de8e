"""How a mistake looks: to the checker, in a trace, and to the laws of a whole module."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ..tracer import Trace, trace
from ..tracer.plain import readable
from . import exercises
from .assembled import assembled
from .catalogue import BY_ID
from .checker import judge
from .form import COLLIDING, DISTINCT, Exercise, copy, draw
from .running import Runner
from .telling import explained
from .verdict import Verdict
from .verifier import verify

NOTHING, UNASKED = "nothing", "–"
SIZES = {DISTINCT: "where all sizes differ", COLLIDING: "where sizes agree"}


@dataclass(frozen=True, repr=False)
class Appearance:
    """What each reports of one mistake; `traced` has a line for each kind of sizes."""

    id: str
    verdict: Verdict
    traced: dict[str, str]
    broken: tuple[str, ...] | None  # laws; None where the code does not come back

    @property
    def marks(self) -> dict[str, str]:
        """What check, trace and verify report, in a word or two each."""
        kinds = dict.fromkeys(text.split(":")[0] for text in self.traced.values())
        kinds.pop(NOTHING, None)
        return {
            "check": "yes" if self.verdict.diagnosis == self.id else NOTHING,
            "trace": (", ".join(kinds) or NOTHING) if self.traced else UNASKED,
            "verify": UNASKED if self.broken is None else ", ".join(self.broken) or NOTHING,
        }

    @property
    def reporters(self) -> tuple[str, ...]:
        """Who reports it: check, trace, verify."""
        return tuple(who for who, said in self.marks.items() if said not in (NOTHING, UNASKED))

    def rows(self) -> list[tuple[str, str]]:
        """Who says what, a line each."""
        first = self.verdict.message.split("\n")[0]
        rows = [("check", f"{self.verdict.diagnosis}: {first}")]
        one = len({text.split(" · ")[0] for text in self.traced.values()}) == 1
        for kind, text in [*self.traced.items()][: 1 if one else None]:
            rows.append(("trace" if one else f"trace, {SIZES[kind]}", text))
        if self.broken is not None:
            rows.append(("verify, laws broken by a module with this code", self.marks["verify"]))
        return rows

    def __repr__(self) -> str:
        lines = [*(f"{who}: {said}" for who, said in self.rows()), str(self.verdict)]
        return readable("\n".join(lines))

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
    return Appearance(id, verdict, traced, None if stuck else _broken(exercise, function))


def _exercise(id: str) -> Exercise:
    return next(exercise for exercise in exercises() if exercise.id == id)


def _broken(exercise: Exercise, function: Callable) -> tuple[str, ...]:
    """Run this very code in a module that is right otherwise; name the laws that it breaks."""
    module = assembled(exercise.id, function)
    report = verify(module, n_heads=module.n_heads, causal=module.causal)
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
