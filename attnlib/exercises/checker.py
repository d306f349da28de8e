"""One checker for all exercises: run, compare, diagnose, and show the smallest counterexample."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import takewhile

import torch
from torch import Tensor

from ..tracer import trace
from .catalogue import BY_ID
from .evidence import Trial, agrees, deep, explain, first_query_leaks, line_of
from .form import ALONE, COLLIDING, DISTINCT, Case, Exercise, copy, draw
from .running import Homes, Outcome, Runner, TimeUp, can_time, restored, untouched
from .verdict import Counterexample, Verdict, alike, differences

KINDS = ((DISTINCT, 0), (DISTINCT, 1), (DISTINCT, 2), (ALONE, 0), (COLLIDING, 0), (COLLIDING, 1))
LATE = "the backward pass was not checked: time was up, perhaps because the machine is busy"
READABLE = 60  # a case of so few short numbers is preferred to one that is a little smaller
LOWEST_ALLOWED = 9.9e3  # a fill of -1e4 lies below a score of minus this


def judge(
    exercise: Exercise, function: Callable, seed: int = 0, off: frozenset[str] = frozenset()
) -> Verdict:
    """Check a function against an exercise; never raises for what the function does."""
    if not callable(function):
        return _say("wrong-type", function, f"{type(function).__name__} is not a function.")
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
        if stop is not None:
            return stop
    for trial in trials:
        value = trial.outcome.tensor
        trial.agrees = value is not None and agrees(exercise, trial.case, value)
    random = _random(trials, runner)
    if random and "dropout-active" in exercise.ids and "dropout-active" not in off:
        return _show("dropout-active", exercise, runner, random)
    if not all(trial.agrees for trial in trials):
        id_, trial = explain(exercise, trials, runner, off)
        return _show(id_, exercise, runner, trial)
    return _passed(exercise, trials, runner, off)


def _unusable(
    exercise: Exercise, trial: Trial, runner: Runner, off: frozenset[str]
) -> Verdict | None:
    """Say at once what makes further calls useless."""
    outcome, function = trial.outcome, runner.function
    if isinstance(outcome.error, TimeUp) and "too-slow" not in off:
        return _say("too-slow", function, str(outcome.error) + ".")
    empty = isinstance(outcome.error, NotImplementedError) or outcome.value is ...
    if empty and "not-written" not in off:
        return _not_written(exercise, function)
    if outcome.changed and "writes-into-argument" not in off:
        named = ", ".join(outcome.changed)
        return _show("writes-into-argument", exercise, runner, trial, f"It is {named}.")
    if outcome.error is None and outcome.tensor is None and "wrong-type" not in off:
        return _say("wrong-type", function, f"It returns {_kind(outcome.value)}.")
    return None


def _not_written(exercise: Exercise, function: Callable) -> Verdict:
    return _say("not-written", function, f'hint("{exercise.id}") gives one step at a time.')


def _kind(value: object) -> str:
    if value is None:
        return "None"
    return f"a {type(value).__name__}"


def _random(trials: list[Trial], runner: Runner) -> Trial | None:
    """Return a trial whose repetition gives other numbers, unless the random state is put back."""
    for trial in trials:
        if trial.outcome.tensor is None:
            continue
        state = torch.get_rng_state()
        first, second = runner.call(trial.case.inputs), runner.call(trial.case.inputs)
        torch.set_rng_state(state)
        again = runner.call(trial.case.inputs)
        if not _alike(first, second) and _alike(first, again):
            return Trial(trial.case, first)
        return None
    return None


def _alike(a: Outcome, b: Outcome) -> bool:
    if a.tensor is None or b.tensor is None or a.tensor.shape != b.tensor.shape:
        return False
    return bool(alike(a.tensor, b.tensor, rtol=1e-6, atol=1e-7).all())


# after the values are right --------------------------------------------------------------------


def _passed(
    exercise: Exercise, trials: list[Trial], runner: Runner, off: frozenset[str]
) -> Verdict:
    """Look beyond the values: dtype, device, gradients, fills."""
    first = trials[0]
    value, notes = first.outcome.tensor, []
    asked_bool = exercise.returns.startswith("bool")
    fits = value.dtype == torch.bool if asked_bool else value.is_floating_point()
    if not fits and "wrong-dtype" not in off:
        return _show("wrong-dtype", exercise, runner, first, f"Yours is {value.dtype}.")
    if not asked_bool and value.dtype != torch.float32:
        notes.append(f"float32 came in, {value.dtype} went out".replace("torch.", ""))
    for look in (_fills, _device, _backward):
        found = look(exercise, first, runner, notes)
        if found is not None and found.diagnosis not in off:
            return found
    if exercise.id == "weights":
        _large_scores(first, runner, notes)
    return Verdict(
        True, None, f"{exercise.id}: right, at every size that was tried.", None, tuple(notes)
    )


def _fills(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Verdict | None:
    """Find a fill that a very low score undercuts."""
    if exercise.id == "mask-scores":
        if bool(trial.outcome.tensor.isfinite().all()):
            notes.append("the fill is finite: -inf hides a score whatever the others are")
        return None
    for depth in (LOWEST_ALLOWED, 1e13):
        case = deep(exercise, trial.case, depth)
        if case is None:
            return None
        outcome = runner.call(case.inputs)
        if outcome.tensor is None or not first_query_leaks(case, outcome.tensor):
            continue
        if depth == LOWEST_ALLOWED:
            return _show("mask-fill-not-low-enough", exercise, runner, Trial(case, outcome))
        notes.append("the fill is finite: low enough here, but -inf always is")
    return None


def _device(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Verdict | None:
    """Find a tensor made without a device that meets an input, or is itself the mask."""
    with Homes() as homes:
        outcome = runner.call(copy(trial.case.inputs), keep_graph=True)
    made = homes.made(outcome.value)
    if homes.found or (made == "factory" and exercise.returns.startswith("bool")):
        return _say("fixed-device", runner.function)
    if made:
        notes.append("the result stays on the CPU, whatever device the inputs are on")
    return None


def _backward(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Verdict | None:
    """Send gradients back; they must arrive, and be finite."""
    if exercise.returns.startswith("bool"):
        return None
    leaves = {
        k: v.clone().requires_grad_() if isinstance(v, Tensor) and v.is_floating_point() else v
        for k, v in trial.case.inputs.items()
    }
    given = {
        k: v * 1 if isinstance(v, Tensor) and v.requires_grad else v for k, v in leaves.items()
    }
    outcome = runner.call(given, keep_graph=True)
    value = outcome.tensor
    if isinstance(outcome.error, TimeUp):
        notes.append(LATE)
        return None
    if value is None:
        return _show("raises", exercise, runner, Trial(trial.case, outcome), _told(outcome.error))
    if not value.requires_grad:
        notes.append("no gradient flows: the result does not depend on the inputs as tensors")
        return None
    try:
        shaped = torch.linspace(0.5, 1.5, value.numel()).reshape(value.shape).to(value.dtype)
        finite = value[value.isfinite()]
        runner.run(lambda: (finite * shaped[value.isfinite()]).sum().backward())
    except TimeUp:
        notes.append(LATE)
        return None
    except RuntimeError as error:
        said = f"The backward pass does: {_told(error)}"
        return _show("raises", exercise, runner, Trial(trial.case, Outcome(error=error)), said)
    grads = [t.grad for t in leaves.values() if isinstance(t, Tensor) and t.grad is not None]
    if all(bool(g.isfinite().all()) for g in grads):
        return None
    if "nan-row" in exercise.ids:
        said = "The values are right, but the gradients are NaN."
        return _show("nan-row", exercise, runner, trial, said)
    notes.append("some gradients are not finite")
    return None


def _large_scores(trial: Trial, runner: Runner, notes: list[str]) -> None:
    large = {"scores": trial.case.inputs["scores"] * 100 + 500}
    value = runner.call(large).tensor
    if value is not None and not bool(value.isfinite().all()):
        notes.append("exp overflows for large scores: take the row's maximum away first")


# saying it -------------------------------------------------------------------------------------


def _told(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"


def _say(id_: str, function: Callable, more: str = "") -> Verdict:
    mistake = BY_ID[id_]
    line = line_of(function, mistake.words, mistake.repeats) if callable(function) else ""
    parts = [mistake.says, more, mistake.look, line]
    return Verdict(False, id_, "\n".join(part for part in parts if part))


def _show(id_: str, exercise: Exercise, runner: Runner, trial: Trial, more: str = "") -> Verdict:
    """Say it with the smallest counterexample."""
    if id_ == "raises" and not more:
        more = _told(trial.outcome.error)
    said = _say(id_, runner.function, more)
    trial = _smaller(exercise, runner, trial) if not trial.agrees else trial
    yours = trial.outcome.value if trial.outcome.error is None else _told(trial.outcome.error)
    case = trial.case
    shown = Counterexample(
        case.sizes,
        case.inputs,
        yours,
        case.wanted,
        {**exercise.dims, "": exercise.returns},
        differences(yours, case.wanted),
    )
    notes = _where(exercise, runner, trial) if id_ == "raises" else ()
    return Verdict(False, said.diagnosis, said.message, shown, notes)


def _where(exercise: Exercise, runner: Runner, trial: Trial) -> tuple[str, ...]:
    """Trace code that raised: the line and its operands in dims, without the remedy."""
    tensors = {n: v for n, v in trial.case.inputs.items() if isinstance(v, Tensor)}
    try:
        names = list(inspect.signature(runner.function).parameters)
        named = dict(zip(names, exercise.dims, strict=False))
        dims = {
            mine: exercise.dims[theirs].removeprefix("bool ").removeprefix("lengths ")
            for mine, theirs in named.items()
            if theirs in tensors
        }
        given = copy(trial.case.inputs).values()
        found = runner.run(lambda: trace(runner.function, *given, dims=dims, on_error="return"))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ()  # the error itself is told already
    return (explained(found.error.message),) if found.error else ()


def explained(message: str) -> str:
    """Keep of a trace's error the line, the operands and the clash: the remedy is the reader's.

    Which cell of a notebook it was depends on how often that was run.
    """
    remedy = ("try:", "torch:")
    lines = re.sub(r" at cell \d+, line", " at line", message).split("\n")
    return "\n".join(takewhile(lambda line: not line.strip().startswith(remedy), lines))


def _smaller(exercise: Exercise, runner: Runner, trial: Trial) -> Trial:
    """Try smaller sizes, the smallest first; keep the first at which yours differs the same way."""
    kind = trial.case.kind if trial.case.kind == COLLIDING else DISTINCT
    largest = _least(trial.case)
    cases = [draw(exercise, kind, seed, largest) for seed in range(6)]
    for case in sorted(cases, key=_bulk):
        if _bulk(case) > max(_bulk(trial.case), READABLE) or runner.left < 1.0:
            break
        outcome = runner.call(case.inputs)
        if isinstance(outcome.error, TimeUp):
            break
        if (outcome.tensor is None) != (trial.outcome.tensor is None):
            continue
        if outcome.tensor is None or not agrees(exercise, case, outcome.tensor):
            return Trial(case, outcome)
    return trial


def _least(case: Case) -> int:
    return 3 + max(0, len(case.sizes) - 2)


def _bulk(case: Case) -> int:
    return (
        sum(v.numel() for v in case.inputs.values() if isinstance(v, Tensor)) + case.wanted.numel()
    )


def _with_notes(verdict: Verdict, runner: Runner) -> Verdict:
    notes = list(verdict.notes)
    printed = runner.printed.getvalue().strip()
    if printed:
        first = printed.splitlines()[0][:80]
        notes.append(f"your function prints; its first line: {first}")
    if not can_time():
        notes.append("no timer is possible outside the main thread: an endless loop would not stop")
    return Verdict(
        verdict.passed, verdict.diagnosis, verdict.message, verdict.counterexample, tuple(notes)
    )
