"""Heads: cut the features into heads that attend side by side, and put them together again."""

from jaxtyping import Float
from torch import Tensor

from ..dims import check, check_size, shape_text, shapes
from ..errors import ShapeError


@shapes()
def split_heads(
    x: Float[Tensor, "*batch S n_embd"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} S H"]:
    """Give head h the features h*H to (h + 1)*H: view as (S, heads, H), then swap S and heads.

    Shapes: x (*batch, S, heads*H) -> (*batch, heads, S, H), a view of the same memory.
    Raises: ShapeError (the features do not divide by n_heads), DtypeError.
    Example:
        >>> import torch
        >>> split_heads(torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8.0]]), 2)
        tensor([[[1., 2.],
                 [5., 6.]],
        <BLANKLINE>
                [[3., 4.],
                 [7., 8.]]])

    Source: Vaswani et al. 2017, section 3.2.2; chapter 07.
    """
    check("split_heads", x=x)
    check_size("split_heads", "n_heads", n_heads)
    if x.shape[-1] % n_heads:
        raise ShapeError(
            f"split_heads: x has {x.shape[-1]} features (x is "
            f"{shape_text(('*batch', 'S', 'heads*H'), x.shape)}), which do not divide by "
            f"n_heads = {n_heads}; project to a multiple of n_heads first"
        )
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(-3, -2)


@shapes()
def merge_heads(x: Float[Tensor, "*batch heads S H"]) -> Float[Tensor, "*batch S heads*H"]:
    """Put the heads of each token side by side again: swap heads and S back, then flatten.

    Shapes: x (*batch, heads, S, H) -> (*batch, S, heads*H), a copy where the memory order differs.
    Raises: ShapeError, DtypeError.
    Example:
        >>> import torch
        >>> merge_heads(torch.tensor([[[1, 2], [5, 6]], [[3, 4], [7, 8.0]]]))
        tensor([[1., 2., 3., 4.],
                [5., 6., 7., 8.]])

    Source: Vaswani et al. 2017, section 3.2.2; chapter 07.
    """
    check("merge_heads", x=x)
    return x.transpose(-3, -2).flatten(-2)
