"""The explanation of a failed operation: where, operands, clash, one correction that was run.

torch's own words come last, so that they can be searched for.
"""

from __future__ import annotations

import linecache
import traceback
from dataclasses import replace

import torch
from torch import Tensor

from ..builder import Builder
from ..frames import LIBRARY, kind_of
from ..notes import State
from ..operation import Operation
from ..rows import Failure, Step
from ..rules import RULES, pointwise
from ..source import Site, shown_file, site_of
from . import products  # noqa: F401 - it registers clashes
from .clash import CLASHES, Candidate, Failed
from .kinds import kinds
from .layouts import broadcast


def explained(builder: Builder, failure: BaseException) -> Failure:
    """Explain why a run ended; the note is added to the exception once."""
    failed = builder.recorder.failed
    if failed is not None and _caused(failure, failed[0]):
        found = _operation(builder)
    else:
        found = _elsewhere(failure)
    if not hasattr(failure, "attnlib_trace"):
        failure.add_note(found.message)
    return found


def _caused(failure: BaseException | None, error: BaseException) -> bool:
    for _ in range(20):
        if failure is None or failure is error:
            break
        failure = failure.__cause__ or failure.__context__
    return failure is error


def _operation(builder: Builder) -> Failure:
    assert builder.failed is not None
    assert builder.recorder.failed is not None
    step, op, site = builder.failed
    error, call, function = builder.recorder.failed
    where = f"{step.op} failed{_at(step.file, step.line)}"
    if step.module:
        where += f", in {step.module}"
    infos = tuple(
        replace(info, name=op.operand(which) or info.name) for which, info in enumerate(step.inputs)
    )
    if step.op == "multi_head_attention_forward":
        infos = infos[:3]  # the rest are the layer's own weights
    lines = [where, *_carets(site), *(f"  {info.described()}" for info in infos)]
    known = builder.variables.get(call.chain[0][0], []) if call.chain else []
    failed = Failed(op, infos, error, step.expression or step.code, function, known)
    said, candidates = _clash(failed, step, builder.recorder.strict)
    if said:
        lines.append(f"  {said}")
    tried = next(filter(None, (_tried(c, op) for c in candidates)), None)
    if tried is not None:
        lines.append(f"  try: {tried[0]}  →  {tried[1]}")
    lines.append(f"  torch: {_first_line(error)}")
    return Failure(
        step.line, step.expression or step.code, "\n".join(lines), tried[0] if tried else None
    )


def _clash(failed: Failed, step: Step, strict: bool) -> tuple[str, list[Candidate]]:
    try:
        explain = CLASHES.get(step.op)
        if explain is None:
            explain = broadcast if RULES.get(step.op) is pointwise else kinds
        found = explain(failed)
        return found if found[0] else kinds(failed)
    except (LookupError, TypeError, ValueError, AttributeError):
        if strict:
            raise
        return "", []


def _tried(candidate: Candidate, op: Operation) -> tuple[str, str] | None:
    """Run a correction on the meta device; one that raises is never shown."""
    tensors = [empty(state) for state in op.inputs]
    try:
        with torch.no_grad():
            result = candidate.run(tensors)
    except Exception:
        return None
    shape = tuple(result.shape) if isinstance(result, Tensor) else ()
    return candidate.code, f"({', '.join(map(str, shape))})"


def empty(state: State) -> Tensor:
    return torch.empty(state.shape, dtype=getattr(torch, state.dtype), device="meta")


def _elsewhere(failure: BaseException) -> Failure:
    """Say where code failed that is no operation: the innermost line that is not a library's."""
    place = None
    for frame, line in traceback.walk_tb(failure.__traceback__):
        if kind_of(frame.f_code.co_filename) is not LIBRARY:
            place = (frame.f_code.co_filename, line, site_of(frame.f_code, frame.f_lasti))
    if place is None:
        return Failure(None, "", f"{type(failure).__name__}: {failure}")
    path, line, site = place
    code = site.code or linecache.getline(path, line).strip()
    head = f"{type(failure).__name__}{_at(shown_file(path), line)}"
    message = "\n".join([head, *_carets(site), f"  {_first_line(failure)}"])
    return Failure(line, site.expression or code, message)


def _at(file: str | None, line: int | None) -> str:
    if line is None:
        return f" in {file}" if file else ""
    return f" at {file}, line {line}" if file else f" at line {line}"


def _carets(site: Site) -> list[str]:
    """Show the line, and under it the expression that failed."""
    line = linecache.getline(site.path, site.line) if site.line else ""
    text = line.strip()
    if not text:
        return [f"    {site.code}"] if site.code else []
    lines = [f"    {text}"]
    if site.columns is not None:
        raw = line.encode()
        before, under = (raw[: site.columns[0]], raw[site.columns[0] : site.columns[1]])
        indent = len(line) - len(line.lstrip())
        start, width = len(before.decode(errors="replace")), len(under.decode(errors="replace"))
        lines.append("    " + " " * (start - indent) + "^" * width)
    return lines


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
