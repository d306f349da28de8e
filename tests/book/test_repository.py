"""The links that open the book elsewhere, as strings: for main, a fork, a tag, and no address."""

from __future__ import annotations

import subprocess

import pytest
from repository import Repository, address, find

CHAPTER = "book/01-projections.ipynb"


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("https://github.com/owner/name.git", "https://github.com/owner/name"),
        ("https://github.com/owner/name/", "https://github.com/owner/name"),
        ("https://x-access-token:secret@github.com/owner/name", "https://github.com/owner/name"),
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        ("ssh://git@github.com/owner/name.git", "https://github.com/owner/name"),
        ("ssh://git@gitlab.com:2222/group/sub/name", "https://gitlab.com/group/sub/name"),
        ("/srv/git/name.git", None),
        ("../name", None),
        ("file:///srv/git/name", None),
        ("https://github.com/'><script>/name", None),
        ("", None),
    ],
)
def test_address_of_a_remote(remote, url):
    assert address(remote) == url


def test_links_of_main():
    main = Repository("https://github.com/owner/name", "main")
    assert main.colab(CHAPTER) == (
        "https://colab.research.google.com/github/owner/name/blob/main/book/01-projections.ipynb"
    )
    assert main.binder(CHAPTER) == (
        "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab%2Ftree%2Fbook%2F01-projections.ipynb"
    )
    assert main.binder_spec == "gh/owner/name/main"
    assert main.edit(CHAPTER) == "https://github.com/owner/name/edit/main/book/01-projections.ipynb"


def test_links_of_a_fork_s_branch_and_of_a_tag():
    fork = Repository("https://github.com/someone/fork", "new/chapter")
    assert "/someone/fork/blob/new/chapter/book/" in fork.colab(CHAPTER)
    assert "/gh/someone/fork/new%2Fchapter?" in fork.binder(CHAPTER)
    tag = Repository("https://github.com/owner/name", "v0.1.0")
    assert "/blob/v0.1.0/book/" in tag.colab(CHAPTER)
    assert "/gh/owner/name/v0.1.0?" in tag.binder(CHAPTER)
    assert tag.edit(CHAPTER) is None


def test_links_of_other_hosts():
    gitlab = Repository("https://gitlab.com/group/sub/name", "main")
    assert gitlab.colab(CHAPTER) is None
    assert gitlab.binder(CHAPTER).startswith("https://mybinder.org/v2/gl/group%2Fsub%2Fname/main?")
    assert gitlab.binder_spec == "gl/group%2Fsub%2Fname/main"
    assert gitlab.edit(CHAPTER) == f"https://gitlab.com/group/sub/name/-/edit/main/{CHAPTER}"
    own = Repository("https://git.example.org/owner/name", "main")
    assert (own.colab(CHAPTER), own.binder(CHAPTER), own.edit(CHAPTER)) == (None, None, None)
    assert own.binder_spec is None


@pytest.mark.parametrize(
    ("url", "pages"),
    [
        ("https://github.com/Owner/name", "https://owner.github.io/name/"),
        ("https://github.com/Owner/owner.github.io", "https://owner.github.io/"),
        ("https://gitlab.com/group/sub/name", "https://group.gitlab.io/sub/name/"),
        ("https://git.example.org/owner/name", None),
    ],
)
def test_address_of_the_pages(url, pages):
    assert Repository(url, "main").pages == pages


def test_found_in_the_environment_of_a_run(tmp_path):
    github = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "someone/fork"}
    assert find(github | {"GITHUB_REF_NAME": "main"}, tmp_path).url.endswith("/someone/fork")
    pull = {"GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "mend"}
    assert find(github | pull, tmp_path).ref == "mend"
    gitlab = {"CI_PROJECT_URL": "https://gitlab.com/group/name", "CI_COMMIT_REF_NAME": "main"}
    assert find(gitlab, tmp_path) == Repository("https://gitlab.com/group/name", "main")


def test_found_in_a_checkout(tmp_path):
    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(("git", *who, *words), cwd=tmp_path, check=True, capture_output=True)

    assert find({}, tmp_path) is None
    git("init", "-b", "main")
    assert find({}, tmp_path) is None
    git("remote", "add", "origin", "git@github.com:owner/name.git")
    assert find({}, tmp_path) == Repository("https://github.com/owner/name", "main")
    git("commit", "--allow-empty", "-m", "first")
    git("tag", "v0.1.0")
    assert find({}, tmp_path).ref == "v0.1.0"
    git("checkout", "--detach")
    git("tag", "-d", "v0.1.0")
    assert len(find({}, tmp_path).ref) == 40
    git("remote", "set-url", "origin", str(tmp_path))
    assert find({}, tmp_path) is None
