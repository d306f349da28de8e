"""Rules for convolutions, and for what is padded before one.

Samples stay, channels are summed over, lengths stay where they must.
"""

from __future__ import annotations

from .registry import Labels, rule


@rule("conv1d", "conv2d", "conv3d")
def convolution(op) -> Labels:
    """Read (batch, channels, length, …), the batch may be missing; weigh (made, taken, kernel …).

    A length keeps its name where the padding makes up for the kernel at every length.
    """
    given, weight = op.labels(op.inputs[0]), op.labels(op.inputs[1])
    kernels = weight[2:]
    before, lengths = given[: -len(kernels)], given[-len(kernels) :]
    if op.params.get("groups", 1) == 1:
        op.contract(before[-1], weight[1])
    bias = op.argument("bias")
    if bias is not None:
        op.join(op.labels(bias)[0], weight[0])
    kept = [
        length if _keeps(op, place, kernel.size) else op.fresh(op.shape[place - len(kernels)])
        for place, (length, kernel) in enumerate(zip(lengths, kernels, strict=True))
    ]
    return [*before[:-1], weight[0], *kept]


@rule("pad")
def padded(op) -> Labels:
    """Read numbers before and after, the last axis first."""
    labels, pad = op.labels(op.inputs[0]), op.params["pad"]
    for back in range(1, len(pad) // 2 + 1):
        if pad[2 * back - 2] + pad[2 * back - 1]:
            labels[-back] = op.symbols.lengthen(labels[-back], op.shape[-back])
    return labels


def _keeps(op, place: int, kernel: int) -> bool:
    stride, padding, dilation = (
        _along(op.params.get(name, usual), place)
        for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    if isinstance(padding, str):  # same, valid
        padding = dilation * (kernel - 1) / 2 if padding == "same" else 0
    return stride == 1 and 2 * padding == dilation * (kernel - 1)


def _along(value, place: int):
    """Take the number for one axis: one stands for all."""
    if not isinstance(value, tuple | list):
        return value
    return value[place if len(value) > 1 else 0]
