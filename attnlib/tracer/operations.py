"""Operations by their teaching names, with their arguments by name.

torch has many spellings of one operation (``@``, ``torch.matmul``, ``Tensor.matmul``; ``.mT``,
``transpose(-2, -1)``); a row shows one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALIASES = {
    "__matmul__": "matmul", "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul",
    "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub",
    "truediv": "div", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "invert": "bitwise_not", "swapaxes": "transpose", "swapdims": "transpose", "t": "transpose",
    "mT": "transpose", "mH": "transpose", "adjoint": "transpose", "concat": "cat",
    "concatenate": "cat", "type_as": "to", "float": "to", "half": "to", "double": "to",
    "bfloat16": "to", "int": "to", "long": "to", "bool": "to", "cpu": "to", "cuda": "to",
    "view_as": "view", "reshape_as": "reshape", "clamp_min": "clamp", "clamp_max": "clamp",
    "moveaxis": "movedim", "absolute": "abs", "negative": "neg", "greater": "gt", "less": "lt",
    "special_softmax": "softmax", "broadcast_to": "expand",
    "_scaled_dot_product_attention": "scaled_dot_product_attention",
}  # fmt: skip
INDEXING = {"__getitem__": "getitem", "__setitem__": "setitem"}
CONVERSIONS = {"__bool__": "condition", "__int__": "item", "__float__": "item"}  # to Python's own
PROPERTIES = {"T", "mT", "H", "mH", "real", "imag", "data", "grad"}  # the ones that give a tensor

_SIGNATURES = {
    "transpose": "input dim0 dim1", "permute": "input *dims", "movedim": "input source destination",
    "view": "input *shape", "reshape": "input *shape", "expand": "input *shape",
    "repeat": "input *repeats", "tile": "input *repeats", "unflatten": "input dim sizes",
    "flatten": "input start_dim end_dim", "squeeze": "input dim", "unsqueeze": "input dim",
    "softmax": "input dim", "log_softmax": "input dim", "logsumexp": "input dim keepdim",
    "masked_fill": "input mask value", "where": "condition input other",
    "add": "input other", "sub": "input other", "mul": "input other", "div": "input other",
    "pow": "input exponent", "matmul": "input other", "tril": "input diagonal",
    "triu": "input diagonal", "cat": "tensors dim", "stack": "tensors dim",
    "chunk": "input chunks dim", "split": "input split_size dim", "unbind": "input dim",
    "tensor_split": "input sections dim", "getitem": "input index", "setitem": "input index value",
    "select": "input dim index", "narrow": "input dim start length",
    "index_select": "input dim index", "index_copy": "input dim index source",
    "index_add": "input dim index source", "gather": "input dim index",
    "scatter": "input dim index src", "scatter_add": "input dim index src",
    "take_along_dim": "input indices dim", "masked_select": "input mask",
    "repeat_interleave": "input repeats dim", "sum": "input dim keepdim",
    "mean": "input dim keepdim", "amax": "input dim keepdim", "amin": "input dim keepdim",
    "max": "input dim keepdim", "min": "input dim keepdim", "prod": "input dim keepdim",
    "var": "input dim", "std": "input dim", "argmax": "input dim keepdim",
    "argmin": "input dim keepdim", "any": "input dim keepdim", "all": "input dim keepdim",
    "norm": "input p dim keepdim", "cumsum": "input dim", "cumprod": "input dim",
    "flip": "input *dims", "roll": "input shifts dims", "sort": "input dim descending",
    "topk": "input k dim", "layer_norm": "input normalized_shape weight bias eps",
    "rms_norm": "input normalized_shape weight eps", "embedding": "input weight padding_idx",
    "dropout": "input p training inplace", "linear": "input weight bias",
    "einsum": "equation *operands", "one_hot": "input num_classes",
    "scaled_dot_product_attention": "query key value attn_mask dropout_p is_causal",
    "ones": "*size", "zeros": "*size", "empty": "*size", "randn": "*size", "rand": "*size",
    "full": "size fill_value", "eye": "n m", "arange": "*bounds", "new_zeros": "input *size",
    "new_ones": "input *size", "new_empty": "input *size", "new_full": "input size fill_value",
    "normalize": "input p dim", "outer": "input other", "tensordot": "input other dims",
    "diagonal": "input offset dim1 dim2",
    **dict.fromkeys(
        (
            "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
            "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits",
        ),
        "input target",
    ),
    "cosine_similarity": "x1 x2 dim",
    "eq": "input other", "ne": "input other", "lt": "input other", "le": "input other",
    "gt": "input other", "ge": "input other", "clamp": "input min max",
    "bitwise_and": "input other", "bitwise_or": "input other", "maximum": "input other",
    "minimum": "input other", "addmm": "input mat1 mat2", "baddbmm": "input batch1 batch2",
    "multi_head_attention_forward": "query key value",
    "bilinear": "input1 input2 weight bias", "group_norm": "input num_groups weight bias",
    "batch_norm": "input running_mean running_var weight bias",
    "pad": "input pad mode value",
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d"), "input weight bias stride padding dilation groups"
    ),
}  # fmt: skip
SIGNATURES = {name: words.split() for name, words in _SIGNATURES.items()}
_SHARING = {"softmax", "log_softmax", "softmin"}
_AXES = {"dim", "dim0", "dim1", "dim2", "dims", "start_dim", "end_dim", "source", "destination"}


def canonical(name: str) -> str:
    """Give the teaching name of the operation that torch calls ``name``."""
    if name in INDEXING:
        return INDEXING[name]
    if name in CONVERSIONS:
        return CONVERSIONS[name]
    bare = name
    if name.startswith("__") and name.endswith("__"):
        bare = name.strip("_")
        for prefix in ("r", "i"):  # __radd__, __iadd__
            if bare[:1] == prefix and bare[1:] in _ARITHMETIC:
                bare = bare[1:]
    elif name.endswith("_") and not name.startswith("_"):
        bare = name.rstrip("_")
    return ALIASES.get(bare, bare)


_ARITHMETIC = {"add", "sub", "mul", "div", "truediv", "matmul", "pow", "and", "or", "xor"}


class Bound:
    """An operation's arguments by name: tensors in ``inputs``, everything else in ``params``."""

    __slots__ = ("arguments", "inputs", "params", "places")

    def __init__(self, op: str, args: tuple, kwargs: Mapping[str, Any], is_tensor) -> None:
        self.inputs: list = []
        self.params: dict[str, Any] = {}
        self.arguments: dict[str, Any] = {}  # every argument by name, tensors too
        self.places: list[tuple[str, int]] = []  # of each input: its argument, its place there
        names = SIGNATURES.get(op, ())
        for place, (name, value) in enumerate(_named(names, args)):
            self._take(name or f"arg{place}", value, is_tensor)
        for name, value in kwargs.items():
            if name != "out":
                self._take(_OTHER_WORDS.get(name, name), value, is_tensor)

    def _take(self, name: str, value: Any, is_tensor) -> None:
        self.arguments[name] = value
        if name == "index":
            self.params[name] = value
        if is_tensor(value):
            self.places.append((name, 0))
            self.inputs.append(value)
        elif isinstance(value, tuple | list) and any(map(is_tensor, value)):
            for place, item in enumerate(value):
                if is_tensor(item):
                    self.places.append((name, place))
                    self.inputs.append(item)
        elif value is not None:
            self.params[name] = value


