"""``trace`` and ``tracing``: run code once, as it is, and tell what it did to every dimension."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ShapeError
from .adoption import Adopted
from .assembly import assemble
from .builder import Builder
from .eager import Eagerly
from .frames import LIBRARY, kind_of
from .ghosts import unstarted
from .given import Given, Names, Sizes, annotated, parse
from .labels import LAYER, Dim
from .pointing import Pointing
from .recheck import Rerun
from .recorder import Recorder
from .report import Trace
from .rows import Step
from .source import definition, has_source, is_ours
from .states import has_shape
from .variables import Variables

_HERE = os.path.dirname(__file__)
_NO_SOURCE = "the source of these lines is not found: what they call a dim is not known"
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def trace(
    fn: Callable,
    /,
    *args: Any,
    dims: Names | Mapping[str, Names | None] | None = None,
    deep: bool = False,
    tiny: int = 256,
    max_steps: int = 10_000,
    on_error: str = "raise",
    kwargs: Mapping[str, Any] | None = None,
    **kw: Any,
) -> Trace:
    """Run ``fn(*args, **kw)`` once and return its trace: a row for every operation, in named dims.

    ``dims`` names the axes of the tensors that go in, ``"batch S n_embd"`` for the first or
    ``{"x": "batch S n_embd"}`` by argument; one name stands for one size. Arguments of ``fn`` that
    are called like one of ``trace``'s own go in ``kwargs``. ``deep=True`` shows what
    ``nn.MultiheadAttention`` does. A tensor of at most ``tiny`` numbers keeps them in its rows,
    which the player draws; after ``max_steps`` rows, operations are counted only.
    The run is an ordinary one: same numbers, same gradients. Only compiled code runs as it is
    written, so what the compiler raises is not seen; and the fast path of ``nn.MultiheadAttention``
    and of the encoder layers, in eval mode without gradients, is off while it is watched. It gives
    the same up to rounding, but not in a row that sees nothing, which may be NaN there and numbers
    here, nor at padded places of an ``nn.TransformerEncoder``.

    Raises: what ``fn`` raises, explained in a note and with the trace up to there as
        ``attnlib_trace`` (``on_error="return"`` returns that trace instead); ShapeError when
        ``dims`` does not fit the tensors: another number of axes, one name for two sizes;
        TypeError when ``fn`` is a result, or the class of a layer.
    Example:
        >>> import torch
        >>> steps = trace(lambda q, k: q @ k.mT, torch.ones(2, 8, 16), torch.ones(2, 8, 16),
        ...               dims={"q": "batch S H", "k": "batch S H"}).steps
        >>> steps[-1].output.dims
        ('batch', 'S', 'S')
    """
    if on_error not in ("raise", "return"):
        raise ValueError(f'on_error is {on_error!r} but must be "raise" or "return"')
    words = {**(kwargs or {}), **kw}
    function = _function(fn)
    code = getattr(function, "__code__", None)
    tensors = list(_tensors(fn, args, words))
    given = parse(dims, tensors[0][0] if tensors else None)
    unknown = set(given) - {name for name, _ in tensors}
    if unknown:
        raise ShapeError(
            f"dims names {', '.join(sorted(map(str, unknown)))}, but the tensors that go in are "
            f"{', '.join(name for name, _ in tensors) or 'none'}"
        )
    recorder = Recorder(tiny=tiny, max_steps=max_steps, deep=deep)
    recorder.stack.base = trace.__code__
    states = [(name, recorder.state(tensor)) for name, tensor in tensors]
    hinted = annotated(function)
    sizes: Sizes = {}
    for name, state in states:
        labels = recorder.labels(state)
        if name in given:
            given[name].apply(recorder.symbols, labels, name, sizes)
        elif name in hinted:
            ours = code is not None and is_ours(code.co_filename)
            hinted[name].suggest(recorder.symbols, labels, book=ours)
    fresh = unstarted(fn)
    failure = output = None
    with Adopted(recorder, fn, deep=deep) as adopted:
        try:
            with Eagerly(), Pointing(), _inside(deep), recorder:
                output = fn(*_sizes(recorder, fn, args), **_sizes_by_name(recorder, fn, words))
        except Exception as error:
            failure = error
        output = adopted.plain(output)
    builder = Builder(recorder, {}, adopted.names)
    written = code is not None and kind_of(code.co_filename) is not LIBRARY
    site = definition(code) if code is not None and written else None
    for name, state in states:
        builder.input(name, state, site)
    unnamed = [name for name, tensor in tensors[1:] if _alike(tensor, tensors[0][1])]
    if dims is not None and not isinstance(dims, Mapping):
        _tell_of_unnamed(builder.steps[0], [name for name in unnamed if name not in hinted])
    if code is not None and written and builder.steps and not has_source(code):
        builder.steps[0].remark(_NO_SOURCE)
    result = assemble(builder, title=_title(fn), output=output, failure=failure)
    again = functools.partial(trace, tiny=0, deep=deep)
    result.remember(Rerun(fn, args, words, [tensor for _, tensor in tensors], again, fresh))
    if failure is not None and on_error == "raise":
        _hand_on(result, failure)
        raise failure
    return result


@contextlib.contextmanager
def tracing(
    dims: Mapping[str, Names | None] | None = None,
    *,
    deep: bool = False,
    tiny: int = 256,
    max_steps: int = 10_000,
    on_error: str | None = None,
) -> Iterator[Trace]:
    """Trace the lines inside the ``with``; the keys of ``dims`` are names of variables there.

    A variable that is assigned anew keeps the dims that its lines give it. What the lines raise is
    raised: ``on_error`` is for ``trace`` only.

    Raises: what the lines raise, explained as by ``trace``; TypeError for ``on_error``; ShapeError
        after the lines when ``dims`` does not fit the first tensor of a variable.
    Example:
        >>> import torch
        >>> q, k = torch.ones(2, 8, 16), torch.ones(2, 8, 16)
        >>> with tracing(dims={"q": "batch S H", "k": "batch S H"}) as traced:
        ...     scores = q @ k.mT
        >>> traced.steps[-1].output.dims
        ('batch', 'S', 'S')
    """
    if on_error is not None:
        raise TypeError(
            "tracing takes no on_error: what its lines raise is raised, and the trace up to there "
            'is the attnlib_trace of the exception; on_error="return" is for trace(fn, ...)'
        )
    given: dict[str, Given] = parse(dims, None)
    recorder = Recorder(tiny=tiny, max_steps=max_steps, deep=deep)
    result = Trace(title="tracing", torch=torch.__version__)
    failure = None
    caller = sys._getframe(2)  # past the generator and the context manager around it
    recorder.stack.base = caller.f_code
    variables = recorder.states.variables = Variables(caller, given)
    with Adopted(recorder, caller, deep=deep) as adopted:
        readable = has_source(caller.f_code)
        del caller
        try:
            with Eagerly(), Pointing(), _inside(deep), recorder:
                yield result
        except Exception as error:
            failure = error
        finally:
            variables.release()
    builder = Builder(recorder, given, adopted.names)
    assemble(builder, title="tracing", failure=failure, into=result)
    if result.steps and not readable:
        result.steps[0].remark(_NO_SOURCE)
    if failure is not None:
        _hand_on(result, failure)
        raise failure
    if builder.refused is not None:
        raise builder.refused


def _hand_on(result: Trace, failure: Exception) -> None:
    """Hang the trace on an error that goes back to the reader, and leave the tracer's lines out."""
    with contextlib.suppress(Exception):  # a frozen one takes nothing, and is raised as it is
        failure.attnlib_trace = result  # type: ignore[attr-defined]
        failure.__traceback__ = _readers(failure.__traceback__)


