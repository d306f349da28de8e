"""Run the book's notebooks and keep the committed files in one normal form.

    python tools/notebooks.py run [FILES]     execute, normalise, write in place
    python tools/notebooks.py check [FILES]   say what is not normal; exit 1 if anything is

The normal form makes a diff show what a person changed: cell ids follow from the file's name and
the cell's place, keys are sorted, and nothing remembers when or where a run took place. Below the
title stands the cell of `colab.py`. The code runs under `RUN_ENV`, where every CPU prints the same
digits and players leave their loader out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import colab

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
CELL_TIMEOUT = 120
MAX_BYTES = 300_000
RUN_ENV = {
    "ATTNLIB_STATIC": "1",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OMP_NUM_THREADS": "1",
    # A trace's table is as wide as the terminal; pytest's workers say that theirs has 80 columns.
    "COLUMNS": "100",
    # The kernel `python3` of this environment, not one that a person installed for all of theirs.
    "JUPYTER_PREFER_ENV_PATH": "1",
    "PYTHONNOUSERSITE": "1",
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KEPT_CELL_METADATA = {"tags", "mystnb"}

Notebook = dict[str, Any]
Release = dict[str, str] | None


def notebooks(names: list[str] | None = None) -> list[Path]:
    """The named notebooks, or all of the book's."""
    if names:
        return [Path(name).resolve() for name in names]
    found = sorted((ROOT / "book").rglob("*.ipynb"))
    return [path for path in found if ".ipynb_checkpoints" not in path.parts]


def spoken(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def cell_id(stem: str, index: int) -> str:
    """Eight letters from the notebook's name and the cell's place."""
    return hashlib.sha256(f"{stem}/{index}".encode()).hexdigest()[:8]


def _ids(cells: list[Notebook], stem: str) -> Iterator[tuple[str, Notebook]]:
    """Each cell with the id that it should have; the cell for Colab has its own and counts not."""
    index = 0
    for cell in cells:
        yield (colab.ID if colab.is_ours(cell) else cell_id(stem, index)), cell
        index += not colab.is_ours(cell)


def normalise(notebook: Notebook, stem: str, release: Release = None) -> Notebook:
    """Return a copy in the normal form; `stem` is the file's name without its ending."""
    placed = colab.placed(notebook["cells"], release or colab.released())
    cells = [_cell(cell, id_) for id_, cell in _ids(placed, stem)]
    metadata: Notebook = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    if "mystnb" in notebook["metadata"]:
        metadata["mystnb"] = notebook["metadata"]["mystnb"]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(cell: Notebook, id_: str) -> Notebook:
    keep = set(cell["metadata"]) if id_ == colab.ID else KEPT_CELL_METADATA
    kept = {key: value for key, value in cell["metadata"].items() if key in keep}
    normal: Notebook = {"cell_type": cell["cell_type"], "id": id_, "metadata": kept}
    source = "".join(cell["source"]).strip("\n")
    normal["source"] = source.splitlines(keepends=True)
    if cell.get("attachments"):
        normal["attachments"] = cell["attachments"]
    if cell["cell_type"] == "code":
        normal["execution_count"] = cell["execution_count"] if source.strip() else None
        normal["outputs"] = list(_outputs(cell["outputs"]))
    return normal


def _outputs(outputs: list[Notebook]) -> Iterator[Notebook]:
    """Streams joined, widget views left out, text as lists of lines."""
    joined: list[Notebook] = []
    for output in outputs:
        output = json.loads(json.dumps(output))
        if "data" in output:
            if WIDGET_VIEW in output["data"]:
                continue
            output["metadata"] = {}
            output["data"] = {mime: _lines(mime, value) for mime, value in output["data"].items()}
        if output["output_type"] == "stream":
            last = joined[-1] if joined else {}
            if last.get("output_type") == "stream" and last["name"] == output["name"]:
                output["text"] = "".join(last["text"]) + "".join(output["text"])
                joined.pop()
            output["text"] = "".join(output["text"]).splitlines(keepends=True)
        joined.append(output)
    yield from joined


def _lines(mime: str, value: Any) -> Any:
    """Text as the notebook format keeps it: a list of lines; pictures as one string."""
    is_text = mime.startswith("text/") or mime == "image/svg+xml"
    if not isinstance(value, str | list):
        return value
    whole = "".join(value)
    return whole.splitlines(keepends=True) if is_text else whole


def written(notebook: Notebook) -> str:
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def executed(path: Path) -> Notebook:
    """Run one notebook in its own folder, as the environment stands; return its normal form."""
    # Imported here: the check needs no Jupyter, and the workers set the environment first.
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    notebook.cells = nbformat.from_dict(colab.placed(notebook.cells, colab.released()))
    begun: list[str] = []
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        on_cell_start=lambda cell, cell_index: begun.append(cell.source.strip()),
    )
    command = client.create_kernel_manager().format_kernel_cmd()
    if Path(command[0]).parent.resolve() != Path(sys.executable).parent.resolve():
        raise RuntimeError(f"the kernel python3 runs {command[0]}, not {sys.executable}")
    try:
        client.execute()
    except DeadKernelError:
        first = begun[-1].partition("\n")[0]
        told = f"the kernel died in the cell that begins `{first}`, often for want of memory"
        raise RuntimeError(told) from None
    return normalise(json.loads(nbformat.writes(notebook)), path.stem)


