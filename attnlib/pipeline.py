"""The pipeline: the stages composed, from queries, keys and values to attended representations."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from .dims import check, check_number, shapes
from .stages import (
    attention_scores,
    attention_weights,
    causal_mask,
    mask_scores,
    scale_scores,
    weighted_sum,
)


class Attended(NamedTuple):
    """Hold what attention gives: the output, and the weights and scores that led to it."""

    output: Tensor  # (*batch, Sq, Hv)
    weights: Tensor  # (*batch, Sq, Sk), before dropout
    scores: Tensor  # (*batch, Sq, Sk), scaled, before the mask


@shapes(
    H="both must come from projections with the same head_size",
    Sk="there must be one value for each key",
)
def attention(
    q: Float[Tensor, "*batch Sq H"],
    k: Float[Tensor, "*batch Sk H"],
    v: Float[Tensor, "*batch Sk Hv"],
    *,
    may_attend: Bool[Tensor, "..."] | None = None,
    scale: int | float | None = None,
    dropout_p: int | float = 0.0,
) -> Attended:
    """Attend: `softmax(q @ k.T * scale, masked) @ v`, scale = 1 / sqrt(H) unless given.

    Shapes: q (*batch, Sq, H), k (*batch, Sk, H), v (*batch, Sk, Hv), may_attend broadcastable to
        (*batch, Sq, Sk) -> output (*batch, Sq, Hv), weights and scores (*batch, Sq, Sk).
    Units: one score more is a factor of e; each row of weights sums to 1 (0 where all is masked).
    Raises: ShapeError, MaskError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> q, k = torch.zeros(1, 4), torch.zeros(2, 4)
        >>> attention(q, k, torch.tensor([[2.0], [4.0]])).output
        tensor([[3.]])

    Source: Vaswani et al. 2017, equation 1; chapter 06.
    """
    check("attention", q=q, k=k, v=v)
    check_number("attention", "dropout_p", dropout_p, "in [0, 1)", lambda p: 0 <= p < 1)
    scores = attention_scores(q, k)
    if scale is None:
        scores = scale_scores(scores, q.shape[-1])
    else:
        check_number("attention", "scale", scale, "a finite number", math.isfinite)
        scores = scores * scale
    masked = scores if may_attend is None else mask_scores(scores, may_attend)
    weights = attention_weights(masked)
    kept = F.dropout(weights, dropout_p) if dropout_p else weights
    return Attended(weighted_sum(kept, v), weights, scores)


def fused_attention(
    q: Float[Tensor, "*batch heads Sq H"],
    k: Float[Tensor, "*batch heads Sk H"],
    v: Float[Tensor, "*batch heads Sk H"],
    *,
    causal: bool = False,
    may_attend: Bool[Tensor, "..."] | None = None,
    dropout_p: int | float = 0.0,
) -> Float[Tensor, "*batch heads Sq H"]:
    """Attend in one kernel, `F.scaled_dot_product_attention`, and build no (Sq, Sk) tensor.

    A causal mask comes from the kernel. It aligns the first query with the first key, attnlib the
    last with the last, so the queries are cut or filled up in front until there are Sk of them.

    Shapes: q (*batch, heads, Sq, H), k and v (*batch, heads, Sk, H), Sk at least 1 -> like q.
    Units: those of v.
    Raises: nothing of its own; the module that calls it has checked its arguments.
    Example:
        >>> q = torch.zeros(1, 1, 1, 4)
        >>> fused_attention(q, torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4), causal=True)
        tensor([[[[1., 1., 1., 1.]]]])

    Source: Dao et al. 2022; chapter 08.
    """
    if q.ndim != 4:  # the kernels that save memory want exactly one batch axis
        return _with_one_batch(q, k, v, causal, may_attend, dropout_p)
    Sq, Sk = q.shape[-2], k.shape[-2]
    if not causal or Sq == 1:  # the last query sees every key, and so does the only one
        return _fused_masked(q, k, v, may_attend, dropout_p)
    if may_attend is not None and may_attend.shape[-2] > 1:
        both = may_attend & causal_mask(Sq, Sk, device=q.device)
        return _fused_masked(q, k, v, both, dropout_p)
    missing = Sk - Sq
    square = F.pad(q, (0, 0, missing, 0)) if missing else q
    if may_attend is None:
        output = F.scaled_dot_product_attention(square, k, v, dropout_p=dropout_p, is_causal=True)
    else:
        output = _fused_causal_padded(square, k, v, may_attend, dropout_p)
    return F.pad(output, (0, 0, -missing, 0)) if missing else output


def _fused_masked(
    q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor | None, dropout_p: int | float
) -> Tensor:
    """Attend under a mask; a query that sees nothing looks at everything instead, and is zeroed."""
    if may_attend is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    sees_nothing = ~may_attend.any(-1, keepdim=True)
    visible = may_attend | sees_nothing
    output = F.scaled_dot_product_attention(q, k, v, visible, dropout_p)
    return output.masked_fill(sees_nothing, 0.0)


def _fused_causal_padded(
    q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor, dropout_p: int | float
) -> Tensor:
    """Attend causally and not to padding: the kernel takes one mask, so padding becomes a feature.

    Each hidden key carries a huge negative number there, each query a 1, and their product drowns
    the score. A query with nothing but padding behind it carries a 0 and is zeroed at the end.
    """
    batch, heads, S, H = q.shape
    may_attend = may_attend.expand(batch, heads, 1, S).transpose(-2, -1)
    sees = may_attend.cumsum(-2) > 0
    drown = torch.zeros_like(may_attend, dtype=k.dtype)
    drown = drown.masked_fill(~may_attend, torch.finfo(k.dtype).min)
    output = F.scaled_dot_product_attention(
        torch.cat([q, sees.to(q.dtype)], -1),
        torch.cat([k, drown], -1),
        F.pad(v, (0, 1)),
        dropout_p=dropout_p,
        is_causal=True,
        scale=1 / math.sqrt(H),
    )
    return output[..., :H].masked_fill(~sees, 0.0)


def _with_one_batch(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, may_attend: Tensor | None, dropout_p: int | float
) -> Tensor:
    batch, each = q.shape[:-3], math.prod(q.shape[:-3])
    q4, k4, v4 = (tensor.reshape(each, *tensor.shape[-3:]) for tensor in (q, k, v))
    if may_attend is not None and may_attend.ndim > 2:
        heads_and_sizes = may_attend.shape[-3:]
        may_attend = may_attend.expand(*batch, *heads_and_sizes).reshape(each, *heads_and_sizes)
    output = fused_attention(q4, k4, v4, causal=causal, may_attend=may_attend, dropout_p=dropout_p)
    return output.reshape(q.shape)
