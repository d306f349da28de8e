"""attention: the stages composed, against loops and PyTorch, forward and backward."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnlib import (
    Attended,
    DtypeError,
    MaskError,
    ShapeError,
    attention,
    attention_weights,
    causal_mask,
    oracle,
)

from .loops import by_loops

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.cuda,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
        ],
    ),
]
SIZES = [(2, 5, 7, 6, 3), (2, 4, 4, 4, 4), (1, 1, 1, 1, 1), (3, 1, 7, 2, 5)]  # batch, Sq, Sk, H, Hv


def inputs(*sizes: int, dtype: torch.dtype = torch.float64, device: str = "cpu") -> list[Tensor]:
    """Queries, keys and values (batch, S, H) that record gradients."""
    batch, Sq, Sk, H, Hv = sizes
    shapes = ((batch, Sq, H), (batch, Sk, H), (batch, Sk, Hv))
    return [torch.randn(s, dtype=dtype, device=device, requires_grad=True) for s in shapes]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_attends_as_the_loops_do(sizes: tuple[int, ...], masked: bool) -> None:
    q, k, v = inputs(*sizes)
    may_attend = torch.rand(sizes[0], sizes[1], sizes[2]) > 0.5 if masked else None
    arguments = [t.detach() for t in (q, k, v)] + ([may_attend] if masked else [])
    output = attention(q, k, v, may_attend=may_attend).output
    torch.testing.assert_close(output, by_loops(oracle.attention, *arguments))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_equals_pytorch_forward_and_backward(
    sizes: tuple[int, ...], masked: bool, device: str
) -> None:
    q, k, v = inputs(*sizes, device=device)
    may_attend = causal_mask(sizes[1], sizes[2], device=device) if masked else None
    upstream = torch.randn(sizes[0], sizes[1], sizes[4], dtype=q.dtype, device=device)
    ours = attention(q, k, v, may_attend=may_attend).output
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (q, k, v), upstream),
        torch.autograd.grad(theirs, (q, k, v), upstream),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", DEVICES)
def test_every_dtype_stays_itself_and_near_the_truth(dtype: torch.dtype, device: str) -> None:
    q, k, v = inputs(2, 5, 7, 6, 3, dtype=dtype, device=device)
    mask = causal_mask(5, 7, device=device)
    attended = attention(q, k, v, may_attend=mask)
    assert {t.dtype for t in attended} == {dtype}
    truth = attention(q.double(), k.double(), v.double(), may_attend=mask).output
    loose = {torch.float16: 1e-2, torch.bfloat16: 6e-2}.get(dtype, 1e-5)
    torch.testing.assert_close(attended.output.double(), truth, rtol=loose, atol=loose)
    attended.output.sum().backward()
    assert q.grad.dtype == dtype


def test_meta_tensors_give_shapes_alone() -> None:
    q, k, v = inputs(2, 5, 7, 6, 3, device="meta")
    attended = attention(q, k, v, may_attend=causal_mask(5, 7, device="meta"))
    assert [tuple(t.shape) for t in attended] == [(2, 5, 3), (2, 5, 7), (2, 5, 7)]
    assert {t.device.type for t in attended} == {"meta"}


def test_it_holds_the_weights_and_the_scaled_scores() -> None:
    q, k, v = inputs(2, 5, 7, 6, 3)
    mask = causal_mask(5, 7)
    attended = attention(q, k, v, may_attend=mask)
    assert isinstance(attended, Attended)
    torch.testing.assert_close(attended.scores, q @ k.mT / math.sqrt(6))
    assert attended.scores.isfinite().all()
    masked = attended.scores.masked_fill(~mask, -math.inf)
    torch.testing.assert_close(attended.weights, attention_weights(masked))
    torch.testing.assert_close(attended.output, attended.weights @ v)


@pytest.mark.parametrize("scale", [1.0, 0.3, 2, -1.0, 0.0])
def test_a_scale_multiplies(scale: float) -> None:
    q, k, v = inputs(2, 5, 7, 6, 3)
    attended = attention(q, k, v, scale=scale)
    torch.testing.assert_close(attended.scores, q @ k.mT * scale)
    theirs = F.scaled_dot_product_attention(q, k, v, scale=scale)
    torch.testing.assert_close(attended.output, theirs)


def test_dropout_acts_after_the_weights_are_kept() -> None:
    q, k = torch.zeros(1, 1, 4), torch.zeros(1, 2000, 4)
    attended = attention(q, k, torch.ones(1, 2000, 1), dropout_p=0.25)
    torch.testing.assert_close(attended.weights, torch.full((1, 1, 2000), 1 / 2000))
    kept = attention(q, k, torch.eye(2000)[None], dropout_p=0.25).output * 2000
    dropped, raised = kept.unique()[[0, -1]].tolist()
    assert (dropped, raised) == (0, pytest.approx(4 / 3))
    assert 0.7 < (kept > 0).double().mean() < 0.8


def test_no_query_and_no_key() -> None:
    for sizes in ((2, 0, 7, 6, 3), (0, 5, 7, 6, 3)):
        assert attention(*inputs(*sizes)).output.shape == (sizes[0], sizes[1], 3)
    q, k, v = inputs(2, 5, 0, 6, 3)
    attended = attention(q, k, v)
    assert attended.output.tolist() == [[[0] * 3] * 5] * 2
    attended.output.sum().backward()
    assert q.grad.eq(0).all()


# The laws.


@given(
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=25, deadline=None)
def test_moving_keys_and_values_together_changes_nothing(batch, Sq, Sk, H, random) -> None:
    q, k, v = inputs(batch, Sq, Sk, H, 3)
    order = random.sample(range(Sk), Sk)
    moved = attention(q, k[:, order], v[:, order])
    stayed = attention(q, k, v)
    torch.testing.assert_close(moved.output, stayed.output)
    torch.testing.assert_close(moved.weights, stayed.weights[..., order])


@given(st.integers(2, 6), st.data())
@settings(max_examples=25, deadline=None)
def test_the_future_changes_nothing(S: int, data: st.DataObject) -> None:
    j = data.draw(st.integers(1, S - 1))
    q, k, v = inputs(2, S, S, 4, 3)
    before = attention(q, k, v, may_attend=causal_mask(S)).output
    with torch.no_grad():
        q[:, j], k[:, j], v[:, j] = 5, -7, 9
    after = attention(q, k, v, may_attend=causal_mask(S)).output
    assert torch.equal(before[:, :j], after[:, :j])
    assert not torch.equal(before[:, j], after[:, j])


def test_one_sequence_in_a_batch_is_the_sequence_alone() -> None:
    q, k, v = inputs(3, 5, 7, 6, 4)
    together = attention(q, k, v)
    for i in range(3):
        alone = attention(q[i], k[i], v[i])
        torch.testing.assert_close(together.output[i], alone.output)
        torch.testing.assert_close(together.weights[i], alone.weights)


def test_any_number_of_batch_axes() -> None:
    q, k, v = (t.unflatten(0, (2, 3)) for t in inputs(6, 5, 7, 6, 4))
    flat = attention(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)).output
    torch.testing.assert_close(attention(q, k, v).output.flatten(0, 1), flat)


def test_a_query_that_sees_nothing_gets_zeros_and_gives_finite_gradients() -> None:
    q, k, v = inputs(2, 5, 7, 6, 3)
    may_attend = torch.ones(5, 7, dtype=torch.bool)
    may_attend[2] = False
    attended = attention(q, k, v, may_attend=may_attend)
    assert attended.output[:, 2].eq(0).all()
    grads = torch.autograd.grad(attended.output.square().sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)
    assert grads[0][:, 2].eq(0).all()


def test_gradients_are_right() -> None:
    q, k, v = inputs(2, 3, 4, 2, 3)
    mask = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, may_attend=mask).output

    assert torch.autograd.gradcheck(attend, (q, k, v))


def test_expanded_and_non_contiguous_inputs() -> None:
    q, k, v = torch.randn(5, 2, 6).transpose(0, 1), torch.randn(1, 7, 6), torch.randn(2, 7, 9)
    k, v = k.expand(2, 7, 6), v[..., ::3]
    dense = attention(q.contiguous(), k.contiguous(), v.contiguous())
    torch.testing.assert_close(attention(q, k, v).output, dense.output)


def test_runs_under_vmap_no_grad_and_autocast() -> None:
    q, k, v = (t.detach() for t in inputs(3, 5, 7, 6, 4, dtype=torch.float32))
    mask = causal_mask(5, 7)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, may_attend=mask).output

    expected = attend(q, k, v)
    torch.testing.assert_close(torch.vmap(attend)(q, k, v), expected)
    with torch.no_grad():
        torch.testing.assert_close(attend(q, k, v), expected)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(attend(q, k, v).float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.compiled
def test_compiled_gradients_are_the_same() -> None:
    q, k, v = inputs(2, 5, 7, 6, 3)
    mask = causal_mask(5, 7)
    mask[0] = False

    def loss(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, may_attend=mask).output.square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    ours = torch.autograd.grad(compiled(q, k, v), (q, k, v))
    torch.testing.assert_close(ours, torch.autograd.grad(loss(q, k, v), (q, k, v)))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"v": torch.zeros(2, 5, 3)},
            ShapeError,
            r"k has Sk = 7 but v has Sk = 5 .*one value for each key",
        ),
        ({"k": torch.zeros(2, 7, 4)}, ShapeError, r"attention: q has H = 6 but k has H = 4"),
        (
            {"q": torch.zeros(2, 5, 0), "k": torch.zeros(2, 7, 0)},
            ShapeError,
            "head_size is 0 but must",
        ),
        ({"dropout_p": 1.0}, ShapeError, r"attention: dropout_p is 1.0 but must be in \[0, 1\)"),
        ({"dropout_p": -0.1}, ShapeError, r"dropout_p is -0.1 but must be in \[0, 1\)"),
        ({"dropout_p": math.nan}, ShapeError, r"dropout_p is nan but must be in \[0, 1\)"),
        ({"dropout_p": True}, DtypeError, r"dropout_p is True, a bool, but must be in \[0, 1\)"),
        ({"scale": math.inf}, ShapeError, "scale is inf but must be a finite number"),
        ({"scale": True}, DtypeError, "scale is True, a bool, but must be a finite number"),
        (
            {"may_attend": torch.zeros(5, 7)},
            MaskError,
            "may_attend is torch.float32 .*must be torch.bool",
        ),
        (
            {"may_attend": causal_mask(7, 5)},
            MaskError,
            r"may_attend is \(Sq=7, Sk=5\) but must broadcast",
        ),
        (
            {"q": torch.zeros(2, 5, 6).long()},
            DtypeError,
            r"q is torch.int64 of shape \(batch=2, Sq=5, H=6\)",
        ),
    ],
)
def test_refuses_what_does_not_fit(change, error, message) -> None:
    arguments = {"q": torch.zeros(2, 5, 6), "k": torch.zeros(2, 7, 6), "v": torch.zeros(2, 7, 3)}
    with pytest.raises(error, match=message):
        attention(**(arguments | change))
