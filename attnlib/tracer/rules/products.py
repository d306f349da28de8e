"""Rules for products: what is summed over, and what stays."""

from __future__ import annotations

from ..equations import spread
from ..labels import Label
from .elementwise import broadcast
from .registry import Labels, Unknown, rule


@rule("linear")
def linear(op) -> Labels:
    x, weight, *bias = op.inputs
    given, wanted = op.labels(x), op.labels(weight)
    op.contract(given[-1], wanted[-1])
    if bias:
        op.join(op.labels(bias[0])[-1], wanted[0])
    return given[:-1] + wanted[:-1]


@rule("matmul")
def matmul(op) -> Labels:
    return contracted(op, *map(op.labels, op.inputs[:2]))


@rule("addmm", "baddbmm", "addmv")
def added(op) -> Labels:
    bias, a, b = map(op.labels, op.inputs[:3])
    return broadcast(op, [contracted(op, a, b), bias], op.shape)


def contracted(op, a: Labels, b: Labels) -> Labels:
    op.contract(a[-1], b[-2] if len(b) > 1 else b[-1])
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
    try:
        equation, _ = spread(op.params["equation"], [len(state.shape) for state in op.inputs])
    except ValueError:
        raise Unknown from None
    left, right = equation.split("->")
    letters: dict[str, Label] = {}
    for term, state in zip(left.split(","), op.inputs, strict=True):
        for letter, label in zip(term, op.labels(state), strict=True):
            known = letters.setdefault(letter, label)
            if known is not label and known.size == label.size:
                (op.join if letter in right else op.contract)(known, label)
            if known.size == 1:
                letters[letter] = label
    return [letters[letter] for letter in right]


@rule("scaled_dot_product_attention")
def fused(op) -> Labels:
    q, k, v = (op.labels(state) for state in op.inputs[:3])
    op.contract(q[-1], k[-1])
    op.contract(k[-2], v[-2])
    if op.params.get("enable_gqa"):
        return [*q[:-1], v[-1]]
    batch = broadcast(op, [q[:-2], k[:-2], v[:-2]], op.shape[:-2])
    if len(op.inputs) > 3:
        mask = op.labels(op.inputs[3])
        broadcast(op, [[*batch, q[-2], k[-2]], mask], (*op.shape[:-1], k[-2].size))
    return [*batch, q[-2], v[-1]]


@rule("tensordot")
def summed(op) -> Labels:
    a, b = (op.labels(state) for state in op.inputs[:2])
    dims = op.params.get("dims", 2)
    if isinstance(dims, int):
        dims = (tuple(range(len(a) - dims, len(a))), tuple(range(dims)))
    first, second = ([axes] if isinstance(axes, int) else list(axes) for axes in dims)
    first, second = [i % len(a) for i in first], [j % len(b) for j in second]
    for i, j in zip(first, second, strict=True):
        op.contract(a[i], b[j])
    rest = [label for i, label in enumerate(a) if i not in first]
    return rest + [label for j, label in enumerate(b) if j not in second]


@rule("inner")
def inner(op) -> Labels:
    a, b = (op.labels(state) for state in op.inputs[:2])
    op.contract(a[-1], b[-1])
    return a[:-1] + b[:-1]


@rule("cdist")
def distances(op) -> Labels:
    a, b = (op.labels(state) for state in op.inputs[:2])
    op.contract(a[-1], b[-1])
    return [*broadcast(op, [a[:-2], b[:-2]], op.shape[:-2]), a[-2], b[-2]]


@rule("multi_head_attention_forward")
def library_heads(op) -> list[Labels]:
    """Read (S, batch, n_embd); the masks mean what the documentation of torch says."""
    q, k = (op.labels(state) for state in op.inputs[:2])
    padding, mask = (op.argument(name) for name in ("key_padding_mask", "attn_mask"))
    for mine, its in ((padding, [*k[1:-1], k[0]]), (mask, [q[0], k[0]])):
        if mine is not None:
            for one, other in zip(reversed(op.labels(mine)), reversed(its), strict=False):
                op.join(one, other)
    weights = [*q[1:-1], q[0], k[0]]
    return [q, weights][: len(op.outputs)]
