"""What torch warns of points at the line of the code that is traced."""

import inspect
import warnings

import pytest
import torch
import torch.nn.functional as F

from attnlib import trace, tracing
from attnlib.tracer.pointing import Pointing


def lines_of(marked):
    """Return the numbers of a function's lines that end in ``# warned``."""
    rows, first = inspect.getsourcelines(marked)
    return [first + place for place, row in enumerate(rows) if row.rstrip().endswith("# warned")]


def weigh(scores):
    scores = scores * 2
    return F.softmax(scores)  # warned


def weigh_in_a_layer(scores):
    return torch.nn.Softmax()(scores)  # warned


@pytest.mark.parametrize("run", [weigh, lambda scores: trace(weigh, scores)])
def test_a_warning_points_at_the_line(run):
    with pytest.warns(UserWarning, match="Implicit dimension choice") as seen:
        run(torch.randn(2, 5, 5))
    assert [(w.filename, w.lineno) for w in seen] == [(__file__, *lines_of(weigh))]


def test_a_warning_inside_a_with_points_at_the_line():
    with pytest.warns(UserWarning, match="Implicit dimension choice") as seen, tracing():
        F.softmax(torch.randn(2, 5, 5))
    assert [w.filename for w in seen] == [__file__]


def test_a_warning_in_a_layer_points_at_the_line_that_calls_it():
    """Untraced it points into torch, at what calls every layer."""
    with pytest.warns(UserWarning, match="Implicit dimension choice") as seen:
        trace(weigh_in_a_layer, torch.randn(2, 5, 5))
    assert [(w.filename, w.lineno) for w in seen] == [(__file__, *lines_of(weigh_in_a_layer))]


def test_traces_that_overlap_leave_what_shows_warnings_as_it_was():
    before = warnings.showwarning
    first, second = Pointing(), Pointing()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert warnings.showwarning is not before
    second.__exit__()
    assert warnings.showwarning is before


def test_what_the_code_puts_there_stays(monkeypatch):
    def own(*_):
        pass

    def run(x):
        monkeypatch.setattr(warnings, "showwarning", own)
        return x + 1

    trace(run, torch.ones(2))
    assert warnings.showwarning is own
