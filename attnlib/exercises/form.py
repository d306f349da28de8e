"""The form of an exercise: what is asked, in which dims, the spec in loops, and one solution."""

from __future__ import annotations

import ast
import inspect
import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .. import oracle

Inputs = dict[str, Any]
Sizes = dict[str, int]

# How the sizes of a case are chosen: all different (what a learner cannot hit by chance), one
# sequence only (what squeeze() takes away), all the same (what lets a wrong transpose run).
DISTINCT, ALONE, COLLIDING = "distinct", "alone", "colliding"


@dataclass(frozen=True)
class Exercise:
    """Hold one exercise; `dims` says the kind of each argument, and sizes are drawn from it."""

    id: str
    chapter: int
    statement: str
    allowed: str
    dims: dict[str, str]  # argument -> "batch Sq H", "size heads", "bool Sq Sk", …
    returns: str
    spec: Callable[..., Any]  # loops over lists
    solution: Callable[..., Tensor]
    hints: tuple[str, ...]
    notice: str
    slots: tuple = ()  # the same computation with faults that can be switched on: see faults.py
    dress: Callable[[Inputs, random.Random], None] | None = None  # values that the kind cannot say
    extras: frozenset[str] = field(default_factory=frozenset)  # ids found by evidence, not by slots

    @property
    def ids(self) -> tuple[str, ...]:
        """The diagnoses that can arise here."""
        named = {fault.id for slot in self.slots for fault in slot.faults}
        numbers = frozenset() if self.returns.startswith("bool") else OF_NUMBERS
        return tuple(sorted(named | self.extras | EVERYWHERE | numbers))

    @property
    def stub(self) -> str:
        """The solution without its body: what the learner's cell starts from."""
        return stub(self.solution)

    @property
    def loops(self) -> str:
        """The spec as it is run, and the loops over lists behind it that are no exercise before."""
        parts = [source(self.spec)]
        for name in dict.fromkeys(re.findall(r"oracle\.(\w+)", parts[0])):
            parts.append(_without_docstring(source(getattr(oracle, name))))
        if any(re.search(r"(?<!def )\battention\(", part) for part in parts[1:]):
            parts.append(_without_docstring(source(oracle.attention)))
        return "\n\n".join([parts[0], *_constants("\n".join(parts[1:])), *parts[1:]])

    def __repr__(self) -> str:
        return f"Exercise({self.id!r}, chapter {self.chapter}: {self.statement})"


EVERYWHERE = frozenset(
    {
        *("not-written", "raises", "too-slow", "wrong-type", "wrong-shape", "wrong-dtype"),
        *("value-mismatch", "not-deterministic"),
    }
)
OF_NUMBERS = frozenset({"backward-overwritten", "wrong-gradient", "dropout-active"})  # no mask's


@dataclass(frozen=True)
class Case:
    """One set of inputs, with its sizes and what is wanted."""

    kind: str
    sizes: Sizes
    inputs: Inputs
    wanted: Tensor


def stub(solution: Callable) -> str:
    """Cut the stub from a solution: its signature and docstring, with `...` for the body.

    Example:
        >>> from attnlib.exercises.scores import scores
        >>> print(stub(scores))
        def scores(q, k):
            '''q (batch, Sq, H), k (batch, Sk, H) -> (batch, Sq, Sk), not scaled.'''
            ...
    """
    function = ast.parse(source(solution)).body[0]
    assert isinstance(function, ast.FunctionDef)
    text = ast.get_docstring(function)
    return f"def {function.name}({ast.unparse(function.args)}):\n    '''{text}'''\n    ..."


def source(function: Callable) -> str:
    """Return the text of a function, at the margin."""
    return textwrap.dedent(inspect.getsource(function)).rstrip()


def _without_docstring(text: str) -> str:
    """Leave out the docstring, which a reader of the loops has in front of the exercise."""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = text.splitlines()
    first = function.body[0]
    return "\n".join(lines[: first.lineno - 1] + lines[first.end_lineno :])


def _constants(code: str) -> list[str]:
    """Return the lines of `oracle` that set a constant which the code reads, as one block."""
    lines = re.findall(r"^([A-Z]+)( = [^#\n]*[^#\s])", inspect.getsource(oracle), flags=re.M)
    used = [name + value for name, value in lines if re.search(rf"\b{name}\b", code)]
    return ["\n".join(used)] if used else []


LARGEST = 7