def _readers(raised: types.TracebackType | None) -> types.TracebackType | None:
    """Take the tracer's frames out of a traceback, unless it is a line of theirs that raised."""
    chain = []
    while raised is not None:
        chain.append(raised)
        raised = raised.tb_next
    kept = [one for one in chain if not one.tb_frame.f_code.co_filename.startswith(_HERE)]
    runs = Recorder._note.__code__  # where operations run: what they raise is not its fault
    if not kept or (chain[-1] is not kept[-1] and chain[-1].tb_frame.f_code is not runs):
        return chain[0] if chain else None
    for one, following in zip(kept, [*kept[1:], None], strict=True):
        one.tb_next = following
    return kept[0]


def _inside(deep: bool) -> contextlib.AbstractContextManager:
    if not deep:
        return contextlib.nullcontext()
    from .opened import opened  # only where it is asked for

    return opened()


def _function(fn: Callable) -> Callable:
    """Return the function whose lines will run: a module's forward, the inside of a wrapper."""
    if isinstance(fn, type) and issubclass(fn, nn.Module):
        raise TypeError(f"trace runs a layer, not its class: trace({fn.__name__}(…), x)")
    if not callable(fn):
        raise TypeError(
            f"trace runs code itself and is given a {type(fn).__name__}: hand over the function or "
            "layer and what goes in, trace(layer, x) and not trace(layer(x))"
        )
    if isinstance(fn, nn.Module):
        fn = fn.forward
    return inspect.unwrap(getattr(fn, "__func__", fn))


