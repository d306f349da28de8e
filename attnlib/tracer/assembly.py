"""A recording made into the trace that its reader holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch

from ..dims import role
from .builder import Builder
from .explanations.explained import explained
from .report import Trace
from .rows import flat


def assemble(
    builder: Builder,
    *,
    title: str,
    output: Any = None,
    failure: BaseException | None = None,
    into: Trace | None = None,
) -> Trace:
    """Build the rows of a recording and gather what they say together."""
    trace = into if into is not None else Trace()
    trace.title, trace.torch = title, torch.__version__.split("+")[0]
    trace.steps = builder.build()
    trace.warnings = [*builder.findings.warnings(), *builder.watch.warnings()]
    trace.dropped = builder.recorder.dropped
    trace.output = output
    trace._inside = {at for at, step in enumerate(flat(trace.steps)) if id(step) in builder.inside}
    names, trace.sizes = _sizes(builder.tensors.shapes(), builder.tensors.symbols.sizes)
    trace._refused = builder.tensors.symbols.refused
    trace.roles = {name: role(name) for name in names}
    if failure is not None:
        trace.error = explained(builder, failure)
    builder.recorder.close()
    return trace


def _sizes(shapes: Iterable[tuple], known: dict[str, int]) -> tuple[list[str], dict[str, int]]:
    """Return every named dim in order, and their sizes; last those in products alone."""
    dims = dict.fromkeys(dim for row, _ in shapes for dim in row)
    names = dict.fromkeys(part for dim in dims for part in re.split(r"\*|//", dim))
    names = {name: None for name in names if not name.isdigit()}
    alone = [name for name in names if name in dims]
    order = [*alone, *(name for name in names if name not in dims)]
    return [*names], {name: known[name] for name in order if name in known}
