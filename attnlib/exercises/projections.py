"""Chapter 1: one weight for every token."""

from __future__ import annotations

from .. import oracle
from . import faults
from .form import Exercise


def spec(x, weight):
    """Return `out[b][i][h] = sum over e of x[b][i][e] * weight[h][e]`."""
    return [oracle.project(sequence, weight) for sequence in x]


def project(x, weight):
    """x (batch, S, n_embd), weight (H, n_embd) -> (batch, S, H)."""
    return x @ weight.T


EXERCISES = (
    Exercise(
        id="project",
        chapter=1,
        statement="Project every token of x by the same weight, kept as nn.Linear keeps it.",
        allowed="Anything but nn.Linear and F.linear.",
        dims={"x": "batch S n_embd", "weight": "H n_embd"},
        returns="batch S H",
        spec=spec,
        solution=project,
        hints=(
            "Which dim do x and the weight share? It is the one that is summed.",
            "The weight is (out, in): that dim is its last one, and matmul wants it first.",
            "x @ weight.T; the dims in front of the last one, batch and S, are carried along.",
        ),
        notice="No token meets another here: the sum runs over n_embd only.",
        slots=(faults.project_one(), faults.scaled_too("result", "n_embd", "H")),
        extras=frozenset({"writes-into-argument", "batch-mixed", "fixed-device"}),
    ),
)
