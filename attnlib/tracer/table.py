"""The table of a trace: for terminals as wide as they are, and as Markdown."""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata

from . import folding
from .plain import readable
from .rows import Record, Step, Warning, flat

COLUMNS = ("line", "variable", "operation", "inputs", "shape", "sizes", "kind", "note")
NARROWEST, WIDEST = 60, 200
_GIVES = (
    ("inputs", 9), ("inputs", 0), ("operation", 12), ("variable", 9), ("kind", 0), ("shape", 12),
)  # fmt: skip


def cells(step: Step) -> dict[str, str]:
    """Write one row's cells as plain text."""
    return {
        "line": "" if step.line is None else str(step.line),
        "variable": step.variable or "",
        "operation": _operation(step),
        "inputs": ", ".join(info.name for info in step.inputs),
        "shape": _each([info.in_names() for info in step.outputs]),
        "sizes": _each([info.in_numbers() for info in step.outputs]),
        "kind": step.kind,
        "note": step.note,
    }


def _operation(step: Step) -> str:
    """Name what was done; of a softmax that does not run along the last axis, its axis too."""
    axis = step.params.get("dim")
    along_last = not step.outputs or axis == len(step.outputs[0].shape) - 1
    if step.op not in ("softmax", "log_softmax") or not isinstance(axis, int) or along_last:
        return step.op
    return f"{step.op}(dim={axis})"


def _each(shapes: list[str]) -> str:
    """Write the shapes of several results; three equal ones as ``3 × (batch, S)``."""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} × {shapes[0]}"
    return " ".join(shapes)


def rows_of(trace: Record) -> list[dict[str, str]]:
    """Write all rows; their lines with the file, where they come from more than one."""
    rows = [cells(step) for step in trace.steps]
    if len(_files(trace)) > 1:
        for row, step in zip(rows, trace.steps, strict=True):
            if step.file is not None and step.line is not None:
                row["line"] = f"{step.file.rpartition('/')[2]}:{step.line}"
    return rows


def columns(rows: list[dict[str, str]]) -> list[str]:
    """Name the columns that hold anything."""
    return [name for name in COLUMNS if any(row[name] for row in rows)] or list(COLUMNS)


def terminal(trace: Record, width: int | None = None) -> str:
    """Write the table for a terminal: what does not fit is shortened, the shapes last."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    width = max(NARROWEST, min(width, WIDEST))
    # Before they are measured: what stands for a sign may be longer than it.
    rows = [{name: readable(clean(cell)) for name, cell in row.items()} for row in rows_of(trace)]
    shown = columns(rows)
    notes = []
    if sum(max((_width(row[name]) for row in rows), default=0) + 2 for name in shown) > width:
        notes = _footnotes(rows)
    widths = {name: max([len(name), *(_width(row[name]) for row in rows)]) for name in shown}
    for name, least in _GIVES:
        over = sum(widths.values()) + 2 * (len(shown) - 1) - width
        if name in widths and over > 0:
            widths[name] = max(min(least, widths[name]), widths[name] - over)
            if not least and widths[name] < 6:  # no room for a readable cell
                shown.remove(name)
                del widths[name]
    lines = [_line({name: name for name in shown}, shown, widths)]
    lines.append("  ".join("─" * widths[name] for name in shown))
    for row in folding.shown(rows, trace.steps):
        lines.append(f"   ⋮  {row}" if isinstance(row, str) else _line(row, shown, widths))
    below = [part for line in after(trace) for part in _wrapped(clean(line), width)]
    return readable("\n".join([clean(heading(trace)), "", *lines, *notes, *below]))


def _wrapped(line: str, width: int) -> list[str]:
    """Wrap a sentence below the table; what is set in, code and carets, stays as it is."""
    if line.startswith(" ") or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False)


def _footnotes(rows: list[dict[str, str]]) -> list[str]:
    """Move notes that would not fit below the table; rows keep a number."""
    numbers: dict[str, int] = {}
    for row in rows:
        if row["note"]:
            row["note"] = str(numbers.setdefault(row["note"], len(numbers) + 1))
    return ["", *(f"{number}: {note}" for note, number in numbers.items())] if numbers else []


def heading(trace: Record) -> str:
    sizes = ", ".join(f"{name} = {size}" for name, size in trace.sizes.items())
    return f"{trace.title or 'trace'}: {sizes}" if sizes else trace.title or "trace"


def after(trace: Record) -> list[str]:
    lines = []
    if trace.dropped:
        why = "past max_steps, or of a kind that no row describes"
        lines += ["", f"{trace.dropped} more operations ran and are not shown: {why}"]
    if trace._checked is not None:
        lines += ["", *str(trace._checked).splitlines()]
    for warning in trace.warnings:
        lines += ["", f"warning, {_place(trace, warning)}: {warning.message}"]
    if trace.error is not None:
        lines += ["", *trace.error.message.splitlines()]
    return lines


def _place(trace: Record, warning: Warning) -> str:
    """Say where a warning belongs: the line, its file where there are several, and the code."""
    files = _files(trace)
    file = next(
        (
            s.file
            for s in flat(trace.steps)
            if (s.line, s.expression) == (warning.line, warning.code)
        ),
        None,
    )
    place = [file] if file is not None and len(files) > 1 else []
    if warning.line is not None:  # none of a layer that is traced by itself
        place.append(f"line {warning.line}")
    return ", ".join([*place, *filter(None, [" ".join(warning.code.split())])])


def _files(trace: Record) -> set[str]:
    return {step.file for step in trace.steps if step.file is not None and step.line is not None}


def _line(row: dict[str, str], shown: list[str], widths: dict[str, int]) -> str:
    parts = []
    for name in shown:
        cell = _shortened(row[name], widths[name])
        space = " " * (widths[name] - _width(cell))
        parts.append(space + cell if name == "line" else cell + space)
    return "  ".join(parts).rstrip()


def _shortened(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    cut = readable("…")
    room = width - len(cut)
    for place, sign in enumerate(text):
        room -= _width_of(sign)
        if room < 0:
            return text[:place] + cut
    return text + cut


def _width(text: str) -> int:
    return sum(map(_width_of, text))


def _width_of(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def clean(text: str) -> str:
    """Take out what a terminal would act on: escapes, other control and bidirectional signs."""
    return "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else " "
        for sign in text
    )


def markdown(trace: Record) -> str:
    """Write the table as Markdown."""
    rows = rows_of(trace)
    shown = columns(rows)
    lines = [f"| {' | '.join(shown)} |", f"|{'|'.join(' --- ' for _ in shown)}|"]
    for row in folding.shown(rows, trace.steps):
        given = (
            ["⋮", row, *[""] * (len(shown) - 2)]
            if isinstance(row, str)
            else [_markdown(row[name]) for name in shown]
        )
        lines.append(f"| {' | '.join(given)} |")
    return "\n".join(lines)


def _markdown(text: str) -> str:
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"[\\`*|\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)
