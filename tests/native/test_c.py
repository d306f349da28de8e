"""The head in C: its own six tests, its memory, and the same numbers as attnlib."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import Tensor

import native
from attnlib import DeviceError, DtypeError, SelfAttention, ShapeError, SingleHeadAttention

pytestmark = pytest.mark.timeout(600)  # the compiler runs within the first of them
ALLOWED = {torch.float32: 1e-6, torch.float64: 1e-12}  # of the largest output
SIX = [
    "passed shape",
    "passed score shape",
    "passed rows sum to 1",
    "passed analytical scaling",
    "passed symmetric scores",
    "passed identity weights give the values",
]


def said(*command: str | Path) -> list[str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize("real", ["float", "double"])
def test_the_six_tests_of_a_head_pass(c_folder: Path, real: str) -> None:
    assert said(c_folder / f"test_{real}") == SIX


@pytest.mark.parametrize("real", ["float", "double"])
def test_memory_is_clean(c_folder: Path, real: str) -> None:
    checked, valgrind = c_folder / f"checked_{real}", shutil.which("valgrind")
    if checked.exists():
        assert said(checked) == SIX
    elif valgrind:
        strict = ("-q", "--error-exitcode=9", "--leak-check=full")
        assert said(valgrind, *strict, c_folder / f"test_{real}") == SIX
    else:
        pytest.skip("neither the compiler's sanitizers nor valgrind are here")


def in_out(head: SelfAttention) -> list[Tensor]:
    return [layer.weight.T for layer in (head.query, head.key, head.value)]


@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 3)])
@pytest.mark.parametrize("S", [1, 5, 8, 16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ALLOWED)
def test_gives_the_numbers_of_attnlib(c_folder, lead, S, causal, dtype) -> None:
    kind = SingleHeadAttention if causal else SelfAttention
    head, x = kind(64, 16).to(dtype), torch.randn(*lead, S, 64, dtype=dtype)
    output, weights = native.c.c_head(x, *in_out(head), causal=causal)
    wanted, wanted_weights = head(x, return_weights=True)
    assert (output.shape, output.dtype) == (wanted.shape, dtype)
    assert (output - wanted).abs().max() <= ALLOWED[dtype] * wanted.abs().max()
    assert (weights - wanted_weights).abs().max() <= ALLOWED[dtype]


def test_strides_are_laid_out_before_c_reads_them(c_folder: Path) -> None:
    head, x = SelfAttention(5, 4).double(), torch.randn(3, 5, 7, dtype=torch.float64)
    turned = x.transpose(-2, -1)  # (batch, S, n_embd) = (3, 7, 5) in another order of memory
    torch.testing.assert_close(native.c.c_head(turned, *in_out(head))[0], head(turned))


def test_nothing_of_the_arguments_is_written(c_folder: Path) -> None:
    x, weight = torch.randn(2, 5, 6), torch.randn(6, 4)
    kept = x.clone(), weight.clone()
    native.c.c_head(x, weight, weight, weight, causal=True)
    assert torch.equal(x, kept[0]) and torch.equal(weight, kept[1])


def test_empty_sequences(c_folder: Path) -> None:
    weight = torch.randn(6, 4)
    for shape in ((2, 0, 6), (0, 5, 6)):
        output, weights = native.c.c_head(torch.zeros(shape), weight, weight, weight)
        assert (output.shape, weights.shape) == ((*shape[:2], 4), (*shape[:2], shape[1]))


def test_xavier_is_uniform_and_the_same_everywhere(c_folder: Path) -> None:
    weight, bound = native.c.xavier(300, 200, seed=1), math.sqrt(6 / 500)
    assert weight.abs().max() <= bound
    assert weight.abs().max() > 0.99 * bound
    spread = weight.std().item()
    assert math.isclose(spread, bound / math.sqrt(3), rel_tol=0.01)
    assert abs(weight.mean().item()) < 0.01 * bound
    assert torch.equal(weight, native.c.xavier(300, 200, seed=1, dtype=torch.float64).float())
    other = native.c.xavier(300, 200, seed=2)
    assert abs(torch.corrcoef(torch.stack([weight.flatten(), other.flatten()]))[0, 1]) < 0.02
    first = native.c.xavier(2, 2, seed=0, dtype=torch.float64).flatten()[:2] / math.sqrt(6 / 4)
    # splitmix64 from 0 begins with 0xe220a8397b1dcdaf and 0x6e789e6aa1b965f4
    wanted = [2 * (n >> 11) / 2**53 - 1 for n in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4)]
    torch.testing.assert_close(first, torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.bad_input
def test_what_c_would_read_past_the_end_of_is_refused(c_folder: Path) -> None:
    x, weight = torch.zeros(2, 5, 6), torch.zeros(6, 4)
    with pytest.raises(ShapeError, match=r"c_head: x has n_embd = 6 but query has n_embd = 4.*T$"):
        native.c.c_head(x, weight.T, weight.T, weight.T)
    with pytest.raises(ShapeError, match="query has H = 4 but value has H = 3"):
        native.c.c_head(x, weight, weight, torch.zeros(6, 3))
    with pytest.raises(DtypeError, match=r"the numbers are torch.float16 but must be"):
        native.c.c_head(x.half(), weight.half(), weight.half(), weight.half())
    far = [tensor.to("meta") for tensor in (x, weight, weight, weight)]
    with pytest.raises(DeviceError, match="c_head: x is on meta but C reads the memory of the CPU"):
        native.c.c_head(*far)
    with pytest.raises(ShapeError, match="xavier: H is 0 but must be"):
        native.c.xavier(5, 0)
