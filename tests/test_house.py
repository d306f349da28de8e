"""The house keeps its own rules: who may import whom, how long it is, and that its examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import attnlib

HOME = Path(attnlib.__file__).parent
MODULES = sorted(path for path in HOME.rglob("*.py") if "__pycache__" not in path.parts)

# part of the house -> the parts that it may import, besides itself
MAY_IMPORT = {
    "errors": set(),
    "dims": {"errors"},
    "stages": {"errors", "dims"},
    "pipeline": {"errors", "dims", "stages"},
    "modules": {"errors", "dims", "stages", "pipeline"},
    "weights": {"errors", "dims", "stages", "pipeline", "modules"},
    "oracle": set(),
    "examples": set(),
    "tracer": {"errors", "dims"},
    "widgets": {"errors", "dims", "stages", "modules", "tracer"},
    "exercises": {
        *("errors", "dims", "stages", "pipeline", "modules", "weights"),
        *("oracle", "examples", "tracer"),
    },
    "__init__": {
        *("errors", "dims", "stages", "pipeline", "modules", "weights"),
        *("examples", "tracer", "exercises"),
    },
}
# The notebook form of a trace and its file are drawn by widgets; only these functions load them.
INSIDE_FUNCTIONS = {("tracer", "widgets"): {"_repr_html_", "save_html"}}
OUTSIDE = {"oracle": set(), "examples": {"torch"}}
READING = ("errors.py", "dims.py", "stages", "pipeline.py", "modules.py")


def part_of(path: Path) -> str:
    """The part of the house that holds a file: its folder below attnlib, or its own name."""
    first = path.relative_to(HOME).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[str, str, int]]:
    """Every import in a file: (absolute module name, function around it or "", line)."""
    package = ("attnlib", *path.relative_to(HOME).parent.parts)
    found = []

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Import):
            found.extend((alias.name, function, node.lineno) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            names = [f"{module}.{a.name}" for a in node.names] if module == "attnlib" else [module]
            found.extend((name, function, node.lineno) for name in names)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def forbidden(path: Path) -> list[str]:
    """The imports of a file that the table does not allow."""
    part, wrong = part_of(path), []
    for module, function, line in imports(path):
        names = module.split(".")
        if names[0] == "attnlib":
            to = names[1] if len(names) > 1 else "__init__"
            allowed = to == part or to in MAY_IMPORT[part]
            allowed |= function in INSIDE_FUNCTIONS.get((part, to), ())
        else:
            allowed = names[0] in OUTSIDE.get(part, {names[0]})
        if not allowed:
            wrong.append(f"{path.relative_to(HOME)}:{line} must not import {module}")
    return wrong


def code_lines(path: Path) -> int:
    """Count the lines of a file that are neither blank nor part of a docstring."""
    source = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            documented.update(range(text.lineno, text.end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and number not in documented)


def module_name(path: Path) -> str:
    """The dotted name of a file of attnlib."""
    parts = path.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_keep_to_the_table(path: Path) -> None:
    assert forbidden(path) == []


def test_every_part_of_the_house_is_in_the_table() -> None:
    assert {part_of(path) for path in MODULES} <= set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("file", "line", "seen"),
    [
        ("stages/scores.py", "from ..pipeline import attention", "attnlib.pipeline"),
        ("stages/scores.py", "from .. import modules", "attnlib.modules"),
        ("oracle.py", "import math", "math"),
        ("tracer/record.py", "import attnlib.widgets", "attnlib.widgets"),
    ],
)
def test_the_table_notices_an_import_against_it(
    file: str, line: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self, encoding: f"def f():\n    {line}\n")
    assert forbidden(HOME / file) == [f"{file}:2 must not import {seen}"]


def test_the_part_that_a_reader_must_read_stays_short() -> None:
    parts = [path for path in MODULES if path.relative_to(HOME).parts[0] in READING]
    counts = {str(path.relative_to(HOME)): code_lines(path) for path in parts}
    assert len(counts) >= 11
    assert sum(counts.values()) < 600, counts


def test_importing_attnlib_loads_no_notebook_and_no_plotting() -> None:
    code = (
        "import sys, attnlib\n"
        "print([n for n in ('IPython', 'ipywidgets', 'matplotlib', 'attnlib.widgets')"
        " if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_all_names_exist_and_are_sorted_out() -> None:
    assert len(set(attnlib.__all__)) == len(attnlib.__all__)
    assert all(hasattr(attnlib, name) for name in attnlib.__all__)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_examples_in_docstrings_are_true(path: Path) -> None:
    module = importlib.import_module(module_name(path))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    output: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    for example in doctest.DocTestFinder().find(module):
        runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def public_functions() -> list[pytest.param]:
    """Every public function and class of the reading part, of weights and of the oracle."""
    found = []
    for path in MODULES:
        if part_of(path) not in {"dims", "stages", "pipeline", "modules", "weights", "oracle"}:
            continue
        module = importlib.import_module(module_name(path))
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if (
                own
                and not name.startswith("_")
                and (inspect.isfunction(value) or inspect.isclass(value))
            ):
                found.append(pytest.param(value, id=f"{module.__name__}.{name}"))
    return found


@pytest.mark.parametrize("thing", public_functions())
def test_every_public_name_explains_itself(thing: object) -> None:
    text = inspect.getdoc(thing) or ""
    first = text.splitlines()[0] if text else ""
    assert first.endswith((".", ":")) or "`" in first, (
        f"{thing.__name__}: one imperative line first"
    )
    if inspect.isfunction(thing) or issubclass(thing, attnlib.SelfAttention):
        assert "Example:" in text
        assert ">>>" in text


@pytest.mark.parametrize("name", [*attnlib.stages.__all__, "attention"])
def test_every_stage_states_its_shapes(name: str) -> None:
    text = inspect.getdoc(getattr(attnlib, name))
    assert all(section in text for section in ("Shapes:", "Raises:", "Example:", "Source:"))
