"""The table of a trace: for terminals as wide as they are, for notebooks, and as Markdown."""

from __future__ import annotations

import html as _html
import os
import re
import shutil
import tempfile
import unicodedata

from .rows import Record, Step

COLUMNS = ("line", "variable", "operation", "inputs", "shape", "sizes", "kind", "note")
NARROWEST, WIDEST = 60, 200
FEWEST_FOLDED = 5  # rows; fewer are not worth the reader's question what stood there
_GIVES = (
    ("inputs", 9), ("inputs", 0), ("operation", 12), ("variable", 9), ("kind", 0), ("shape", 12),
)  # fmt: skip


def cells(step: Step) -> dict[str, str]:
    """Write one row's cells as plain text."""
    return {
        "line": "" if step.line is None else str(step.line),
        "variable": step.variable or "",
        "operation": step.op,
        "inputs": ", ".join(info.name for info in step.inputs),
        "shape": _each([info.in_names() for info in step.outputs]),
        "sizes": _each([info.in_numbers() for info in step.outputs]),
        "kind": step.kind,
        "note": step.note,
    }


def _each(shapes: list[str]) -> str:
    """Write the shapes of several results; three equal ones as ``3 × (batch, S)``."""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} × {shapes[0]}"
    return " ".join(shapes)


def rows_of(trace: Record) -> list[dict[str, str]]:
    """Write all rows."""
    return [cells(step) for step in trace.steps]


def terminal(trace: Record, width: int | None = None) -> str:
    """Write the table for a terminal: what does not fit is shortened, the shapes last."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    width = max(NARROWEST, min(width, WIDEST))
    rows = [{name: clean(cell) for name, cell in row.items()} for row in rows_of(trace)]
    folds = folded(rows)
    shown = [name for name in COLUMNS if any(row[name] for row in rows)] or list(COLUMNS)
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
    for place, row in enumerate(rows):
        if folds[place] is None:
            lines.append(_line(row, shown, widths))
        elif folds[place]:
            lines.append(f"   ⋮  {folds[place]}")
    return "\n".join([clean(_heading(trace)), "", *lines, *notes, *map(clean, _after(trace))])


def folded(rows: list[dict[str, str]]) -> list[str | None]:
    """Fold rows that repeat, layer after layer: None for a row that is shown, else what is said."""
    told: list[str | None] = [None] * len(rows)
    signs = [tuple(cell for name, cell in row.items() if name != "inputs") for row in rows]
    last: dict[tuple, int] = {}  # where a row like this one was seen before
    place = 0
    while place < len(rows):
        before = last.get(signs[place], place)
        last[signs[place]] = place
        period = place - before
        times = 0
        while (
            period
            and signs[before : before + period]
            == signs[place + times * period : place + (times + 1) * period]
        ):
            times += 1
        if times * period < FEWEST_FOLDED:
            place += 1
            continue
        what = "this row" if period == 1 else f"these {period} rows"
        told[place : place + times * period] = [""] * (times * period)
        told[place] = f"{what} {times} more time{'s' if times > 1 else ''}"
        place += times * period
    return told


def _footnotes(rows: list[dict[str, str]]) -> list[str]:
    """Move notes that would not fit below the table; rows keep a number."""
    numbers: dict[str, int] = {}
    for row in rows:
        if row["note"]:
            row["note"] = str(numbers.setdefault(row["note"], len(numbers) + 1))
    return ["", *(f"{number}: {note}" for note, number in numbers.items())] if numbers else []


def _heading(trace: Record) -> str:
    sizes = ", ".join(f"{name} = {size}" for name, size in trace.sizes.items())
    return f"{trace.title or 'trace'}: {sizes}" if sizes else trace.title or "trace"


def _after(trace: Record) -> list[str]:
    lines = []
    if trace.dropped:
        lines += ["", f"{trace.dropped} more operations ran and are not shown (max_steps)"]
    if trace._checked is not None:
        lines += ["", *str(trace._checked).splitlines()]
    for warning in trace.warnings:
        lines += ["", f"warning, line {warning.line}: {warning.message}"]
    if trace.error is not None:
        lines += ["", *trace.error.message.splitlines()]
    return lines


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
    while text and _width(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def clean(text: str) -> str:
    """Take out what a terminal would act on: escapes, other control and bidirectional signs."""
    return "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else " "
        for sign in text
    )


def markdown(trace: Record) -> str:
    """Write the table as Markdown."""
    rows = rows_of(trace)
    shown = [name for name in COLUMNS if any(row[name] for row in rows)] or list(COLUMNS)
    lines = [f"| {' | '.join(shown)} |", f"|{'|'.join(' --- ' for _ in shown)}|"]
    lines += [f"| {' | '.join(_markdown(row[name]) for name in shown)} |" for row in rows]
    return "\n".join(lines)


def _markdown(text: str) -> str:
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"[\\`*|\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)


def html(trace: Record) -> str:
    """Write the table as HTML, where the player cannot be loaded."""
    rows = rows_of(trace)
    shown = [name for name in COLUMNS if any(row[name] for row in rows)] or list(COLUMNS)
    escape = _html.escape
    head = "".join(f'<th scope="col">{name}</th>' for name in shown)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(clean(row[name]))}</td>" for name in shown) + "</tr>"
        for row in rows
    )
    after = "".join(f"<p>{escape(clean(line))}</p>" for line in _after(trace) if line)
    caption = f"<caption>{escape(clean(_heading(trace)))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def save_html(trace: Record, path) -> None:
    """Write the table as one HTML file: beside its place first, then renamed."""
    target = os.path.abspath(path)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{_html.escape(clean(trace.title))}</title></head><body>{html(trace)}</body></html>"
    )
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise
