"""causal_mask and mask_scores: who sees whom, at any pair of lengths, and what they refuse."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib import DtypeError, MaskError, ShapeError, causal_mask, mask_scores, oracle

from ..loops import by_loops

SIZES = st.integers(0, 9)


@given(Sq=SIZES, Sk=SIZES)
@settings(max_examples=60, deadline=None)
def test_query_i_sees_the_keys_up_to_its_own(Sq: int, Sk: int) -> None:
    mask = causal_mask(Sq, Sk)
    assert mask.dtype == torch.bool
    assert mask.shape == (Sq, Sk)
    assert mask.tolist() == oracle.causal_mask(Sq, Sk)


def test_one_length_means_a_square() -> None:
    assert causal_mask(4).tolist() == oracle.causal_mask(4)


def test_the_last_query_sees_every_key() -> None:
    assert causal_mask(3, 7)[-1].all()
    assert causal_mask(7, 3)[-1].all()
    assert not causal_mask(7, 3)[:4].any()


def test_the_mask_lives_where_it_is_asked_to() -> None:
    assert causal_mask(3, device="meta").device.type == "meta"


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_masks_as_the_loops_do(batch: tuple[int, ...]) -> None:
    scores = torch.randn(*batch, 5, 7, dtype=torch.float64)
    may_attend = torch.rand(*batch, 5, 7) > 0.4
    before = scores.clone()
    expected = by_loops(oracle.mask_scores, scores, may_attend)
    torch.testing.assert_close(mask_scores(scores, may_attend), expected)
    torch.testing.assert_close(scores, before)


@pytest.mark.parametrize("shape", [(5, 7), (7,), (), (1, 7), (5, 1), (2, 1, 7), (1, 5, 7)])
def test_a_mask_broadcasts(shape: tuple[int, ...]) -> None:
    scores, may_attend = torch.randn(2, 5, 7), torch.rand(shape) > 0.4
    full = may_attend.expand(2, 5, 7)
    torch.testing.assert_close(mask_scores(scores, may_attend), mask_scores(scores, full))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_hidden_scores_are_minus_infinity_in_every_dtype(dtype: torch.dtype) -> None:
    masked = mask_scores(torch.full((3, 3), -6e4, dtype=dtype), causal_mask(3))
    assert masked.dtype == dtype
    assert masked.isneginf().tolist() == [[False, True, True], [False, False, True], [False] * 3]


def test_hidden_scores_get_no_gradient() -> None:
    scores = torch.randn(3, 3, requires_grad=True)
    mask_scores(scores, causal_mask(3)).tril().sum().backward()
    assert scores.grad.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            torch.zeros(5, 7),
            r"mask_scores: may_attend is torch.float32 of shape \(Sq=5, Sk=7\) but must be "
            r"torch.bool, True = may attend; an additive mask converts with may_attend == 0, "
            r"one of zeros and ones with may_attend.bool\(\)",
        ),
        (torch.ones(5, 7, dtype=torch.int64), r"may_attend is torch.int64 .*may_attend.bool\(\)"),
        (
            torch.ones(5, 7, dtype=torch.bool, device="meta"),
            r'may_attend \(Sq=5, Sk=7\) is on meta but .* on cpu; .*may_attend.to\("cpu"\)',
        ),
        (
            torch.ones(7, 5, dtype=torch.bool),
            r"may_attend is \(Sq=7, Sk=5\) but must broadcast to \(batch=2, Sq=5, Sk=7\)",
        ),
        (torch.ones(3, 5, 7, dtype=torch.bool), r"may_attend is \(batch=3, Sq=5, Sk=7\)"),
        (torch.ones(1, 2, 5, 7, dtype=torch.bool), r"may_attend is \(batch=1×2, Sq=5, Sk=7\)"),
        (torch.ones(0, dtype=torch.bool), r"may_attend is \(Sk=0\)"),
    ],
)
def test_refuses_a_mask_that_does_not_say_what_it_means(mask, message) -> None:
    with pytest.raises(MaskError, match=message):
        mask_scores(torch.zeros(2, 5, 7), mask)


@pytest.mark.bad_input
def test_refuses_a_mask_that_is_no_tensor() -> None:
    with pytest.raises(DtypeError, match=r"may_attend is a list but must be a torch\.Tensor"):
        mask_scores(torch.zeros(1, 2), [[True, False]])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("Sq", "Sk", "error", "message"),
    [
        (-1, None, ShapeError, "causal_mask: Sq is -1 but must be a size, 0 or more"),
        (2, -3, ShapeError, "Sk is -3"),
        (2.0, None, DtypeError, "Sq is 2.0, a float"),
        (2, True, DtypeError, "Sk is True, a bool"),
    ],
)
def test_refuses_lengths_that_are_none(Sq, Sk, error, message) -> None:
    with pytest.raises(error, match=message):
        causal_mask(Sq, Sk)
