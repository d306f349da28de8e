"""Compile the head in C and in C++ into `_build/native`, once for each version of their sources.

    .venv/bin/python native/building.py

Where there is no compiler, or ours do not compile with it, nothing stops: `missing` then says why,
and the page that shows them prints that instead of numbers.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "_build" / "native"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
C_FLAGS = ("-std=c99", "-O2", *STRICT, "-Wshadow", "-Wconversion")
CPP_FLAGS = ("-O1", *STRICT)  # most of the time goes into reading PyTorch's headers
REALS = ("float", "double")
CHECKED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OPERATORS = "attention_in_cpp"


class NotCompiled(Exception):
    """What the compiler said."""


@dataclass(frozen=True)
class Part:
    """One language: its sources, its compilers in order of preference, and how it is built."""

    language: str
    sources: tuple[str, ...]
    compilers: tuple[str, ...]
    build: Callable[[str, Path], None]
    takes: str  # in words: machines differ

    @property
    def folder(self) -> Path:
        """Where the built files lie: another place for other sources or another PyTorch."""
        digest = hashlib.sha256()
        for name in (*self.sources, Path(__file__).name):
            digest.update(name.encode() + b"\0" + (HERE / name).read_bytes())
        digest.update(f"{version('torch')} {sys.platform} {platform.machine()}".encode())
        return BUILT / f"{self.language.replace('+', 'p').lower()}-{digest.hexdigest()[:16]}"

    @property
    def compiler(self) -> str | None:
        """The first compiler found, by CC or CXX or on the PATH."""
        asked = os.environ.get({"C": "CC", "C++": "CXX"}[self.language])
        found = (shutil.which(name) for name in ([asked] if asked else self.compilers))
        return next(filter(None, found), None)


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a compiler in silence; raise with all that it said when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    )
    if done.returncode:
        raise NotCompiled(f"{' '.join(words)}\n{done.stdout}")


def build_c(compiler: str, folder: Path) -> None:
    """A library and its six tests for each kind of number; with sanitizers where there are any."""
    for real in REALS:
        common = (compiler, *C_FLAGS, f"-DREAL={real}")
        head, tests = HERE / "head.c", HERE / "head_test.c"
        library = folder / f"head_{real}.so"
        run(*common, "-fPIC", "-shared", head, "-o", library, "-lm")
        run(*common, head, tests, "-o", folder / f"test_{real}", "-lm")
        try:
            run(*common, *CHECKED, head, tests, "-o", folder / f"checked_{real}", "-lm")
        except NotCompiled:
            continue  # a compiler without its sanitizers; valgrind can do their work


def build_cpp(compiler: str, folder: Path) -> None:
    """A library of operators, by PyTorch's own extension tools in a process of their own."""
    tools = f"{sys.prefix}/bin{os.pathsep}{os.environ.get('PATH', '')}"  # where ninja is installed
    code = (
        "import sys\n"
        "from torch.utils.cpp_extension import load\n"
        f"load({OPERATORS!r}, [sys.argv[1]], extra_cflags=sys.argv[3:],\n"
        "     build_directory=sys.argv[2], is_python_module=False, with_cuda=False)"
    )
    environment = os.environ | {"PATH": tools, "CXX": compiler, "MAX_JOBS": "1"}
    run(
        *(sys.executable, "-c", code, HERE / "head.cpp", folder, *CPP_FLAGS),
        environment=environment,
    )


LONG = "a minute, on a slow machine two or more"
C = Part("C", ("head.h", "head.c", "head_test.c"), ("cc", "gcc", "clang"), build_c, "some seconds")
CPP = Part("C++", ("head.cpp",), ("c++", "g++", "clang++"), build_cpp, LONG)
PARTS = (C, CPP)


def silent(line: str) -> None:
    """Say nothing: who runs a cell or a test asked for no news."""


@contextmanager
def lock(say: Callable[[str], None]) -> Iterator[None]:
    """Let one process build at a time; another one waits, and then finds it built."""
    BUILT.mkdir(parents=True, exist_ok=True)
    handle = os.open(BUILT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another make is compiling here; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def build(part: Part, say: Callable[[str], None] = silent) -> str | None:
    """Build what is not built yet; return why it is missing then, or None."""
    compiler = part.compiler
    with lock(say):
        folder = part.folder
        if compiler is None or (folder / "compiler").exists() or (folder / "failed").exists():
            return missing(part)
        say(f"compiling the head in {part.language}, once: {part.takes}")
        start = time.monotonic()
        for old in BUILT.glob(f"{folder.name.split('-')[0]}-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(dir=BUILT) as name:
            attempt = Path(name) / folder.name
            attempt.mkdir()
            try:
                part.build(compiler, attempt)
                (attempt / "compiler").write_text(spoken(compiler) + "\n")
            except NotCompiled as error:
                (attempt / "failed").write_text(str(error))
            attempt.rename(folder)
        if missing(part) is None:
            say(f"compiled in {time.monotonic() - start:.0f} s")
    return missing(part)


@functools.cache
def spoken(compiler: str) -> str:
    """The first line of what a compiler says of itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    return (said.splitlines() or [compiler])[0]


def missing(part: Part) -> str | None:
    """Say why a language cannot be called here, or return None when it can."""
    folder = part.folder
    if (folder / "compiler").exists():
        return None
    if (folder / "failed").exists():
        where = (folder / "failed").relative_to(HERE.parent)
        return f"the compiler refused the sources, see {where}"
    if part.compiler is None:
        return f"there is no {part.language} compiler on this machine"
    return "the sources are not compiled yet: run `make native`"


def main() -> int:
    def say(line: str) -> None:
        print(f"· {line}", flush=True)

    for part in PARTS:
        try:
            reason = build(part, say)
        except OSError as error:  # a folder that cannot be written, a full disk
            reason = str(error)
        if reason:
            say(f"the head in {part.language} is left out: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
