"""One fused matrix in both layouts: exact copies, and a clear no to what cannot be meant."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from attnlib import DtypeError, ShapeError, from_fused

from .layouts import fused_by_columns, fused_by_rows, fused_of, weights_of


@pytest.mark.parametrize("build", [fused_by_columns, fused_by_rows])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_there_and_back_changes_no_bit(build, dtype: torch.dtype) -> None:
    weights = {name: part.to(dtype) for name, part in weights_of(15).items()}
    layer = build(weights)
    layers = (layer.query, layer.key, layer.value)
    assert torch.equal(torch.cat([linear.weight for linear in layers]), fused_of(weights))
    assert torch.equal(torch.cat([linear.bias for linear in layers]), fused_of(weights, " bias"))
    assert torch.equal(layer.out.weight, weights["out"])
    assert torch.equal(layer.out.bias, weights["out bias"])
    assert {parameter.dtype for parameter in layer.parameters()} == {dtype}


def test_the_copy_shares_nothing_and_learns() -> None:
    fused = torch.randn(8, 24, requires_grad=True)
    layer = from_fused(fused, n_heads=2, layout="in,out")
    before = fused.detach().clone()
    layer(torch.randn(2, 5, 8)).sum().backward()
    assert fused.grad is None
    assert all(p.is_leaf and p.grad is not None for p in layer.parameters())
    nn.init.zeros_(layer.query.weight)
    assert torch.equal(fused, before)


def test_without_out_weight_the_heads_lie_side_by_side() -> None:
    layer = from_fused(torch.randn(8, 60), n_heads=2, layout="in,out")
    assert isinstance(layer.out, nn.Identity)
    assert (layer.n_embd, layer.head_size) == (8, 10)
    assert layer(torch.randn(3, 5, 8)).shape == (3, 5, 20)


def test_in_out_is_the_layout_when_none_is_named() -> None:
    fused = torch.randn(8, 24)
    named = from_fused(fused, n_heads=2, layout="in,out")
    assert torch.equal(from_fused(fused, n_heads=2).value.weight, named.value.weight)
    assert torch.equal(named.value.weight, fused[:, 16:].T)


def test_head_size_says_which_way_round_an_unusual_weight_lies() -> None:
    layer = from_fused(torch.randn(72, 24), n_heads=4, layout="in,out", head_size=2)
    assert (layer.n_embd, layer.head_size) == (72, 2)


SQUARE = torch.zeros(12, 12)  # 3 * heads*H = n_embd: both layouts fit


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("weight", "options", "message"),
    [
        (
            torch.zeros(24, 8),  # nn.Linear(8, 24).weight
            {"n_heads": 2, "layout": "in,out"},
            "n_embd = 24 to 8 features, which do not divide by 3 \\* n_heads = 6 .*'out,in'",
        ),
        (
            torch.zeros(8, 24),
            {"n_heads": 2, "layout": "out,in"},
            "n_embd = 24 to 8 features, which do not divide by 3 \\* n_heads = 6 .*'in,out'",
        ),
        (
            torch.zeros(72, 24),
            {"n_heads": 4, "layout": "in,out"},
            r"heads\*H = 8; read the other way round heads\*H = n_embd = 24.*'out,in', or head_siz",
        ),
        (
            torch.zeros(72, 24),
            {"n_heads": 4, "layout": "in,out", "bias": torch.zeros(72)},
            r"bias is \(72,\) but must be \(24,\) where layout='in,out', n_embd = 72, heads = 4 an",
        ),
        (
            torch.zeros(72, 24),
            {"n_heads": 4, "layout": "in,out", "out_weight": torch.zeros(24, 24)},
            r"out_weight is \(24, 24\) but must be \(8, 72\) where layout='in,out'",
        ),
        (
            torch.zeros(8, 60),
            {"n_heads": 2, "layout": "in,out", "out_weight": torch.zeros(8, 20)},
            r"out_weight is \(8, 20\) but must be \(20, 8\) .*check the layout",
        ),
        (
            torch.zeros(8, 24),
            {"n_heads": 2, "head_size": 5},
            r"weight is \(8, 24\) but must be \(8, 30\)",
        ),
        (torch.zeros(8, 25), {"n_heads": 2}, "25 features, which do not .*choose n_heads, or the"),
        (torch.zeros(8, 0), {"n_heads": 2}, "8 to 0 features, which do not divide"),
        (SQUARE, {"n_heads": 2, "out_bias": torch.zeros(12)}, "out_bias came without out_weight"),
        (SQUARE, {"n_heads": 0}, "n_heads is 0 but must be"),
        (SQUARE, {"n_heads": 2, "head_size": 0}, "head_size is 0 but must be"),
        (SQUARE, {"n_heads": 2, "layout": "io"}, "layout is 'io' but must be 'in,out' or 'out,in'"),
        (torch.zeros(12), {"n_heads": 2}, r"weight has 1 axes, \(12\), but must be \(rows, colu"),
    ],
)
def test_a_weight_that_cannot_be_meant_is_refused(
    weight: Tensor, options: dict, message: str
) -> None:
    with pytest.raises(ShapeError, match=f"^from_fused: .*{message}"):
        from_fused(weight, **options)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (torch.zeros(8, 24, dtype=torch.int8), None, "weight is torch.int8"),
        (torch.zeros(8, 24), torch.zeros(24).double(), "bias is torch.float64"),
        ([[0.0]], None, "weight is a list"),
    ],
)
def test_other_kinds_of_numbers_are_refused(weight, bias, message: str) -> None:
    with pytest.raises(DtypeError, match=f"^from_fused: .*{message}"):
        from_fused(weight, bias, n_heads=2)
