"""A page of the book as Jupyter Book makes it when nobody changes anything, to measure beside ours.

Its formulas come from MathJax, which a stock page takes from another host. Here it lies beside the
page, as it would for a class without a network: npm fetches it once, into the scratch folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

MATHJAX = "mathjax@3.2.2"
CONFIG = """\
title: "Stock"
execute:
  execute_notebooks: "off"
sphinx:
  config:
    html_static_path: [vendor]
    mathjax_path: mathjax/es5/tex-mml-chtml.js
"""


def build(notebook: Path, scratch: Path) -> Path:
    """Build `notebook` with a stock configuration; return the folder of its pages."""
    source = scratch / "source"
    shutil.rmtree(source, ignore_errors=True)
    (source / "vendor").mkdir(parents=True)
    _mathjax(scratch, source / "vendor")
    (source / "_config.yml").write_text(CONFIG)
    (source / "_toc.yml").write_text(f"format: jb-book\nroot: {notebook.stem}\n")
    shutil.copy(notebook, source)
    command = (Path(sys.executable).parent / "jupyter-book", "build", str(source))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the stock page was not built:\n{done.stdout[-2000:]}")
    return source / "_build" / "html"


def _mathjax(scratch: Path, vendor: Path) -> None:
    packed = scratch / f"{MATHJAX.replace('@', '-')}.tgz"
    if not packed.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("npm is not here, which fetches MathJax for the stock page")
        subprocess.run((npm, "pack", "--silent", MATHJAX), cwd=scratch, check=True)
    with tarfile.open(packed) as archive:
        archive.extractall(vendor, filter="data")
    (vendor / "package").rename(vendor / "mathjax")
