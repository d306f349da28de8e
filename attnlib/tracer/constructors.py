"""What a module's constructor says about dims, read from its source.

``self.key = nn.Linear(n_embd, head_size)`` names both axes of the key's weight;
``self.H = head_size`` says that attribute and argument are one; ``head_size = n_embd // n_heads``
is an equation.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field

from torch import nn

from ..dims import role
from .frames import LIBRARY, PACKAGE, kind_of
from .given import book_name
from .labels import BOOK, LAYER, Label
from .source import source_of
from .symbols import Symbols

_CONVOLUTIONS = {"Conv1d": 1, "Conv2d": 2, "Conv3d": 3}  # how many lengths each goes along
_UNSAID = ast.Constant(None)  # a size that the constructor's call does not show
_FACTORIES = {"ones", "zeros", "randn", "rand", "empty", "full"}


@dataclass
class Constructor:
    """One ``__init__``: the layers it builds, other names of its attributes, its equations."""

    layers: dict[str, tuple[ast.expr, ...]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # attribute -> the argument it keeps
    equations: list[tuple[str, str, str]] = field(default_factory=list)  # whole, divisor, quotient


_READ: dict[tuple[str, types.CodeType], Constructor] = {}


def readable(cls: type) -> bool:
    """Is a class the reader's own (or the book's), not one of a library?"""
    code = getattr(cls.__dict__.get("__init__"), "__code__", None) or getattr(
        cls.__dict__.get("forward"), "__code__", None
    )
    return code is not None and kind_of(code.co_filename) is not LIBRARY


def constructors(cls: type) -> list[tuple[Constructor, bool]]:
    """Read the constructors of a class and its bases; True marks attnlib's own."""
    found = []
    for base in cls.__mro__:
        code = getattr(base.__dict__.get("__init__"), "__code__", None)
        library = code is not None and kind_of(code.co_filename) is LIBRARY
        if code is None or base is nn.Module or (library and base is not nn.MultiheadAttention):
            continue
        key = (code.co_filename, code)
        if key not in _READ:
            node = source_of(code.co_filename).functions.get((code.co_name, code.co_firstlineno))
            _READ[key] = Constructor() if node is None else _read(node)
        found.append((_READ[key], code.co_filename.startswith(PACKAGE)))
    return found


def _read(function: ast.FunctionDef) -> Constructor:
    result = Constructor()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                _assigned(result, target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _assigned(result, node.target, node.value)
        elif isinstance(node, ast.Call) and _last(node.func) == "register_buffer":
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and len(node.args) > 1:
                _factory(result, str(name.value), node.args[1])
    return result


def _pairs(node: ast.Assign):
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple | ast.List):
        if isinstance(value, ast.Tuple | ast.List):
            return list(zip(target.elts, value.elts, strict=False))
        if isinstance(value, ast.ListComp | ast.GeneratorExp) and not _turns(value):
            return [(each, value.elt) for each in target.elts]
    return [(each, value) for each in node.targets]


def _turns(made: ast.ListComp | ast.GeneratorExp) -> bool:
    """Does what is made depend on the turn? Then one name would stand for several sizes."""
    turned = {name.id for each in made.generators for name in _names(each.target)}
    return any(name.id in turned for name in _names(made.elt))


def _names(node: ast.expr) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name)]


def _assigned(result: Constructor, target: ast.expr, value: ast.expr) -> None:
    name = _last(target)
    if name is None:
        return
    for part in _branches(value):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv):
            whole, divisor = _last(part.left), _last(part.right)
            if whole and divisor:
                result.equations.append((whole, divisor, name))
    if isinstance(target, ast.Attribute):
        kept = _last(value)
        if kept is not None and kept != name:
            result.aliases[name] = kept
        _layer(result, name, value)


def _branches(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.IfExp):
        return _branches(value.body) + _branches(value.orelse)
    if isinstance(value, ast.BoolOp):
        return [part for each in value.values for part in _branches(each)]
    return [value]


