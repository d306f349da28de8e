"""Find the mistake by decisive evidence: the numbers of a planted fault, or a broken law."""

from __future__ import annotations

import torch
from torch import Tensor

from .failing import WEIGHING, failure
from .fills import fill, low_in_use, not_low, unreached
from .form import Exercise, copy
from .grids import number
from .planted import penalty, planted, truth
from .running import Runner
from .trial import UNDERCUT, Finding, Trial
from .verdict import alike
from .watching import FirstNaN

SEES_ITSELF = "Every query sees a key here: some row of your scores is -inf throughout."
_MULTIPLYING = {"mul", "mul_", "multiply", "multiply_", "__mul__", "__rmul__"}


def explain(
    exercise: Exercise, trials: list[Trial], runner: Runner, off: frozenset[str] = frozenset()
) -> Finding:
    """Return the mistake and the trial that shows it; `off` are detectors left out."""
    returned = [t for t in trials if t.outcome.tensor is not None]
    wrong = [t for t in returned if not t.agrees]
    raised = [t for t in trials if t.outcome.error is not None]
    known = frozenset(exercise.ids) - off
    spoilt = next((t for t in wrong if _nan(t)), None)
    nan = _first_nan(spoilt, runner) if spoilt else FirstNaN()
    if spoilt and nan.name in _MULTIPLYING and "zero-times-infinity" in known:
        return Finding("zero-times-infinity", spoilt)
    chosen = planted(exercise, wrong, returned, runner, off) if wrong else None
    if chosen:
        told = chosen[0].how if chosen[0].id == "value-mismatch" else ""
        return Finding(chosen[0].id, wrong[0], told, look=chosen[0].look)
    lost = next(filter(None, (unreached(exercise, trial) for trial in wrong)), "")
    if lost:  # what stands elsewhere, however high, is not what is amiss
        known -= {"mask-fill-not-low-enough"}
    for id_, found in (
        ("wrong-dtype", lambda: next((t for t in wrong if _other_dtype(t)), None)),
        ("one-length-for-all", lambda: wrong[0] if _one_length(exercise, returned) else None),
        ("mask-fill-inf-or-nan", lambda: next((t for t in wrong if not_low(exercise, t)), None)),
        ("mask-fill-not-low-enough", lambda: next((t for t in wrong if fill(exercise, t)), None)),
        ("mask-fill-not-low-enough", lambda: penalty(exercise, wrong)),
        ("softmax-epsilon", lambda: epsilon(wrong)),
        ("batch-mixed", lambda: next((t for t in wrong if _mixes(t, runner)), None)),
        ("wrong-shape", lambda: next((t for t in wrong if not t.fits), None)),
        ("nan-row", lambda: spoilt if spoilt and _blocked(spoilt, nan) else None),
    ):
        trial = found() if id_ in known else None
        if trial is not None:
            more = f"Yours is {trial.value.dtype}." if id_ == "wrong-dtype" else ""
            if id_ == "mask-fill-not-low-enough" and low_in_use(trial, runner):
                more = UNDERCUT.format(number(float(trial.case.inputs["scores"].min())))
            look = SEES_ITSELF if id_ == "nan-row" and exercise.id != "safe-weights" else ""
            return Finding(id_, trial, more, look)
    if raised and not wrong and "raises" not in off:
        return failure(raised[0], runner, known)
    return Finding("value-mismatch", (wrong or trials)[0], lost)


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


def _one_length(exercise: Exercise, returned: list[Trial]) -> bool:
    """Every sequence gets the same first keys, whatever its length."""
    if exercise.id != "padding-mask" or not returned:
        return False
    return all(_first_keys_for_all(trial.value.bool()) for trial in returned)


def _first_keys_for_all(mask: Tensor) -> bool:
    if mask.ndim != 4 or not bool(mask.any()):
        return False
    first_keys = bool((mask[..., 1:] <= mask[..., :-1]).all())
    return first_keys and bool((mask == mask[:1]).all())


def epsilon(wrong: list[Trial]) -> Trial | None:
    """Find the constant that is added to the sum under each fraction, or is the least it may be.

    One constant must explain every trial. The exponentials are those of the scores, or of the
    scores less their row's maximum.
    """
    for less_maximum in (True, False) if wrong else ():
        for added in (True, False):
            constants = [_constant(trial, less_maximum, added) for trial in wrong]
            if all(constants) and max(constants) < 1.01 * min(constants):
                return wrong[0]
    return None


def _constant(trial: Trial, less_maximum: bool, added: bool) -> float:
    """Return the constant that gives every row of a trial its sum; 0 where none does."""
    value, wanted, scores = trial.outcome.tensor, trial.case.wanted, trial.case.inputs.get("scores")
    if value is None or scores is None or not trial.fits or not bool(value.isfinite().all()):
        return 0.0
    value, scores = value.detach().double(), scores.double()
    sums, total = value.sum(-1), wanted.sum(-1)
    top = scores.amax(-1, keepdim=True) if less_maximum else torch.zeros(())
    under = (scores - top).exp().sum(-1)
    seen = total > 0
    lowest = torch.where(seen, sums, torch.inf).argmin()
    least, beneath = sums.flatten()[lowest], under.flatten()[lowest]
    constant = beneath / least - beneath if added else beneath / least
    due = under / (under + constant) if added else (under / constant).clamp(max=1.0)
    fits = alike(value, wanted * torch.where(seen, due, 0.0)[..., None], rtol=1e-2, atol=1e-6)
    return float(constant) if bool(fits.all()) and float(least) < 1 else 0.0


def _mixes(trial: Trial, runner: Runner) -> bool:
    """Change the first, then the last sequence of the batch: does another one move?"""
    batch = trial.case.sizes.get("batch", 1)
    if batch < 2 or not trial.fits:
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


# NaN ----------------------------------------------------------------------------------------


def _nan(trial: Trial) -> bool:
    return bool(trial.value.isnan().any()) and not bool(trial.case.wanted.isnan().any())


def _first_nan(trial: Trial, runner: Runner) -> FirstNaN:
    with FirstNaN() as first:
        runner.call(copy(trial.case.inputs), keep_graph=True)
    return first


def _blocked(trial: Trial, first: FirstNaN) -> bool:
    """Whether the NaN are those of rows that are -inf throughout.

    Either they stand in such rows of the given scores and nowhere else, or they came out of a
    softmax with no inf in it, which has no other way to NaN.
    """
    scores = trial.case.inputs.get("scores")
    if scores is not None and trial.fits:
        dead = (scores == -torch.inf).all(-1, keepdim=True)
        return not bool((trial.value.isnan() & ~dead).any())
    weighing = first.name in WEIGHING | {"scaled_dot_product_attention"}
    return weighing and not first.of_inf
