"""A softmax of what a softmax gave: weights that are shared out once more become almost even.

Only of scores that compare two sets, and only where nothing but a dropout, a cast or a move of axes
lies between: what is picked, masked or multiplied before the second one may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from .axes import PERMUTING
from .notes import Call, Identity, State
from .recorder import Recorder
from .rows import Warning
from .source import Site, site_of

_PRODUCTS = {"matmul", "einsum"}
_SCORES_STILL = {
    "div", "mul", "add", "sub", "masked_fill", "where", "clamp", "tanh", "to", "contiguous",
    "clone", *PERMUTING,
}  # fmt: skip
_WEIGHTS_STILL = {"dropout", "to", "contiguous", "clone", "detach", *PERMUTING}


def twice(recorder: Recorder) -> Iterator[Warning]:
    """Warn of a second softmax, each once for a place in the code."""
    scores: set[Identity] = set()
    weights: dict[Identity, Site] = {}  # what a softmax gave, and where
    said: set[tuple] = set()
    for call in recorder.events:
        if not isinstance(call, Call) or call.error is not None or not call.chain:
            continue
        given, made = [state.identity for state in call.inputs], call.out
        if not given or not isinstance(made, State):
            continue
        first = weights.get(given[0])
        compared = any(identity in scores for identity in given)
        scores.discard(made.identity)
        weights.pop(made.identity, None)
        if call.op in _PRODUCTS and len(given) == 2:
            if not any(identity.weight or identity in weights for identity in given):
                scores.add(made.identity)
        elif call.op == "softmax":
            site = site_of(*call.chain[0])
            key = (site.path, site.line, site.columns)
            if first is not None and key not in said:
                said.add(key)
                yield _warning(call, made, site, first, recorder)
            elif compared:
                weights[made.identity] = site
        elif first is not None and call.op in _WEIGHTS_STILL:
            weights[made.identity] = first
        elif compared and call.op in _SCORES_STILL:
            scores.add(made.identity)


def _warning(call: Call, made: State, site: Site, first: Site, recorder: Recorder) -> Warning:
    words = [recorder.symbols.text(label) for label in recorder.labels(made)]
    where = "" if first.line == site.line else f" in line {first.line}"
    code = first.in_one_line
    before = code if 0 < len(code) <= 50 else "a softmax"
    message = (
        f"this is a softmax of weights ({', '.join(words)}), which {before}{where} has made of "
        "scores already: what comes out is almost even; leave one of the two out"
    )
    *_, row, column = ("", "", *words)
    return Warning(site.line, site.expression or site.code or call.op, message, (row, column))
