"""Failing code: the exception stays its own, the explanation is right, the correction runs."""

import contextlib
import inspect
import re
import warnings

import einops
import pytest
import torch
from einops.layers.torch import Rearrange

from attnlib import ShapeError, SingleHeadAttention, Trace, trace
from attnlib.tracer import tracing
from attnlib.tracer.explanations.clash import CLASHES, Candidate
from tests.tracer import (
    blind_raising,
    fresh_raising,
    further_raising,
    outside_raising,
    raising_losses,
    raising_nameless,
    raising_pairs,
    raising_patterns,
    raising_products,
    raising_sequences,
    raising_steps,
    raising_weights,
    unknown_raising,
    unseen_raising,
)
from tests.tracer.pasting import is_one_piece
from tests.tracer.raising import RAISING


@pytest.mark.parametrize("name", RAISING)
def test_the_note_explains(name):
    build, kind, words, suggestion = RAISING[name]
    fn, inputs, dims = build()
    with pytest.raises(kind) as plain:
        fn(*inputs)
    with pytest.raises(kind) as caught:
        trace(fn, *inputs, dims=dims)
    assert str(caught.value) == str(plain.value)  # the code's own exception
    (note,) = caught.value.__notes__
    for word in words:
        assert word in note, note
    error = caught.value.attnlib_trace.error
    assert error.message == note and error.suggestion == suggestion
    assert is_one_piece(error)
    assert f"torch: {str(plain.value).splitlines()[0]}" in note
    lines = inspect.getsource(inspect.getmodule(build)).splitlines()
    assert lines[error.line - 1].strip() in note and "^^^" in note


@pytest.mark.parametrize("name", [name for name, sample in RAISING.items() if sample[3]])
def test_the_suggestion_really_runs(name):
    """Written into the reader's own line, in place of what failed, it gives a tensor."""
    build, kind, _, suggestion = RAISING[name]
    fn, inputs, dims = build()
    found = trace(fn, *inputs, dims=dims, on_error="return")
    step = found.steps[-1]
    assert step.kind == "error" and step.output is None and step.expression in step.code
    function = fn.forward if isinstance(fn, torch.nn.Module) else fn
    names = dict(zip(inspect.signature(function).parameters, inputs, strict=True))
    names |= {"torch": torch, "F": torch.nn.functional, "self": fn, **shapes_of(names)}
    names |= dict(inspect.getclosurevars(function).nonlocals)
    if name in ("mask_on_another_device", "view_without_moving_heads"):
        names |= {"mask": torch.ones(5, 5, dtype=torch.bool), "y": torch.randn(2, 3, 5, 4)}
    assert isinstance(eval(suggestion, names), torch.Tensor)


@pytest.mark.parametrize("name", outside_raising.RAISING)
def test_the_note_explains_what_others_wrote(name):
    sample = outside_raising.RAISING[name]
    fn, inputs, dims = sample.build()
    with pytest.raises(sample.kind, match=r"\w") as caught:
        trace(fn, *inputs, dims=dims)
    (note,) = caught.value.__notes__
    for word in sample.words:
        assert word in note, note
    error = caught.value.attnlib_trace.error
    lines = inspect.getsource(outside_raising).splitlines()
    assert lines[error.line - 1].rstrip().endswith("# raises")
    assert is_one_piece(error)
    if sample.suggestion is None:
        assert error.suggestion is None, error.suggestion
    else:
        assert error.suggestion is not None and sample.suggestion in error.suggestion, note


LATER = {
    f"{module.__name__.rpartition('.')[2]} {name}": sample
    for module in (
        further_raising, blind_raising, raising_products, raising_losses, raising_sequences,
        raising_patterns, raising_pairs, unseen_raising, unknown_raising,
        raising_steps, fresh_raising, raising_nameless,
        raising_weights,
    )
    for name, sample in module.RAISING.items()
}  # fmt: skip


@pytest.mark.parametrize("name", LATER)
def test_the_note_explains_what_was_written_later(name):
    build, kind, words, suggestions = LATER[name]
    fn, inputs, dims = build()
    with pytest.raises(kind, match=r"\w") as caught:
        trace(fn, *inputs, dims=dims)
    (note,) = caught.value.__notes__
    for word in words:
        assert word in note, note
    found = caught.value.attnlib_trace
    assert found.steps[-1].kind == "error" and is_one_piece(found.error)
    if suggestions:
        assert found.error.suggestion, note
        tight = found.error.suggestion.replace(" ", "")
        assert any(part.replace(" ", "") in tight for part in suggestions), note


