"""Correct code in every style: its dims hold at other sizes, and nothing is warned of."""

import pytest
import torch

from attnlib import trace
from tests.tracer.correct import SAMPLES, SIZES
from tests.tracer.more_correct import MORE

ALL = {**SAMPLES, **MORE}

OTHERS = {"batch": 9, "S": 13, "Sq": 13, "Sk": 17}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_dims_hold_and_nothing_is_warned_of(name, sizes):
    fn, inputs, dims = ALL[name](*sizes)
    named, inputs = (inputs, ()) if isinstance(inputs, dict) else ({}, inputs)
    with torch.no_grad() if name != "training_step" else torch.enable_grad():
        result = trace(fn, *inputs, kwargs=named, dims=dims)
    assert result.warnings == []
    check = result.check(**{name: size for name, size in OTHERS.items() if name in result.roles})
    assert check.mismatches == () and not check.unchecked, check
