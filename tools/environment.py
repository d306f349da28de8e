"""Set up `.venv` with exactly what requirements.txt names, and `attnlib` itself.

    python tools/environment.py      any Python 3.11 to 3.13, nothing but its standard library

Nothing happens while requirements.txt, this file, the interpreter and the folder stay what they
were at the last complete set-up; otherwise the environment is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "complete"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements.txt"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NEEDED_BYTES = 3_000_000_000
BELONGS_TO_TORCH = ("nvidia-", "cuda-", "triton")
# What pip repeats of a connection that failed: the words of the system, or of the encryption.
CONNECTION = re.compile(r"\[(?:Errno|SSL)[^'\"()]*\w|\w[\w ]* timed out")


class SetupFailed(Exception):
    """One line for the person at the terminal."""


@contextmanager
def lock(folder: Path, what: str) -> Iterator[None]:
    """Hold the folder for this process; say so when another one has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another make is {what} here; waiting for it", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def fingerprint() -> str:
    """Changes when the environment must be made anew."""
    texts = (REQUIREMENTS.read_text(), Path(__file__).read_text(encoding="utf-8"))
    parts = (*texts, sys.version, os.path.realpath(sys.executable), str(ROOT))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def set_up() -> None:
    if STAMP.exists() and STAMP.read_text() == fingerprint():
        return
    if not os.access(ROOT, os.W_OK):
        raise SetupFailed(f"{ROOT} cannot be written; work in a copy of it")
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED_BYTES:
        raise SetupFailed(f"{free / 1e9:.1f} GB free here; {NEEDED_BYTES / 1e9:.0f} GB are needed")
    start = time.monotonic()
    say(f"setting up .venv with Python {sys.version.split()[0]}; this takes a few minutes once")
    if VENV.exists():
        shutil.rmtree(VENV)
    create()
    say("torch (the largest part)")
    install_torch()
    say(f"{sum(1 for _ in pins())} packages of requirements.txt")
    pip("install", "--no-deps", "-r", str(REQUIREMENTS))
    add_attnlib()
    verify()
    STAMP.write_text(fingerprint())
    say(f"environment ready after {time.monotonic() - start:.0f} s")


def add_attnlib() -> None:
    """Put this folder on the environment's path, so that an edit of the library counts at once.

    The line is relative: Python reads such files in the locale's encoding, and a folder's name may
    have letters which the C locale lacks.
    """
    packages = next(VENV.glob("lib/python*/site-packages"))
    (packages / "attnlib.pth").write_text(os.path.relpath(ROOT, packages) + "\n")


def say(line: str) -> None:
    print(f"- {line}", flush=True)  # in ASCII, which every terminal has


def create() -> None:
    """Make the environment; where ensurepip is missing (Debian), pip comes another way."""
    if quiet(sys.executable, "-m", "venv", str(VENV)):
        return
    say("this Python has no ensurepip; getting pip another way")
    shutil.rmtree(VENV, ignore_errors=True)
    if quiet(sys.executable, "-m", "virtualenv", "--no-download", str(VENV)):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    bare = quiet(sys.executable, "-m", "venv", "--without-pip", str(VENV))
    for installer in (sys.executable, "python3"):
        if bare and quiet(installer, "-m", "pip", "--python", str(PYTHON), "install", "pip"):
            return
    if shutil.which("apt-get") and os.geteuid() == 0:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        quiet("apt-get", "update")
        for package in (f"python{version}-venv", "python3-venv", "python3-virtualenv"):
            quiet("apt-get", "install", "-y", package)
            shutil.rmtree(VENV, ignore_errors=True)
            module = "virtualenv" if package == "python3-virtualenv" else "venv"
            if quiet(sys.executable, "-m", module, str(VENV)):
                return
    raise SetupFailed("this Python has neither ensurepip nor pip; Debian: apt install python3-venv")


def quiet(*command: str) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False
    )
    return done.returncode == 0


