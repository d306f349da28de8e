"""One case with what came of it, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .form import Case, Exercise
from .running import Outcome
from .verdict import alike

LOWEST_ALLOWED = 9.9e3  # a fill of -1e4 lies below a score of minus this
# Of a fill that is low enough in use the same is said where it passes and where it does not.
FINITE = (
    "the fill is finite: it hides while every score lies far above it, as in use; -inf always does"
)
BY_CHANCE = "It raises where all sizes differ; where sizes agree, it runs."
UNDERCUT = "In use it hides, for every score lies far above it; here one is {}. -inf always hides."


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

    @property
    def fits(self) -> bool:
        """Whether the shape is the wanted one."""
        return self.value.shape == self.case.wanted.shape


@dataclass(frozen=True)
class Finding:
    """The id of a mistake, the trial that shows it, and what is known of this very form of it."""

    id: str
    trial: Trial
    more: str = ""  # one line on what was seen
    look: str = ""  # advice that fits better than the catalogue's


def agrees(exercise: Exercise, case: Case, value: Tensor) -> bool:
    """Whether a value is the wanted one; below every score any fill is as good as -inf."""
    if value.shape != case.wanted.shape or value.is_complex():
        return False
    same = alike(value, case.wanted, rtol=1e-4)
    if exercise.id == "mask-scores":
        low = value < case.inputs["scores"].min() * 10
        same |= low & (case.wanted == -torch.inf)
    return bool(same.all())


def error_line(error: BaseException | None) -> str:
    """Write an error in one line: its type, and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
