"""Clashes in attention that a library computes: layouts, masks, heads that share their keys."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ...dims import role
from ..labels import Label
from ..rows import TensorInfo
from .changes import Change, alike, arranged, written
from .clash import Candidate, Failed, Tensors, batch_clash, clash, on
from .kinds import kinds
from .values import joined_in_front


@clash("scaled_dot_product_attention")
def fused(failed: Failed) -> tuple[str, list[Candidate]]:
    if len(failed.infos) < 3 or any(len(info.shape) < 2 for info in failed.infos[:3]):
        return "", []
    q, k, v = failed.infos[:3]
    if q.shape[-1] != k.shape[-1]:
        said = (
            f"queries and keys need one width: {q.name} has {failed.size(0, -1)}, "
            f"{k.name} {failed.size(1, -1)}"
        )
        return said, list(_laid_out(failed))
    if k.shape[-2] != v.shape[-2]:
        said = (
            f"there must be one value for each key: {k.name} has {failed.size(1, -2)}, "
            f"{v.name} {failed.size(2, -2)}"
        )
        joined = joined_in_front(failed)
        return said + joined, [] if joined else list(_laid_out(failed))
    for which, other in ((1, k), (2, v)):
        back = batch_clash(q.shape[:-2], other.shape[:-2])
        if back is not None:
            said = (
                f"the axes in front must be equal or 1: {q.name} has {failed.size(0, back - 2)} "
                f"where {other.name} has {failed.size(which, back - 2)}"
            )
            joined = joined_in_front(failed)
            if joined:
                return said + joined, []
            return said, [*_laid_out(failed), *_grouped(failed, q, other, back)]
    mask = failed.op.argument("attn_mask")
    if mask is not None:
        which = failed.states.index(mask)
        scores = (*q.shape[:-1], k.shape[-2])
        given = failed.infos[which]
        back = batch_clash(scores, given.shape)
        if back is not None or len(given.shape) > len(scores):
            names = f"({', '.join((*q.dims[:-1], k.dims[-2]))})"
            said = f"the mask must broadcast to the scores, {names} = {scores}: " + (
                f"{given.name} has {len(given.shape)} axes"
                if back is None
                else f"axis {back} of {given.name} is {failed.size(which, back)}, of the scores "
                f"{scores[back]}"
            )
            return said, list(_masked(failed, which))
    return kinds(failed)


def _grouped(failed: Failed, q: TensorInfo, k: TensorInfo, back: int) -> Iterator[Candidate]:
    """Offer grouped queries; ``code`` is the call as it is written."""
    if back == -1 and len(q.shape) == 4 and k.shape[1] and q.shape[1] % k.shape[1] == 0:
        code = failed.code
        if code.endswith(")"):
            code = f"{code[:-1]}, enable_gqa=True)"
        yield Candidate(
            code,
            lambda t: torch.nn.functional.scaled_dot_product_attention(
                t[0], t[1], t[2], enable_gqa=True
            ),
        )


def _laid_out(failed: Failed) -> Iterator[Candidate]:
    """Lay the operands out as (batch, heads, S, H), each where its names say that it is not."""
    rows = [failed.op.labels(state) for state in failed.states[:3]]
    for leader in (0, 1, 2):
        yield from _changed(failed, [_follow(rows[leader], row) for row in rows])
    if all(len(row) == 4 and _is_heads(row[2]) for row in rows):
        yield from _changed(failed, [Change((0, 2, 1, 3))] * 3)


def _is_heads(label: Label) -> bool:
    return role(label.name or "") == "heads" or "head" in (label.name or "")


def _follow(leader: list[Label], row: list[Label]) -> Change | None:
    """Move the axes that a leading operand has in front, and its width, to where it has them."""
    if row is leader:
        return Change(tuple(range(len(row))))
    rest = [*range(len(row))]
    front = [_take(rest, row, label) for label in leader[:-2]]
    last = _take(rest, row, leader[-1])
    if None in front or last is None or len(rest) != 1:
        return None
    return Change((*front, rest[0], last))


def _take(rest: list[int], row: list[Label], wanted: Label) -> int | None:
    found = next((axis for axis in rest if alike(row[axis], wanted)), None)
    if found is not None:
        rest.remove(found)
    return found


def _changed(failed: Failed, changes: list[Change | None]) -> Iterator[Candidate]:
    """Write the call with its operands laid out anew; each must stand in it once."""
    code, used = failed.code, []
    for which, change in enumerate(changes):
        if change is None:
            return
        if change.cost:
            text, _ = min(written(failed, which, change), key=lambda option: option[1])
            code = failed.instead(failed.names[which], text, code)
            used.append((which, change))
    if not used or code == failed.code:
        return

    def run(t: Tensors) -> Tensor:
        return failed.run([dict(used)[i].run(x) if i in dict(used) else x for i, x in enumerate(t)])

    yield Candidate(code, run)


def _masked(failed: Failed, which: int) -> Iterator[Candidate]:
    """Lay a mask out as the scores are, by its names; or cut it to their size."""
    q, k = (failed.op.labels(state) for state in failed.states[:2])
    scores, labels = [*q[:-1], k[-2]], failed.op.labels(failed.states[which])
    name = failed.names[which]

    def offer(code: str, change) -> Candidate:
        return Candidate(failed.instead(name, code), failed.changed(which, change))

    change = arranged(labels, scores)
    if change is not None and change.cost:
        yield offer(change.code(name), change.run)
    rows, columns = scores[-2].size, scores[-1].size
    if len(labels) >= 2 and labels[-2].size >= rows and labels[-1].size >= columns:
        lead = "..., " if len(labels) > 2 else ""
        cut = f"[{lead}:{failed.called(scores[-2])}, :{failed.called(scores[-1])}]"
        yield offer(on(name) + cut, lambda x: x[..., :rows, :columns])
    if len(labels) >= 2 and (labels[-1].size, labels[-2].size) == (rows, columns):
        yield offer(f"{on(name)}.transpose(-2, -1)", lambda x: x.mT)
