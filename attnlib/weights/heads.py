"""Weights carried between a list of single heads and one layer that holds them side by side."""

from collections.abc import Iterable

import torch
from torch import nn

from ..errors import DtypeError, ShapeError
from ..modules import MultiHeadAttention, SelfAttention, SingleHeadAttention

PROJECTIONS = ("query", "key", "value")


def stack(heads: Iterable[SelfAttention]) -> MultiHeadAttention:
    """Copy single heads into one MultiHeadAttention whose output holds theirs side by side.

    Head h gets the rows h*H to (h + 1)*H of each projection. Single heads have no output
    projection, so `out` is nn.Identity(); put a nn.Linear(heads*H, n_embd) there to mix the heads.

    Shapes: each head (*batch, S, n_embd) -> (*batch, S, H); the layer -> (*batch, S, heads*H).
    Raises: ShapeError (no head, heads that differ, one with a block_size), DtypeError.
    Example:
        >>> heads = [SingleHeadAttention(8, 4) for _ in range(3)]
        >>> x = torch.randn(2, 5, 8)
        >>> apart = torch.cat([head(x) for head in heads], -1)
        >>> torch.allclose(stack(heads)(x), apart, atol=1e-6)
        True

    Source: chapter 07.
    """
    heads = list(heads)
    if not heads:
        raise ShapeError("stack: heads is empty but must hold at least one single head")
    for i, head in enumerate(heads):
        _check_head(i, head, heads[0])
    first = heads[0]
    bias = first.query.bias is not None
    layer = MultiHeadAttention(
        first.n_embd, len(heads), head_size=first.head_size, causal=_causal(first), bias=bias
    )
    layer.out = nn.Identity()
    layer.to(first.query.weight).train(first.training)
    with torch.no_grad():
        for name in PROJECTIONS:
            for target, *parts in zip(
                getattr(layer, name).parameters(),
                *(getattr(head, name).parameters() for head in heads),
                strict=True,
            ):
                target.copy_(torch.cat(parts))
    return layer


def unstack(layer: MultiHeadAttention) -> list[SingleHeadAttention]:
    """Copy a layer without output projection into its single heads; `stack` is the way back.

    An output projection mixes the heads and dropout has no place in a single one: both are refused,
    since the heads could not give the layer back.

    Shapes: query, key, value (heads*H, n_embd) -> heads times (H, n_embd).
    Raises: ShapeError (an `out` other than nn.Identity, dropout), DtypeError.
    Example:
        >>> layer = stack([SingleHeadAttention(8, 4) for _ in range(3)])
        >>> heads = unstack(layer)
        >>> len(heads), torch.equal(heads[1].key.weight, layer.key.weight[4:8])
        (3, True)

    Source: chapter 07.
    """
    if not isinstance(layer, MultiHeadAttention):
        kind = type(layer).__name__
        raise DtypeError(f"unstack: layer is a {kind} but must be a MultiHeadAttention")
    if type(layer.out) is not nn.Identity:
        raise ShapeError(
            f"unstack: layer.out is a {type(layer.out).__name__}, which mixes the heads, so that "
            "single heads cannot give its output back; keep it aside and set layer.out = "
            "nn.Identity() if you want the heads before it"
        )
    if layer.dropout:
        raise ShapeError(
            f"unstack: layer has dropout = {layer.dropout}, for which a single head has no place; "
            "set layer.dropout = 0.0 if the heads may do without"
        )
    return [_head(layer, h) for h in range(layer.n_heads)]


def _head(layer: MultiHeadAttention, h: int) -> SingleHeadAttention:
    bias = layer.query.bias is not None
    head = SingleHeadAttention(layer.n_embd, layer.head_size, causal=layer.causal, bias=bias)
    head.to(layer.query.weight).train(layer.training)
    with torch.no_grad():
        for name in PROJECTIONS:
            pairs = zip(
                getattr(head, name).parameters(), getattr(layer, name).parameters(), strict=True
            )
            for target, whole in pairs:
                target.copy_(whole.chunk(layer.n_heads)[h])
    return head


def _causal(head: SelfAttention) -> bool:
    return isinstance(head, SingleHeadAttention) and head.causal


def _check_head(i: int, head: SelfAttention, first: SelfAttention) -> None:
    """Refuse what is no single head, what the layer has no place for, and what differs."""
    if not isinstance(head, SelfAttention):
        raise DtypeError(
            f"stack: heads[{i}] is a {type(head).__name__} but must be a SelfAttention or a "
            "SingleHeadAttention"
        )
    block_size = getattr(head, "block_size", None)
    if block_size is not None:
        raise ShapeError(
            f"stack: heads[{i}] has block_size = {block_size}, for which MultiHeadAttention has no "
            "place; build the heads without it"
        )
    for what, of in _COMPARED.items():
        if of(head) != of(first):
            raise ShapeError(
                f"stack: heads[{i}] has {what} = {of(head)} but heads[0] has {what} = {of(first)}; "
                "one layer holds heads of one kind only"
            )


_COMPARED = {
    "n_embd": lambda head: head.n_embd,
    "head_size": lambda head: head.head_size,
    "causal": _causal,
    "bias": lambda head: head.query.bias is not None,
    "dtype": lambda head: head.query.weight.dtype,
    "device": lambda head: head.query.weight.device,
}
