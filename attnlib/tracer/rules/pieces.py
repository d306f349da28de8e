"""Rules for taking tensors apart, putting them together, and looking things up in them."""

from __future__ import annotations

import torch

from ..labels import Label
from ..notes import State
from .elementwise import broadcast
from .registry import Labels, Unknown, rule


@rule("cat")
def cat(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs]
    rows = [row for row in rows if len(row) == len(op.shape)]
    axis = op.params.get("dim", 0)
    shape = [1 if place == axis else size for place, size in enumerate(op.shape)]
    others = [[op.fresh(1) if i == axis else label for i, label in enumerate(row)] for row in rows]
    result = broadcast(op, others, shape)
    for row in rows[1:]:
        if row[axis].size == rows[0][axis].size and op.alike(row[axis], rows[0][axis]):
            op.join(row[axis], rows[0][axis])  # head_size of one head, of the next …
    joined = {row[axis].root() for row in rows}
    if len(joined) == 1 and len(rows) > 1:
        result[axis] = op.symbols.merged((op.literal(len(rows)), rows[0][axis]))
    elif len(rows) == 1:
        result[axis] = rows[0][axis]
    else:
        longest = max((row[axis] for row in rows), key=lambda label: label.size)
        result[axis] = op.symbols.lengthen(longest, op.shape[axis])
    return result


@rule("stack")
def stack(op) -> Labels:
    axis = op.params.get("dim", 0)
    rows = [op.labels(state) for state in op.inputs]
    shape = [size for place, size in enumerate(op.shape) if place != axis]
    result = broadcast(op, rows, shape)
    return [*result[:axis], op.literal(len(rows)), *result[axis:]]


@rule("chunk", "split", "tensor_split")
def split(op) -> list[Labels]:
    labels, axis = op.labels(op.inputs[0]), op.params.get("dim", 0)
    sizes = [state.shape[axis] for state in op.outputs]
    given = op.params.get("split_size")
    if isinstance(given, int):
        part = op.size("split_size", 0, given)
    else:
        part = op.symbols.quotient(labels[axis], (op.literal(len(sizes)),), sizes[0])
    parts = []
    for place, size in enumerate(sizes):
        if isinstance(given, tuple):
            one = op.size("split_size", place, given[place])
        else:
            one = part if size == part.size else op.fresh(size)
        parts.append([*labels[:axis], one, *labels[axis + 1 :]])
    if len(set(sizes)) == 1 and sizes[0] == part.size and len(sizes) > 1:
        op.symbols.define(labels[axis], (op.literal(len(sizes)), part))
    return parts


@rule("unbind")
def unbind(op) -> list[Labels]:
    labels, axis = op.labels(op.inputs[0]), op.params.get("dim", 0)
    return [labels[:axis] + labels[axis + 1 :] for _ in op.outputs]


@rule("select")
def select(op) -> Labels:
    labels, axis = op.labels(op.inputs[0]), op.params["dim"]
    return labels[:axis] + labels[axis + 1 :]


@rule("narrow")
def narrow(op) -> Labels:
    labels, axis = list(op.labels(op.inputs[0])), op.params["dim"]
    labels[axis] = op.size("length", 0, op.params["length"])
    return labels


@rule("index_select")
def index_select(op) -> Labels:
    labels, axis = list(op.labels(op.inputs[0])), op.params["dim"]
    labels[axis] = op.labels(op.inputs[1])[0]
    return labels


@rule("gather", "scatter", "scatter_add", "take_along_dim")
def gather(op) -> Labels:
    given, index = op.labels(op.inputs[0]), op.labels(op.inputs[1])
    axis = op.params.get("dim")
    if axis is not None and len(index) == len(given):
        for place, (mine, its) in enumerate(zip(given, index, strict=True)):
            if place != axis:
                op.join(mine, its)
    return index if op.name in {"gather", "take_along_dim"} else given


@rule("index_copy", "index_add")
def written_along(op) -> Labels:
    """Write rows into a tensor along one axis; the other axes of both are one."""
    given, source = op.labels(op.inputs[0]), op.labels(op.inputs[2])
    axis = op.params.get("dim", 0)
    for place, (mine, its) in enumerate(zip(given, source, strict=True)):
        if place != axis:
            op.join(mine, its)
    return given


@rule("masked_select")
def selected(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs[:2]]
    broadcast(op, rows, torch.broadcast_shapes(*(state.shape for state in op.inputs[:2])))
    return [op.fresh(op.shape[0])]


@rule("getitem")
def getitem(op) -> Labels:
    labels, index = op.labels(op.inputs[0]), op.params["index"]
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, State | bool) or type(part) is tuple for part in index):
        return _looked_up(op, labels, index)
    return _indexed(op, labels, index)


@rule("setitem")
def setitem(op) -> Labels:
    """Write into a tensor: what is written lines up with the place it is written to."""
    labels, index = op.labels(op.inputs[0]), op.params["index"]
    index = index if isinstance(index, tuple) else (index,)
    value = op.argument("value")
    if value is not None:
        try:
            place = _picked(op, labels, index)
        except Unknown:
            return labels
        broadcast(op, [place, op.labels(value)], [label.size for label in place])
    return labels


def _picked(op, labels: Labels, index: tuple) -> Labels:
    """Label what an index picks out, with at most one tensor of numbers among slices."""
    tensors = [place for place, part in enumerate(index) if isinstance(part, State)]
    if not tensors:
        if any(isinstance(part, bool) or type(part) is tuple for part in index):
            raise Unknown
        return _indexed(op, labels, index)
    axes = all(part is Ellipsis or isinstance(part, State | slice) for part in index)
    first = index[tensors[0]]
    if len(tensors) > 1 or not axes or first.dtype in ("bool", "uint8"):
        raise Unknown
    place = tensors[0]
    result = _indexed(op, labels, (*index[:place], slice(None), *index[place + 1 :]))
    axis = len(result) - len(index) + place if Ellipsis in index[:place] else place
    return [*result[:axis], *op.labels(first), *result[axis + 1 :]]


def _indexed(op, labels: Labels, index: tuple) -> Labels:
    whole = len(labels) - sum(part is not None and part is not Ellipsis for part in index)
    result: Labels = []
    axis = 0
    for place, part in enumerate(index):
        if part is None:
            result.append(op.fresh(1))
        elif part is Ellipsis:
            result += labels[axis : axis + whole]
            axis += whole
        elif isinstance(part, slice):
            result.append(_sliced(op, labels[axis], part, place))
            axis += 1
        else:
            axis += 1
    return result + labels[axis:]


def _sliced(op, label: Label, part: slice, place: int) -> Label:
    size = len(range(*part.indices(label.size)))
    if part.start in (None, 0) and part.step in (None, 1, -1):
        if part.stop is None:
            return label
        if isinstance(part.stop, int) and part.stop == size:
            return op.size("index", place, part.stop, stop=True)
    return op.fresh(size)


def _looked_up(op, labels: Labels, index: tuple) -> Labels:
    """Index with one tensor in front: its axes take the place of the axis it picks from."""
    first = index[0]
    if len(index) != 1 or not isinstance(first, State):
        return _picked(op, labels, index)
    if first.dtype not in ("bool", "uint8"):
        return [*op.labels(first), *labels[1:]]
    chosen = op.labels(first)
    for mine, its in zip(labels, chosen, strict=False):
        op.join(mine, its)
    return [op.fresh(op.shape[0]), *labels[len(chosen) :]]


@rule("embedding")
def embedding(op) -> Labels:
    ids, weight = op.inputs[:2]
    return [*op.labels(ids), op.labels(weight)[-1]]
