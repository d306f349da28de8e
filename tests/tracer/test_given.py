"""``dims=`` as a caller may write it: read as it is meant, or refused with the form that is."""

import re

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from attnlib import ShapeError, trace, tracing

Q, K = torch.ones(2, 7, 5), torch.ones(2, 8, 5)


def scores(q, k):
    return q @ k.mT


@pytest.mark.parametrize(
    "dims",
    [
        "batch S H",
        "batch, S, H",
        "(batch, S, H)",
        "[batch,S,H]",
        ("batch", "S", "H"),
        ["batch", "S", "H"],
        {"q": "(batch, S, H)"},
        {"q": ("batch", "S", "H"), "k": None},
    ],
    ids=str,
)
def test_names_are_read_as_they_are_meant(dims):
    result = trace(scores, Q, K, dims=dims)
    assert result.steps[0].output.dims == ("batch", "S", "H")
    assert result.sizes == {"batch": 2, "S": 7, "H": 5}


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({0: "batch S H"}, "dims names 0, but the tensors that go in are q, k"),
        ({"q": 3}, "dims for q: 3 cannot name an axis"),
        ([2, 7, 5], "dims for q: 2 cannot name an axis"),
        ("batch=2 S H", "dims for q: 'batch=2' cannot name an axis"),
        ("*batch S H", "dims for q: '*batch' cannot name an axis"),
        ("batch (S H)", "dims for q: '(S' cannot name an axis"),
        (["batch S H", "batch S H"], "dims for q: 'batch S H' cannot name an axis"),
        ("2 8 5", "dims: axis 1 of q is 7, not 8"),
        ("batch S S", "dims: S is 7 at axis 1 of q but 5 at axis 2 of q"),
        ({"q": "batch S H", "k": "batch S H"}, "dims: S is 7 at axis 1 of q but 8 at axis 1 of k"),
    ],
    ids=str,
)
def test_names_that_do_not_fit_are_refused_before_the_run(dims, said):
    def never(q, k):
        raise AssertionError("the code ran")

    with pytest.raises(ShapeError, match=re.escape(said)):
        trace(never, Q, K, dims=dims)


def test_a_refusal_shows_the_form_that_is_read():
    with pytest.raises(ShapeError, match=r'as in "batch S H", or \{"q": "batch S H"'):
        trace(scores, Q, K, dims={"q": "batch; S; H"})
    with pytest.raises(ShapeError, match="S is 7 at axis 1 of Q"), tracing({"Q": "batch S S"}):
        Q + 1


def test_a_number_states_a_size_and_one_lines_up_with_any():
    result = trace(scores, Q, K, dims="batch 7 H")
    assert result.steps[0].output.dims == ("batch", "7", "H")
    assert result.sizes == {"batch": 2, "H": 5}
    mask = torch.ones(1, 7, 7)
    dims = {"q": "batch S H", "mask": "batch S S"}
    assert trace(lambda q, mask: q.mT @ mask, Q, mask, dims=dims).warnings == []


def test_products_are_named_as_a_table_writes_them():
    result = trace(scores, Q, K, dims="batch*heads S n_embd//heads")
    assert result.steps[0].output.dims == ("batch*heads", "S", "n_embd//heads")
    assert set(result.roles) >= {"batch", "heads", "S", "n_embd"}


def test_one_string_for_several_tensors_says_which_it_names():
    def attend(q, k, v):
        return (q @ k.mT).softmax(-1) @ v

    def notes(*tensors, dims, fn=attend):
        return [step.note for step in trace(fn, *tensors, dims=dims).steps if step.note]

    q, k, v = torch.randn(3, 2, 7, 5)
    said = 'dims names q alone, not k and v; dims={"q": "…", "k": "…"} names several'
    assert notes(q, k, v, dims="batch S H") == [said]
    assert said in str(trace(attend, q, k, v, dims="batch S H")).replace("\n  ", " ")
    assert notes(q, k, v, dims={"q": "batch S H"}) == []
    assert notes(q, k, v, dims=None) == []
    assert notes(q, q, q, dims="batch S H") == []

    def masked(x, mask, scale):
        return (x * scale).masked_fill(mask, 0.0)

    mask = torch.ones(2, 7, 5, dtype=torch.bool)
    assert notes(q, mask, torch.ones(5), dims="batch S H", fn=masked) == []

    def annotated(q, k: Float[Tensor, "batch Sk H"]):
        return q @ k.mT

    assert not any("alone" in note for note in notes(q, k, dims="batch Sq H", fn=annotated))
