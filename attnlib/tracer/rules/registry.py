"""The rules by operation, and what an operation without one means."""

from __future__ import annotations

from collections.abc import Callable

from ..labels import Label

Labels = list[Label]


class Unknown(Exception):
    """An operation in a form that its rule does not know: its labels say nothing."""


RULES: dict[str, Callable] = {}


def rule(*names: str):
    """Register a rule for the operations of these names; one string may hold several."""

    def register(function):
        RULES.update(dict.fromkeys(" ".join(names).split(), function))
        return function

    return register
