"""Code with all that it holds, copied without numbers: running it changes nothing of the reader's.

A function reaches things through its closure, its globals and its defaults; a module or an
optimizer through its attributes. All of them are copied together, so that an optimizer still holds
the parameters of its model; every tensor becomes one of the meta device. A class is not copied:
what it holds for all of its instances is put back afterwards.
"""

from __future__ import annotations

import copy
import functools
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .frames import LIBRARY, kind_of

_SHARED = (
    type(None), bool, int, float, complex, str, bytes, type, types.ModuleType,
    types.BuiltinFunctionType, torch.dtype, torch.device, torch.Size, torch.layout,
)  # fmt: skip
_DEEP = 6  # containers in containers


class Ghosts:
    """Copy values, each once."""

    def __init__(self, unstarted: Iterable[Optimizer] = ()) -> None:
        self._unstarted = {id(optimizer) for optimizer in unstarted}
        self._memo: dict[int, Any] = {}
        self._kept: list[Any] = []  # what has been copied keeps its id
        self._classes: dict[type, None] = {}  # the reader's own, of what was copied or is named

    def of(self, value: Any) -> Any:
        """Return a copy of a value that shares no number with it.

        Raises: TypeError for what cannot be copied (a generator that is running, a lock).
        """
        if isinstance(value, type):
            self._meet(value)
        if isinstance(value, _SHARED):
            return value
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._kept.append(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return types.MethodType(self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, functools.partial):
            args, words = map(self.of, value.args), self._items(value.keywords)
            return functools.partial(self.of(value.func), *args, **words)
        if hasattr(value, "cache_parameters"):  # functools.cache, lru_cache: with nothing in it
            again = functools.lru_cache(**value.cache_parameters())
            copied = self._memo[id(value)] = again(self.of(value.__wrapped__))
            return copied
        for part in value.modules() if isinstance(value, nn.Module) else (value,):
            self._meet(type(part))
        for tensor in _tensors(value):
            if id(tensor) not in self._memo:
                self._kept.append(tensor)
                self._memo[id(tensor)] = _empty(tensor)
        copied = copy.deepcopy(value, self._memo)
        if id(value) in self._unstarted:
            copied.state.clear()
        return copied

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Put back, at the end, the lists and tables that the reader's classes hold."""
        held = [
            (value, copy.copy(value))
            for cls in self._classes
            for name, value in vars(cls).items()
            if isinstance(value, dict | list | set) and not name.startswith("__")
        ]
        try:
            yield
        finally:
            for value, before in held:
                if isinstance(value, list):
                    value[:] = before
                else:
                    value.clear()
                    value.update(before)

    def _meet(self, cls: type) -> None:
        """Remember a class of the reader's, and its bases."""
        for base in cls.__mro__:
            module = sys.modules.get(base.__module__)
            if kind_of(getattr(module, "__file__", None) or "") is not LIBRARY:
                self._classes[base] = None

    def _items(self, values: dict) -> dict:
        return {name: self.of(value) for name, value in values.items()}

    def _function(self, fn: types.FunctionType) -> types.FunctionType:
        """Copy a function with what it reaches; one of a library only where it wraps another."""
        wrapper = kind_of(fn.__code__.co_filename) is LIBRARY
        if wrapper and not fn.__closure__:
            return fn
        space = fn.__globals__ if wrapper else dict(fn.__globals__)
        cells = tuple(types.CellType() for _ in fn.__closure__ or ())
        copied = types.FunctionType(fn.__code__, space, fn.__name__, None, cells or None)
        self._memo[id(fn)] = copied
        if not wrapper:
            space.update(self._items({name: space[name] for name in _globals(fn.__code__, space)}))
        for mine, its in zip(cells, fn.__closure__ or (), strict=True):
            if _filled(its):
                mine.cell_contents = self.of(its.cell_contents)
        defaults = fn.__defaults__
        copied.__defaults__ = defaults and tuple(map(self.of, defaults))
        copied.__kwdefaults__ = fn.__kwdefaults__ and self._items(fn.__kwdefaults__)
        copied.__annotations__, copied.__qualname__ = fn.__annotations__, fn.__qualname__
        copied.__dict__.update(fn.__dict__)
        if hasattr(fn, "__wrapped__"):
            copied.__dict__["__wrapped__"] = self.of(fn.__wrapped__)
        return copied


def unstarted(fn: Any) -> list[Optimizer]:
    """Find the optimizers that some code works with and that have made no step yet.

    Their first step makes their state; run again to be compared, they must make it again.
    """
    owner = getattr(fn, "__self__", None)
    function = getattr(fn, "__func__", fn)
    found = list(vars(owner).values()) if hasattr(owner, "__dict__") else []
    while isinstance(function, types.FunctionType):
        space, code = function.__globals__, function.__code__
        found += [space[name] for name in code.co_names if name in space]
        found += [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
        function = getattr(function, "__wrapped__", None)
    return [item for item in found if isinstance(item, Optimizer) and not item.state]


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - the look is the question
    except ValueError:
        return False
    return True


def _globals(code: types.CodeType, space: dict[str, Any]) -> set[str]:
    """Name the globals that some code mentions, the functions inside it too."""
    found = {name for name in code.co_names if name in space}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _globals(constant, space)
    return found


def _empty(tensor: Tensor) -> Tensor:
    """Return a tensor of the same shape without numbers; an optimizer's counter keeps its one."""
    if not tensor.dim() and not tensor.requires_grad:
        return tensor.detach().clone()
    ghost = tensor.detach().to("meta")
    if isinstance(tensor, nn.Parameter):
        ghost = nn.Parameter(ghost, requires_grad=tensor.requires_grad)
    if (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None:
        ghost.grad = tensor.grad.to("meta")
    return ghost


def _tensors(value: Any, deep: int = _DEEP, seen: set[int] | None = None) -> Iterator[Tensor]:
    """Yield the tensors that a value holds: parameters, buffers, caches, an optimizer's state."""
    seen = set() if seen is None else seen
    if isinstance(value, Tensor):
        yield value
        return
    if not deep or isinstance(value, (*_SHARED, types.FunctionType)) or id(value) in seen:
        return
    seen.add(id(value))
    inside: Any = ()
    if isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = value
    elif isinstance(value, nn.Module):
        inside = [vars(module) for module in value.modules()]
    elif hasattr(value, "__dict__"):
        inside = [vars(value)]
    for item in inside:
        yield from _tensors(item, deep if isinstance(value, nn.Module) else deep - 1, seen)
