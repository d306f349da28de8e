"""The head in C++: registered projections, and the same numbers as attnlib."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import native
from attnlib import MultiHeadAttention, SelfAttention, SingleHeadAttention

pytestmark = pytest.mark.timeout(600)  # the compiler runs within the first of them
ALLOWED = {torch.float32: 1e-6, torch.float64: 1e-12}  # of the largest output


@pytest.fixture(scope="session")
def cpp(cpp_folder: Path):
    return native.cpp.operators()


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("S", [1, 5, 8, 16])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ALLOWED)
def test_one_head_gives_the_numbers_of_attnlib(cpp, lead, S, bias, dtype) -> None:
    x = torch.randn(*lead, S, 64, dtype=dtype)
    for kind, causal in ((SelfAttention, False), (SingleHeadAttention, True)):
        head = kind(64, 16, bias=bias).to(dtype)
        output, wanted = cpp.head(x, head.state_dict(), causal), head(x)
        assert (output.shape, output.dtype) == (wanted.shape, dtype)
        assert (output - wanted).abs().max() <= ALLOWED[dtype] * wanted.abs().max()


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("S", [1, 5, 8])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_size", [None, 5])
@pytest.mark.parametrize("dtype", ALLOWED)
def test_many_heads_give_the_numbers_of_attnlib(cpp, lead, S, causal, head_size, dtype) -> None:
    x = torch.randn(*lead, S, 24, dtype=dtype)
    for bias in (False, True):
        layer = MultiHeadAttention(24, 4, head_size=head_size, causal=causal, bias=bias).to(dtype)
        output, wanted = cpp.multi_head(x, layer.state_dict(), 4, causal), layer(x)
        assert (output.shape, output.dtype) == (wanted.shape, dtype)
        assert (output - wanted).abs().max() <= ALLOWED[dtype] * wanted.abs().max()


def test_projections_are_registered_under_the_names_of_python(cpp) -> None:
    names = cpp.registered(24, 4, 5)
    assert names == list(MultiHeadAttention(24, 4, head_size=5).state_dict())


def test_a_state_dict_of_another_module_is_refused(cpp) -> None:
    x, head = torch.randn(5, 24), SelfAttention(24, 6)
    with pytest.raises(RuntimeError, match="the state dict has 4 entries, the module 3"):
        cpp.head(x, {**head.state_dict(), "mask": torch.zeros(8, 8)}, False)
    renamed = {name.replace("value", "v"): part for name, part in head.state_dict().items()}
    with pytest.raises(RuntimeError, match=r"the state dict lacks value.weight"):
        cpp.head(x, renamed, False)
