"""Write `.binder/requirements.txt`: what the notebooks need to run, at the book's own pins.

    .venv/bin/python tools/binder.py          write the file
    .venv/bin/python tools/binder.py check    fail if it is not what would be written

Binder builds an image from it: no tests, no Sphinx, no CUDA.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

from environment import BELONGS_TO_TORCH, CPU_INDEX, ROOT, pins, split

FILE = ROOT / ".binder" / "requirements.txt"
RUN = ("torch", "jaxtyping", "numpy", "matplotlib", "ipykernel", "ipywidgets", "jupyterlab")
HEAD = f"""\
# Written by tools/binder.py from requirements.txt: what runs the notebooks, and nothing else.
--extra-index-url {CPU_INDEX}
"""


# Whatever machine writes the file: an image of Binder is Linux, with the Python of runtime.txt.
IMAGE = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "extra": "",
}


def needed(names: tuple[str, ...]) -> set[str]:
    """Follow what each package asks for, without extras and without torch's CUDA."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name.startswith(BELONGS_TO_TORCH):
            continue
        found.add(name)
        wanted = [Requirement(line) for line in asked(name)]
        waiting += [w.name for w in wanted if not w.marker or w.marker.evaluate(IMAGE)]
    return found


def asked(name: str) -> list[str]:
    """What a package asks for; one that only the image's Python needs may be missing here."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def text() -> str:
    names = needed(RUN)
    kept = [pin for pin in pins() if split(pin.split(";")[0])[0] in names]
    kept = [pin + "+cpu" if pin.startswith("torch==") else pin for pin in kept]
    return HEAD + "\n".join(kept) + "\n-e .\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", nargs="?", choices=("write", "check"), default="write")
    if parser.parse_args().action == "write":
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(text())
        return 0
    if FILE.read_text() == text():
        return 0
    print("requirements.txt has changed: run tools/binder.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
