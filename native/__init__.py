"""The same head in C and in C++, called from Python. `make native` compiles both."""

from pathlib import Path

from . import c, cpp
from .building import CPP, C, missing

__all__ = ["C", "CPP", "Listing", "c", "cpp", "listing", "missing", "state"]


class Listing(str):
    """Code of another language, which a notebook shows as that."""

    language = "c"

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```{self.language}\n{self}\n```"


def listing(file: str, start: str) -> Listing:
    """Return the block of a source file that begins with a line starting so, to its closing brace.

    Example:
        >>> print(listing("head.h", "struct head"))
        struct head {
            size_t n_embd;    /* features of a token going in */
            size_t head_size; /* features of a query, key or value: H */
            real *query;      /* (n_embd, H) */
            real *key;        /* (n_embd, H) */
            real *value;      /* (n_embd, H) */
        };
    """
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(start)), None)
    if first is None:
        raise ValueError(f"listing: {file} has no line that begins with {start!r}")
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("}"))
    block = Listing("\n".join(lines[first : last + 1]))
    block.language = "cpp" if file.endswith(".cpp") else "c"
    return block


def state() -> str:
    """Say for each language which compiler made it, or why it is missing here."""
    rows = []
    for part in (C, CPP):
        reason = missing(part)
        made = "" if reason else (part.folder / "compiler").read_text().strip()
        rows.append(f"{part.language:<4}{reason or f'compiled by {made}'}")
    return "\n".join(rows)
