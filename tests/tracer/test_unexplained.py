"""An explanation that fails itself: the reader's own error stays, with its line and its words."""

import importlib

import einops
import pytest
import torch
from torch import nn

from attnlib import trace
from attnlib.tracer.explanations import elsewhere as elsewhere_module
from attnlib.tracer.explanations.clash import CLASHES
from attnlib.tracer.recorder import Recorder

explained_module = importlib.import_module("attnlib.tracer.explanations.explained")
ATTENTION = nn.MultiheadAttention(8, 1, batch_first=True)


def broken(*_args, **_kwargs):
    raise ZeroDivisionError("a fault of an explanation")


def multiplied(x):
    return x @ x  # raises


def attended(x):
    return ATTENTION(x, x[:, 1:], x)[0]  # raises


def laid_out(x):
    return einops.rearrange(x, "b s -> s b")  # raises


def refused(x):
    return x.shape[7]  # raises


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")


def unspeakable(x):
    raise Unspeakable  # raises


PLANTED = {
    "a clash": (multiplied, lambda m: m.setitem(CLASHES, "matmul", broken)),
    "a correction": (multiplied, lambda m: m.setattr(explained_module, "_tried", broken)),
    "a layer": (attended, lambda m: m.setattr(explained_module, "sequences", broken)),
    "a library": (laid_out, lambda m: m.setattr(elsewhere_module, "patterns", broken)),
    "a library's layer": (laid_out, lambda m: m.setattr(elsewhere_module, "sequences", broken)),
    "no operation": (refused, lambda m: m.setattr(explained_module, "elsewhere", broken)),
    "what Python refused": (refused, lambda m: m.setattr(elsewhere_module, "refused", broken)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_readers_error_stays_with_its_line_and_words(planted, monkeypatch):
    fn, plant = PLANTED[planted]
    x = torch.randn(2, 5, 8)
    with pytest.raises(Exception, match=r"\w") as plain:
        fn(x)
    monkeypatch.setattr(Recorder, "strict", False)
    plant(monkeypatch)
    with pytest.raises(type(plain.value)) as caught:
        trace(fn, x, dims="batch S n_embd")
    assert str(caught.value) == str(plain.value)
    (note,) = caught.value.__notes__
    assert "# raises" in note and "^^^" in note and "fault" not in note
    assert str(plain.value).splitlines()[0] in note
    found = caught.value.attnlib_trace.error
    assert found.line is not None and found.suggestion is None


def test_an_error_without_words_stays(monkeypatch):
    monkeypatch.setattr(Recorder, "strict", False)
    with pytest.raises(Unspeakable):
        trace(unspeakable, torch.ones(2))


def test_the_fault_is_seen_in_the_tests(monkeypatch):
    monkeypatch.setitem(CLASHES, "matmul", broken)
    with pytest.raises(ZeroDivisionError):
        trace(multiplied, torch.randn(2, 5, 8))


def test_a_layer_made_where_it_is_called_says_which_axis_is_the_batch():
    def attend(q, k):
        return nn.MultiheadAttention(8, 1, batch_first=True)(q, k, k)

    found = trace(attend, torch.randn(1, 1, 8), torch.randn(4, 6, 8), on_error="return").error
    assert "batch_first=True and reads (batch, S, n_embd)" in found.message
    assert "axis 0 is the batch: the batch of q is 1, of k 4" in found.message


def test_it_is_the_layer_of_the_readers_own_line():
    class Inner(nn.TransformerEncoderLayer):
        def forward(self, src, *args, **kwargs):
            return nn.MultiheadAttention(8, 1)(src, src[:, 1:], src)[0]  # raises

    outer = nn.TransformerEncoder(Inner(8, 2, batch_first=True), 1, enable_nested_tensor=False)
    found = trace(lambda x: outer(x), torch.randn(2, 5, 8), on_error="return").error
    assert "nn.MultiheadAttention was built with batch_first=False" in found.message
