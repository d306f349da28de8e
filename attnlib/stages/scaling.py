"""Scaling: keep the spread of the scores the same for every head size."""

import math

from jaxtyping import Float
from torch import Tensor

from ..dims import check, check_number, shapes


@shapes()
def scale_scores(
    scores: Float[Tensor, "*batch Sq Sk"], head_size: int | float
) -> Float[Tensor, "*batch Sq Sk"]:
    """Divide by the root of the head size: `scores / sqrt(head_size)`.

    A dot product of H independent numbers of variance 1 has variance H; divided by sqrt(H), 1.

    Shapes: scores (*batch, Sq, Sk) -> the same.
    Units: scores; one more is a factor of e for the weight.
    Raises: ShapeError, DtypeError.
    Example:
        >>> import torch
        >>> scale_scores(torch.tensor([[2.0, 4.0]]), 4)
        tensor([[1., 2.]])

    Source: Vaswani et al. 2017, section 3.2.1; chapter 03.
    """
    check("scale_scores", scores=scores)
    check_number("scale_scores", "head_size", head_size, "positive", lambda n: 0 < n < math.inf)
    return scores / math.sqrt(head_size)
