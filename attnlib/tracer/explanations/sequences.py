"""Clashes in torch's own layers over sequences: attention, transformer blocks, recurrences.

What the reader's call gave is told, and mended: inside, these layers have laid it out anew.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterator
from typing import Any

from torch import nn

from ...dims import role
from ..frames import LIBRARY, kind_of
from ..rows import TensorInfo
from .clash import on
from .layer_calls import Changes, LayerCall
from .scope import Scope
from .unpacked import Describe

Told = tuple[list[TensorInfo], str, list[str]]

# What asks, what is asked, the mask between the two, and the padding of what is asked.
_ENCODER = (("src", "src", "src_mask", "src_key_padding_mask"),)
_DECODER = (
    ("tgt", "tgt", "tgt_mask", "tgt_key_padding_mask"),
    ("tgt", "memory", "memory_mask", "memory_key_padding_mask"),
)
_READS: dict[type[nn.Module], tuple[tuple[str, str, str, str], ...]] = {
    nn.MultiheadAttention: (("query", "key", "attn_mask", "key_padding_mask"),),
    nn.TransformerEncoderLayer: _ENCODER,
    nn.TransformerEncoder: (("src", "src", "mask", "src_key_padding_mask"),),
    nn.TransformerDecoderLayer: _DECODER,
    nn.TransformerDecoder: _DECODER,
    nn.Transformer: (
        *_ENCODER,
        ("tgt", "tgt", "tgt_mask", "tgt_key_padding_mask"),
        ("tgt", "src", "memory_mask", "memory_key_padding_mask"),
    ),
}
_SEQUENCES = ("query", "key", "value", "src", "tgt", "memory")
_ALL_TRUE = re.compile(r"attention|keep|valid|attend", re.IGNORECASE)  # masks of what may be read


def sequences(
    node: ast.AST | None, scope: Scope, describe: Describe, error: BaseException
) -> Told | None:
    """Explain a call of one of these layers; None if the expression is none."""
    if not isinstance(node, ast.Call):
        return None
    module: Any = scope.value(node.func)
    if isinstance(node.func, ast.Call | ast.Subscript):  # made, or picked, where it is called
        module = _called(error)
    kind = next((kind for kind in (*_READS, nn.RNNBase) if isinstance(module, kind)), None)
    if kind is None:
        return None
    call = LayerCall.read(node, module, scope, describe)
    said, found = (_recurrence if kind is nn.RNNBase else _attention)(call)
    infos = list({info.name: info for info in call.given.values()}.values())
    return infos, said, [code for code in map(call.written, found) if code is not None]


def _called(error: BaseException) -> object:
    """Return the layer of torch's own that the innermost line of the reader's called."""
    found: object = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        held = frame.f_locals.get("self")
        if kind_of(frame.f_code.co_filename) is not LIBRARY:
            found = None
        elif found is None and isinstance(held, (*_READS, nn.RNNBase)):
            found = held
    return found


def _attention(call: LayerCall) -> tuple[str, list[Changes]]:
    first = bool(getattr(call.module, "batch_first", _inner(call.module).batch_first))
    width = _inner(call.module).embed_dim
    order = "(batch, S, n_embd)" if first else "(S, batch, n_embd)"
    reads = next(reads for kind, reads in _READS.items() if isinstance(call.module, kind))
    name = type(call.module).__name__
    said = f"nn.{name} was built with batch_first={first} and reads {order}"
    if not first:
        said += ", with batch_first=True (batch, S, n_embd)"
    sequences: dict[str, TensorInfo] = {
        n: call.given[n] for n in _SEQUENCES if n in call.given and len(call.given[n].shape) == 3
    }
    wide = [n for n, info in sequences.items() if info.shape[-1] != _width(call, n, width)]
    if wide:
        info = sequences[wide[0]]
        said += f", n_embd = {width}: {info.described()} ends in {info.shape[-1]}"
        return said, list(_turned(sequences, wide, width))
    if not sequences:
        return said, []
    batch = 0 if first else 1
    sizes = {n: info.shape[batch] for n, info in sequences.items()}
    asked = next(iter(sequences))
    for n, info in sequences.items():
        if sizes[n] != sizes[asked]:
            q = sequences[asked]
            said += (
                f"; so axis {batch} is the batch: the batch of {q.name} is {q.axis(batch)}, of "
                f"{info.name} {info.axis(batch)}"
            )
            return said, list(_laid_out(sequences, batch))
    for query, key, mask, padding in reads:
        if query not in sequences or key not in sequences:
            continue
        q, k = sequences[query], sequences[key]
        told = _padding(call, k, padding, mask, batch) or _mask(call, q, k, mask, padding, batch)
        if told is not None:
            wrong = [] if told[1] else list(_laid_out(sequences, batch))
            return f"{said}; {told[0]}", [*told[1], *wrong]
    return said, list(_laid_out(sequences, batch))


def _inner(module: nn.Module) -> nn.MultiheadAttention:
    found = (part for part in module.modules() if isinstance(part, nn.MultiheadAttention))
    return next(found)


def _width(call: LayerCall, name: str, width: int) -> int:
    own = {"key": "kdim", "value": "vdim"}.get(name)
    return int(getattr(call.module, own, width) or width) if own else width


def _turned(sequences: dict[str, TensorInfo], wide: list[str], width: int) -> Iterator[Changes]:
    changes = {}
    for name in wide:
        info = sequences[name]
        found = [axis for axis, size in enumerate(info.shape[:-1]) if size == width]
        if len(found) != 1 or role(info.dims[found[0]]) in ("batch", "S", "heads"):
            return
        changes[name] = f"{on(info.name)}.transpose({found[0]}, {len(info.shape) - 1})"
    yield changes


def _laid_out(sequences: dict[str, TensorInfo], batch: int) -> Iterator[Changes]:
    """Change the two axes in front over, of each sequence whose names say so."""
    changes = {
        name: f"{on(info.name)}.transpose(0, 1)"
        for name, info in sequences.items()
        if role(info.dims[1 - batch]) == "batch"
    }
    if changes:
        yield changes


def _padding(
    call: LayerCall, k: TensorInfo, name: str, mask: str, batch: int
) -> tuple[str, list[Changes]] | None:
    """Explain a padding mask: bool, (batch, keys)."""
    pad = call.given.get(name)
    if pad is None:
        return None
    wanted = (k.shape[batch], k.shape[1 - batch])
    if not pad.dtype.startswith(("bool", "float", "bfloat")):
        keeps = _ALL_TRUE.search(pad.name)
        text = f"{on(pad.name)} == 0" if keeps else f"{on(pad.name)}.bool()"
        return f"{pad.name} is {pad.dtype}, but a padding mask is bool, True to leave out", [
            {name: text}
        ]
    if pad.shape == wanted:
        return None
    said = f"{name} is (batch, keys) = {wanted}, but {pad.described()}"
    found: list[Changes] = []
    if role(k.dims[1 - batch]) == "batch" and pad.shape == wanted[::-1]:
        return said, []  # the mask is right, and the sequence lies the other way round
    if pad.shape == wanted[::-1]:
        found.append({name: f"{on(pad.name)}.transpose(0, 1)"})
    if (
        len(pad.shape) == 2
        and pad.shape[0] == pad.shape[1] == wanted[1]
        and (mask not in call.texts)
    ):
        found.append({name: f"{mask}={pad.name}"})
    squeezed = tuple(n for n in pad.shape if n != 1)
    if len(pad.shape) > 2 and squeezed == wanted:
        index = ", ".join(":" if n != 1 else "0" for n in pad.shape)
        found.append({name: f"{on(pad.name)}[{index}]"})
    return said, found


def _mask(
    call: LayerCall, q: TensorInfo, k: TensorInfo, name: str, padding: str, batch: int
) -> tuple[str, list[Changes]] | None:
    """Explain a mask between queries and keys: (S, S) for all, or (batch*heads, S, S)."""
    mask = call.given.get(name)
    if mask is None:
        return None
    heads, text = _inner(call.module).num_heads, on(mask.name)
    samples, rows, columns = q.shape[batch], q.shape[1 - batch], k.shape[1 - batch]
    if not mask.dtype.startswith(("bool", "float", "bfloat")):
        return f"{mask.name} is {mask.dtype}, but a mask is bool, True to leave out", [
            {name: f"{text} == 0" if _ALL_TRUE.search(mask.name) else f"{text}.bool()"}
        ]
    if mask.shape in ((rows, columns), (samples * heads, rows, columns)):
        return None
    said = (
        f"{name} is (queries, keys) = {(rows, columns)}, or (batch*heads, queries, keys) = "
        f"{(samples * heads, rows, columns)}, but {mask.described()}"
    )
    found: list[Changes] = []
    word = f"{ast.unparse(call.node.func)}.num_heads"
    if not isinstance(call.module, nn.MultiheadAttention):
        word = str(heads)
    if mask.shape == (samples, rows, columns):
        found.append({name: f"{text}.repeat_interleave({word}, dim=0)"})
    if mask.shape == (samples, heads, rows, columns):
        found.append({name: f"{text}.flatten(0, 1)"})
    if mask.shape == (samples, 1, rows, columns):
        found.append({name: f"{text}.repeat_interleave({word}, dim=1).flatten(0, 1)"})
    if mask.shape == (samples, columns) and padding not in call.texts:
        found.append({name: f"{padding}={mask.name}"})
    if len(mask.shape) == 2 and mask.shape[0] >= rows and mask.shape[1] >= columns:
        found.append({name: f"{text}[:{rows}, :{columns}]"})
    if mask.shape == (columns, rows):
        found.append({name: f"{text}.transpose(0, 1)"})
    found += _other_side(call, mask, name, 1 - batch)
    return said, found


def _other_side(call: LayerCall, mask: TensorInfo, name: str, tokens: int) -> Iterator[Changes]:
    """Pass a mask to the side whose sequences are as long."""
    reads = next(reads for kind, reads in _READS.items() if isinstance(call.module, kind))
    for query, key, other, _ in reads:
        if other == name or other in call.texts or not {query, key} <= call.given.keys():
            continue
        if mask.shape == (call.given[query].shape[tokens], call.given[key].shape[tokens]):
            yield {name: f"{other}={call.texts[name]}"}


def _recurrence(call: LayerCall) -> tuple[str, list[Changes]]:
    module = call.module
    assert isinstance(module, nn.RNNBase)
    x, hidden = call.given.get("input"), call.given.get("hx")
    first = module.batch_first
    order = "(batch, S, features)" if first else "(S, batch, features)"
    said = f"nn.{type(module).__name__} was built with batch_first={first} and reads {order}"
    if x is None or len(x.shape) not in (2, 3):
        return said, []
    if x.shape[-1] != module.input_size:
        said += f" of {module.input_size} features: {x.described()} ends in {x.shape[-1]}"
        return said, list(_turned({"input": x}, ["input"], module.input_size))
    if hidden is None or len(x.shape) != 3:
        return said, []
    layers = module.num_layers * (2 if module.bidirectional else 1)
    wanted = (layers, x.shape[0 if first else 1], module.proj_size or module.hidden_size)
    said += f"; its state is (layers, batch, hidden) = {wanted}, but {hidden.described()}"
    text = on(hidden.name)
    found: list[Changes] = []
    if hidden.shape == wanted[1:] and layers == 1:
        found.append({"hx": f"{text}.unsqueeze(0)"})
    if hidden.shape == (wanted[1], wanted[0], wanted[2]):
        found.append({"hx": f"{text}.transpose(0, 1).contiguous()"})
    if hidden.shape == (layers, x.shape[1 if first else 0], wanted[2]):
        found.append({"input": f"{on(x.name)}.transpose(0, 1)"})
    return said, found
