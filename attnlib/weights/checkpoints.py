"""Weights read from a state dict whose layers are named Q, K and V."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from ..dims import check, shapes
from ..errors import ShapeError
from ..modules import SingleHeadAttention


def load_qkv(state_dict: Mapping[str, Tensor], *, causal: bool = True) -> SingleHeadAttention:
    """Copy `Q.weight`, `K.weight` and `V.weight` into a SingleHeadAttention.

    The biases `Q.bias`, `K.bias` and `V.bias` come along if all three are there. Anything else in
    the state dict is refused: a head that leaves a weight out computes something else.

    Shapes: Q.weight, K.weight, V.weight (H, n_embd), as nn.Linear keeps them; biases (H).
    Raises: ShapeError (missing or further names, sizes that differ), DtypeError, DeviceError.
    Example:
        >>> names = ("Q.weight", "K.weight", "V.weight")
        >>> head = load_qkv({name: torch.ones(4, 8) for name in names})
        >>> head(torch.zeros(2, 5, 8)).shape
        torch.Size([2, 5, 4])

    Source: chapter 06.
    """
    weights = {f"{name}.weight": name for name in "QKV"}
    biases = {f"{name}.bias": name for name in "QKV"}
    biased = any(name in state_dict for name in biases)
    wanted = [*weights, *biases] if biased else [*weights]
    missing = [name for name in wanted if name not in state_dict]
    further = [str(name) for name in state_dict if name not in wanted]
    if missing or further:
        what = [f"lacks {', '.join(missing)}"] * bool(missing)
        what += [f"also holds {', '.join(further)}"] * bool(further)
        raise ShapeError(
            f"load_qkv: state_dict {' and '.join(what)} but must hold Q.weight, K.weight and "
            "V.weight, all of their biases or none, and nothing else (a mask is no weight: drop "
            "it); rename or pick its entries first"
        )
    parts = {name.replace(".", "_"): state_dict[name] for name in wanted}
    check("_check_qkv", owner="load_qkv", **parts)
    H, n_embd = parts["Q_weight"].shape
    head = SingleHeadAttention(n_embd, H, causal=causal, bias=biased).to(parts["Q_weight"])
    projections = {"Q": head.query, "K": head.key, "V": head.value}
    with torch.no_grad():
        for name in wanted:
            layer, kind = name.split(".")
            getattr(projections[layer], kind).copy_(state_dict[name])
    return head


_SAME = "the three weights of one head must be alike, each (H, n_embd) as nn.Linear keeps it"


@shapes(H=_SAME, n_embd=_SAME)
def _check_qkv(
    Q_weight: Float[Tensor, "H n_embd"],
    K_weight: Float[Tensor, "H n_embd"],
    V_weight: Float[Tensor, "H n_embd"],
    Q_bias: Float[Tensor, "H"] | None = None,
    K_bias: Float[Tensor, "H"] | None = None,
    V_bias: Float[Tensor, "H"] | None = None,
) -> None:
    """State the shapes of a head's weights for `check`, which reads them here."""