@pytest.mark.parametrize("name", [name for name, it in raising_steps.RAISING.items() if not it[3]])
def test_where_nothing_tells_what_was_meant_nothing_is_offered(name):
    fn, inputs, dims = raising_steps.RAISING[name][0]()
    assert trace(fn, *inputs, dims=dims, on_error="return").error.suggestion is None


def test_what_torch_warns_of_while_a_correction_is_tried_is_not_passed_on():
    fn, inputs, dims = raising_losses.RAISING["mse_of_two_lengths"][0]()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert trace(fn, *inputs, dims=dims, on_error="return").error
    assert len(heard) == 1  # by the reader's own line


def test_a_correction_shows_the_shape_of_each_of_its_results():
    found = trace(
        lambda x: torch.topk(x, 2, dim=3), torch.randn(2, 5, 8), dims="batch S H", on_error="return"
    )
    assert f"try: {found.error.suggestion}  →  (2, 5, 2), (2, 5, 2)" in found.error.message


def test_what_pack_names_is_counted():
    def fn(x):
        return einops.pack([x], "batch S H width *")

    found = trace(fn, torch.randn(2, 5, 8), dims="batch S H", on_error="return")
    assert "names 4 axes besides *, but a tensor has 3" in found.error.message
    assert found.error.suggestion == 'einops.pack([x], "batch S H *")'


class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.split = Rearrange("b n (h d) -> b h n d", h=5)

    def forward(self, x):
        y = x * 2
        return self.split(y)


def packed(x):
    y = x * 2
    return einops.pack([y], "b n d e *")


def parsed(x):
    y = x * 2
    return einops.rearrange([y, y], "b n (h d) -> b h n d", h=3)


@pytest.mark.parametrize(("fn", "name", "words"), [
    (Heads(), "Rearrange", "divide axis of length 12 in chunks of 5"),
    (packed, "pack", "assumes at least 4 axes"),
    (parsed, "rearrange", "Wrong shape: expected 3 dims. Received 4-dim tensor."),
], ids=["layer", "function", "list"])  # fmt: skip
def test_a_library_that_refuses_its_arguments_is_an_error_row(fn, name, words):
    with pytest.raises(Exception, match=re.escape(words)) as caught:
        trace(fn, torch.randn(2, 7, 12), dims="batch S n_embd")
    found = caught.value.attnlib_trace
    step = found.steps[-1]
    assert (step.kind, step.op, step.index) == ("error", name, len(found.steps))
    assert [info.dims for info in step.inputs] == [("batch", "S", "n_embd")]
    (note,) = caught.value.__notes__
    assert f"{name} failed at" in note and "y (batch=2, S=7, n_embd=12)" in note
    assert type(caught.value).__name__ + ": " in note and words in note
    assert Trace.from_dict(found.to_dict()).steps == found.steps


class Joined(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = torch.nn.Linear(width, width)
        self.net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Linear(4, 4))

    def forward(self, y):
        return self.project(y.transpose(1,2))  # fmt: skip


class Added(Joined):
    def forward(self, y):
        return self.project(y + abs(y))


class Inside(Joined):
    def forward(self, y):
        return self.net(y)


@pytest.mark.parametrize(("module", "shape", "suggestion"), [
    (Joined(12), (2, 3, 5, 4), "self.project(y.transpose(1, 2).flatten(-2))"),
    (Added(12), (2, 3, 5, 4), "self.project((y + abs(y)).transpose(1, 2).flatten(2))"),
    (Inside(12), (2, 4, 6), None),  # what lies between two layers of a Sequential has no name
], ids=["joined", "added", "inside"])  # fmt: skip
def test_a_suggestion_is_code_in_the_readers_own_names(module, shape, suggestion):
    y = torch.randn(shape)
    found = trace(module, y, on_error="return")
    assert found.error.suggestion == suggestion
    if suggestion is not None:
        assert eval(suggestion, {"self": module, "y": y}).shape == (2, shape[2], 12)


