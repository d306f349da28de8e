"""Runs pytest in copies of the tree, each in a fork of a process that has imported the packages.

That takes longer than most of the tests. Nothing of ours is imported before the fork and torch has
run no operation, so that a copy's own library is what its tests import, in a process of their own.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module

PACKAGES = (
    *("_pytest.assertion.rewrite", "hypothesis", "xdist", "playwright.sync_api"),
    *("numpy", "torch", "torch.distributed.tensor", "torch.testing", "jaxtyping", "einops"),
    *("bs4", "lxml.html", "nbclient", "nbformat", "yaml", "PIL.Image", "matplotlib.pyplot"),
)


def run(folder: str, tests: list[str], output: str) -> int:
    """Do what `python -m pytest` does when it is started in the folder."""
    for descriptor, name in enumerate((os.devnull, output, output)):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT), descriptor)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = folder
    sys.path.insert(0, folder)
    return import_module("pytest").main(["-q", "-x", "-p", "no:cacheprovider", *tests])


def main() -> None:
    """Answer each line that comes, the arguments of `run`, with an exit code."""
    for name in PACKAGES:
        import_module(name)
    assert not any(name.split(".")[0] in ("attnlib", "tests") for name in sys.modules)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            sys.exit(run(*json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
