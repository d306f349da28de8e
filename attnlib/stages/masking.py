"""Masking: say which query may attend to which key, True = may."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..dims import check, check_mask, check_number, shapes


def causal_mask(
    Sq: int, Sk: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "Sq Sk"]:
    """Let each query attend to itself and to what came before: `j <= Sk - Sq + i`.

    The last query meets the last key and sees every key; with Sq > Sk the first ones see none.

    Shapes: -> (Sq, Sk), Sk = Sq by default.
    Raises: ShapeError, DtypeError.
    Example:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> causal_mask(1, 3)
        tensor([[True, True, True]])

    Source: Vaswani et al. 2017, section 3.2.3; chapter 04.
    """
    Sk = Sq if Sk is None else Sk
    for name, size in (("Sq", Sq), ("Sk", Sk)):
        check_number("causal_mask", name, size, "a size, 0 or more", lambda n: n >= 0, (int,))
    return torch.ones(Sq, Sk, dtype=torch.bool, device=device).tril(Sk - Sq)


@shapes()
def mask_scores(
    scores: Float[Tensor, "*batch Sq Sk"], may_attend: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch Sq Sk"]:
    """Put -inf where a query may not attend: exp(-inf) is 0, so softmax gives those keys no weight.

    Shapes: scores (*batch, Sq, Sk), may_attend broadcastable to it -> (*batch, Sq, Sk).
    Units: scores; one more is a factor of e for the weight.
    Raises: MaskError (not boolean, on another device, does not broadcast), ShapeError, DtypeError.
    Example:
        >>> mask_scores(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), causal_mask(2))
        tensor([[1., -inf],
                [3., 4.]])

    Source: Vaswani et al. 2017, section 3.2.3; chapter 04.
    """
    check("mask_scores", scores=scores)
    check_mask("mask_scores", may_attend, "*batch Sq Sk", scores.shape, scores.device)
    return scores.masked_fill(~may_attend, -math.inf)
