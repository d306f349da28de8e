"""The heads in C and C++, compiled once for the session; without a compiler these tests skip."""

from __future__ import annotations

from pathlib import Path

import pytest

from native import building


def compiled(part: building.Part) -> Path:
    """The folder of a part; a machine without a compiler skips, a compiler that refuses fails."""
    reason = building.build(part)
    if reason and part.compiler is None:
        pytest.skip(reason)
    if reason:
        pytest.fail((part.folder / "failed").read_text())
    return part.folder


@pytest.fixture(scope="session")
def c_folder() -> Path:
    return compiled(building.C)


@pytest.fixture(scope="session")
def cpp_folder() -> Path:
    return compiled(building.CPP)
