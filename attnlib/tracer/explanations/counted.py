"""Tables of positions that are as long as another axis than the tokens.

``pe[: x.size(0)]`` may have as many rows as there are samples, but they stay positions: laid under
the samples, they would give each sequence one position for all of its tokens.
"""

from __future__ import annotations

import re

from ...dims import role
from .clash import Failed
from .features import maker

_POSITIONS = re.compile(
    r"max|block|ctx|context|window|len|limit|pos|(^|[._])w?pe($|[._])|cos|sin|rot|freq|table"
)


def miscounted(failed: Failed, which: int) -> bool:
    """Was a table of positions made as long as an axis that is not known to hold the tokens?"""
    labels = failed.op.labels(failed.states[which])
    counted = [labels[axis] for axis in _counted(failed, which)]
    return any(role(label.name or "") != "S" for label in counted if not label.root().literal)


def _counted(failed: Failed, which: int) -> list[int]:
    """Return the axes along which an operand was cut out of a table, or counted up."""
    made, shape = failed.op.made(which), failed.infos[which].shape
    if made is None or not made.inputs:
        return []
    source = made.inputs[0]
    if made.op == "embedding":
        ids = maker(source, failed.rows, made)
        return list(range(len(source.shape))) if ids is not None and ids.op == "arange" else []
    index = made.params.get("index")
    if made.op != "getitem" or not isinstance(index, list) or len(source.shape) != len(shape):
        return []
    return [
        axis
        for axis, part in enumerate(index)
        if re.fullmatch(r":\d+", str(part))
        and (_POSITIONS.search(source.name) or _POSITIONS.search(source.dims[axis]))
        and not re.search("batch|head", source.dims[axis])
    ]
