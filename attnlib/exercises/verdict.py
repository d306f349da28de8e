"""What a check says: passed or which mistake, the smallest counterexample, notes."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .form import Inputs, Sizes

MANY = 60  # numbers that are still printed in full


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
        lines = [", ".join(f"{name} = {size}" for name, size in self.sizes.items())]
        for name, value in self.inputs.items():
            lines.append(f"{name}{_named(self.dims[name])} = {_text(value)}")
        lines.append(f"yours  = {_text(self.yours)}")
        lines.append(f"wanted{_named(self.dims[''])} = {_text(self.wanted)}")
        lines += self._differences()
        return "\n".join(lines)

    def _differences(self) -> list[str]:
        """Name the places, and say what stands in the first one."""
        names = self.dims[""].removeprefix("bool ").split()
        if not self.where:
            if isinstance(self.yours, Tensor) and self.yours.shape != self.wanted.shape:
                came, due = tuple(self.yours.shape), tuple(self.wanted.shape)
                return [f"shapes differ: yours {came}, wanted {_named(self.dims[''])} {due}"]
            return []
        first = self.where[0]
        place = ", ".join(f"{n} {i}" for n, i in zip(names, first, strict=False) if n != "1")
        more = f", and at {len(self.where) - 1} more" if len(self.where) > 1 else ""
        yours, wanted = _number(self.yours[first].item()), _number(self.wanted[first].item())
        return [f"they differ at {place}: yours {yours}, wanted {wanted}{more}"]


@dataclass(frozen=True, repr=False)
class Verdict:
    """Passed, or the id of the mistake with one sentence, a counterexample and what to look at."""

    passed: bool
    diagnosis: str | None
    message: str
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        head = f"✓ {self.message}" if self.passed else f"✗ {self.diagnosis}: {self.message}"
        parts = [head]
        if self.counterexample is not None:
            parts.append("\n".join("    " + line for line in str(self.counterexample).split("\n")))
        parts += [f"note: {note}" for note in self.notes]
        return "\n".join(parts)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        state = "passed" if self.passed else "failed"
        head = f"✓ {self.message}" if self.passed else self.message
        name = "" if self.passed else f"<strong>✗ {html.escape(str(self.diagnosis))}</strong> "
        parts = [f'<div class="attn-verdict attn-{state}"><p>{name}{html.escape(head)}</p>']
        if self.counterexample is not None:
            parts.append(f"<pre>{html.escape(str(self.counterexample))}</pre>")
        if self.notes:
            items = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
            parts.append(f"<ul>{items}</ul>")
        return "".join(parts) + "</div>"


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


def _named(dims: str) -> str:
    """Write the dims of an argument behind its name; nothing for a number."""
    words = dims.removeprefix("bool ").split()
    return f" ({', '.join(words)})" if words and words[0] not in {"size", "device"} else ""


def _text(value: Any) -> str:
    if not isinstance(value, Tensor):
        return value if isinstance(value, str) else repr(value)[:200]
    if value.numel() > MANY:
        return f"{tuple(value.shape)} numbers"
    return _nested(value.detach().cpu().tolist())


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(v) for v in value) + "]"
    return _number(value)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
