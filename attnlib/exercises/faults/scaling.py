"""Faults of the scale: of which size, which power, and when."""

from __future__ import annotations

from types import SimpleNamespace

from .engine import Fault, Slot, Step, put


def _head_size(s: SimpleNamespace) -> int:
    return s.head_size if hasattr(s, "head_size") else s.q.shape[-1]


def _times(power: int | float) -> Step:
    return put("scores", lambda s: s.scores * _head_size(s) ** power)


def _by(name: str, power: int | float) -> Step:
    return put("scores", lambda s: s.scores * s.sizes[name] ** power)


def _scale_later(power: int | float) -> Step:
    def step(s: SimpleNamespace) -> None:
        H = _head_size(s)
        s.after = (*s.after, lambda w: w * H**power)

    return step


def _scale_both(s: SimpleNamespace) -> None:
    _times(-0.5)(s)
    _scale_later(-0.5)(s)


def scale(*others: str, later: bool = True, given: bool = False) -> Slot:
    """Divide by the root of H, `given` or that of q; `others` could be taken for it."""
    faults = [
        Fault("scale-missing", "not scaled", put("scores", lambda s: s.scores)),
        Fault("scale-no-root", "divided by H", _times(-1)),
        Fault("scale-inverted", "multiplied by the root of H", _times(0.5)),
        Fault("scale-inverted", "multiplied by H", _times(1)),
    ]
    for name in others:
        id_ = "scale-n-embd" if name == "n_embd" else "scale-wrong-size"
        look = "Ask which size your code reads: it is head_size, not one of scores." * given
        faults.append(Fault(id_, f"divided by the root of {name}", _by(name, -0.5), look=look))
        faults.append(Fault(id_, f"divided by {name}", _by(name, -1), True, look))
    if later:
        faults += [
            Fault("scale-after-softmax", "weights divided by the root of H", _scale_later(-0.5)),
            Fault("scale-after-softmax", "weights divided by H", _scale_later(-1), True),
            Fault(
                "scale-after-softmax",
                "weights multiplied by the root of H",
                _scale_later(0.5),
                True,
            ),
            Fault("scale-after-softmax", "scores and weights divided", _scale_both, True),
        ]
    return Slot("scale", _times(-0.5), tuple(faults))
