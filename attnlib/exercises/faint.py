"""Find the small weights that the comparison of values lets pass: leaks, and sums that miss 1."""

from __future__ import annotations

import torch
from torch import Tensor

from .form import DISTINCT, Exercise, Inputs, Sizes, copy, draw
from .grids import number
from .running import Runner
from .trial import Finding, Trial

FAR = 40.0  # exp(-40) is 4e-18: beside a weight of 1, rounding leaves nothing of it
ROUNDING = 5e-7  # what a weight of 1 may miss in float32
IN_HEADS = 2e-5  # the same behind projections, whose sums are rounded too
LEAST = 1e-12  # a hidden key's weight below this is lost beside any other
HUGE = 1e8  # a value that a weight of 1e-9 would show


def faint(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Finding | None:
    """Return what the statement says outright and is not so; note weights that are a little off."""
    if exercise.id == "safe-weights":
        dead = (trial.case.inputs["scores"] == -torch.inf).all(-1)
        if bool((most := trial.value[dead].abs()).any()):
            about = number(float(most.max()), 1)
            return Finding("nan-row", trial, f"It gets weights up to {about}, not zeros.")
    if exercise.id in {"weights", "safe-weights"}:
        drawn = draw(exercise, DISTINCT, 0, largest=4).inputs["scores"].nan_to_num(neginf=0.0)
        _one_key(drawn, runner, notes)
        _hidden_key(drawn, runner, notes)
    elif exercise.id in {"head", "multi-head", "cached-step"}:
        _first_query(exercise, trial, runner, notes)
    return None


def _one_key(scores: Tensor, runner: Runner, notes: list[str]) -> None:
    """Let one key of each row stand far above the others: its weight is 1."""
    far = scores.clone()
    far[..., 1:] -= FAR
    value = runner.call({"scores": far}).tensor
    if value is None or value.shape != far.shape:
        return
    first, others = value[..., 0].double(), value[..., 1:].double()
    if float((first - 1).abs().max()) > ROUNDING:
        notes.append(f"a weight that should be 1 is {number(float(first.min()), 7)}: {SUM}")
    elif float(others.abs().max()) > ROUNDING:
        least = number(float(others.abs().max()), 1)
        notes.append(f"a weight that should vanish is {least}: is there a least weight?")


SUM = "is anything added to the sum?"


def _hidden_key(scores: Tensor, runner: Runner, notes: list[str]) -> None:
    """Hide one key of each row by -inf: exp(-inf) is 0, not a little."""
    hidden = scores.clone()
    hidden[..., -1] = -torch.inf
    value = runner.call({"scores": hidden}).tensor
    if value is None or value.shape != hidden.shape:
        return
    kept = float(value[..., -1].abs().max())
    if kept != kept:
        notes.append("a score of -inf, as a mask leaves it, gives NaN")
    elif kept > LEAST:
        notes.append(f"a key that is hidden by -inf keeps a weight of {number(kept, 1)}")


def _first_query(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> None:
    """Give huge values to the keys that the first query may not see: a weight of 0 keeps 0."""
    quiet = _with_values(exercise, trial.case.inputs, trial.case.sizes, 0.0)
    loud = _with_values(exercise, trial.case.inputs, trial.case.sizes, HUGE)
    both = [runner.call(inputs).tensor for inputs in (quiet, loud)]
    if all(value is not None and value.shape == trial.value.shape for value in both):
        before, after = (value.select(-2, 0).double() for value in both)
        if float((after - before).abs().max()) > 1e-2 * float(before.abs().max()):
            notes.append(f"keys that may not be seen keep a little weight: values of {HUGE:g} tell")
    if exercise.id == "cached-step":
        return
    # The first query sees one key, itself: its weight is 1, and its output that key's value.
    yours, due = trial.value.select(-2, 0).double(), trial.case.wanted.select(-2, 0)
    part = float((yours * due).sum() / due.square().sum())
    rest = float((yours - part * due).abs().max())
    if abs(1 - part) > IN_HEADS and rest < 0.1 * abs(1 - part) * float(due.abs().max()):
        notes.append(f"a weight that should be 1 is {number(part, 6)}: {SUM}")


def _with_values(exercise: Exercise, inputs: Inputs, sizes: Sizes, number: float) -> Inputs:
    """Set values that the first query may not see; its scores stay as they are."""
    other = copy(inputs)
    if exercise.id == "cached-step":
        other["v_cache"][:, :, sizes["Sk"] - sizes["Sq"] + 1 :] = number
        return other
    other["x"][..., -1] = 0.0  # one feature that only values read
    other["x"][:, 1:, -1] = number
    other["wq"][:, -1] = other["wk"][:, -1] = 0.0
    other["wv"][:, -1] = 1.0
    return other
