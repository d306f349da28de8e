"""Clashes of axis numbers and pieces: transposes, reductions, splits, expand."""

from __future__ import annotations

import ast
import re

from ..operations import SIGNATURES
from .alignment import fits
from .calls import call_of, with_argument, with_operand
from .clash import Candidate, Failed, clash, on
from .cuts import word
from .kinds import kinds
from .plain import plain

_NUMBERED = re.compile(r"Dimension out of range.*got (-?\d+)", re.DOTALL)


def numbered(failed: Failed) -> tuple[str, list[Candidate]] | None:
    """Explain an axis that a tensor does not have."""
    found = _NUMBERED.search(str(failed.error))
    if found is None or not failed.infos:
        return None
    if len({len(info.shape) for info in failed.infos}) > 1 and failed.op.name in ("cat", "stack"):
        return None  # some lack an axis
    x, asked = failed.infos[0], int(found.group(1))
    n = len(x.shape)
    said = f"{x.name} has {n} axes, so an axis is one of {-n} … {n - 1}, not {asked}"
    if failed.op.name == "transpose":
        return said, [Candidate(f"{on(x.name)}.transpose(-2, -1)")] if n > 1 else []
    words = SIGNATURES.get(failed.op.name, ["input", "dim"])
    if asked < n or "dim" not in words or failed.op.name in ("unflatten", "cat", "stack"):
        return said, []
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if failed.op.name == "squeeze":  # of another axis it takes nothing away
        code = with_argument(failed, "dim", str(ones[0])) if len(ones) == 1 else None
        return said, [Candidate(code)] if code is not None else []
    node = call_of(failed)
    if node is None or any(isinstance(word.value, ast.Tuple) for word in node.keywords):
        return said, []
    code = with_argument(failed, "dim", "-1")  # numbers of four axes on three: the last was meant
    return said, [Candidate(code)] if code is not None else []


