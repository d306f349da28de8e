"""Text in letters that this process's output has: a table never ends a reader's script.

Output may be ASCII under ``LC_ALL=C``, and is a code page where Windows sends it into a file.
"""

from __future__ import annotations

import sys

_INSTEAD = {
    "…": "...",
    "×": "x",
    "·": "*",
    "–": "-",
    "−": "-",
    "─": "-",
    "→": "->",
    "√": "sqrt",
    "⋮": ":",
    "✓": "ok",
    "✗": "x",
    "○": "o",
}


def readable(text: str) -> str:
    """Write in other letters what ``print`` could not encode, and nothing else.

    Example:
        >>> readable("(2×3, 4)") in ("(2×3, 4)", "(2x3, 4)")
        True
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if _encodes(text, encoding):
        return text
    return "".join(sign if _encodes(sign, encoding) else _instead(sign) for sign in text)


def _encodes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _instead(sign: str) -> str:
    """Give our signs their plain form, and a letter of the reader's code its number."""
    return _INSTEAD.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii")
