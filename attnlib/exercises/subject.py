"""A module under test: how it is called, what it gave, which token moves which output."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .running import Runner

_WIDTHS = ("n_embd", "embed_dim", "d_model", "dim", "hidden_size", "d_in", "in_features")


@dataclass(frozen=True)
class Law:
    """One law: held, broken, or not checked; what it says; the counterexample or the reason."""

    name: str
    passed: bool | None
    says: str
    counterexample: str = ""

    def __str__(self) -> str:
        mark = {True: "✓", False: "✗", None: "–"}[self.passed]
        more = f"\n    {self.counterexample}" if self.counterexample else ""
        return f"{mark} {self.name}: {self.says}{more}"


class Subject:
    """The module under test, how it is called, and what it gave for one batch."""

    def __init__(
        self, module: nn.Module, x: Tensor | None, n_heads: int | None, causal: bool | None
    ) -> None:
        self.module, self.n_heads = module, n_heads
        self.names = list(inspect.signature(module.forward).parameters)
        self.torch = isinstance(module, nn.MultiheadAttention)
        self.first = not self.torch or module.batch_first
        self.asked = causal
        if causal is None:
            flag = getattr(module, "causal", getattr(module, "is_causal", None))
            causal = flag if isinstance(flag, bool) else None
        self.causal = causal
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
            return Law("runs", False, says, told(error))
        fits = self.output.shape[:2] == self.x.shape[:2]
        shown = f"{tuple(self.x.shape)} became {tuple(self.output.shape)}"
        return Law("runs", bool(fits), says, "" if fits else shown)

    def call(self, x: Tensor, *, lend: bool = False, **mask: Tensor) -> Tensor:
        """Call the module with a copy of x, as its signature asks; return its output, batch first.

        Lent, x itself goes in.
        """
        x = x if lend else x.clone()
        given = x if self.first else x.transpose(0, 1)
        required = [
            p
            for p in inspect.signature(self.module.forward).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if self.torch and self.asked:
            S = x.shape[1]
            mask["attn_mask"] = torch.ones(S, S, dtype=torch.bool, device=x.device).triu(1)
        arguments = (given,) * max(1, len(required))
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


def _width(module: nn.Module) -> int:
    for part in module.modules():
        for name in _WIDTHS:
            value = getattr(part, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    raise ValueError("verify: the width of the module cannot be told; give x (batch, S, n_embd)")


def told(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
