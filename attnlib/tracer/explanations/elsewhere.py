"""Failures that are no operation of torch: a library that refuses its arguments, the code's own.

What a library was given stands in the frames of the exception; it is told as for an operation.
"""

from __future__ import annotations

import linecache
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..builder import Builder
from ..frames import CHECKS, HERE, LIBRARY, kind_of
from ..rows import Failure, Step, TensorInfo
from ..source import Site, shown_file, site_of
from ..stages import number
from .places import at, carets, first_line

_LINES = 6  # of a library's own words
_MODULE = nn.Module._wrapped_call_impl.__code__


@dataclass
class Place:
    """The innermost line that is not a library's, and the library's function that it called."""

    site: Site
    line: int
    called: types.FrameType | None = None


def elsewhere(builder: Builder, failure: BaseException) -> Failure:
    """Say where code failed that is no operation, and what a library was given there."""
    place = _place(failure)
    if place is None:
        return Failure(None, "", f"{type(failure).__name__}: {failure}")
    site, line = place.site, place.line
    code = site.code or linecache.getline(site.path, line).strip()
    given = _given(builder, place.called) if place.called is not None else ()
    if place.called is None or not given:
        head = f"{type(failure).__name__}{at(shown_file(site.path), line)}"
        message = "\n".join([head, *carets(site), f"  {first_line(failure)}"])
        return Failure(line, site.expression or code, message)
    name = _function(place.called)
    builder.steps.append(Step(
        0, shown_file(site.path), line, code, site.expression, None, name, given, None, {}, None,
        "error",
    ))  # fmt: skip
    number(builder.steps)
    head = f"{name} failed{at(shown_file(site.path), line)}"
    words = [words.strip() for words in str(failure).splitlines() if words.strip()][:_LINES]
    told = [head, *carets(site), *(f"  {info.described()}" for info in given)]
    told += [f"  {type(failure).__name__}: {words[0] if words else ''}".rstrip(": ")]
    return Failure(
        line, site.expression or code, "\n".join([*told, *(f"    {w}" for w in words[1:])])
    )


def _place(failure: BaseException) -> Place | None:
    place = None
    for frame, line in traceback.walk_tb(failure.__traceback__):
        code = frame.f_code
        if kind_of(code.co_filename) is not LIBRARY:
            place = Place(site_of(code, frame.f_lasti), line)
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


def _given(builder: Builder, frame: types.FrameType) -> tuple[TensorInfo, ...]:
    """Describe the tensors that a library's function was given, each once."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    found: dict[int, TensorInfo] = {}
    for word in code.co_varnames[:count]:
        for tensor in _tensors(frame.f_locals.get(word)):
            state = builder.recorder.state(tensor)
            info = builder.tensors.info(state, state.identity.name or word)
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
