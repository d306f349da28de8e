"""Angles of a rotary embedding: one for each pair of features, but needed for each feature."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import Tensor

from .clash import Candidate, Failed, on

_ANGLES = re.compile(r"cos|sin|freq|rot|angle|half|theta", re.IGNORECASE)


def doubled(failed: Failed, which: int, other: int) -> Iterator[Candidate]:
    """Give both features of a pair the same angle, as the code has paired them."""
    x, wide = failed.infos[which], failed.infos[other]
    if failed.op.name != "mul" or not x.shape or not wide.shape:
        return
    if 2 * x.shape[-1] != wide.shape[-1] or x.shape[-1] < 2:
        return
    if not _ANGLES.search(f"{x.name} {x.dims[-1]}"):
        return
    neighbours = any("::2" in str(row.params.get("index")) for row in failed.rows)
    code, run = f"torch.cat([{x.name}, {x.name}], dim=-1)", _twice
    if neighbours:
        code, run = f"{on(x.name)}.repeat_interleave(2, dim=-1)", _each_twice
    yield Candidate(failed.instead(x.name, code), failed.changed(which, run))


def _twice(x: Tensor) -> Tensor:
    return torch.cat([x, x], dim=-1)


def _each_twice(x: Tensor) -> Tensor:
    return x.repeat_interleave(2, dim=-1)
