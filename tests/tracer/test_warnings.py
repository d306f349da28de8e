"""Code that runs and is wrong: a warning on the right line, with the right two dims."""

import inspect

import pytest

from attnlib import trace
from tests.tracer.wrong import WRONG


@pytest.mark.parametrize("name", WRONG)
def test_the_line_and_the_two_dims_are_named(name):
    build, beginning, pair = WRONG[name]
    fn, inputs, dims = build()
    result = trace(fn, *inputs, dims=dims)
    lines = inspect.getsource(inspect.getmodule(build)).splitlines()
    first = result.warnings[0]
    assert lines[first.line - 1].strip().startswith(beginning)
    assert pair in {frozenset(warning.dims) for warning in result.warnings}
    assert all(name in first.message for name in first.dims)
