"""The table: what it folds, what it says below, and its forms."""

import torch
from torch import nn

from attnlib import trace
from tests.tracer.correct import GPT


def test_repeated_layers_fold():
    model = GPT(11, 32, 12, 3, 6)
    result = trace(model, torch.randint(0, 11, (2, 5)), dims="batch S")
    shown = str(result).splitlines()
    (fold,) = (line for line in shown if "⋮" in line)
    assert fold.strip() == "⋮  these 27 rows 5 more times"
    assert len(shown) < 45 and len(result.steps) > 160
    assert sum("softmax" in line for line in shown) == 1


def test_a_loop_of_one_row_folds_and_short_repeats_do_not():
    def loop(x, n):
        for _ in range(n):
            x = x + 1
        return x * 2

    lines = str(trace(loop, torch.ones(2), 9)).splitlines()
    assert [line.strip() for line in lines if "⋮" in line] == ["⋮  this row 8 more times"]
    assert "mul" in lines[-1]
    assert "⋮" not in str(trace(loop, torch.ones(2), 4))


def test_what_was_checked_is_said_below():
    layer = nn.Linear(6, 3)
    result = trace(layer, torch.randn(2, 6), dims="batch n_embd")
    assert "checked" not in str(result)
    result.check(batch=7)
    assert str(result).splitlines()[-2:] == [
        "checked at batch = 7: every row's dims hold",
        "  of another size, and compared: batch",
    ]
    result.check(n_embd=7)
    assert str(result).splitlines()[-1].startswith("not checked at n_embd = 7: at these sizes on")


def test_a_wrong_label_is_a_mismatch():
    def grow(x):
        return x[:, :5].clone()

    result = trace(grow, torch.randn(2, 5), dims="batch S")
    assert result.check(batch=3, S=5)
    result.steps[-1].output.dims = ("batch", "S")  # as a wrong rule would say
    check = result.check(batch=3, S=9)
    assert not check and [m.found for m in check.mismatches] == [(3, 5)]
    assert "should be (3, 9), is (3, 5)" in str(check)


def test_two_names_of_one_dim_are_noted_not_warned_of():
    def scores(q, k):
        return q @ k.mT

    dims = {"q": "batch S d_k", "k": "batch S H"}
    result = trace(scores, torch.randn(2, 5, 4), torch.randn(2, 5, 4), dims=dims)
    assert result.warnings == []
    assert result.steps[-1].note == "d_k and H are two names of one dim"


def test_warnings_stand_below_the_table():
    def scores(q, k):
        return q @ k

    result = trace(
        scores, torch.randn(2, 6, 6), torch.randn(2, 6, 6), dims=dict.fromkeys("qk", "batch S H")
    )
    (warning,) = result.warnings
    assert warning.dims == ("H", "S") and warning.code == "q @ k"
    assert f"warning, line {warning.line}: this sums over H and S" in str(result)


def test_three_equal_results_are_written_once():
    result = trace(lambda x: x.chunk(3, -1), torch.randn(2, 6), dims="batch C")
    assert "3 × (batch, C//3)" in str(result) or "3 × (batch, 2)" in str(result)
