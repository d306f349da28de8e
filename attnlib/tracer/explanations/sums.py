"""Clashes in products of another form: added to a bias, summed over axes that are listed."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .calls import call_of, with_argument, with_operand
from .changes import Change, alike, written
from .clash import Candidate, Failed, batch_clash, clash, on
from .kinds import kinds
from .products import agreement, labels_of

# Axes of the two that are multiplied.
_AXES = {"baddbmm": (3, 3), "addmm": (2, 2), "addmv": (2, 1)}


@clash(*_AXES)
def added(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain a product that is added to: the product first, then what it is added to."""
    if len(failed.infos) < 3:
        return kinds(failed)
    bias, a, b = failed.infos[:3]
    wanted = _AXES[failed.op.name]
    for info, axes in zip((a, b), wanted, strict=True):
        if len(info.shape) != axes:
            said = f"{failed.op.name} takes tensors of exactly {axes} axes, but {info.name} has "
            said += f"{len(info.shape)}; + and @ take any number in front"
            return said, list(_plain(failed))
    inner = -2 if len(b.shape) > 1 else -1
    rows = [failed.op.labels(state) for state in failed.states[:3]]
    if a.shape[-1] == b.shape[inner] and a.shape[:-2] == b.shape[:-2]:
        made = (*a.shape[:-1], *b.shape[len(b.shape) - 1 : inner + len(b.shape) + 1 + (inner < -1)])
        if batch_clash(made, bias.shape) is None:
            return kinds(failed)
        return f"{bias.described()} must broadcast to the product, {made}", []
    said = (
        f"{failed.op.name} sums over the last dim of {a.name}, {failed.size(1, -1)}, and the "
        f"{'second-to-last' if inner == -2 else 'last'} of {b.name}, {failed.size(2, inner)}: "
        "the two must be equal"
    )
    found = []
    for which in (2, 1):
        order = list(range(len(rows[which])))
        if len(order) > 1:
            order[-2:] = reversed(order[-2:])
            change = Change(tuple(order))
            pair = [change.labels(row) if at == which else row for at, row in enumerate(rows)]
            if agreement(failed, *pair[1:]) is not None:
                found.append(_turned(failed, which, change))
    return said, found


def _plain(failed: Failed) -> Iterator[Candidate]:
    """Write the sum with + and @; not where the call says how much of each is added."""
    node = call_of(failed)
    if node is not None and not {word.arg for word in node.keywords} & {"alpha", "beta", "out"}:
        bias, a, b = map(on, failed.names[:3])
        yield Candidate(f"{bias} + {a} @ {b}")


def _turned(failed: Failed, which: int, change: Change) -> Candidate:
    text, _ = min(written(failed, which, change), key=lambda option: option[1])
    return Candidate(with_operand(failed, which, text), failed.changed(which, change.run))


@clash("tensordot")
def tensordot(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain axes that are summed over in pairs; the names say which belong together."""
    dims = failed.op.params.get("dims", 2)
    rows = labels_of(failed)
    if isinstance(dims, int):
        first = tuple(range(len(rows[0]) - dims, len(rows[0])))
        dims = (first, tuple(range(dims)))
    first, second = (tuple(one) if isinstance(one, tuple | list) else (one,) for one in dims)
    for i, j in zip(first, second, strict=False):
        if rows[0][i].size != rows[1][j].size:
            said = (
                f"tensordot sums over axis {i} of {failed.names[0]}, {failed.size(0, i)}, and axis "
                f"{j} of {failed.names[1]}, {failed.size(1, j)}: the two must be equal"
            )
            break
    else:
        return kinds(failed)
    partners = [
        [at for at, label in enumerate(rows[1]) if alike(label, rows[0][axis])] for axis in first
    ]
    if any(len(found) != 1 for found in partners):
        return said, []
    new = (list(first), [found[0] for found in partners])
    code = with_argument(failed, "dims", str(new))
    return said, [Candidate(code, lambda t: torch.tensordot(t[0], t[1], dims=new))] if code else []