def stored(path: Path, runs: Path) -> Notebook | None:
    """Return the normal form of the run that a build of the book has stored, if there is one."""
    import nbformat
    from jupyter_cache import get_cache

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    try:
        _, run = get_cache(runs).merge_match_into_notebook(notebook)
    except KeyError:
        return None
    return normalise(json.loads(nbformat.writes(run)), path.stem)


def rewrite(path: Path) -> float:
    """Run one notebook and write it back; return the seconds that took."""
    os.environ.update(RUN_ENV)
    os.environ.pop("JUPYTER_PATH", None)
    start = time.perf_counter()
    path.write_text(written(executed(path)), encoding="utf-8")
    return time.perf_counter() - start


def run(paths: list[Path]) -> int:
    failed = 0
    with ProcessPoolExecutor(WORKERS) as pool:
        jobs = {pool.submit(rewrite, path): path for path in paths}
        for done, job in enumerate(as_completed(jobs), 1):
            name = spoken(jobs[job])
            try:
                print(f"[{done}/{len(paths)}] {name}  {job.result():.1f} s", flush=True)
            except Exception as error:
                failed += 1
                print(f"[{done}/{len(paths)}] {name}  FAILED\n{name}: {error}", file=sys.stderr)
    return 1 if failed else 0


def faults(path: Path) -> list[str]:
    """Everything that keeps one committed notebook from the normal form, in plain words."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    found = []
    if len(text.encode()) > MAX_BYTES:
        found.append(f"{len(text.encode()):,} bytes, more than {MAX_BYTES:,}")
    found.extend(_metadata_faults(notebook))
    previous = 0
    if not any(colab.is_ours(cell) for cell in notebook["cells"]):
        found.append("the cell for Colab is missing")
    for index, (id_, cell) in enumerate(_ids(notebook["cells"], path.stem)):
        where = f"cell {index}"
        if cell.get("id") != id_:
            found.append(f"{where}: id {cell.get('id')!r} is not {id_!r}")
        if cell["cell_type"] != "code":
            continue
        found.extend(f"{where}: {fault}" for fault in _output_faults(cell))
        if not "".join(cell["source"]).strip():
            continue
        if cell["execution_count"] != previous + 1:
            found.append(f"{where}: execution_count {cell['execution_count']}, not {previous + 1}")
        previous += 1
    if not found and text != written(normalise(notebook, path.stem)):
        found.append("keys, lines or metadata are not in the normal form")
    return found


def _metadata_faults(notebook: Notebook) -> Iterator[str]:
    if notebook["metadata"].get("kernelspec") != KERNEL:
        yield f"kernelspec is {notebook['metadata'].get('kernelspec')}, not {KERNEL}"
    if "widgets" in notebook["metadata"]:
        yield "widget state in the metadata"


def _output_faults(cell: Notebook) -> Iterator[str]:
    may_raise = "raises-exception" in cell["metadata"].get("tags", [])
    for output in cell["outputs"]:
        if output["output_type"] == "error" and not may_raise:
            yield f"an error is committed: {output['ename']}"
        if output["output_type"] == "stream" and output["name"] == "stderr":
            yield "something was written to stderr"
        if WIDGET_VIEW in output.get("data", {}):
            yield "a widget view, which shows nothing when the file is reopened"


def check(paths: list[Path]) -> int:
    failed = 0
    for path in paths:
        for fault in faults(path):
            failed = 1
            print(f"{spoken(path)}: {fault}")
    if failed:
        print("mend it: make notebooks (or python tools/notebooks.py run FILE)")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["run", "check"])
    parser.add_argument("files", nargs="*", help="notebooks; all of the book's when none is named")
    given = parser.parse_args()
    paths = notebooks(given.files)
    if not paths:
        print("no notebook found", file=sys.stderr)
        return 1
    return run(paths) if given.command == "run" else check(paths)


if __name__ == "__main__":
    sys.exit(main())
