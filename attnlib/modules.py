"""The modules: attention as layers, written so that forward reads like the book."""

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from .dims import check, check_mask, check_number, check_size, shapes
from .errors import ShapeError
from .pipeline import fused_attention
from .stages import (
    attention_weights,
    causal_mask,
    mask_scores,
    merge_heads,
    scale_scores,
    split_heads,
)


class SelfAttention(nn.Module):
    """Let each token of a sequence attend to every token: one head, no mask of its own.

    Shapes: x (*batch, S, n_embd) -> (*batch, S, H); with a context (*batch, Sk, n_embd), keys and
        values come from there. head_size=None means H = n_embd.
    Units: H * n_embd numbers in each of query, key and value (and H more with bias).
    Raises: ShapeError, MaskError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> head = SelfAttention(64, 16)
        >>> head(torch.randn(2, 8, 64)).shape
        torch.Size([2, 8, 16])
        >>> sum(p.numel() for p in head.parameters())
        3072

    Source: Vaswani et al. 2017, equation 1; chapter 06.
    """

    def __init__(self, n_embd: int, head_size: int | None = None, *, bias: bool = False):
        super().__init__()
        owner = type(self).__name__
        check_size(owner, "n_embd", n_embd)
        head_size = n_embd if head_size is None else head_size
        check_size(owner, "head_size", head_size)
        self.n_embd = n_embd
        self.head_size = head_size
        self.query = nn.Linear(n_embd, head_size, bias=bias)
        self.key = nn.Linear(n_embd, head_size, bias=bias)
        self.value = nn.Linear(n_embd, head_size, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch S n_embd"],
        context: Float[Tensor, "*batch Sk n_embd"] | None = None,
        *,
        may_attend: Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from the tokens of x to those of the context, by default x itself."""
        _check_inputs(self, x, context, may_attend)
        source = x if context is None else context
        q = self.query(x)
        k = self.key(source)
        v = self.value(source)
        scores = q @ k.transpose(-2, -1)
        scaled = scale_scores(scores, self.head_size)
        masked = scaled if may_attend is None else mask_scores(scaled, may_attend)
        weights = attention_weights(masked)
        output = weights @ v
        return (output, weights) if return_weights else output


class SingleHeadAttention(SelfAttention):
    """Let each token attend to itself and to those before it: one head, causal unless told not.

    Shapes: x (*batch, S, n_embd) -> (*batch, S, H); with a context (*batch, Sk, n_embd) the last
        query sees every key. block_size keeps a mask for at most that many tokens in the buffer
        `mask`, which moves with the module and stays out of its state dict.
    Units: H * n_embd numbers in each of query, key and value (and H more with bias).
    Raises: ShapeError, MaskError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> head = SingleHeadAttention(64, 16)
        >>> output, weights = head(torch.randn(2, 8, 64), return_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([2, 8, 16]), torch.Size([2, 8, 8]))
        >>> weights[0, 0, :3].tolist()
        [1.0, 0.0, 0.0]

    Source: Vaswani et al. 2017, section 3.2.3; chapter 06.
    """

    mask: Tensor | None

    def __init__(
        self,
        n_embd: int,
        head_size: int,
        *,
        causal: bool = True,
        bias: bool = False,
        block_size: int | None = None,
    ):
        super().__init__(n_embd, head_size, bias=bias)
        self.causal = causal
        self.block_size = block_size
        if block_size is not None:
            check_size("SingleHeadAttention", "block_size", block_size)
        mask = causal_mask(block_size) if causal and block_size else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(
        self,
        x: Float[Tensor, "*batch S n_embd"],
        context: Float[Tensor, "*batch Sk n_embd"] | None = None,
        *,
        may_attend: Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from the tokens of x to those of the context or x, if causal to earlier ones."""
        _check_inputs(self, x, context, may_attend)
        source = x if context is None else context
        Sq, Sk = x.shape[-2], source.shape[-2]
        self._check_length(max(Sq, Sk))
        q = self.query(x)
        k = self.key(source)
        v = self.value(source)
        scores = q @ k.transpose(-2, -1)
        scaled = scale_scores(scores, self.head_size)
        mask = may_attend
        if self.causal:
            if self.mask is not None and Sq <= Sk:  # rows above the first key are not kept
                mask = self.mask[Sk - Sq : Sk, :Sk]
            else:
                mask = causal_mask(Sq, Sk, device=x.device)
            mask = mask if may_attend is None else mask & may_attend
        masked = scaled if mask is None else mask_scores(scaled, mask)
        weights = attention_weights(masked)
        output = weights @ v
        return (output, weights) if return_weights else output

    def _check_length(self, longest: int) -> None:
        if self.block_size is not None and longest > self.block_size:
            raise ShapeError(
                f"{type(self).__name__}: the sequence has S = {longest} but block_size is "
                f"{self.block_size}; pass fewer tokens, or build with block_size={longest}"
            )


class MultiHeadAttention(nn.Module):
    """Let several heads attend side by side, each in its own features, and mix what they found.

    Shapes: x (*batch, S, n_embd) -> the same; with a context (*batch, Sk, n_embd), keys and values
        come from there. head_size=None: H = n_embd / n_heads. Weights: (*batch, heads, Sq, Sk), and
        may_attend likewise, with a batch only, or (Sq, Sk); any of its axes may be 1.
    Units: 4 * heads*H * n_embd numbers, and 3 * heads*H + n_embd more with bias.
    Raises: ShapeError, MaskError, DtypeError, DeviceError.
    Example:
        >>> import torch
        >>> layer = MultiHeadAttention(64, 4, causal=True)
        >>> layer(torch.randn(2, 8, 64)).shape
        torch.Size([2, 8, 64])
        >>> sum(p.numel() for p in layer.parameters())
        16640

    Source: Vaswani et al. 2017, section 3.2.2; chapter 07.
    """

    def __init__(
        self,
        n_embd: int,
        n_heads: int,
        *,
        head_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        dropout: int | float = 0.0,
        fused: bool = True,
    ):
        super().__init__()
        owner = "MultiHeadAttention"
        check_size(owner, "n_embd", n_embd)
        check_size(owner, "n_heads", n_heads)
        check_number(owner, "dropout", dropout, "in [0, 1)", lambda p: 0 <= p < 1)
        if head_size is None and n_embd % n_heads:
            raise ShapeError(
                f"{owner}: n_embd is {n_embd}, which does not divide by n_heads = {n_heads}; "
                "choose another n_heads or give head_size"
            )
        head_size = n_embd // n_heads if head_size is None else head_size
        check_size(owner, "head_size", head_size)
        self.n_embd = n_embd
        self.n_heads = n_heads
        self.head_size = head_size
        self.causal = causal
        self.dropout = dropout
        self.fused = fused
        self.query = nn.Linear(n_embd, n_heads * head_size, bias=bias)
        self.key = nn.Linear(n_embd, n_heads * head_size, bias=bias)
        self.value = nn.Linear(n_embd, n_heads * head_size, bias=bias)
        self.out: nn.Module = nn.Linear(n_heads * head_size, n_embd, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch S n_embd"],
        context: Float[Tensor, "*batch Sk n_embd"] | None = None,
        *,
        may_attend: Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend in every head from the tokens of x to those of the context, by default x."""
        _check_inputs(self, x, context, may_attend, self.n_heads)
        source = x if context is None else context
        Sq, Sk = x.shape[-2], source.shape[-2]
        q = self.query(x)
        k = self.key(source)
        v = self.value(source)
        q = split_heads(q, self.n_heads)
        k = split_heads(k, self.n_heads)
        v = split_heads(v, self.n_heads)
        dropout = self.dropout if self.training else 0.0
        if self.fused and not return_weights and Sk > 0:
            heads = fused_attention(
                q, k, v, causal=self.causal, may_attend=may_attend, dropout_p=dropout
            )
            merged = merge_heads(heads)
            return self.out(merged)
        scores = q @ k.transpose(-2, -1)
        scaled = scale_scores(scores, self.head_size)
        mask = may_attend
        if self.causal:
            mask = causal_mask(Sq, Sk, device=x.device)
            mask = mask if may_attend is None else mask & may_attend
        masked = scaled if mask is None else mask_scores(scaled, mask)
        weights = attention_weights(masked)
        kept = F.dropout(weights, dropout) if dropout else weights
        heads = kept @ v
        merged = merge_heads(heads)
        output = self.out(merged)
        return (output, weights) if return_weights else output


@shapes(
    n_embd="the layer reads that width only: project to it, or build the layer with another n_embd"
)
def _check_inputs(
    layer: SelfAttention | MultiHeadAttention,
    x: Float[Tensor, "*batch S n_embd"],
    context: Float[Tensor, "*batch Sk n_embd"] | None,
    may_attend: Tensor | None,
    n_heads: int | None = None,
    weight: Float[Tensor, "out n_embd"] | None = None,
) -> None:
    """Refuse what a layer cannot read, before any operation runs."""
    owner = type(layer).__name__
    check("_check_inputs", owner=owner, x=x, context=context, weight=layer.query.weight)
    if may_attend is None:
        return
    source = x if context is None else context
    heads = () if n_heads is None else (n_heads,)
    names = "*batch heads Sq Sk" if heads else "*batch Sq Sk"
    sizes = (*x.shape[:-2], *heads, x.shape[-2], source.shape[-2])
    axes = {2, len(sizes)} - {3} if heads else ()  # three could be (batch, …) as well as (heads, …)
    check_mask(owner, may_attend, names, sizes, x.device, axes)
