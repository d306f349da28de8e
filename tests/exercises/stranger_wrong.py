"""Wrong answers of a stranger whose verdict was untrue: id -> (exercise, body, said, not).

``said`` has to stand in the verdict, ``not`` must not.
"""

from __future__ import annotations

_IN_USE = "In use it hides"
_TOO_HIGH = "any other fill must lie far below"
_UNREACHED = "In some sequences of the batch nothing is hidden"
_OVERFLOWS = "exp overflows"
_TOGETHER = "rows must not depend on one another"
_BOTH = "On the keys it is right"

WRONG: dict[str, list[tuple[str, str, str, str]]] = {
    "mask-fill-not-low-enough": [
        ("mask-scores", "low = scores.min() - 3\nreturn torch.where(may_attend, scores, low)",
         _TOO_HIGH, _IN_USE),
        ("mask-scores", "low = scores.amin(-1, keepdim=True) - 1\n"
         "return may_attend * scores + low * ~may_attend", _TOO_HIGH, _IN_USE),
        ("mask-scores", "return scores.masked_fill(~may_attend, float(scores.min()) * 1.5)",
         _TOO_HIGH, _IN_USE),
        ("mask-scores", "low = scores.min() - 2e4\nreturn torch.where(may_attend, scores, low)",
         _IN_USE, _UNREACHED),
    ],
    "value-mismatch": [
        ("mask-scores", "out = scores.clone()\n"
         "out[0] = out[0].masked_fill(~may_attend, -math.inf)\nreturn out", _UNREACHED, _TOO_HIGH),
        ("mask-scores", "last = scores[-1:].masked_fill(~may_attend, -1e35)\n"
         "return torch.cat([scores[:-1], last])", _UNREACHED, _TOO_HIGH),
        ("mask-scores", "rows = [s if i else s.masked_fill(~may_attend, -1e9)"
         " for i, s in enumerate(scores)]\nreturn torch.stack(rows)", _UNREACHED, _TOO_HIGH),
    ],
    "mask-wrong-axis": [
        ("padding-mask", "m = torch.arange(S, device=lengths.device)[None] < lengths[:, None]\n"
         "return (m[:, :, None] & m[:, None, :]).unsqueeze(1)", _BOTH, "queries the one before"),
    ],
}  # fmt: skip

# Right where it is tried: what the note of each says, and what it must not say.
NOTED: list[tuple[str, str, str, str]] = [
    ("weights", "e = torch.exp(scores - torch.max(scores))\nreturn e / e.sum(-1, True)",
     _TOGETHER, _OVERFLOWS),
    ("weights", "top = scores.flatten(1).max(-1).values\n"
     "e = (scores - top[:, None, None]).exp()\nreturn e / e.sum(-1, keepdim=True)",
     _TOGETHER, _OVERFLOWS),
    ("safe-weights", "dead = (scores == -math.inf).all(-1, keepdim=True)\n"
     "e = (scores - scores.max()).exp()\nreturn e / (e.sum(-1, keepdim=True) + dead)",
     _TOGETHER, _OVERFLOWS),
    ("weights", "return scores.exp() / scores.exp().sum(-1, keepdim=True)", _OVERFLOWS, _TOGETHER),
    ("weights", "e = (scores - scores.mean(-1, keepdim=True)).exp()\n"
     "return e / e.sum(-1, keepdim=True)", _OVERFLOWS, _TOGETHER),
]  # fmt: skip
