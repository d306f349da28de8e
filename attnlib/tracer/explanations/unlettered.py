"""What stands in an equation of einsum and is no letter: a dash for the arrow, ``;`` for ``,``."""

from __future__ import annotations

import functools
import re

import torch
from torch import Tensor

from .clash import Candidate, Failed, Tensors

_ARROW = re.compile(r"[-=–—]+>?|[>→⇒]")
_BETWEEN = ";|/&"  # taken for the comma between two terms
_KNOWN = re.compile(r"[A-Za-z\s,.]")


def unlettered(failed: Failed, text: str) -> tuple[str, list[Candidate]] | None:
    """Explain a sign that einsum does not read; None where each is read."""
    arrows = _ARROW.findall(text)
    if len(arrows) == 1 and arrows[0] != "->":
        said = f"-> stands before the result, but {text} has {arrows[0]}"
        return said, _written(failed, text, text.replace(arrows[0], "->"))
    rest = text.replace("->", "", 1)
    odd = dict.fromkeys(sign for sign in rest if not _KNOWN.match(sign))
    if not odd:
        return None
    sign = next(iter(odd))
    left = re.split(rf"[,{_BETWEEN}]", text.partition("->")[0])
    if sign in _BETWEEN and len(odd) == 1 and len(left) == len(failed.infos):
        said = f"a comma stands between two terms, but {text} has {sign}"
        return said, _written(failed, text, text.replace(sign, ","))
    term = next(term for term in re.split("->|,", text) if sign in term).strip()
    said = f"{term} has {sign}, which is no letter"
    only_joined = set(odd) == {"_"}  # ``b_s_d``: of another sign nothing says what it stands for
    return said, _written(failed, text, text.replace("_", "")) if only_joined else []


def _written(failed: Failed, text: str, new: str) -> list[Candidate]:
    code = failed.code.replace(text, new)
    return [Candidate(code, functools.partial(_einsum, new))] if code != failed.code else []


def _einsum(equation: str, t: Tensors) -> Tensor:
    return torch.einsum(equation, *t)