@pytest.mark.parametrize(("offered", "shown"), [
    (("q @ k", "q @ k.mT"), "q @ k.mT"),
    (("q @ k", "k @ q"), None),
])  # fmt: skip
def test_of_the_corrections_offered_the_first_that_runs_is_shown(monkeypatch, offered, shown):
    def scores(q, k):
        return q @ k

    monkeypatch.setitem(CLASHES, "matmul", lambda _: ("clash", [*map(Candidate, offered)]))
    found = trace(scores, torch.zeros(2, 5, 3), torch.zeros(2, 4, 3), on_error="return")
    assert found.error.suggestion == shown and ("try:" in found.error.message) == bool(shown)


class Reads(torch.nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.lin = torch.nn.Linear(n_embd, 4)

    def forward(self, y):
        return self.lin(y)


def test_an_axis_that_is_only_as_large_is_not_moved():
    """Tokens that happen to be as many as features are no features."""
    found = trace(Reads(6), torch.randn(2, 6, 5), dims="batch S H", on_error="return")
    assert found.error.suggestion is None and "n_embd = 6" in found.error.message
    found = trace(Reads(6), torch.randn(2, 6, 5), dims="batch n_embd S", on_error="return")
    assert found.error.suggestion == "self.lin(y.transpose(-2, -1))"


def test_the_samples_are_many_and_half_are_from_outside():
    assert len(RAISING) >= 25 and len(outside_raising.RAISING) >= 13
    assert len(further_raising.RAISING) >= 20 and len(blind_raising.RAISING) >= 38


def shapes_of(names):
    y = names.get("y")
    return dict(zip("BhTd", y.shape, strict=True)) if y is not None and y.dim() == 4 else {}


def test_the_trace_up_to_there_is_kept():
    def attend(x):
        y = x * 2
        z = y @ y
        return z

    found = trace(attend, torch.randn(2, 5, 3), dims="batch S H", on_error="return")
    assert [step.variable for step in found.steps] == ["x", "y", "z"]
    assert found.steps[-1].kind == "error" and found.output is None
    assert "try: y @ y.transpose(-2, -1)" in str(found)


def test_an_error_that_the_code_catches_is_a_row():
    def attend(x):
        with contextlib.suppress(RuntimeError):
            x @ x
        return x @ x.mT

    found = trace(attend, torch.randn(2, 5, 3))
    assert [step.kind for step in found.steps] == ["input", "error", "view", "new"]
    assert found.error is None and found.output.shape == (2, 5, 5)


def test_errors_that_are_no_operations_keep_their_place():
    def odd(x):
        y = x + 1
        return y.no_such_thing

    found = trace(odd, torch.ones(2), on_error="return")
    assert "y.no_such_thing" in found.error.message and found.error.suggestion is None
    with pytest.raises(ShapeError, match=r"n_embd = 12") as caught:
        trace(SingleHeadAttention(12, 4), torch.randn(2, 5, 9), dims="batch S n_embd")
    assert "modules.py" in caught.value.__notes__[0]


def test_keyboard_interrupt_passes():
    def stop(x):
        x = x + 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        trace(stop, torch.ones(2), on_error="return")
    with pytest.raises(KeyboardInterrupt, match=r"^$"), tracing():
        raise KeyboardInterrupt


def test_dims_of_a_wrong_count_are_refused():
    with pytest.raises(ShapeError, match=r'"batch S" names 2 axes but x has 3, \(2, 5, 3\)'):
        trace(lambda x: x, torch.ones(2, 5, 3), dims="batch S")
    with pytest.raises(ShapeError, match=r"dims names z, but the tensors that go in are x"):
        trace(lambda x: x, torch.ones(2), dims={"z": "S"})
    step = trace(lambda x: x + 1, torch.ones(4, 2, 5, 3), dims="... S _").steps[-1]
    assert step.output.dims == ("4", "2", "S", "3")


@pytest.mark.parametrize("name", raising_weights.RAISING)
def test_no_advice_is_given_that_the_code_follows_already(name):
    fn, inputs, dims = raising_weights.RAISING[name][0]()
    error = trace(fn, *inputs, dims=dims, on_error="return").error
    told = error.message.replace(" ", "")
    code = inspect.getsource(fn).replace(" ", "")
    for advised in ("q@k.transpose(-2,-1)", "query@key.transpose(-2,-1)"):
        assert not (advised in told and advised in code), error.message
    if not name.startswith("features"):
        assert "compares features" not in error.message
