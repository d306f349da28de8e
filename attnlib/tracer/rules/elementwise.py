"""Rules for operations that work number by number, and for those that reduce an axis."""

from __future__ import annotations

from collections.abc import Sequence

from .registry import Labels, Unknown, rule

_POINTWISE = """
    add sub mul div pow neg abs exp log sqrt rsqrt sin cos tanh sigmoid relu gelu silu elu
    leaky_relu softplus clamp maximum minimum reciprocal square sign floor ceil round erf erfinv
    log1p expm1 atan2 floor_divide remainder fmod lerp eq ne lt le gt ge isnan isinf isfinite
    logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not
    masked_fill where nan_to_num to clone contiguous detach data real imag copy fill zero uniform
    normal bernoulli dropout alpha_dropout softmax log_softmax cumsum cumprod tril triu flip roll
    normalize hardtanh mish softmin sinh cosh tan asin acos atan requires_grad addcmul addcdiv
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like logit exponential
    positive trunc frac log2 log10 exp2 sgn deg2rad threshold relu6 hardswish hardsigmoid xlogy
    isclose argsort logcumsumexp cummax cummin pin_memory setitem masked_fill_ batch_norm scale
"""
_REDUCTIONS = """
    sum mean amax amin max min prod var std argmax argmin any all norm logsumexp median nansum
    nanmean count_nonzero softmax_sum var_mean std_mean quantile
"""


def broadcast(op, rows: Sequence[Labels], shape: Sequence[int]) -> Labels:
    """Line labels up from the last axis; axes of the same size other than 1 become one."""
    result = []
    for back in range(len(shape), 0, -1):
        column = [row[-back] for row in rows if len(row) >= back]
        wide = [label for label in column if label.size != 1]
        if not wide:
            column.sort(key=lambda label: label.name is None)
            result.append(column[0] if column else op.fresh(1))
            continue
        for other in wide[1:]:
            op.join(wide[0], other)
        result.append(wide[0])
    return result


@rule(_POINTWISE)
def pointwise(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs]
    if op.name == "setitem":
        return op.labels(op.inputs[0])
    if op.name in {"to", "contiguous", "copy"}:
        rows = rows[:1] if op.name != "copy" else rows
    if op.name == "batch_norm":
        rows = rows[:1]
    return broadcast(op, rows, op.shape)


@rule("layer_norm", "rms_norm", "group_norm")
def normalised(op) -> Labels:
    x, *parameters = op.inputs
    labels = op.labels(x)
    if op.name != "group_norm":
        for parameter in parameters:
            for mine, its in zip(reversed(labels), reversed(op.labels(parameter)), strict=False):
                op.join(mine, its)
    return labels


@rule(_REDUCTIONS)
def reduced(op) -> list[Labels] | Labels:
    labels, axes = op.labels(op.inputs[0]), op.params.get("dim")
    if axes is None:
        result = []
    else:
        axes = axes if isinstance(axes, tuple) else (axes,)
        keep = op.params.get("keepdim", False)
        result = [
            op.fresh(1) if axis in axes else label
            for axis, label in enumerate(labels)
            if axis not in axes or keep
        ]
    return [result for _ in op.outputs] if len(op.outputs) > 1 else result


@rule("topk", "sort")
def ranked(op) -> list[Labels]:
    labels = list(op.labels(op.inputs[0]))
    if op.name == "topk":
        labels[op.params.get("dim", len(labels) - 1)] = op.size("k", 0, op.params["k"])
    return [labels for _ in op.outputs]


@rule("cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy_with_logits", "l1_loss")
def loss(op) -> Labels:
    if op.shape:
        raise Unknown
    return []
