"""Build the wheel of `attnlib`: the same bytes on every machine, so its checksum is known before.

.venv/bin/python tools/package.py [FOLDER]      into dist/, or the folder; prints its checksum
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from environment import ROOT

# What the wheel is made of. A copy is built: what an editor or Jupyter left beside it stays out.
PARTS = ("attnlib", "pyproject.toml", "README.md", "LICENSE")
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*", "*.pyc", "*~")
# The first moment that a zip file can name: a wheel tells its version, not when it was built.
BEGINNING = {"SOURCE_DATE_EPOCH": "315532800"}
BUILD = "import sys, flit_core.buildapi as flit; print(flit.build_wheel(sys.argv[1]))"


def build(folder: Path, root: Path = ROOT) -> Path:
    """Build the wheel of the tree below `root` into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        tree, made = Path(place, "tree"), Path(place, "made")
        made.mkdir()
        for name in PARTS:
            (_copy_folder if (root / name).is_dir() else _copy_file)(root / name, tree / name)
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(made)],
            cwd=tree,
            env=os.environ | BEGINNING,
            capture_output=True,
            text=True,
            check=True,
        )
        name = done.stdout.split()[-1]
        return _stored(made / name, folder / name)


def _copy_folder(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=LEFT_BEHIND)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _stored(packed: Path, target: Path) -> Path:
    """Write the same files uncompressed: what a compressor makes of them depends on its version."""
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            entry.compress_type = zipfile.ZIP_STORED
            entry.create_system = 3  # as on Linux, whatever built it
            new.writestr(entry, data)
    return target


def checksum(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    try:
        wheel = build(parser.parse_args().folder)
    except OSError as error:  # a folder that cannot be written, a full disk
        print(f"the wheel was not built: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"the wheel was not built: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return 1
    print(f"{wheel}\nsha256: {checksum(wheel)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
