"""Weights carried in from `nn.MultiheadAttention`, and out to it."""

import torch
from torch import nn

from ..errors import DtypeError, ShapeError
from ..modules import MultiHeadAttention


def from_torch(layer: nn.MultiheadAttention) -> MultiHeadAttention:
    """Copy a `nn.MultiheadAttention` into a MultiHeadAttention that gives the same outputs.

    PyTorch keeps the three projections in one matrix, query above key above value. Its boolean
    masks mean True = may *not* attend, it averages weights over heads unless told otherwise, and it
    reads (S, batch, n_embd) unless batch_first; the copy reads (batch, S, n_embd) in any case.

    Shapes: in_proj_weight (3 * n_embd, n_embd) -> query, key, value (heads*H = n_embd, n_embd).
    Raises: ShapeError (kdim or vdim of their own, add_bias_kv, add_zero_attn), DtypeError.
    Example:
        >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(3, 5, 8)
        >>> torch.allclose(from_torch(theirs)(x), theirs(x, x, x)[0], atol=1e-6)
        True

    Source: chapter 07.
    """
    if not isinstance(layer, nn.MultiheadAttention):
        kind = type(layer).__name__
        raise DtypeError(f"from_torch: layer is a {kind} but must be a nn.MultiheadAttention")
    n_embd = layer.embed_dim
    refused = {
        f"kdim = {layer.kdim}": layer.kdim != n_embd,
        f"vdim = {layer.vdim}": layer.vdim != n_embd,
        "add_bias_kv": layer.bias_k is not None,
        "add_zero_attn": layer.add_zero_attn,
    }
    for option in (name for name, used in refused.items() if used):
        raise ShapeError(
            f"from_torch: layer was built with {option} (its n_embd is {n_embd}), for which "
            "MultiHeadAttention has no place; build the nn.MultiheadAttention without it"
        )
    bias = layer.in_proj_bias is not None
    copy = MultiHeadAttention(n_embd, layer.num_heads, bias=bias, dropout=layer.dropout)
    copy.to(layer.in_proj_weight).train(layer.training)
    with torch.no_grad():
        for ours, theirs in _pairs(copy, layer):
            ours.copy_(theirs)
    return copy


def to_torch(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    """Copy a MultiHeadAttention into a `nn.MultiheadAttention(batch_first=True)`.

    PyTorch takes the causal mask with each call, so `causal` does not travel: call the copy with
    `attn_mask=~causal_mask(S)`, inverted because True means "may not" there.

    Shapes: query, key, value (heads*H = n_embd, n_embd) -> in_proj_weight (3 * n_embd, n_embd).
    Raises: ShapeError (heads*H is not n_embd, no output projection or one to another width),
        DtypeError.
    Example:
        >>> to_torch(MultiHeadAttention(8, 2)).in_proj_weight.shape
        torch.Size([24, 8])

    Source: chapter 07.
    """
    if not isinstance(layer, MultiHeadAttention):
        kind = type(layer).__name__
        raise DtypeError(f"to_torch: layer is a {kind} but must be a MultiHeadAttention")
    n_embd, inner = layer.n_embd, layer.n_heads * layer.head_size
    if inner != n_embd:
        raise ShapeError(
            f"to_torch: layer has heads*H = {inner} (heads={layer.n_heads}, H={layer.head_size}) "
            f"but n_embd = {n_embd}; nn.MultiheadAttention wants them equal: leave head_size out"
        )
    if not isinstance(layer.out, nn.Linear):
        raise ShapeError(
            "to_torch: layer has no output projection, which nn.MultiheadAttention always has; "
            f"set layer.out to a nn.Linear({n_embd}, {n_embd})"
        )
    if layer.out.out_features != n_embd:
        raise ShapeError(
            f"to_torch: layer.out gives {layer.out.out_features} features but n_embd = {n_embd}, "
            "and nn.MultiheadAttention gives as many as it reads; keep the projection aside"
        )
    # There one option is for all biases; stack and from_fused make layers that have some of them.
    bias = layer.query.bias is not None or layer.out.bias is not None
    copy = nn.MultiheadAttention(n_embd, layer.n_heads, layer.dropout, bias, batch_first=True)
    copy.to(layer.query.weight).train(layer.training)
    with torch.no_grad():
        for ours, theirs in _pairs(layer, copy):
            theirs.copy_(ours)
    return copy


def _pairs(
    ours: MultiHeadAttention, theirs: nn.MultiheadAttention
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Pair each weight and bias of ours with the place that holds it in theirs.

    A bias that ours lacks stays there what it was made as, zeros.
    """
    projections = (ours.query, ours.key, ours.value)
    pairs = list(zip((p.weight for p in projections), theirs.in_proj_weight.chunk(3), strict=True))
    out = ours.out
    assert isinstance(out, nn.Linear)
    pairs.append((out.weight, theirs.out_proj.weight))
    if theirs.in_proj_bias is not None:
        places = (*theirs.in_proj_bias.chunk(3), theirs.out_proj.bias)
        biases = zip((layer.bias for layer in (*projections, out)), places, strict=True)
        pairs += [(bias, place) for bias, place in biases if bias is not None]
    return pairs
