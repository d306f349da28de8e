"""A correction judged as code is: run on empty tensors, followed by what warns of wrong code.

What is known of the run so far (names, which dims are one, what weights add up over) is copied, so
that a correction that is not shown leaves nothing behind.
"""

from __future__ import annotations

import ast
import functools
import io
import pickle
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ..builder import Builder
from ..constructors import Named, readable
from ..labels import Dim, Label
from ..naming import name_size, plain_name
from ..notes import Call, State
from ..operation import Operation
from ..recorder import Recorder
from ..rows import Step, TensorInfo, Warning
from ..source import Site
from ..stack import Stack
from ..states import States
from .clash import Candidate, Failed
from .pasted import Line
from .scope import Scope, Unreadable, empty, silently

_FACTS = "attnlib.tracer."  # classes of what is known
_SHARED = (Operation, Site, Call, Step, TensorInfo)  # what has happened stays as it is
_PLAIN = (bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set, frozenset)


class Judge:
    """What was known where code failed, to go on from with one correction after another."""

    def __init__(self, builder: Builder, failed: Failed, site: Site) -> None:
        self._builder, self._failed, self._site = builder, failed, site
        self._shared: list[Any] = []

    @functools.cached_property
    def _facts(self) -> bytes:
        first, failed = self._builder.recorder, self._failed
        found = [*first.states.identities(), *(state.identity for state in failed.states)]
        detectors = vars(self._builder).items()
        facts = {
            "symbols": first.symbols,
            "detectors": {name: held for name, held in detectors if hasattr(held, "warnings")},
            "identities": {identity.number: identity for identity in found},
            "sizes": {id(size.label): size.label for size in failed.scope.sizes()},
        }
        into = io.BytesIO()
        _Copier(into, self._shared).dump(facts)
        return into.getvalue()

    def allows(self, candidate: Candidate, line: Line) -> bool | None:
        """Run a correction in its line: False if a warning speaks against it, None if it ends."""
        try:
            return self._verdict(candidate, line)
        except Exception:  # the note is not lost where it cannot be judged
            if self._builder.recorder.strict:
                raise
            return None

    def _verdict(self, candidate: Candidate, line: Line) -> bool | None:
        verdict: bool | None = True
        for run in (self._in_line, self._alone):
            trial = self._trial()
            try:
                with silently():
                    run(candidate, line, trial)
            except (Unreadable, NotImplementedError):  # nothing of the reader's is called
                continue
            except Exception:
                verdict = None
                continue
            return False if trial.warnings() else verdict
        return verdict

    def _in_line(self, candidate: Candidate, line: Line, trial: Trial) -> None:
        self._failed.scope.run(line.whole(line.fitting(candidate.code)), trial=trial)

    def _alone(self, candidate: Candidate, line: Line, trial: Trial) -> None:
        if candidate.run is None:
            self._failed.scope.run(candidate.code, trial=trial)
            return
        tensors = [empty(state) for state in self._failed.states]
        for state, tensor in zip(self._failed.states, tensors, strict=True):
            trial.state(state, tensor)
        with trial.recorder:
            candidate.run(tensors)

    def _trial(self) -> Trial:
        facts = _Copy(io.BytesIO(self._facts), self._shared).load()
        return Trial(self._builder.recorder, self._site, facts)


class Trial:
    """One correction while it runs; afterwards what the detectors say of it."""

    def __init__(self, first: Recorder, site: Site, facts: dict[str, Any]) -> None:
        self._first, self._site = first, site
        self._identities, self._sizes = facts["identities"], facts["sizes"]
        self.recorder = Recorder(tiny=0)
        self.recorder.symbols = facts["symbols"]
        self.recorder.states = States(self.recorder.symbols, 0)
        self.recorder.stack = Stack(self.recorder.states)
        self.recorder.stack.base = Scope.run.__code__
        self._builder = Builder(self.recorder, {}, {})
        vars(self._builder).update(facts["detectors"])
        self._detectors = list(facts["detectors"].values())
        self._known = {(warning.line, warning.code) for warning in self._warnings()}

    def empty(self, real: Tensor, made: Tensor) -> None:
        """Let an empty tensor be known as the one that it stands for."""
        self.state(self._first.state(real), made)

    def state(self, was: State, made: Tensor) -> None:
        identity = self._identities.get(was.identity.number)
        if identity is not None:
            self.recorder.state(made).identity = identity

    def number(self, node: ast.expr, value: int, owner: Any) -> int:
        """Tag a size with what the code calls it."""
        symbols = self.recorder.symbols
        if isinstance(value, Dim):
            return Dim(value, self._sizes.get(id(value.label), value.label))
        name = plain_name(node)
        if value <= 0 or name is None:
            return value
        if isinstance(owner, nn.Module) and readable(type(owner)):
            return Dim(value, Named(symbols, owner).label(name, value))
        return Dim(value, name_size(symbols, name, value, self._site))

    def warnings(self) -> list[Warning]:
        """Return what is warned of now, and was not before."""
        self._builder.build()
        return [w for w in self._warnings() if (w.line, w.code) not in self._known]

    def _warnings(self) -> Iterator[Warning]:
        for detector in self._detectors:
            yield from detector.warnings()


class _Copier(pickle.Pickler):
    """Write down what is known; what it refers to besides is kept aside and shared."""

    def __init__(self, into: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(into)
        self._aside = shared

    def persistent_id(self, value: Any) -> int | None:
        kind = type(value)
        known = kind.__module__.startswith(_FACTS) and not isinstance(value, _SHARED)
        if known or kind in _PLAIN or kind is object:
            return None
        self._aside.append(value)
        return len(self._aside) - 1

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Label) and value.parent is not None:
            return _itself, (value.root(),)  # long chains are not followed
        return NotImplemented


class _Copy(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(source)
        self._aside = shared

    def persistent_load(self, place: int) -> Any:
        return self._aside[place]


def _itself(label: Label) -> Label:
    return label
