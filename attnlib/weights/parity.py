"""Parity: does a layer with carried-over weights give what the original gives?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from ..dims import check_float
from ..errors import DtypeError, ShapeError
from ..modules import MultiHeadAttention, SelfAttention

EXACT = {torch.float64: 1e-12, torch.float32: 1e-5}
QKV = ("query.weight", "key.weight", "value.weight")
OUT = "out.weight"


@dataclass(frozen=True)
class Parity:
    """Say whether two layers agree, and if not, which weights another way round would make them.

    `readings` holds one sentence part for each way of reading the weights under which they agree.
    """

    agree: bool
    difference: float  # the largest, over the largest number of the reference
    tolerance: float
    readings: tuple[str, ...] = ()

    def __str__(self) -> str:
        sizes = f"largest difference {self.difference:.1e} of the largest output"
        if self.agree:
            return f"they agree ({sizes}, {self.tolerance:.0e} allowed)"
        if self.readings:
            return f"they differ ({sizes}) but agree with {' or with '.join(self.readings)}"
        return f"they differ ({sizes}), and no weight the other way round explains it"


def parity(
    layer: SelfAttention | MultiHeadAttention,
    reference: Callable[[Tensor], Tensor],
    x: Tensor | None = None,
) -> Parity:
    """Compare a layer's output with the original's, and try its square weights transposed.

    A matrix that is square has the same shape in both layouts, so that nothing but the numbers
    shows a wrong one. "Parity" is what people call this test when they port weights.

    Shapes: x (*batch, S, n_embd), by default (2, 5, n_embd) of normal numbers; reference(x) has the
        shape of layer(x).
    Units: the difference is relative to the largest number of the reference: 1e-12 is allowed in
        float64, 1e-5 in float32, 16 times the spacing of its numbers near 1 in half precision.
    Raises: ShapeError, DtypeError.
    Example:
        >>> from attnlib import from_fused
        >>> square = torch.randn(12, 12)  # 3 * heads*H = n_embd
        >>> original = from_fused(square, n_heads=2, layout="in,out")
        >>> parity(from_fused(square, n_heads=2, layout="out,in"), original).readings
        ('the fused weight transposed',)

    Source: chapter 07.
    """
    if not isinstance(layer, SelfAttention | MultiHeadAttention):
        kind = type(layer).__name__
        raise DtypeError(f"parity: layer is a {kind} but must be one of attnlib's attention layers")
    if isinstance(layer, MultiHeadAttention) and layer.training and layer.dropout:
        raise ShapeError(
            f"parity: layer drops {layer.dropout} of its weights at random, so that no two runs "
            "agree; call layer.eval() first, and the same for the reference"
        )
    weight = layer.query.weight
    if x is None:
        drawn = torch.randn(2, 5, layer.n_embd, generator=torch.Generator().manual_seed(0))
        x = drawn.to(weight)
    with torch.no_grad():
        wanted, ours = _output(reference, x), layer(x)
        if wanted.shape != ours.shape:
            raise ShapeError(
                f"parity: reference gives {tuple(wanted.shape)} but layer {tuple(ours.shape)} for "
                f"x of shape {tuple(x.shape)}; both must do the same part of the work, with or "
                "without the output projection"
            )
        tolerance = EXACT.get(x.dtype, 16 * torch.finfo(x.dtype).eps)
        difference = _difference(ours, wanted)
        readings = () if difference <= tolerance else tuple(
            name for name, weights in _readings(layer)
            if _difference(functional_call(layer, weights, x), wanted) <= tolerance
        )  # fmt: skip
    return Parity(difference <= tolerance, difference, tolerance, readings)


def _output(reference: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    output = reference(x)
    if isinstance(output, tuple):
        raise DtypeError(
            "parity: reference returns a tuple but must return a torch.Tensor; pass a function "
            "that picks it out, as in lambda x: theirs(x, x, x)[0]"
        )
    check_float("parity", "reference(x)", output)
    return output


def _difference(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference over the largest number; a NaN counts as infinite."""
    if not theirs.numel():
        return 0.0
    largest = theirs.double().abs().max().item()
    apart = (ours.double() - theirs.double()).abs().max().item()
    relative = apart / largest if largest else apart
    return relative if relative == relative else float("inf")


def _readings(
    layer: SelfAttention | MultiHeadAttention,
) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Every other way to read the weights that the shapes allow, most likely first."""
    state = dict(layer.named_parameters())
    fused = torch.cat([state[name] for name in QKV])
    options: list[tuple[str, dict[str, Tensor]]] = [("", {})]
    if fused.shape[0] == fused.shape[1]:
        whole = dict(zip(QKV, fused.T.chunk(3), strict=True))
        options.append(("the fused weight transposed", whole))
    if fused.shape[0] == 3 * fused.shape[1]:
        each = {name: state[name].T for name in QKV}
        options.append(("query, key and value transposed", each))
    out = state.get(OUT)
    square = out is not None and out.shape[0] == out.shape[1]
    for name, weights in options[1:]:
        yield name, weights
    for name, weights in options if square else ():
        both = f"{name} and out transposed" if name else "out transposed"
        yield both, {**weights, OUT: out.T}
