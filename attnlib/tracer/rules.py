"""What each operation does to labels: the rules that carry a dimension's name along.

A rule gets the operation with its arguments by name and returns the labels of its result, or of
each of its results. An operation without a rule gets labels that say nothing: sizes are never
compared to guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .recorder import State
from .reshapes import reshaped, split_axis
from .symbols import Dim, Label

Labels = list[Label]


class Unknown(Exception):
    """An operation in a form that its rule does not know: its labels say nothing."""


RULES: dict[str, Callable] = {}

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
""".split()
_REDUCTIONS = """
    sum mean amax amin max min prod var std argmax argmin any all norm logsumexp median nansum
    nanmean count_nonzero softmax_sum var_mean std_mean quantile
""".split()


def rule(*names: str):
    """Register a rule for the operations of these names."""

    def register(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


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


@rule(*_POINTWISE)
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


@rule("linear")
def linear(op) -> Labels:
    x, weight, *bias = op.inputs
    given, wanted = op.labels(x), op.labels(weight)
    op.join(given[-1], wanted[-1])
    if bias:
        op.join(op.labels(bias[0])[-1], wanted[0])
    return given[:-1] + wanted[:-1]


@rule("matmul")
def matmul(op) -> Labels:
    return contracted(op, *map(op.labels, op.inputs[:2]))


@rule("addmm", "baddbmm", "addmv", "addbmm")
def added(op) -> Labels:
    bias, a, b = map(op.labels, op.inputs[:3])
    if op.name == "addbmm":
        raise Unknown
    return broadcast(op, [contracted(op, a, b), bias], op.shape)


def contracted(op, a: Labels, b: Labels) -> Labels:
    op.join(a[-1], b[-2] if len(b) > 1 else b[-1])
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else []
    if len(a) > 2 or len(b) > 2:
        shape = op.shape[: len(op.shape) - len(rows) - len(columns)]
        return broadcast(op, [a[:-2], b[:-2]], shape) + rows + columns
    return rows + columns


@rule("outer")
def outer(op) -> Labels:
    return [op.labels(state)[0] for state in op.inputs[:2]]


@rule("einsum")
def einsum(op) -> Labels:
    equation = op.params["equation"].replace(" ", "")
    if "..." in equation or "->" not in equation:
        raise Unknown
    left, right = equation.split("->")
    letters: dict[str, Label] = {}
    for term, state in zip(left.split(","), op.inputs, strict=True):
        for letter, label in zip(term, op.labels(state), strict=True):
            known = letters.setdefault(letter, label)
            if known is not label and known.size == label.size:
                op.join(known, label)
            if known.size == 1:
                letters[letter] = label
    return [letters[letter] for letter in right]


@rule("scaled_dot_product_attention")
def fused(op) -> Labels:
    q, k, v = (op.labels(state) for state in op.inputs[:3])
    op.join(q[-1], k[-1])
    op.join(k[-2], v[-2])
    if op.params.get("enable_gqa"):
        return [*q[:-1], v[-1]]
    batch = broadcast(op, [q[:-2], k[:-2], v[:-2]], op.shape[:-2])
    if len(op.inputs) > 3:
        mask = op.labels(op.inputs[3])
        broadcast(op, [[*batch, q[-2], k[-2]], mask], (*op.shape[:-1], k[-2].size))
    return [*batch, q[-2], v[-1]]


@rule("multi_head_attention_forward")
def library_heads(op) -> list[Labels]:
    q, k = (op.labels(state) for state in op.inputs[:2])
    weights = [*q[1:-1], q[0], k[0]]
    return [q, weights][: len(op.outputs)]


@rule("transpose")
def transpose(op) -> Labels:
    labels = list(op.labels(op.inputs[0]))
    if len(labels) > 1:
        i, j = op.params["dim0"], op.params["dim1"]
        labels[i], labels[j] = labels[j], labels[i]
    return labels


@rule("T", "H")
def reverse(op) -> Labels:
    return op.labels(op.inputs[0])[::-1]


@rule("permute")
def permute(op) -> Labels:
    labels = op.labels(op.inputs[0])
    return [labels[axis] for axis in op.params["dims"]]


@rule("movedim")
def movedim(op) -> Labels:
    labels = op.labels(op.inputs[0])
    source, target = (
        value if isinstance(value, tuple) else (value,)
        for value in (op.params["source"], op.params["destination"])
    )
    rest = [axis for axis in range(len(labels)) if axis not in source]
    for place, axis in sorted(zip(target, source, strict=True)):
        rest.insert(place, axis)
    return [labels[axis] for axis in rest]


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
    return [*labels[:first], op.symbols.product(labels[first : last + 1]), *labels[last + 1 :]]


@rule("unflatten")
def unflatten(op) -> Labels:
    labels, axis = op.labels(op.inputs[0]), op.params["dim"]
    sizes = op.params["sizes"]
    asked = [None if size < 0 else op.size("sizes", i, size) for i, size in enumerate(sizes)]
    shape = op.shape[axis : axis + len(sizes)]
    return [*labels[:axis], *split_axis(op, labels[axis], shape, asked), *labels[axis + 1 :]]


@rule("squeeze")
def squeeze(op) -> Labels:
    return _squeezed(op, op.labels(op.inputs[0]))


def _squeezed(op, labels: Labels) -> Labels:
    axes = op.params.get("dim")
    axes = range(len(labels)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return [label for axis, label in enumerate(labels) if axis not in axes or label.size != 1]


@rule("unsqueeze")
def unsqueeze(op) -> Labels:
    labels, axis = op.labels(op.inputs[0]), op.params["dim"]
    return [*labels[:axis], op.fresh(1), *labels[axis:]]


@rule("expand")
def expand(op) -> Labels:
    labels = op.labels(op.inputs[0])
    if len(op.inputs) > 1:  # expand_as
        return broadcast(op, [labels, op.labels(op.inputs[1])], op.shape)
    labels = [None] * (len(op.shape) - len(labels)) + labels
    result = []
    for place, (label, size) in enumerate(zip(labels, op.params["shape"], strict=True)):
        if label is not None and (size < 0 or label.size == size):
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
        label if n == 1 else op.times(op.size("repeats", place, n), label)
        for (place, n), label in zip(counts, labels, strict=True)
    ]


@rule("repeat_interleave")
def repeat_interleave(op) -> Labels:
    labels, n, axis = list(op.labels(op.inputs[0])), op.params["repeats"], op.params["dim"]
    labels[axis] = op.symbols.product((labels[axis], op.size("repeats", 0, n)))
    return labels


@rule("cat")
def cat(op) -> Labels:
    rows = [op.labels(state) for state in op.inputs]
    rows = [row for row in rows if len(row) == len(op.shape)]
    axis = op.params.get("dim", 0)
    shape = [1 if place == axis else size for place, size in enumerate(op.shape)]
    others = [[op.fresh(1) if i == axis else label for i, label in enumerate(row)] for row in rows]
    result = broadcast(op, others, shape)
    joined = {row[axis].root() for row in rows}
    if len(joined) == 1 and len(rows) > 1:
        result[axis] = op.symbols.product((op.literal(len(rows)), rows[0][axis]))
    else:
        result[axis] = rows[0][axis] if len(rows) == 1 else op.fresh(op.shape[axis])
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


@rule(*_REDUCTIONS)
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


@rule("embedding")
def embedding(op) -> Labels:
    ids, weight = op.inputs[:2]
    return [*op.labels(ids), op.labels(weight)[-1]]


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


@rule("index_select")
def index_select(op) -> Labels:
    labels, axis = list(op.labels(op.inputs[0])), op.params["dim"]
    labels[axis] = op.labels(op.inputs[1])[0]
    return labels


@rule("gather", "scatter", "scatter_add", "take_along_dim")
def gather(op) -> Labels:
    return op.labels(op.inputs[1 if op.name in {"gather", "take_along_dim"} else 0])


@rule("getitem")
def getitem(op) -> Labels:
    labels, index = op.labels(op.inputs[0]), op.params["index"]
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, State | bool) or type(part) is tuple for part in index):
        return _looked_up(op, labels, index)
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
            result.append(_sliced(op, labels[axis], part, op.shape[len(result)], place))
            axis += 1
        else:
            axis += 1
    return result + labels[axis:]


def _sliced(op, label: Label, part: slice, size: int, place: int) -> Label:
    if part.start in (None, 0) and part.step in (None, 1, -1):
        if part.stop is None:
            return label
        if isinstance(part.stop, int) and part.stop == size:
            return op.size("index", place, part.stop, stop=True)
    return op.fresh(size)


def _looked_up(op, labels: Labels, index: tuple) -> Labels:
    """Index with one integer tensor in front: its axes take the place of the axis it picks from."""
    first = index[0]
    if len(index) != 1 or not isinstance(first, State) or first.dtype in ("bool", "uint8"):
        raise Unknown
    return [*op.labels(first), *labels[1:]]


@rule("cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy_with_logits", "l1_loss")
def loss(op) -> Labels:
    if op.shape:
        raise Unknown
    return []
