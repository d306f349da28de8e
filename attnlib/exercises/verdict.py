"""What a check says: passed or which mistake, the smallest counterexample, notes."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..dims import role
from ..tracer.plain import readable
from .form import Inputs, Sizes
from .grids import UNNAMED, beside, grid, named, number


@dataclass(frozen=True)
class Counterexample:
    """One input on which yours and wanted differ, and where, in named dims."""

    sizes: Sizes
    inputs: Inputs
    yours: Any
    wanted: Tensor
    dims: dict[str, str]  # argument -> its dims; "" -> those of the result
    where: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        lines = [f"Seen with {sizes}:"]
        for name, value in self.inputs.items():
            lines += self._input(name, value)
        return "\n".join([*lines, *self._results(), *self.differences()])

    def _input(self, name: str, value: Any) -> list[str]:
        """Of a large tensor the sequence of the batch in which the difference stands."""
        if not isinstance(value, Tensor):
            return [] if name in self.sizes else [f"{name} = {value}"]
        dims = self.dims[name].removeprefix("lengths ")
        of_batch = dims.startswith("batch ") and self.dims[""].startswith("batch ")
        first = self.where[0][:1] if self.where and of_batch else ()
        if not of_batch and value.numel() > MANY:
            kept = f'counterexample.inputs["{name}"] of what check returns'
            return [f"{name}{named(dims)}: {value.numel()} numbers, {kept}"]
        return [f"{name}{named(dims)}", *grid(value, dims, (), first)]

    def _results(self) -> list[str]:
        dims, yours = self.dims[""], self.yours
        if isinstance(yours, Tensor) and yours.shape == self.wanted.shape:
            return beside(yours, self.wanted, dims, self.where)
        came = [] if isinstance(yours, str) else [f"yours = {repr(yours)[:200]}"]
        if isinstance(yours, Tensor):
            came = [f"yours{self._shape(yours)}", *grid(yours, " ".join(self._dims(yours)))]
        return [*came, f"wanted{named(dims)}", *grid(self.wanted, dims)]

    def _dims(self, yours: Tensor) -> list[str]:
        """Name each dim of a result of another shape by its size, if one dim alone is of it."""
        sizes = [*self.sizes.items()]
        words = self.dims[""].removeprefix("bool ").split()
        sizes += [(n, s) for n, s in zip(words, self.wanted.shape, strict=True) if "*" in n]
        fits = [[name for name, size in sizes if size == s] for s in yours.shape]
        one = zip(fits, yours.shape, strict=True)
        return [f[0] if len(f) == 1 else "1" if s == 1 and not f else UNNAMED for f, s in one]

    def _shape(self, yours: Tensor) -> str:
        """Write its dims as those of the wanted result; the size where the name cannot be told."""
        dims = zip(self._dims(yours), yours.shape, strict=True)
        return named(" ".join(str(size) if name == UNNAMED else name for name, size in dims))

    def differences(self) -> list[str]:
        """Name the places, and say what stands in the first one."""
        names = self.dims[""].removeprefix("bool ").split()
        if not self.where:
            if isinstance(self.yours, Tensor) and self.yours.shape != self.wanted.shape:
                came, due = tuple(self.yours.shape), tuple(self.wanted.shape)
                of_each = (
                    f"yours{self._shape(self.yours)} {came}",
                    f"wanted{named(self.dims[''])} {due}",
                )
                return [f"The shapes differ: {', '.join(of_each)}"]
            return []
        first = self.where[0]
        place = ", ".join(f"{n} {i}" for n, i in zip(names, first, strict=False) if n != "1")
        more = f"; {len(self.where)} of {self.wanted.numel()} differ, marked *"
        pair = self.yours[first].item(), self.wanted[first].item()
        shown = [[number(value, digits) for value in pair] for digits in (3, 5, 8)]
        yours, wanted = next((both for both in shown if both[0] != both[1]), shown[-1])
        return [f"They differ at {place}: yours {yours}, wanted {wanted}{more}"]


@dataclass(frozen=True, repr=False)
class Verdict:
    """Passed, or the id of the mistake with one sentence, a counterexample and what to look at.

    The first line of the message says what it is, the others where to look.
    """

    passed: bool
    diagnosis: str | None
    message: str
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        first, *rest = self.message.split("\n")
        parts = [" ".join(filter(None, [self._mark(), first])), *(f"  {line}" for line in rest)]
        if self.counterexample is not None:
            parts += ["  " + line for line in str(self.counterexample).split("\n")]
        parts += ["  Note: " + note.replace("\n", "\n  ") for note in self.notes]
        return readable("\n".join(parts))

    __str__ = __repr__

    def _mark(self) -> str:
        if self.passed:
            return "✓"
        return f"{'○' if self.diagnosis == 'not-written' else '✗'} {self.diagnosis}:"

    def _repr_html_(self) -> str:
        state = "passed" if self.passed else "open" if self._mark()[0] == "○" else "failed"
        first, *rest = (html.escape(line) for line in self.message.split("\n"))
        parts = [f"<p><strong>{html.escape(self._mark())}</strong> {first}</p>"]
        parts += [f"<p>{_code_of(line)}</p>" for line in rest]
        if self.counterexample is not None:
            said = self.counterexample.differences()
            lines = str(self.counterexample).split("\n")
            numbers = html.escape("\n".join(lines[: len(lines) - len(said)]))
            parts.append(f'<pre style="{FIXED}">{_marked(numbers)}</pre>')
            parts += [f"<p>{html.escape(line)}</p>" for line in said]
        parts += map(_noted, self.notes)
        style = f"border-left: 4px solid {_RIM[state]}; padding-left: 14px"
        return f'<div class="attn-verdict attn-{state}" style="{style}">{"".join(parts)}</div>'


MANY = 100  # of an input with more numbers, such as a wide weight, nobody reads each
FIXED = "font-family: var(--mono, monospace)"  # notebooks set <pre> in letters of any width
# Each shows on white and on black; the sign in front says the same.
_RIM = {"passed": "#2e8b57", "open": "#808080", "failed": "#c8553d"}


def _noted(note: str) -> str:
    """Set a note; below its first line stands code, with carets under a part of it."""
    first, _, rest = html.escape(note).partition("\n")
    style = f"{FIXED}; white-space: pre-wrap"
    return f"<p>Note: {first}</p>" + (f'<pre style="{style}">{rest}</pre>' if rest else "")


def _code_of(line: str) -> str:
    """Set the learner's own line in code letters."""
    return re.sub(r"^(Look at line \d+: )(.*)$", r"\1<code>\2</code>", line)


