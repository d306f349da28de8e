"""The explanation of a failed operation: where, operands, clash, one correction that was run.

torch's own words come last, so that they can be searched for.
"""

from __future__ import annotations

import ast
import contextlib
import math
import re
import traceback
import types
from dataclasses import replace

from torch import Tensor

from ..builder import Builder
from ..notes import Call
from ..rows import Failure, Step
from ..rules import RULES, pointwise
from ..source import Site, short
from . import (  # noqa: F401 - they register clashes
    attention,
    axes,
    indexing,
    joining,
    layers,
    letters,
    losses,
    picking,
    products,
    sums,
    views,
)
from .arguments import given
from .axes import numbered
from .broadcasting import broadcast
from .clash import CLASHES, Candidate, Failed, normal, on
from .elsewhere import bare, describing, elsewhere
from .judged import Judge
from .kinds import kinds
from .pasted import line_of
from .places import at, carets, first_line
from .plain import plain
from .scope import Scope, empty, silently
from .sequences import sequences
from .squeezed import squeezed

_SMALL = 1_000_000  # numbers that are really made, where the meta device cannot tell


def explained(builder: Builder, failure: BaseException) -> Failure:
    """Explain why a run ended; the note is added to the exception once."""
    _say_int(failure)
    try:
        failed = builder.recorder.failed
        if failed is not None and _caused(failure, failed[0]):
            found = _operation(builder)
        else:
            found = elsewhere(builder, failure)
    except Exception:  # the reader's error is never replaced by one of ours
        if builder.recorder.strict:
            raise
        found = bare(failure)
    with contextlib.suppress(Exception):  # a frozen one takes no note
        if not hasattr(failure, "attnlib_trace"):
            failure.add_note(found.message)
    return found


def _say_int(failure: BaseException) -> None:
    """Let torch call a size what it is outside a trace: an int."""
    if isinstance(failure, TypeError) and "argument" in str(failure):
        failure.args = tuple(
            _OURS.sub("int", arg) if isinstance(arg, str) else arg for arg in failure.args
        )


_OURS = re.compile(r"(?<=not )Dim\b|(?<=[(\[, ])Dim(?=[,)\]])")


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
        replace(
            info, name=short(_written(op, which, site) or _passed(step, site, which) or info.name)
        )
        for which, info in enumerate(step.inputs)
    )
    known = builder.variables.get(call.chain[0][0], []) if call.chain else []
    scope = Scope(_frame(error, call), builder.recorder.held)
    failed = Failed(
        op, infos, error, step.expression or step.code, function, known, scope, builder.steps, site
    )
    called = None if call.direct else sequences(site.node, scope, describing(builder), failed.error)
    if called is not None:  # inside, the layer has laid its arguments out anew
        infos, said, codes = tuple(called[0]), called[1], called[2]
        candidates = [Candidate(code) for code in codes]
    else:
        said, candidates = _clash(failed, step, builder)
    stored = failed.written is not None
    around = site.parents.get(site.node) if stored and site.node is not None else None
    lines = [where, *carets(site, around), *(f"  {info.described()}" for info in infos)]
    if said:
        lines.append(f"  {said}")
    tried = _chosen(candidates, failed, builder, site, _names(call, scope))
    if tried is not None:
        lines.append(f"  try: {tried[0]}{tried[1]}")
    lines.append(f"  torch: {first_line(error)}")
    code = site.code if stored else failed.code
    return Failure(step.line, code, "\n".join(lines), tried[0] if tried else None)


def _clash(failed: Failed, step: Step, builder: Builder) -> tuple[str, list[Candidate]]:
    try:
        explain = CLASHES.get(step.op)
        if explain is None:
            explain = broadcast if RULES.get(step.op) is pointwise else kinds
        found = numbered(failed) or explain(failed)
        found = found if found[0] else plain(failed) or kinds(failed)
        if not found[0] and isinstance(failed.error, TypeError):
            said, corrections = given(failed, describing(builder))
            found = said, [Candidate(code) for code in corrections]
        lost = squeezed(failed)
        return ("; ".join(filter(None, (found[0], lost[0]))), lost[1]) if lost else found
    except (LookupError, TypeError, ValueError, AttributeError, SyntaxError):
        if builder.recorder.strict:
            raise
        return "", []


