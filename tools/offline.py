"""Pack the built book into one file for people without a network.

    .venv/bin/python tools/offline.py      writes _build/attention-shape-by-shape.zip

Unpacked anywhere, `index.html` opens it. The same pages give the same file, to the byte.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from environment import ROOT

HTML = ROOT / "_build" / "html"
NAME = "attention-shape-by-shape"
# The first moment that a zip file can name.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
NOT_FOR_READERS = {".buildinfo", "objects.inv", "404.html", "sitemap.xml"}


def pack(pages: Path, target: Path) -> Path:
    """Pack a folder of pages; only its files' names and bytes decide what comes out."""
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(pages.rglob("*"), key=lambda path: path.relative_to(pages).as_posix()):
            name = path.relative_to(pages).as_posix()
            if path.is_file() and name not in NOT_FOR_READERS:
                entry = zipfile.ZipInfo(f"{NAME}/{name}", LONG_AGO)
                entry.external_attr = 0o100644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes())
    part.replace(target)
    return target


def main() -> int:
    if not (HTML / "index.html").exists():
        print("nothing is built yet: make book", file=sys.stderr)
        return 1
    packed = pack(HTML, ROOT / "_build" / f"{NAME}.zip")
    print(f"{packed} ({packed.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
