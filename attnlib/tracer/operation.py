"""One operation as a rule sees it: arguments by name, labels, and what its sizes are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from . import operations
from .findings import READS, SUMS, Findings
from .labels import Dim, Label
from .notes import Call, State, is_state
from .rows import Step
from .source import Site
from .tensors import Tensors
from .written import Written


class Operation:
    """One operation as a rule sees it: arguments by name, labels, and what sizes were called."""

    def __init__(self, call: Call, site: Site, tensors: Tensors, findings: Findings) -> None:
        self._call, self._site = call, site
        self._tensors, self._findings = tensors, findings
        self.name, self.module = call.op, call.module
        self.torch_name = call.name
        self.symbols = tensors.symbols
        self.written = Written(call, site, self.symbols)
        bound = operations.Bound(call.op, call.args, call.kwargs, is_state)
        self.bound = bound
        self.inputs: list[State] = bound.inputs
        self.outputs: tuple[State, ...] = call.out if isinstance(call.out, tuple) else (call.out,)
        self.params = _with_axes(call, bound, self.inputs)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outputs[0].shape

    @property
    def direct(self) -> bool:
        """Does the code itself call it? Its numbers are those of the code then."""
        return self._call.direct

    def labels(self, state: State) -> list[Label]:
        return list(self._tensors.labels(state))

    def join(self, a: Label, b: Label) -> None:
        self._findings.join(a, b, self._call, self._site)

    def read(self, a: Label, b: Label) -> None:
        """Make two axes one, as a reshape says by the sizes it is given."""
        self._findings.join(a, b, self._call, self._site, READS)

    def contract(self, a: Label, b: Label) -> None:
        """Make two axes one that the operation sums over."""
        self._findings.join(a, b, self._call, self._site, SUMS)

    def glued(self, asked: Label, made_of: Label) -> None:
        self._findings.glued(asked, made_of, self._call, self._site)

    def alike(self, a: Label, b: Label) -> bool:
        """Do two axes go by one name, each in a layer of its own?"""
        return a.name is not None and a.name == b.name

    def apart(self, a: Label, b: Label) -> bool:
        """Does the code itself tell two axes apart?"""
        return self._findings.apart(a, b)

    def written_together(self, sizes: list[Label]) -> None:
        self._findings.evidence.written(self.inputs[0], sizes)

    def argument(self, name: str) -> State | None:
        """Return the tensor that was passed as this argument."""
        value = self.bound.arguments.get(name)
        return value if isinstance(value, State) else None

    def fresh(self, size: int) -> Label:
        return self.symbols.fresh(size, literal=size == 1)

    def literal(self, size: int) -> Label:
        return self.symbols.fresh(size, literal=True)

    def times(self, count: Label, label: Label) -> Label:
        return self.symbols.merged((count, label)) if label.size != 1 else count

    def size(self, argument: str, place: int, number: int, *, stop: bool = False) -> Label:
        """Return the label of a size: a tagged int's, or that of the name it is written as."""
        if isinstance(number, Dim) and number.label.owner is self.symbols.owner:
            return self.symbols.settle(number.label)
        written = self.written.part(argument, place) if self._call.direct else None
        if stop and isinstance(written, ast.Slice):
            written = written.upper
        return self.written.size(written, int(number))

    def unnamed(self, place: int, inputs: Sequence[str]) -> str:
        """Name a result that no variable takes: by what was done to it, or by its expression."""
        if self.name == "transpose" and self.inputs and self.inputs[0].identity.named:
            return f"{inputs[0]} transposed"
        written = self._site.in_one_line if self._call.direct else ""
        name = written or self.name
        return name if len(self.outputs) == 1 else f"{name}[{place}]"

    # -- when it failed ---------------------------------------------------------------------

    def made(self, which: int) -> Step | None:
        """Return the row that made an input, if there is one."""
        return self._tensors.maker(self.inputs[which])

    def size_words(self, argument: str, sizes: list[int]) -> list[str]:
        """Write sizes as the code calls them: ``heads=4``, or the number."""
        words = []
        for place, size in enumerate(sizes):
            label = self.size(argument, place, self.params[argument][place])
            word = self.symbols.text(label)
            words.append(word if word == str(size) else f"{word}={size}")
        return words

    def written_sizes(self) -> list[str]:
        """Return the sizes of a ``view`` as they are written; nothing where they are not."""
        node = self._site.node
        if not self._call.direct or not isinstance(node, ast.Call):
            return []
        given: list[ast.expr] = node.args[1 - self.written.receiver() :]
        if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
            given = given[0].elts
        return (
            []
            if any(isinstance(part, ast.Starred) for part in given)
            else [ast.unparse(part) for part in given]
        )

    def loops(self) -> Iterator[ast.For | ast.comprehension]:
        """Yield the loops around the operation, the innermost first."""
        node = self._site.node
        while node is not None:
            if isinstance(node, ast.For):
                yield node
            elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
                yield from reversed(node.generators)
            node = self._site.parents.get(node)

    def arguments(self, tensors: list) -> tuple[tuple, dict[str, Any]]:
        """Return what the operation was called with, other tensors in place of its own."""
        given = iter(tensors)

        def thaw(value: Any) -> Any:
            if isinstance(value, State):
                return next(given)
            if isinstance(value, tuple):
                return tuple(thaw(item) for item in value)
            return value

        args = tuple(thaw(value) for value in self._call.args)
        return args, {name: thaw(value) for name, value in self._call.kwargs.items()}

    def operand(self, which: int) -> str | None:
        """Return the expression that an input tensor is written as, where it is written."""
        node = self._site.node
        if not self._call.direct or node is None:
            return None
        if isinstance(node, ast.BinOp) and len(self.inputs) == 1:
            return self._side(node)
        key = (which, len(self._call.args), *self.bound.places[which])
        words = self._site.words
        if key not in words:
            words[key] = self._operand(node, which)
        return words[key]

    def _side(self, node: ast.BinOp) -> str:
        """Say which side of ``2 * x`` is the tensor."""
        sides = [ast.unparse(side) for side in (node.left, node.right)]
        known = self.inputs[0].identity.name
        return sides[sides[1] == known or isinstance(node.left, ast.Constant)]

    def _operand(self, node: ast.AST, which: int) -> str | None:
        argument, place = self.bound.places[which]
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and which == 0 and self.written.receiver():
            return ast.unparse(function.value)
        written = self.written.part(argument, place)
        return ast.unparse(written) if written is not None else None


def _with_axes(call: Call, bound: operations.Bound, inputs: list[State]) -> dict:
    ndim = len(inputs[0].shape) if inputs else 0
    params = dict(bound.params)
    if call.op == "transpose" and "dim0" not in params:  # .mT, .t()
        params["dim0"], params["dim1"] = -2, -1
    return operations.normalised(call.op, params, ndim)


def shown_params(op: Operation) -> dict:
    """Keep the arguments that a row shows, as plain JSON."""
    shown = {}
    for name, value in op.params.items():
        if name.startswith("_"):
            continue
        if name == "index":
            value = _index_text(value)
        shown[name] = operations.jsonable(value)
    return shown


def _index_text(index):
    parts = index if isinstance(index, tuple) else (index,)
    return [
        None if part is None else "tensor" if is_state(part) else operations.jsonable(part)
        for part in parts
    ]
