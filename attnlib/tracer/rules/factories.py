"""Rules for tensors that are made from sizes."""

from __future__ import annotations

from .registry import Labels, Unknown, rule


@rule("one_hot")
def one_hot(op) -> Labels:
    classes = op.params.get("num_classes", -1)
    last = op.fresh(op.shape[-1]) if classes < 0 else op.size("num_classes", 0, classes)
    return [*op.labels(op.inputs[0]), last]


@rule("ones", "zeros", "empty", "randn", "rand", "full", "new_zeros", "new_ones", "new_empty",
      "new_full")  # fmt: skip
def factory(op) -> Labels:
    sizes = op.params.get("size", ())
    return [op.size("size", place, size) for place, size in enumerate(sizes)]


@rule("eye")
def eye(op) -> Labels:
    rows = op.size("n", 0, op.params["n"])
    return [rows, op.size("m", 0, op.params["m"]) if "m" in op.params else rows]


@rule("arange")
def arange(op) -> Labels:
    bounds = op.params.get("bounds", ())
    if len(bounds) == 1 or (len(bounds) == 2 and bounds[0] == 0):
        return [op.size("bounds", len(bounds) - 1, bounds[-1])]
    raise Unknown
