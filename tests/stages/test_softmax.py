"""attention_weights and weighted_sum: against loops and PyTorch, blind rows, gradients."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib import ShapeError, attention_weights, oracle, weighted_sum

from ..loops import by_loops

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LOW = -math.inf


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (2, 3, 4, 1), (4, 4, 4)])
def test_weighs_as_the_loops_do(shape: tuple[int, ...]) -> None:
    scores = 3 * torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(
        attention_weights(scores), by_loops(oracle.attention_weights, scores)
    )


scores_of_any_kind = st.lists(
    st.lists(st.floats(-1e3, 1e3) | st.just(LOW), min_size=4, max_size=4), min_size=1, max_size=5
)


@given(scores_of_any_kind)
@settings(max_examples=60, deadline=None)
def test_rows_sum_to_one_or_see_nothing(rows: list[list[float]]) -> None:
    scores = torch.tensor(rows, dtype=torch.float64)
    weights = attention_weights(scores)
    expected = torch.tensor(oracle.attention_weights(rows), dtype=torch.float64)
    torch.testing.assert_close(weights, expected)
    sees = ~scores.isneginf().all(-1)
    torch.testing.assert_close(weights.sum(-1), sees.double())


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_plain_softmax_where_a_row_sees_something(dtype: torch.dtype) -> None:
    scores = torch.randn(2, 5, 7, dtype=dtype).masked_fill(torch.rand(5, 7) > 0.7, LOW)
    scores[..., 0] = 0
    ours, plain = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    upstream = torch.randn(2, 5, 7, dtype=dtype)
    weights, expected = attention_weights(ours), torch.softmax(plain, -1)
    assert weights.dtype == dtype
    assert torch.equal(weights, expected)
    weights.backward(upstream)
    expected.backward(upstream)
    loose = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype, 1e-6)
    torch.testing.assert_close(ours.grad, plain.grad, rtol=loose, atol=loose)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_that_sees_nothing_is_zero_with_zero_gradients(dtype: torch.dtype) -> None:
    scores = torch.tensor([[LOW, LOW, LOW], [0, 1, LOW]], dtype=dtype, requires_grad=True)
    weights = attention_weights(scores)
    assert weights[0].tolist() == [0, 0, 0]
    weights.backward(torch.tensor([[1, 2, 3], [1, 2, 3]], dtype=dtype))
    assert scores.grad[0].tolist() == [0, 0, 0]
    assert scores.grad.isfinite().all()
    assert scores.grad[1, 1] > 0


def test_what_is_no_number_stays_to_be_seen() -> None:
    scores = torch.tensor([[math.nan, LOW], [math.nan, 1], [LOW, LOW], [0, 0]])
    nan = attention_weights(scores).isnan().all(-1)
    assert nan.tolist() == [True, True, False, False]


def test_gradients_are_right_twice() -> None:
    hidden = torch.tensor([[1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)

    def weigh(scores: torch.Tensor) -> torch.Tensor:
        return attention_weights(scores.masked_fill(hidden, LOW))

    scores = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(weigh, scores)
    assert torch.autograd.gradgradcheck(weigh, scores)


def test_large_scores_do_not_overflow() -> None:
    weights = attention_weights(torch.tensor([[1e30, 1e30, -1e30]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]


def test_scores_are_not_written_into() -> None:
    scores = torch.tensor([[LOW, LOW], [0, 1.0]])
    attention_weights(scores)
    assert scores.tolist() == [[LOW, LOW], [0, 1]]


@pytest.mark.parametrize("shape", [(2, 5, 0), (2, 0, 7), (0, 5, 7)])
def test_nothing_to_weigh(shape: tuple[int, ...]) -> None:
    assert attention_weights(torch.zeros(shape)).shape == shape


@pytest.mark.compiled
def test_runs_under_vmap_and_compile() -> None:
    scores = torch.randn(3, 5, 7).masked_fill(torch.rand(3, 5, 7) > 0.6, LOW)
    scores[1, 2] = LOW
    expected = attention_weights(scores)
    assert torch.equal(torch.vmap(attention_weights)(scores), expected)
    compiled = torch.compile(attention_weights, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(scores), expected)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_mixes_as_the_loops_do(batch: tuple[int, ...]) -> None:
    weights = torch.rand(*batch, 5, 7, dtype=torch.float64)
    v = torch.randn(*batch, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(weighted_sum(weights, v), by_loops(oracle.weighted_sum, weights, v))


def test_a_square_is_not_taken_the_other_way() -> None:
    weights = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert weighted_sum(weights, torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[3, 4]] * 2


def test_the_output_lies_between_the_values() -> None:
    v = torch.randn(2, 7, 6)
    output = weighted_sum(attention_weights(torch.randn(2, 5, 7)), v)
    assert (output <= v.amax(1, keepdim=True) + 1e-6).all()
    assert (output >= v.amin(1, keepdim=True) - 1e-6).all()


def test_no_keys_give_zeros() -> None:
    assert weighted_sum(torch.zeros(2, 5, 0), torch.zeros(2, 0, 6)).tolist() == [[[0] * 6] * 5] * 2


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("weights", "v", "message"),
    [
        (
            torch.zeros(2, 5, 7),
            torch.zeros(2, 5, 6),
            r"weighted_sum: weights has Sk = 7 but v has Sk = 5 \(weights is \(batch=2, Sq=5, "
            r"Sk=7\), v is \(batch=2, Sk=5, Hv=6\)\); weights must have one column for each row",
        ),
        (torch.zeros(2, 5, 7), torch.zeros(1, 7, 6), r"weights has batch = 2 but v has batch = 1"),
    ],
)
def test_refuses_values_that_do_not_fit(weights, v, message) -> None:
    with pytest.raises(ShapeError, match=message):
        weighted_sum(weights, v)


@pytest.mark.bad_input
def test_refuses_scores_without_rows() -> None:
    message = r"scores has 1 axes, \(7\), but must be \(\*batch, Sq, Sk\)"
    with pytest.raises(ShapeError, match=message):
        attention_weights(torch.zeros(7))