_OTHER_WORDS = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "mat2": "other",
    "keepdims": "keepdim",
}


def _named(names, args):
    for place, value in enumerate(args):
        name = names[place] if place < len(names) else None
        if name is not None and name.startswith("*"):
            rest = args[place:]
            if len(rest) == 1 and isinstance(rest[0], tuple | list):
                rest = tuple(rest[0])
            yield name[1:], tuple(rest)
            return
        yield name, value


def normalised(op: str, params: Mapping[str, Any], ndim: int) -> dict[str, Any]:
    """Count the axes among ``params`` from the front, as rows and rules want them."""
    result = {}
    if op == "unsqueeze" or op == "stack":
        ndim += 1
    for name, value in params.items():
        if name in _AXES and ndim:
            if isinstance(value, int) and not isinstance(value, bool):
                value = int(value) % ndim
            elif isinstance(value, tuple | list) and all(isinstance(v, int) for v in value):
                value = tuple(int(v) % ndim for v in value)
        result[name] = value
    if op in _SHARING and "dim" not in result:  # as torch chooses it, with a warning
        result["dim"] = 0 if ndim in (0, 1, 3) else 1
    return result


def jsonable(value: Any) -> Any:
    """Write an argument so that JSON can hold it; what has no short form becomes its text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    if isinstance(value, slice):
        parts = [value.start, value.stop] + ([value.step] if value.step is not None else [])
        return ":".join("" if part is None else str(part) for part in parts)
    if value is Ellipsis:
        return "..."
    return str(value)[:80]
