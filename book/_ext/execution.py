"""Notebooks run the same way in every build, and run again when the library has changed."""

import hashlib
import os
import shutil
from pathlib import Path

# What is committed, compared and shown is computed under these. ATTNLIB_STATIC leaves a player's
# loader out of its output; the other two keep float bits the same on every CPU.
ENVIRONMENT = {
    "ATTNLIB_STATIC": "1",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
}


def library_hash(root):
    """Hash every file that the notebooks run on, names included.

    That is the library, the heads in C and C++ with what was compiled of them, and measurements.
    """
    digest = hashlib.sha256()
    kinds = {".py", ".js", ".css", ".h", ".c", ".cpp", ".json"}
    folders = [root / name for name in ("attnlib", "native", "benchmarks")]
    sources = [p for folder in folders for p in folder.rglob("*") if p.suffix in kinds]
    sources += (root / "_build" / "native").glob("*/compiler")
    for path in sorted(sources):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def drop_stale_results(app):
    """Empty the cache of executed notebooks when the library is not the one they ran on.

    The cache's own key is the cells' source only, so that it would serve yesterday's numbers.
    """
    cache = Path(app.config.nb_execution_cache_path or app.outdir.parent / ".jupyter_cache")
    mark = cache / "library.sha256"
    current = library_hash(Path(app.srcdir))
    if mark.is_file() and mark.read_text() == current:
        return
    if cache.is_dir():
        shutil.rmtree(cache)
    cache.mkdir(parents=True)
    mark.write_text(current)
    app.env.all_docs.clear()  # so that unchanged notebooks are read, and run, again


def setup(app):
    os.environ.update(ENVIRONMENT)
    app.connect("builder-inited", drop_stale_results, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
