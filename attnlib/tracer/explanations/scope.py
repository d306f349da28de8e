"""What the names at the failing line hold, and a correction run there on empty tensors.

Nothing of the reader's is called: a correction may use tensors, numbers and torch's own functions.
"""

from __future__ import annotations

import ast
import builtins
import functools
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..labels import Dim
from ..notes import State

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.Size, torch.device)
_BUILTIN = {"len", "int", "float", "range", "max", "min"}


class Watch(Protocol):
    """What follows a correction while it runs."""

    @property
    def recorder(self) -> AbstractContextManager: ...

    def empty(self, real: Tensor, made: Tensor) -> None: ...

    def number(self, node: ast.expr, value: int, owner: Any) -> int: ...


class Unreadable(Exception):
    """A name that holds nothing a correction can be run on."""


def attributes(module: nn.Module) -> dict[str, Any]:
    """Return what a module holds by name; before its ``__init__`` nothing is registered yet."""
    own = vars(module)
    registered = (own.get(kept, {}) for kept in ("_modules", "_buffers", "_parameters"))
    return {name: held for place in (*registered, own) for name, held in place.items()}


class Scope:
    """The variables of a frame; modules show their attributes, tensors only what is empty."""

    def __init__(
        self, frame: types.FrameType | None, held: Mapping[str, Any] | None = None
    ) -> None:
        self._local: dict[str, Any] = dict(frame.f_locals) if frame is not None else {}
        self._local.update(held or {})
        self._global: dict[str, Any] = frame.f_globals if frame is not None else {}

    def look(self, node: ast.AST) -> Any:
        """Return what a name, or an attribute of a module, holds; no code of anybody runs."""
        if isinstance(node, ast.Name):
            if node.id in self._local:
                return self._local[node.id]
            if node.id in self._global:
                return self._global[node.id]
            if node.id in _BUILTIN:
                return getattr(builtins, node.id)
        if isinstance(node, ast.Attribute):
            held = self.look(node.value)
            if isinstance(held, nn.Module):
                found = attributes(held)
                if node.attr in found:
                    return found[node.attr]
            elif isinstance(held, types.ModuleType) and _known(held.__name__):
                return getattr(held, node.attr, None)
        raise Unreadable(ast.unparse(node))

    def holds(self, name: str) -> bool:
        """Does a name stand for something here, and not only for an attribute?"""
        return name in self._local or name in self._global or hasattr(builtins, name)

    def value(self, node: ast.AST) -> Any:
        """Return what a name holds, or None."""
        try:
            return self.look(node)
        except Unreadable:
            return None

    def tensor(self, node: ast.AST) -> Tensor | None:
        """Return the tensor that an expression is the name of."""
        found = self.value(node)
        return found if isinstance(found, Tensor) else None

    def mentioned(self, node: ast.AST) -> dict[str, Tensor]:
        """Return the tensors whose names an expression reads, in order; not those it assigns."""
        found = {}
        for part in ast.walk(node):
            if not isinstance(getattr(part, "ctx", None), ast.Load):
                continue
            tensor = self.tensor(part) if isinstance(part, ast.Name | ast.Attribute) else None
            if tensor is not None:
                found[ast.unparse(part)] = tensor
        return found

    def integers(self) -> list[tuple[str, int]]:
        """Name the whole numbers that variables, and the reader's module, hold."""
        module = self._local.get("self")
        held = vars(module) if isinstance(module, nn.Module) else {}
        named = {**self._local, **{f"self.{name}": value for name, value in held.items()}}
        return [(n, v) for n, v in named.items() if isinstance(v, int) and not isinstance(v, bool)]

    def tensors(self) -> list[tuple[str, Tensor]]:
        """Name the tensors that variables hold."""
        return [(n, held) for n, held in self._local.items() if isinstance(held, Tensor)]

    def numbers(self, size: int) -> list[str]:
        """Name the variables, and the attributes of the reader's module, that hold a number."""
        return [name for name, value in self.integers() if value == size]

    def sizes(self) -> list[Dim]:
        """Return the sizes that variables hold and that remember their axes."""
        return [value for _, value in self.integers() if isinstance(value, Dim)]

    def run(self, code: str, device: str = "meta", trial: Watch | None = None) -> Any:
        """Run an expression, or ``x += y``, with empty tensors in place of the reader's."""
        tree = ast.parse(code)
        if len(tree.body) != 1:
            raise Unreadable(code)
        (statement,) = tree.body
        emptied = _Emptied(self, device, trial)
        tree = ast.fix_missing_locations(emptied.visit(tree))
        held = {"__builtins__": {}, **emptied.held}
        # what a correction makes stands beside the empty tensors
        with torch.device(device), trial.recorder if trial is not None else nullcontext():
            if isinstance(statement, ast.Expr):
                body = compile(ast.Expression(tree.body[0].value), "<correction>", "eval")
                return eval(body, held)
            if not isinstance(statement, ast.AugAssign | ast.Assign):
                raise Unreadable(code)
            exec(compile(tree, "<correction>", "exec"), held)
        target = tree.body[0]
        name = target.target if isinstance(target, ast.AugAssign) else target.targets[0]
        while isinstance(name, ast.Subscript):
            name = name.value
        return held[name.id]

    def tried(self, code: str) -> str | None:
        """Return a correction if it runs."""
        try:
            with silently():
                self.run(code)
        except Exception:
            return None
        return code


