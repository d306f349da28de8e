"""Elementwise products where a matrix product was meant: ``q * k.mT``, ``weights * v``."""

from __future__ import annotations

from collections.abc import Iterator

from .clash import Candidate, Failed, on
from .features import shares, turns_last_two
from .products import agreement, labels_of


def multiplied(failed: Failed) -> Iterator[Candidate]:
    """Offer ``@`` for ``*`` where an operand was transposed for a product, or is weights."""
    if failed.op.name != "mul" or len(failed.infos) != 2:
        return
    turned = any(made is not None and turns_last_two(made) for made in map(failed.op.made, (0, 1)))
    score = agreement(failed, *labels_of(failed))
    summed = shares(failed, 0) == len(failed.infos[0].shape) - 1
    if score is not None and (turned or summed):
        a, b = map(on, failed.names)
        yield Candidate(f"{a} @ {b}", lambda t: t[0] @ t[1])
