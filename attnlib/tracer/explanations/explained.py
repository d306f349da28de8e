"""The explanation of a failed operation: where, operands, clash, one correction that was run.

torch's own words come last, so that they can be searched for.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..builder import Builder
from ..notes import State
from ..operation import Operation
from ..rows import Failure, Step
from ..rules import RULES, pointwise
from . import products  # noqa: F401 - it registers clashes
from .clash import CLASHES, Candidate, Failed
from .elsewhere import elsewhere
from .kinds import kinds
from .layouts import broadcast
from .places import at, carets, first_line


def explained(builder: Builder, failure: BaseException) -> Failure:
    """Explain why a run ended; the note is added to the exception once."""
    failed = builder.recorder.failed
    if failed is not None and _caused(failure, failed[0]):
        found = _operation(builder)
    else:
        found = elsewhere(builder, failure)
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
    where = f"{step.op} failed{at(step.file, step.line)}"
    if step.module:
        where += f", in {step.module}"
    infos = tuple(
        replace(info, name=op.operand(which) or info.name) for which, info in enumerate(step.inputs)
    )
    if step.op == "multi_head_attention_forward":
        infos = infos[:3]  # the rest are the layer's own weights
    lines = [where, *carets(site), *(f"  {info.described()}" for info in infos)]
    known = builder.variables.get(call.chain[0][0], []) if call.chain else []
    failed = Failed(op, infos, error, step.expression or step.code, function, known)
    said, candidates = _clash(failed, step, builder.recorder.strict)
    if said:
        lines.append(f"  {said}")
    tried = next(filter(None, (_tried(c, op) for c in candidates)), None)
    if tried is not None:
        lines.append(f"  try: {tried[0]}  →  {tried[1]}")
    lines.append(f"  torch: {first_line(error)}")
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
