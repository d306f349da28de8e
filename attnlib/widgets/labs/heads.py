"""Lab 07: every number of a token numbered by its place in memory, and cut into heads."""

import torch

from ...stages import split_heads
from .form import Lab, Table

WIDTHS, HEADS, LENGTHS = [2, 4, 6, 8, 12], [1, 2, 3, 4, 6], [2, 3, 4]


def build() -> Lab:
    """Number the places of a tensor, and cut it as the chapter does."""
    S, n_embd, heads = 3, 8, 2
    places = torch.arange(float(S * n_embd)).view(S, n_embd)
    cut, dealt = split_heads(places, heads), places.view(heads, S, n_embd // heads)
    tables = [
        Table(
            f"(S {S}, n_embd {n_embd}) cut into {heads} heads: which places of memory a row reads",
            ("row", "view, then transpose", "view alone, wrong"),
            [
                (f"head {h}, token {s}", _places(cut[h, s]), _places(dealt[h, s]))
                for h in range(heads)
                for s in range(S)
            ],
        )
    ]
    data = {"widths": WIDTHS, "heads": HEADS, "lengths": LENGTHS}
    question = "which columns does a head read, and what does a wrong cut give it?"
    return Lab("heads", "Cut features into heads", question, data, tables)


def _places(row: torch.Tensor) -> str:
    return " ".join(f"{place:.0f}" for place in row.tolist())
