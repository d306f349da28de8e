"""Faults of one stage too many: what another exercise asks for, done here as well."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
from torch import Tensor

from .engine import LOW, Fault, Slot, Step, put

FILLS = (-math.inf, LOW, torch.finfo(torch.float32).min)
AT_KEYS = (False, True)  # a causal mask is aligned at the last key, or at the first


def _as_it_is(s: SimpleNamespace) -> None:
    """Do nothing: this stage was not asked for."""


def scaled_too(name: str, *sizes: str) -> Slot:
    """Leave the scale as it is; `sizes` are those that a learner could divide by."""

    def times(size: str, power: float) -> Step:
        return put(name, lambda s: getattr(s, name) * s.sizes[size] ** power)

    faults = [
        Fault("scale-unasked", f"times {size} ** {power}", times(size, power), rare=power > 0)
        for size in sizes
        for power in (-0.5, -1, 0.5)
    ]
    return Slot("scale too", _as_it_is, tuple(faults))


def _earlier(Sq: int, Sk: int, first: bool) -> Tensor:
    """Who may attend to whom in the order of time."""
    return torch.ones(Sq, Sk, dtype=torch.bool).tril(0 if first else Sk - Sq)


def masked_too(name: str, *fills: float) -> Slot:
    """Hide nothing; `fills` are what a learner could write over later keys."""

    def hide(fill: float, first: bool) -> Step:
        def hidden(s: SimpleNamespace) -> Tensor:
            tensor = getattr(s, name)
            Sq, Sk = tensor.shape[-2:]
            return tensor.masked_fill(~_earlier(Sq, Sk, first), fill)

        return put(name, hidden)

    faults = [
        Fault("mask-unasked", f"later keys filled with {fill:g}", hide(fill, first), rare=i > 0)
        for i, fill in enumerate(fills or FILLS)
        for first in AT_KEYS
    ]
    return Slot("mask too", _as_it_is, tuple(faults))


def narrowed_too(name: str) -> Slot:
    """Take a mask as it was given or made; a learner could hide later keys besides."""

    def narrow(first: bool) -> Step:
        def narrowed(s: SimpleNamespace) -> Tensor:
            mask = getattr(s, name)
            Sq, Sk = mask.shape[-2:]
            return mask & _earlier(Sq if Sq > 1 else Sk, Sk, first)  # one row stands for all

        return put(name, narrowed)

    faults = [Fault("mask-unasked", "later keys hidden besides", narrow(f)) for f in AT_KEYS]
    return Slot("mask too", _as_it_is, tuple(faults))


def weighed_too(name: str) -> Slot:
    """Leave scores as they are; a learner could make weights of them."""

    def softmax(dim: int) -> Step:
        return put(name, lambda s: getattr(s, name).softmax(dim))

    faults = [
        Fault("softmax-unasked", f"softmax over dim {dim}", softmax(dim), rare=dim != -1)
        for dim in (-1, -2, 0)
    ]
    return Slot("softmax too", _as_it_is, tuple(faults))
