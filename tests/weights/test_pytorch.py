"""Weights carried to and from nn.MultiheadAttention: the same outputs, both ways, or a clear no."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib import (
    DtypeError,
    MultiHeadAttention,
    ShapeError,
    SingleHeadAttention,
    causal_mask,
    from_torch,
    stack,
    to_torch,
)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_from_torch_gives_the_same_outputs_and_weights(bias: bool, batch_first: bool) -> None:
    theirs = nn.MultiheadAttention(24, 4, bias=bias, batch_first=batch_first).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours = from_torch(theirs)
    x, context = torch.randn(2, 5, 24).double(), torch.randn(2, 7, 24).double()
    q, kv = (x, context) if batch_first else (x.transpose(0, 1), context.transpose(0, 1))
    expected, weights = theirs(q, kv, kv, average_attn_weights=False)
    expected = expected if batch_first else expected.transpose(0, 1)
    torch.testing.assert_close(ours(x, context), expected)
    torch.testing.assert_close(ours(x, context, return_weights=True)[1], weights)


@pytest.mark.parametrize("bias", [False, True])
def test_to_torch_gives_the_same_outputs(bias: bool) -> None:
    ours = MultiHeadAttention(24, 4, bias=bias, causal=True).double()
    theirs, x = to_torch(ours), torch.randn(2, 5, 24).double()
    may_not = ~causal_mask(5)
    torch.testing.assert_close(theirs(x, x, x, attn_mask=may_not)[0], ours(x))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_to_torch_gives_the_same_outputs_where_some_biases_are_missing(inside, outside) -> None:
    """As `stack` leaves them, with an output projection put in, and `from_fused` may make them."""
    ours = stack([SingleHeadAttention(24, 6, bias=inside, causal=False) for _ in range(4)]).double()
    ours.out = nn.Linear(24, 24, bias=outside).double()
    theirs, x = to_torch(ours), torch.randn(2, 5, 24).double()
    torch.testing.assert_close(theirs(x, x, x)[0], ours(x))


def test_there_and_back_changes_nothing() -> None:
    ours = MultiHeadAttention(24, 4, dropout=0.25).eval()
    back = from_torch(to_torch(ours))
    torch.testing.assert_close(back.state_dict(), ours.state_dict())
    assert (back.dropout, back.training) == (0.25, False)


def test_the_copy_keeps_dtype_and_mode_and_shares_nothing() -> None:
    theirs = nn.MultiheadAttention(24, 4, dropout=0.5, dtype=torch.bfloat16)
    ours = from_torch(theirs)
    assert {p.dtype for p in ours.parameters()} == {torch.bfloat16}
    assert ours.training
    assert all(p.requires_grad for p in ours.parameters())
    before = theirs.in_proj_weight.detach().clone()
    nn.init.zeros_(ours.query.weight)
    assert torch.equal(theirs.in_proj_weight, before)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kdim": 8}, "kdim = 8"),
        ({"vdim": 8}, "vdim = 8"),
        ({"add_bias_kv": True}, "add_bias_kv"),
        ({"add_zero_attn": True}, "add_zero_attn"),
    ],
)
def test_from_torch_refuses_what_has_no_place_here(options: dict, named: str) -> None:
    with pytest.raises(ShapeError, match=rf"from_torch: layer was built with {named} \(its n_embd"):
        from_torch(nn.MultiheadAttention(24, 4, **options))


def test_to_torch_refuses_what_has_no_place_there() -> None:
    with pytest.raises(
        ShapeError, match=r"to_torch: layer has heads\*H = 20 \(heads=4, H=5\) but n"
    ):
        to_torch(MultiHeadAttention(24, 4, head_size=5))
    without = MultiHeadAttention(24, 4)
    without.out = nn.Identity()
    with pytest.raises(ShapeError, match="to_torch: layer has no output projection"):
        to_torch(without)
    without.out = nn.Linear(24, 7)
    with pytest.raises(ShapeError, match=r"to_torch: layer\.out gives 7 features but n_embd = 24"):
        to_torch(without)


@pytest.mark.bad_input
def test_both_refuse_other_layers() -> None:
    with pytest.raises(
        DtypeError, match=r"from_torch: layer is a Linear but must be a nn.Multihead"
    ):
        from_torch(nn.Linear(2, 2))
    with pytest.raises(DtypeError, match=r"to_torch: layer is a Linear but must be a MultiHeadAtt"):
        to_torch(nn.Linear(2, 2))
