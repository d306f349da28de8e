"""What others need to show and find a page: a card for links, the page's own address, a sitemap.

All of it holds absolute addresses. A copy that does not know where its pages stand has none of it.
"""

import os
from pathlib import Path
from xml.sax.saxutils import escape

CARD = "_static/card.png"
SITEMAP = """\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""


def home(app):
    """Give the address that the pages stand below: as BOOK_ADDRESS says, else the host's."""
    named = os.environ.get("BOOK_ADDRESS", "")
    if named:
        return named.rstrip("/") + "/"
    found = app.config.book_repository
    return found.pages if found else None


def describe_page(app, pagename, templatename, context, doctree):
    if doctree is not None and (site := home(app)):
        context["address"] = f"{site}{pagename}.html"
        context["card"] = f"{site}{CARD}"


def write_sitemap(app, error):
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir) / "sitemap.xml"
    out.unlink(missing_ok=True)
    if site := home(app):
        root = app.config.root_doc
        pages = [root, *app.env.toctree_includes[root]]
        rows = [f"<url><loc>{escape(f'{site}{page}.html')}</loc></url>" for page in pages]
        out.write_text(SITEMAP.format("\n".join(rows)))


def setup(app):
    app.connect("html-page-context", describe_page)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
