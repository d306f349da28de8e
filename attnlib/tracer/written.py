"""An operation as it is written: the expression of each argument, and what its sizes are called."""

from __future__ import annotations

import ast

from .labels import Label
from .naming import name_size, plain_name
from .notes import Call
from .operations import SIGNATURES
from .source import Site, operands
from .symbols import Symbols


class Written:
    """The expression that made a call."""

    def __init__(self, call: Call, site: Site, symbols: Symbols) -> None:
        self._call, self._site, self._symbols = call, site, symbols

    def part(self, argument: str, place: int) -> ast.expr | None:
        """Find the expression that an argument's element is written as."""
        words: list[str] = SIGNATURES.get(self._call.op, [])
        given = operands(self._site)
        many = f"*{argument}" in words
        position = words.index(f"*{argument}" if many else argument) if words else 0
        node = self._site.node
        if isinstance(node, ast.Call):
            if any(isinstance(item, ast.Starred) for item in node.args):
                return None
            wanted = sum(not word.startswith("*") for word in words[:position])
            position = wanted - self.receiver()
        found = given.get(argument, given.get(str(position)))
        if isinstance(found, ast.Tuple | ast.List) and place < len(found.elts):
            return found.elts[place]
        if many and str(position + place) in given:
            return given[str(position + place)]
        return found if place == 0 or not many else None

    def receiver(self) -> int:
        """Return 1 for ``x.view(...)``, whose first argument stands before the dot."""
        call, node = self._call, self._site.node
        if call.op == "split":  # Python's own function: it hands its last argument on by keyword
            return int(not ast.unparse(node.func).startswith("torch."))
        return int(len(call.args) > len(node.args))

    def size(self, written: ast.expr | None, number: int) -> Label:
        """Return the label of a plain number by the way it is written: a name, ``h * d``."""
        name = plain_name(written)
        if name is not None and number > 0:
            return name_size(self._symbols, name, number, self._site)
        length = self._symbols.length(written, number)
        if length is not None:
            return length
        if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Mult | ast.FloorDiv):
            left, right = self._value(written.left), self._value(written.right)
            if left and right and isinstance(written.op, ast.Mult) and left * right == number:
                parts = self.size(written.left, left), self.size(written.right, right)
                return self._symbols.product(parts)
            divides = isinstance(written.op, ast.FloorDiv)
            if left and right and divides and left == number * right:
                whole = self.size(written.left, left)
                return self._symbols.quotient(whole, (self.size(written.right, right),), number)
        return self._symbols.fresh(number, literal=True)

    def _value(self, written: ast.expr) -> int | None:
        """Work out a number that stands in the code: a constant, a variable, a product."""
        if isinstance(written, ast.Constant):
            return written.value if type(written.value) is int else None
        if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Mult):
            left, right = self._value(written.left), self._value(written.right)
            return left * right if left and right else None
        if not isinstance(written, ast.Name):
            return None
        local, everywhere = self._call.spaces
        value = local.get(written.id, everywhere.get(written.id))
        return int(value) if type(value) is int else None
