"""A module under test: how it is called, what it gave, which token moves which output."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .grids import number
from .running import Runner
from .verdict import alike

_WIDTHS = ("n_embd", "embed_dim", "d_model", "dim", "hidden_size", "d_in", "in_features")
_PLACES = re.compile(
    r"(^|_)(rotary|rope|freqs?|cos|sin|pos|position\w*|alibi|slopes?|relative)($|_)", re.I
)


@dataclass(frozen=True)
class Law:
    """One law: held, broken, or not checked; what it says; the counterexample or the reason.

    The note says what else to know: what it was judged by, which designs break it on purpose.
    """

    name: str
    passed: bool | None
    says: str
    counterexample: str = ""
    note: str = ""

    def __str__(self) -> str:
        mark = {True: "✓", False: "✗", None: "–"}[self.passed]
        more = [f"\n    {line}" for line in (self.counterexample, self.note) if line]
        return f"{mark} {self.name}: {self.says}{''.join(more)}"


class Subject:
    """The module under test, how it is called, and what it gave for one batch."""

    def __init__(
        self,
        module: nn.Module,
        x: Tensor | None,
        n_heads: int | None,
        causal: bool | None,
        without: Collection[str] = (),
    ) -> None:
        self.module, self.n_heads, self.without = module, n_heads, frozenset(without)
        self.names = list(inspect.signature(module.forward).parameters)
        self.torch = isinstance(module, nn.MultiheadAttention)
        self.first = not self.torch or module.batch_first
        self.asked = causal
        self.why = ""  # why it is held to be causal or not, where nobody said so
        for name in ("causal", "is_causal"):
            flag = getattr(module, name, None)
            if causal is None and isinstance(flag, bool):
                causal, self.why = flag, f"its attribute {name} is {flag}"
        self.causal = causal
        self.mistake = ""  # whose numbers it gives, where that is known
        self.fused = False  # queries, keys and values come of one weight
        self.only_cut = False  # the parameters that get no gradient move the output all the same
        self.right_where_seen = False  # parity holds over the tokens that an output reacts to
        width = x.shape[-1] if x is not None else _width(module)
        longest = getattr(module, "block_size", None)
        S = min(5, longest) if isinstance(longest, int) else 5
        parameter = next(module.parameters(), None)
        dtype = parameter.dtype if parameter is not None else torch.float32
        self.x = torch.randn(3, S, width).to(dtype)
        self.runner = Runner(module, left=20.0)
        self.reactions: Tensor | None = None
        self.runs = self._try()

    def _try(self) -> Law:
        says = "takes (batch, S, n_embd) and gives as many batches and tokens back"
        try:
            self.output = self.call(self.x)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Law("runs", False, says, told(error), self._alike(failed=True))
        fits = self.output.shape[:2] == self.x.shape[:2]
        shown = f"{tuple(self.x.shape)} became {tuple(self.output.shape)}"
        return Law("runs", bool(fits), says, "" if fits else shown, self._alike())

    def _required(self) -> list[str]:
        return [
            name
            for name, p in inspect.signature(self.module.forward).parameters.items()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]

    def _alike(self, failed: bool = False) -> str:
        """Say what an attention between two sequences got for both."""
        names = self._required()
        if len(names) < 2:
            return ""
        shown = f"x is given for {', '.join(names[:-1])} and {names[-1]} alike"
        if failed:
            return (
                f"{shown}: of a module that asks for several widths, make one with a single width"
            )
        return f"{shown}, as in self-attention"

    def call(self, x: Tensor, *, lend: bool = False, **mask: Tensor) -> Tensor:
        """Call the module with a copy of x, as its signature asks; return its output, batch first.

        Lent, x itself goes in.
        """
        x = x if lend else x.clone()
        given = x if self.first else x.transpose(0, 1)
        if self.torch and self.asked:
            S = x.shape[1]
            mask["attn_mask"] = torch.ones(S, S, dtype=torch.bool, device=x.device).triu(1)
        arguments = (given,) * max(1, len(self._required()))
        output = self.runner.run(lambda: self.module(*arguments, **mask))
        output = output[0] if isinstance(output, tuple | list) else output
        if not isinstance(output, Tensor):
            raise TypeError(f"forward gives a {type(output).__name__}, not a tensor")
        return output if self.first else output.transpose(0, 1)

    def sizes(self) -> str:
        """The sizes of the batch, named."""
        names = zip(("batch", "S", "n_embd"), self.x.shape, strict=True)
        return ", ".join(f"{name} = {size}" for name, size in names)

    def reacts(self) -> Tensor:
        """Which output reacts to which token: bool (S, S)."""
        S = self.x.shape[1]
        if self.reactions is not None:
            return self.reactions
        rows = torch.zeros(S, S, dtype=torch.bool)
        for j in range(S):
            other = self.x.clone()
            other[:, j] = other[:, j].flip(-1) * 0.7 + 0.3
            moved = (self.call(other) - self.output).abs().amax((0, 2))
            rows[:, j] = ~(moved <= 1e-6 * self.output.abs().max())
        self.reactions = rows
        return rows

    def knows_places(self) -> str:
        """Name what gives the module positions: a part, a buffer, an attribute."""
        for path, part in self.module.named_modules():
            if isinstance(part, nn.Embedding):
                return path
            for name in (*vars(part), *part._parameters, *part._buffers, *part._modules):
                if _PLACES.search(name):
                    return name
        return ""


def _width(module: nn.Module) -> int:
    for part in module.modules():
        for name in _WIDTHS:
            value = getattr(part, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    raise ValueError("verify: the width of the module cannot be told; give x (batch, S, n_embd)")


def first_difference(
    yours: Tensor, wanted: Tensor, said: tuple[str, str] = ("yours is", "wanted")
) -> str:
    """Say where two outputs differ first, and by which numbers."""
    if yours.shape != wanted.shape:
        return f"{said[0]} {tuple(yours.shape)}, {said[1]} {tuple(wanted.shape)}"
    at = tuple((~alike(yours, wanted)).nonzero()[0].tolist())
    place = ", ".join(f"{n} {i}" for n, i in zip(("batch", "S", "n_embd"), at, strict=True))
    numbers = number(yours[at].item()), number(wanted[at].item())
    return f"at {place} {said[0]} {numbers[0]}, {said[1]} {numbers[1]}"


def told(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
