"""Single heads in one layer and out of it again: no bit changes, or a clear no."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib import (
    DtypeError,
    MultiHeadAttention,
    SelfAttention,
    ShapeError,
    SingleHeadAttention,
    stack,
    unstack,
)


def heads_of(count: int = 3, kind: type = SingleHeadAttention, **options) -> list[SelfAttention]:
    return [kind(12, 4, **options) for _ in range(count)]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_stacked_and_unstacked_changes_no_bit(bias, causal, dtype) -> None:
    heads = [head.to(dtype).eval() for head in heads_of(bias=bias, causal=causal)]
    back = unstack(stack(heads))
    assert len(back) == 3
    for one, other in zip(heads, back, strict=True):
        assert one.state_dict().keys() == other.state_dict().keys()
        assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))
        assert (other.causal, other.training, other.query.weight.dtype) == (causal, False, dtype)


def test_unstacked_and_stacked_changes_no_bit() -> None:
    layer = MultiHeadAttention(12, 3, head_size=5, causal=True)
    layer.out = nn.Identity()
    back = stack(unstack(layer))
    assert back.causal
    assert all(map(torch.equal, layer.state_dict().values(), back.state_dict().values()))


def test_heads_without_a_mask_stay_without() -> None:
    layer = stack(heads_of(kind=SelfAttention))
    assert not layer.causal
    assert [head.causal for head in unstack(layer)] == [False] * 3


def test_the_copies_share_nothing() -> None:
    heads = heads_of()
    layer = stack(heads)
    before = layer.key.weight.detach().clone()
    nn.init.zeros_(heads[1].key.weight)
    nn.init.zeros_(unstack(layer)[2].key.weight)
    assert torch.equal(layer.key.weight, before)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([], "heads is empty"),
        ([*heads_of(1), SingleHeadAttention(12, 5)], r"heads\[1\] has head_size = 5 but heads\[0"),
        ([*heads_of(1), SingleHeadAttention(8, 4)], "has n_embd = 8 but .* n_embd = 12"),
        ([*heads_of(1), *heads_of(1, bias=True)], "has bias = True but"),
        ([*heads_of(1), *heads_of(1, causal=False)], "has causal = False but"),
        ([*heads_of(1), heads_of(1)[0].double()], "has dtype = torch.float64 but"),
        ([*heads_of(1), heads_of(1)[0].to("meta")], "has device = meta but"),
        (heads_of(2, block_size=8), r"heads\[0\] has block_size = 8, for which"),
    ],
)
def test_heads_that_do_not_fit_are_refused(heads: list, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^stack: .*{message}"):
        stack(heads)


def test_a_layer_that_heads_cannot_give_back_is_refused() -> None:
    layer = MultiHeadAttention(12, 3, dropout=0.1)
    with pytest.raises(ShapeError, match=r"^unstack: layer.out is a Linear, which mixes the heads"):
        unstack(layer)
    layer.out = nn.Identity()
    with pytest.raises(ShapeError, match=r"^unstack: layer has dropout = 0.1, for which"):
        unstack(layer)


@pytest.mark.bad_input
def test_other_layers_are_refused() -> None:
    with pytest.raises(DtypeError, match=r"^stack: heads\[0\] is a Linear but must be a SelfAtt"):
        stack([nn.Linear(2, 2)])
    with pytest.raises(DtypeError, match=r"^unstack: layer is a Linear but must be a MultiHead"):
        unstack(nn.Linear(2, 2))
