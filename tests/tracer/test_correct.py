"""Correct code in every style: its dims hold at other sizes, and nothing is warned of."""

import re

import pytest
import torch

from attnlib import trace
from attnlib.dims import role
from tests.tracer import (
    attended_correct,
    blind_correct,
    clashing_correct,
    fresh_correct,
    further_correct,
    outside_correct,
    shares_correct,
    stranger_correct,
    sums_correct,
    unseen_correct,
    views_correct,
)
from tests.tracer.correct import SAMPLES, SIZES
from tests.tracer.more_correct import MORE

OURS = {**SAMPLES, **MORE}
OUTSIDE = {f"outside {name}": build for name, build in outside_correct.SAMPLES.items()}
FURTHER = {f"further {name}": build for name, build in further_correct.SAMPLES.items()}
BLIND = {f"blind {name}": build for name, build in blind_correct.SAMPLES.items()}
UNSEEN = {f"unseen {name}": build for name, build in unseen_correct.SAMPLES.items()}
FRESH = {f"fresh {name}": build for name, build in fresh_correct.SAMPLES.items()}
SHARES = {f"shares {name}": build for name, build in shares_correct.SAMPLES.items()}
ATTENDED = {f"attended {name}": build for name, build in attended_correct.SAMPLES.items()}
CLASHING = {f"clashing {name}": build for name, build in clashing_correct.SAMPLES.items()}
STRANGER = {f"stranger {name}": build for name, build in stranger_correct.SAMPLES.items()}
SUMS = {f"sums {name}": build for name, build in sums_correct.SAMPLES.items()}
VIEWS = {f"views {name}": build for name, build in views_correct.SAMPLES.items()}
ALL = {
    **OURS,
    **OUTSIDE,
    **FURTHER,
    **BLIND,
    **UNSEEN,
    **FRESH,
    **SHARES,
    **ATTENDED,
    **CLASHING,
    **STRANGER,
    **SUMS,
    **VIEWS,
}

LENGTHS = {"src", "src_len", "items"}  # what samples call their tokens besides S, T and so on
# A loop over samples or chunks has other operations at other sizes; a library asks for a value.
UNCHECKED = {
    "outside online_softmax_chunks": "operations became",
    "outside tensordot_sample_by_sample": "operations became",
    "outside encoder_decoder": "meta",
    "blind online_softmax_chunks": "operations became",
    "fresh online_softmax_chunks": "operations became",
    "unseen online_softmax_blocks": "operations became",
    "unseen numpy_loop_over_samples": "item",
    "further keys_in_blocks_with_a_running_maximum": "operations became",
}


def others(dims, sizes):
    """Other sizes for the dims that any code must bear: more samples, twice the tokens."""
    words = dims if isinstance(dims, str) else " ".join((dims or {}).values())
    batch, S, *_ = sizes
    found = {}
    for name in re.findall(r"[A-Za-z]\w*", words):
        if role(name) == "S" or name in LENGTHS:
            found[name] = 2 * S + (name == "Sk")
        elif role(name) == "batch":
            found[name] = batch + 3
    return found


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_dims_hold_and_nothing_is_warned_of(name, sizes):
    fn, inputs, dims = ALL[name](*sizes)
    named, inputs = (inputs, ()) if isinstance(inputs, dict) else ({}, inputs)
    with torch.set_grad_enabled("training" in name):
        result = trace(fn, *inputs, kwargs=named, dims=dims)
    assert result.warnings == []
    elsewhere = others(dims, sizes)
    check = result.check(**{dim: n for dim, n in elsewhere.items() if dim in result.roles})
    assert check.mismatches == (), check
    assert UNCHECKED.get(name, "") in check.reason and check.unchecked == (name in UNCHECKED), check


# Slots that take the tokens for themselves are known by their name alone.
NAMELESS = {"shares slots_that_only_gather"}


@pytest.mark.parametrize("given", ["no names", "names of the first"])
@pytest.mark.parametrize("name", [name for name in ALL if name not in NAMELESS])
def test_nothing_is_warned_of_where_fewer_tensors_have_names(name, given):
    fn, inputs, dims = ALL[name](*SIZES[2])
    named, inputs = (inputs, ()) if isinstance(inputs, dict) else ({}, inputs)
    if isinstance(dims, dict):
        dims = dict(list(dims.items())[:1])
    result = trace(fn, *inputs, kwargs=named, dims=None if given == "no names" else dims)
    assert result.warnings == []


def test_the_samples_are_many_and_half_are_from_outside():
    assert len(OURS) >= 25 and len(outside_correct.SAMPLES) >= 13
    assert len(further_correct.SAMPLES) >= 20 and len(blind_correct.SAMPLES) >= 39
    assert len(unseen_correct.SAMPLES) >= 44 and len(fresh_correct.SAMPLES) >= 33
    assert len(shares_correct.SAMPLES) >= 25
