"""Prepare a release, and check that a tree is one: one version, one wheel, one checksum.

    .venv/bin/python tools/release.py prepare 0.2.0   write the version, its date and its checksum
    .venv/bin/python tools/release.py check v0.2.0    fail unless this tree is that release

The wheel does not hold the notebooks, and is the same on every machine: so its checksum can stand
in the notebooks of the same commit. `check` runs where the tag is built and leaves the wheel and
the notes in `dist/`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import colab
import notebooks
import package
from environment import ROOT

sys.path.append(str(ROOT / "book" / "_ext"))
import repository

VERSION = re.compile(r'^__version__ = "(.*)"$', re.M)
UNRELEASED = "## Unreleased\n"


class NotReady(Exception):
    """One line for the person at the terminal."""


def version(root: Path = ROOT) -> str:
    """Read the version where it is written."""
    found = VERSION.search((root / "attnlib" / "__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def numbers(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise NotReady(f"{version} is no version: three numbers, as 0.2.0")
    return tuple(int(number) for number in version.split("."))


def notes(version: str, root: Path = ROOT) -> str:
    """Give what the changelog says of a version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found else ""


# --- prepare -----------------------------------------------------------------------------------


def prepare(
    new: str, today: str, root: Path = ROOT, environ: Mapping[str, str] = os.environ
) -> str:
    """Write everything that names the release; return the checksum of its wheel."""
    home = repository.find(environ, root)
    if home is None or home.host != "github.com":
        raise NotReady("the wheel needs an address: this copy has no remote `origin` on GitHub")
    record = root / "tools" / colab.RECORD.name
    last = json.loads(record.read_text())["version"] if record.exists() else "0.0.0"
    if numbers(new) <= numbers(last):
        raise NotReady(f"{new} is not newer than {last}")
    if not notes("Unreleased", root):
        raise NotReady("CHANGELOG.md says nothing under `Unreleased`")
    _replace(root / "attnlib" / "__init__.py", VERSION, f'__version__ = "{new}"')
    cited = f"version: {new}\ndate-released: {today}"
    _replace(root / "CITATION.cff", re.compile(r"^version: .*(\ndate-released: .*)?$", re.M), cited)
    heading = f"{UNRELEASED}\n## {new}, {today}\n"
    _replace(root / "CHANGELOG.md", re.compile(f"^{UNRELEASED}", re.M), heading)
    wheel = package.build(root / "dist", root)
    address = f"{home.url}/releases/download/v{new}/{wheel.name}"
    written = {"version": new, "wheel": address, "sha256": package.checksum(wheel)}
    record.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    for path in sorted((root / "book").glob("*.ipynb")):
        _renew(path, written)
    return written["sha256"]


def _replace(file: Path, old: re.Pattern[str], new: str) -> None:
    text, times = old.subn(lambda _: new, file.read_text(encoding="utf-8"), count=1)
    if not times:
        raise NotReady(f"{file.name} has no line that matches {old.pattern!r}")
    file.write_text(text, encoding="utf-8")


def _renew(path: Path, record: dict[str, str]) -> None:
    """Write the cell that installs the release; what the others printed stays."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    text = notebooks.written(notebooks.normalise(notebook, path.stem, record))
    path.write_text(text, encoding="utf-8")


# --- check -------------------------------------------------------------------------------------


def faults(tag: str, wheel: Path, root: Path = ROOT) -> Iterator[str]:
    """Say what keeps this tree from being the release of a tag."""
    record_file = root / "tools" / colab.RECORD.name
    if not record_file.exists():
        yield "no release was prepared: tools/release.py prepare"
        return
    record = json.loads(record_file.read_text(encoding="utf-8"))
    if tag != f"v{version(root)}":
        yield f"the tag is {tag}, the library is {version(root)}"
    if record["version"] != version(root):
        yield f"the notebooks install {record['version']}, the library is {version(root)}"
    if record["sha256"] != package.checksum(wheel):
        yield "the wheel is not the one whose checksum was written: something changed since"
    cited = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version(root)}\n" not in cited:
        yield "CITATION.cff names another version"
    if not notes(version(root), root):
        yield f"CHANGELOG.md says nothing of {version(root)}"
    for path in sorted((root / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found = ["".join(cell["source"]) for cell in cells if colab.is_ours(cell)]
        if found != [colab.source(record)]:
            yield f"{path.name} installs something else in Colab"


def check(tag: str, root: Path = ROOT) -> int:
    wheel = package.build(root / "dist", root)
    found = list(faults(tag, wheel, root))
    for fault in found:
        print(fault, file=sys.stderr)
    (root / "dist" / "notes.md").write_text(notes(version(root), root) + "\n", encoding="utf-8")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("prepare", "check"))
    parser.add_argument("version", help="0.2.0 to prepare, v0.2.0 to check")
    given = parser.parse_args()
    if given.action == "check":
        return check(given.version)
    try:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        print(f"sha256: {prepare(given.version, today)}")
    except NotReady as reason:
        print(f"not prepared: {reason}", file=sys.stderr)
        return 1
    print(f"look at it, run make test, then: git commit -am 'Release {given.version}'")
    print(f"git tag v{given.version} && git push origin main v{given.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
