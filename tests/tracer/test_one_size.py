"""A name in a trace is one size: in every row, inside products too, and in the line above them."""

import pytest
import torch
from torch import nn

from attnlib import trace, tracing
from attnlib.tracer.rows import flat
from tests.tracer.clashing_correct import Grouped, scaled, turned
from tests.tracer.correct import SIZES
from tests.tracer.test_correct import ALL


def run(name, sizes):
    fn, inputs, dims = ALL[name](*sizes)
    named, inputs = (inputs, ()) if isinstance(inputs, dict) else ({}, inputs)
    with torch.set_grad_enabled("training" in name):
        return trace(fn, *inputs, kwargs=named, dims=dims), dims


def axes(result):
    """Yield (row, name, size) of every axis that a row shows."""
    for step in flat(result.steps):
        for info in (*step.inputs, *step.outputs):
            for dim, size in zip(info.dims, info.shape, strict=True):
                yield step, dim, size


def unlike(result):
    """Return every axis whose name, worked out as Python would from ``sizes``, is not its size."""
    known = {"__builtins__": {}, **result.sizes}
    return {
        (dim, size)
        for _, dim, size in axes(result)
        if eval(dim, known) != size  # a name without a size raises
    }


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_every_name_of_every_row_is_one_size_and_stands_in_the_head_line(name, sizes):
    result, dims = run(name, sizes)
    assert unlike(result) == set()
    head = str(result).splitlines()[0]
    assert all(f"{word} = {size}" in head for word, size in result.sizes.items())


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_names_that_the_reader_gives_stay(name, sizes):
    result, dims = run(name, sizes)
    every = " ".join([dims] if isinstance(dims, str) else (dims or {}).values()).split()
    inputs = [step.output for step in result.steps if step.kind == "input"]
    given = {inputs[0].name: dims} if isinstance(dims, str) else dims or {}
    for info in inputs:
        words = given.get(info.name, "").split()
        if not words or "..." in words:
            continue  # nobody named these axes
        for word, dim, size in zip(words, info.dims, info.shape, strict=True):
            # one dim may have two names, and where it is 1 a name of any size was given
            assert dim in every or word == "_" or word.isdigit() or size == 1


def shown(result, variable):
    return [step.output.dims for step in result.steps if step.variable == variable]


@pytest.mark.parametrize("helper", [scaled, turned])
def test_two_sizes_that_one_helper_names_go_by_the_names_of_the_constructor(helper):
    model = Grouped(12, 2, helper, helper is turned)
    result = trace(model, torch.randn(2, 5, 12), dims="batch S d")
    assert set(shown(result, "q")) == {("batch", "n_q", "S", "D")}
    by_head = {dims for dims in shown(result, "k") if len(dims) == 4}
    assert by_head == {("batch", "n_kv", "S", "D"), ("batch", "n_q", "S", "D")}
    assert result.sizes == {"batch": 2, "S": 5, "d": 12, "n_q": 4, "n_kv": 2, "D": 4}
    check = result.check(batch=3, S=7)
    assert check and not check.numbers, check


def test_without_another_name_the_first_keeps_it_and_the_others_are_numbers():
    def squared(t):
        rows, columns = t.shape
        return t * t

    def both(x, y):
        return squared(x), squared(y)

    result = trace(both, torch.ones(3, 4), torch.ones(5, 4))
    assert [step.output.dims[0] for step in result.steps] == ["rows", "5", "rows", "5"]
    assert result.sizes == {"rows": 3, "columns": 4}


def test_the_name_that_is_given_stays_where_it_is_given_also_later():
    def squared(t):
        rows, columns = t.shape
        return t * t

    def both(x, y):
        return squared(x), squared(y)

    result = trace(both, torch.ones(3, 4), torch.ones(5, 4), dims={"y": "rows columns"})
    assert [step.output.dims[0] for step in result.steps] == ["3", "rows", "3", "rows"]
    assert result.check(rows=9)


def test_a_product_is_written_with_names_of_one_size():
    def flat_heads(t):
        b, h, n, d = t.shape
        return t.transpose(1, 2).reshape(b, n, h * d)

    def both(q, k):
        return flat_heads(q), flat_heads(k)

    result = trace(both, torch.ones(2, 6, 5, 4), torch.ones(2, 3, 5, 4))
    assert [step.output.dims for step in result.steps if step.op == "reshape"] == [
        ("b", "n", "h*d"), ("b", "n", "12"),
    ]  # fmt: skip
    assert unlike(result) == set()


def test_what_a_name_means_in_a_warning_is_what_it_means_in_the_rows():
    def scores(q, k):
        q, k = scaled(q), scaled(k)
        return q @ k

    given = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 6, 6)
    result = trace(scores, *given, dims=dict.fromkeys("qk", "batch heads S H"))
    (warning,) = result.warnings
    assert set(warning.dims) <= set(result.sizes)


def test_two_dims_of_one_name_that_part_at_other_sizes_are_no_fault_of_the_code():
    """At first both are 5; at 9 tokens the helper's N is two sizes, and the second run says so."""
    latents = torch.randn(5, 4)

    def doubled(t):
        N, C = t.shape
        return t * 2

    def both(x):
        return doubled(x) @ doubled(latents.to(x.device)).mT

    result = trace(both, torch.randn(5, 4))
    check = result.check(N=9)
    assert check, check


def test_a_dim_in_a_product_has_its_size_above_the_rows_and_can_be_asked_for():
    class Folded(nn.Module):
        def __init__(self):
            super().__init__()
            self.nhead, self.dk = 3, 4

        def forward(self, x):
            n, b, d = x.shape
            return x.view(n, b * self.nhead, self.dk).transpose(0, 1)

    result = trace(Folded(), torch.randn(5, 2, 12), dims="S batch d_model")
    assert result.steps[-1].output.dims == ("batch*nhead", "S", "dk")
    assert result.sizes == {"S": 5, "batch": 2, "d_model": 12, "dk": 4, "nhead": 3}
    assert str(result).startswith("Folded: S = 5, batch = 2, d_model = 12, dk = 4, nhead = 3\n")
    assert result.check(nhead=3, S=9)
    assert result.check(nhead=2).reason.startswith("no input has nhead")


def test_a_product_that_the_reader_gives_tells_the_size_of_its_part():
    result = trace(lambda w: w.relu(), torch.ones(36, 12), dims="3*n_embd _")
    assert result.sizes == {"n_embd": 12}


def test_a_name_given_to_the_variable_of_a_loop_stays_in_every_turn_and_has_no_one_size():
    parts = torch.randn(5, 4), torch.randn(3, 4)
    with tracing(dims={"part": "S H"}) as found:
        for part in parts:
            y = part * 2
    assert [step.output.dims for step in found.steps] == [("S", "H"), ("S", "H")]
    assert found.sizes == {"H": 4} and y.shape == (3, 4)