def _written(op: Operation, which: int, site: Site) -> str | None:
    """Write an operand; one of a list that is written as a whole by its place in it."""
    if op.torch_name == "__bool__" and isinstance(site.node, ast.Compare):
        return ast.unparse(site.node)  # what was compared is asked, not what it was compared with
    written, (argument, place) = op.operand(which), op.bound.places[which]
    others = [i for i, (name, _) in enumerate(op.bound.places) if name == argument]
    if written is None or len(others) < 2 or any(op.operand(i) != written for i in others):
        return written
    return f"{on(written)}[{place}]"


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
    "batch_norm",
}  # fmt: skip


def _names(call: Call, scope: Scope) -> set[str] | None:
    """Return the names that a correction may use; None where the code shows only some of them."""
    if not call.chain or call.chain[0][0].co_name == "<module>":
        return None
    code = call.chain[0][0]
    held = {*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars}
    return {name for name in held if scope.holds(name)} | {"torch", "float"}


def _frame(error: BaseException, call: Call) -> types.FrameType | None:
    """Find the frame of the failing line: its variables are those a correction may use."""
    code = call.chain[0][0] if call.chain else None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code is code]
    return frames[-1] if frames else None


def _chosen(
    candidates: list[Candidate], failed: Failed, builder: Builder, site: Site, names: set | None
) -> tuple[str, str] | None:
    """Choose the first correction that runs in its whole line, and that no warning rejects."""
    line, kept, judge = line_of(site), None, None
    for candidate in candidates:
        tried = _tried(candidate, failed, names)
        if tried is None:
            continue
        judge = judge or Judge(builder, failed, site)
        allowed = judge.allows(candidate, line)
        fitting = line.fitting(tried[0]), tried[1]
        if allowed:
            return fitting
        if allowed is None and kept is None:  # the line has another fault
            kept = fitting
    return kept


def _tried(candidate: Candidate, failed: Failed, names: set[str] | None) -> tuple[str, str] | None:
    """Run a correction on the meta device; one that raises, or is no code, is never shown."""
    if normal(candidate.code) == normal(failed.code):
        return None  # the line has it already
    try:
        nodes = list(ast.walk(ast.parse(candidate.code)))
    except SyntaxError:
        return None
    if names is not None and {node.id for node in nodes if isinstance(node, ast.Name)} - names:
        return None
    try:
        with silently():
            result = _run(candidate, failed, "meta")
    except Exception as error:
        looked_at = isinstance(error, NotImplementedError) or "on meta tensors" in str(error)
        if not looked_at:  # how much a mask picks depends on its values
            return None
        try:
            with silently():
                _run(candidate, failed, "cpu")
        except Exception:
            return None
        return candidate.code, ""
    if candidate.run is not None and not _gives(candidate.code, failed, result):
        return None
    return candidate.code, _shapes(result)


def _gives(code: str, failed: Failed, result: object) -> bool:
    """Does the code, where it can be run, give what its operation gave?"""
    if not failed.op.direct:  # of a layer that was called the operation is a part
        return True
    try:
        with silently():
            made = failed.scope.run(code, "meta")
    except Exception:  # what the line holds is not all known, or not on the meta device
        return True
    if isinstance(made, Tensor) and isinstance(result, Tensor):
        return made.shape == result.shape
    return True


def _shapes(result: object) -> str:
    """Write what a correction gives; each of several results, nothing of what is no tensor."""
    given = result if isinstance(result, tuple | list) else [result]
    shapes = [f"({', '.join(map(str, x.shape))})" for x in given if isinstance(x, Tensor)]
    return f"  →  {', '.join(shapes)}" if shapes else ""


def _run(candidate: Candidate, failed: Failed, device: str) -> Tensor:
    if device != "meta" and sum(math.prod(state.shape) for state in failed.states) > _SMALL:
        raise MemoryError
    if candidate.run is None:
        return failed.scope.run(candidate.code, device)
    return candidate.run([empty(state, device) for state in failed.states])
