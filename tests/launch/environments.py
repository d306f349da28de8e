"""Small environments without a network: links to what is installed here, and nothing else.

A fresh environment that holds torch takes minutes and gigabytes; one that links to the torch which
runs this test takes a second, and sees as little of the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SANDBOX = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": "", "JUPYTER_PREFER_ENV_PATH": "1"}
# In Colab the kernel has loaded this module before the first cell runs.
IN_COLAB = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"


def closure(*names: str) -> set[str]:
    """The named packages and all that they ask for, also of one another's extras, as installed."""
    found: set[tuple[str, str]] = set()
    waiting = [(name, "") for name in names]
    installed = {canonicalize_name(d.name) for d in distributions()}
    while waiting:
        name, extra = waiting.pop()
        name = canonicalize_name(name)
        if (name, extra) in found or name not in installed:
            continue
        found.add((name, extra))
        for line in distribution(name).requires or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                waiting += [(wanted.name, asked) for asked in ("", *wanted.extras)]
    return {name for name, _ in found}


def linked(folder: Path, names: set[str], *, colab: bool = False) -> Path:
    """Make an environment that holds links to the named packages; return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in names:
        for place in _top(distribution(name)):
            link = packages / place.name
            if not link.exists():
                link.symlink_to(place)
    if colab:
        make_colab(packages)
    return folder / "bin" / "python"


def make_colab(packages: Path) -> None:
    """Let every Python of an environment start as Colab's does.

    Not by a sitecustomize.py: Debian's Python has one of its own, which stands in front.
    """
    (packages / "in_colab.pth").write_text(IN_COLAB)


def _top(package: Distribution) -> set[Path]:
    """The folders and files of a package that stand in site-packages itself."""
    home = Path(str(package.locate_file("")))
    inside = (file.parts[0] for file in package.files or ())
    return {home / part for part in inside if part not in ("..", "__pycache__")}


def repacked(name: str, folder: Path) -> Path:
    """Write the wheel of an installed package, so that pip can install it from this folder."""
    package = distribution(name)
    path = folder / f"{package.name.replace('-', '_')}-{package.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in package.files or ():
            if file.suffix != ".pyc" and ".." not in file.parts:
                wheel.write(str(package.locate_file(file)), str(file))
    return path


def say(python: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an environment's Python in a folder, on nothing but its own packages."""
    return subprocess.run(
        [str(python), *words], cwd=folder, env=os.environ | SANDBOX, capture_output=True, text=True
    )


def execute(path: Path, python: Path, patch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """Run a notebook in its own folder with an environment's kernel; a cell that fails raises."""
    kernels = python.parent.parent / "share" / "jupyter" / "kernels" / "launched"
    kernels.mkdir(parents=True, exist_ok=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "launched", "language": "python"}
    (kernels / "kernel.json").write_text(json.dumps(spec))
    for name, value in {**SANDBOX, "JUPYTER_PATH": str(kernels.parent.parent)}.items():
        patch.setenv(name, value)
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    return NotebookClient(notebook, timeout=120, kernel_name="launched", resources=place).execute()


def python_of(version: str) -> str | None:
    """A Python of this version on this machine, such as 3.13; None if there is none."""
    for name in (f"python{version}", sys.executable):
        try:
            seen = subprocess.run(
                [name, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
            ).stdout.strip()
        except OSError:
            continue
        if seen == version:
            return name
    return None
