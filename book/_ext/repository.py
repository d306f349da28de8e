"""Where this copy of the repository lives, found and never written down, and what opens it there.

A fork that builds its own pages gets its own buttons; a copy without an address gets none.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

# git@host:owner/name and ssh://git@host/owner/name, as people clone.
_SSH = re.compile(r"(?:ssh://)?(?:[\w.-]+@)([\w.-]+)(?::\d+/|[:/])(.+)")

# A folder that is imported, or whose files are read.
_NAMED = re.compile(r"""^\s*(?:import|from)\s+(\w+)|Path\("(?:\.\./)*(\w+)""", re.M)


@dataclass(frozen=True)
class Repository:
    """An address such as https://github.com/owner/name, and the branch, tag or commit of this copy.

    Example:
        >>> book = Repository("https://github.com/owner/name", "main")
        >>> book.colab("book/index.ipynb")
        'https://colab.research.google.com/github/owner/name/blob/main/book/index.ipynb'
    """

    url: str
    ref: str

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    @property
    def path(self) -> str:
        return self.url.split("/", 3)[3]

    @property
    def pages(self) -> str | None:
        """Give the address that the host serves a repository's pages at."""
        if self.host not in ("github.com", "gitlab.com"):
            return None
        owner, name = self.path.split("/", 1)
        site = f"{owner.lower()}.{self.host.removesuffix('.com')}.io"
        return f"https://{site}/" if name.lower() == site else f"https://{site}/{name}/"

    def colab(self, file: str) -> str | None:
        """Open a notebook in Colab, which reads from GitHub only."""
        if self.host != "github.com":
            return None
        where = f"{self.path}/blob/{quote(self.ref)}/{quote(file)}"
        return f"https://colab.research.google.com/github/{where}"

    @property
    def binder_spec(self) -> str | None:
        """Name this copy as Binder does, which builds from these two hosts."""
        ref = quote(self.ref, safe="")
        if self.host == "github.com":
            return f"gh/{self.path}/{ref}"
        return f"gl/{quote(self.path, safe='')}/{ref}" if self.host == "gitlab.com" else None

    def binder(self, file: str) -> str | None:
        """Open a notebook in JupyterLab on Binder."""
        place = quote(f"lab/tree/{file}", safe="")
        spec = self.binder_spec
        return f"https://mybinder.org/v2/{spec}?urlpath={place}" if spec else None

    def edit(self, file: str) -> str | None:
        """Open a file for a change; only a branch can be changed, a tag or commit cannot."""
        if re.fullmatch(r"v?\d+(\.\d+)+\S*|[0-9a-f]{40}", self.ref):
            return None
        where = f"edit/{quote(self.ref)}/{quote(file)}"
        if self.host == "github.com":
            return f"{self.url}/{where}"
        return f"{self.url}/-/{where}" if self.host == "gitlab.com" else None


def needs_a_copy(notebook: Path, root: Path) -> bool:
    """Tell whether a notebook's code needs a folder of the repository that no wheel holds."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    named = {name for pair in _NAMED.findall(code) for name in pair} - {"attnlib", ""}
    return any((root / name).is_dir() for name in named)


def address(remote: str) -> str | None:
    """Give the web address of a remote, whichever way it was cloned; None for a folder.

    Example:
        >>> address("git@github.com:owner/name.git")
        'https://github.com/owner/name'
    """
    remote = remote.strip().removesuffix("/").removesuffix(".git")
    if match := _SSH.fullmatch(remote):
        remote = f"https://{match[1]}/{match[2]}"
    # A token that stands before the host, as CI writes it, must never reach a page.
    match = re.fullmatch(r"https?://(?:[^/@]*@)?([\w.-]+\.\w+)/([\w./~-]+/[\w.~-]+)", remote)
    return f"https://{match[1]}/{match[2]}" if match else None


def find(environ: Mapping[str, str], root: Path) -> Repository | None:
    """Find this copy's repository in CI's environment or in the remote of the checkout."""
    if "GITHUB_REPOSITORY" in environ:
        url = f"{environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{environ['GITHUB_REPOSITORY']}"
        ref = environ.get("GITHUB_HEAD_REF") or environ.get("GITHUB_REF_NAME") or "main"
    elif "CI_PROJECT_URL" in environ:
        url, ref = environ["CI_PROJECT_URL"], environ.get("CI_COMMIT_REF_NAME", "main")
    else:
        url = _git(root, "remote", "get-url", "origin")
        ref = (
            _git(root, "describe", "--exact-match", "--tags")
            or _git(root, "branch", "--show-current")
            or _git(root, "rev-parse", "HEAD")
        )
    found = address(url)
    return Repository(found, ref) if found and ref else None


def _git(root: Path, *words: str) -> str:
    """Ask git about this very folder; nothing where it is missing or knows no answer."""
    if not (root / ".git").exists():
        return ""
    command = ("git", *words)
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
