"""Tokens paired with tokens: one operand got a new axis for the other's, which got none."""

from __future__ import annotations

from ...dims import role
from .changes import Change
from .clash import Failed


def paired(failed: Failed, which: int, other: int) -> list[Change] | None:
    """Lay an operand out so that each token meets each; None where no such pair is begun.

    ``s.unsqueeze(2) + d``, of one layout before, means pairs: laid under ``s`` as it stands, ``d``
    would meet only its own place.
    """
    mine, whole = failed.infos[which], failed.infos[other].shape
    made = failed.op.made(other)
    if made is None or made.op not in ("unsqueeze", "getitem") or not made.inputs:
        return None
    source = made.inputs[0]
    new = [p for p, size in enumerate(whole) if size == 1 and _without(whole, p) == mine.shape]
    if (source.dims, source.shape) != (mine.dims, mine.shape) or len(new) != 1:
        return None
    axes = [*range(new[0]), None, *range(new[0], len(mine.shape))]
    near = [p for p in (new[0] - 1, new[0] + 1) if 0 <= p < len(axes)]
    roles = {p: role(mine.dims[axes[p] or 0]) for p in near}
    tokens = [p for p in near if roles[p] == "S"] or [p for p in near if p and roles[p] is None]
    if len(tokens) != 1:
        return []
    axes[new[0]], axes[tokens[0]] = axes[tokens[0]], None
    return [Change(tuple(axes))]


def _without(shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    return shape[:place] + shape[place + 1 :]
