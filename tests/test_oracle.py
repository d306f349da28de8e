"""The loops are right: against numbers done by hand, math.exp and PyTorch's attention."""

import math

import pytest
import torch
import torch.nn.functional as F

from attnlib import oracle


def test_the_worked_example_of_the_mask_comes_out() -> None:
    scores = [[0.5, 0, 0, 0], [0.2, 0.7, 0, 0], [0.9, 0.1, 0.5, 0], [0.4, 0.8, 0.2, 0.7]]
    weights = oracle.attention_weights(oracle.mask_scores(scores, oracle.causal_mask(4)))
    rounded = [[round(weight, 3) for weight in row] for row in weights]
    assert rounded == [
        [1, 0, 0, 0],
        [0.378, 0.622, 0, 0],
        [0.472, 0.212, 0.316, 0],
        [0.215, 0.320, 0.176, 0.290],
    ]


@pytest.mark.parametrize("x", [0.0, -1e-9, -1.0, -37.5, -300.0, -700.0])
def test_the_power_is_the_exponential(x: float) -> None:
    assert oracle.E**x == pytest.approx(math.exp(x), rel=1e-13)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_pytorch(causal: bool) -> None:
    q, k, v = torch.randn(5, 6), torch.randn(5, 6), torch.randn(5, 6)
    q, k, v = q.double(), k.double(), v.double()
    mask = oracle.causal_mask(5) if causal else None
    ours = oracle.attention(q.tolist(), k.tolist(), v.tolist(), mask)
    theirs = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]
    torch.testing.assert_close(torch.tensor(ours, dtype=torch.float64), theirs)


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    output = oracle.attention([[1.0]], [[1.0], [2.0]], [[3.0], [4.0]], [[False, False]])
    assert output == [[0.0]]


def test_heads_are_taken_apart_and_put_together() -> None:
    x = torch.randn(5, 24).tolist()
    assert oracle.merge_heads(oracle.split_heads(x, 4)) == x
    assert oracle.split_heads(x, 4)[1][2] == x[2][6:12]
