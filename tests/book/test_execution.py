"""The stored runs of the notebooks are dropped when the library has changed, and only then."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest

from .conftest import ROOT

SPEC = importlib.util.spec_from_file_location("execution", ROOT / "book" / "_ext" / "execution.py")
execution = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(execution)


@pytest.fixture
def app(tmp_path):
    """A book with one library file and one stored run of a notebook."""
    (tmp_path / "attnlib").mkdir()
    (tmp_path / "attnlib" / "scores.py").write_text("a = 1\n")
    book = SimpleNamespace(
        srcdir=tmp_path,
        outdir=tmp_path / "_build" / "html",
        config=SimpleNamespace(nb_execution_cache_path=""),
        env=SimpleNamespace(all_docs={"book/01": 1.0}),
    )
    execution.drop_stale_results(book)
    (tmp_path / "_build" / ".jupyter_cache" / "run").write_text("numbers")
    book.env.all_docs = {"book/01": 1.0}
    return book


def stored(app) -> bool:
    return (app.outdir.parent / ".jupyter_cache" / "run").is_file()


def test_same_library_keeps_the_runs(app):
    execution.drop_stale_results(app)
    assert stored(app)
    assert app.env.all_docs == {"book/01": 1.0}


@pytest.mark.parametrize(
    "name",
    [
        *("attnlib/scores.py", "attnlib/player.js", "attnlib/deep/er.py", "native/head.c"),
        *("_build/native/c-1234/compiler", "benchmarks/measured.json"),
    ],
)
def test_changed_or_new_file_drops_them(app, name):
    path = app.srcdir / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("a = 2\n")
    execution.drop_stale_results(app)
    assert not stored(app)
    assert app.env.all_docs == {}


def test_compiled_files_do_not_count(app):
    (app.srcdir / "attnlib" / "scores.pyc").write_text("x")
    execution.drop_stale_results(app)
    assert stored(app)
