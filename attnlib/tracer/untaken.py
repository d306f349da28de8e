"""Results that nothing takes: ``scores.masked_fill(…)`` as a line of its own changes nothing.

Only methods that are mistaken for ones that write: those with a twin that does (``masked_fill_``),
and a few that look as if they did. A check by ``view`` or ``expand`` is none; nor is what stands
in a ``try``, or loose in the lines of ``tracing``, where it may be there to be looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import Tensor

from .frames import LIBRARY, kind_of
from .notes import Call
from .recorder import Recorder
from .rows import Warning
from .source import Site

_LOOKS_SO = {
    "softmax", "log_softmax", "permute", "movedim", "to", "float", "half", "double", "bfloat16",
    "long", "int", "bool", "flip", "roll", "repeat", "repeat_interleave",
}  # fmt: skip
_DRAWS = {"bernoulli"}  # on purpose, maybe: the next draw is another one then
_LONGEST = 60  # characters of code in a message


class Untaken:
    """Look at the calls of a run; say at the end, when all names are known, which wrote nowhere."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._found: dict[tuple, tuple[Call, Site, ast.Attribute]] = {}  # each once for a place

    def follow(self, call: Call, site: Site) -> None:
        """Go on after a call."""
        method = _alone(call, site) if self._makes(call) else None
        if method is not None:
            self._found.setdefault((site.path, site.line, site.columns), (call, site, method))

    def warnings(self) -> Iterator[Warning]:
        """Write what was found."""
        for call, site, method in self._found.values():
            yield _warning(call, site, method, self._recorder)

    def _makes(self, call: Call) -> bool:
        """Is it the reader's own call, in a function, that gave another tensor than was given?"""
        if call.error is not None or not call.direct or not call.chain or not call.inputs:
            return False
        code = call.chain[0][0]
        loose = code.co_name == "<module>" or code is self._recorder.stack.base
        own = kind_of(code.co_filename) is not LIBRARY
        return own and not loose and call.kind in ("new", "copy", "view")


def _alone(call: Call, site: Site) -> ast.Attribute | None:
    """Return the method of a tensor, if calling it is all that a statement does."""
    node = site.node
    if not isinstance(node, ast.Call) or not isinstance(site.parents.get(node), ast.Expr):
        return None
    method, starred = node.func, any(isinstance(arg, ast.Starred) for arg in node.args)
    if not isinstance(method, ast.Attribute) or method.attr != call.name or starred:
        return None
    if len(call.args) <= len(node.args):  # torch.add(x, y): a function
        return None
    if any(word.arg is None for word in node.keywords) or _in_try(site):
        return None
    twin = hasattr(Tensor, f"{method.attr}_") and method.attr not in _DRAWS
    return method if twin or method.attr in _LOOKS_SO else None


def _in_try(site: Site) -> bool:
    node = site.node
    while node is not None:
        if isinstance(node, ast.Try):
            return True
        node = site.parents.get(node)
    return False


def _warning(call: Call, site: Site, method: ast.Attribute, recorder: Recorder) -> Warning:
    state, word = call.inputs[0], ast.unparse(method.value)
    word = word if len(word) <= _LONGEST else "what it is called on"
    words = [recorder.symbols.text(label) for label in recorder.labels(state)]
    written = site.in_one_line
    message = (
        f"{method.attr} writes nowhere, and nothing takes what it gives: {word} "
        f"({', '.join(words)}) stays as it is"
    )
    if isinstance(method.value, ast.Name) and len(written) <= _LONGEST:
        message += f"; try: {word} = {written}"
    *_, row, column = ("", "", *words)
    return Warning(site.line, site.expression, message, (row, column))
