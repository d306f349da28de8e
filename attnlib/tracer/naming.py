"""From a place in the source to names: where a value lands, what a shape is unpacked into."""

from __future__ import annotations

import ast

from .source import Site, site_of


def landing(chain) -> tuple[str, ...]:
    """Follow a value from where it is made to the variables it lands in."""
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


def shape_names(site: Site, ndim: int, axis: int | None) -> list[tuple[int, str]]:
    """Read which names a shape is unpacked into: pairs (axis, name)."""
    node, parents = site.node, site.parents
    if node is None:
        return []
    axes: list[int] | int = list(range(ndim)) if axis is None else axis % ndim
    parent = parents.get(node)
    if axis is None and isinstance(parent, ast.Subscript) and parent.value is node:
        try:
            axes = axes[_constant(parent.slice)]
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


def plain_name(node: ast.expr | None) -> str | None:
    """Return a variable's or an attribute's bare name; nothing for other expressions and ``_``."""
    if isinstance(node, ast.Name):
        return None if node.id.startswith("_") else node.id
    return node.attr if isinstance(node, ast.Attribute) else None
