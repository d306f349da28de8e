"""Links to sections name a heading as JupyterLab does: they are followed there and on the pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from headings import slug
from markdown_it import MarkdownIt

import notebooks

PAGES = [*notebooks.notebooks(), *sorted((notebooks.ROOT / "book").glob("*.md"))]
# Formulas are left as they are written: so are they in JupyterLab where it names a heading.
MARKDOWN = MarkdownIt("commonmark").enable("table")
# JupyterLab looks for the address as it is sent, where these signs are written in another way.
PAGES_ONLY = {"Attention-costs-S²-times-the-width", "shape-'[…]'-is-invalid-for-input-of-size"}
SENT_AS_IT_IS = ":,/?@&=+$;'()!~*"
Texts = dict[str, list[str]]


def texts(page: Path) -> Iterator[str]:
    """What a page holds in Markdown, tables that its cells print included."""
    if page.suffix == ".md":
        yield page.read_text(encoding="utf-8")
        return
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
        for output in cell.get("outputs", []):
            yield "".join(output.get("data", {}).get("text/markdown", ""))


def headings(written: list[str]) -> list[str]:
    """What JupyterLab calls each heading."""
    found = []
    for text in written:
        tokens = MARKDOWN.parse(text)
        for opened, inline in pairwise(tokens):
            if opened.type == "heading_open":
                words = [t.content for t in inline.children if t.type in {"text", "code_inline"}]
                found.append("".join(words).replace(" ", "-"))
    return found


def links(written: list[str]) -> list[tuple[str, str]]:
    """Page and section of each link to a section; no page where it is the link's own."""
    tokens = [token for text in written for token in MARKDOWN.parse(text)]
    inside = [child for token in tokens for child in token.children or []]
    found = [child.attrs["href"] for child in inside if child.type == "link_open"]
    parts = [href.partition("#") for href in found if "#" in href and "//" not in href]
    return [(page, unquote(section)) for page, _, section in parts]


def astray(book: Texts) -> list[str]:
    """Say which links do not name one heading, or name it so that JupyterLab takes another."""
    named = {page: headings(written) for page, written in book.items()}
    found = []
    for page, written in book.items():
        for target, section in links(written):
            if named.get(target or page, []).count(section) != 1:
                found.append(f"{page}: {target}#{section} is not one heading")
                continue
            # Of a link without a page it takes the first such heading in all that is open.
            holders = [name for name, sections in named.items() if section in sections]
            if not target and holders != [page]:
                found.append(f"{page}: {section} is a heading of {' and '.join(holders)}")
    return found


@pytest.fixture(scope="module")
def book() -> Texts:
    return {page.name: list(texts(page)) for page in PAGES}


def test_each_link_to_a_section_names_its_heading(book: Texts) -> None:
    assert astray(book) == []
    assert sum(len(links(written)) for written in book.values()) > 250


def test_few_links_work_on_the_pages_only(book: Texts) -> None:
    sections = {section for written in book.values() for _, section in links(written)}
    assert {name for name in sections if quote(name, safe=SENT_AS_IT_IS) != name} == PAGES_ONLY


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("#where-it-breaks:-twice", "is not one heading"),
        ("#where-it-breaks-twice", "is not one heading"),
        ("other.ipynb#Where-it-breaks:-twice", "is not one heading"),
        ("nowhere.ipynb#The-end", "is not one heading"),
        ("other.ipynb#Again", "is not one heading"),
        ("#The-end", "is a heading of page.ipynb and other.ipynb"),
        ("#Where-it-breaks:-twice", ""),
        ("page.ipynb#The-end", ""),
        ("other.ipynb#The-end", ""),
    ],
)
def test_a_link_that_leads_astray_is_found(link: str, said: str) -> None:
    page = ["## Where it breaks: `twice`", "## The end", f"[here]({link})"]
    other = ["# The end\n\n## Again\n\n## Again"]
    found = astray({"page.ipynb": page, "other.ipynb": other})
    assert len(found) == bool(said)
    assert all(said in fault for fault in found)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("One line", "One-line"),
        ("Exercise: merge-heads", "Exercise:-merge-heads"),
        ("PyTorch's own: view(), .T", "PyTorch's-own:-view(),-.T"),
        ("Two  blanks", "Two--blanks"),
        ("S² and √H", "S²-and-√H"),
    ],
)
def test_a_heading_is_named_as_in_jupyterlab(title: str, name: str) -> None:
    assert slug(title) == name
