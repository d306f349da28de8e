"""Watch the torch functions that a learner's code calls: where tensors live, what is drawn, NaN."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from ..tracer.frames import LIBRARY, kind_of


class LastCall(TorchFunctionMode):
    """Remember the last torch function that was called, and which tensors took part in any."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.touched: set[int] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name == "__get__":  # a property such as .T; .shape and .device do nothing
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in {"T", "mT", "H", "mH"}:
                return func(*args, **(kwargs or {}))
        if name not in {"size", "dim", "__len__"}:
            self.name = name
            self.touched |= {id(t) for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        return func(*args, **(kwargs or {}))


class Homes(TorchFunctionMode):
    """Follow the tensors that were made without a device, and note one that meets an input.

    On a GPU the inputs live there and such a tensor on the CPU: the operation would raise.
    """

    FREE = frozenset({"__getitem__", "__setitem__", "copy_", "index_select"})  # cross devices
    HOME = frozenset({"type_as", "to", "new_tensor"})  # bring a tensor to another's device
    NUMBERS = frozenset({"tensor", "as_tensor", "from_numpy"})

    def __init__(self) -> None:
        super().__init__()
        self.found = ""
        self.line = ""  # where it was made
        # How each was made and where; kept alive, so that ids stay true.
        self.homeless: dict[int, tuple[Tensor, str, str]] = {}

    def made(self, value: Any) -> str:
        """Say how a homeless tensor was made: "" for one at home, "numbers" or "factory"."""
        return self.homeless[id(value)][1] if id(value) in self.homeless else ""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        homeless = [t for t in tensors if self.made(t)]
        at_home = len(homeless) < len(tensors)
        met = [t for t in homeless if t.ndim and at_home and name not in self.FREE | self.HOME]
        if met and not self.found:
            self.found, self.line = name, self.homeless[id(met[0])][2]
        result = func(*args, **kwargs)
        placed = any(isinstance(a, torch.device) for a in (*args, kwargs.get("device")))
        if placed and isinstance(result, Tensor):
            self.homeless.pop(id(result), None)  # .to(device) may give the same tensor back
        if placed or (at_home and name != "__setitem__"):
            return result
        made = self.made(homeless[0]) if homeless else ""
        made = made or ("numbers" if name in self.NUMBERS else "factory")
        line = self.homeless[id(homeless[0])][2] if homeless else _line()
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.homeless[id(leaf)] = leaf, made, line
        return result


def _line() -> str:
    """Return the line of the learner's code that calls torch now."""
    frame = sys._getframe(2)
    while frame.f_back is not None and kind_of(frame.f_code.co_filename) is LIBRARY:
        frame = frame.f_back
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()


# At which place these take their dropout_p.
_DROPOUT_P = {"scaled_dot_product_attention": 4, "multi_head_attention_forward": 10}


class Draws(TorchFunctionMode):
    """Note whether numbers were dropped by chance: by a dropout, or where a random one is low."""

    COMPARES = frozenset({"gt", "lt", "ge", "le"})

    def __init__(self) -> None:
        super().__init__()
        self.dropped = False
        self.drawn: dict[int, Tensor] = {}  # kept alive, so that ids stay true

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        before = tensors[0].clone() if "dropout" in name and tensors else None
        result = func(*args, **kwargs)
        if before is not None:  # one that is switched off changes nothing
            self.dropped |= not torch.equal(result, before)
        if name in _DROPOUT_P:
            at = _DROPOUT_P[name]
            self.dropped |= bool(kwargs.get("dropout_p", args[at] if len(args) > at else 0))
        if name.startswith("rand") and isinstance(result, Tensor):
            self.drawn[id(result)] = result
        compared = name in self.COMPARES and any(id(t) in self.drawn for t in tensors)
        self.dropped |= compared or name.startswith("bernoulli")
        return result


class FirstNaN(TorchFunctionMode):
    """Remember the first function that made a NaN of numbers: its name, and whether inf went in."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.of_inf = False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        given = [torch.as_tensor(one) for one in leaves if isinstance(one, Tensor | float)]
        spoilt = any(bool(one.isnan().any()) for one in given)
        of_inf = any(bool((one == torch.inf).any()) for one in given)
        result = func(*args, **kwargs)
        made = isinstance(result, Tensor) and not spoilt and bool(result.isnan().any())
        if made and not self.name:
            self.name, self.of_inf = getattr(func, "__name__", ""), of_inf
        return result
