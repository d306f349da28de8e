"""Weights that compare features with features: the mistake lies where their product was made."""

from __future__ import annotations

from ...dims import role
from ..rows import Step, TensorInfo
from .changes import alike, may_be
from .clash import Failed, on

_TURNING = {"transpose", "T", "permute"}
# What leaves every axis where it is: from the weights back to the product that made them.
_KEEPING = {
    "softmax", "masked_fill", "dropout", "div", "mul", "add", "sub", "where", "contiguous", "to",
    "exp", "clone", "detach", "clamp", "tanh",
}  # fmt: skip

_SAME = {"dropout", "contiguous", "to", "clone", "detach"}


def features_compared(failed: Failed) -> str:
    """Say that weights (H, H) cannot weigh the rows of (S, H), and how to make them (S, S)."""
    a, b = failed.infos[:2]
    if len(a.shape) < 2 or len(b.shape) < 2 or role(a.dims[-1]) == "S":
        return ""
    if not a.dims[-1] == a.dims[-2] == b.dims[-1] != b.dims[-2]:
        return ""
    said = (
        f"{a.name} compares features with features, {failed.size(0, -1)} both ways, but has to "
        f"weigh the {failed.size(1, -2)} rows of {b.name}"
    )
    product, _ = product_of(failed.op.made(0), failed.rows)
    if product is None:
        return said if role(a.dims[-1]) in ("H", "n_embd") else ""
    left, right = compared(product, failed.rows)
    if right is not None and left is None:
        return ""  # tokens are compared, as they should be: it is b that lies otherwise
    q, k = (
        info.name if source is None else source.name
        for info, source in zip(product.inputs, (left, right), strict=True)
    )
    if left is not None and left.name == product.inputs[0].name:
        return said  # ``q = q.mT``: what it was has no name at that line
    return (
        f"{said}: where it was made, the other operand of the product should have been "
        f"transposed ({on(q)} @ {on(k)}.transpose(-2, -1))"
    )


def columns_compared(failed: Failed) -> str:
    """Say the same of tokens in columns: weights (H, H) behind values (H, S)."""
    v, w = failed.infos[:2]
    if len(v.shape) < 2 or len(w.shape) < 2:
        return ""
    if not w.dims[-1] == w.dims[-2] == v.dims[-2] != v.dims[-1]:
        return ""
    nameless = role(w.dims[-1]) is None and shares(failed, 1) == len(w.shape) - 2
    if role(w.dims[-1]) not in ("H", "n_embd") and not nameless:
        return ""
    product, _ = product_of(failed.op.made(1), failed.rows)
    if product is None:
        return ""
    left, right = compared(product, failed.rows)
    if left is not None or right is None or right.name == product.inputs[1].name:
        return ""
    return (
        f"{w.name} compares features with features, {failed.size(1, -1)} both ways, but has to "
        f"weigh the {failed.size(0, -1)} columns of {v.name}: where it was made, the other operand "
        f"of the product should have been transposed "
        f"({on(product.inputs[0].name)}.transpose(-2, -1) @ {on(right.name)})"
    )


def shares(failed: Failed, which: int) -> int | None:
    """Return the axis over which weights add up to 1, if they come from comparing two sets."""
    product, axis = product_of(failed.op.made(which), failed.rows, turned_too=True)
    return axis if product is not None and any(compared(product, failed.rows)) else None


def keys_in_rows(failed: Failed) -> str:
    """Say that weights which add up to 1 over the queries are no shares of the rows of values.

    Where the names do not say that keys and queries were exchanged, the scores may be right.
    """
    a, b = failed.infos[:2]
    if shares(failed, 0) != len(a.shape) - 1 or len(b.shape) < 2 or a.shape[-1] == b.shape[-2]:
        return ""
    rows, values = (failed.op.labels(state)[-2] for state in failed.states[:2])
    if not (alike(rows, values) or may_be(failed, rows, values)):
        return ""
    product, _ = product_of(failed.op.made(0), failed.rows)
    if product is None:
        return ""
    left, right = compared(product, failed.rows)
    said = f"; {a.name} adds up to 1 over {failed.size(0, -1)}, not over the "
    said += f"{failed.size(1, -2)} rows of {b.name}"
    if left is not None or right is None or right.name == product.inputs[1].name:
        return said
    q, k = right.name, product.inputs[0].name
    if not (is_called(q, "q", "quer") and is_called(k, "k", "key")):
        return said
    return f"{said}: the scores should have been {on(q)} @ {on(k)}.transpose(-2, -1)"


def is_called(name: str, letter: str, word: str) -> bool:
    """Does the code call a tensor queries, or keys: ``q``, ``xq``, ``query_states``, ``Qh``?"""
    last = name.rpartition(".")[2].lower()
    parts = [part.rstrip("0123456789") for part in last.split("_")]
    return word in last or bool({letter, f"x{letter}", f"{letter}h", f"{letter}s"} & {*parts})


def compared(product: Step, rows: list[Step]) -> list[TensorInfo | None]:
    """Return what each side of a product was before its last two axes were changed over."""
    return [_before_it_was_turned(info, product, rows) for info in product.inputs]


def product_of(
    step: Step | None, rows: list[Step], *, turned_too: bool = False
) -> tuple[Step | None, int | None]:
    """Go back to the product that weights came from, and note the axis of the softmax between.

    Weights that were transposed since are followed where it is asked for, their axis with them.
    """
    axis, whole = None, True
    order: dict[int | None, int] = {}
    for _ in range(len(rows)):
        if step is None or step.op == "matmul" or not step.inputs:
            break
        turns = turned_too and whole and turns_last_two(step)
        if step.op not in _KEEPING and not turns:
            break
        if turns:
            last = len(step.inputs[0].shape) - 1
            order = {} if order else {last: last - 1, last - 1: last}
        if step.op == "softmax" and whole:
            axis = step.params.get("dim")
            axis = order.get(axis, axis)
        whole = whole and (step.op in _SAME or turns)
        step = maker(step.inputs[0], rows, step)
    return (step if step is not None and step.op == "matmul" else None), axis


def maker(info: TensorInfo, rows: list[Step], before: Step) -> Step | None:
    """Find the last row, before another, that made a tensor."""
    place = next((k for k, row in enumerate(rows) if row is before), len(rows))
    return next((row for row in reversed(rows[:place]) if info in row.outputs), None)


def _before_it_was_turned(info: TensorInfo, before: Step, rows: list[Step]) -> TensorInfo | None:
    """Return what a tensor was before its last two axes were changed over, if they were."""
    made = maker(info, rows, before)
    return made.inputs[0] if made is not None and turns_last_two(made) else None


def turns_last_two(step: Step) -> bool:
    """Does a row change over the last two axes?"""
    if step.op not in _TURNING or not step.inputs:
        return False
    last = len(step.inputs[0].shape) - 1
    if step.op == "T":
        return last == 1
    if step.op == "permute":
        return list(step.params["dims"][-2:]) == [last, last - 1]
    return {step.params["dim0"], step.params["dim1"]} == {last, last - 1}
