"""No circles: each file of the tracer can be read without one that it leads to."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import attnlib.tracer

HOME = Path(attnlib.tracer.__file__).parent


def imports() -> dict[str, set[str]]:
    """Which file imports which, inside functions and for type checkers only too."""
    found = {}
    for path in HOME.rglob("*.py"):
        package = path.relative_to(HOME).parent.parts
        name = ".".join((*package, path.stem))
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = package[: len(package) - node.level + 1] if node.level > 1 else package
                if node.level - 1 > len(package):
                    continue  # out of the tracer
                module = [*base, *filter(None, [node.module])]
                names = [".".join((*module, alias.name)) for alias in node.names]
                found[name] |= {".".join(module), *names}
    files = set(found)
    return {name: {to for to in wanted if to in files} for name, wanted in found.items()}


def test_files_import_each_other_in_no_circle():
    graph = imports()
    assert {"tensors", "rules", "operation"} & graph["builder"] == {"tensors", "operation"}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("rows") < order.index("report") < order.index("run")


def test_a_circle_would_be_seen():
    graph = imports()
    graph["rows"].add("run")
    with pytest.raises(CycleError, match="cycle"):
        list(TopologicalSorter(graph).static_order())
