"""verify: planted faults are found by name of the law, correct modules pass."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib.exercises import verify
from tests.exercises.modules_right import RIGHT
from tests.exercises.modules_wrong import WRONG


@pytest.mark.parametrize(("kind", "laws", "named"), WRONG, ids=lambda v: getattr(v, "__name__", ""))
def test_a_planted_fault_breaks_its_laws(kind, laws: set[str], named: str) -> None:
    torch.manual_seed(3)
    report = verify(kind())
    broken = {law.name: law for law in report.laws if law.passed is False}
    assert not report.passed
    assert laws <= set(broken), report
    assert all(law.counterexample for law in broken.values())
    if named:
        assert named in broken["parity"].counterexample


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_module_passes(name: str) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        module = RIGHT[name]()
        report = verify(module)
        assert report.passed, report
    assert module.training  # verify works on a copy
    assert all(parameter.grad is None for parameter in module.parameters())


def test_parity_is_checked_wherever_the_weights_can_be_told() -> None:
    unchecked = {
        name
        for name, make in RIGHT.items()
        for law in verify(make()).laws
        if law.name == "parity" and law.passed is None
    }
    assert unchecked == {"block"}  # it has a norm besides


def test_causal_when_asked_for() -> None:
    layer = nn.MultiheadAttention(12, 3, batch_first=True)
    assert verify(layer, causal=True).passed
    broken = [law.name for law in verify(RIGHT["separate"](), causal=True).laws if not law.passed]
    assert "causality" in broken


def test_a_module_that_raises_is_told() -> None:
    class Raises(nn.Module):
        n_embd = 4

        def forward(self, x):
            return x @ x

    report = verify(Raises())
    assert not report.passed
    assert [law.name for law in report.laws] == ["runs"]
    assert "RuntimeError" in str(report)
    assert "RuntimeError" in report._repr_html_()


def test_the_width_must_be_known() -> None:
    class Bare(nn.Module):
        def forward(self, x):
            return x.cumsum(1)

    with pytest.raises(ValueError, match="give x"):
        verify(Bare())
    assert verify(Bare(), torch.zeros(1, 1, 3)).laws[0].passed
