"""scale_scores: against the root by hand, what it does to the spread, and what it refuses."""

import math

import pytest
import torch

from attnlib import DtypeError, ShapeError, attention_scores, oracle, scale_scores

from ..loops import by_loops


@pytest.mark.parametrize("head_size", [1, 6, 7, 64, 2.5])
def test_divides_by_the_root_of_the_head_size(head_size: float) -> None:
    scores = torch.randn(2, 5, 7, dtype=torch.float64)
    expected = by_loops(oracle.scale_scores, scores, head_size)
    torch.testing.assert_close(scale_scores(scores, head_size), expected)
    torch.testing.assert_close(scale_scores(scores, head_size), scores / head_size**0.5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_keeps_the_dtype(dtype: torch.dtype) -> None:
    assert scale_scores(torch.ones(2, 3, dtype=dtype), 4).dtype == dtype


@pytest.mark.parametrize("head_size", [16, 256])
def test_unit_variance_stays_unit_variance(head_size: int) -> None:
    scores = attention_scores(torch.randn(200, head_size), torch.randn(200, head_size))
    assert scale_scores(scores, head_size).std().item() == pytest.approx(1, abs=0.1)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("head_size", "error", "message"),
    [
        (0, ShapeError, "scale_scores: head_size is 0 but must be positive"),
        (-4, ShapeError, "head_size is -4 but must be positive"),
        (math.inf, ShapeError, "head_size is inf but must be positive"),
        (math.nan, ShapeError, "head_size is nan but must be positive"),
        (True, DtypeError, "head_size is True, a bool, but must be positive"),
        ("4", DtypeError, "head_size is '4', a str"),
    ],
)
def test_refuses_a_head_size_without_a_root(head_size, error, message) -> None:
    with pytest.raises(error, match=message):
        scale_scores(torch.zeros(2, 3), head_size)


@pytest.mark.bad_input
def test_refuses_scores_of_whole_numbers() -> None:
    with pytest.raises(DtypeError, match=r"scores is torch.int64 of shape \(Sq=2, Sk=3\)"):
        scale_scores(torch.zeros(2, 3, dtype=torch.int64), 4)
