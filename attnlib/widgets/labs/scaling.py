"""Lab 03: the spread of scores, and what softmax makes of it, for heads of 1 to 1024 features."""

import math

import torch
from torch import Tensor, nn

from .form import Lab, Table, numbers

SIZES = [2**power for power in range(11)]
N_EMBD = 64
BATCH, S = 64, 8
STARTS = ("unit", "fresh")
DIVISORS = ("nothing", "root-H", "root-n_embd")


def scores_of(start: str, H: int) -> Tensor:
    """Draw queries and keys and compare them: of variance 1, or made by two fresh layers.

    Shapes: -> (batch 64, S 8, S 8).
    """
    torch.manual_seed(0)
    if start == "unit":
        q, k = torch.randn(BATCH, S, H), torch.randn(BATCH, S, H)
    else:
        x = torch.randn(BATCH, S, N_EMBD)
        query, key = (nn.Linear(N_EMBD, H, bias=False) for _ in range(2))
        with torch.no_grad():
            q, k = query(x), key(x)
    return q @ k.transpose(-2, -1)


def divisor_of(by: str, H: int) -> float:
    """Return what the scores are divided by."""
    return {"nothing": 1.0, "root-H": math.sqrt(H), "root-n_embd": math.sqrt(N_EMBD)}[by]


def measure(scores: Tensor) -> list[float]:
    """Return spread, largest weight, entropy and gradient of scores that go into a softmax.

    The gradient is the median size of the slopes of an error which asks every weight to go up or
    down at random, with respect to these scores.
    Units: spread and gradient as the scores; entropy in nats.
    """
    scores = scores.detach().requires_grad_()
    weights = torch.softmax(scores, dim=-1)
    torch.manual_seed(1)
    (weights * torch.randn(scores.shape)).sum().backward()
    return [
        scores.std().item(),
        weights.max(dim=-1).values.mean().item(),
        torch.special.entr(weights).sum(dim=-1).mean().item(),
        scores.grad.abs().median().item(),
    ]


def build() -> Lab:
    """Draw, measure and lay out; the numbers are those of this run."""
    drawn = {start: [scores_of(start, H) for H in SIZES] for start in STARTS}
    sweeps = {
        start: {
            by: numbers([measure(s / divisor_of(by, H)) for s, H in zip(all_, SIZES, strict=True)])
            for by in DIVISORS
        }
        for start, all_ in drawn.items()
    }
    rows = {start: numbers([s[0, 0].tolist() for s in all_]) for start, all_ in drawn.items()}
    data = {"sizes": SIZES, "n_embd": N_EMBD, "rows": rows, "sweeps": sweeps}
    return Lab(
        "scaling",
        "Scores of wider and wider heads",
        "what does a larger H do to the softmax?",
        data,
        [_table(sweeps["unit"][by], by) for by in DIVISORS[:2]],
    )


def _table(sweep: list[list[float]], by: str) -> Table:
    name = {"nothing": "not divided", "root-H": "divided by √H"}[by]
    return Table(
        f"queries and keys of variance 1, scores {name}",
        ("H", "spread", "largest weight", "entropy", "gradient"),
        [(H, *values) for H, values in zip(SIZES, sweep, strict=True)],
    )
