"""Say what was found: the mistake, where to look, the smallest input that shows it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import takewhile

from torch import Tensor

from ..tracer import trace
from .catalogue import BY_ID
from .form import COLLIDING, DISTINCT, Case, Exercise, copy, draw
from .running import Outcome, Runner, TimeUp
from .trial import BY_CHANCE, Finding, Trial, agrees, error_line
from .verdict import Counterexample, Verdict, differences

READABLE = 60  # a case of so few short numbers is preferred to one that is a little smaller
NUMBERS_ARE_RIGHT = frozenset(
    {"fixed-device", "backward-overwritten", "wrong-gradient"}
)  # no input shows it


def say(id_: str, function: Callable, more: str = "", look: str = "") -> Verdict:
    """Say it without a counterexample."""
    mistake = BY_ID[id_]
    line = line_of(function, mistake.words, mistake.repeats) if callable(function) else ""
    parts = [mistake.says, more, look or mistake.look, line]
    return Verdict(False, id_, "\n".join(part for part in parts if part))


def show(found: Finding, exercise: Exercise, runner: Runner) -> Verdict:
    """Say it with the smallest counterexample."""
    trial, more = found.trial, found.more
    if found.id not in NUMBERS_ARE_RIGHT and not trial.agrees:
        trial = _smaller(exercise, runner, trial)
    if found.id == "raises" and more in ("", BY_CHANCE):  # the words that the input shown brings
        more = "\n".join(filter(None, [error_line(trial.outcome.error), more]))
    said = say(found.id, runner.function, more, found.look)
    if found.id in NUMBERS_ARE_RIGHT:
        return said
    yours = trial.outcome.value if trial.outcome.error is None else error_line(trial.outcome.error)
    case = trial.case
    shown = Counterexample(
        case.sizes,
        case.inputs,
        yours,
        case.wanted,
        {**exercise.dims, "": exercise.returns},
        differences(yours, case.wanted),
    )
    notes = _where(exercise, runner, trial) if found.id == "raises" else ()
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
        if _failing(outcome) != _failing(trial.outcome):
            continue
        if outcome.tensor is None or not agrees(exercise, case, outcome.tensor):
            return Trial(case, outcome)
    return trial


def _failing(outcome: Outcome) -> str:
    """Tell errors apart whatever the sizes in their words."""
    return re.sub(r"\d+", "", error_line(outcome.error)) if outcome.tensor is None else ""


def _least(case: Case) -> int:
    return 3 + max(0, len(case.sizes) - 2)


def _bulk(case: Case) -> int:
    return (
        sum(v.numel() for v in case.inputs.values() if isinstance(v, Tensor)) + case.wanted.numel()
    )


def line_of(function, pattern: str, repeats: bool = False) -> str:
    """Return the line of the learner's source that fits the mistake's pattern, if only one does.

    Where the mistake is a repetition, the last one is what is too many.
    """
    try:
        lines, _ = inspect.getsourcelines(inspect.unwrap(function))
    except (OSError, TypeError):
        return ""
    fits = [
        f"Look at line {i}: {line.strip()}"
        for i, line in enumerate(lines[1:], 2)
        if pattern and re.search(pattern, line.split("#")[0])
    ]
    return fits[-1] if len(fits) == 1 or (fits and repeats) else ""
