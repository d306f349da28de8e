"""``Trace.check``: run the code again at other sizes, on no numbers, and compare every row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from .comparison import Check, compare, size_of
from .ghosts import Ghosts
from .rows import Record


@dataclass(frozen=True)
class Rerun:
    """What it takes to run once more: the function, its arguments, and how to trace them."""

    fn: Callable
    args: tuple
    kwargs: dict[str, Any]
    tensors: list[Tensor]  # those among the arguments that have a row, in the order of the rows
    again: Callable
    unstarted: list[Optimizer]


def recheck(trace: Record, run: Rerun | None, sizes: dict[str, int]) -> Check:
    """Run the traced function on the meta device with the dims in ``sizes`` changed."""
    changed = tuple(sizes.items())
    for name, size in sizes.items():
        if name not in trace.roles:
            known = ", ".join(trace.roles) or "none"
            raise KeyError(f"no dim of this trace is called {name}; its dims are {known}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ValueError(f"{name} = {size!r} must be a whole number, 0 or more")
    if run is None:
        gone = "the function is gone (released, loaded, or loose code)"
        return Check((), True, gone, changed)
    if trace.error is not None:
        return Check((), True, "the run had failed", changed)
    new = {**trace.sizes, **sizes}
    fixed = [name for name, size in sizes.items() if size != trace.sizes.get(name)]
    fixed = [name for name in fixed if name not in _given(trace)]
    if fixed:
        said = f"no input has {', '.join(fixed)}: the code or its weights fix that size"
        return Check((), True, said, changed)
    reason = ""
    for factories in _FACTORIES:
        ghosts = Ghosts(run.unstarted)
        try:
            fn = ghosts.of(run.fn)
        except Exception as error:
            said = f"what it works with cannot be copied ({_said(error)}), and must not be changed"
            return Check((), True, said, changed)
        try:
            with ghosts.restored(), factories():
                again = _again(trace, run, fn, new)
        except Exception as error:
            reason = f"at these sizes on the meta device it raises {type(error).__name__}"
            reason = f"{reason}: {_said(error)}".rstrip(": ")
        else:
            return compare(trace, again, new, changed)
    return Check((), True, reason, changed)


def _given(trace: Record) -> set[str]:
    """Return the dims that the inputs have, also as a part (``batch*heads``, ``H//2``)."""
    inputs = [info for step in trace.steps if step.kind == "input" for info in step.outputs]
    return {part for info in inputs for dim in info.dims for part in re.split(r"\*|//", dim)}


# First as it is written: a table that is made without device= has numbers that code may ask for
# (``torch.arange(3).tolist()``). Where such a table meets an input, it must be on its device.
_FACTORIES = (contextlib.nullcontext, lambda: torch.device("meta"))


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else ""


def _again(trace: Record, run: Rerun, fn: Callable, new: dict[str, int]) -> Record:
    inputs = [info for step in trace.steps if step.kind == "input" for info in step.outputs]
    # By what they are, not by their place: keywords come in any order.
    infos = dict(zip(map(id, run.tensors), inputs, strict=True))

    def at_new_sizes(value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) not in infos:
                raise TypeError("a nested tensor has no other sizes")
            info = infos[id(value)]
            pairs = zip(info.dims, info.shape, strict=True)
            shape = [size_of(dim, size, new) for dim, size in pairs]
            empty = torch.empty(shape, dtype=value.dtype, device="meta")
            return empty.requires_grad_(value.requires_grad)
        if isinstance(value, tuple | list):
            items = [at_new_sizes(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: at_new_sizes(item) for key, item in value.items()}
        return value

    args, kwargs = at_new_sizes(tuple(run.args)), at_new_sizes(dict(run.kwargs))
    with torch.random.fork_rng(devices=[]):
        return run.again(fn, *args, kwargs=kwargs)
