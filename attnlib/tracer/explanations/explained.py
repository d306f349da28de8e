"""The explanation of a failed operation: where, operands, clash, one correction that was run.

torch's own words come last, so that they can be searched for.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import torch
from torch import Tensor

from ..builder import Builder
from ..notes import Call, State
from ..operation import Operation
from ..rows import Failure, Step
from ..rules import RULES, pointwise
from ..source import Site
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
        replace(info, name=op.operand(which) or _passed(step, site, which) or info.name)
        for which, info in enumerate(step.inputs)
    )
    if step.op == "multi_head_attention_forward":
        infos = infos[:3]  # the rest are the layer's own weights
    lines = [where, *carets(site), *(f"  {info.described()}" for info in infos)]
    known = builder.variables.get(call.chain[0][0], []) if call.chain else []
    failed = Failed(op, infos, error, step.expression or step.code, function, known)
    said, candidates = _clash(failed, step, builder.recorder.strict)
    if said:
        lines.append(f"  {said}")
    known_names = _names(call)
    tried = next(filter(None, (_tried(c, op, known_names) for c in candidates)), None)
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


def _passed(step: Step, site: Site, which: int) -> str | None:
    """Write what a layer is called on: torch's own layers hand it on as it is."""
    node = site.node
    if which or not step.module or step.op not in _HANDED_ON or not isinstance(node, ast.Call):
        return None
    called = ast.unparse(node.func).rpartition(".")[2]
    if called != step.module.rpartition(".")[2] or not node.args:
        return None
    return ast.unparse(node.args[0])


_HANDED_ON = {
    "linear", "embedding", "layer_norm", "rms_norm", "group_norm", "conv1d", "conv2d", "conv3d",
}  # fmt: skip


def _names(call: Call) -> set[str] | None:
    """Return the names that a correction may use; None where the code shows only some of them."""
    if not call.chain or call.chain[0][0].co_name == "<module>":
        return None
    code = call.chain[0][0]
    held = {*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars}
    return held | {"torch", "float"}


def _tried(candidate: Candidate, op: Operation, names: set[str] | None) -> tuple[str, str] | None:
    """Run a correction on the meta device; one that raises, or is no code, is never shown."""
    try:
        nodes = list(ast.walk(ast.parse(candidate.code, mode="eval")))
    except SyntaxError:
        return None
    if names is not None and {node.id for node in nodes if isinstance(node, ast.Name)} - names:
        return None
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
