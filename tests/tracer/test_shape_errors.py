"""Shapes, masks, indices and arguments that raise: the note, and the correction it offers."""

import inspect
import re

import pytest
import torch
from torch import nn

from attnlib import trace
from tests.tracer import shape_raising
from tests.tracer.pasting import is_one_piece
from tests.tracer.shape_raising import RAISING


@pytest.mark.parametrize("name", RAISING)
def test_the_note_explains_it_and_offers_what_a_reader_would_write(name):
    build, kind, words, suggestions = RAISING[name]
    fn, inputs, dims = build()
    with pytest.raises(kind, match=r"\w") as caught:
        trace(fn, *inputs, dims=dims)
    (note,) = caught.value.__notes__
    for word in words:
        assert word in note, note
    error = caught.value.attnlib_trace.error
    lines = inspect.getsource(shape_raising).splitlines()
    assert "# raises" in lines[error.line - 1] and is_one_piece(error)
    if suggestions:
        assert error.suggestion is not None, note
        assert any(_squashed(s) in _squashed(error.suggestion) for s in suggestions), note


def _squashed(text):
    return re.sub(r"\s+", "", text)


def test_the_samples_are_many():
    assert len(RAISING) >= 150


@pytest.mark.parametrize("wrap", [lambda layer: layer, nn.Sequential], ids=["plain", "inside"])
def test_a_correction_never_runs_the_readers_own_code(wrap):
    ran = []

    class Counted(nn.Module):
        def forward(self, x):
            ran.append(x)
            return x

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = wrap(Counted())

        def forward(self, x):
            return self.cuont(x)

    found = trace(Outer(), torch.ones(2, 3), on_error="return")
    assert not ran and found.error.suggestion is None
    assert "count" in found.error.message


# Where nothing says what was meant, nothing is offered: each of these has a correction that would
# run and mean something else.


def widths(x, y):
    return x * y


def sequences(a, b):
    return a + b


def any_axis(x, m):
    return x * m


def longer_than_the_table(x, table):
    return x + table


def biases(x, y):
    return x + y


def samples_and_tokens(x, y):
    return x * y


def scores_of_two_sets(x, y):
    return x - y


def heads_of_another_count(student, teacher):
    return student - teacher


@pytest.mark.parametrize(("fn", "shapes", "dims"), [
    (widths, [(2, 5, 6), (2, 5, 8)], {"x": "batch S n_embd", "y": "batch S hidden"}),
    (sequences, [(2, 9, 6), (2, 7, 6)], {"a": "batch frames D", "b": "batch text D"}),
    (biases, [(8,), (6,)], {"x": "n_embd", "y": "H"}),
    (samples_and_tokens, [(2, 5, 6), (2, 7, 3)], {"x": "batch S H", "y": "batch T heads"}),
    (scores_of_two_sets, [(8,), (6,)], {"x": "items", "y": "labels"}),
    (any_axis, [(2, 4, 4, 6), (2, 4)], None),
    (longer_than_the_table, [(2, 9, 6), (8, 6)], {"x": "batch S D", "table": "max_len D"}),
    (heads_of_another_count, [(2, 3, 5, 5), (2, 4, 5, 5)],
     {"student": "batch s_heads S S", "teacher": "batch t_heads S S"}),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
def test_sizes_alone_are_no_evidence(fn, shapes, dims):
    found = trace(fn, *map(torch.randn, shapes), dims=dims, on_error="return")
    assert found.error is not None and found.error.suggestion is None
