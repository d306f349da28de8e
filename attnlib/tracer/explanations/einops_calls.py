"""Calls of einops that it refused: its functions, its layers, patterns with ``...``, ``pack``."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from ..labels import Label
from .clash import on
from .patterns import Correction, Group, Pattern, groups_of, means
from .scope import Scope

Labels = Callable[[Tensor], list[Label]]
_PATTERNED = {"rearrange", "reduce", "repeat"}


def patterns(
    called: types.FrameType, expression: str, scope: Scope, labels_of: Labels
) -> tuple[str, list[str]]:
    """Say what a pattern and its tensor do not agree on, and write the call with another."""
    held: dict[str, Any] = called.f_locals
    layer = held.get("self")
    if isinstance(layer, nn.Module):
        return _layer(layer, held.get("args", ()), expression, scope, labels_of)
    text, tensor = held.get("pattern"), held.get("tensor")
    function = called.f_code.co_name
    if function == "pack" and isinstance(text, str):
        return packed(held.get("tensors"), text, expression, labels_of)
    if (
        not isinstance(text, str)
        or not isinstance(tensor, Tensor)
        or function not in _PATTERNED
        or text.count("->") != 1
    ):
        return "", []
    given = dict(held.get("axes_lengths") or {})
    said, found, extra = _clash(function, text, given, labels_of(tensor), scope)
    if function == "repeat":
        found = [_measured(one, given, tensor, scope, labels_of) for one in found]
    written = [_call(expression, text, *one) for one in found]
    if extra is not None:
        written.append(_without_first(expression, extra))
    return said, [code for code in written if code is not None]


def _without_first(written: str, axis: int) -> str | None:
    """Leave off the class token, which no place of a grid is kept for."""
    try:
        node = ast.parse(written, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.Call) or not node.args:
        return None
    operand = ast.unparse(node.args[0])
    cut = f"{on(operand)}[{':, ' * axis}1:]"
    return written.replace(operand, cut, 1) if written.count(f"({operand}") == 1 else None


def _measured(
    one: Correction, given: dict, operand: Tensor, scope: Scope, labels_of: Labels
) -> Correction:
    """Take the sizes of new axes from tensors that have an axis of this name."""
    pattern, sizes, function = one
    left, right = (re.findall(r"[a-z_]\w*", side) for side in pattern.split("->"))
    for word in right:
        if word in left or word in given or word in sizes:
            continue
        for name, tensor in scope.tensors():
            rows = [] if tensor is operand else labels_of(tensor)
            axes = [
                axis for axis, label in enumerate(rows) if label.name and means(word, label.name)
            ]
            if axes:
                sizes = {**sizes, word: f"{name}.shape[{axes[0]}]"}
                break
    return pattern, sizes, function


def _clash(
    function: str, text: str, given: dict, labels: list[Label], scope: Scope
) -> tuple[str, list[Correction], int | None]:
    """Compare a pattern with a tensor; of ``...`` each axis is a word of its own for the while."""
    before, after = (groups_of(side) for side in text.replace("…", "...").split("->"))
    count = len(labels) - len(before) + 1
    if ("...",) not in before or count < 0:
        plain = Pattern(before, after, given, labels, scope)
        said, found = plain.clash(function)
        return (said, [], None) if ("...",) in before else (said, found, plain.extra)
    dots = tuple((f"dots{place}",) for place in range(count))
    left, right = (
        [group for old in side for group in _undotted(old, dots)] for side in (before, after)
    )
    dotted = Pattern(left, right, given, labels, scope)
    said, found = dotted.clash(function)
    run = " ".join(word for (word,) in dots)
    written = [(_dotted(pattern, run), sizes, other) for pattern, sizes, other in found]
    kept = [one for one in written if "dots" not in one[0]]
    return _dotted(said, run), kept, dotted.extra


def _undotted(group: Group, dots: Sequence[Group]) -> Sequence[Group]:
    if group == ("...",):
        return dots
    return [tuple(w for word in group for w in (sum(dots, ()) if word == "..." else (word,)))]


def _dotted(text: str, run: str) -> str:
    return text.replace(run, "...") if run else text.replace("->", "... ->", 1)


def _layer(
    layer: nn.Module, args: Any, expression: str, scope: Scope, labels_of: Labels
) -> tuple[str, list[str]]:
    """Explain einops' layers: the correction is a layer of another pattern, called as it was."""
    text, given = getattr(layer, "pattern", None), getattr(layer, "axes_lengths", {})
    function = type(layer).__name__.lower()
    tensor = args[0] if args else None
    if not isinstance(text, str) or function not in _PATTERNED or not isinstance(tensor, Tensor):
        return "", []
    said, found, extra = _clash(function, text, dict(given), labels_of(tensor), scope)
    head, bracket, argument = expression.partition("(")
    if not bracket or scope.value(ast.parse(head, mode="eval").body) is not layer:
        return said, []  # it lies in a Sequential
    codes = []
    cut = _without_first(expression, extra) if extra is not None else None
    if cut is not None:
        codes.append(cut)
    for pattern, sizes, other in found:
        if other is None:
            words = re.findall(r"\w+", pattern)
            lengths = {**{w: str(n) for w, n in given.items() if w in words}, **sizes}
            rest = "".join(f", {word}={size}" for word, size in lengths.items())
            reduction = getattr(layer, "reduction", None)
            rest = f", {reduction!r}{rest}" if reduction is not None else rest
            codes.append(f'{type(layer).__name__}("{pattern}"{rest})({argument}')
    return said, codes


def packed(tensors: Any, text: str, expression: str, labels_of: Labels) -> tuple[str, list[str]]:
    """Explain ``pack``: each tensor has the axes that the pattern names, and any for the star."""
    words = text.split()
    if words.count("*") != 1 or not isinstance(tensors, list | tuple):
        return "", []
    star = words.index("*")
    for tensor in tensors:
        labels = labels_of(tensor)
        if len(labels) < len(words) - 1:
            break
    else:
        return "", []
    said = f"the pattern names {len(words) - 1} axes besides *, but a tensor has {len(labels)}"
    keep = len(labels)
    front = words[:star][:keep]
    named = [
        word
        for word, label in zip([*words[:star], *words[star + 1 :]], labels, strict=False)
        if means(word, label.name)
    ]
    found = [*front, "*", *words[star + 1 :][: keep - len(front)]]
    fits = len(named) == keep
    return said, [expression.replace(text, " ".join(found))] if fits and text in expression else []


def _call(
    written: str, text: str, pattern: str, sizes: dict[str, str], function: str | None
) -> str | None:
    """Write the call with another pattern, with more sizes, or of another function."""
    if written.count(text) != 1 or not written.endswith(")"):
        return None
    before, after = written.split(text)
    if function is not None:
        before = before.replace("rearrange(", f"{function}(", 1)
    if function == "reduce":
        after = f'{after[0]}, "mean"{after[1:]}'
    words = "".join(f", {word}={size}" for word, size in sizes.items())
    return f"{before}{pattern}{after[:-1]}{words})"