def install_torch() -> None:
    """From PyTorch's CPU index where it answers within seconds, else wherever pip looks."""
    pin = next(line for line in pins() if line.startswith("torch=="))
    impatient = ("--index-url", CPU_INDEX, "--retries", "0", "--timeout", "5")
    try:
        pip("install", "--no-deps", *impatient, pin)
    except SetupFailed as reason:
        if "disk" in str(reason) or "network" in str(reason):
            raise
        say("PyTorch's CPU index does not answer; the usual one's torch may bring 5 GB of CUDA")
        pip("install", "-c", str(REQUIREMENTS), pin)


def pins() -> Iterator[str]:
    for line in REQUIREMENTS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def pip(*arguments: str) -> None:
    """Run the environment's pip, showing that it moves; its last words only when it fails."""
    environment = os.environ | {"PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    command = [
        str(PYTHON),
        "-m",
        "pip",
        *arguments,
        "--no-compile",
        "--no-input",
        "--progress-bar",
        "off",
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.rstrip())
        collected = sum(text.startswith("Collecting ") for text in said)
        if line.startswith("Collecting ") and collected % 25 == 0:
            say(f"  {collected} packages found")
        if line.startswith("Installing collected packages"):
            say(f"  installing {line.count(',') + 1}")
    if process.wait() == 0:
        return
    raise SetupFailed(cause(said))


def cause(said: list[str]) -> str:
    """Say in one line why pip failed; in its own last lines where it is none of the usual."""
    if any("No space left on device" in line for line in said):
        return "the disk is full"
    # An index of files that a person has set beside the usual one answers without a network.
    if any("Retry(total=0," in line for line in said) or not index_answers():
        heard = CONNECTION.findall("\n".join(said))
        reason = f" ({heard[-1]})" if heard else ""
        return f"no package index answers{reason}; a network is needed for the first set-up"
    last = next((line for line in reversed(said) if line.startswith("ERROR: ")), said[-1])
    if "No matching distribution" in last or "Could not find a version" in last:
        return f"the package index lacks a package ({last})"
    return "pip failed:\n" + "\n".join(said[-12:])


def index_answers() -> bool:
    """Ask for a package that every index has, pip, whatever lies here already."""
    with TemporaryDirectory() as folder:
        ask = ("download", "--no-deps", "--no-cache-dir", "--retries", "0", "--timeout", "10")
        return quiet(str(PYTHON), "-m", "pip", *ask, "--dest", folder, "pip")


def verify() -> None:
    """Fail when the environment holds anything that requirements.txt does not name, or less."""
    listing = subprocess.run(
        [str(PYTHON), "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    )
    installed = dict(split(line) for line in listing.stdout.split())
    wanted = dict(split(line.split(";")[0]) for line in pins())
    expected_absent = {split(line.split(";")[0])[0] for line in pins() if ";" in line}
    for name, version in installed.items():
        if name == "pip" or name.startswith(BELONGS_TO_TORCH):
            continue
        if wanted.get(name) != version:
            raise SetupFailed(f"{name} {version} is installed; the list says {wanted.get(name)}")
    missing = sorted(wanted.keys() - installed.keys() - expected_absent)
    if missing:
        raise SetupFailed(f"not installed: {', '.join(missing)}")
    if not quiet(str(PYTHON), "-m", "pip", "check"):
        raise SetupFailed("requirements.txt is not complete: `.venv/bin/python -m pip check`")


def split(pin: str) -> tuple[str, str]:
    """`Typing_Extensions==4.1+cpu` as (`typing-extensions`, `4.1`)."""
    name, _, version = pin.strip().partition("==")
    return re.sub(r"[-_.]+", "-", name).lower(), version.partition("+")[0]


def main() -> int:
    try:
        with lock(ROOT, "setting up"):
            set_up()
    except SetupFailed as reason:
        print(f"set-up failed: {reason}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"set-up failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
