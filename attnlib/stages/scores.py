"""Scores: every query meets every key in a dot product."""

from jaxtyping import Float
from torch import Tensor

from ..dims import check, shapes


@shapes(H="both must come from projections with the same head_size")
def attention_scores(
    q: Float[Tensor, "*batch Sq H"], k: Float[Tensor, "*batch Sk H"]
) -> Float[Tensor, "*batch Sq Sk"]:
    """Compare every query with every key: `scores[i, j] = sum over d of q[i, d] * k[j, d]`.

    Shapes: q (*batch, Sq, H), k (*batch, Sk, H) -> (*batch, Sq, Sk), a row for each query and a
        column for each key.
    Units: scores, not scaled yet; one more is a factor of e for the weight.
    Raises: ShapeError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> q = torch.tensor([[1.0, 2.0]])
        >>> k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> attention_scores(q, k)
        tensor([[1., 2., 3.]])

    Source: Vaswani et al. 2017, equation 1; chapter 02.
    """
    check("attention_scores", q=q, k=k)
    return q @ k.transpose(-2, -1)
