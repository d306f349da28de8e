"""From a place in the source to names: where a value lands, what a shape is unpacked into."""

from __future__ import annotations

import ast
from typing import TypeGuard

from ..dims import role
from .given import book_name
from .labels import BOOK, CODE, WRITTEN, Label
from .notes import Chain
from .source import Site, site_of
from .symbols import Symbols

_LANDED: dict[tuple, tuple[Chain, tuple[str, ...]]] = {}  # the chain keeps its codes' ids taken
_MANY = 20_000


def landed(chain: Chain) -> tuple[str, ...]:
    """Follow a value from where it is made to the variables it lands in; once for each place."""
    key = tuple([(id(code), instruction) for code, instruction in chain])
    found = _LANDED.get(key)
    if found is None:
        if len(_LANDED) > _MANY:
            _LANDED.clear()
        found = _LANDED[key] = (chain, _landing(chain))
    return found[1]


def _landing(chain: Chain) -> tuple[str, ...]:
    place = of = None
    for depth, (code, instruction) in enumerate(chain):
        site = site_of(code, instruction)
        if depth and not isinstance(site.node, ast.Call):
            return ()
        if site.targets:
            if place is None or of == 1:
                return site.targets
            return (site.targets[place],) if len(site.targets) == of else ()
        if site.returned is None:
            return ()
        if of not in (None, 1):
            return ()
        place, of = site.returned
    return ("output",) if place is not None and of == 1 else ()


def name_shape(
    symbols: Symbols, labels: list[Label], axis: int | None, site: Site
) -> list[tuple[int, str]]:
    """Give the axes of a tensor the names that its shape is unpacked into; return them."""
    found = shape_names(site, len(labels), axis)
    for place, name in found:
        if not site.ours:
            symbols.name(labels[place], name, CODE)
        elif role(name) is not None:
            symbols.name(labels[place], book_name(name), BOOK)
    return found


def name_size(symbols: Symbols, name: str, size: int, site: Site) -> Label:
    """Return the label of a plain number that the code calls ``name``."""
    if site.ours:
        if role(name) is None:
            return symbols.fresh(size, literal=True)
        return symbols.named(book_name(name), size, BOOK, site.path)
    return symbols.given(name, size) or symbols.named(name, size, WRITTEN, site.path)


def shape_names(site: Site, ndim: int, axis: int | None) -> list[tuple[int, str]]:
    """Read which names a shape is unpacked into: pairs (axis, name)."""
    node, parents = site.node, site.parents
    if node is None:
        return []
    every = list(range(ndim))
    axes: list[int] | int = every if axis is None else axis % ndim
    parent = parents.get(node)
    if axis is None and isinstance(parent, ast.Subscript) and parent.value is node:
        try:
            axes = every[_constant(parent.slice)]
        except (IndexError, TypeError, ValueError):
            return []
        node, parent = parent, parents.get(parent)
    if isinstance(axes, int):
        name = _target(node, parent, parents)
        return [(axes, name)] if name else []
    if not isinstance(parent, ast.Assign) or not isinstance(
        parent.targets[0], ast.Tuple | ast.List
    ):
        return []
    names = parent.targets[0].elts
    stars = [place for place, item in enumerate(names) if isinstance(item, ast.Starred)]
    if not stars and len(names) != len(axes):
        return []
    found = []
    for place, item in enumerate(names):
        if isinstance(item, ast.Starred):
            continue
        which = place if not stars or place < stars[0] else place - len(names)
        name = plain_name(item)
        if name and -len(axes) <= which < len(axes):
            found.append((axes[which], name))
    return found


def _target(node, parent, parents) -> str | None:
    """Name the variable that a single size is assigned to."""
    if isinstance(parent, ast.NamedExpr):
        return plain_name(parent.target)
    if isinstance(parent, ast.Assign) and parent.value is node:
        return plain_name(parent.targets[0])
    grand = parents.get(parent)
    if isinstance(parent, ast.Tuple) and isinstance(grand, ast.Assign) and grand.value is parent:
        targets = grand.targets[0]
        if isinstance(targets, ast.Tuple) and len(targets.elts) == len(parent.elts):
            return plain_name(targets.elts[parent.elts.index(node)])
    return None


def _constant(node: ast.expr):
    """Evaluate an index or slice made of numbers."""
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _constant(part) for part in parts))
    return ast.literal_eval(node)


def is_length(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """Is this ``len(x)``?"""
    return isinstance(node, ast.Call) and plain_name(node.func) == "len"


def plain_name(node: ast.expr | None) -> str | None:
    """Return a variable's or an attribute's bare name; nothing for other expressions and ``_``."""
    if isinstance(node, ast.Name):
        return None if node.id.startswith("_") else node.id
    return node.attr if isinstance(node, ast.Attribute) else None
