"""What stands over hidden scores: a number too high, one that hides in use, or the score itself."""

from __future__ import annotations

import torch
from torch import Tensor

from .form import Exercise, copy
from .masking import FAR_BELOW
from .running import Runner
from .trial import LOWEST_ALLOWED, Trial
from .verdict import alike

USUAL = -9.0  # scores of unit variance lie above it
UNREACHED = "In some sequences of the batch nothing is hidden: the mask does not reach them."


def fill(exercise: Exercise, trial: Trial) -> bool:
    """The kept scores are right, the hidden ones are not, and something stands over each."""
    return _kept(exercise, trial) and not bool(_left(trial).any())


def not_low(exercise: Exercise, trial: Trial) -> bool:
    """The kept scores are right, and of the hidden ones some are inf or NaN."""
    numbers = trial.value.nan_to_num(nan=torch.inf, neginf=0.0, posinf=torch.inf)
    return _kept(exercise, trial) and bool(numbers.isinf().any())


def unreached(exercise: Exercise, trial: Trial) -> str:
    """Say so where all is hidden in some sequences, and nothing in the others."""
    if not _kept(exercise, trial):
        return ""
    hidden, left = (part.flatten(1) for part in (_hidden(trial), _left(trial)))
    written = (hidden & ~left & (trial.case.inputs["scores"] > FAR_BELOW / 2).flatten(1)).any(1)
    each = bool((written ^ left.any(1)).all())
    return UNREACHED if each and bool(written.any()) and bool(left.any()) else ""


def low_in_use(trial: Trial, runner: Runner) -> bool:
    """Whether what is written over hidden scores hides them where no score is as low as here."""
    scores = trial.case.inputs.get("scores")
    if scores is None or not trial.fits:
        return False
    usual = copy(trial.case.inputs)
    usual["scores"] = scores.clamp(min=USUAL)
    value = runner.call(usual).tensor
    if value is None or value.shape != scores.shape:
        return False
    hidden = value[_hidden(trial)]
    return bool(hidden.numel()) and float(hidden.max()) < -LOWEST_ALLOWED


def _kept(exercise: Exercise, trial: Trial) -> bool:
    if exercise.id != "mask-scores" or not trial.fits:
        return False
    may = trial.case.inputs["may_attend"].expand(trial.case.wanted.shape)
    return bool(alike(trial.value, trial.case.wanted)[may].all())


def _hidden(trial: Trial) -> Tensor:
    return trial.case.wanted == -torch.inf


def _left(trial: Trial) -> Tensor:
    """Where a score that should be hidden stands as it was given; one far below hides itself."""
    scores = trial.case.inputs["scores"]
    return _hidden(trial) & alike(trial.value, scores) & (scores > FAR_BELOW / 2)
