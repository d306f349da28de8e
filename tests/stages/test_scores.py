"""attention_scores: against loops, at different and at colliding sizes, and what it refuses."""

import pytest
import torch

from attnlib import DtypeError, ShapeError, attention_scores, oracle

from ..loops import by_loops


@pytest.mark.parametrize(
    ("batch", "Sq", "Sk", "H"), [((2,), 5, 7, 6), ((), 5, 7, 6), ((2, 3), 4, 1, 6), ((4,), 4, 4, 4)]
)
def test_scores_as_the_loops_do(batch: tuple[int, ...], Sq: int, Sk: int, H: int) -> None:
    q = torch.randn(*batch, Sq, H, dtype=torch.float64)
    k = torch.randn(*batch, Sk, H, dtype=torch.float64)
    scores = attention_scores(q, k)
    assert scores.shape == (*batch, Sq, Sk)
    torch.testing.assert_close(scores, by_loops(oracle.attention_scores, q, k))


def test_gradients_are_right() -> None:
    q = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(attention_scores, (q, k))


def test_sequences_of_a_batch_never_mix() -> None:
    q, k = torch.randn(3, 5, 6), torch.randn(3, 7, 6)
    together = attention_scores(q, k)
    alone = torch.cat([attention_scores(q[i : i + 1], k[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(together, alone)


def test_reads_expanded_and_non_contiguous_tensors() -> None:
    q = torch.randn(1, 6, 5).expand(2, 6, 5).transpose(1, 2)
    k = torch.randn(2, 7, 12)[..., ::2]
    torch.testing.assert_close(
        attention_scores(q, k), attention_scores(q.contiguous(), k.contiguous())
    )


@pytest.mark.parametrize(("Sq", "Sk"), [(0, 7), (5, 0), (0, 0)])
def test_empty_sequences_have_empty_scores(Sq: int, Sk: int) -> None:
    assert attention_scores(torch.zeros(2, Sq, 6), torch.zeros(2, Sk, 6)).shape == (2, Sq, Sk)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("q", "k", "error", "message"),
    [
        (
            torch.zeros(2, 5, 16),
            torch.zeros(2, 7, 8),
            ShapeError,
            r"attention_scores: q has H = 16 but k has H = 8 \(q is \(batch=2, Sq=5, H=16\), "
            r"k is \(batch=2, Sk=7, H=8\)\); both must come from projections with the same head",
        ),
        (
            torch.zeros(2, 5, 8),
            torch.zeros(3, 7, 8),
            ShapeError,
            r"q has batch = 2 but k has batch = 3 .*both must hold the same sequences",
        ),
        (
            torch.zeros(2, 5, 8),
            torch.zeros(7, 8),
            ShapeError,
            r"q has batch = 2 but k has no batch \(q is \(batch=2, Sq=5, H=8\), k is \(Sk=7",
        ),
        (
            torch.zeros(2, 4, 5, 8),
            torch.zeros(2, 3, 7, 8),
            ShapeError,
            r"q has batch = 2×4 but k has batch = 2×3",
        ),
        (
            torch.zeros(5, 8),
            torch.zeros(5, 8).half(),
            DtypeError,
            r"q is torch.float32 but k is torch.float16",
        ),
    ],
)
def test_refuses_what_does_not_fit(q, k, error, message) -> None:
    with pytest.raises(error, match=message):
        attention_scores(q, k)
