"""Clashes of one operand with what is done to it: whole numbers, bools, several numbers for one."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable

from ...dims import role
from .calls import call_of, with_argument, with_operand
from .clash import Candidate, Failed, on
from .conditions import truth
from .masks import as_bool

Told = tuple[str, list[Candidate]]
_WHOLE = ("int", "uint", "bool")
_NO_FLOATS = re.compile(r"not implemented for '(\w+)'|floating point|[Ff]loat(ing)? (type|dtype)")
_KERNEL = {"Long": "int64", "Int": "int32", "Short": "int16", "Byte": "uint8", "Char": "int8",
           "Bool": "bool", "Half": "float16", "BFloat16": "bfloat16"}  # fmt: skip


def plain(failed: Failed) -> Told | None:
    """Explain an operand of a kind that the operation does not take."""
    if not failed.infos:
        return None
    error = str(failed.error)
    for sign, explain in _SIGNS.items():
        if sign in error:
            return explain(failed)
    if _NO_FLOATS.search(error):
        return _floats(failed)
    return None


def _inverted(failed: Failed) -> Told | None:
    """``1 - mask`` and ``-mask`` are ``~mask``."""
    bools = [which for which, info in enumerate(failed.infos) if info.dtype == "bool"]
    if not bools:
        return None
    name = failed.names[bools[-1]]
    said = f"{name} is bool, True and False: they are not subtracted, ~ turns them round"
    if len(failed.infos) == 1:
        return said, [Candidate(f"~{on(name)}", lambda t: ~t[0])]
    a, b = failed.names[:2]
    return said, [Candidate(f"{on(a)} & ~{on(b)}", lambda t: t[0] & ~t[1])]


def _bits(failed: Failed) -> Told | None:
    """Make masks of floats bool before they are combined."""
    floats = [i for i, info in enumerate(failed.infos) if not info.dtype.startswith(_WHOLE)]
    if not floats:
        return None
    name = failed.names[floats[0]]
    sign = {"bitwise_not": "~", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
    said = f"{name} is {failed.infos[floats[0]].dtype}, but {sign.get(failed.op.name, 'this')} "
    said += "is for bools and whole numbers"
    words = [f"{on(n)}.bool()" if i in floats else on(n) for i, n in enumerate(failed.names)]
    if failed.op.name == "bitwise_not":
        return said, [Candidate(f"~{words[0]}")]
    if failed.op.name in sign and len(words) == 2:
        return said, [Candidate(f"{words[0]} {sign[failed.op.name]} {words[1]}")]
    return said, []


def _floats(failed: Failed) -> Told | None:
    """Whole numbers, where numbers with a fraction come out."""
    found = re.search(r"not implemented for '(\w+)'", str(failed.error))
    kernel = _KERNEL.get(found.group(1)) if found else None
    for which, info in enumerate(failed.infos):
        if info.dtype == kernel or (kernel is None and info.dtype.startswith(_WHOLE)):
            if failed.op.name.startswith("bitwise"):
                return None
            said = f"{info.name} is {info.dtype}, but {failed.op.name} needs floats"
            code = with_operand(failed, which, f"{on(info.name)}.float()")
            return said, [Candidate(code)]
    return _bits(failed) if kernel is None and failed.op.name.startswith("bitwise") else None


def _scalar(failed: Failed) -> Told | None:
    """``backward()`` starts from one number."""
    x = failed.infos[0]
    said = f"backward() starts from one number, but {x.described()} holds {math.prod(x.shape)}"
    return said, [Candidate(f"{on(x.name)}.mean().backward()", lambda t: t[0].mean())]


def _one(failed: Failed) -> Told | None:
    """``item()`` takes a tensor of one number."""
    x = failed.infos[0]
    said = f"a Python number is made of one number, but {x.described()} holds {math.prod(x.shape)}"
    if not x.dtype.startswith(("float", "bfloat")):
        return said + ": tolist() gives them all", []
    return said, [Candidate(f"{on(x.name)}.mean().item()", lambda t: t[0].mean())]


def _dropped(failed: Failed) -> Told | None:
    p = failed.op.params.get("p")
    said = f"p is the share of numbers that is dropped, between 0 and 1, but it is {p}"
    code = None
    if isinstance(p, int | float) and 1 < p <= 100:
        code = with_argument(failed, "p", str(p / 100))
    return said, [Candidate(code)] if code is not None else []


def _infinite(failed: Failed) -> Told | None:
    """Whole numbers have no infinity."""
    x = failed.infos[0]
    if not x.dtype.startswith(_WHOLE):
        return None
    said = f"{failed.op.params.get('value')} does not fit in {x.dtype}, the dtype of {x.name}"
    return said, [Candidate(with_operand(failed, 0, f"{on(x.name)}.float()"))]


def _filled(failed: Failed) -> Told | None:
    """``masked_fill`` fills in one number; ``where`` takes a tensor."""
    if len(failed.infos) < 3:
        return None
    x, mask, value = failed.names[:3]
    said = f"masked_fill puts in one number, but {failed.infos[2].described()}"
    return said, [Candidate(f"torch.where({mask}, {value}, {x})")]


def _chosen(failed: Failed) -> Told | None:
    """Only True and False choose."""
    mask = failed.infos[0]
    if mask.dtype == "bool":
        return None
    taken = {argument for argument, _ in failed.op.bound.places}
    fills = None if {"input", "other"} <= taken else "input" not in taken
    more, codes = as_bool(failed, 0, fills)
    said = f"{mask.name} is {mask.dtype}, but a mask is bool{more}"
    return said, [Candidate(with_operand(failed, 0, code)) for code in codes]


def _selected(failed: Failed) -> Told | None:
    if len(failed.infos) < 2 or failed.infos[1].dtype == "bool":
        return None
    mask = failed.infos[1]
    said = f"{mask.name} is {mask.dtype}, but a mask is bool"
    return said, [Candidate(with_operand(failed, 1, f"{on(mask.name)}.bool()"))]


def _triangle(failed: Failed) -> Told | None:
    """A triangle is cut out of two axes; ``ones(S)`` has one."""
    x, node = failed.infos[0], call_of(failed)
    said = f"{failed.op.name} keeps a triangle of the last two axes, but {x.described()} has "
    said += f"{len(x.shape)}"
    operand = failed.op.operand(0)
    try:
        made = ast.parse(operand or "", mode="eval").body
    except SyntaxError:
        return said, []
    if node is not None and isinstance(made, ast.Call) and len(made.args) == 1:
        made.args *= 2
        return said, [Candidate(with_operand(failed, 0, ast.unparse(made)))]
    return said, []


def _drawn(failed: Failed) -> Told | None:
    """Rows are drawn from one by one: the last token's, or those of all tokens in one list."""
    x = failed.infos[0]
    if len(x.shape) < 3:
        return None
    said = f"multinomial draws from one row, or from a list of rows, but {x.described()} has "
    said += f"{len(x.shape)} axes"
    tokens = len(x.shape) == 3 and role(x.dims[1]) != "heads"
    rows = f"{on(x.name)}.flatten(0, {len(x.shape) - 2})"
    cut = f"{on(x.name)}[:, -1]" if tokens else rows
    return said, [Candidate(with_operand(failed, 0, cut))]


_SIGNS: dict[str, Callable[[Failed], Told | None]] = {
    "Subtraction, the `-` operator": _inverted,
    "Negation, the `-` operator": _inverted,
    "operator.invert": _bits,
    "bitwise_": _bits,
    "more than one value is ambiguous": truth,
    "only for scalar outputs": _scalar,
    "cannot be converted to Scalar": _one,
    "only one element tensors can be converted": _one,
    "without overflow": _infinite,
    "dropout probability": _dropped,
    "only supports a 0-dimensional value": _filled,
    "condition to be a boolean": _chosen,
    "expected BoolTensor": _selected,
    "expects Bool": _selected,
    "at least 2 dimensions": _triangle,
    "prob_dist must be 1 or 2 dim": _drawn,
}
