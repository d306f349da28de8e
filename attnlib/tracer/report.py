"""The trace as its reader holds it: rows, what they say together, and the forms it is shown in."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, field, replace
from typing import Any

from . import page, schema, table
from .comparison import Check
from .recheck import Rerun, recheck
from .rows import FORMAT, VERSION, Record, as_dict

_SHARED = ("output", "_rerun")


@dataclass
class Trace(Record):
    """What one run did, row by row: ``print`` it for the table, end a cell with it to play it.

    ``roles`` gives each dim its colour, ``sizes`` its size; ``dropped`` counts operations that ran
    and have no row.
    """

    output: Any = field(default=None, compare=False, repr=False)
    _rerun: Rerun | None = field(default=None, compare=False, repr=False)

    # -- as data ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as JSON can say it; ``from_dict`` gives an equal trace back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "torch": self.torch,
            "roles": dict(self.roles),
            "sizes": dict(self.sizes),
            "tokens": None if self.tokens is None else [str(token) for token in self.tokens],
            "dropped": self.dropped,
            "steps": [as_dict(step) for step in self.steps],
            "warnings": [as_dict(warning) for warning in self.warnings],
            "error": None if self.error is None else as_dict(self.error),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trace:
        """Read what ``to_dict`` wrote; nothing in it is trusted.

        Raises: TraceError.
        """
        return cls(**schema.read(data))

    # -- the run ----------------------------------------------------------------------------

    def remember(self, rerun: Rerun) -> None:
        """Keep what ``check`` needs to run the code again; ``trace`` calls this."""
        self._rerun = rerun

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        """Copy the rows; the code, its arguments and its output are those of the one run."""
        copied = copy.copy(self)
        rows = {name: value for name, value in vars(self).items() if name not in _SHARED}
        vars(copied).update(copy.deepcopy(rows, memo))
        return copied

    def release(self) -> None:
        """Let go of the function, its arguments and its output; the rows stay."""
        self._rerun = self.output = None

    def check(self, **sizes: int) -> Check:
        """Run again on the meta device at other sizes; compare every row with what its dims say.

        Raises: KeyError for a dim that the trace does not name.
        Example: ``trace(...).check(batch=3, S=11).mismatches == ()``
        """
        found = recheck(self, self._rerun, sizes)
        self._checked = replace(found, warnings=len(self.warnings))
        return self._checked

    # -- to look at -------------------------------------------------------------------------

    def __str__(self) -> str:
        return table.terminal(self)

    # What a front end without HTML shows: the table, not every number of every row.
    __repr__ = __str__

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return table.markdown(self)

    def _repr_html_(self) -> str:
        try:
            from ..widgets import player_html
        except ImportError:
            return page.html(self)
        return player_html(self)

    def save_html(self, path: str | os.PathLike) -> None:
        """Write one file that plays anywhere, offline; without the player it holds the table."""
        try:
            from ..widgets import save_html
        except ImportError:
            page.save_html(self, path)
        else:
            save_html(self, path)
