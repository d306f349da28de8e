"""One checker for all exercises: run, compare, diagnose, and show the smallest counterexample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from .beyond import beyond
from .evidence import explain
from .failing import before_all, failed
from .form import ALONE, COLLIDING, DISTINCT, Exercise, copy, draw
from .running import Outcome, Runner, TimeUp, can_time, restored, untouched
from .telling import say, show
from .trial import Finding, Trial, agrees
from .verdict import Verdict, alike
from .watching import Draws

KINDS = ((DISTINCT, 0), (DISTINCT, 1), (DISTINCT, 2), (ALONE, 0), (COLLIDING, 0), (COLLIDING, 1))


def judge(
    exercise: Exercise, function: Callable, seed: int = 0, off: frozenset[str] = frozenset()
) -> Verdict:
    """Check a function against an exercise; never raises for what the function does."""
    if not callable(function):
        return say("wrong-type", function, f"{type(function).__name__} is not a function.")
    if untouched(function) and "not-written" not in off:
        return _not_written(exercise, function)
    runner = Runner(function)
    with restored():
        torch.manual_seed(seed)  # code that draws at random gets the same verdict every time
        verdict = _judge(exercise, runner, seed, off)
    return _with_notes(verdict, runner)


def _judge(exercise: Exercise, runner: Runner, seed: int, off: frozenset[str]) -> Verdict:
    trials = []
    for kind, number in KINDS:
        case = draw(exercise, kind, 10 * seed + number)
        trials.append(Trial(case, runner.call(case.inputs)))
        stop = _unusable(exercise, trials[-1], runner, off)
        if stop is not None and (kind == DISTINCT or not failed(trials)):
            return stop
        if isinstance(trials[-1].outcome.error, TimeUp):
            break
    for trial in trials:
        value = trial.outcome.tensor
        trial.agrees = value is not None and agrees(exercise, trial.case, value)
    notes: list[str] = []
    found = before_all(exercise, trials, runner, off)
    found = found or _random(exercise, trials, runner, off)
    if found is None and not all(trial.agrees for trial in trials):
        found = explain(exercise, trials, runner, off)
    if found is None:
        found = beyond(exercise, trials[0], runner, notes, off)
    if found is not None:
        return show(found, exercise, runner)
    said = f"{exercise.id}: right, at every size that was tried."
    return Verdict(True, None, said, None, tuple(notes))


def _unusable(
    exercise: Exercise, trial: Trial, runner: Runner, off: frozenset[str]
) -> Verdict | None:
    """Say at once what makes further calls useless."""
    outcome, function = trial.outcome, runner.function
    if isinstance(outcome.error, TimeUp) and "too-slow" not in off:
        return say("too-slow", function, str(outcome.error) + ".")
    empty = isinstance(outcome.error, NotImplementedError) or outcome.value is ...
    if empty and "not-written" not in off:
        return _not_written(exercise, function)
    if outcome.changed and "writes-into-argument" not in off:
        named = ", ".join(outcome.changed)
        found = Finding("writes-into-argument", trial, f"It is {named}.")
        return show(found, exercise, runner)
    if outcome.error is None and outcome.tensor is None and "wrong-type" not in off:
        return say("wrong-type", function, f"It returns {_kind(outcome.value)}.")
    return None


def _not_written(exercise: Exercise, function: Callable) -> Verdict:
    steps = f'hint("{exercise.id}") is a first step, hint("{exercise.id}", 2) the next.'
    return say("not-written", function, steps)


def _kind(value: object) -> str:
    if value is None:
        return "None"
    return f"a {type(value).__name__}"


def _random(
    exercise: Exercise, trials: list[Trial], runner: Runner, off: frozenset[str]
) -> Finding | None:
    """Find numbers that a repetition changes, unless the random state is put back."""
    trial = next((trial for trial in trials if trial.outcome.tensor is not None), None)
    if trial is None:
        return None
    state = torch.get_rng_state()
    first, second = runner.call(trial.case.inputs), runner.call(trial.case.inputs)
    torch.set_rng_state(state)
    with Draws() as draws:
        again = runner.call(copy(trial.case.inputs), keep_graph=True)
    if _alike(first, second) or not _alike(first, again):
        return None
    ids = ("dropout-active", "not-deterministic") if draws.dropped else ("not-deterministic",)
    id_ = next((id_ for id_ in ids if id_ in exercise.ids and id_ not in off), None)
    return Finding(id_, Trial(trial.case, first)) if id_ else None


def _alike(a: Outcome, b: Outcome) -> bool:
    if a.tensor is None or b.tensor is None or a.tensor.shape != b.tensor.shape:
        return False
    return bool(alike(a.tensor, b.tensor, rtol=1e-6, atol=1e-7).all())


def _with_notes(verdict: Verdict, runner: Runner) -> Verdict:
    notes = list(verdict.notes)
    printed = runner.printed.getvalue().strip()
    if printed:
        first = printed.splitlines()[0][:80]
        notes.append(f"your function prints; its first line: {first}")
    if not can_time():
        notes.append("no timer is possible outside the main thread: an endless loop would not stop")
    return replace(verdict, notes=tuple(notes))
