"""Stages of the book as rows: one row a call, its operations as children."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import operations
from .naming import landed
from .notes import Call, StageCall, State, is_state
from .rows import Step
from .source import Site, site_of
from .tensors import Tensors

FUSED = "fused_attention"
FUSED_NOTE = "one kernel: scores, scale, mask, softmax and sum; the weights are never a tensor"


class Stages:
    """Put rows under the stages that they ran in."""

    def __init__(
        self, tensors: Tensors, file: Callable, module_name: Callable, calls: Sequence[Call]
    ) -> None:
        self._tensors, self._file, self._module_name = tensors, file, module_name
        self._open: list[StageCall] = []
        self._rows: dict[int, Step] = {}
        # of each stage, the operation that gives its result
        self._last = {id(stage): call for call in calls for stage in call.stages}

    def place(self, step: Step, call: Call, steps: list[Step]) -> None:
        """Put a row under the stages it ran in; a stage's result is that of its last operation."""
        if not call.stages:
            self._open = []
            steps.append(step)
            return
        self._open = [
            mine for mine, now in zip(self._open, call.stages, strict=False) if mine is now
        ]
        for depth, stage in enumerate(call.stages):
            if depth >= len(self._open):
                self._open.append(stage)
                self._rows[id(stage)] = self._row(stage)
                steps.append(self._rows[id(stage)])
            steps = self._rows[id(stage)].steps
        steps.append(step)
        for stage in reversed(call.stages):
            self._result(self._rows[id(stage)], stage, step, call)

    def _row(self, stage: StageCall) -> Step:
        site = site_of(*stage.chain[0]) if stage.chain else Site("", None)
        inputs = tuple(
            self._tensors.info(value, value.identity.name or name)
            for name, value in stage.arguments.items()
            if is_state(value)
        )
        params = {
            name: operations.jsonable(value)
            for name, value in stage.arguments.items()
            if value is not None and not is_state(value)
        }
        op, note = stage.name, ""
        if op == FUSED:
            op, note = "scaled_dot_product_attention", FUSED_NOTE
        return Step(
            0, self._file(site.path), site.line, site.code, site.expression, None, op, inputs,
            None, params, self._module_name(stage.module), "new", note,
        )  # fmt: skip

    def _result(self, parent: Step, stage: StageCall, step: Step, call: Call) -> None:
        """Let a stage's row end with what its latest operation gave."""
        if call.error is not None:
            parent.kind, parent.output = "error", None
            return
        if self._last[id(stage)] is not call:
            return
        state = call.out if isinstance(call.out, State) else call.out[-1]
        targets = landed(stage.chain)[:1]
        name = targets[0] if targets else step.expression or stage.name
        if stage.chain and not targets:
            name = site_of(*stage.chain[0]).expression or name
        state.identity.name, state.identity.named = name, bool(targets)
        parent.variable = targets[0] if targets else None
        parent.output = self._tensors.info(state, name)
        parent.kind = _kind(stage, state)


def _kind(stage: StageCall, state: State) -> str:
    given = [value for value in stage.arguments.values() if is_state(value)]
    if any(value.storage is not None and value.storage == state.storage for value in given):
        return "view"
    return "copy" if stage.name == "merge_heads" else "new"


def number(steps: list[Step]) -> None:
    """Number the rows; a fused stage that is nothing but the kernel needs no child."""
    for index, step in enumerate(steps, 1):
        step.index = index
        if step.note == FUSED_NOTE and [child.op for child in step.steps] == [step.op]:
            step.params, step.steps = step.steps[0].params, []
        number(step.steps)
