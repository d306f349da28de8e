"""The cells of `book/mistakes.ipynb`: every mistake with its example, and what people reported."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator

import notebooks
from attnlib.exercises import mistakes
from cells import Cell, code, fold, markdown

REPORTED = """## What people reported

Gathered from public reports and questions, and tried here one by one: who answers each. Some of
what was reported is right as it is; that is an answer too."""
ANSWERS = {
    "check": "Named by check, in an exercise",
    "error": "Explained by trace, where the code raises",
    "warning": "Warned of by trace",
    "verify": "Found by verify, in a module",
    "symptom": "On the page of symptoms",
    "elsewhere": "Not in the code, but in the device, the version or the call",
}
GROUPS = {
    "Before any number is compared": (
        *("not-written", "raises", "too-slow", "wrong-type", "wrong-shape", "wrong-dtype"),
        *("writes-into-argument", "backward-overwritten", "not-deterministic", "fixed-device"),
    ),
    "Weights and heads": (
        *("weight-transposed", "projection-shared", "values-exchanged", "weight-twice"),
        *("split-by-view", "split-wrong-order", "kv-heads-tiled", "merge-by-view"),
        "out-projection-missing",
    ),
    "Scores and their scale": (
        *("transpose-missing", "transpose-wrong-dims", "queries-keys-exchanged", "scale-missing"),
        *("scale-n-embd", "scale-wrong-size", "scale-no-root", "scale-inverted"),
        *("scale-after-softmax", "scale-unasked"),
    ),
    "Masks": (
        *("mask-inverted", "mask-off-by-one", "mask-after-softmax", "mask-ignored"),
        *("mask-additive-01", "mask-fill-not-low-enough", "mask-fill-inf-or-nan"),
        *("zero-times-infinity", "one-length-for-all", "mask-wrong-axis", "causal-misaligned"),
        *("mask-unasked", "nan-row"),
    ),
    "Softmax and values": (
        *("softmax-wrong-dim", "softmax-twice", "softmax-epsilon", "softmax-unasked"),
        *("dropout-active", "values-unused"),
    ),
    "And else": ("wrong-gradient", "batch-mixed", "value-mismatch"),
}


def catalogue() -> Iterator[Cell]:
    """Each mistake under its id: what it says, an example, and who sees it."""
    known = {mistake.id: mistake for mistake in mistakes()}
    for group, ids in GROUPS.items():
        yield markdown(f"## {group}")
        for id_ in ids:
            mistake = known[id_]
            name = mistake.exercise.replace("-", "_")
            yield markdown(f"### `{id_}`\n\n{mistake.says} {mistake.look}")
            yield code(f'{mistake.code}\n\nshow("{id_}", {name})')
    yield markdown(REPORTED)
    for title, rows in _reports().items():
        lines = ["| what was written | answer |", "| - | - |", *(f"| {a} | {b} |" for a, b in rows)]
        yield markdown(fold(title, "\n".join(lines)))


def _reports() -> dict[str, list[tuple[str, str]]]:
    """What people reported and who answers; the tests try each row."""
    if str(notebooks.ROOT) not in sys.path:
        sys.path.append(str(notebooks.ROOT))  # the rows are kept where they are tried
    functions = importlib.import_module("tests.exercises.reported_functions").FUNCTIONS
    modules = importlib.import_module("tests.exercises.reported_modules").MODULES
    loose = importlib.import_module("tests.exercises.reported_code").CODE
    found: dict[str, list[tuple[str, str]]] = {title: [] for title in ANSWERS.values()}
    for what, _, id_, _ in functions.values():
        found[ANSWERS["check"]].append((what, f"[{id_}](#{id_})" if id_ else "passes"))
    for what, who, answer, _ in loose.values():
        shown = {
            "error": f"“{answer}”",
            "warning": f"`{answer}`",
            "symptom": f"[its symptom](from-symptom-to-page.ipynb#{answer})",
        }
        found[ANSWERS[who]].append((what, shown.get(who, answer)))
    for what, law, _ in modules.values():
        found[ANSWERS["verify"]].append((what, law or "no law breaks"))
    return {title: [(plain(a), b) for a, b in rows] for title, rows in found.items()}


def plain(words: str) -> str:
    """Keep Markdown from reading signs of code as its own."""
    return re.sub(r"([|_*~])", r"\\\1", words)
