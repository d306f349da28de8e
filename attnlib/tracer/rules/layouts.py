"""Rules for operations that lay the same numbers out in another way."""

from __future__ import annotations

from ..axes import PERMUTING, permuted
from ..labels import Dim
from .elementwise import broadcast
from .registry import Labels, Unknown, rule
from .reshapes import reshaped, split_axis


@rule(*PERMUTING)
def permute(op) -> Labels:
    labels = op.labels(op.inputs[0])
    return [labels[axis] for axis in permuted(op.name, op.params, len(labels))]


@rule("view", "reshape")
def reshape(op) -> Labels:
    x = op.labels(op.inputs[0])
    if len(op.inputs) == 2:  # view_as
        return reshaped(op, x, list(op.labels(op.inputs[1])))
    shape = op.params.get("shape", ())
    if len(shape) == 1 and not isinstance(shape[0], int):  # view(dtype)
        raise Unknown
    return reshaped(
        op, x, [None if size < 0 else op.size("shape", i, size) for i, size in enumerate(shape)]
    )


@rule("flatten")
def flatten(op) -> Labels:
    labels = op.labels(op.inputs[0])
    first = op.params.get("start_dim", 0)
    last = op.params.get("end_dim", len(labels) - 1)
    if not labels:
        return [op.fresh(1)]
    return [*labels[:first], op.symbols.merged(labels[first : last + 1]), *labels[last + 1 :]]


@rule("unflatten")
def unflatten(op) -> Labels:
    labels, axis = op.labels(op.inputs[0]), op.params["dim"]
    sizes = op.params["sizes"]
    asked = [None if size < 0 else op.size("sizes", i, size) for i, size in enumerate(sizes)]
    shape = op.shape[axis : axis + len(sizes)]
    return [*labels[:axis], *split_axis(op, labels[axis], shape, asked), *labels[axis + 1 :]]


@rule("squeeze")
def squeeze(op) -> Labels:
    labels, axes = op.labels(op.inputs[0]), op.params.get("dim")
    axes = range(len(labels)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return [label for axis, label in enumerate(labels) if axis not in axes or label.size != 1]


@rule("unsqueeze")
def unsqueeze(op) -> Labels:
    labels, axis = op.labels(op.inputs[0]), op.params["dim"]
    return [*labels[:axis], op.fresh(1), *labels[axis:]]


@rule("expand", "expand_as")
def expand(op) -> Labels:
    labels = op.labels(op.inputs[0])
    if len(op.inputs) > 1:
        return broadcast(op, [labels, op.labels(op.inputs[1])], op.shape)
    labels = [None] * (len(op.shape) - len(labels)) + labels
    result = []
    for place, (label, size) in enumerate(zip(labels, op.params["shape"], strict=True)):
        if label is not None and label.size == size == 1 and isinstance(size, Dim):
            result.append(op.size("shape", place, size))  # as many times as there are samples
        elif label is not None and (size < 0 or label.size == size):
            if size > 1 and isinstance(size, Dim):
                op.join(label, op.size("shape", place, size))
            result.append(label)
        else:
            result.append(op.size("shape", place, size))
    return result


@rule("repeat")
def repeat(op) -> Labels:
    labels = op.labels(op.inputs[0])
    labels = [op.fresh(1) for _ in range(len(op.shape) - len(labels))] + labels
    counts = list(enumerate(op.params["repeats"]))
    return [
        label
        if n == 1 and not isinstance(n, Dim)
        else op.times(op.size("repeats", place, n), label)
        for (place, n), label in zip(counts, labels, strict=True)
    ]


@rule("repeat_interleave")
def repeat_interleave(op) -> Labels:
    labels, n, axis = list(op.labels(op.inputs[0])), op.params["repeats"], op.params["dim"]
    labels[axis] = op.symbols.merged((labels[axis], op.size("repeats", 0, n)))
    return labels
