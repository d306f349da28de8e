"""Watch the torch functions that a learner's code calls: where tensors live, what is drawn, NaN."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves


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
        self.homeless: dict[int, tuple[Tensor, str]] = {}  # kept alive, so that ids stay true

    def made(self, value: Any) -> str:
        """Say how a homeless tensor was made: "" for one at home, "numbers" or "factory"."""
        return self.homeless.get(id(value), (None, ""))[1]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        homeless = [t for t in tensors if self.made(t)]
        at_home = len(homeless) < len(tensors)
        if at_home and name not in self.FREE | self.HOME and any(t.ndim for t in homeless):
            self.found = self.found or name
        result = func(*args, **kwargs)
        placed = any(isinstance(a, torch.device) for a in (*args, kwargs.get("device")))
        if placed and isinstance(result, Tensor):
            self.homeless.pop(id(result), None)  # .to(device) may give the same tensor back
        if placed or (at_home and name != "__setitem__"):
            return result
        made = self.made(homeless[0]) if homeless else ""
        made = made or ("numbers" if name in self.NUMBERS else "factory")
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.homeless[id(leaf)] = leaf, made
        return result


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
