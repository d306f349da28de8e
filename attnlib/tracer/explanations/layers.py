"""Clashes in layers that read one axis: features that stand elsewhere than the layer looks."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from ...dims import role
from .changes import Change, alike, axis_of, dim_of, moved
from .clash import Candidate, Failed, Tensors, clash, on
from .kinds import kinds

Written = Callable[[str], str]  # the operand as it is written -> the whole expression


@clash("linear")
def linear(failed: Failed) -> tuple[str, list[Candidate]]:
    x, weight = failed.infos[:2]
    if x.shape and len(weight.shape) == 2 and x.shape[-1] == weight.shape[-1]:
        return kinds(failed)
    said = (
        f"the layer reads {failed.size(1, -1)} features (weight is {weight.described()}, "
        f"out × in), but the last dim of {x.name} is {failed.size(0, -1)}"
    )
    return said, list(_linear_candidates(failed))


def _linear_candidates(failed: Failed) -> Iterator[Candidate]:
    x, weight = failed.infos[:2]
    labels, (made, wanted) = (failed.op.labels(state) for state in failed.states[:2])
    name, n = on(x.name), wanted.size

    def merged(code: str, change: Callable[[Tensor], Tensor]) -> Candidate:
        return Candidate(failed.instead(x.name, code), failed.changed(0, change))

    dims, stacked = [dim_of(label) for label in labels], _stacked_last(failed)
    heads_first = len(x.shape) == 4 and dims[1] not in ("S", "H") and not stacked
    if heads_first and x.shape[1] * x.shape[3] == n:
        code = f"{name}.transpose(1, 2).flatten(2)"
        yield merged(code, lambda x: x.transpose(1, 2).flatten(2))
    if len(x.shape) > 1 and math.prod(x.shape[-2:]) == n:
        if dims[-2] == "H" or stacked:  # a head's features stay together
            code = f"{name}.transpose(-2, -1).flatten(-2)"
            yield merged(code, lambda x: x.mT.flatten(-2))
        elif not {"S", "batch"} & set(dims[-2:]):
            yield merged(f"{name}.flatten(-2)", lambda x: x.flatten(-2))
    if len(x.shape) > 2 and math.prod(x.shape[1:]) == n and dims[1:].count("S") == 0:
        yield merged(f"{name}.flatten(1)", lambda x: x.flatten(1))
    axis = axis_of(failed, labels, wanted)
    if axis is not None:
        if (
            len(x.shape) == 4
            and axis == 1
            and not alike(made, wanted)
            and ({role(label.name or "") for label in labels[2:]} & {"H", "heads", "S"} == set())
        ):  # an image's channels: its places become tokens
            code = f"{name}.flatten(2).transpose(1, 2)"
            yield merged(code, lambda x: x.flatten(2).transpose(1, 2))
        mixes = alike(made, wanted) and role(wanted.name or "") not in ("n_embd", "H")
        yield moved_and_back(failed, moved(len(labels), axis, -1), back=mixes)
    if len(weight.shape) == 2 and x.shape[-1:] == weight.shape[:1] and not _of_a_layer(failed):
        yield from _kernel(failed)


def _of_a_layer(failed: Failed) -> bool:
    """Is the weight one of ``nn.Linear``? Laid out the other way it would be run backwards."""
    if isinstance(failed.op.module, nn.Linear):
        return True
    try:
        node = ast.parse(failed.names[1], mode="eval").body
    except SyntaxError:
        return False
    owner = failed.scope.value(node.value) if isinstance(node, ast.Attribute) else None
    return isinstance(owner, nn.Linear)


def _kernel(failed: Failed) -> Iterator[Candidate]:
    """Multiply by a weight (in, out), as other libraries lay it out, and add what was added."""
    (x, weight), bias = map(on, failed.names[:2]), failed.infos[2:]
    if not bias:
        yield Candidate(f"{x} @ {weight}", lambda t: t[0] @ t[1])
    elif bias[0].shape == failed.infos[1].shape[1:]:
        yield Candidate(f"{x} @ {weight} + {on(bias[0].name)}", lambda t: t[0] @ t[1] + t[2])


def _stacked_last(failed: Failed) -> bool:
    made = failed.op.made(0)
    last = len(failed.infos[0].shape) - 1
    return made is not None and made.op == "stack" and made.params.get("dim") in (-1, last)


def moved_and_back(failed: Failed, change: Change, *, back: bool) -> Candidate:
    """Write a layer on an operand whose axes were moved, and its result as they were before."""
    name = failed.names[0]
    code = failed.instead(name, change.code(name))
    undone = change.back()
    if back:
        code = undone.code(code)

    def run(t: Tensors) -> Tensor:
        result = failed.run([change.run(t[0]), *t[1:]])
        return undone.run(result) if back else result

    return Candidate(code, run)


_LENGTHS = {"conv1d": "length", "conv2d": "height, width", "conv3d": "depth, height, width"}


@clash("conv1d", "conv2d", "conv3d")
def convolution(failed: Failed) -> tuple[str, list[Candidate]]:
    x, weight = failed.infos[:2]
    name, ndim, groups = on(x.name), len(weight.shape), int(failed.op.params.get("groups", 1))
    channels = weight.shape[1] * groups
    lengths = _LENGTHS[failed.op.name]
    said = f"{failed.op.name} reads (batch, channels, {lengths})"
    if len(x.shape) not in (ndim, ndim - 1):
        said += f", but {x.name} has {len(x.shape)} axes, {x.in_names()}"
        return said, list(_counted(failed, channels))
    place = 1 if len(x.shape) == ndim else 0
    if x.shape[place] == channels:
        if "Kernel size" in str(failed.error):
            return f"{x.described()} is shorter than the kernel of {weight.described()}", []
        return kinds(failed)
    said += (
        f": axis {place} of {x.name} is {failed.size(0, place)}, but {weight.described()}, "
        f"(made, read, kernel), reads {channels} channels"
    )
    found: list[Candidate] = []
    labels, taken = failed.op.labels(failed.states[0]), failed.op.labels(failed.states[1])[1]
    wanted = taken if groups == 1 else failed.op.labels(failed.states[1])[0]
    axis = axis_of(failed, labels, wanted) if wanted.size == channels else None
    if axis is not None:
        change = moved(len(labels), axis, place)
        batch = [at for at, label in enumerate(labels) if role(label.name or "") == "batch"]
        if place and batch:  # (S, batch, C): the samples go in front
            rest = [at for at in range(len(labels)) if at not in (batch[0], axis)]
            change = Change((batch[0], axis, *rest))
        found.append(moved_and_back(failed, change, back=False))
    elif channels == 1 and place == 0:
        code = failed.instead(x.name, f"{name}.unsqueeze(1)")
        found.append(Candidate(code, failed.changed(0, lambda x: x.unsqueeze(1))))
    return said, found


def _counted(failed: Failed, channels: int) -> Iterator[Candidate]:
    """Put in the one channel that is not there, or fold two batch axes into one."""
    x, ndim = failed.infos[0], len(failed.infos[1].shape)
    if len(x.shape) == ndim - 2 and channels == 1:
        code = failed.instead(x.name, f"{on(x.name)}[:, None]")
        yield Candidate(code, failed.changed(0, lambda x: x[:, None]))
    if len(x.shape) == ndim + 1 and x.shape[2] == channels:
        code = failed.instead(x.name, f"{on(x.name)}.flatten(0, 1)")
        yield Candidate(code, failed.changed(0, lambda x: x.flatten(0, 1)))


@clash("layer_norm", "rms_norm")
def normalised(failed: Failed) -> tuple[str, list[Candidate]]:
    x = failed.infos[0]
    shape = [int(n) for n in failed.op.params.get("normalized_shape", ())]
    if list(x.shape[len(x.shape) - len(shape) :]) == shape:
        return kinds(failed)
    weight = failed.op.argument("weight")
    wanted = (
        failed.op.labels(weight) if weight is not None else [failed.op.literal(n) for n in shape]
    )
    words = [failed.op.symbols.text(label) for label in wanted]
    sizes = ", ".join(w if w == str(n) else f"{w}={n}" for w, n in zip(words, shape, strict=True))
    last = "dim" if len(shape) == 1 else f"{len(shape)} dims"
    held = ", ".join(failed.size(0, at) for at in range(-min(len(shape), len(x.shape)), 0))
    said = f"{failed.op.name} reads the last {last}, ({sizes}), but {x.name} ends in {held}"
    labels = failed.op.labels(failed.states[0])
    axis = axis_of(failed, labels, wanted[0]) if len(wanted) == 1 else None
    if axis is None:
        return said, []
    return said, [moved_and_back(failed, moved(len(labels), axis, -1), back=True)]


@clash("batch_norm", "group_norm", "instance_norm")
def channels_first(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain norms that look for channels right after the batch."""
    x = failed.infos[0]
    which = next((i for i, info in enumerate(failed.infos) if i and len(info.shape) == 1), None)
    if which is None or len(x.shape) < 2 or x.shape[1] == failed.infos[which].shape[0]:
        return kinds(failed)
    said = (
        f"{failed.op.name} reads (batch, channels, …): axis 1 of {x.name} is {failed.size(0, 1)}, "
        f"but {failed.names[which]} holds {failed.size(which, 0)} channels"
    )
    labels = failed.op.labels(failed.states[0])
    axis = axis_of(failed, labels, failed.op.labels(failed.states[which])[0])
    if axis is None:
        return said, []
    return said, [moved_and_back(failed, moved(len(labels), axis, 1), back=True)]


@clash("bilinear")
def bilinear(failed: Failed) -> tuple[str, list[Candidate]]:
    weight = failed.infos[2]
    for which in (0, 1):
        x = failed.infos[which]
        if x.shape[-1] != weight.shape[1 + which]:
            return (
                f"the layer reads {failed.size(2, 1 + which)} features of {x.name} (weight is "
                f"{weight.described()}, out × first × second), but its last dim is "
                f"{failed.size(which, -1)}"
            ), list(_changed_over(failed))
    a, b = failed.infos[:2]
    if a.shape[:-1] != b.shape[:-1]:
        return f"the axes in front must be equal: {a.described()}, {b.described()}", []
    return kinds(failed)


def _changed_over(failed: Failed) -> Iterator[Candidate]:
    a, b = failed.names[:2]
    code = failed.code.replace(f"{a}, {b}", f"{b}, {a}")
    if code != failed.code:
        yield Candidate(code, _reversed)


def _reversed(t: Tensors) -> Tensor:
    return torch.nn.functional.bilinear(t[1], t[0], *t[2:])
