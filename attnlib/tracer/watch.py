"""Everything that follows a run to warn of it, in the one walk that tells its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .attended import Attended
from .mixtures import Mixtures
from .notes import Call, State
from .operation import Operation
from .recorder import Recorder
from .rows import Warning
from .source import Site
from .twice import Twice
from .untaken import Untaken


class Watch:
    """Hand each operation to those that look for one kind of mistake."""

    def __init__(self, recorder: Recorder) -> None:
        self._attended = Attended(recorder.symbols)
        self._mixtures = Mixtures(recorder.symbols, self._attended)
        self._twice, self._untaken = Twice(recorder.symbols), Untaken(recorder)

    def given(self, state: State) -> None:
        """Note a tensor that goes in."""
        self._mixtures.given(state)

    def steps(self, call: Call, op: Operation, site: Site) -> Iterator[Callable[[], None]]:
        """Yield what each has to do after an operation: where one fails, the others go on."""
        if call.error is None:
            for each in (self._mixtures, self._attended, self._twice):
                yield partial(each.follow, op, site)
            yield partial(self._untaken.follow, call, site)

    def warnings(self) -> Iterator[Warning]:
        """Write what was found, once all names are known."""
        for each in (self._mixtures, self._attended, self._twice, self._untaken):
            yield from each.warnings()
