"""The modules that a run belongs to, named and tagged while it lasts.

Every whole-number attribute of the reader's modules is a tagged int during the run
(``self.head_size`` carries its name into ``view``); afterwards each is a plain int again, of the
value that it has then.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from .constructors import Named, readable
from .labels import Dim
from .recorder import Recorder
from .states import has_shape


class Adopted:
    """Hold the modules of a run: ``names`` gives the path of each."""

    def __init__(
        self, recorder: Recorder, source: Callable | types.FrameType, *, deep: bool = False
    ) -> None:
        self._recorder, self._deep = recorder, deep
        self._owner = recorder.symbols.owner
        self.names: dict[nn.Module, str] = {}
        for prefix, root in _roots(source):
            for path, module in root.named_modules():
                self.names.setdefault(module, ".".join(filter(None, (prefix, path))))

    def __enter__(self) -> Adopted:
        try:
            for module in self.names:
                if readable(type(module)) or (self._deep and type(module) is nn.MultiheadAttention):
                    self._tag(module)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for module in self.names:
            for name, value in list(vars(module).items()):
                new = self.plain(value) if name[0] != "_" else value
                if new is not value:
                    vars(module)[name] = new

    def _tag(self, module: nn.Module) -> None:
        """Tag a module's whole numbers and label its parameters."""
        named = Named(self._recorder.symbols, module)
        named.equations()
        for name, value in list(vars(module).items()):
            if type(value) is int and value > 0 and name[0] != "_":
                vars(module)[name] = Dim(value, named.label(name, value))
        written = named.parameters()
        for name, sizes in written.items():
            for tensor in _held(module, name.split(".")):
                if not has_shape(tensor) or len(sizes) != tensor.dim():
                    continue
                identity = self._recorder.state(tensor).identity
                identity.weight = True
                if identity.labels is None:
                    pairs = zip(sizes, tensor.shape, strict=True)
                    identity.labels = [named.of(*pair) for pair in pairs]

    def plain(self, value: Any, deep: int = 3) -> Any:
        """Turn tagged ints back into plain ones, in containers too; what holds none is kept."""
        if isinstance(value, Dim):
            return int(value) if value.label.owner is self._owner else value
        if not deep or not isinstance(value, list | dict | tuple | set):
            return value
        items = list(value.items()) if isinstance(value, dict) else list(value)
        inner = deep if isinstance(value, dict) else deep - 1  # an item is a pair there
        new = [self.plain(item, inner) for item in items]
        if all(old is item for old, item in zip(items, new, strict=True)):
            return value
        if isinstance(value, list):
            value[:] = new
        elif isinstance(value, dict | set):
            value.clear()  # an equal key would stay the one that it was
            value.update(new)
        else:
            named = hasattr(value, "_fields")
            value = type(value)(*new) if named else type(value)(new)
        return value


def _held(module: nn.Module, path: list[str]) -> Iterator[torch.Tensor]:
    """Yield the parameters and buffers at a path below a module; ``*`` is every child."""
    first, *rest = path
    if not rest:
        tensor = module._parameters.get(first, module._buffers.get(first))
        if tensor is not None:
            yield tensor
        return
    for name, child in module._modules.items():
        if first in ("*", name) and child is not None:
            yield from _held(child, rest)


def _roots(source: Callable | types.FrameType) -> Iterator[tuple[str, nn.Module]]:
    """Find the modules that some code works with: itself, its closure, the globals it names."""
    if isinstance(source, nn.Module):
        yield "", source
        return
    code: types.CodeType | None
    if isinstance(source, types.FrameType):
        code, spaces = source.f_code, (source.f_locals, source.f_globals)
    else:
        owner = getattr(source, "__self__", None)
        if isinstance(owner, nn.Module):
            yield "", owner
        function = inspect.unwrap(getattr(source, "__func__", source))
        code = getattr(function, "__code__", None)
        if code is None:
            return
        cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
        closure = {name: _content(cell) for name, cell in cells}
        spaces = (closure, function.__globals__)
    for name in dict.fromkeys((*code.co_freevars, *code.co_varnames, *code.co_names)):
        for space in spaces:
            if isinstance(space.get(name), nn.Module):
                yield name, space[name]
                break


def _content(cell) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
