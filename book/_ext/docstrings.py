"""The library's docstrings as parts of a page: shapes in colour, links to chapters and papers."""

import inspect
import re

from dimensions import SHAPE
from docutils import nodes
from sphinx.addnodes import pending_xref

import attnlib

PARTS = ("Shapes", "Units", "Raises", "Example", "Source")
PART = re.compile(rf"^({'|'.join(PARTS)}): ?", re.M)
CODE = re.compile(r"``(.+?)``|`(.+?)`")
EMPHASIS = re.compile(r"(?<!\w)\*(\w+)\*(?!\w)")
LINKS = re.compile(r"chapter (\d\d)|([A-Z]\w+) et al\. (\d{4})|\b(\w+Error)\b")
PAGES = []  # the chapters' names, known when the builder is


def split(text):
    """Cut a docstring into what it says first and its named parts."""
    pieces = PART.split(text)
    return pieces[0].strip(), dict(zip(pieces[1::2], pieces[2::2], strict=True))


def inline(text):
    """Text with code, shapes, chapters, papers and errors marked."""
    at, found = 0, []
    for code in CODE.finditer(text):
        found += plain(text[at : code.start()])
        found.append(nodes.literal("", code[1] or code[2]))
        at = code.end()
    return found + plain(text[at:])


def plain(text):
    text, found, at = re.sub(r"\s+", " ", text).replace("->", "→"), [], 0
    shapes = (mark for mark in SHAPE.finditer(text) if not text[: mark.start()][-1:].isalnum())
    marks = [*shapes, *LINKS.finditer(text), *EMPHASIS.finditer(text)]
    for mark in sorted(marks, key=lambda match: match.start()):
        if mark.start() < at:
            continue
        found.append(nodes.Text(text[at : mark.start()]))
        found.append({LINKS: linked, EMPHASIS: stressed, SHAPE: shape}[mark.re](mark))
        at = mark.end()
    return [*found, nodes.Text(text[at:])]


def stressed(mark):
    return nodes.emphasis("", mark[1])


def shape(mark):
    """A shape is code only if it names a dimension; `(none of them)` is a remark."""
    named = re.search(r"batch|Sq|Sk|Hv|\bS\b|\bH\b|n_embd|heads", mark[0])
    return nodes.literal("", mark[0]) if named else nodes.Text(mark[0])


def linked(mark):
    """A chapter, a paper or an error leads to where it is."""
    chapter, author, year, error = mark.groups()
    if error:
        literal = nodes.literal("", error)
        known = hasattr(attnlib, error)
        return nodes.reference("", "", literal, internal=True, refid=error) if known else literal
    if author:
        target = f"references.html#{author}-et-al-{year}".lower()
        return nodes.reference("", f"{author} et al., {year}", internal=True, refuri=target)
    page = next(p for p in PAGES if p.startswith(f"{chapter}-"))
    reference = pending_xref(
        "",
        refdomain="std",
        reftype="doc",
        reftarget=f"/book/{page}",
        refexplicit=True,
        refwarn=True,
    )
    reference += nodes.inline("", f"chapter {int(chapter)}")
    return reference


def code_block(text, language):
    return nodes.literal_block(text, text, language=language)


def documented(text):
    """The nodes of a docstring: its paragraphs, its parts as a list, its example as code."""
    first, parts = split(text)
    found = [nodes.paragraph("", "", *inline(part)) for part in first.split("\n\n") if part]
    listed = nodes.definition_list(classes=["parts"])
    for name in ("Shapes", "Units", "Raises", "Source"):
        if name in parts:
            body = nodes.definition("", nodes.paragraph("", "", *inline(parts[name].strip())))
            listed += nodes.definition_list_item("", nodes.term("", name), body)
    found += [listed] if listed.children else []
    if "Example" in parts:
        example = inspect.cleandoc("\n" + parts["Example"])
        found += [code_block(example, "pycon")] if example.startswith(">>>") else []
    return found
