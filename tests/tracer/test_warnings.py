"""Code that runs and is wrong: a warning on the right line, with the right two dims."""

import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import trace
from tests.tracer import (
    attended_wrong,
    blind_wrong,
    fresh_wrong,
    further_wrong,
    outside_wrong,
    shares_wrong,
    stranger_wrong,
    sums_wrong,
    unseen_wrong,
    views_wrong,
)
from tests.tracer.wrong import WRONG

OUTSIDE = {f"outside {name}": sample for name, sample in outside_wrong.WRONG.items()}
FURTHER = {f"further {name}": sample for name, sample in further_wrong.WRONG.items()}
BLIND = {f"blind {name}": sample for name, sample in blind_wrong.WRONG.items()}
UNSEEN = {f"unseen {name}": sample for name, sample in unseen_wrong.WRONG.items()}
FRESH = {f"fresh {name}": sample for name, sample in fresh_wrong.WRONG.items()}
SHARES = {f"shares {name}": sample for name, sample in shares_wrong.WRONG.items()}
ATTENDED = {f"attended {name}": sample for name, sample in attended_wrong.WRONG.items()}
STRANGER = {f"stranger {name}": sample for name, sample in stranger_wrong.WRONG.items()}
SUMS = {f"sums {name}": sample for name, sample in sums_wrong.WRONG.items()}
VIEWS = {f"views {name}": sample for name, sample in views_wrong.WRONG.items()}
ALL = {
    **WRONG, **OUTSIDE, **FURTHER, **BLIND, **UNSEEN, **FRESH, **SHARES, **ATTENDED, **STRANGER,
    **SUMS, **VIEWS,
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_the_line_and_the_two_dims_are_named(name):
    build, beginning, pair = ALL[name]
    fn, inputs, dims = build()
    result = trace(fn, *inputs, dims=dims)
    lines = inspect.getsource(inspect.getmodule(build)).splitlines()
    found = {
        frozenset(warning.dims)
        for warning in result.warnings
        if lines[warning.line - 1].strip().startswith(beginning)
    }
    assert pair in found, [(warning.line, warning.dims) for warning in result.warnings]
    first = result.warnings[0]
    assert lines[first.line - 1].strip().startswith(beginning)
    assert all(name in first.message for name in first.dims)


def test_the_samples_are_many_and_half_are_from_outside():
    assert len(WRONG) >= 15 and len(outside_wrong.WRONG) >= 15
    assert len(further_wrong.WRONG) >= 16 and len(blind_wrong.WRONG) >= 31
    assert len(unseen_wrong.WRONG) >= 31 and len(fresh_wrong.WRONG) >= 29
    assert len(shares_wrong.WRONG) >= 14


@pytest.mark.filterwarnings("ignore:Implicit dimension")
@pytest.mark.parametrize("name", shares_wrong.WRONG)
def test_a_softmax_over_the_wrong_axis_is_corrected(name):
    fn, inputs, dims = shares_wrong.WRONG[name][0]()
    (warning,) = trace(fn, *inputs, dims=dims).warnings
    assert warning.message.endswith(shares_wrong.FIXED[name]), warning.message
    assert "add up to 1" in warning.message and len(warning.message) < 400  # as the player cuts it


@pytest.mark.parametrize("name", sums_wrong.WRONG)
def test_it_is_said_how_weights_came_not_to_add_up(name):
    fn, inputs, dims = sums_wrong.WRONG[name][0]()
    (warning,) = trace(fn, *inputs, dims=dims).warnings
    assert len(warning.message) < 400, warning.message
    for said in sums_wrong.SAID[name]:
        assert said in warning.message, warning.message


MEETINGS = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "cross entropy": F.binary_cross_entropy_with_logits,
    "cosine": F.cosine_similarity,
    "distance": torch.cdist,
    "inner": torch.inner,
    "gather": lambda a, b: a.gather(1, b.argsort(1)),
    "written into": lambda a, b: a.clone().__setitem__(slice(None), b),
    "written at a number": lambda a, b: a[:, None].clone().__setitem__((slice(None), 0), b),
    "written at places": lambda a, b: (
        a[:, None].clone().__setitem__((slice(None), torch.zeros(1, dtype=torch.int64)), b[:, None])
    ),
    "copied along an axis": lambda a, b: a.index_copy(0, torch.arange(4), b),
    "picked by": lambda a, b: a[b > 0],
    "selected by": lambda a, b: a.masked_select(b > 0),
    "maximum": torch.maximum,
    "where": lambda a, b: torch.where(a > 0, a, b),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_two_dims_of_one_size_are_told_wherever_they_meet(name):
    def meet(a, b):
        return MEETINGS[name](a, b)

    a, b = torch.rand(2, 4, 4)
    (warning, *_) = trace(meet, a, b, dims={"a": "S batch", "b": "batch S"}).warnings
    assert set(warning.dims) == {"S", "batch"}
    assert trace(meet, a, b, dims={"a": "S batch", "b": "S batch"}).warnings == []


class Layer(nn.Module):
    def __init__(self, d_in, d_out, added):
        super().__init__()
        self.lin, self.added = nn.Linear(d_in, d_out), added

    def forward(self, x):
        return x + self.lin(x).relu() if self.added else self.lin(x).relu()


@pytest.mark.parametrize("added", [True, False])
def test_an_argument_of_a_constructor_is_a_dim_of_that_layer_only(added):
    """What comes out of the first layer goes into the second, under another name."""
    net = nn.Sequential(*(Layer(12, 12, added) for _ in range(3)))
    result = trace(net, torch.randn(2, 5, 12), dims="batch S n_embd")
    assert result.warnings == []
    assert result.steps[-1].output.dims == ("batch", "S", "n_embd" if added else "d_out")


def test_three_dots_are_axes_too():
    def scores(q, k):
        return torch.einsum("...qd,...kd->...qk", q, k)

    q, k = torch.randn(2, 2, 4, 4, 6)
    dims = {"q": "batch heads S H", "k": "batch S heads H"}
    warning = trace(scores, q, k, dims=dims).warnings[0]
    assert set(warning.dims) == {"S", "heads"}
    dims = {"q": "batch heads S H", "k": "batch heads S H"}
    assert trace(scores, q, k, dims=dims).warnings == []


def test_a_product_in_python_has_no_order_but_merged_axes_have():
    def fold(q):
        b, h, n, d = q.shape
        return q.reshape(h * b, n, d).view(b, h, n, d)

    q = torch.randn(2, 3, 5, 4)
    assert trace(fold, q, dims="b h n d").warnings == []

    def other(q):
        b, h, n, d = q.shape
        return q.flatten(0, 1).view(h, b, n, d)

    (warning,) = trace(other, q, dims="b h n d").warnings
    assert set(warning.dims) == {"b", "h"} and "pieces of b under the name h" in warning.message


def test_what_is_said_of_a_mask_of_a_sum_and_of_an_order():
    def scored(a, b):
        return a.flatten() - b.flatten()

    a, b = torch.rand(3, 5), torch.rand(5, 3)
    (warning,) = trace(scored, a, b, dims={"a": "S batch", "b": "batch S"}).warnings
    assert "S*batch and batch*S: both are 15, at all sizes" in warning.message
    assert "at other sizes it fails" not in warning.message
    x = torch.randn(3, 3, 5, 4)
    mask = torch.ones(3, 5, 5, dtype=torch.bool)
    dims = {"q": "batch heads S H", "mask": "batch S S"}
    found = trace(
        lambda q, mask: F.scaled_dot_product_attention(q, q, q, attn_mask=mask), x, mask, dims=dims
    )
    assert found.warnings[0].message.startswith("this lines up heads and batch")
    found = trace(lambda q: q @ q, torch.randn(2, 5, 5), dims="batch S H")
    assert found.warnings[0].message.startswith("this sums over H and S")
