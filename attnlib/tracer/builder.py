"""From notes to rows: what the recorder saw, told in variables, lines and named dims."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from ..errors import ShapeError
from .findings import Findings
from .frames import LIBRARY, kind_of
from .given import Given
from .labels import Label
from .naming import is_length, landed, name_shape
from .notes import Call, Identity, ShapeRead, State
from .operation import Operation, shown_params
from .recorder import Recorder
from .rows import Step, TensorInfo
from .rules import RULES, Unknown
from .source import Site, shown_file, site_of
from .stages import FUSED_NOTE, Stages, number
from .tensors import Tensors
from .watch import Watch

_TOLD = 8  # variables that are named where a key fits none


class Builder:
    """Go through a recording once, in order, and tell it."""

    def __init__(
        self,
        recorder: Recorder,
        names: Mapping[str, Given],
        module_names: Mapping[nn.Module, str],
    ) -> None:
        self.recorder = recorder
        self.findings = Findings(recorder.symbols)
        self.watch = Watch(recorder)
        self.tensors = Tensors(recorder.states, recorder.symbols)
        self.steps: list[Step] = []
        self.inside: set[int] = set()  # rows that a call of a library did, by id
        self.failed: tuple[Step, Operation, Site] | None = None  # the last one that raised
        # of each function, the sizes that it keeps in variables
        self.variables: dict[types.CodeType, list[tuple[Label, str]]] = {}
        self._symbols = recorder.symbols
        self.refused: ShapeError | None = None  # dims of a variable that has another number of axes
        self._variables = names  # variable -> the dims it was given, for loose code
        self._met: dict[str, Identity] = {}  # variable -> the first tensor that it held
        self._names: dict[str, None] = {}  # of all tensors that were met
        self._passed: dict[Identity, list[str]] = {}  # the arguments that a tensor was passed as
        self._modules = module_names
        self._file = functools.cache(shown_file)

    # -- one pass ---------------------------------------------------------------------------

    def build(self) -> list[Step]:
        events = self.recorder.events
        calls = [event for event in events if isinstance(event, Call)]
        after = {id(call): later for call, later in pairwise(calls)}
        stages = Stages(self.tensors, self._file, self._module, calls)
        # What a shape is unpacked into names its axes from the start, wherever it is unpacked.
        for read in events:
            if isinstance(read, ShapeRead):
                self._attempt(self._read, read)
        for call in calls:
            step = self._attempt(self._tell, call, after.get(id(call)))
            if step is not None:
                self._attempt(stages.place, step, call, self.steps)
        number(self.steps)
        self.tensors.write_dims()
        self._tell_of_strangers()
        return self.steps

    def _tell_of_strangers(self) -> None:
        """Say on the first row which keys of ``dims`` no tensor of the lines was called by."""
        strangers = [name for name in self._variables if name not in self._met]
        if strangers and self.steps:
            held = ", ".join([*self._names][:_TOLD]) or "none"
            more = ", …" if len(self._names) > _TOLD else ""
            said = f"dims names {', '.join(strangers)}, but no tensor met here is called so"
            self.steps[0].remark(f"{said}: they are {held}{more}")

    def _attempt(self, what: Callable, *arguments: Any) -> Any:
        """Do a part of the telling: a run that went well must not fail in it."""
        try:
            return what(*arguments)
        except Exception:
            if self.recorder.strict:
                raise
            self.recorder.dropped += 1
            return None

    def input(self, name: str, state: State, site: Site | None) -> None:
        """Begin with a tensor that was passed in, maybe as several arguments."""
        names = self._passed.setdefault(state.identity, [])
        names.append(name)
        state.identity.name, state.identity.named = names[0], True
        info = self.tensors.info(state, name)
        self.findings.evidence.met(state, self.tensors.labels(state))
        self.watch.given(state)
        site = site or Site("", None)
        self.steps.append(Step(
            0, site.file, site.line, site.code, name, name, "input", (), info, {}, None, "input",
        ))  # fmt: skip

    def _read(self, read: ShapeRead) -> None:
        site = site_of(*read.chain[0])
        if kind_of(site.path) is LIBRARY:
            return  # opened by deep=True: its names are not the reader's
        labels = self.tensors.labels(read.state)
        known = self.variables.setdefault(read.chain[0][0], [])
        for axis, name in name_shape(self._symbols, labels, read.axis, site):
            known.append((labels[axis], name))
            self.findings.evidence.unpacked(read.state, labels, axis)
        if read.axis == 0 and is_length(site.node):
            self._symbols.measured(site.node, labels[0])

    # -- one row ----------------------------------------------------------------------------

    def _tell(self, call: Call, later: Call | None) -> Step:
        site = site_of(*call.chain[0]) if call.chain else Site("", None)
        op = Operation(call, site, self.tensors, self.findings)
        for which, state in enumerate(op.inputs):
            self._meet(op, which, state)
        self.findings.evidence.used([(state, op.labels(state)) for state in op.inputs])
        names = [self._operand_name(op, which, call, site) for which in range(len(op.inputs))]
        inputs = tuple(map(self.tensors.info, op.inputs, names))
        targets = self._targets(call, len(op.outputs), later)
        outputs: tuple[TensorInfo, ...] = ()
        if call.error is None:
            self._propagate(op, call)
            outputs = self._outputs(op, call, targets, names)
        variable = ", ".join(targets) if targets else None
        if variable is None and len(outputs) == 1 and _is_name(outputs[0].name):
            variable = outputs[0].name
        step = Step(
            0, self._file(site.path), site.line, site.code, site.expression, variable, op.name,
            inputs,
            None if not outputs else outputs[0] if len(outputs) == 1 else outputs,
            shown_params(op), self._module(call.module), call.kind, self._note(op, call),
        )  # fmt: skip
        if not call.direct:
            self.inside.add(id(step))
        if call.error is not None:
            self.failed = (step, op, site)
        for state in op.outputs if call.error is None else ():
            self.tensors.made(state, step)
        for follow in self.watch.steps(call, op, site):
            self._attempt(follow)
        return step

    def _note(self, op: Operation, call: Call) -> str:
        if op.name == "scaled_dot_product_attention":
            return FUSED_NOTE
        alias = self.findings.aliases.get(call)
        return "" if alias is None else " and ".join(alias) + " are two names of one dim"

    def _meet(self, op: Operation, which: int, state: State) -> None:
        """At a tensor's first sight give it its written name, and the dims of that name."""
        identity = state.identity
        first = identity.name is None
        if first:
            identity.name = self._first_name(identity, op, which)
            identity.named = identity.name is not None and identity.name == identity.variable
        self._seen(identity.name)
        self._name_axes(state)
        if first:
            self.findings.evidence.met(state, self.tensors.labels(state))

    def _first_name(self, identity: Identity, op: Operation, which: int) -> str | None:
        """Name a tensor that comes from outside: by its key, its module, its expression."""
        if identity.variable in self._variables:
            return identity.variable
        return self._parameter(op, which) or op.operand(which) or identity.variable

    def _seen(self, name: str | None) -> None:
        """Remember the variables of loose lines."""
        if name is not None and name.isidentifier():
            self._names[name] = None

    def _name_axes(self, state: State) -> None:
        """Give a tensor the dims of its variable: what it holds first, later only what has none.

        ``x = x.flatten(0, 1)`` makes another tensor of the same name, whose dims are known.
        """
        identity = state.identity
        given = self._variables.get(identity.name or "")
        if given is None or identity.name is None:
            return
        first = self._met.setdefault(identity.name, identity)
        labels = self.tensors.labels(state)
        if first is not identity and any(label.name for label in labels):
            return
        try:
            given.apply(self._symbols, labels, identity.name, {})
        except ShapeError as error:
            if first is identity:
                self.refused = self.refused or error

    def _parameter(self, op: Operation, which: int) -> str | None:
        """Name a layer's own tensor after its module: ``query.weight``."""
        if op.module is None:
            return None
        argument = op.bound.places[which][0]
        held = getattr(op.module, argument, None)
        if not isinstance(held, torch.Tensor) or held.shape != op.inputs[which].shape:
            return None
        path = self._modules.get(op.module)
        return f"{path}.{argument}" if path else argument

    def _operand_name(self, op: Operation, which: int, call: Call, site: Site) -> str:
        """Name an input by the row that made it, else as it is written."""
        identity = op.inputs[which].identity
        passed = self._passed.get(identity, ())
        if identity.named and identity.name is not None and len(passed) < 2:
            return identity.name
        written = op.operand(which)
        if passed:  # without source nothing says which of its names is meant here
            place = op.bound.places[which][0]
            return written if written in passed else passed[0] if site.node else place
        if written is not None and written.isidentifier():
            if not call.stages:
                self.tensors.rename(identity, written)
            return written
        return identity.name or written or op.bound.places[which][0]

    def _propagate(self, op: Operation, call: Call) -> None:
        for state, labels in zip(op.outputs, self._ruled(op), strict=False):
            if labels is None or [label.size for label in labels] != list(state.shape):
                continue
            if state.identity.labels is None or call.kind == "in-place":
                if call.kind != "same":
                    state.identity.labels = labels
            elif call.kind != "same":
                for mine, new in zip(state.identity.labels, labels, strict=True):
                    self._symbols.unite(new, mine)
        for state in op.outputs:
            self.findings.evidence.made(state, self.tensors.labels(state), op.inputs)

    def _ruled(self, op: Operation) -> list[list[Label] | None]:
        """Ask the operation's rule for the labels of each result; None where nothing is known."""
        rule = RULES.get(op.name)
        nothing: list[list[Label] | None] = [None] * len(op.outputs)
        if rule is None:
            return nothing
        try:
            found = rule(op)
        except Unknown:
            return nothing
        except (LookupError, AttributeError, TypeError, ValueError):
            if self.recorder.strict:
                raise
            return nothing
        each = bool(found) and isinstance(found[0], list)
        return found if each else [found] * len(op.outputs)

    def _outputs(
        self, op: Operation, call: Call, targets: tuple[str, ...], inputs: list[str]
    ) -> tuple[TensorInfo, ...]:
        result = []
        for place, state in enumerate(op.outputs):
            identity, name = state.identity, None
            if len(targets) == 1 and len(op.outputs) > 1:
                name = f"{targets[0]}[{place}]"
            elif place < len(targets):
                name = targets[place]
            if name or call.kind in ("new", "view", "copy") or identity.name is None:
                identity.name = name or op.unnamed(place, inputs)
                identity.named = name is not None or _is_name(identity.name)
                self._name_axes(state)
                self._seen(name)
            result.append(self.tensors.info(state, identity.name))
        return tuple(result)

    def _targets(self, call: Call, results: int, later: Call | None) -> tuple[str, ...]:
        """Find the variables that a call's results land in, through the returns of helpers."""
        if not call.direct and later is not None and later.number == call.number:
            return ()  # inside a library call only the last operation gives its value
        targets = landed(call.chain)
        return targets if len(targets) in (1, results) else ()

    def _module(self, module: nn.Module | None) -> str | None:
        if module is None:
            return None
        path = self._modules.get(module)
        return type(module).__name__ if path is None else path or None


def _is_name(text: str) -> bool:
    return text.endswith(" transposed")
