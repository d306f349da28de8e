"""Compare the gradients of right numbers with those of the solution: do they all arrive?"""

from __future__ import annotations

import torch
from torch import Tensor

from .form import Exercise, Inputs
from .running import Outcome, Runner, TimeUp
from .trial import Finding, Trial, error_line

LATE = "the backward pass was not checked: time was up, perhaps because the machine is busy"
SLACK = 1e-2  # of the largest: what rounding does to a gradient stays far below
NOTHING = 1e-3  # of the largest: the solution's own rounding is no gradient to be missed

INFINITE = "Look for a slope without end: the root or the logarithm of 0, or 0 divided by 0."


def backward(exercise: Exercise, trial: Trial, runner: Runner, notes: list[str]) -> Finding | None:
    """Send gradients back; they must be finite, and those of the solution."""
    if exercise.returns.startswith("bool"):
        return None
    leaves, given = _leaves(trial.case.inputs)
    outcome = runner.call(given, keep_graph=True)
    value = outcome.tensor
    if isinstance(outcome.error, TimeUp):
        notes.append(LATE)
        return None
    if value is None:
        said = f"It does where gradients are asked for: {error_line(outcome.error)}"
        return Finding("raises", Trial(trial.case, outcome), said)
    if value.requires_grad:
        try:
            runner.run(lambda: _send(value, trial.case.wanted))
        except TimeUp:
            notes.append(LATE)
            return None
        except RuntimeError as error:
            if "inplace operation" in str(error):
                return Finding("backward-overwritten", trial)
            said = f"The backward pass does: {error_line(error)}"
            return Finding("raises", Trial(trial.case, Outcome(error=error)), said)
    return _compared(exercise, trial, {name: leaf.grad for name, leaf in leaves.items()})


def _leaves(inputs: Inputs) -> tuple[dict[str, Tensor], Inputs]:
    """Copy the inputs as leaves; what is given is made of them, so that it may be written into."""
    leaves = {
        name: value.clone().requires_grad_()
        for name, value in inputs.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    }
    return leaves, {n: leaves[n] * 1 if n in leaves else v for n, v in inputs.items()}


def _send(value: Tensor, wanted: Tensor) -> None:
    """Go backward from every number that is to be finite, from each with another slope."""
    slopes = torch.linspace(0.5, 1.5, value.numel()).reshape(value.shape).to(value.dtype)
    seen = wanted.isfinite()
    (value[seen] * slopes[seen]).sum().backward()


def _compared(exercise: Exercise, trial: Trial, yours: dict[str, Tensor | None]) -> Finding | None:
    spoilt = [n for n, g in yours.items() if g is not None and not bool(g.isfinite().all())]
    if spoilt and exercise.id == "safe-weights":
        return Finding("nan-row", trial, "The values are right, but the gradients are NaN.")
    if spoilt:
        said = f"That of {_listed(spoilt)} is not finite."
        return Finding("wrong-gradient", trial, said, INFINITE)
    with torch.enable_grad():  # the learner's code may have switched it off
        leaves, given = _leaves(trial.case.inputs)
        _send(exercise.solution(*given.values()), trial.case.wanted)
    pairs = [
        (name, grad if grad is not None else torch.zeros_like(leaf), leaf.grad)
        for (name, grad), leaf in zip(yours.items(), leaves.values(), strict=True)
        if leaf.grad is not None
    ]
    for said, differs in (("None reaches {}.", _lost), ("None reaches part of {}.", _lost_in_part)):
        if names := [name for name, mine, due in pairs if differs(mine, due)]:
            return Finding("wrong-gradient", trial, said.format(_listed(names, "or")))
    if names := [name for name, mine, due in pairs if _other(mine, due)]:
        said = f"The gradient of {_listed(names)} is not that of the numbers you return."
        return Finding("wrong-gradient", trial, said)
    return None


def _listed(names: list[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _due(due: Tensor) -> Tensor:
    """Where the solution gets a gradient."""
    return due.abs() > NOTHING * due.abs().max()


def _lost(mine: Tensor, due: Tensor) -> bool:
    return bool(_due(due).any()) and not bool(mine.any())


def _lost_in_part(mine: Tensor, due: Tensor) -> bool:
    return bool((_due(due) & (mine == 0)).any())


def _other(mine: Tensor, due: Tensor) -> bool:
    return float((mine - due).abs().max()) > SLACK * float(due.abs().max())
