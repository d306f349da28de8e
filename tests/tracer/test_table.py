"""The table: what it folds, what it says below, and its forms."""

import pytest
import torch
from torch import nn

from attnlib import SelfAttention, trace
from attnlib.tracer.page import html
from attnlib.tracer.table import rows_of
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


class Plus(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.one, self.two = nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        x = x + self.two(self.one(x).relu()).relu()
        return x * 2


def test_the_last_layer_folds_too_and_in_every_form():
    """What the last layer gives lands nowhere, or in another variable."""
    model = nn.Sequential(*(Plus(8) for _ in range(5)))
    result = trace(model, torch.randn(2, 8), dims="batch n_embd")
    fold = "these 6 rows 4 more times"
    assert str(result).splitlines()[-1] == f"   ⋮  {fold}"
    assert result.to_markdown().splitlines()[-1].startswith(f"| ⋮ | {fold} |")
    page = html(result)
    assert page.count("<tr>") == 9 and f"⋮ {fold}" in page


def test_lines_of_several_files_are_told_apart():
    def head(x):
        return SelfAttention(6, 3)(x) * 2

    result = trace(head, torch.randn(1, 4, 6))
    lines = {step.line for step in result.steps if step.file == "modules.py"}
    shown = str(result)
    assert lines and all(f"modules.py:{line}  " in shown for line in lines)
    assert f"test_table.py:{result.steps[0].line}  x " in shown
    assert "modules.py" not in str(trace(SelfAttention(6, 3), torch.randn(1, 4, 6)))


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
    assert "not checked at n_embd = 7: at these sizes on" in str(result)


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
    assert f"warning, line {warning.line}, q @ k: this sums over H and S" in str(result)
    assert max(map(len, str(result).splitlines())) <= 100


def test_a_warning_of_a_layer_by_itself_has_no_line():
    x = torch.randn(2, 5, 16)
    result = trace(torch.nn.MultiheadAttention(16, 4), x, x, x, dims="batch S n_embd")
    (warning,) = result.warnings
    assert warning.line is None
    assert "warning, multi_head_attention_forward: this attends over batch" in str(result)


def test_three_equal_results_are_written_once():
    result = trace(lambda x: x.chunk(3, -1), torch.randn(2, 6), dims="batch C")
    assert "3 × (batch, C//3)" in str(result) or "3 × (batch, 2)" in str(result)


@pytest.mark.filterwarnings("ignore:Implicit dimension")
def test_a_softmax_that_does_not_run_along_the_last_axis_says_so():
    def shares(x):
        return x.softmax(-1), x.softmax(1), x.softmax(-3), torch.nn.functional.softmax(x)

    result = trace(shares, torch.randn(2, 5, 6), dims="batch S H")
    shown = [row["operation"] for row in rows_of(result)[1:]]
    assert shown == ["softmax", "softmax(dim=1)", "softmax(dim=0)", "softmax(dim=0)"]
    assert [step.params["dim"] for step in result.steps[1:]] == [2, 1, 0, 0]  # torch's own choice
