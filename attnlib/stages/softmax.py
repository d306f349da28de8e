"""Softmax: scores become weights, and weights mix the values."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from ..dims import check, shapes


@shapes()
def attention_weights(scores: Float[Tensor, "*batch Sq Sk"]) -> Float[Tensor, "*batch Sq Sk"]:
    """Turn each row of scores into weights: `exp(scores[i, j]) / sum over j of exp(scores[i, j])`.

    A row that is -inf throughout, a query that may attend to nothing, gets zeros and passes zero
    gradients; plain softmax would divide 0 by 0. A NaN stays a NaN: it is a fault to be seen.

    Shapes: scores (*batch, Sq, Sk) -> the same.
    Units: scores in, one more is a factor of e; weights out, each row summing to 1 (or to 0).
    Raises: ShapeError, DtypeError.
    Example:
        >>> low = -math.inf
        >>> attention_weights(torch.tensor([[0.0, 0.0], [low, 0.0], [low, low]]))
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000],
                [0.0000, 0.0000]])

    Source: Vaswani et al. 2017, equation 1; chapter 05.
    """
    check("attention_weights", scores=scores)
    if scores.shape[-1] == 0:  # no keys, so no row has a maximum, and there is nothing to weigh
        return scores
    return _Softmax.apply(scores)


class _Softmax(torch.autograd.Function):
    """Softmax that zeroes the rows of -inf in place, which costs no second (Sq, Sk) tensor."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        sees_nothing = scores.amax(-1, keepdim=True) == -math.inf
        return torch.softmax(scores, -1).masked_fill_(sees_nothing, 0.0)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor], weights: Tensor) -> None:
        ctx.save_for_backward(weights)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        """Apply `d weights[i] / d scores[j] = weights[i] * ((i == j) - weights[j])` in one pass."""
        (weights,) = ctx.saved_tensors
        return torch._softmax_backward_data(grad, weights, -1, weights.dtype)


@shapes(Sk="weights must have one column for each row of v")
def weighted_sum(
    weights: Float[Tensor, "*batch Sq Sk"], v: Float[Tensor, "*batch Sk Hv"]
) -> Float[Tensor, "*batch Sq Hv"]:
    """Mix the values by the weights: `output[i] = sum over j of weights[i, j] * v[j]`.

    Shapes: weights (*batch, Sq, Sk), v (*batch, Sk, Hv) -> (*batch, Sq, Hv), a row for each query.
    Units: those of v.
    Raises: ShapeError, DtypeError, DeviceError.
    Example:
        >>> v = torch.tensor([[2.0, 0.0], [4.0, 8.0]])
        >>> weighted_sum(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), v)
        tensor([[3., 4.],
                [2., 0.]])

    Source: Vaswani et al. 2017, equation 1; chapter 05.
    """
    check("weighted_sum", weights=weights, v=v)
    return weights @ v
