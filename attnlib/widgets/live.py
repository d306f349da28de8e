"""A player with sliders: every change runs the code again, in the kernel, and traces that run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from ..tracer import Trace, trace
from .html import player_html

INPUT = "batch S n_embd"  # what a class of modules is called on, where `dims` does not say
SEED = 0
Dims = str | Mapping[str, str]


def live(fn_or_module: Callable | nn.Module, /, *, dims: Dims | None = None, **sliders: Any) -> Any:
    """Show a trace of your code with a slider for each size; a change traces a new run.

    A slider is (lowest, highest) or (lowest, highest, start); a list offers its values; a number or
    a bool stays as it is. For a function or a module the names are the axes of its first tensor, in
    this order; `dims` says otherwise, as in `trace`. A class of modules is built anew: names that
    its constructor takes go there too, and it is called on (batch, S, n_embd). Inputs are drawn
    with a fixed seed. The widget's `trace` is that of the last run, None where none was possible.

    Raises: ImportError without ipywidgets; ValueError for an axis without a size.

    Example:
        >>> head = nn.Linear(4, 6)
        >>> view = live(head, batch=2, S=(1, 8, 3), n_embd=4)
        >>> view.trace.steps[-1].output.shape
        (2, 3, 6)
        >>> view.children[0].children[0].value = 5
        >>> view.trace.steps[-1].output.shape
        (2, 5, 6)
    """
    try:
        import ipywidgets
    except ImportError as error:
        raise ImportError("live: needs ipywidgets; `pip install ipywidgets`") from error
    run = _Runs(fn_or_module, dims, sliders)
    controls = {n: _control(ipywidgets, n, given) for n, given in sliders.items() if _moves(given)}
    figure, problem = ipywidgets.Output(), ipywidgets.HTML()
    view = ipywidgets.VBox(
        [
            ipywidgets.HBox(list(controls.values()), layout={"flex_flow": "row wrap"}),
            problem,
            figure,
        ]
    )

    def show(_: Any = None) -> None:
        values = sliders | {name: control.value for name, control in controls.items()}
        problem.value, view.trace = "", None
        try:
            view.trace = run(values)
        except Exception as error:  # the reader's code says in its own way that a choice is illegal
            problem.value = f"<pre>{escape(f'{type(error).__name__}: {error}', quote=False)}</pre>"
            return
        shown = {"text/html": player_html(view.trace), "text/plain": str(view.trace)}
        figure.outputs = ({"output_type": "display_data", "data": shown, "metadata": {}},)

    for control in controls.values():
        control.observe(show, names="value")
    show()
    return view


class _Runs:
    """Build what is traced, and its inputs, at given sizes; trace one call."""

    def __init__(self, code: Callable, dims: Dims | None, sliders: Mapping[str, Any]) -> None:
        self.code = code
        self.built = inspect.isclass(code)
        taken = inspect.signature(code).parameters if self.built else {}
        self.for_constructor = [name for name in sliders if name in taken]
        self.dims = dims or (INPUT if self.built else " ".join(sliders))
        named = [self.dims] if isinstance(self.dims, str) else list(self.dims.values())
        self.axes = [axes.split() for axes in named]
        for axis in chain(*self.axes):
            if axis not in sliders and not axis.isdigit():
                raise ValueError(f"live: dims name {axis}, but no slider or number gives its size")

    def __call__(self, values: Mapping[str, Any]) -> Trace:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            code = self.code
            if self.built:
                code = code(**{name: values[name] for name in self.for_constructor})
            inputs = [_drawn(axes, values) for axes in self.axes]
        if isinstance(self.dims, str):
            return trace(code, *inputs, dims=self.dims, on_error="return")
        named = dict(zip(self.dims, inputs, strict=True))  # in whichever order they were named
        return trace(code, dims=self.dims, on_error="return", kwargs=named)


def _drawn(axes: Sequence[str], values: Mapping[str, Any]) -> Tensor:
    return torch.randn([int(values.get(axis, axis)) for axis in axes])


def _moves(given: Any) -> bool:
    return isinstance(given, tuple | list)


def _control(ipywidgets: Any, name: str, given: tuple | list) -> Any:
    if isinstance(given, list):
        return ipywidgets.SelectionSlider(options=given, description=name)
    low, high, *start = given
    return ipywidgets.IntSlider(*(start or [low]), low, high, description=name)
