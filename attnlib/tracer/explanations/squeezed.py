"""``squeeze()`` that took the batch away too, where there was one sample."""

from __future__ import annotations

from ...dims import role
from ..rows import Step
from .clash import Candidate, Failed, on
from .features import maker

# What leaves the axes that are there in their order, from the operand back to the squeeze.
_BETWEEN = {
    "unsqueeze", "transpose", "T", "permute", "softmax", "mul", "div", "to", "contiguous", "clone",
    "dropout",
}  # fmt: skip


def squeezed(failed: Failed) -> tuple[str, list[Candidate]] | None:
    """Say which ``squeeze()`` an operand lost its batch in, and how it keeps it."""
    for which in range(len(failed.infos)):
        row = _squeeze(failed.op.made(which), failed.rows)
        if row is None:
            continue
        x = row.inputs[0]
        ones = [axis for axis, size in enumerate(x.shape) if size == 1]
        batch = [axis for axis in ones if role(x.dims[axis]) == "batch"]
        batch = batch or [axis for axis in ones if axis == 0 and len(ones) > 1]
        if not batch:
            continue
        said = f"{x.name}.squeeze() takes away every axis of 1 of {x.described()}, also the batch"
        left = [axis for axis in ones if axis not in batch]
        if len(left) != 1:
            return said, []
        axis = -1 if left[0] == len(x.shape) - 1 else left[0]
        written, new = f"{on(x.name)}.squeeze()", f"{on(x.name)}.squeeze({axis})"
        found = [Candidate(failed.code.replace(written, new))] if written in failed.code else []
        return f"{said}: {new} takes one", found
    return None


def _squeeze(row: Step | None, rows: list[Step]) -> Step | None:
    """Go back to a ``squeeze()`` without an axis."""
    for _ in range(len(rows)):
        if row is None or not row.inputs:
            return None
        if row.op == "squeeze":
            return None if "dim" in row.params else row
        if row.op not in _BETWEEN:
            return None
        row = maker(row.inputs[0], rows, row)
    return None
