"""The trace as its reader holds it: rows, what they say together, and the forms it is shown in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch as _torch

from ..dims import role
from .rows import Failure, Step, Warning, as_dict

if TYPE_CHECKING:
    from .builder import Builder

FORMAT, VERSION = "attnlib-trace", 1


@dataclass
class Trace:
    """What one run did, row by row: ``print`` it for the table, end a cell with it to play it."""

    title: str = ""
    torch: str = ""
    roles: dict[str, str | None] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    tokens: list[str] | None = None
    dropped: int = 0
    steps: list[Step] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    error: Failure | None = None
    output: Any = field(default=None, compare=False, repr=False)
    _rerun: tuple | None = field(default=None, compare=False, repr=False)
    _checked: Any = field(default=None, compare=False, repr=False)  # the last check, for the table

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
        from .schema import read  # only where data comes in

        return cls(**read(data))

    # -- the run ----------------------------------------------------------------------------

    def remember(self, fn, args, kwargs, deep) -> None:
        self._rerun = (fn, args, kwargs, deep)

    def release(self) -> None:
        """Let go of the function, its arguments and its output; the rows stay."""
        self._rerun = self.output = None

    def check(self, **sizes: int):
        """Run again on the meta device at other sizes; compare every row with what its dims say.

        Raises: KeyError for a dim that the trace does not name.
        Example: ``trace(...).check(batch=3, S=11).mismatches == ()``
        """
        from .recheck import recheck

        self._checked = recheck(self, self._rerun, sizes)
        return self._checked

    # -- to look at -------------------------------------------------------------------------

    def __str__(self) -> str:
        from .table import terminal

        return terminal(self)

    # What a front end without HTML shows: the table, not every number of every row.
    __repr__ = __str__

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        from .table import markdown

        return markdown(self)

    def _repr_html_(self) -> str:
        try:
            from ..widgets import player_html
        except ImportError:
            from .table import html

            return html(self)
        return player_html(self)

    def save_html(self, path) -> None:
        """Write one file that plays anywhere, offline; without the player it holds the table."""
        try:
            from ..widgets import save_html
        except ImportError:
            from .table import save_html
        save_html(self, path)


def finish(
    builder: Builder,
    *,
    title: str,
    output: Any = None,
    failure: BaseException | None = None,
    into: Trace | None = None,
) -> Trace:
    """Build the rows of a recording and gather what they say together."""
    trace = into if into is not None else Trace()
    trace.title, trace.torch = title, _torch.__version__.split("+")[0]
    trace.steps = builder.build()
    trace.warnings = builder.findings.warnings()
    trace.dropped = builder.recorder.dropped
    trace.output = output
    names, trace.sizes = _sizes(builder.shapes())
    trace.roles = {name: role(name) for name in names}
    if failure is not None:
        from .explanations import explained  # only where code failed

        trace.error = explained(builder, failure)
    builder.recorder.close()
    return trace


def _sizes(shapes: Iterable[tuple]) -> tuple[list[str], dict[str, int]]:
    """Return every named dim in order, and the sizes of those that have one throughout."""
    found: dict[str, set[int]] = {}
    for dims, shape in shapes:
        for dim, size in zip(dims, shape, strict=True):
            found.setdefault(dim, set()).add(size)
    names = dict.fromkeys(part for dim in found for part in re.split(r"\*|//", dim))
    single = {dim: sizes.pop() for dim, sizes in found.items() if len(sizes) == 1}
    return (
        [name for name in names if not name.isdigit()],
        {dim: size for dim, size in single.items() if dim.isidentifier()},
    )
