"""An error that goes back to the reader shows their lines, and none of the tracer's."""

import traceback

import pytest
import torch
from torch import nn

from attnlib import trace
from attnlib.tracer import tracing
from attnlib.tracer.recorder import Recorder


def test_a_traceback_ends_in_the_line_that_raised():
    def broken(q, k):
        return q @ k

    def lines(error):
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)]

    q, k = torch.randn(2, 3, 7, 5)
    here = test_a_traceback_ends_in_the_line_that_raised.__name__
    with pytest.raises(RuntimeError, match="batch2") as raised:
        trace(broken, q, k)
    assert lines(raised.value) == [here, "trace", "broken"]
    with pytest.raises(RuntimeError, match="batch2") as raised, tracing():
        broken(q, k)
    assert lines(raised.value) == [here, "broken"]
    with pytest.raises(RuntimeError, match="mat1 and mat2") as raised:
        trace(nn.Sequential(nn.Linear(5, 4), nn.Linear(5, 4)), q)
    assert lines(raised.value)[-1] == "forward"


def test_a_fault_of_the_tracer_itself_keeps_its_lines(monkeypatch):
    def at_fault(*_):
        raise LookupError("at fault")

    monkeypatch.setattr(Recorder, "_begun", at_fault)
    with pytest.raises(LookupError, match="at fault") as raised:
        trace(torch.exp, torch.ones(3))
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "at_fault"
