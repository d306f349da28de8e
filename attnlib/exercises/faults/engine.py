"""Slots and faults: a pipeline whose stages can each be run wrong, and the walk through them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from torch import Tensor

Step = Callable[[SimpleNamespace], None]
LOW = -1e9


@dataclass(frozen=True)
class Fault:
    """One wrong step and the id of the mistake; `how` says which form of it this is.

    A rare form is tried alone, not together with a second fault: pairs grow with the square.
    """

    id: str
    how: str
    step: Step
    rare: bool = False
    look: str = ""  # advice for this form, where the catalogue's does not fit


@dataclass(frozen=True)
class Slot:
    """One stage: its name, the right step, the wrong ones."""

    stage: str
    right: Step
    faults: tuple[Fault, ...]


def walk(
    slots: tuple[Slot, ...],
    state: SimpleNamespace,
    most: int,
    wanted: Callable[[Fault], bool] = lambda fault: True,
    free: frozenset[str] = frozenset(),
) -> Iterator[tuple[tuple[Fault, ...], Tensor]]:
    """Yield every choice of at most `most` faults with what it computes; leave out what raises.

    Faults with an id in `free` do not count.
    """
    if not slots:
        yield (), state.result
        return
    slot, rest = slots[0], slots[1:]
    wrong = [f for f in slot.faults if wanted(f) and (most or f.id in free)]
    for fault in (None, *wrong):
        after = copy.copy(state)
        try:
            (fault.step if fault else slot.right)(after)
        except (RuntimeError, IndexError, ValueError):
            continue  # this mistake raises at these sizes
        left = most - (fault is not None and fault.id not in free)
        for chosen, result in walk(rest, after, left, wanted, free):
            yield ((fault, *chosen) if fault else chosen), result


def replay(
    slots: tuple[Slot, ...], state: SimpleNamespace, chosen: tuple[Fault, ...]
) -> Tensor | None:
    """Compute one choice of faults; None where it raises."""
    try:
        for slot in slots:
            fault = next((f for f in chosen if f in slot.faults), None)
            (fault.step if fault else slot.right)(state)
    except (RuntimeError, IndexError, ValueError):
        return None
    return state.result


def start(inputs: dict, sizes: dict) -> SimpleNamespace:
    """Lay out the inputs of a case for the first slot."""
    tensors = {k: v.clone() if isinstance(v, Tensor) else v for k, v in inputs.items()}
    return SimpleNamespace(**tensors, sizes=sizes, after=(), sees=lambda s: s.x)


def put(name: str, compute: Callable[[SimpleNamespace], Tensor]) -> Step:
    """Make a step that keeps one value, which is also the result so far."""

    def step(s: SimpleNamespace) -> None:
        s.result = compute(s)
        setattr(s, name, s.result)

    return step
