"""What the table folds: rows that repeat up to a number in their names, and no others."""

import re

import pytest
import torch
from torch import nn

from attnlib import trace
from attnlib.tracer.page import html


def folds(result):
    return [line.strip() for line in str(result).splitlines() if "⋮" in line]


class Heads(nn.Module):
    """Queries, keys and values, split by one method; ``used`` are the weights that make them."""

    def __init__(self, used, names=("Wq", "Wk", "Wv")):
        super().__init__()
        self.used = used
        for name in names:
            setattr(self, name, nn.Linear(12, 12))

    def split(self, t):
        b, n, _ = t.shape
        return t.view(b, n, 3, 4).permute(0, 2, 1, 3)

    def maps(self, x):
        return (getattr(self, name)(x) for name in self.used)


class Named(Heads):
    def forward(self, x):
        a, b, c = self.maps(x)
        q, k, v = self.split(a), self.split(b), self.split(c)
        return q, k, v


class Chained(Heads):
    def project(self, layer, x):
        return self.split(layer(x))

    def forward(self, x):
        first, second, third = (getattr(self, name) for name in self.used)
        q, k, v = self.project(first, x), self.project(second, x), self.project(third, x)
        return q, k, v


@pytest.mark.parametrize("kind", [Named, Chained])
@pytest.mark.parametrize("used", [("Wq", "Wk", "Wk"), ("Wk", "Wk", "Wk"), ("Wq", "Wk", "Wv")])
def test_a_helper_called_for_q_k_and_v_is_told_three_times(kind, used):
    result = trace(kind(used), torch.randn(2, 5, 12), dims="batch S n_embd")
    shown = str(result)
    assert "⋮" not in shown and "⋮" not in result.to_markdown() and "⋮" not in html(result)
    made = [re.findall(r"\bW[qkv]\b", line)[0] for line in shown.splitlines() if "linear" in line]
    assert made == [*used]


def test_other_weights_are_no_repeat_though_the_variables_are_the_same():
    class Walk(Heads):
        def forward(self, x):
            for name in self.used:
                x = getattr(self, name)(x).relu()
            return x * 2

    used = ("Wq", "Wk", "Wv", "Wq")
    assert folds(trace(Walk(used), torch.randn(2, 5, 12), dims="batch S n_embd")) == []
    again = trace(Walk(("Wq",) * 4), torch.randn(2, 5, 12), dims="batch S n_embd")
    assert folds(again) == ["⋮  these 2 rows 3 more times"]


@pytest.mark.parametrize(
    ("order", "folded"),
    [
        ((0, 1, 2, 3), ["⋮  these 2 rows 3 more times"]),
        ((3, 2, 1, 0), ["⋮  these 2 rows 3 more times"]),
        ((0, 1, 1, 1), []),  # the second runs again and again: a layer is forgotten
        ((0, 0, 0, 1), []),
    ],
)
def test_numbers_of_layers_count_on_evenly(order, folded):
    layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            for place in order:
                x = self.layers[place](x).relu()
            return x * 2

    shown = folds(trace(Stack(), torch.randn(2, 6), dims="batch n_embd"))
    assert shown == folded


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))

    def forward(self, x):
        y = self.net(x)
        return x + y.tanh()


class Tower(nn.Module):
    """Twelve layers, whose first takes what another variable holds."""

    def __init__(self, many=12):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.blocks = nn.ModuleList(Mlp() for _ in range(many))
        self.stack = nn.Sequential(*self.blocks)

    def forward(self, x):
        h = self.first(x)
        for block in self.blocks:
            h = block(h)
        return h * 2


class Called(Tower):
    def forward(self, x):
        embedded = self.first(x)
        h = self.stack(embedded)
        return h * 2


class Returned(Tower):
    def forward(self, x):
        h = self.first(x) * 2
        for block in self.blocks[:-1]:
            h = block(h)
        return self.blocks[-1](h)


class Renamed(Tower):
    def forward(self, x):
        embedded = self.first(x)
        for place, block in enumerate(self.blocks):
            h = block(h if place else embedded)
        return h * 2


@pytest.mark.parametrize("kind", [Tower, Renamed, Called, Returned])
def test_twelve_layers_fold_whatever_the_first_is_given_and_the_last_gives(kind):
    result = trace(kind(), torch.randn(2, 6), dims="batch n_embd")
    assert len(result.steps) == 2 + 12 * 5 + 1
    assert folds(result) == ["⋮  these 5 rows 11 more times"]


def test_what_lands_in_another_variable_at_last_is_shown():
    block = Mlp()

    def thrice(x):
        a = block(x)
        b = block(x)
        c = block(x)
        return a, b, c

    def loop(x):
        for _ in range(2):
            a = block(x)
        c = block(x)
        return a, c

    x = torch.randn(2, 6)
    assert folds(trace(thrice, x, dims="batch n_embd")) == []
    assert folds(trace(loop, x, dims="batch n_embd")) == ["⋮  these 5 rows 1 more time"]


def test_heads_of_a_loop_fold():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(12, 4) for _ in range(3))

        def forward(self, x):
            q, k, v = self.query(x), self.key(x), self.value(x)
            return (q @ k.mT).softmax(-1) @ v

    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(Head() for _ in range(4))

        def forward(self, x):
            return torch.cat([head(x) for head in self.heads], dim=-1)

    result = trace(Many(), torch.randn(2, 5, 12), dims="batch S n_embd")
    assert folds(result) == ["⋮  these 7 rows 3 more times"]


def test_a_variable_that_a_row_takes_stands_above_it():
    for model in (Tower(), Called(), Renamed(), Returned(), Named(("Wq", "Wk", "Wk"))):
        width = 12 if isinstance(model, Heads) else 6
        result = trace(model, torch.randn(2, 5, width), dims="batch S n_embd")
        made = {step.variable for step in result.steps if step.variable} - {"output"}
        shown = str(result)
        assert all(re.search(rf"^ *\d+  {name} ", shown, re.MULTILINE) for name in made), made


def test_a_number_of_any_length_in_a_name_is_read():
    result = trace(Tower(3), torch.randn(2, 6), dims="batch n_embd")
    data = result.to_dict()
    for step in data["steps"]:
        for info in step["inputs"]:
            info["name"] = info["name"].replace("blocks.", "blocks." + "9" * 5000)
    assert folds(type(result).from_dict(data)) == ["⋮  these 5 rows 2 more times"]
