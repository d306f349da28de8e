"""Tell an error that a sum, max or mean without keepdim brings about, and name the lost dim."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from .form import Sizes

_REDUCING = frozenset(
    {
        *("sum", "mean", "max", "min", "amax", "amin", "logsumexp", "prod", "norm", "std", "var"),
        *("nansum", "nanmean", "median"),
    }
)


class Reductions(TorchFunctionMode):
    """Follow what a reduction left without its dim, until it meets a tensor that it does not fit.

    That keepdim would help is not guessed: the operation that raised is run once more on the same
    numbers with the dim put back.
    """

    def __init__(self) -> None:
        super().__init__()
        # What was reduced: the tensor (kept alive, so that ids stay true), how, which dim, its size
        self.reduced: dict[int, tuple[Tensor, str, int, int]] = {}
        self.found: tuple[str, int, int] | None = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        try:
            result = func(*args, **kwargs)
        except RuntimeError:
            self.found = self._helped(func, args, kwargs, given)
            raise
        self._follow(getattr(func, "__name__", ""), given, args, kwargs, result)
        return result

    def _follow(self, name: str, given: list[Tensor], args: Any, kwargs: Any, result: Any) -> None:
        told = next((self.reduced[id(t)] for t in given if id(t) in self.reduced), None)
        words = [kwargs[word] for word in ("dim", "axis") if word in kwargs]
        dim: Any = next(iter([*words, *args[1:2]]), None)
        dim = dim[0] if isinstance(dim, tuple | list) and len(dim) == 1 else dim
        reduces = name in _REDUCING and type(dim) is int and len(given) == 1
        for leaf in tree_leaves(result):
            if not isinstance(leaf, Tensor):
                continue
            if reduces and leaf.ndim == given[0].ndim - 1:
                self.reduced[id(leaf)] = leaf, name, dim % given[0].ndim, given[0].shape[dim]
            elif told and leaf.shape == told[0].shape and self._all_reduced(given):
                self.reduced[id(leaf)] = leaf, *told[1:]  # a number added, a logarithm

    def _all_reduced(self, given: list[Tensor]) -> bool:
        return all(t.ndim == 0 or id(t) in self.reduced for t in given)

    def _helped(self, func, args, kwargs, given: list[Tensor]) -> tuple[str, int, int] | None:
        for one in given:
            if id(one) not in self.reduced or len(given) != 2:
                continue
            _, name, dim, size = self.reduced[id(one)]
            other = next((t for t in given if t is not one), one)
            if other.ndim != one.ndim + 1:
                continue
            back = lambda t, one=one, dim=dim: t.unsqueeze(dim) if t is one else t  # noqa: E731
            with torch.no_grad():
                try:
                    result = func(*tree_map(back, args), **tree_map(back, kwargs))
                except (RuntimeError, TypeError):
                    continue
            if isinstance(result, Tensor) and result.shape == other.shape:
                return name, dim - other.ndim, size
        return None


def advice(watched: Reductions, sizes: Sizes) -> str:
    """Say which dim was not kept, by its name where one size alone is of it."""
    if watched.found is None:
        return ""
    name, dim, size = watched.found
    names = [named for named, one in sizes.items() if one == size]
    lost = names[0] if len(names) == 1 else f"dim {dim}"
    return (
        f"The {name} over {lost} has one dim less, and dims line up from the last: "
        f"keepdim=True keeps {lost}, with size 1."
    )
