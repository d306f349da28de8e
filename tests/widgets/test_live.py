"""Sliders around a real re-trace: a reader's own function, module and class; no kernel needed."""

import builtins
import json
import math
import re

import pytest
import torch
from torch import nn

import attnlib
from attnlib.widgets import live


class Mine(nn.Module):
    """A reader's own head, without the transpose."""

    def __init__(self, n_embd, width):
        super().__init__()
        if n_embd % width == 0:
            raise AssertionError("the width may not divide n_embd")
        self.query, self.key = nn.Linear(n_embd, width), nn.Linear(n_embd, width)

    def forward(self, x):
        return self.query(x) @ self.key(x) / math.sqrt(3)


def shapes(view) -> list[tuple]:
    return [step.output.shape for step in view.trace.steps if step.output is not None]


def state(view) -> dict:
    """The trace that stands in the output which the reader sees."""
    (shown,) = view.children[2].outputs
    text = re.search(r'<script type="application/json">(.*?)</script>', shown["data"]["text/html"])
    return json.loads(text[1])


def control(view, name: str):
    return next(c for c in view.children[0].children if c.description == name)


def test_a_moved_slider_runs_the_code_again_and_shows_the_new_run():
    calls = []

    def doubled(x):
        calls.append(tuple(x.shape))
        return x * 2

    view = live(doubled, batch=2, S=(1, 8, 3), H=5)
    assert [c.description for c in view.children[0].children] == ["S"], "a number has no slider"
    control(view, "S").value = 7
    assert calls == [(2, 3, 5), (2, 7, 5)]
    assert shapes(view)[-1] == (2, 7, 5)
    assert state(view) == view.trace.to_dict()
    assert state(view)["sizes"] == {"batch": 2, "S": 7, "H": 5}


def test_a_class_is_built_anew_with_what_its_constructor_takes():
    view = live(attnlib.MultiHeadAttention, batch=1, S=(2, 6), n_embd=[12, 24], n_heads=[2, 3])
    control(view, "n_heads").value = 3
    control(view, "n_embd").value = 24
    control(view, "S").value = 5
    layer = attnlib.MultiHeadAttention(24, 3)
    assert shapes(view)[-1] == tuple(layer(torch.ones(1, 5, 24)).shape)
    assert view.trace.steps[0].output.dims == ("batch", "S", "n_embd")


def test_an_illegal_choice_is_said_and_a_legal_one_after_it_shown():
    view = live(attnlib.MultiHeadAttention, batch=1, S=3, n_embd=8, n_heads=[2, 3, 4])
    control(view, "n_heads").value = 3
    assert "8" in view.children[1].value and "3" in view.children[1].value
    assert view.trace is None
    control(view, "n_heads").value = 4
    assert view.children[1].value == ""
    assert shapes(view)[-1] == (1, 3, 8)


def test_a_line_that_fails_at_some_sizes_is_explained_and_warned_of_at_others():
    view = live(Mine, batch=2, S=(3, 6), n_embd=5, width=4)
    assert view.trace.error is not None
    assert state(view)["error"]["message"] == view.trace.error.message
    control(view, "S").value = 4
    assert view.trace.error is None
    assert {"S", "width"} == set(view.trace.warnings[0].dims)


def test_what_the_readers_own_code_says_of_a_choice_is_shown():
    view = live(Mine, batch=2, S=3, n_embd=[5, 8], width=4)
    control(view, "n_embd").value = 8
    assert view.children[1].value == "<pre>AssertionError: the width may not divide n_embd</pre>"


def test_several_tensors_are_named_by_dims():
    def scores(q, k):
        return q @ k.transpose(-2, -1)

    named = {"q": "batch Sq H", "k": "batch Sk H"}
    for dims in (named, dict(reversed(named.items()))):  # in any order
        view = live(scores, dims=dims, batch=2, Sq=(1, 4, 3), Sk=7, H=5)
        control(view, "Sq").value = 4
        assert view.trace.steps[-1].output.dims == ("batch", "Sq", "Sk")
        assert shapes(view)[-1] == (2, 4, 7)


def test_the_same_sizes_give_the_same_numbers_and_leave_the_readers_alone():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    view = live(lambda x: x * 2, S=(2, 4), H=3)
    first = state(view)["steps"][-1]["output"]["values"]
    control(view, "S").value = 4
    control(view, "S").value = 2
    assert state(view)["steps"][-1]["output"]["values"] == first
    assert torch.equal(torch.rand(3), wanted)


def test_an_axis_without_a_size_and_no_ipywidgets_say_what_to_do(monkeypatch):
    with pytest.raises(ValueError, match="dims name H, but no slider or number gives its size"):
        live(lambda x: x, dims="S H", S=(1, 3))
    found = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "ipywidgets":
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="needs ipywidgets; `pip install ipywidgets`"):
        live(lambda x: x, S=3)
