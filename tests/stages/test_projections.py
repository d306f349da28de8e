"""project: against loops and nn.Linear, token by token, and what it refuses."""

import pytest
import torch
from torch import nn

from attnlib import DeviceError, DtypeError, ShapeError, oracle, project

from ..loops import by_loops

WEIGHT = torch.randn(6, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_projects_as_the_loops_do(batch: tuple[int, ...]) -> None:
    x = torch.randn(*batch, 5, 24, dtype=torch.float64)
    expected = by_loops(lambda x: oracle.project(x, WEIGHT.tolist()), x)
    torch.testing.assert_close(project(x, WEIGHT), expected)


def test_adds_the_bias_to_every_token() -> None:
    x, bias = torch.randn(2, 5, 24, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    expected = by_loops(lambda x: oracle.project(x, WEIGHT.tolist(), bias.tolist()), x)
    torch.testing.assert_close(project(x, WEIGHT, bias), expected)


def test_equals_nn_linear_forward_and_backward() -> None:
    layer = nn.Linear(24, 6)
    x = torch.randn(2, 5, 24, requires_grad=True)
    ours = torch.autograd.grad(project(x, layer.weight, layer.bias).square().sum(), x)
    theirs = torch.autograd.grad(layer(x).square().sum(), x)
    torch.testing.assert_close(ours, theirs)


def test_a_square_weight_is_not_transposed() -> None:
    x, weight = torch.eye(4), torch.arange(16.0).reshape(4, 4)
    torch.testing.assert_close(project(x, weight), weight.T)


def test_no_token_sees_another() -> None:
    x, order = torch.randn(2, 5, 24, dtype=torch.float64), torch.tensor([3, 0, 4, 1, 2])
    out = project(x, WEIGHT)
    torch.testing.assert_close(project(x[:, order], WEIGHT), out[:, order])
    changed = x.clone()
    changed[:, 2] += 1
    same = (project(changed, WEIGHT) == out).all(-1)
    assert same.tolist() == [[True, True, False, True, True]] * 2


def test_empty_sequences_project_to_empty_ones() -> None:
    assert project(torch.zeros(2, 0, 24), WEIGHT.float()).shape == (2, 0, 6)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("x", "weight", "bias", "error", "message"),
    [
        (
            torch.zeros(2, 5, 32),
            torch.zeros(16, 24),
            None,
            ShapeError,
            r"project: x has n_embd = 32 but weight has n_embd = 24 \(x is \(batch=2, S=5, "
            r"n_embd=32\), weight is \(H=16, n_embd=24\)\); the weight must be \(H, n_embd\)",
        ),
        (
            torch.zeros(5, 24),
            torch.zeros(16, 24),
            torch.zeros(24),
            ShapeError,
            r"weight has H = 16 but bias has H = 24 .*one number for each row of the weight",
        ),
        (
            torch.zeros(24),
            torch.zeros(16, 24),
            None,
            ShapeError,
            r"x has 1 axes, \(24\), but must be",
        ),
        (torch.zeros(5, 24), torch.zeros(1, 16, 24), None, ShapeError, r"weight has 3 axes"),
        (
            torch.zeros(5, 24, dtype=torch.int64),
            torch.zeros(16, 24),
            None,
            DtypeError,
            r"project: x is torch.int64 of shape \(S=5, n_embd=24\).*x\.float\(\)",
        ),
        (
            torch.zeros(5, 24, dtype=torch.complex64),
            torch.zeros(16, 24),
            None,
            DtypeError,
            r"x is torch.complex64 .*choose x.real or x.abs\(\)",
        ),
        (
            torch.zeros(5, 24).to_sparse(),
            torch.zeros(16, 24),
            None,
            DtypeError,
            r"x is sparse \(5, 24\) but must be dense; convert it with x.to_dense\(\)",
        ),
        ([[1.0]], torch.zeros(16, 24), None, DtypeError, r"x is a list but must be a torch.Tensor"),
        (
            torch.zeros(5, 24),
            torch.zeros(16, 24, dtype=torch.float64),
            None,
            DtypeError,
            r"x is torch.float32 but weight is torch.float64; .*weight.to\(torch.float32\)",
        ),
        (
            torch.zeros(5, 24),
            torch.zeros(16, 24, device="meta"),
            None,
            DeviceError,
            r'x is on cpu but weight is on meta; .*weight.to\("cpu"\)',
        ),
    ],
)
def test_refuses_what_does_not_fit(x, weight, bias, error, message) -> None:
    with pytest.raises(error, match=message):
        project(x, weight, bias)


@pytest.mark.bad_input
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_refuses_nested_tensors(layout: torch.layout) -> None:
    nested = torch.nested.nested_tensor([torch.zeros(3, 24), torch.zeros(5, 24)], layout=layout)
    with pytest.raises(DtypeError, match=r"x is nested .*to_padded_tensor\(x, 0.0\)"):
        project(nested, torch.zeros(16, 24))
