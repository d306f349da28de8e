"""Projections: three linear maps turn each token into a query, a key and a value."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ..dims import check, shapes


@shapes(
    n_embd="the weight must be (H, n_embd), as nn.Linear keeps it: if yours is (in, out), weight.T",
    H="the bias must hold one number for each row of the weight",
)
def project(
    x: Float[Tensor, "*batch S n_embd"],
    weight: Float[Tensor, "H n_embd"],
    bias: Float[Tensor, "H"] | None = None,
) -> Float[Tensor, "*batch S H"]:
    """Project every token by the same weight: `x @ weight.T + bias`.

    Shapes: x (*batch, S, n_embd), weight (H, n_embd), bias (H) -> (*batch, S, H). No token sees
        another here.
    Units: those of x times those of the weight.
    Raises: ShapeError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> project(x, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        tensor([[1., 2., 3.],
                [3., 4., 7.]])

    Source: Vaswani et al. 2017, section 3.2.2; chapter 01.
    """
    check("project", x=x, weight=weight, bias=bias)
    return F.linear(x, weight, bias)
