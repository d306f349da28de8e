"""A correction pasted in place of what failed is what was meant, or it is not offered."""

import ast

import pytest
import torch

from attnlib import trace
from attnlib.tracer.explanations.judged import Judge, Trial
from attnlib.tracer.recorder import Recorder
from tests.tracer import misled_raising, pasted_raising, refused_raising, stranger_raising
from tests.tracer.pasting import pasted

MODULES = (pasted_raising, misled_raising, refused_raising, stranger_raising)
PASTED, SILENT, TOLD = (
    {name: kept for module in MODULES for name, kept in getattr(module, held, {}).items()}
    for held in ("PASTED", "SILENT", "TOLD")
)
WRITTEN = refused_raising.WRITTEN


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


@pytest.mark.parametrize("name", TOLD)
def test_what_a_note_says_is_true(name):
    program, shapes, dims, says, never = TOLD[name]
    said = failing(program, shapes, dims).message
    assert [part for part in says if part not in said] == [], said
    assert [part for part in never if part in said] == [], said


@pytest.mark.parametrize("name", WRITTEN)
def test_a_correction_is_written_in_the_names_of_the_code(name):
    program, shapes, dims, written = WRITTEN[name]
    assert failing(program, shapes, dims).suggestion == written


def test_what_torch_says_of_a_size_is_what_it_says_without_a_trace():
    q = torch.randn(3, 4, 5, 6)
    with pytest.raises(TypeError) as plain:
        refused_raising.the_root_of_a_size(q)
    with pytest.raises(TypeError) as traced:
        trace(refused_raising.the_root_of_a_size, q)
    assert str(traced.value) == str(plain.value)


def test_what_is_warned_of_is_not_offered_and_leaves_nothing_behind(monkeypatch):
    """A reshape would run where the view does not: the tracer's own warning speaks against it."""
    program, shapes, dims = SILENT["heads_cut_before_samples"]
    inputs = given(shapes)
    found = trace(program, *inputs, dims=dims, on_error="return")
    assert found.error.suggestion is None and found.warnings == []
    monkeypatch.setattr(Judge, "allows", lambda *_: True)
    again = trace(program, *inputs, dims=dims, on_error="return")
    assert again.error.suggestion == "q.reshape(S, 3, B, 4)"
    assert [step.inputs for step in again.steps] == [step.inputs for step in found.steps]


@pytest.mark.parametrize("name", ["keys_in_the_rows", "nameless_keys_in_the_rows"])
def test_scores_the_other_way_round_are_named_where_they_were_made(name):
    said = failing(*SILENT[name]).message
    assert "the scores should have been q @ k.transpose(-2, -1)" in said and "adds up to 1" in said


def test_weights_that_run_over_heads_are_named_where_they_meet_the_values():
    said = failing(*SILENT["only_values_moved"]).message
    assert "w attends over n_head (axis 2 of (batch, S, n_head, n_head))" in said
    assert "bring n_head before S in q and k, as with transpose(1, 2)" in said


@pytest.mark.parametrize(
    ("name", "what", "along"),
    [
        ("keys_joined_along_heads", "k", "heads (dim=1)"),
        ("values_joined_along_the_batch", "v", "batch (dim=0)"),
        ("keys_joined_along_heads_before_a_library", "k", "heads (dim=1)"),
    ],
)
def test_a_cache_that_was_joined_along_another_axis_is_named_where_it_was(name, what, along):
    said = failing(*SILENT[name]).message
    assert f"joined {what} along {along}: tokens stand along dim=2" in said


def test_a_squeeze_that_took_the_batch_is_named():
    said = failing(*SILENT["a_batch_of_one_squeezed"]).message
    assert "alpha.squeeze() takes away every axis of 1 of alpha (batch=1, S=7, 1)" in said
    assert "also the batch: alpha.squeeze(-1) takes one" in said


def test_tensors_of_a_list_go_by_their_places():
    def stacked(x, y):
        outs = [x, x, y]
        return torch.stack(outs)

    said = failing(stacked, [(2, 7, 4), (2, 7, 5)], {"x": "batch S H"}).message
    assert "axis 2 of outs[0] is H = 4, of outs[2] 5" in said


def over_lines(x):
    return (
        x
        .expand(-1, 3, -1, -1)
        .transpose(1, 2)
        .view(2, 7, 12)
    )  # fmt: skip


def test_a_method_is_no_name():
    """A value that the line does not name goes by what made it, which stands for nothing there."""
    error = failing(over_lines, [(2, 1, 7, 4)], {"x": "batch 1 S H"})
    written = ast.walk(ast.parse(error.suggestion or "x"))
    assert {node.id for node in written if isinstance(node, ast.Name)} == {"x"}


def test_a_correction_that_cannot_be_judged_does_not_take_the_note_away(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a fault of a detector")

    program, _, shapes, dims = PASTED["a_power_of_it"]
    monkeypatch.setattr(Trial, "warnings", broken)
    with pytest.raises(ZeroDivisionError, match="a fault of a detector"):
        failing(program, shapes, dims)
    monkeypatch.setattr(Recorder, "strict", False)
    error = failing(program, shapes, dims)
    assert "the two must be equal" in error.message
    assert error.suggestion == "(q @ k.transpose(-2, -1))"


@pytest.mark.parametrize(("kind", "written"), [
    (misled_raising.Shared, "self.wk(x).view(B, T, self.n_kv_heads, self.head_dim)"),
    (misled_raising.InGroups,
     "keys.reshape(batch, length, self.n_kv_heads, width // self.n_heads)"),
    (misled_raising.Narrow, "self.wk(x).view(B, T, self.n_kv_heads, self.head_dim)"),
])  # fmt: skip
def test_keys_of_fewer_heads_are_viewed_as_their_layer_was_built(kind, written):
    found = trace(kind(24, 4, 2), torch.randn(3, 5, 24), dims="batch S n_embd", on_error="return")
    assert found.error.suggestion == written


def test_a_cache_is_joined_along_its_tokens_whatever_its_heads_are_called():
    dims = {"x": "batch S n_embd", "past_k": "batch heads past H"}
    inputs = torch.randn(3, 5, 24), torch.randn(3, 4, 9, 6)
    error = trace(refused_raising.Cache(24, 4), *inputs, dims=dims, on_error="return").error
    assert error.suggestion == "torch.cat([past_k, k], dim=-2)"
