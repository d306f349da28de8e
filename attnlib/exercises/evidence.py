"""Find the mistake by decisive evidence: the numbers of a planted fault, or a broken law."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

import torch
from torch import Tensor

from . import faults
from .form import DISTINCT, Case, Exercise, Inputs, copy, want
from .running import LastCall, Outcome, Runner
from .verdict import alike

_TURNING = {
    "transpose",
    "permute",
    "swapaxes",
    "swapdims",
    "T",
    "mT",
    "t",
    "t_",
    "movedim",
    "moveaxis",
}
ABSENT = frozenset({"scale-missing", "mask-ignored", "out-projection-missing"})  # not written yet
MORE = frozenset({"scale-unasked", "mask-unasked", "softmax-unasked"})  # written too early
_WEIGHING = {"softmax", "log_softmax"}


@dataclass
class Trial:
    """One case and what came of it."""

    case: Case
    outcome: Outcome
    agrees: bool = False

    @property
    def value(self) -> Tensor:
        """The tensor that came out, where one did."""
        assert isinstance(self.outcome.value, Tensor)
        return self.outcome.value


def agrees(exercise: Exercise, case: Case, value: Tensor) -> bool:
    """Whether a value is the wanted one; below every score any fill is as good as -inf."""
    if value.shape != case.wanted.shape or value.is_complex():
        return False
    same = alike(value, case.wanted, rtol=1e-4)
    if exercise.id == "mask-scores":
        low = value < case.inputs["scores"].min() * 10
        same |= low & (case.wanted == -torch.inf)
    return bool(same.all())


def explain(
    exercise: Exercise, trials: list[Trial], runner: Runner, off: frozenset[str] = frozenset()
) -> tuple[str, Trial]:
    """Return the id of the mistake and the trial that shows it; `off` are detectors left out."""
    returned = [t for t in trials if t.outcome.tensor is not None]
    wrong = [t for t in returned if not t.agrees]
    raised = [t for t in trials if t.outcome.error is not None]
    if wrong:
        chosen = _planted(exercise, wrong, returned, runner, off)
        if chosen:
            return chosen[0].id, wrong[0]
    for id_, found in (
        ("wrong-dtype", lambda: next((t for t in wrong if _other_dtype(t)), None)),
        ("mask-fill-not-low-enough", lambda: next((t for t in wrong if _fill(exercise, t)), None)),
        ("mask-fill-not-low-enough", lambda: _penalty(exercise, wrong)),
        ("batch-mixed", lambda: next((t for t in wrong if _mixes(t, runner)), None)),
        ("wrong-shape", lambda: next((t for t in wrong if not _fits(t)), None)),
        ("nan-row", lambda: next((t for t in wrong if _nan(t)), None)),
    ):
        if id_ in exercise.ids and id_ not in off:
            trial = found()
            if trial is not None:
                return id_, trial
    if raised and not wrong and "raises" not in off:
        id_ = _at_the_last_call(raised[0], runner)
        return (id_ if id_ in exercise.ids and id_ not in off else "raises"), raised[0]
    return "value-mismatch", (wrong or trials)[0]


# planted faults --------------------------------------------------------------------------------


def _planted(
    exercise: Exercise,
    wrong: list[Trial],
    returned: list[Trial],
    runner: Runner,
    off: frozenset[str],
) -> tuple[faults.Fault, ...] | None:
    """Return the smallest set of faults that gives the learner's numbers in every trial.

    One fault is tried, then two common ones, then one beside stages that are left out
    altogether or were not asked for.
    At last one that shows in every wrong trial: code may be right at some sizes.
    """

    def search(trials: list[Trial], most: int, rare: bool, free: frozenset[str] = frozenset()):
        wanted = lambda f: f.id not in off and (rare or not f.rare)  # noqa: E731
        found = [
            chosen
            for chosen, result in faults.walk(exercise.slots, _start(wrong[0]), most, wanted, free)
            if chosen
            and _equal(wrong[0].value, result)
            and all(_explains(exercise, chosen, trial) for trial in trials)
        ]
        rank = lambda chosen: _rank(exercise, chosen, wrong[0], runner)  # noqa: E731
        return min(found, key=rank, default=None)

    return (
        search(returned, 1, rare=True)
        or search(returned, 2, rare=False)
        or search(returned, 1, rare=True, free=ABSENT | MORE)
        or (search(wrong, 1, rare=True) if len(wrong) > 1 else None)
    )


def _start(trial: Trial):
    return faults.start(trial.case.inputs, trial.case.sizes)


def _equal(yours: Tensor, result: Tensor) -> bool:
    return yours.shape == result.shape and bool(alike(truth(yours, result), result).all())


def truth(yours: Tensor, result: Tensor) -> Tensor:
    """Read a mask that is not bool: one with very low numbers is additive, others are 0 and 1."""
    if result.dtype != torch.bool or yours.dtype == torch.bool:
        return yours
    return yours == 0 if bool((yours < -1000).any()) else yours.bool()


def _explains(exercise: Exercise, chosen: tuple[faults.Fault, ...], trial: Trial) -> bool:
    result = faults.replay(exercise.slots, _start(trial), chosen)
    return result is not None and _equal(trial.value, result)


def _rank(
    exercise: Exercise, chosen: tuple[faults.Fault, ...], trial: Trial, runner: Runner
) -> tuple:
    """Prefer what the arguments that took part do not speak against, then the earlier stage.

    Values from wk and weights @ k give the same numbers: who used wv did project them.
    """
    against = 0
    if chosen[0].id == "projection-shared" and "from" in chosen[0].how:
        unused = {"wq", "wk", "wv"} - set(re.findall(r"w[qkv]", chosen[0].how))
        against = len(unused & _touched(trial, runner))
    stages = [i for i, slot in enumerate(exercise.slots) for f in chosen if f in slot.faults]
    return len(chosen), against, stages


def _touched(trial: Trial, runner: Runner) -> set[str]:
    given = copy(trial.case.inputs)
    with LastCall() as last:
        runner.call(given, keep_graph=True)
    return {name for name, value in given.items() if id(value) in last.touched}


PENALTIES = tuple(-(2.0**power) for power in range(-2, 6))


def _penalty(exercise: Exercise, wrong: list[Trial]) -> Trial | None:
    """Find the number that hides too little: written over hidden scores, or added to them.

    One number must explain every trial, and much better than the right answer does.
    """
    at = next((i for i, slot in enumerate(exercise.slots) if slot.stage == "mask"), None)
    if at is None or not wrong or not all(_fits(trial) for trial in wrong):
        return None

    def off(step: faults.Step, trial: Trial) -> float:
        slots = (*exercise.slots[:at], faults.Slot("mask", step, ()), *exercise.slots[at + 1 :])
        result = faults.replay(slots, _start(trial), ())
        gap = torch.inf if result is None else float((result - trial.value).abs().max())
        return gap if gap == gap else torch.inf

    for form in (faults.fill, faults.penalty):
        gap = lambda number, form=form: off(form(number), wrong[0])  # noqa: E731
        best = min(PENALTIES, key=gap)
        for halving in range(1, 24):
            width = best * 0.5**halving
            best = min((best, best - width, best + width), key=gap)
        rest = [off(form(best), trial) / off(faults.fill(-torch.inf), trial) for trial in wrong]
        if all(part < 0.01 for part in rest):
            return wrong[0]
    return None


# broken laws -----------------------------------------------------------------------------------


def _other_dtype(trial: Trial) -> bool:
    """Right up to the dtype: a mask of numbers, whole numbers, half precision."""
    value, wanted = trial.value, trial.case.wanted
    if value.shape != wanted.shape:
        return False
    if wanted.dtype == torch.bool:
        return value.dtype != torch.bool and torch.equal(truth(value, wanted), wanted)
    if value.is_complex() or not value.is_floating_point():
        return True
    return value.dtype.itemsize == 2 and bool(alike(value, wanted, rtol=0.05, atol=0.05).all())


def _fits(trial: Trial) -> bool:
    return trial.value.shape == trial.case.wanted.shape


def _fill(exercise: Exercise, trial: Trial) -> bool:
    """The kept scores are right, the hidden ones are not low enough."""
    if exercise.id != "mask-scores" or not _fits(trial):
        return False
    may = trial.case.inputs["may_attend"].expand(trial.case.wanted.shape)
    kept = alike(trial.value, trial.case.wanted)[may]
    return bool(kept.all()) and not bool(trial.value.isnan().any())


def _mixes(trial: Trial, runner: Runner) -> bool:
    """Change the first, then the last sequence of the batch: does another one move?"""
    batch = trial.case.sizes.get("batch", 1)
    value = trial.value
    if batch < 2 or value.shape != trial.case.wanted.shape:
        return False
    return any(_moves_another(trial, changed, runner) for changed in (batch - 1, 0))


def _moves_another(trial: Trial, changed: int, runner: Runner) -> bool:
    other = copy(trial.case.inputs)
    for tensor in other.values():
        if isinstance(tensor, Tensor) and tensor.ndim > 2 and tensor.is_floating_point():
            tensor[changed] = tensor[changed].flip(-1) * 0.5
    again, value = runner.call(other).tensor, trial.value
    if again is None or again.shape != value.shape:
        return False
    others = [i for i in range(len(value)) if i != changed]
    return not bool(alike(again[others], value[others]).all())


def _nan(trial: Trial) -> bool:
    value = trial.value
    return bool((value.isnan() & ~trial.case.wanted.isnan()).any())


def _at_the_last_call(trial: Trial, runner: Runner) -> str:
    """Where the code raised in a transpose or a softmax with a dim that is not there."""
    with LastCall() as last:
        error = runner.call(copy(trial.case.inputs), keep_graph=True).error
    if isinstance(error, IndexError | RuntimeError) and last.name in _TURNING:
        return "transpose-wrong-dims"
    if isinstance(error, IndexError) and last.name in _WEIGHING:
        return "softmax-wrong-dim"
    return "raises"


# fills -----------------------------------------------------------------------------------------


def deep(exercise: Exercise, case: Case, depth: int | float) -> Case | None:
    """Return the case with a first query whose own score is -depth: a higher fill leaks."""
    if case.kind != DISTINCT or exercise.id not in {"head", "multi-head", "cached-step"}:
        return None
    inputs = copy(case.inputs)
    (_deep_cache if exercise.id == "cached-step" else _deep_weights)(inputs, case.sizes, depth)
    return Case(case.kind, case.sizes, inputs, want(exercise, inputs))


def _deep_weights(inputs: Inputs, sizes: dict, depth: int | float) -> None:
    x, wq = inputs["x"], inputs["wq"]
    x[:] = x[:1]
    x[:, 1:] *= 1e-3
    by_head = (wq @ x[0, 0]).reshape(-1, sizes["H"])
    gain = (depth * sizes["H"] ** 0.5) ** 0.5 / by_head.norm(dim=-1)
    wq *= gain.repeat_interleave(sizes["H"])[:, None]
    inputs["wk"] = -wq


def _deep_cache(inputs: Inputs, sizes: dict, depth: int | float) -> None:
    q, k = inputs["q"], inputs["k_cache"]
    sees = sizes["Sk"] - sizes["Sq"] + 1
    first = q[:, :, :1]
    k *= 1e-3
    k[:, :, :sees] = -first * depth * sizes["H"] ** 0.5 / first.square().sum(-1, keepdim=True)


def first_query_leaks(case: Case, value: Tensor) -> bool:
    """Whether the first query of a deep case gets something from keys that it may not see."""
    at = value.ndim - 2
    yours, wanted = value.select(at, 0), case.wanted.select(at, 0)
    if not bool(yours.isfinite().all()):
        return False  # a mask after the softmax, made 1 in sum again: right, but not that far down
    return not bool(alike(yours, wanted, rtol=1e-2, atol=1e-2).all())


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
