"""Lab 04: which number to fill in, in which dtype, and what a row that sees nothing becomes."""

import math
from typing import Any

import torch
from torch import Tensor

from ...stages import attention_weights, causal_mask, mask_scores
from .form import Lab, Table, numbers

# The chapter's worked example, already divided by √H.
SCORES = torch.tensor(
    [[0.5, 0.3, 0.9, 0.1], [0.2, 0.7, 0.6, 0.4], [0.9, 0.1, 0.5, 0.8], [0.4, 0.8, 0.2, 0.7]]
)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
FILLS = ("-inf", "-1e9", "-1e4", "lowest", "0")
WAYS = ("fill", "add")
PADDING = 2  # so many tokens in front are padding, where there is any


def masks() -> dict[str, Tensor]:
    """Return both masks: causal alone, and causal with padding in front.

    Shapes: each (S 4, S 4), True = may attend.
    """
    causal = causal_mask(len(SCORES))
    return {"causal": causal, "padded": causal & (torch.arange(len(SCORES)) >= PADDING)}


def fill_of(name: str, dtype: torch.dtype) -> float:
    """Return the number that is filled in."""
    return torch.finfo(dtype).min if name == "lowest" else float(name)


def run(dtype: torch.dtype, fill: float, may_attend: Tensor, way: str) -> dict[str, Any]:
    """Mask and weigh the scores once, as a reader's code does, and record what came out."""
    scores = SCORES.to(dtype)
    try:
        if way == "fill":
            masked = scores.masked_fill(~may_attend, fill)
        else:
            masked = scores + torch.zeros_like(scores).masked_fill(~may_attend, fill)
    except RuntimeError as error:
        return {"error": str(error)}
    weights = torch.softmax(masked, dim=-1)
    return {"masked": numbers(masked.tolist()), "weights": numbers(weights.tolist())}


def ours(may_attend: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what this library makes of the same mask: its own fill, and zeros for a lost row."""
    return attention_weights(mask_scores(SCORES.to(dtype), may_attend))


def build() -> Lab:
    """Run every fill in every dtype, with both masks and in both ways."""
    runs: dict[str, dict] = {}
    for mask, may_attend in masks().items():
        for dtype_name, dtype in DTYPES.items():
            for fill in FILLS:
                for way in WAYS:
                    key = f"{mask} {dtype_name} {fill} {way}"
                    runs[key] = run(dtype, fill_of(fill, dtype), may_attend, way)
    data = {
        "scores": numbers(SCORES.tolist()),
        "may": {name: mask.tolist() for name, mask in masks().items()},
        "fills": {name: [_stored(fill, dtype) for fill in FILLS] for name, dtype in DTYPES.items()},
        "runs": runs,
        "ours": {
            f"{name} {dtype}": numbers(ours(mask, kind).tolist())
            for name, mask in masks().items()
            for dtype, kind in DTYPES.items()
        },
    }
    question = "which number keeps a token out, and what becomes of a row that sees nothing?"
    return Lab("mask", "What is filled in", question, data, [_table(runs)])


def _stored(fill: str, dtype: torch.dtype) -> Any:
    """Return what the dtype makes of the fill, to the last digit; what is too large is infinite."""
    value = torch.tensor(fill_of(fill, dtype), dtype=torch.float64).to(dtype).item()
    return value if math.isfinite(value) else str(value)


def _table(runs: dict[str, dict]) -> Table:
    def first(dtype: str, fill: str) -> str:
        made = runs[f"padded {dtype} {fill} fill"]
        return made.get("error") or " ".join(
            value if isinstance(value, str) else f"{value:.2f}" for value in made["weights"][0]
        )

    return Table(
        "the weights of a row that may attend to nothing, as softmax gives them",
        ("fill", *DTYPES),
        [(fill, *(first(dtype, fill) for dtype in DTYPES)) for fill in FILLS],
    )
