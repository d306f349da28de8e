"""What is compiled is kept, follows its sources, and may be missing without harm."""

from __future__ import annotations

import doctest
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

import native
from native import building
from native.building import CPP, C


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of the C part in a folder of their own, and nothing built."""
    for name in (*C.sources, "building.py"):
        (tmp_path / name).write_bytes((building.HERE / name).read_bytes())
    monkeypatch.setattr(building, "HERE", tmp_path)
    monkeypatch.setattr(building, "BUILT", tmp_path / "_build" / "native")
    return tmp_path


@pytest.mark.parametrize("part", [C, CPP], ids=lambda part: part.language)
def test_without_a_compiler_nothing_is_built_and_the_reason_is_said(
    part: building.Part, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty / "head.cpp").touch()
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    reason = f"there is no {part.language} compiler on this machine"
    assert building.build(part) == building.missing(part) == reason
    assert list(building.BUILT.iterdir()) == []


def test_a_folder_that_cannot_be_written_leaves_it_out_and_stops_nothing(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty / "_build").touch()
    assert building.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "· the head in C is left out",
        "· the head in C++ is left out",
    ]


def test_what_is_not_built_yet_says_how(empty: Path, c_folder: Path) -> None:
    assert building.missing(C) == "the sources are not compiled yet: run `make native`"
    with pytest.raises(FileNotFoundError, match="not compiled yet: run `make native`"):
        native.c.xavier(3, 2)


def test_built_once_and_again_when_a_source_changes(empty: Path, c_folder: Path) -> None:
    assert building.build(C) is None
    first, made = C.folder, (C.folder / "head_float.so").stat().st_mtime_ns
    assert building.build(C) is None
    assert (C.folder / "head_float.so").stat().st_mtime_ns == made
    with (empty / "head.h").open("a") as header:
        header.write("/* another version */\n")
    assert building.missing(C).startswith("the sources are not compiled yet")
    assert building.build(C) is None
    assert C.folder != first
    assert [folder.name for folder in building.BUILT.iterdir()] == [C.folder.name]


def test_what_takes_long_is_announced(empty: Path, c_folder: Path) -> None:
    said: list[str] = []

    def build(compiler: str, folder: Path) -> None:
        said.append("at work")

    part = replace(C, build=build)
    assert building.build(part, said.append) is None
    assert said[:2] == ["compiling the head in C, once: some seconds", "at work"]
    assert re.fullmatch(r"compiled in \d+ s", said[2])
    assert building.build(part, said.append) is None
    assert len(said) == 3


def test_another_make_is_waited_for_and_the_wait_is_told(empty: Path, c_folder: Path) -> None:
    said: Queue[str] = Queue()
    with ThreadPoolExecutor() as another:
        with building.lock(building.silent):
            waiting = another.submit(building.build, C, said.put)
            assert said.get(timeout=30) == "another make is compiling here; waiting for it"
            assert not waiting.done()
        assert waiting.result(timeout=60) is None


def test_a_warning_is_an_error_and_the_compiler_is_quoted(empty: Path, c_folder: Path) -> None:
    with (empty / "head.c").open("a") as source:
        source.write("static int never_called(void) { return 1; }\n")
    reason = building.build(C)
    assert reason.startswith("the compiler refused the sources, see ")
    assert reason == building.missing(C)
    assert "never_called" in (C.folder / "failed").read_text()


def test_ours_are_compiled_strictly() -> None:
    strict = {"-Wall", "-Wextra", "-Wpedantic", "-Werror"}
    assert strict <= set(building.C_FLAGS) and "-std=c99" in building.C_FLAGS
    assert strict <= set(building.CPP_FLAGS)


def test_a_listing_is_a_block_of_the_source() -> None:
    block = native.listing("head.cpp", "Tensor attend")
    assert block.splitlines()[0].startswith("Tensor attend(") and block.endswith("\n}")
    assert block._repr_markdown_() == f"```cpp\n{block}\n```"
    assert native.listing("head.h", "struct head")._repr_markdown_().startswith("```c\n")
    with pytest.raises(ValueError, match=r"head.h has no line that begins with 'nothing'"):
        native.listing("head.h", "nothing")
    assert doctest.testmod(native).failed == 0


def test_state_names_the_compiler_or_the_reason(
    c_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "missing", lambda part: None if part is C else "it is missing")
    first, second = native.state().splitlines()
    assert first.startswith("C   compiled by ") and len(first) > len("C   compiled by ")
    assert second == "C++ it is missing"