@clash("transpose", "permute", "movedim")
def order(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain axes that are put in an order."""
    if not failed.infos:
        return "", []
    x = failed.infos[0]
    n, turned = len(x.shape), f"{on(x.name)}.transpose(-2, -1)"
    if "t() expects" in str(failed.error):
        said = f"t() takes at most two axes, but {x.described()} has {n}"
        return said, [Candidate(turned)]
    if failed.op.torch_name in ("mT", "mH", "adjoint") and n < 2:
        return f".{failed.op.torch_name} swaps the last two axes, but {x.described()} has {n}", []
    dims = failed.op.params.get("dims", ())
    if failed.op.name == "permute" and len(dims) != n:
        said = f"{x.described()} has {n} axes, but permute is given {len(dims)}"
        written = [int(ast.literal_eval(word)) for word in _dims(failed)]
        ends = [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
        return said, [Candidate(turned)] if written == ends and n > 1 else []
    return numbered(failed) or kinds(failed)


def _dims(failed: Failed) -> list[str]:
    """Return the axes of a ``permute`` as they are written, if they are numbers."""
    words = failed.op.written_sizes()
    return words if all(re.fullmatch(r"-?\d+", word) for word in words) else []


@clash("split", "chunk", "tensor_split")
def pieces(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain pieces that do not add up to the axis they are taken from."""
    if not failed.infos:
        return "", []
    x, sizes = failed.infos[0], failed.op.params.get("split_size")
    axis = failed.op.params.get("dim", 0)
    if not isinstance(sizes, tuple | list) or not all(isinstance(n, int) for n in sizes):
        return numbered(failed) or kinds(failed)
    if not isinstance(axis, int) or axis >= len(x.shape):
        return numbered(failed) or kinds(failed)
    total = sum(sizes)
    said = (
        f"the pieces {' + '.join(map(str, map(int, sizes)))} = {total} do not add up to axis "
        f"{axis} of {x.name}, {failed.size(0, axis)}"
    )
    fitting = [p for p, size in enumerate(x.shape) if size == total]
    if len(fitting) != 1:
        return said, []
    place = -1 if fitting[0] == len(x.shape) - 1 else fitting[0]
    code = with_argument(failed, "dim", str(place))
    return said, [Candidate(code)] if code is not None else []


@clash("expand")
def expand(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain an axis that is neither 1 nor as large as it is asked to be."""
    if not failed.infos:
        return "", []
    x, sizes = failed.infos[0], failed.op.params.get("shape", ())
    sizes = [int(n) for n in sizes if isinstance(n, int)]
    words = failed.op.written_sizes()
    if len(sizes) < len(x.shape):
        said = f"{x.described()} has {len(x.shape)} axes, but expand is given {len(sizes)}"
        if len(words) != len(sizes):
            return said, []
        more = [*words, *["-1"] * (len(x.shape) - len(sizes))]
        return said, [Candidate(f"{on(x.name)}.expand({', '.join(more)})")]
    offset = len(sizes) - len(x.shape)
    mine = failed.op.labels(failed.states[0])
    wanted = [
        failed.op.size("shape", p, failed.op.params["shape"][p]) if n >= 0
        else mine[p - offset] if p >= offset else failed.op.literal(1)
        for p, n in enumerate(sizes)
    ]  # fmt: skip
    for axis, size in reversed(list(enumerate(x.shape))):
        asked = sizes[axis + offset]
        if asked in (-1, size) or size == 1:
            continue
        name = wanted[axis + offset].name
        said = (
            f"expand repeats an axis of 1 only: axis {axis - len(x.shape)} of {x.name} is "
            f"{failed.size(0, axis)}, asked for {f'{name} = ' if name else ''}{asked}"
        )
        found = [
            Candidate(with_operand(failed, 0, fit.code(x.name)))
            for fit in fits(failed, mine, wanted)
        ]
        rest = [p for p in range(len(x.shape)) if p != axis]
        if asked % size == 0 and all(sizes[p + offset] in (-1, x.shape[p]) for p in rest):
            code = f"{on(x.name)}.repeat_interleave({asked // size}, dim={axis})"
            found.append(Candidate(code))
        return said, found
    return numbered(failed) or kinds(failed)


@clash("expand_as")
def expand_as(failed: Failed) -> tuple[str, list[Candidate]]:
    """Explain a tensor that does not lie under the one it is to be as large as."""
    if len(failed.infos) < 2:
        return "", []
    x, other = failed.infos[:2]
    mine, wanted = (failed.op.labels(state) for state in failed.states[:2])
    found = [
        Candidate(with_operand(failed, 0, fit.code(x.name))) for fit in fits(failed, mine, wanted)
    ]
    return f"{x.described()} does not lie under {other.described()}, from the last axis", found


@clash("softmax", "log_softmax", "unsqueeze", "squeeze", "sum", "mean", "flatten", "select",
       "logsumexp", "amax", "amin", "max", "min", "argmax", "argmin", "cumsum", "topk", "sort",
       "var", "std", "norm", "prod", "any", "all", "unbind", "narrow", "flip", "roll")  # fmt: skip
def axes(failed: Failed) -> tuple[str, list[Candidate]]:
    return numbered(failed) or _too_many(failed) or plain(failed) or kinds(failed)


def _too_many(failed: Failed) -> tuple[str, list[Candidate]] | None:
    """Explain a ``topk`` of more than there are."""
    if failed.op.name != "topk" or "out of range" not in str(failed.error):
        return None
    x, k = failed.infos[0], failed.op.params.get("k")
    axis = failed.op.params.get("dim", len(x.shape) - 1)
    if not isinstance(k, int) or k <= x.shape[axis]:
        return None
    said = f"topk asks for {int(k)} of {failed.size(0, axis)}, axis {axis} of {x.name}"
    code = with_argument(failed, "k", word(failed, 0, axis))
    return said, [Candidate(code)] if code is not None else []