def _alike(tensor: Tensor, first: Tensor) -> bool:
    """Might a reader take the names of the first tensor for those of this one too?"""
    return tensor is not first and tensor.is_floating_point() and tensor.dim() == first.dim()


def _tell_of_unnamed(first: Step, unnamed: list[str]) -> None:
    """Say on the row of the first tensor that ``dims`` as one string is for it alone."""
    if unnamed:
        name = first.variable
        first.remark(
            f"dims names {name} alone, not {' and '.join(unnamed)}; "
            f'dims={{"{name}": "…", "{unnamed[0]}": "…"}} names several'
        )


def _sizes(recorder: Recorder, fn: Callable, args: tuple) -> tuple:
    """Tag the whole numbers that go in, as those of a module are: a head count has its name."""
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, nn.Module) else fn)
    except (TypeError, ValueError):
        return args
    names = [name for name, taken in signature.parameters.items() if taken.kind in _BY_PLACE]
    named = _sizes_by_name(recorder, fn, dict(zip(names, args, strict=False)))
    return (*named.values(), *args[len(named) :])


def _sizes_by_name(recorder: Recorder, fn: Callable, words: dict[str, Any]) -> dict[str, Any]:
    symbols, scope = recorder.symbols, getattr(_function(fn), "__code__", None)

    def tagged(name: str, value: Any) -> Any:
        if type(value) is not int or value < 1 or name[0] == "_":
            return value
        label = symbols.given(name, value) or symbols.named(name, value, LAYER, scope)
        return Dim(value, label)

    return {name: tagged(name, value) for name, value in words.items()}


def _title(fn: Callable) -> str:
    if isinstance(fn, nn.Module):
        return type(fn).__name__
    name = getattr(fn, "__qualname__", type(fn).__name__).split("<locals>.")[-1]
    return name.rpartition(".")[2] if name.startswith("_") else name


def _tensors(fn: Callable, args: tuple, words: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors that go in, under the names that ``fn`` has for them."""
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, nn.Module) else fn)
        bound = signature.bind(*args, **words).arguments
    except (TypeError, ValueError):
        bound = {f"x{place}": value for place, value in enumerate(args)} | dict(words)
    for name, value in bound.items():
        yield from _within(name, value)


def _within(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors that an argument holds: ``pairs[0][1]``, and a dict's by their keys."""
    if isinstance(value, Tensor):
        if has_shape(value):
            yield name, value
    elif isinstance(value, tuple | list):
        for place, item in enumerate(value):
            yield from _within(f"{name}[{place}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _within(str(key), item)
