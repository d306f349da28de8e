"""Where programs that raise are kept, each with what an explanation has to say of it."""

from __future__ import annotations

from collections.abc import Callable


def registry() -> tuple[dict[str, tuple], Callable]:
    """Return an empty register, and the decorator that puts a program into it."""
    kept: dict[str, tuple] = {}

    def raises(kind, *words, suggestion=()):
        """Keep a program with its exception, the words wanted in the note, parts of good fixes."""

        def keep(build):
            kept[build.__name__] = (build, kind, words, suggestion)
            return build

        return keep

    return kept, raises