def empty(state: State, device: str = "meta") -> Tensor:
    """Make an empty tensor in place of one that was described."""
    return torch.zeros(state.shape, dtype=getattr(torch, state.dtype), device=device)


@contextmanager
def silently() -> Iterator[None]:
    """Try a correction: what torch warns of there is not of the reader's code."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class _Emptied(ast.NodeTransformer):
    """Put a name of our own in place of everything that the reader's names hold."""

    def __init__(self, scope: Scope, device: str, trial: Watch | None) -> None:
        self.scope, self.device, self.trial = scope, device, trial
        self.held: dict[str, Any] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._placed(node, self.scope.look(node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        try:
            found = self.scope.look(node)
        except Unreadable:
            return self.generic_visit(node)
        return self._placed(node, found, self.scope.value(node.value))

    def _placed(self, node: ast.expr, value: Any, owner: Any = None) -> ast.AST:
        name = f"_{len(self.held)}"
        if self.trial is not None and isinstance(value, int) and not isinstance(value, bool):
            value = self.trial.number(node, value, owner)
        self.held[name] = self._empty(value)
        return ast.copy_location(ast.Name(name, getattr(node, "ctx", ast.Load())), node)

    def _empty(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            shape, strides = value.shape, value.stride()
            made = torch.empty_strided(shape, strides, dtype=value.dtype, device=self.device)
            if self.trial is not None:
                self.trial.empty(value, made)
            return made if self.device == "meta" else made.zero_()
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, list | tuple):
            return type(value)([self._empty(item) for item in value])
        if isinstance(value, nn.Module):
            if not all(map(_of_torch, value.modules())):
                raise Unreadable(type(value).__name__)
            tensors = {**dict(value.named_parameters()), **dict(value.named_buffers())}
            empty = {name: self._empty(tensor) for name, tensor in tensors.items()}
            return functools.partial(_layer, value, empty)
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, types.ModuleType):
            module = value.__name__
        if _known(module):
            return value
        if isinstance(value, types.BuiltinFunctionType):  # torch.cat and its like name no module
            return value
        raise Unreadable(type(value).__name__)


def _of_torch(module: nn.Module) -> bool:
    """Is this a layer that no reader wrote: torch's, or einops'?"""
    return type(module).__module__.startswith(("torch.nn", "einops.layers."))


def _known(module: str) -> bool:
    """Is this a module whose functions a correction may call?"""
    return module.split(".")[0] in ("torch", "einops", "builtins", "math")


def _layer(module: nn.Module, tensors: dict[str, Tensor], *args: Any, **words: Any) -> Any:
    """Run one of torch's own layers on other tensors than its own."""
    return torch.func.functional_call(module, tensors, args, words)
