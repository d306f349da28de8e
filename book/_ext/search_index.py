"""What the search page reads: the text of every section, as one script that a folder can load too.

Sphinx's own index holds stems of words. It keeps no order, drops signs and numbers, and its
previews are fetched, which pages from a disk may not. Readers paste error messages and code.
"""

import json
import re
from pathlib import Path

from lxml import html

NAME = "search-index.js"
SILENT = {"script", "style", "template", "button"}
BLOCKS = {
    *("p", "li", "dt", "dd", "pre", "tr", "div", "table", "figcaption", "summary", "details", "br"),
    *("h1", "h2", "h3", "h4", "math"),
}


def use_own_index(app):
    """Leave Sphinx's index and its scripts out of the build."""
    app.builder.search = False


def write_index(app, error):
    if error or app.builder.name != "html":
        return
    pages = app.env.toctree_includes[app.config.root_doc]
    out = Path(app.outdir)
    rows = [row for page in [app.config.root_doc, *pages] for row in rows_of(out, page)]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    (out / "_static" / NAME).write_text(f"window.searchIndex={text}\n", encoding="utf-8")


def rows_of(out, page):
    """Give a page's sections: address, title of the page, heading, text."""
    address = f"{page}.html"
    article = html.parse(str(out / address), html.HTMLParser(encoding="utf-8")).find(".//article")
    title = ""
    for section in article.iter("section"):
        heading = words(next(h for h in section if h.tag in ("h1", "h2", "h3", "h4")))
        title = title or heading
        text = words(section)
        if text:
            yield [
                f"{address}#{section.get('id')}",
                title,
                heading,
                text.removeprefix(heading).strip(),
            ]


def words(element):
    """Give the text of an element as a reader sees it, without its sections inside."""
    parts = []
    collect(element, parts, top=True)
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def collect(element, parts, *, top=False):
    if not isinstance(element.tag, str) or element.tag in SILENT:
        return
    if not top and (element.tag == "section" or "headerlink" in element.get("class", "")):
        return
    if element.tag == "math":
        parts.append(formula(element))
        return
    space = " " if element.tag in BLOCKS or element.tag in ("td", "th") else ""
    parts.append(space + (element.text or ""))
    for child in element:
        collect(child, parts)
        parts.append(child.tail or "")
    parts.append(space)


JOINED = {"msub": "_", "msup": "^", "mfrac": " / "}


def formula(element):
    """Write MathML in a line, as people type it: √H, d_k, a / b."""
    inner = [formula(child) for child in element]
    if element.tag == "msqrt":
        return "√" + "".join(inner)
    if element.tag in JOINED:
        return JOINED[element.tag].join(inner)
    return (element.text or "") + "".join(inner)


def setup(app):
    app.connect("builder-inited", use_own_index)
    app.connect("build-finished", write_index, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
