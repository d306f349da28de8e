"""What each operation does to labels: the rules that carry a dimension's name along.

A rule gets an ``Operation`` and returns the labels of its result, or of each of its results. An
operation without a rule gets labels that say nothing: sizes are never compared to guess.
"""

from . import (  # noqa: F401 - they register rules
    complexes,
    convolutions,
    elementwise,
    factories,
    layouts,
    pieces,
    products,
)
from .elementwise import pointwise
from .registry import RULES, Unknown

__all__ = ["RULES", "Unknown", "pointwise"]
