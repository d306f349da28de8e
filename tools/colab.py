"""The cell that gets `attnlib` in Colab: the same in every notebook, written and never typed.

It stands below the title, is left out of the pages, and does nothing anywhere but in Colab. There
it installs the wheel of the release that this copy belongs to, whose address and checksum
`tools/release.py` has written into `tools/release.json`; torch stays as Colab has it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("release.json")
ID = "colab"
START = """\
# @title In Colab, run this first: {says}. Elsewhere it does nothing.
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules and find_spec("attnlib") is None:
"""
BEFORE_A_RELEASE = """\
    print("No release yet: run  !pip install git+https://github.com/OWNER/NAME  where OWNER/NAME "
          "is what stands behind /github/ in this page's address.")
"""
FROM_A_RELEASE = """\
    import importlib, subprocess
    from importlib.metadata import version

    wheel = "{wheel}"
    wheel += "#sha256={sha256}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The installed torch is asked for by name, so that pip fails rather than replaces it.
    wanted = ["attnlib @ " + wheel, "torch==" + version("torch")]
    done = subprocess.run([*pip, *wanted], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("attnlib was not installed: " + done.stderr.strip().splitlines()[-1])
    importlib.invalidate_caches()
"""

Cell = dict[str, Any]


def source(record: dict[str, str] | None) -> str:
    """Write the cell's code for a release, or for a copy that has none yet."""
    start = START.format(says="it gets the library" if record else "it says how to get the library")
    return (start + (FROM_A_RELEASE.format(**record) if record else BEFORE_A_RELEASE)).rstrip("\n")


def released() -> dict[str, str] | None:
    """Read `version`, `wheel` and `sha256` of this copy's release, if there is one."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None


def is_ours(cell: Cell) -> bool:
    return cell.get("id") == ID


def placed(cells: list[Cell], record: dict[str, str] | None) -> list[Cell]:
    """Return the cells with this one below the title, whichever stood there.

    What other cells printed may name their numbers: run the notebook where this cell is new.
    """
    others = [cell for cell in cells if not is_ours(cell)]
    own: Cell = {
        "cell_type": "code",
        "id": ID,
        # Colab shows the title in place of the code, JupyterLab folds it.
        "metadata": {
            "cellView": "form",
            "jupyter": {"source_hidden": True},
            "tags": ["remove-cell"],
        },
        "source": source(record),
        "execution_count": 1,
        "outputs": [],
    }
    return [*others[:1], own, *others[1:]]
