"""Why an operation failed: how a clash and its possible corrections are written.

Each function registered here gets the failed operation and returns a sentence and candidates. A
candidate is never shown before it ran on the meta device: ``explained`` sees to that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ..labels import Label
from ..notes import State
from ..operation import Operation
from ..rows import Step, TensorInfo
from ..source import Site, operands
from .scope import Scope

Tensors = list[Tensor]


@dataclass
class Candidate:
    """A correction: the code as the reader would write it, and the same to run on empty tensors.

    Without ``run`` the code itself is run, in the scope of the failing line.
    """

    code: str
    run: Callable[[Tensors], Tensor] | None = None


@dataclass
class Failed:
    """An operation that raised: its arguments by name, its tensors as written and as described."""

    op: Operation
    infos: tuple[TensorInfo, ...]
    error: BaseException
    code: str  # the failing sub-expression
    function: Callable  # of torch, that raised
    variables: list[tuple[Label, str]]  # sizes that the failing function keeps in variables
    scope: Scope
    rows: list[Step]  # what ran before
    site: Site

    @property
    def written(self) -> str | None:
        """Return the value of ``x[…] = value`` as it is written."""
        node = self.site.node
        around = self.site.parents.get(node) if node is not None else None
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        alone = stored and isinstance(around, ast.Assign) and around.targets == [node]
        return ast.unparse(around.value) if alone else None

    @property
    def statement(self) -> str | None:
        """Return the failing statement, where what failed is all of it."""
        node = self.site.node
        if self.written is not None:
            return f"{self.code} = {self.written}"
        alone = node is not None and isinstance(self.site.parents.get(node), ast.Expr)
        return self.code if alone or isinstance(node, ast.AugAssign) else None

    @property
    def names(self) -> list[str]:
        return [info.name for info in self.infos]

    @property
    def states(self) -> list[State]:
        return self.op.inputs

    def run(self, tensors: Tensors) -> Tensor:
        """Run the operation again on other tensors."""
        args, kwargs = self.op.arguments(tensors)
        return self.function(*args, **kwargs)

    def changed(
        self, which: int, change: Callable[[Tensor], Tensor]
    ) -> Callable[[Tensors], Tensor]:
        """Return what runs the operation again with one operand changed."""

        def run(tensors: Tensors) -> Tensor:
            return self.run([change(x) if at == which else x for at, x in enumerate(tensors)])

        return run

    def instead(self, name: str, new: str, code: str | None = None) -> str:
        """Write the failed expression with one operand replaced; as it is, if that is unclear."""
        pattern = rf"(?<![\w.]){re.escape(name)}(?![\w(=])"
        given = self.code if code is None else code
        for text in (given, normal(given)):  # names are written in Python's own spacing
            if len(re.findall(pattern, text)) == 1 and "\n" not in text:
                return re.sub(pattern, lambda _: new, text)
        return _replaced(given, name, new) or given

    def word(self, which: int, axis: int) -> str:
        """Write a size so that it can stand in the code: a variable that holds it, or a number."""
        return self.called(self.op.labels(self.states[which])[axis])

    def called(self, label: Label) -> str:
        """Write a dim's size as a variable that holds it, or as its number."""
        known = (name for held, name in self.variables if held.root() is label.root())
        return next(known, str(label.size))

    def size(self, which: int, axis: int) -> str:
        """Write one axis of an operand: ``H = 16``."""
        return self.infos[which].axis(axis)


CLASHES: dict[str, Callable[[Failed], tuple[str, list[Candidate]]]] = {}


def clash(*names: str):
    def register(function):
        CLASHES.update(dict.fromkeys(names, function))
        return function

    return register


def _replaced(code: str, name: str, new: str) -> str | None:
    """Replace the one operand that is nothing but this name, where the name stands more often."""
    try:
        node, value = (ast.parse(text, mode="eval").body for text in (code, new))
    except (SyntaxError, ValueError):
        return None
    parts = operands(Site("", None, node=node)).values()
    found = [part for part in parts if ast.unparse(part) == name]
    return ast.unparse(Put(found[0], value).visit(node)) if len(found) == 1 else None


class Put(ast.NodeTransformer):
    """Put one expression in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def normal(code: str) -> str:
    """Write an expression in Python's own spacing."""
    try:
        return ast.unparse(ast.parse(code, mode="eval"))
    except SyntaxError:
        return code


def on(name: str) -> str:
    """Put an expression in parentheses where a method is to be called on it."""
    try:
        node = ast.parse(name, mode="eval").body
    except SyntaxError:
        return f"({name})"
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return name if simple else f"({name})"


def batch_clash(a, b) -> int | None:
    """Return the last axis, from the end, at which two shapes do not broadcast."""
    for back in range(1, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
            return -back
    return None


def reversed_axes(failed: Failed) -> str:
    """Say so when an operand came from ``.T``, which reverses all axes."""
    for which in range(len(failed.infos)):
        made = failed.op.made(which)
        if made is not None and made.op == "T" and len(made.inputs[0].shape) > 2:
            source = made.inputs[0]
            return (
                f"; .T reversed all {len(source.shape)} axes of {source.described()}, "
                "use .mT to swap the last two"
            )
    return ""
