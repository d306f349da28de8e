"""Make functions of the bodies that the corpora hold."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable

import einops
import numpy
import torch
import torch.nn.functional as F

from attnlib.exercises import exercises

ARGUMENTS = {exercise.id: ", ".join(exercise.dims) for exercise in exercises()}


def function(exercise: str, body: str) -> Callable:
    """Compile a body as the function of an exercise; its source stays readable for tracebacks."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    name = exercise.replace("-", "_")
    text = f"def {name}({ARGUMENTS[exercise]}):\n{lines}\n"
    file = f"<{exercise} {hash(body)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {
        "torch": torch, "F": F, "nn": torch.nn, "math": math, "einops": einops, "np": numpy,
    }  # fmt: skip
    exec(compile(text, file, "exec"), space)
    return space[name]
