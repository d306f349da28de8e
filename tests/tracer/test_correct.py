"""Correct code in every style: its dims hold at other sizes, and nothing is warned of."""

import pytest
import torch

from attnlib import trace
from tests.tracer.correct import SAMPLES, SIZES

OTHERS = {"batch": 9, "S": 13, "Sq": 13, "Sk": 17}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", SAMPLES)
def test_dims_hold_and_nothing_is_warned_of(name, sizes):
    fn, inputs, dims = SAMPLES[name](*sizes)
    with torch.no_grad() if name != "training_step" else torch.enable_grad():
        result = trace(fn, *inputs, dims=dims)
    assert result.warnings == []
    check = result.check(**{name: size for name, size in OTHERS.items() if name in result.roles})
    assert check.mismatches == () and not check.unchecked, check
