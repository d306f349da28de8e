"""Products of what has its heads folded into the batch with what has not."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ..labels import Label, pieces
from .changes import alike
from .clash import Candidate, Failed, on


def folded(failed: Failed) -> Iterator[Candidate]:
    """Repeat what is shared: one key for all heads that were folded into the batch."""
    rows = [failed.op.labels(state) for state in failed.states[:2]]
    for which in (1, 0):
        own, other = rows[which], rows[1 - which]
        if len(own) == 4 and len(other) == 3:
            yield from _folded_too(failed, which, own, other[0])
        if not len(own) == len(other) == 3 or own[0].size == other[0].size:
            continue
        held = pieces(other[0])
        rest = [piece for piece in held if not alike(piece, own[0])]
        if len(rest) != len(held) - 1:
            continue
        n, name = math.prod(piece.size for piece in rest), on(failed.names[which])
        word = failed.called(rest[0]) if len(rest) == 1 else str(n)
        run: Callable[[Tensor], Tensor]
        if alike(held[0], own[0]):  # batch*heads: all heads of a sample stand side by side
            code = f"{name}.repeat_interleave({word}, dim=0)"
            run = functools.partial(torch.repeat_interleave, repeats=n, dim=0)
        else:
            code, run = f"{name}.repeat({word}, 1, 1)", functools.partial(_tiled, n)
        new = failed.instead(failed.names[which], code)
        yield Candidate(new, failed.changed(which, run))


def _folded_too(
    failed: Failed, which: int, own: Sequence[Label], front: Label
) -> Iterator[Candidate]:
    """Fold heads into the batch where the other operand has them folded."""
    held = pieces(front)
    named = len(held) == 2 and all(map(alike, held, own[:2]))
    unnamed = len(held) == 1 and front.name is None
    if front.size == own[0].size * own[1].size and (named or unnamed):
        code = failed.instead(failed.names[which], f"{on(failed.names[which])}.flatten(0, 1)")
        yield Candidate(code, failed.changed(which, lambda x: x.flatten(0, 1)))


def _tiled(n: int, x: Tensor) -> Tensor:
    return x.repeat(n, 1, 1)
