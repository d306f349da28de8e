"""A correction pasted in place of what failed is what was meant, or it is not offered."""

import pytest
import torch

from attnlib import trace
from tests.tracer.pasted_raising import PASTED, SILENT
from tests.tracer.pasting import pasted


def given(shapes):
    """Make the inputs of a sample; what is no shape is a tensor already, and is copied."""
    return [
        torch.randn(x) if isinstance(x, tuple) else x.detach().clone().requires_grad_(True)
        for x in shapes
    ]


def failing(program, shapes, dims):
    error = trace(program, *given(shapes), dims=dims, on_error="return").error
    assert error is not None
    return error


@pytest.mark.parametrize("name", PASTED)
def test_what_is_pasted_is_what_was_meant(name):
    program, meant, shapes, dims = PASTED[name]
    error = failing(program, shapes, dims)
    assert error.suggestion is not None, error.message
    inputs = given(shapes)
    wanted = meant(*[x.clone() for x in inputs])
    torch.testing.assert_close(pasted(program, error)(*inputs), wanted)


@pytest.mark.parametrize("name", SILENT)
def test_where_no_line_corrects_it_nothing_is_offered(name):
    error = failing(*SILENT[name])
    assert error.suggestion is None, error.message
