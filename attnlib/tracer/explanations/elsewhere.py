"""Failures that are no operation of torch: a library that refuses its arguments, the code's own.

What a library was given stands in the frames of the exception; it is told as for an operation.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..builder import Builder
from ..frames import CHECKS, HERE, LIBRARY, kind_of
from ..labels import Label
from ..rows import Failure, Step, TensorInfo
from ..source import Site, shown_file, site_of, source_of
from ..stages import number
from .einops_calls import patterns
from .pasted import line_of
from .places import at, carets, first_line
from .refused import refused
from .scope import Scope
from .sequences import sequences
from .unpacked import sides

_LINES = 6  # of a library's own words
_MODULE = nn.Module._wrapped_call_impl.__code__


@dataclass
class Place:
    """The innermost line that is not a library's, and the library's function that it called."""

    site: Site
    line: int
    frame: types.FrameType
    called: types.FrameType | None = None


def elsewhere(builder: Builder, failure: BaseException) -> Failure:
    """Say where code failed that is no operation, and what a library was given there."""
    place = _place(failure)
    if place is None:
        return Failure(None, "", f"{type(failure).__name__}: {failure}")
    site, line = place.site, place.line
    code = site.code or linecache.getline(site.path, line).strip()
    given = _given(builder, place) if place.called is not None else ()
    if place.called is None or not given:
        return _refused(builder, failure, place, code)
    name = _function(place.called)
    builder.steps.append(Step(
        0, shown_file(site.path), line, code, site.expression, None, name, given, None, {}, None,
        "error",
    ))  # fmt: skip
    number(builder.steps)
    head = f"{name} failed{at(shown_file(site.path), line)}"
    words = [words.strip() for words in str(failure).splitlines() if words.strip()][:_LINES]
    told = [head, *carets(site), *(f"  {info.described()}" for info in given)]
    scope, recorder = Scope(place.frame), builder.recorder

    def labels_of(tensor: Tensor) -> list[Label]:
        return recorder.labels(recorder.state(tensor))

    layer = sequences(site.node, scope, describing(builder), failure)
    if layer is not None:
        _, said, corrections = layer
    else:
        said, corrections = patterns(place.called, site.expression, scope, labels_of)
    tried = _tried(corrections, scope, site)
    told += [f"  {said}"] if said else []
    told += [f"  try: {tried}"] if tried else []
    told += [f"  {type(failure).__name__}: {words[0] if words else ''}".rstrip(": ")]
    message = "\n".join([*told, *(f"    {w}" for w in words[1:])])
    return Failure(line, site.expression or code, message, tried)


def bare(failure: BaseException) -> Failure:
    """Say where code failed, and in which words: all there is where an explanation fails itself."""
    try:
        place, words = _place(failure), first_line(failure)
    except Exception:  # the words are the reader's own, if the exception is
        return Failure(None, "", type(failure).__name__)
    if place is None:
        return Failure(None, "", f"{type(failure).__name__}: {words}")
    site, line = place.site, place.line
    code = site.code or linecache.getline(site.path, line).strip()
    head = f"{type(failure).__name__}{at(shown_file(site.path), line)}"
    told = [head, *carets(site), f"  torch: {words}" if place.called else f"  {words}"]
    return Failure(line, site.expression or code, "\n".join(told), None)


def _tried(corrections: Iterable[str], scope: Scope, site: Site) -> str | None:
    """Return the first correction that runs, as it is pasted into its line."""
    found = next(filter(None, map(scope.tried, corrections)), None)
    return None if found is None else line_of(site).fitting(found)


def _refused(builder: Builder, failure: BaseException, place: Place, code: str) -> Failure:
    """Tell what Python itself refused, with the tensors whose names stand in the expression."""
    site, scope = place.site, Scope(place.frame)
    shown: dict[str, TensorInfo] = {}
    describe = describing(builder)

    value = _replaced(failure, site)
    read = site.node if value is None else value
    for name, tensor in scope.mentioned(read).items() if read is not None else ():
        shown[name] = describe(tensor, name)
    said, corrections = refused(failure, site.node, site.parents, scope, describe)
    tried = _tried(corrections, scope, site)
    head = f"{type(failure).__name__}{at(shown_file(site.path), place.line)}"
    told = [head, *carets(site, value), *(f"  {info.described()}" for info in shown.values())]
    told += [f"  {said}"] if said else []
    told += [f"  try: {tried}"] if tried else []
    message = "\n".join([*told, f"  {first_line(failure)}"])
    marked = site.expression if value is None else source_of(site.path).segment(value)
    return Failure(place.line, marked or code, message, tried)


def _replaced(failure: BaseException, site: Site) -> ast.expr | None:
    """Return what a correction is written for, where that is not what failed."""
    if isinstance(failure, ValueError) and "unpack" in str(failure):
        return sides(site.node, site.parents)[1]
    around = site.parents.get(site.node) if site.node is not None else None
    if isinstance(site.node, ast.Attribute) and isinstance(around, ast.Call):
        return around if around.func is site.node else None
    return None


def describing(builder: Builder) -> Callable[[Tensor, str], TensorInfo]:
    """Return what describes a tensor under a name, in the dims that are known of it."""

    def describe(tensor: Tensor, name: str) -> TensorInfo:
        info = builder.tensors.info(builder.recorder.state(tensor), name)
        builder.tensors.write_dims()
        return info

    return describe


def _place(failure: BaseException) -> Place | None:
    place = None
    tb = failure.__traceback__
    while tb is not None:
        frame, line, last, tb = tb.tb_frame, tb.tb_lineno, tb.tb_lasti, tb.tb_next
        code = frame.f_code
        if kind_of(code.co_filename) is not LIBRARY:
            place = Place(site_of(code, last), line, frame)
        elif place is not None and place.called is None:
            place.called = frame
    if place is not None and place.called is not None:
        path = place.called.f_code.co_filename
        if path == CHECKS or path.startswith(HERE):  # attnlib's checks say it all in names
            place.called = None
    return place


def _function(frame: types.FrameType) -> str:
    """Name what was called: a function, or a layer by its class."""
    if frame.f_code is _MODULE:
        return type(frame.f_locals["self"]).__name__
    return frame.f_code.co_name


def _given(builder: Builder, place: Place) -> tuple[TensorInfo, ...]:
    """Describe the tensors that a library's function was given, each once."""
    frame, node = place.called, place.site.node
    assert frame is not None
    code, scope = frame.f_code, Scope(place.frame)
    mentioned = scope.mentioned(node).items() if node is not None else ()
    written = {id(tensor): name for name, tensor in mentioned}
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    found: dict[int, TensorInfo] = {}
    for word in code.co_varnames[:count]:
        for tensor in _tensors(frame.f_locals.get(word)):
            state = builder.recorder.state(tensor)
            info = builder.tensors.info(state, state.identity.name or written.get(id(tensor), word))
            found.setdefault(id(tensor), info)
    builder.tensors.write_dims()
    return tuple(found.values())


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of an argument, and of a list or dict of them."""
    inside = value.values() if isinstance(value, dict) else value
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        yield from (item for item in inside if isinstance(item, Tensor))
