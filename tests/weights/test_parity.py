"""Parity sees what shapes cannot: a square weight the wrong way round."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from attnlib import (
    DtypeError,
    MultiHeadAttention,
    SelfAttention,
    ShapeError,
    from_fused,
    from_torch,
    load_qkv,
    parity,
    to_torch,
)


def layer_of(**options) -> MultiHeadAttention:
    return MultiHeadAttention(12, 3, **options).double()


def turned(layer: nn.Module, *names: str) -> nn.Module:
    for name in names:
        linear = getattr(layer, name)
        linear.weight = nn.Parameter(linear.weight.T.clone())
    return layer


def copy_of(layer: nn.Module) -> nn.Module:
    copy = MultiHeadAttention(12, 3).double()
    copy.load_state_dict(layer.state_dict())
    return copy


def original(layer: MultiHeadAttention):
    theirs = to_torch(layer)
    return lambda x: theirs(x, x, x)[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_same_weights_agree_in_every_precision(dtype: torch.dtype) -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=dtype)
    result = parity(from_torch(theirs), lambda x: theirs(x, x, x)[0])
    assert result.agree
    assert result.readings == ()
    assert result.difference <= result.tolerance
    assert str(result).startswith("they agree (largest difference ")


QKV = ("query", "key", "value")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (QKV, "query, key and value transposed"),
        (("out",), "out transposed"),
        ((*QKV, "out"), "query, key and value transposed and out transposed"),
    ],
)
def test_square_weights_the_wrong_way_round_are_named(names: tuple[str, ...], said: str) -> None:
    layer = layer_of()
    result = parity(turned(copy_of(layer), *names), original(layer))
    assert not result.agree
    assert result.readings == (said,)
    assert result.difference > 0.01
    assert f"but agree with {said}" in str(result)


@pytest.mark.parametrize("right", ["in,out", "out,in"])
def test_a_square_fused_weight_the_wrong_way_round_is_named(right: str) -> None:
    fused = torch.randn(36, 36).double()
    layers = {name: from_fused(fused, n_heads=3, layout=name) for name in ("in,out", "out,in")}
    right_one = layers.pop(right)
    (wrong_one,) = layers.values()
    result = parity(wrong_one, right_one)
    assert (result.agree, result.readings) == (False, ("the fused weight transposed",))
    assert parity(right_one, right_one).agree


def test_one_head_read_from_a_square_state_dict() -> None:
    state = {f"{name}.weight": torch.randn(8, 8).double() for name in "QKV"}
    right = load_qkv(state)
    wrong = load_qkv({name: weight.T for name, weight in state.items()})
    assert parity(wrong, right).readings == ("query, key and value transposed",)


def test_another_fault_is_not_called_a_layout() -> None:
    layer = layer_of()
    other = copy_of(layer)
    with torch.no_grad():
        other.key.weight.mul_(2)
    result = parity(other, original(layer))
    assert (result.agree, result.readings) == (False, ())
    assert str(result).endswith("no weight the other way round explains it")


def test_weights_that_are_not_square_are_left_as_they_are() -> None:
    one, other = SelfAttention(12, 5), SelfAttention(12, 5)
    assert parity(one, other).readings == ()


def test_a_difference_just_above_the_tolerance_counts() -> None:
    layer = layer_of()

    def shifted(by: float):
        return lambda x: layer(x) * (1 + by)

    assert parity(layer, shifted(5e-13)).agree
    assert not parity(layer, shifted(5e-12)).agree
    assert not parity(layer, lambda x: layer(x) * float("nan")).agree
    assert not parity(layer.float(), shifted(5e-5)).agree


def test_a_given_x_is_the_one_compared() -> None:
    layer, seen = layer_of(), []

    def reference(x: Tensor) -> Tensor:
        seen.append(x)
        return layer(x)

    x = torch.randn(4, 7, 12).double()
    assert parity(layer, reference, x).agree
    assert seen[0] is x


def test_the_layer_is_left_as_it_was() -> None:
    layer = layer_of()
    before = {name: part.clone() for name, part in layer.state_dict().items()}
    parity(layer, original(turned(copy_of(layer), "out")))
    assert all(torch.equal(part, before[name]) for name, part in layer.state_dict().items())
    assert all(p.grad is None for p in layer.parameters())


@pytest.mark.bad_input
def test_what_cannot_be_compared_is_refused() -> None:
    layer = layer_of()
    theirs = to_torch(layer)
    with pytest.raises(DtypeError, match=r"^parity: reference returns a tuple .*theirs\(x, x, x\)"):
        parity(layer, lambda x: theirs(x, x, x))
    with pytest.raises(DtypeError, match=r"^parity: reference\(x\) is a list"):
        parity(layer, lambda x: [1.0])
    with pytest.raises(ShapeError, match=r"reference gives \(2, 5, 6\) but layer \(2, 5, 12\)"):
        parity(layer, lambda x: layer(x)[..., :6])
    with pytest.raises(DtypeError, match=r"^parity: layer is a Linear but must be one of attnlib"):
        parity(nn.Linear(2, 2), lambda x: x)
    with pytest.raises(ShapeError, match=r"^parity: layer drops 0.5 .*call layer.eval\(\) first"):
        parity(layer_of(dropout=0.5), lambda x: x)
    assert parity(layer_of(dropout=0.5).eval(), lambda x: x).agree is False
