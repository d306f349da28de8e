"""Rules for operations that work number by number, and for those that reduce an axis."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .registry import Labels, rule

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
    isclose argsort logcumsumexp cummax cummin pin_memory batch_norm
    complex polar angle conj conj_physical resolve_conj resolve_neg
"""
_REDUCTIONS = """
    sum mean amax amin max min prod var std argmax argmin any all norm logsumexp median nansum
    nanmean count_nonzero var_mean std_mean quantile
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
    if op.name in {"to", "contiguous", "batch_norm"}:  # the others only say how, or normalise
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


_LOSSES = """
    mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits
"""


@rule(_LOSSES)
def loss(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs]
    found = broadcast(op, rows, max((state.shape for state in op.inputs), key=len))
    return found if op.shape else []


@rule("cross_entropy", "nll_loss")
def classes(op) -> Labels:
    """Scores (N, C, d1, …) beside the right classes (N, d1, …), or beside weights for each."""
    scores, target = (op.labels(state) for state in op.inputs[:2])
    if len(target) == len(scores) - 1:
        scores = [*scores[:-1][:1], *scores[2:]] if len(scores) > 1 else []
    for mine, its in zip(scores, target, strict=False):
        op.join(mine, its)
    return target if op.shape else []


@rule("cosine_similarity")
def similarity(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs[:2]]
    axis = op.params.get("dim", 1)
    shape = torch.broadcast_shapes(*(state.shape for state in op.inputs[:2]))
    both = broadcast(op, rows, shape)
    return both[:axis] + both[axis + 1 :]
