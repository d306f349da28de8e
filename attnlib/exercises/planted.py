"""Find the planted faults whose numbers are the learner's."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from . import faults
from .form import Exercise, copy
from .running import Runner
from .trial import Trial
from .verdict import alike
from .watching import LastCall

ABSENT = frozenset({"scale-missing", "mask-ignored", "out-projection-missing"})  # not written yet
UNTURNED = frozenset({"weight-transposed"})
MORE = frozenset({"scale-unasked", "mask-unasked", "softmax-unasked"})  # written too early


def planted(
    exercise: Exercise,
    wrong: list[Trial],
    returned: list[Trial],
    runner: Runner,
    off: frozenset[str],
) -> tuple[faults.Fault, ...] | None:
    """Return the smallest set of faults that gives the learner's numbers in every trial.

    The first of it is the one to be named; where several sets of one size give the same numbers,
    it is in all of them, and where none is, the fault is a value-mismatch that says which they are.

    One fault is tried, then two common ones, then one beside stages that are left out
    altogether or were not asked for, then one beside weights that nobody turned: who forgets
    that once forgets it in every product.
    At last one that shows in every wrong trial: code may be right at some sizes.
    """

    def search(
        trials: list[Trial], most: int, rare: bool, free: frozenset[str] = frozenset()
    ) -> tuple[faults.Fault, ...] | None:
        wanted = lambda f: f.id not in off and (rare or not f.rare)  # noqa: E731
        found = [
            chosen
            for chosen, result in faults.walk(
                exercise.slots, beginning(wrong[0]), most, wanted, free
            )
            if chosen
            and not bool(result.isnan().all())  # NaN throughout is evidence of nothing
            and _equal(wrong[0].value, result)
            and all(_explains(exercise, chosen, trial) for trial in trials)
        ]
        rank = lambda chosen: _rank(exercise, chosen, wrong[0], runner)  # noqa: E731
        return _certain(sorted(found, key=rank))

    return (
        search(returned, 1, rare=True)
        or search(returned, 2, rare=False)
        or search(returned, 1, rare=True, free=ABSENT | MORE)
        or search(returned, 1, rare=True, free=UNTURNED)
        or (search(wrong, 1, rare=True) if len(wrong) > 1 else None)
    )


def _certain(found: list[tuple[faults.Fault, ...]]) -> tuple[faults.Fault, ...] | None:
    """Put first what is in every set of the smallest size: only of that it is sure that it is so.

    Of single faults with the same numbers the first is taken: each says what the numbers are.
    """
    least = [chosen for chosen in found if len(chosen) == len(found[0])]
    if not least or len(least[0]) == 1:
        return least[0] if least else None
    ids = [[fault.id for fault in chosen] for chosen in least]
    sure = [fault for fault in least[0] if all(fault.id in other for other in ids)]
    if sure:
        return sure[0], *(fault for fault in least[0] if fault is not sure[0])
    ways = ", or ".join(dict.fromkeys(" with ".join(other) for other in ids))
    return (faults.Fault("value-mismatch", f"Several at once do: {ways}.", lambda state: None),)


def beginning(trial: Trial):
    return faults.start(trial.case.inputs, trial.case.sizes)


def _equal(yours: Tensor, result: Tensor) -> bool:
    return yours.shape == result.shape and bool(alike(truth(yours, result), result).all())


def truth(yours: Tensor, result: Tensor) -> Tensor:
    """Read a mask that is not bool: one with very low numbers is additive, others are 0 and 1."""
    if result.dtype != torch.bool or yours.dtype == torch.bool:
        return yours
    return yours == 0 if bool((yours < -1000).any()) else yours.bool()


def _explains(exercise: Exercise, chosen: tuple[faults.Fault, ...], trial: Trial) -> bool:
    result = faults.replay(exercise.slots, beginning(trial), chosen)
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


def penalty(exercise: Exercise, wrong: list[Trial]) -> Trial | None:
    """Find the number that hides too little: written over hidden scores, or added to them.

    One number must explain every trial, and much better than the right answer does.
    """
    at = next((i for i, slot in enumerate(exercise.slots) if slot.stage == "mask"), None)
    if at is None or not wrong or not all(trial.fits for trial in wrong):
        return None

    def off(step: faults.Step, trial: Trial) -> float:
        slots = (*exercise.slots[:at], faults.Slot("mask", step, ()), *exercise.slots[at + 1 :])
        result = faults.replay(slots, beginning(trial), ())
        gap = torch.inf if result is None else float((result - trial.value).abs().max())
        return gap if gap == gap else torch.inf

    for form in (faults.fill, faults.penalty):
        gap = lambda number, form=form: off(form(number), wrong[0])  # noqa: E731
        best = min(PENALTIES, key=gap)
        for halving in range(1, 24):
            width = best * 0.5**halving
            best = min((best, best - width, best + width), key=gap)
        gaps = [(off(form(best), trial), off(faults.fill(-torch.inf), trial)) for trial in wrong]
        if all(gap < 0.01 * right < torch.inf for gap, right in gaps):
            return wrong[0]
    return None
