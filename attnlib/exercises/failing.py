"""Errors: which one comes before every name, and what brought it about."""

from __future__ import annotations

from torch import Tensor

from . import faults
from .faults import Fault
from .form import COLLIDING, DISTINCT, Exercise, copy
from .keepdim import Reductions, advice
from .planted import beginning, planted
from .running import Runner
from .trial import BY_CHANCE, Finding, Trial
from .watching import LastCall

_TURNING = frozenset(
    {
        *("transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis"),
        *("T", "mT", "t", "t_"),
    }
)
WEIGHING = frozenset({"softmax", "log_softmax", "special_softmax", "special_log_softmax"})


def failed(trials: list[Trial]) -> list[Trial]:
    """Return the trials that raised at sizes that all differ."""
    return [t for t in trials if t.case.kind == DISTINCT and t.outcome.error is not None]


def before_all(
    exercise: Exercise, trials: list[Trial], runner: Runner, off: frozenset[str]
) -> Finding | None:
    """Return the failure at sizes that all differ, before what shows at special sizes alone.

    Numbers of sizes that agree are those of code that runs by chance there. Only a planted fault
    that explains them and the failure too is named in its place.
    """
    fails = failed(trials)
    returned = [t for t in trials if t.outcome.tensor is not None]
    wrong = [t for t in returned if not t.agrees]
    if not fails or any(t.case.kind == DISTINCT for t in wrong) or "raises" in off:
        return None
    chosen = planted(exercise, wrong, returned, runner, off) if wrong else None
    if chosen and all(_brings_about(exercise, chosen, trial) for trial in fails):
        told = chosen[0].how if chosen[0].id == "value-mismatch" else ""
        return Finding(chosen[0].id, wrong[0], told, look=chosen[0].look)
    found = failure(fails[0], runner, frozenset(exercise.ids) - off)
    always = len(fails) == sum(t.case.kind == DISTINCT for t in trials)
    if found.id == "raises" and always and _runs(trials):
        return Finding(found.id, found.trial, BY_CHANCE, found.look)
    return found


def _runs(trials: list[Trial]) -> bool:
    """Whether it returned wherever all sizes agree."""
    outcomes = [t.outcome for t in trials if t.case.kind == COLLIDING]
    return all(outcome.error is None for outcome in outcomes) and bool(outcomes)


def _brings_about(exercise: Exercise, chosen: tuple[Fault, ...], trial: Trial) -> bool:
    """Whether the faults raise at these sizes, or give some tensor a shape that can raise later."""
    yours, right = (beginning(trial) for _ in range(2))
    if faults.replay(exercise.slots, yours, chosen) is None:
        return True
    faults.replay(exercise.slots, right, ())
    shapes = [
        {name: value.shape for name, value in vars(state).items() if isinstance(value, Tensor)}
        for state in (yours, right)
    ]
    return shapes[0] != shapes[1]


def failure(trial: Trial, runner: Runner, known: frozenset[str]) -> Finding:
    """Name what raised, where the call that raised tells it."""
    id_ = _at_the_last_call(trial, runner)
    if id_ != "raises" and id_ in known:
        return Finding(id_, trial)
    with Reductions() as watched:
        runner.call(copy(trial.case.inputs), keep_graph=True)
    return Finding("raises", trial, look=advice(watched, trial.case.sizes))


def _at_the_last_call(trial: Trial, runner: Runner) -> str:
    """Where the code raised in a transpose or a softmax with a dim that is not there."""
    with LastCall() as last:
        error = runner.call(copy(trial.case.inputs), keep_graph=True).error
    if isinstance(error, IndexError | RuntimeError) and last.name in _TURNING:
        return "transpose-wrong-dims"
    if isinstance(error, IndexError) and last.name in WEIGHING:
        return "softmax-wrong-dim"
    return "raises"
