"""Weights carried in from one fused matrix that holds query, key and value side by side."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..dims import check, check_size, shapes
from ..errors import ShapeError
from ..modules import MultiHeadAttention

Layout = Literal["in,out", "out,in"]


@shapes()
def from_fused(
    weight: Float[Tensor, "rows columns"],
    bias: Float[Tensor, "qkv"] | None = None,
    *,
    n_heads: int,
    layout: Layout = "in,out",
    head_size: int | None = None,
    out_weight: Float[Tensor, "out_rows out_columns"] | None = None,
    out_bias: Float[Tensor, "n_embd"] | None = None,
) -> MultiHeadAttention:
    """Copy a fused weight, query then key then value, into a MultiHeadAttention.

    `layout` says which way round the weights are: "in,out" computes `x @ weight` (GPT-2, and texts
    that write X W), "out,in" computes `x @ weight.T`, as nn.Linear does; out_weight follows it too.
    A wrong one is refused where shapes tell; a square weight hides it, and `parity` then shows it.

    Shapes: weight (n_embd, 3 * heads*H) for "in,out", (3 * heads*H, n_embd) for "out,in"; bias
        (3 * heads*H); out_weight (heads*H, n_embd) or (n_embd, heads*H); out_bias (n_embd). Without
        out_weight the layer's `out` is nn.Identity() and its output (*batch, S, heads*H).
        head_size=None reads H from the weight.
    Raises: ShapeError, DtypeError, DeviceError.
    Example:
        >>> fused = nn.Linear(8, 24)
        >>> layer = from_fused(fused.weight, fused.bias, n_heads=2, layout="out,in")
        >>> layer(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
        >>> torch.equal(layer.key.weight, fused.weight[8:16])
        True

    Source: chapter 07.
    """
    check("from_fused", weight=weight, bias=bias, out_weight=out_weight, out_bias=out_bias)
    check_size("from_fused", "n_heads", n_heads)
    if layout not in ("in,out", "out,in"):
        raise ShapeError(f"from_fused: layout is {layout!r} but must be 'in,out' or 'out,in'")
    by_rows = weight.T if layout == "in,out" else weight
    decided = bias is not None or out_weight is not None
    H = _head_size(by_rows, n_heads, layout, decided) if head_size is None else head_size
    check_size("from_fused", "head_size", H)
    given = {"weight": weight, "bias": bias, "out_weight": out_weight, "out_bias": out_bias}
    _check_parts(given, by_rows.shape[1], n_heads, H, layout)
    layer = MultiHeadAttention(by_rows.shape[1], n_heads, head_size=H, bias=bias is not None)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    parts = [*zip((layer.query, layer.key, layer.value), by_rows.chunk(3), biases, strict=True)]
    layer.out = nn.Identity()
    if out_weight is not None:
        out_rows = out_weight.T if layout == "in,out" else out_weight
        n_embd, inner = out_rows.shape
        layer.out = out = nn.Linear(inner, n_embd, bias=out_bias is not None)
        parts.append((out, out_rows, out_bias))
    layer.to(weight)
    with torch.no_grad():
        for linear, rows, shift in parts:
            linear.weight.copy_(rows)
            if shift is not None:
                linear.bias.copy_(shift)
    return layer


def _head_size(by_rows: Tensor, n_heads: int, layout: Layout, decided: bool) -> int:
    """Read H from a weight (3 * heads*H, n_embd), and refuse what only the other layout explains.

    `decided` tells that a bias or an out_weight will say which way round it is.
    """
    three, n_embd = by_rows.shape
    other = "out,in" if layout == "in,out" else "in,out"
    usual = n_embd == 3 * three and three % n_heads == 0  # heads*H = n_embd the other way round
    came = f"weight, read as layout={layout!r}, goes from n_embd = {n_embd} to {three} features"
    if three % (3 * n_heads) or three == 0:
        cure = f"pass layout={other!r}" if usual else "choose n_heads, or the layout, that fits"
        raise ShapeError(
            f"from_fused: {came}, which do not divide by 3 * n_heads = {3 * n_heads} (query, key "
            f"and value of every head); {cure}"
        )
    H = three // (3 * n_heads)
    if usual and not decided:
        raise ShapeError(
            f"from_fused: {came}, so that heads*H = {three // 3}; read the other way round heads*H "
            f"= n_embd = {three}, as nearly every layer has it: pass layout={other!r}, or "
            f"head_size={H} if the weight is meant so"
        )
    return H


def _check_parts(
    given: dict[str, Tensor | None], n_embd: int, n_heads: int, head_size: int, layout: Layout
) -> None:
    """Refuse parts that belong to a layer of another size, or lie the other way round."""
    inner, way = n_heads * head_size, -1 if layout == "in,out" else 1
    wanted: dict[str, tuple[int, ...]] = {
        "weight": (3 * inner, n_embd)[::way],
        "bias": (3 * inner,),
        "out_weight": (n_embd, inner)[::way],
        "out_bias": (n_embd,),
    }
    for name, part in given.items():
        if part is not None and tuple(part.shape) != wanted[name]:
            raise ShapeError(
                f"from_fused: {name} is {tuple(part.shape)} but must be {wanted[name]} where "
                f"layout={layout!r}, n_embd = {n_embd}, heads = {n_heads} and H = {head_size}; "
                "check the layout: 'in,out' computes x @ weight, 'out,in' is nn.Linear's"
            )
    if given["out_bias"] is not None and given["out_weight"] is None:
        raise ShapeError("from_fused: out_bias came without out_weight; pass both, or neither")
