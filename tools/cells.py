"""Cells that a tool makes: prose, code, folds; all of them carry one tag."""

from __future__ import annotations

from typing import Any

TAG = "exercise"
Cell = dict[str, Any]


def fold(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def fence(code: str) -> str:
    return f"```python\n{code}\n```"


def markdown(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {"tags": [TAG]}, "source": source}


def code(source: str) -> Cell:
    return {
        "cell_type": "code", "metadata": {"tags": [TAG]}, "source": source,
        "execution_count": None, "outputs": [],
    }  # fmt: skip
