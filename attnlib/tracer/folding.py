"""Rows that repeat, layer after layer, are told once."""

from __future__ import annotations

FEWEST = 5  # rows; fewer are not worth the reader's question what stood there
LOOKED_AT = 12  # earlier rows of the same kind: a layer may hold as many

Row = dict[str, str]


def folded(rows: list[Row]) -> list[str | None]:
    """Fold rows that repeat: None for a row that is shown, else what stands in its place."""
    told: list[str | None] = [None] * len(rows)
    signs = [_sign(row) for row in rows]
    seen: dict[tuple, list[int]] = {}  # where rows like this one stood before
    place = 0
    while place < len(rows):
        before = seen.setdefault(signs[place], [])
        period, times = _repeated(rows, signs, before[-LOOKED_AT:], place)
        before.append(place)
        if times * period < FEWEST:
            place += 1
            continue
        what = "this row" if period == 1 else f"these {period} rows"
        told[place : place + times * period] = [""] * (times * period)
        told[place] = f"{what} {times} more time{'s' if times > 1 else ''}"
        place += times * period
    return told


def _repeated(
    rows: list[Row], signs: list[tuple], before: list[int], place: int
) -> tuple[int, int]:
    """Find how many rows before this one are repeated from here on, and how often; most wins."""
    best = (1, 0)
    for start in before:
        period, times = place - start, 0
        while _alike(rows, signs, start, place + times * period, period):
            times += 1
        best = max(best, (period, times), key=lambda found: found[0] * found[1])
    return best


def _sign(row: Row) -> tuple:
    return tuple(cell for name, cell in row.items() if name not in ("inputs", "variable"))


def _alike(rows: list[Row], signs: list[tuple], first: int, second: int, period: int) -> bool:
    """Do as many rows say the same? What a layer gives may land in another variable, or in none."""
    if signs[first : first + period] != signs[second : second + period]:
        return False
    return all(
        rows[first + n]["variable"] == rows[second + n]["variable"] for n in range(period - 1)
    )


def shown(rows: list[Row]) -> list[Row | str]:
    """Return the rows that are shown, and what is said in place of the others."""
    pairs = zip(rows, folded(rows), strict=True)
    return [row if told is None else told for row, told in pairs if told != ""]