def _layer(result: Constructor, path: str, value: ast.expr) -> None:
    """Note the axes of the parameters that one constructor call makes."""
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        _layer(result, f"{path}.*", value.elt)
    elif isinstance(value, ast.List | ast.Tuple):
        for place, item in enumerate(value.elts):
            _layer(result, f"{path}.{place}", item)
    if not isinstance(value, ast.Call):
        return
    kind = _last(value.func)
    words = {word.arg: word.value for word in value.keywords}
    given = list(value.args)

    def argument(place: int, name: str) -> ast.expr | None:
        return given[place] if place < len(given) else words.get(name)

    if kind in {"Linear", "NonDynamicallyQuantizableLinear"}:
        taken, made = argument(0, "in_features"), argument(1, "out_features")
        if taken is not None and made is not None:
            result.layers[f"{path}.weight"] = (made, taken)
            result.layers[f"{path}.bias"] = (made,)
    elif kind in _CONVOLUTIONS:
        taken, made = argument(0, "in_channels"), argument(1, "out_channels")
        groups, kernel = argument(6, "groups"), argument(2, "kernel_size") or _UNSAID
        if taken is not None and made is not None:
            if groups is not None:
                taken = ast.BinOp(taken, ast.FloorDiv(), groups)
            elif None in words:  # **words may hold groups
                taken = _UNSAID
            result.layers[f"{path}.weight"] = (made, taken, *[kernel] * _CONVOLUTIONS[kind])
            result.layers[f"{path}.bias"] = (made,)
    elif kind == "Embedding":
        rows, width = argument(0, "num_embeddings"), argument(1, "embedding_dim")
        if rows is not None and width is not None:
            result.layers[f"{path}.weight"] = (rows, width)
    elif kind in {"LayerNorm", "RMSNorm"} and given:
        result.layers[f"{path}.weight"] = result.layers[f"{path}.bias"] = (given[0],)
    elif kind == "Sequential":
        for place, item in enumerate(given):
            _layer(result, f"{path}.{place}", item)
    elif kind == "ModuleList" and given:
        _layer(result, path, given[0])
    elif kind == "Parameter" and given:
        _factory(result, path, given[0])


def _factory(result: Constructor, path: str, value: ast.expr) -> None:
    """Note the sizes that a parameter or buffer is made with."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _last(node.func) in _FACTORIES and node.args:
            first = node.args[0]
            sizes = first.elts if isinstance(first, ast.Tuple | ast.List) else node.args
            result.layers[path] = tuple(sizes)
            return


def _last(node: ast.expr | None) -> str | None:
    """Return the last name of ``n_embd``, ``self.n_embd``, ``config.n_embd``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


class Named:
    """Labels for one module's sizes, by the names that its constructors use."""

    def __init__(self, symbols: Symbols, module: nn.Module) -> None:
        self._symbols = symbols
        self._scope = module  # in another layer of its class the same argument may be another dim
        self._read = constructors(type(module))
        self._book = bool(self._read) and self._read[0][1]
        self._aliases: dict[str, str] = {}
        for constructor, _ in reversed(self._read):
            self._aliases.update(constructor.aliases)
        self.sizes = {
            self._canonical(name): int(value)
            for name, value in vars(module).items()
            if isinstance(value, int) and not isinstance(value, bool) and name[0] != "_"
        }

    def _canonical(self, name: str) -> str:
        return self._aliases.get(name, name)

    def label(self, name: str, size: int) -> Label:
        """Return the label that an attribute or argument of the constructor stands for."""
        attribute, name = name, self._canonical(name)
        if not self._book:
            label = self._symbols.named(name, size, LAYER, self._scope)
            if role(attribute) == "heads" and role(name) != "heads":
                self._symbols.name(label, attribute, LAYER, self._scope)  # self.n_heads = n
            return label
        if role(name) is None:
            return self._symbols.fresh(size)
        return self._symbols.named(book_name(name), size, BOOK, self._scope)

    def equations(self) -> None:
        """Tell the symbols what the constructors compute, where the numbers bear it out."""
        for constructor, _ in self._read:
            for names in constructor.equations:
                sizes = [self.sizes.get(self._canonical(name), 0) for name in names]
                if sizes[0] and sizes[0] == sizes[1] * sizes[2]:
                    whole, divisor, rest = map(self.label, names, sizes)
                    self._symbols.define(whole, (divisor, rest))

    def parameters(self) -> dict[str, tuple[ast.expr, ...]]:
        found: dict[str, tuple[ast.expr, ...]] = {}
        for constructor, _ in reversed(self._read):
            found.update(constructor.layers)
        return found

    def of(self, expression: ast.expr, size: int) -> Label:
        """Return the label of a size written as an expression: a name, a product, a quotient."""
        name = _last(expression)
        if name is not None:
            return self.label(name, size)
        if expression is _UNSAID:
            return self._symbols.fresh(size)
        if isinstance(expression, ast.Constant):
            return self._symbols.fresh(size, literal=True)
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult | ast.FloorDiv):
            left, right = self._value(expression.left), self._value(expression.right)
            if isinstance(expression.op, ast.Mult):
                left = left or (size // right if right else None)
                right = right or (size // left if left else None)
                if left and right and left * right == size:
                    parts = self.of(expression.left, left), self.of(expression.right, right)
                    return self._symbols.product(parts)
            elif right:
                whole = self.of(expression.left, left or size * right)
                return self._symbols.quotient(whole, (self.of(expression.right, right),), size)
        return self._symbols.fresh(size)

    def _value(self, expression: ast.expr) -> int | None:
        if isinstance(expression, ast.Constant) and isinstance(expression.value, int):
            return expression.value
        name = _last(expression)
        return None if name is None else self.sizes.get(self._canonical(name))
