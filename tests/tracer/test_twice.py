"""A softmax of weights is warned of at the second one; where it may be meant, nothing is said."""

import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import trace


def in_one_line(x):
    return (x @ x.mT).softmax(-1).softmax(-1) @ x


def over_both(x):
    w = torch.softmax(x @ x.transpose(1, 2), dim=-1)
    return torch.softmax(w, dim=-2) @ x


def behind_a_dropout(x):
    scores = torch.einsum("bid,bjd->bij", x, x) / x.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    w = F.dropout(F.softmax(scores, -1), 0.1, training=False)
    return F.softmax(w, -1) @ x


def in_another_function(x):
    def weights(scores):
        return scores.softmax(-1)

    w = weights(x @ x.mT).to(x.dtype)
    return nn.Softmax(dim=-1)(w) @ x


WRONG = {
    in_one_line: "return (x @ x.mT)", over_both: "return torch.softmax(w",
    behind_a_dropout: "return F.softmax(w", in_another_function: "return nn.Softmax",
}  # fmt: skip


@pytest.mark.parametrize("program", WRONG, ids=lambda f: f.__name__)
def test_the_second_softmax_is_named(program):
    x = torch.randn(2, 5, 8)
    found = trace(program, x, dims="batch S n_embd").warnings
    (warning,) = [w for w in found if "softmax of" in w.message]
    lines = inspect.getsource(inspect.getmodule(program)).splitlines()
    assert lines[warning.line - 1].strip().startswith(WRONG[program])
    assert len(warning.message) < 400 and all(dim in warning.message for dim in warning.dims)


def test_what_it_says_of_the_weights_is_so():
    scores = torch.randn(2, 5, 5) * 30
    for axis in (-1, -2):
        w = scores.softmax(-1).softmax(axis)
        assert float((w.amax(axis) / w.amin(axis)).max()) <= torch.e + 1e-5


def routed(x):
    chosen, places = (x @ x.mT).softmax(-1).topk(2, -1)
    return chosen.softmax(-1) + places


def both_ways(x):
    s = x @ x.mT
    return (s.softmax(-1) * s.softmax(-2)) @ x


def two_layers(x):
    for _ in range(2):
        x = (x @ x.mT).softmax(-1) @ x
    return x


def of_what_was_mixed(x):
    w = (x @ x.mT).softmax(-1)
    return (w @ w.mT).softmax(-1) @ x


def balanced(x):
    s = x @ x.mT
    for _ in range(3):
        s = s.log_softmax(-1)
        s = s.log_softmax(-2)
    return s.exp().softmax(-1)


def of_no_comparison(x):
    gate = F.linear(x, torch.ones(3, 8)).softmax(-1)
    return gate.softmax(-1)


def sharpened(x):
    w = (x @ x.mT).softmax(-1)
    return (w / 0.1).softmax(-1) @ x


RIGHT = [
    routed, both_ways, two_layers, of_what_was_mixed, balanced, of_no_comparison, sharpened,
]  # fmt: skip


@pytest.mark.parametrize("program", RIGHT, ids=lambda f: f.__name__)
def test_what_may_be_meant_is_left_alone(program):
    found = trace(program, torch.randn(2, 5, 8), dims="batch S n_embd").warnings
    assert [w for w in found if "softmax of" in w.message] == []
