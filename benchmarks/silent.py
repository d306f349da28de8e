"""Code that is wrong although its shapes fit: who says so?

The same samples that the tests hold against attnlib, beside torchinfo, torchlens, and jaxtyping
with beartype. For jaxtyping each is annotated as its author would: what goes in and what comes out,
in the names that the sample itself uses.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from beartype import beartype
from jaxtyping import Shaped, TypeCheckError, jaxtyped
from torch import Tensor, nn

from attnlib import trace
from tests.tracer.wrong import WRONG

# What the author believes comes out; where the sample names nothing, also what goes in.
RETURNS = {
    "no_transpose": "batch S head_size",
    "no_transpose_bmm": "B T D",
    "merge_without_transpose": "batch S n_embd",
    "split_by_view": "batch h S d",
    "split_by_view_at_equal_sizes": "batch h S d",
    "padding_on_the_wrong_axis": "batch S H",
    "three_dim_mask": "batch heads S S",
    "einsum_letters": "batch S S",
    "transpose_of_three_axes": "batch heads S S",
    "linear_over_tokens": "batch S n_embd",
    "values_transposed": "batch S H",
    "positions_by_batch": "batch S n_embd",
    "fused_without_transpose": "batch S heads head_size",
    "batch_first_by_view": "seq batch width",
    "scale_per_head": "batch heads S S",
    "cat_of_a_transposed": "batch S 2*n_embd",
    "merge_with_sizes_that_are_plain_numbers": "B T C",
}
GIVEN = {
    "batch_first_by_view": "batch seq width",
    "merge_with_sizes_that_are_plain_numbers": "B h rest",
}


def ours() -> dict[str, dict[str, str]]:
    """Run every sample under attnlib and under jaxtyping."""
    found: dict[str, dict[str, str]] = {}
    for name, (build, _, pair) in WRONG.items():
        fn, inputs, dims = build()
        warned = trace(fn, *inputs, dims=dims).warnings
        right = (" / ".join(w.dims) for w in warned if frozenset(w.dims) == pair)
        told = typed(fn, inputs, dims or GIVEN[name], RETURNS[name])
        found[name] = {"attnlib": next(right, "no"), "jaxtyping": told}
    return found


def peers(found: dict[str, dict[str, str]], here: Mapping[str, bool]) -> None:
    """Run every sample under the other tracers, and print who noticed."""
    for name, (build, *_) in WRONG.items():
        fn, inputs, _ = build()
        for peer, there in here.items():
            found[name][peer] = said(peer, fn, inputs) if there else "not here"
    tools = ["attnlib", "jaxtyping", *here]
    print("\nwrong code whose shapes fit: who says so?")
    print(f"  {'':<42}" + "".join(f"{name:<20}" for name in tools))
    for name, row in found.items():
        cells = "".join(f"{row[tool]:<20}" for tool in tools)
        print(f"  {name.replace('_', ' ')[:40]:<42}{cells}")


def typed(fn: Callable, inputs: tuple, dims: str | Mapping[str, str], returns: str) -> str:
    """Does jaxtyping refuse the code, annotated with what goes in and what comes out?"""
    if not typed_once(lambda x: x.mT, (torch.ones(2, 3),), "a b", "a b"):
        raise AssertionError("jaxtyping was expected to refuse what two sizes give away")
    return "yes" if typed_once(fn, inputs, dims, returns) else "no"


def typed_once(fn: Callable, inputs: tuple, dims: str | Mapping[str, str], returns: str) -> bool:
    forward = fn.forward if isinstance(fn, nn.Module) else fn
    names = list(inspect.signature(forward).parameters)[: len(inputs)]
    given = {names[0]: dims} if isinstance(dims, str) else dims
    space: dict[str, Any] = {"fn": fn}
    exec(f"def call({', '.join(names)}): return fn({', '.join(names)})", space)
    call = space["call"]
    call.__annotations__ = {name: Shaped[Tensor, given[name]] for name in names if name in given}
    call.__annotations__["return"] = Shaped[Tensor, returns]
    try:
        jaxtyped(typechecker=beartype)(call)(*inputs)
    except TypeCheckError:
        return True
    return False


def said(peer: str, fn: Callable, inputs: tuple) -> str:
    """Does a tracer warn or raise on this code?"""
    if not isinstance(fn, nn.Module):
        fn = Wrapped(fn)  # both take modules only
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if peer == "torchinfo":
                from torchinfo import summary

                summary(fn, input_data=list(inputs), verbose=0)
            else:
                import torchlens

                torchlens.trace(fn, list(inputs))
        except Exception as error:
            return f"fails: {type(error).__name__}"[:18]
    about = [w for w in heard if "dim" in str(w.message) or "shape" in str(w.message)]
    return "yes" if about else "no"


class Wrapped(nn.Module):
    """A function as a module."""

    def __init__(self, fn: Callable) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.fn(*inputs)
