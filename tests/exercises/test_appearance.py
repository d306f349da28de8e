"""What the page of mistakes says of the laws is what the shown code breaks, nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from attnlib.exercises import exercises, mistakes, verify
from attnlib.exercises.appearance import NOTHING, appear
from attnlib.exercises.assembled import assembled

EVERY = [exercise.id for exercise in exercises()]
SHOWN = {mistake.id: mistake for mistake in mistakes() if mistake.id != "too-slow"}


def shown(id_: str) -> Callable:
    """The function that stands on the page."""
    space = {"torch": torch}
    exec(SHOWN[id_].code, space)
    return space[SHOWN[id_].exercise.replace("-", "_")]


@pytest.mark.parametrize("id_", EVERY)
def test_a_module_of_solutions_breaks_no_law(id_: str) -> None:
    solution = next(exercise.solution for exercise in exercises() if exercise.id == id_)
    report = verify(assembled(id_, solution))
    assert report.passed, str(report)
    held = {law.name for law in report.laws if law.passed}
    assert {"parity", "reach", "batch", "padding", "gradients"} - held <= (
        {"padding"} if id_ == "grouped-query" else set()
    )


@pytest.mark.parametrize("id_", EVERY)
def test_the_function_is_run_in_the_module(id_: str) -> None:
    def spoilt(*given: object) -> torch.Tensor:
        raise LookupError("here")

    report = verify(assembled(id_, spoilt))
    assert "LookupError: here" in str(report)


@pytest.mark.parametrize(
    ("id_", "laws"),
    {
        "mask-fill-not-low-enough": set(),
        "writes-into-argument": set(),
        "values-unused": {"parity", "gradients"},
        "softmax-wrong-dim": {"parity", "causality", "padding"},
        "scale-wrong-size": {"parity", "padding"},
        "scale-n-embd": {"parity"},
        "value-mismatch": {"parity"},
        "wrong-dtype": {"runs"},
        "transpose-wrong-dims": {"runs"},
        "projection-shared": {"parity", "gradients"},
        "out-projection-missing": {"parity", "gradients"},
        "fixed-device": {"device"},
        "batch-mixed": {"parity", "batch"},
        "dropout-active": {"determinism"},
        "kv-heads-tiled": {"parity"},
        "mask-wrong-axis": {"padding"},
    }.items(),
)
def test_the_shown_code_breaks_these_laws(id_: str, laws: set[str]) -> None:
    assert set(appear(id_, shown(id_)).broken or ()) == laws


def test_who_was_not_asked_is_told_from_who_saw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnlib.exercises.running.SECONDS", 0.5)

    def weights(scores: torch.Tensor) -> torch.Tensor:
        while True:
            pass

    stuck = appear("too-slow", weights)
    silent = appear("mask-fill-not-low-enough", shown("mask-fill-not-low-enough"))
    assert stuck.marks == {"check": "yes", "trace": "–", "verify": "–"}
    assert silent.marks == {"check": "yes", "trace": NOTHING, "verify": NOTHING}


def test_an_error_is_told_from_a_warning() -> None:
    assert appear("transpose-missing", shown("transpose-missing")).marks["trace"] == (
        "error, warning"
    )
    assert appear("split-by-view", shown("split-by-view")).marks["trace"] == "warning"
    assert appear("raises", shown("raises")).marks["trace"] == "error"
