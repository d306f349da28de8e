"""Faults of the scores: what is transposed, and what is not."""

from __future__ import annotations

import itertools

from .engine import Fault, Slot, put

KEYS = "Count the dims from the end: of keys, only the last two change places."


def _swapped(a: int, b: int) -> Step:
    return put("scores", lambda s: s.q @ s.k.transpose(a, b))


def meet(axes: int) -> Slot:
    """Let queries meet keys; `axes` is the number of axes of q."""
    swaps = [p for p in itertools.combinations(range(axes), 2) if p != (axes - 2, axes - 1)]
    wrong = "transpose-wrong-dims"
    faults = [
        Fault("transpose-missing", "q @ k", put("scores", lambda s: s.q @ s.k)),
        Fault(
            "transpose-missing",
            "k reshaped, not transposed",
            put("scores", lambda s: s.q @ s.k.reshape(*s.k.shape[:-2], s.k.shape[-1], -1)),
        ),
        Fault("queries-keys-exchanged", "k @ q", put("scores", lambda s: s.k @ s.q.mT)),
        Fault(wrong, "q transposed instead of k", put("scores", lambda s: s.q.mT @ s.k), look=KEYS),
        Fault(
            wrong,
            "k transposed on the other side",
            put("scores", lambda s: s.k.mT @ s.q),
            True,
            KEYS,
        ),
        Fault(
            wrong,
            "all dims reversed",
            put("scores", lambda s: s.q @ s.k.permute(*reversed(range(s.k.ndim)))),
            rare=True,
            look=KEYS,
        ),
    ]
    faults += [Fault(wrong, f"dims {a} and {b} of k", _swapped(a, b), True, KEYS) for a, b in swaps]
    return Slot("transpose", put("scores", lambda s: s.q @ s.k.mT), tuple(faults))