def draw(exercise: Exercise, kind: str, seed: int, largest: int = LARGEST) -> Case:
    """Draw a case of one kind of sizes; the same seed gives the same case.

    A case that is smaller than usual is drawn to be read: its numbers are short decimals.
    """
    chance = random.Random(f"{exercise.id} {kind} {seed} {largest}")
    sizes = _sizes(exercise, kind, chance, largest)
    numbers = torch.Generator().manual_seed(chance.randrange(2**31))
    inputs = {name: _value(form, sizes, numbers) for name, form in exercise.dims.items()}
    readable = largest < LARGEST
    inputs = _rounded(inputs, 1) if readable else inputs
    if exercise.dress:
        exercise.dress(inputs, chance)
        inputs = _rounded(inputs, 2) if readable else inputs
    return Case(kind, sizes, inputs, want(exercise, inputs))


def _rounded(inputs: Inputs, digits: int) -> Inputs:
    return {
        k: v.round(decimals=digits) if isinstance(v, Tensor) and v.is_floating_point() else v
        for k, v in inputs.items()
    }


def want(exercise: Exercise, inputs: Inputs) -> Tensor:
    """Compute what is wanted by the loops of the spec."""
    lists = {k: v.tolist() if isinstance(v, Tensor) else v for k, v in inputs.items()}
    value = torch.tensor(exercise.spec(**lists), dtype=torch.float64)
    return value.bool() if exercise.returns.startswith("bool") else value


def copy(inputs: Inputs) -> Inputs:
    """Copy the tensors, so that what the learner does to them stays with him."""
    return {k: v.clone() if isinstance(v, Tensor) else v for k, v in inputs.items()}


def _names(exercise: Exercise) -> list[str]:
    words = " ".join(exercise.dims.values()).replace("*", " ").split()
    kinds = {"size", "bool", "lengths", "device", "1"}
    names = list(dict.fromkeys(word for word in words if word not in kinds))
    return [*names, "H"] if {"heads", "n_embd"} <= {*names} and "H" not in names else names


def _sizes(exercise: Exercise, kind: str, chance: random.Random, largest: int) -> Sizes:
    """Give each dim a size; n_embd is heads * H, kv_heads divides heads, Sq is at most Sk."""
    names = _names(exercise)
    if kind == COLLIDING:
        sizes = dict.fromkeys(names, chance.choice((4, 6)) if largest > 6 else 2)
        if "heads" in sizes and "n_embd" in sizes:
            sizes = dict.fromkeys(names, 3 if largest > 6 else 2)
        return _derive(sizes, kind)
    while True:
        sizes = {name: chance.randint(2, largest) for name in names}
        if kind == ALONE:
            sizes["batch"] = 1
        if "Sq" in sizes and "Sk" in sizes and sizes["Sq"] > sizes["Sk"]:
            sizes["Sq"], sizes["Sk"] = sizes["Sk"], sizes["Sq"]
        sizes = _derive(sizes, kind)
        if len(set(sizes.values())) == len(sizes):
            return sizes


def _derive(sizes: Sizes, kind: str) -> Sizes:
    if "kv_heads" in sizes:
        sizes = {**sizes, "kv_heads": 2, "heads": 4 if kind == COLLIDING else 6}
    if "heads" in sizes and "n_embd" in sizes:
        sizes = {**sizes, "n_embd": sizes["heads"] * sizes["H"]}
    return sizes


def _value(form: str, sizes: Sizes, numbers: torch.Generator) -> Any:
    """Draw one argument: a tensor of normal numbers unless its form says otherwise."""
    first, _, rest = form.partition(" ")
    if first == "size":
        return sizes[rest]
    if first == "device":
        return torch.device("cpu")
    if first == "lengths":
        top = sizes["S"]
        length = torch.randint(1, top, (sizes["batch"],), generator=numbers)
        length[0] = top
        return length
    shape = [size(word, sizes) for word in (rest if first == "bool" else form).split()]
    if first == "bool":
        may = torch.rand(shape, generator=numbers) < 0.6
        may[..., 0] = True
        return may
    return torch.randn(shape, generator=numbers)


def size(word: str, sizes: Sizes) -> int:
    """Return the size of a dim, of a product of dims, or of a number.

    Example:
        >>> size("S", {"S": 5}), size("heads*H", {"heads": 2, "H": 3}), size("1", {})
        (5, 6, 1)
    """
    total = 1
    for factor in word.split("*"):
        total *= int(factor) if factor.isdigit() else sizes[factor]
    return total
