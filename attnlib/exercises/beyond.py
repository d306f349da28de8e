"""Look beyond the values, once these are right: dtype, fills, low scores, device, gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from .evidence import epsilon
from .faint import faint
from .form import DISTINCT, Case, Exercise, Inputs, copy, draw, want
from .gradients import backward
from .running import Runner
from .trial import FINITE, LOWEST_ALLOWED, Finding, Trial, agrees
from .verdict import alike
from .watching import Homes

LOW, LOWER = -25.0, -60.0  # scores whose exponentials, 1e-11 and 9e-27, float32 still holds

APART = 200.0  # exp(-200) is 0 in float32
ROWS_TOGETHER = (
    f"a row of scores {APART:g} below another gives NaN, for exp underflows there: rows must not "
    "depend on one another, so take away each row's own maximum"
)


def beyond(
    exercise: Exercise, trial: Trial, runner: Runner, notes: list[str], off: frozenset[str]
) -> Finding | None:
    """Return what is wrong in code whose values are right; add what could bite to the notes."""
    for look in (_dtype, _low_scores, faint, _fills, _device, backward):
        found = look(exercise, trial, runner, notes)
        if found is not None and found.id not in off:
            return found
    _large_scores(exercise, trial, runner, notes)
    return None


def _dtype(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Finding | None:
    wanted = torch.bool if exercise.returns.startswith("bool") else torch.float32
    if trial.value.dtype != wanted:
        return Finding("wrong-dtype", trial, f"Yours is {trial.value.dtype}, not {wanted}.")
    return None


def _low_scores(
    exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]
) -> Finding | None:
    """Find a number beside the sum of a row: it shows where all scores of the row are low."""
    if exercise.id not in {"weights", "safe-weights"}:
        return None
    drawn = draw(exercise, DISTINCT, 0, largest=4)
    for depth in (LOW, LOWER):
        inputs = {"scores": drawn.inputs["scores"] + depth}
        case = Case(drawn.kind, drawn.sizes, inputs, want(exercise, inputs))
        low = Trial(case, runner.call(case.inputs))
        if low.outcome.tensor is None or agrees(exercise, case, low.value):
            continue
        if depth == LOW:
            return Finding("softmax-epsilon" if epsilon([low]) else "value-mismatch", low)
        notes.append(
            f"a row of scores about {depth:g} gets wrong weights: take its maximum away first"
        )
    return None


def _fills(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Finding | None:
    """Find a fill that a very low score undercuts."""
    if exercise.id == "mask-scores":
        if bool(trial.value.isfinite().all()):
            notes.append(FINITE)
        return None
    for depth in (LOWEST_ALLOWED, 1e13):
        case = _deep(exercise, trial.case, depth)
        if case is None:
            return None
        outcome = runner.call(case.inputs)
        if outcome.tensor is None or not _first_query_differs(case, outcome.tensor):
            continue
        if not _first_query_leaks(exercise, case, outcome.tensor, runner):
            notes.append("where all that a query may see scores very low, its output is wrong")
            return None
        if depth == LOWEST_ALLOWED:
            return Finding("mask-fill-not-low-enough", Trial(case, outcome))
        notes.append(FINITE)
    return None


def _device(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Finding | None:
    """Find a tensor made without a device that meets an input, or is itself the result."""
    with Homes() as homes:
        outcome = runner.call(copy(trial.case.inputs), keep_graph=True)
    if homes.found:
        return Finding("fixed-device", trial)
    if homes.made(outcome.value):
        return Finding("fixed-device", trial, "It is the result itself.")
    return None


def _large_scores(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> None:
    if exercise.id not in {"weights", "safe-weights"}:
        return
    scores = draw(exercise, DISTINCT, 0, largest=4).inputs["scores"].nan_to_num(neginf=0.0)
    alike_rows = scores[:1, :1].expand_as(scores)  # so that none is far below another
    if _not_finite(alike_rows * 100 + 500, runner).any():
        notes.append("exp overflows for large scores: take the row's maximum away first")
    below = torch.arange(scores[..., 0].numel()).reshape(scores.shape[:-1])[..., None] * APART
    apart, even = (_not_finite(scores - less, runner) for less in (below, APART))
    if bool(apart.any()) and not bool(apart[0, 0] | even.any()):
        notes.append(ROWS_TOGETHER)


def _not_finite(scores: Tensor, runner: Runner) -> Tensor:
    """Say which rows of scores get weights that are no numbers."""
    value = runner.call({"scores": scores}).tensor
    if value is None or value.shape != scores.shape:
        return torch.zeros(scores.shape[:-1], dtype=torch.bool)
    return ~value.isfinite().all(-1)


# deep cases ------------------------------------------------------------------------------------


def _deep(exercise: Exercise, case: Case, depth: int | float) -> Case | None:
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


def _first_query(value: Tensor) -> Tensor:
    return value.select(value.ndim - 2, 0)


def _first_query_differs(case: Case, value: Tensor) -> bool:
    """Whether the first query of a deep case gets another output than that of what it may see."""
    yours, wanted = _first_query(value), _first_query(case.wanted)
    if not bool(yours.isfinite().all()):
        return False  # a mask after the softmax, made 1 in sum again: right, but not that far down
    return not bool(alike(yours, wanted, rtol=1e-2, atol=1e-2).all())


def _first_query_leaks(exercise: Exercise, case: Case, value: Tensor, runner: Runner) -> bool:
    """Whether keys that it may not see move the first query of a deep case: they change sign."""
    other = copy(case.inputs)
    if exercise.id == "cached-step":
        other["v_cache"][:, :, case.sizes["Sk"] - case.sizes["Sq"] + 1 :] *= -1
    else:
        other["x"][:, 1:] *= -1
    again = runner.call(other).tensor
    if again is None or again.shape != value.shape:
        return False
    before, after = _first_query(value), _first_query(again)
    return float((before - after).abs().max()) > 1e-2 * float(before.abs().max())
