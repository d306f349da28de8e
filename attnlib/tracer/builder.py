"""From notes to rows: what the recorder saw, told in variables, lines and named dims."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import torch

from ..dims import role
from . import operations
from .findings import Findings
from .frames import LIBRARY, kind_of
from .given import book_name
from .labels import BOOK, CODE, WRITTEN, Label
from .naming import landing, shape_names
from .notes import Call, Identity, ShapeRead, StageCall, State
from .operation import Operation, is_state, shown_params
from .recorder import Recorder
from .rows import Step, TensorInfo, plain
from .rules import RULES, Unknown
from .source import Site, shown_file, site_of

FUSED = "fused_attention"
FUSED_NOTE = "one kernel: scores, scale, mask, softmax and sum; the weights are never a tensor"


class Builder:
    """Go through a recording once, in order, and tell it."""

    strict = False  # raise where a rule fails instead of knowing nothing (tests)

    def __init__(self, recorder: Recorder, names: Mapping, module_names: Mapping) -> None:
        self.recorder = recorder
        self.symbols = recorder.symbols
        self.findings = Findings(self.symbols)
        self.steps: list[Step] = []
        self._variables = names  # variable -> the dims it was given, for loose code
        self._modules = module_names
        self._named: list[tuple[TensorInfo, list[Label]]] = []
        self._infos: dict[tuple[int, str], TensorInfo] = {}
        self._landings: dict[tuple, tuple[str, ...]] = {}
        self._stages: dict[int, Step] = {}
        self._stage_calls: list[StageCall] = []
        self._files: dict[str, str | None] = {}
        self._made: dict[Identity, Step] = {}
        self.failed: tuple[Step, Operation, Site] | None = None  # the last one that raised
        self._last: dict[int, Call] = {}  # of each stage, the operation that gives its result

    def labels(self, state: State) -> list[Label]:
        return self.recorder.labels(state)

    def maker(self, state: State) -> Step | None:
        return self._made.get(state.identity)

    # -- one pass ---------------------------------------------------------------------------

    def build(self) -> list[Step]:
        events = self.recorder.events
        calls = [event for event in events if isinstance(event, Call)]
        self._last = {id(stage): call for call in calls for stage in call.stages}
        after = {id(call): later for call, later in pairwise(calls)}
        for event in events:
            try:
                if isinstance(event, ShapeRead):
                    self._read(event)
                else:
                    self._tell(event, after.get(id(event)))
            except Exception:  # a run that went well must not fail in the telling
                if self.strict:
                    raise
                self.recorder.dropped += 1
        _finish(self.steps)
        words: dict[Label, str] = {}
        for info, labels in self._named:
            info.dims = tuple([self._word(label.root(), words) for label in labels])
        return self.steps

    def shapes(self) -> dict[tuple, None]:
        """Return every (dims, shape) that a row shows, in order."""
        return dict.fromkeys((info.dims, info.shape) for info, _ in self._named)

    def _word(self, root: Label, words: dict[Label, str]) -> str:
        word = words.get(root)
        if word is None:
            word = words[root] = self.symbols.text(root)
        return word

    def input(self, name: str, state: State, site: Site | None) -> None:
        """Begin with a tensor that was passed in."""
        state.identity.name, state.identity.named = name, True
        info = self.info(state, name)
        self.findings.stand(self.labels(state))
        self.steps.append(Step(
            0, site and site.file, site and site.line, site.code if site else "", name, name,
            "input", (), info, {}, None, "input",
        ))  # fmt: skip

    def info(self, state: State, name: str) -> TensorInfo:
        """Describe a tensor under a name; rows that show the same share it."""
        key = (id(state), name)
        if key in self._infos:
            return self._infos[key]
        info = self._infos[key] = TensorInfo(
            name, state.shape, (), state.strides, state.offset, state.dtype, state.device,
            None if state.values is None else plain(state.values),
        )  # fmt: skip
        self._named.append((info, list(self.labels(state))))
        return info

    def _read(self, read: ShapeRead) -> None:
        site = site_of(*read.chain[0])
        if kind_of(site.path) is LIBRARY:
            return  # opened by deep=True: its names are not the reader's
        for axis, name in shape_names(site, len(read.state.shape), read.axis):
            if site.ours:
                if role(name) is None:
                    continue
                rank, name = BOOK, book_name(name)
            else:
                rank = CODE
            self.symbols.name(self.labels(read.state)[axis], name, rank)

    def size_name(self, name: str, size: int, site: Site) -> Label:
        """Return the label of a plain number that the code calls ``name``."""
        if site.ours:
            if role(name) is None:
                return self.symbols.fresh(size, literal=True)
            return self.symbols.named(book_name(name), size, BOOK, site.path)
        given = self.symbols.given(name, size)
        return given or self.symbols.named(name, size, WRITTEN, site.path)

    # -- one row ----------------------------------------------------------------------------

    def _tell(self, call: Call, later: Call | None) -> None:
        site = site_of(*call.chain[0]) if call.chain else Site("", None)
        op = Operation(self, call, site)
        for which, state in enumerate(op.inputs):
            self._meet(op, which, state)
            self.findings.stand(self.labels(state))
        inputs = tuple(
            self.info(state, self._operand_name(op, which, call))
            for which, state in enumerate(op.inputs)
        )
        targets = self._targets(call, len(op.outputs), later)
        outputs: tuple[TensorInfo, ...] = ()
        if call.error is None:
            self._propagate(op, call)
            outputs = self._outputs(op, call, site, targets)
        variable = ", ".join(targets) if targets else None
        if variable is None and len(outputs) == 1 and _is_name(outputs[0].name):
            variable = outputs[0].name
        step = Step(
            0, self._file(site.path), site.line, site.code, site.expression, variable, op.name,
            inputs,
            None if not outputs else outputs[0] if len(outputs) == 1 else outputs,
            shown_params(op), self._module(call.module), call.kind,
        )  # fmt: skip
        if op.name == "scaled_dot_product_attention":
            step.note = FUSED_NOTE
        elif call in self.findings.aliases:
            step.note = " and ".join(self.findings.aliases[call]) + " are two names of one dim"
        if call.error is not None:
            self.failed = (step, op, site)
        for state in op.outputs if call.error is None else ():
            self._made[state.identity] = step
        self._place(step, call, later)

    def _meet(self, op: Operation, which: int, state: State) -> None:
        """At a tensor's first sight give it its written name, and the dims of that name."""
        identity = state.identity
        if identity.name is None:
            identity.name = self._parameter(op, which) or op.operand(which)
        name = identity.name
        if self._variables and name in self._variables:
            entry = self._variables[name]
            entry.apply(self.symbols, self.labels(state), name)

    def _parameter(self, op: Operation, which: int) -> str | None:
        """Name a layer's own tensor after its module: ``query.weight``."""
        argument = op.bound.places[which][0]
        held = getattr(op.module, argument, None) if op.module is not None else None
        if not isinstance(held, torch.Tensor) or held.shape != op.inputs[which].shape:
            return None
        path = self._modules.get(op.module)
        return f"{path}.{argument}" if path else argument

    def _operand_name(self, op: Operation, which: int, call: Call) -> str:
        """Name an input by the row that made it, else as it is written."""
        identity = op.inputs[which].identity
        if identity.named:
            return identity.name
        written = op.operand(which)
        if written is not None and written.isidentifier():
            if not call.stages:
                self._rename(identity, written)
            return written
        return identity.name or written or op.bound.places[which][0]

    def _rename(self, identity: Identity, name: str) -> None:
        """Let a value that no assignment names be called as it is used (``q`` out of a ``map``)."""
        old, identity.name, identity.named = identity.name, name, True
        made = self._made.get(identity)
        if made is None:
            return
        for info in made.outputs:
            if info.name == old:
                info.name = name
        if len(made.outputs) == 1 and made.variable is None:
            made.variable = name

    def _propagate(self, op: Operation, call: Call) -> None:
        rule = RULES.get(op.name)
        try:
            found = rule(op) if rule is not None else None
        except Unknown:
            found = None
        except (LookupError, AttributeError, TypeError, ValueError):
            if self.strict:
                raise
            found = None
        rows = found if found and isinstance(found[0], list) else [found]
        for state, labels in zip(op.outputs, rows * len(op.outputs), strict=False):
            if labels is None or [label.size for label in labels] != list(state.shape):
                continue
            if state.identity.labels is None or call.kind == "in-place":
                if call.kind != "same":
                    state.identity.labels = labels
            elif call.kind != "same":
                for mine, new in zip(state.identity.labels, labels, strict=True):
                    self.symbols.unite(new, mine)
        for state in op.outputs:
            self.findings.stand(self.labels(state))

    def _outputs(self, op, call, site, targets) -> tuple[TensorInfo, ...]:
        result = []
        for place, state in enumerate(op.outputs):
            if len(targets) == 1 and len(op.outputs) > 1:
                name = f"{targets[0]}[{place}]"
            else:
                name = targets[place] if place < len(targets) else None
            if name or call.kind in ("new", "view", "copy") or state.identity.name is None:
                state.identity.name = name or self._unnamed(op, call, site, place)
                state.identity.named = name is not None or _is_name(state.identity.name)
            result.append(self.info(state, state.identity.name))
        return tuple(result)

    def _unnamed(self, op: Operation, call: Call, site: Site, place: int) -> str:
        """Name a value that no variable takes: by what was done to it, or by its expression."""
        given = op.inputs[0].identity if op.inputs else None
        if op.name == "transpose" and given.named:
            return f"{given.name} transposed"
        name = site.expression if call.direct and site.expression else op.name
        return name if len(op.outputs) == 1 else f"{name}[{place}]"

    def _targets(self, call: Call, results: int, later: Call | None) -> tuple[str, ...]:
        """Find the variables that a call's results land in, through the returns of helpers."""
        if not call.direct and later is not None and later.number == call.number:
            return ()  # inside a library call only the last operation gives its value
        targets = self._landing(call.chain)
        return targets if len(targets) in (1, results) else ()

    def _landing(self, chain) -> tuple[str, ...]:
        key = tuple([(id(code), instruction) for code, instruction in chain])
        if key not in self._landings:
            self._landings[key] = landing(chain)
        return self._landings[key]

    def _file(self, path: str) -> str | None:
        if path not in self._files:
            self._files[path] = shown_file(path)
        return self._files[path]

    def _module(self, module) -> str | None:
        if module is None:
            return None
        path = self._modules.get(module)
        return type(module).__name__ if path is None else path or None

    # -- stages -----------------------------------------------------------------------------

    def _place(self, step: Step, call: Call, later: Call | None) -> None:
        """Put a row under the stages it ran in; a stage's result is that of its last operation."""
        self._stage_calls = [
            mine for mine, now in zip(self._stage_calls, call.stages, strict=False) if mine is now
        ]
        rows = self.steps
        for depth, stage in enumerate(call.stages):
            if depth >= len(self._stage_calls):
                self._stage_calls.append(stage)
                self._stages[id(stage)] = self._stage_step(stage)
                rows.append(self._stages[id(stage)])
            parent = self._stages[id(stage)]
            rows = parent.steps
        rows.append(step)
        for stage in reversed(call.stages):
            self._result(self._stages[id(stage)], stage, step, call)

    def _stage_step(self, stage: StageCall) -> Step:
        site = site_of(*stage.chain[0]) if stage.chain else Site("", None)
        states = {name: value for name, value in stage.arguments.items() if is_state(value)}
        inputs = tuple(
            self.info(value, value.identity.name or name) for name, value in states.items()
        )
        params = {
            name: operations.jsonable(value)
            for name, value in stage.arguments.items()
            if value is not None and not is_state(value)
        }
        op, note = (
            ("scaled_dot_product_attention", FUSED_NOTE)
            if stage.name == FUSED
            else (stage.name, "")
        )
        return Step(
            0, self._file(site.path), site.line, site.code, site.expression, None, op, inputs,
            None, params,
            self._module(stage.module), "new", note,
        )  # fmt: skip

    def _result(self, parent: Step, stage: StageCall, step: Step, call: Call) -> None:
        """Let a stage's row end with what its latest operation gave."""
        if call.error is not None:
            parent.kind, parent.output = "error", None
            return
        if self._last[id(stage)] is not call:
            return
        state = call.out if isinstance(call.out, State) else call.out[-1]
        targets = self._landing(stage.chain)[:1]
        name = targets[0] if targets else step.expression or stage.name
        if stage.chain and not targets:
            name = site_of(*stage.chain[0]).expression or name
        state.identity.name, state.identity.named = name, bool(targets)
        parent.variable = targets[0] if targets else None
        parent.output = self.info(state, name)
        parent.kind = self._stage_kind(stage, state)

    def _stage_kind(self, stage: StageCall, state: State) -> str:
        given = [value for value in stage.arguments.values() if is_state(value)]
        if any(value.storage is not None and value.storage == state.storage for value in given):
            return "view"
        return "copy" if stage.name == "merge_heads" else "new"


def _is_name(text: str) -> bool:
    return text.endswith(" transposed")


def _finish(steps: list[Step]) -> None:
    """Number the rows; a fused stage that is nothing but the kernel needs no child."""
    for index, step in enumerate(steps, 1):
        step.index = index
        if step.note == FUSED_NOTE and [child.op for child in step.steps] == [step.op]:
            step.params, step.steps = step.steps[0].params, []
        _finish(step.steps)