def _marked(text: str) -> str:
    """Set what differs off by weight and line, and give each dim its colour where there is one."""
    text = re.sub(r"(?<=\s)(\S+)\*", r"<b><u>\1</u></b>*", text)

    def painted(shape: re.Match) -> str:
        words = re.split(r"(\W+)", shape[0])
        style = "font-weight: 700; color: var(--{}-ink, inherit)"
        return "".join(
            f'<span style="{style.format(role(word))}">{word}</span>' if role(word) else word
            for word in words
        )

    return re.sub(r"(?<=\w )\([A-Za-z_][\w*, ]*\)(?=$| )", painted, text, flags=re.M)


def differences(yours: Any, wanted: Tensor) -> tuple[tuple[int, ...], ...]:
    """Return the indices at which two tensors of one shape differ.

    Example:
        >>> differences(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
        ((1,),)
    """
    if not isinstance(yours, Tensor) or yours.shape != wanted.shape:
        return ()
    return tuple(tuple(i) for i in (~alike(yours, wanted)).nonzero().tolist())


def alike(a: Tensor, b: Tensor, rtol: float = 1e-3, atol: float = 1e-4) -> Tensor:
    """Compare number by number, NaN being like NaN; the shapes must be one.

    Example:
        >>> alike(torch.tensor([1.0, float("nan")]), torch.tensor([1.5, float("nan")]))
        tensor([False,  True])
    """
    a, b = (t.detach().cpu().double() if not t.is_complex() else t.detach().cpu() for t in (a, b))
    return torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
