"""Clashes of index tensors that pick along one axis: gather, scatter, index_select."""

from __future__ import annotations

from collections.abc import Iterator

from .broadcasting import changed
from .calls import with_argument, with_operand
from .changes import alike, may_be
from .clash import Candidate, Failed, clash, on
from .cuts import word
from .kinds import bounds, kinds, may_count
from .plain import plain


@clash("gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "take_along_dim")
def along(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain an index tensor that picks along one axis."""
    if len(failed.infos) < 2:
        return "", []
    x, index = failed.infos[:2]
    axis, error = failed.op.params.get("dim", 0), str(failed.error)
    if index.dtype not in ("int64", "int32"):
        said = f"{index.name} is {index.dtype}, but an index is made of whole numbers, int64"
        whole = Candidate(with_operand(failed, 1, f"{on(index.name)}.long()"))
        return said, [whole] if may_count(failed, 1) else []
    if "dtype" in error:
        return added(failed)
    if not isinstance(axis, int) or axis >= len(x.shape):
        return plain(failed) or ("", [])
    if failed.op.name == "index_select":
        if len(index.shape) > 1:
            said = f"index_select takes an index of one axis, but {index.described()}"
            return said, [Candidate(f"{on(x.name)}[{':, ' * axis}{index.name}]")]
    elif len(index.shape) != len(x.shape):
        said = f"{index.name} must have as many axes as {x.name}: {index.described()}, "
        return said + x.described(), list(_completed(failed, axis))
    held = bounds(index.values)
    if held is not None and not 0 <= held[0] <= held[1] < x.shape[axis]:
        said = (
            f"{failed.size(0, axis)} has the indices 0 … {x.shape[axis] - 1}, but {index.name} "
            f"holds {held[0]} … {held[1]}"
        )
        other = along_its_name(failed, 1, axis, held[1])
        code = with_argument(failed, "dim", str(other)) if other is not None else None
        less = less_one(failed, 1, held[0] > 0 and held[1] == x.shape[axis])
        return said, [Candidate(code)] if code is not None else list(less)
    large = [p for p, (i, n) in enumerate(zip(index.shape, x.shape, strict=False)) if i > n]
    if large and "Size does not match" in error:
        said = (
            f"apart from axis {axis}, {index.name} may be no larger than {x.name}: axis "
            f"{large[0]} of {index.name} is {failed.size(1, large[0])}, of {x.name} "
            f"{failed.size(0, large[0])}"
        )
        code = with_argument(failed, "dim", str(large[0]))
        return said, [Candidate(code)] if code is not None and len(large) == 1 else []
    return plain(failed) or ("", [])


@clash("index_add", "index_copy")
def added(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain what is put into a tensor of another dtype; the index has one of its own."""
    x, error = failed.infos[0], str(failed.error)
    for which, (argument, _) in enumerate(failed.op.bound.places):
        value = failed.infos[which]
        if argument in ("src", "source", "value") and value.dtype != x.dtype and "type" in error:
            said = f"{x.name} is {x.dtype}, {value.name} {value.dtype}: both must be the same"
            return said, [cast(failed, which)]
    return plain(failed) or kinds(failed)


def cast(failed: Failed, which: int) -> Candidate:
    """Give what is put in the dtype of the tensor; a tensor of whole numbers that of the floats."""
    x, value = failed.infos[0], failed.infos[which]
    whole = x.dtype.startswith(("int", "uint", "bool"))
    where, like = (0, value) if whole and not value.dtype.startswith("int") else (which, x)
    dtype = f"{like.name}.dtype" if like.name.isidentifier() else f"torch.{like.dtype}"
    return Candidate(with_operand(failed, where, f"{on(failed.names[where])}.to({dtype})"))


def along_its_name(failed: Failed, which: int, axis: int, largest: float) -> int | None:
    """Find the axis that an index counts: by the name of its own, else by how many it has."""
    labels, mine = failed.op.labels(failed.states[0]), failed.op.labels(failed.states[which])
    roomy = [p for p, label in enumerate(labels) if p != axis and largest < label.size]
    named = [p for p in roomy if any(alike(label, labels[p]) for label in mine)]
    if len(mine) == 1 and len(named) == 1:
        return named[0]
    counted = [p for p in roomy if largest == labels[p].size - 1]
    return counted[0] if len(counted) == len(roomy) == 1 else None


def _completed(failed: Failed, axis: int) -> Iterator[Candidate]:
    """Give an index the axes that it lacks behind; those that are not picked along stay whole."""
    index = failed.infos[1]
    labels, mine = failed.op.labels(failed.states[0]), failed.op.labels(failed.states[1])
    n = len(mine)
    front = [p for p in range(n) if p != axis]
    if (
        n > len(labels)
        or n < axis
        or not all(
            mine[p].size == labels[p].size
            and (alike(mine[p], labels[p]) or may_be(failed, mine[p], labels[p]))
            for p in front
        )
    ):
        return
    marks = [":"] * n + ["None"] * (len(labels) - n)
    name = on(index.name)
    one = len(labels) - n == 1
    code = f"{name}.unsqueeze(-1)" if one else f"{name}[{', '.join(marks)}]"
    whole = [p for p in range(n, len(labels)) if p != axis]
    if whole and failed.op.name != "take_along_dim":
        sizes = [word(failed, 0, p) if p in whole else "-1" for p in range(len(labels))]
        code += f".expand({', '.join(sizes)})"
    yield Candidate(with_operand(failed, 1, code))


def less_one(failed: Failed, which: int, counted: bool) -> Iterator[Candidate]:
    """Take 1 off lengths, which count from 1."""
    if counted:
        name = failed.names[which]
        yield changed(failed, which, f"{on(name)} - 1", lambda x: x - 1)
