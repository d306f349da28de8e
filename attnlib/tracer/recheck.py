"""``Trace.check``: run the code again at other sizes, on no numbers, and compare every row."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .rows import Record, Step


@dataclass(frozen=True)
class Rerun:
    """What it takes to run once more: the function, its arguments, and how to trace them."""

    fn: Callable
    args: tuple
    kwargs: dict[str, Any]
    again: Callable


@dataclass(frozen=True)
class Mismatch:
    """A row whose shape at other sizes is not what its dims say."""

    line: int | None
    code: str
    dims: tuple[str, ...]
    expected: tuple[int, ...]
    found: tuple[int, ...]


@dataclass(frozen=True)
class Check:
    """What running again showed: ``mismatches``, or the ``reason`` why it is ``unchecked``."""

    mismatches: tuple[Mismatch, ...] = ()
    unchecked: bool = False
    reason: str = ""
    sizes: tuple[tuple[str, int], ...] = ()  # the dims that were changed

    def __bool__(self) -> bool:
        return not self.mismatches and not self.unchecked

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes) or "the same sizes"
        if self.unchecked:
            return f"not checked at {at}: {self.reason}"
        if not self.mismatches:
            return f"checked at {at}: every row's dims hold"
        lines = [
            f"  line {m.line}: {m.code}: ({', '.join(m.dims)}) should be {m.expected}, is {m.found}"
            for m in self.mismatches
        ]
        return "\n".join([f"checked at {at}: {len(lines)} rows differ", *lines])


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
        return Check(
            unchecked=True, reason="the function is gone (released, loaded, or loose code)"
        )
    if trace.error is not None:
        return Check((), True, "the run had failed", changed)
    new = {**trace.sizes, **sizes}
    try:
        again = _again(trace, run, new)
    except Exception as error:
        said = str(error).strip().splitlines()
        text = f"{type(error).__name__}: {said[0] if said else ''}".rstrip(": ")
        return Check((), True, f"at these sizes on the meta device it raises {text}", changed)
    before, after = list(_flat(trace.steps)), list(_flat(again))
    if [step.op for step in before] != [step.op for step in after]:
        reason = f"{len(before)} operations became {len(after)}, or others, at these sizes"
        return Check((), True, reason, changed)
    return Check(tuple(_mismatches(before, after, new, _inputs(trace))), sizes=changed)


def _again(trace: Record, run: Rerun, new: dict[str, int]) -> list[Step]:
    inputs = {step.variable: step.output for step in trace.steps if step.kind == "input"}
    infos = iter(inputs.values())

    def at_new_sizes(value: Any) -> Any:
        if isinstance(value, Tensor):
            shape = [_size(dim, size, new) for dim, size in _axes(next(infos))]
            return torch.empty(shape, dtype=value.dtype, device="meta")
        if isinstance(value, tuple | list):
            items = [at_new_sizes(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: at_new_sizes(item) for key, item in value.items()}
        return value

    fn = _without_numbers(run.fn)
    args, kwargs = at_new_sizes(tuple(run.args)), at_new_sizes(dict(run.kwargs))
    with torch.random.fork_rng(devices=[]):
        return run.again(fn, *args, kwargs=kwargs).steps


def _inputs(trace: Record) -> set[str]:
    """Return the named dims of the tensors that went in."""
    return {
        dim for step in trace.steps if step.kind == "input" for dim in step.output.dims
        if dim.isidentifier()
    }  # fmt: skip


def _axes(info):
    return zip(info.dims, info.shape, strict=True)


def _without_numbers(fn: Any) -> Any:
    """Copy a module with its tensors on the meta device, so that the run cannot change it."""
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, nn.Module):
        return getattr(_without_numbers(owner), fn.__name__)
    if isinstance(fn, types.FunctionType):
        return _with_ghosts(fn)
    if not isinstance(fn, nn.Module):
        return fn
    memo: dict[int, Any] = {}
    for tensor in _tensors([vars(module) for module in fn.modules()]):
        ghost = tensor.detach().to("meta")
        memo[id(tensor)] = nn.Parameter(ghost) if isinstance(tensor, nn.Parameter) else ghost
    return copy.deepcopy(fn, memo)


def _tensors(value: Any, deep: int = 4) -> Iterator[Tensor]:
    """Yield the tensors that a module holds: parameters, buffers, caches in its attributes."""
    if isinstance(value, Tensor):
        yield value
    elif deep and isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item, deep - 1)


def _with_ghosts(fn: types.FunctionType) -> types.FunctionType:
    """Copy a function whose closure or globals hold modules, so that it works on copies of them."""

    def ghost(value: Any) -> Any:
        return _without_numbers(value) if isinstance(value, nn.Module) else value

    spaces = {name: fn.__globals__.get(name) for name in fn.__code__.co_names}
    modules = {name: ghost(value) for name, value in spaces.items() if isinstance(value, nn.Module)}
    cells = tuple(types.CellType(ghost(cell.cell_contents)) for cell in fn.__closure__ or ())
    copied = types.FunctionType(
        fn.__code__, {**fn.__globals__, **modules}, fn.__name__, fn.__defaults__, cells
    )
    copied.__kwdefaults__, copied.__annotations__ = fn.__kwdefaults__, fn.__annotations__
    return copied


def _size(dim: str, size: int, new: dict[str, int]) -> int:
    """Work out a dim at the new sizes: a name, a product of names, or a number that stays."""
    result = 1
    for part in dim.split("*"):
        whole, _, below = part.partition("//")
        above, under = (
            int(word) if word.isdigit() else new.get(word) for word in (whole, below or "1")
        )
        if above is None or not under or above % under:
            return size
        result *= above // under
    return result


def _flat(steps):
    for step in steps:
        if step.steps:
            yield from _flat(step.steps)
        yield step


def _mismatches(before, after, new, inputs):
    """Compare shapes with dims; a dim that no input has takes its size where it first comes up."""
    bound = {(name, None): new[name] for name in inputs if name in new}
    for old, now in zip(before, after, strict=True):
        for mine, its in zip(old.outputs, now.outputs, strict=False):
            if len(its.shape) != len(mine.shape):
                yield Mismatch(old.line, old.code, mine.dims, mine.shape, its.shape)
                continue
            for (dim, size), found in zip(_axes(mine), its.shape, strict=True):
                if dim.isidentifier() and (dim, None) not in bound:
                    bound.setdefault((dim, size), found)
            expected = tuple(
                found if dim.isdigit() else _size(dim, size, _Sizes(bound, new, size))
                for (dim, size), found in zip(_axes(mine), its.shape, strict=True)
            )
            if expected != its.shape:
                yield Mismatch(old.line, old.code, mine.dims, expected, its.shape)


class _Sizes(dict):
    """Sizes by name: an input's, or the one that a name had where it was of this size."""

    def __init__(self, bound, new, size) -> None:
        super().__init__(new)
        self.update({name: found for (name, at), found in bound.items() if at in (None, size)})
