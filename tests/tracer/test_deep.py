"""`deep=True`: library attention opened, in this thread only, and closed again."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import trace

NAMES = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


@pytest.fixture(autouse=True)
def nothing_stays_patched():
    before = [getattr(F, name) for name in NAMES]
    yield
    assert [getattr(F, name) for name in NAMES] == before


def attend(layer):
    def run(x):
        out, weights = layer(x, x, x)
        return out

    return run


@pytest.mark.parametrize("training", [True, False])
def test_the_library_layer_shows_what_it_does(training):
    layer = nn.MultiheadAttention(12, 3, batch_first=True).train(training)
    x = torch.randn(2, 5, 12)
    shut = trace(attend(layer), x, dims="batch S n_embd")
    assert [step.op for step in shut.steps][2] == "multi_head_attention_forward"
    deep = trace(attend(layer), x, dims="batch S n_embd", deep=True)
    ops = [step.op for step in deep.steps]
    assert len(ops) == 29 and ops.count("matmul") == 2 and "softmax" in ops
    (softmax,) = (step for step in deep.steps if step.op == "softmax")
    assert softmax.output.dims == ("batch*num_heads", "S", "S")
    assert deep.steps[-1].output.dims == ("batch", "S", "n_embd")
    assert torch.allclose(deep.output, layer(x, x, x)[0], atol=1e-6)
    assert deep.check(batch=3, S=9) and not deep.warnings
    assert type(layer.num_heads) is int


def test_an_encoder_layer_is_opened_too():
    layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True).eval()
    found = trace(layer, torch.randn(2, 5, 12), dims="batch S n_embd", deep=True)
    assert "scaled_dot_product_attention" in [step.op for step in found.steps]
    assert found.steps[-1].output.dims == ("batch", "S", "n_embd")
    assert found.check(batch=3, S=9) and not found.warnings


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=repr)
def test_it_is_closed_after_an_error_and_when_nested(error):
    layer = nn.MultiheadAttention(12, 3, batch_first=True)
    x = torch.randn(2, 5, 12)

    def run(x):
        inner = trace(attend(layer), x, deep=True)
        assert len(inner.steps) == 29
        layer(x, x, x)
        raise error

    with pytest.raises(type(error)):
        trace(run, x, deep=True)
    assert len(trace(attend(layer), x).steps) == 4


def test_other_threads_see_no_difference():
    layer = nn.MultiheadAttention(12, 3, batch_first=True)
    x = torch.randn(2, 5, 12)
    seen = []

    def other():
        seen.append(len(trace(attend(layer), x).steps))

    def run(x):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return layer(x, x, x)[0]

    found = trace(run, x, deep=True)
    assert seen == [4] and len(found.steps) == 29
