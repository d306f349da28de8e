"""What surrounds a page's text: contents, style, scripts, policy; nothing that it does not use."""

import os
import re
import shutil
from html import unescape
from pathlib import Path

import dimensions
import repository
import scripts
import styles
from docutils import nodes

from attnlib.widgets import figures

# A launched kernel on this machine or on Binder is the only host that a page may ever talk to.
KERNELS = (
    "http://localhost:* ws://localhost:* http://127.0.0.1:* ws://127.0.0.1:* "
    "https://mybinder.org https://*.mybinder.org wss://*.mybinder.org"
)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' blob:; "
    "style-src 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    f"connect-src 'self' {KERNELS}; base-uri 'none'; form-action 'none'"
)


def describe_page(app, pagename, templatename, context, doctree):
    """Give the layout what it asks for."""
    body = context.get("body", "")
    context["content_policy"] = CONTENT_POLICY
    context["widget_scripts"] = scripts.asked_for(body)
    context["summary"] = first_sentence(doctree)
    context["contents"] = contents(context)
    context["page_links"] = page_links(app, pagename, context)
    context["is_notebook"] = context.get("sourcename", "").endswith(".ipynb")
    context["folder"] = Path(pagename).parent.as_posix()
    home = app.config.book_repository
    context["repository_known"] = home is not None
    context["binder"] = home.binder_spec if home else None
    context["body"] = dress(body)


def find_repository(app, config):
    """Ask once a build where this copy lives; the answer is nowhere else."""
    config.book_repository = repository.find(os.environ, Path(app.srcdir))


def first_sentence(doctree):
    """Give the first paragraph: what a chapter opens with is what it is about."""
    if doctree is None:
        return ""
    paragraph = next(iter(doctree.findall(nodes.paragraph)), None)
    return re.sub(r"\s+", " ", paragraph.astext())[:200] if paragraph else ""


def page_links(app, pagename, context):
    """Link the notebook itself and, once the repository's address is known, where to open it."""
    source = context.get("sourcename", "")
    if not source:
        return []
    links = []
    file = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
    if source.endswith(".ipynb"):
        url = context["pathto"](f"_sources/{source}", 1)
        links.append({"text": "Download the notebook", "url": url, "download": True})
    if app.config.book_repository:
        home = app.config.book_repository
        places = {"Edit this page": home.edit(file)}
        if source.endswith(".ipynb"):
            root = Path(app.srcdir)
            # Colab has the library and the notebook, Binder the whole repository.
            alone = not repository.needs_a_copy(root / file, root)
            places = {
                "Open in Colab": home.colab(file) if alone else None,
                "Open on Binder": home.binder(file),
            } | places
        links += [{"text": text, "url": url} for text, url in places.items() if url]
    return links


# --- contents ----------------------------------------------------------------------------------

PART = re.compile(r'<p [^>]*class="caption"[^>]*><span class="caption-text">(.*?)</span></p>')
ENTRY = re.compile(r'<a class="(current )?reference internal" href="([^"]*)">(?:(\d+) · )?')


def contents(context):
    """List the chapters; the current one opens into its sections."""
    if "toctree" not in context:
        return ""
    html = context["toctree"](collapse=False, titles_only=True, maxdepth=1, includehidden=True)
    html = PART.sub(r'<p class="part">\1</p>', html or "")
    current = html.find('<a class="current')
    if current >= 0:
        end = html.index("</a>", current) + len("</a>")
        html = html[:end] + sections(context) + html[end:]
    return ENTRY.sub(entry, html)


def entry(match):
    """Write one line of the contents: a chapter's number stands in a column of its own."""
    current, href, number = match.groups()
    link = '<a href="#main" aria-current="page">' if current else f'<a href="{href}">'
    return link + (f'<span class="number">{number}</span> ' if number else "")


def sections(context):
    """Give the list below the page's own title."""
    inner = re.search(r"</a>\s*(<ul>.*</ul>)\s*</li>\s*</ul>", context.get("toc") or "", re.S)
    return inner[1].replace("<ul>", '<ul class="sections">', 1) if inner else ""


# --- body --------------------------------------------------------------------------------------


HASH = re.compile(r'<a class="headerlink"( href="[^"]*") title="([^"]*)">#</a>(</h\d>)?')
CELL = re.compile(r'<div class="cell_(input|output)\b[^"]*"')
# Tables, and the pictures that cells drew: on a phone a plot as wide as the page cannot be read.
WIDE = re.compile(
    r'<table\b.*?</table>|<img\b[^>]*src="[^"]*_images/[^>]*>(?=\s*<(?:/div|figcaption)>)', re.S
)
SPOKEN = {"input": "Code", "output": "Output"}
PRINTED = re.compile(
    r'(<div class="output (?:stream|traceback|text_plain)\b[^>]*>'
    r'<div class="highlight"><pre>)(.*?)(?=</pre>)',
    re.S,
)
INTERVAL = re.compile(r"\[\d+\.\d+, \d+\.\d+\](?=</p></td>)")
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r"(?<!\S)(?!nan\b|inf\b|True\b|False\b)[A-Za-z]{2,}(?=[\s,:;.]|$)")
CARETS = re.compile(r"\s*\^+\s*")
FOLD_TITLE = re.compile(r'<p class="(collapsed|expanded) admonition-title">(.*?)</p>', re.S)


def dress(body):
    """Let what is wide scroll by itself, set off chapter numbers, make folded cells plain."""
    body = WIDE.sub(r'<div class="scroll">\g<0></div>', body)
    body = INTERVAL.sub(r'<span class="whole">\g<0></span>', body)
    body = PRINTED.sub(lambda m: m[1] + let_sentences_wrap(m[2]), body)
    body = re.sub(r"<h1>(\d+) · ", r'<h1><span class="chapter-number">Chapter \1</span> ', body)
    body = body.replace('<details class="admonition hide', '<details class="hide')
    # The name of a folded part is what is read on it, not what its maker calls all of them.
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    body = HASH.sub(hash_link, body)
    # Or a listener could not tell what a cell printed from the next cell's code.
    body = CELL.sub(lambda m: f'{m[0]} role="group" aria-label="{SPOKEN[m[1]]}"', body)
    return FOLD_TITLE.sub(r'<span class="\1">\2</span>', body)


def let_sentences_wrap(printed):
    """Mark the sentences among printed lines; tables, lists, tensors and code stay as they are."""
    lines = printed.split("\n")
    texts = [unescape(TAG.sub("", line)) for line in lines]
    for n, (line, text, below) in enumerate(zip(lines, texts, [*texts[1:], ""], strict=True)):
        is_whole = line.count("<span") == line.count("</span")
        if is_whole and is_sentence(text) and not CARETS.fullmatch(below):
            lines[n] = f'<span class="sentence">{line}</span>'
    return "\n".join(lines)


def is_sentence(text):
    """Say whether a printed line is one: long for a phone, several words, one space at a time."""
    inner = text.strip()
    is_list = "  " in inner or inner.startswith("|") or inner.count(" · ") > 2
    return len(text) > 40 and not is_list and len(WORD.findall(inner)) >= 5


def hash_link(match):
    """Write the link beside a title; where the contents have it too it is for the mouse alone.

    Inside a heading it would be read as a part of its name.
    """
    href, title, heading = match.groups()
    spoken = 'aria-hidden="true" tabindex="-1"' if heading else f'aria-label="{title}"'
    return f'<a class="headerlink" {spoken}{href}>#</a>{heading or ""}'


# --- files -------------------------------------------------------------------------------------

INLINE = re.compile(r"<script>(.*?)</script>", re.S)
SHEET = re.compile(r'(<style id="sheet">).*?</style>', re.S)
ROOT_OF = re.compile(r'<html [^>]*\bdata-content_root="([^"]*)"')
GROUND = re.compile(rf'(z\n" style="fill: ){figures.PAPER}("/>)')


def drop_widget_state(app, env):
    """Leave kernel widgets' saved state out of the page: nothing on it could read that."""
    for page in env.nb_metadata.values():
        page.get("js_files", {}).pop("ipywidgets_state", None)


def write_assets(app, error):
    """Put the style sheet into every page, write the scripts; remove what no page asks for."""
    if error or app.builder.name != "html":
        return
    static = Path(app.outdir) / "_static"
    assets = Path(app.srcdir) / "book" / "assets"
    keep = {p.name for p in assets.iterdir() if p.is_file()}
    for path in static.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in keep:
            path.unlink()
    put_on_paper(Path(app.outdir))
    whole = styles.whole(assets, dimensions.rules())
    sheet = scripts.shortened(styles.used(whole, *built(app)), "text/css")
    put_in_pages(Path(app.outdir), sheet)
    scripts.write(static)


def built(app):
    """Give the text of every page and of every script that runs on one."""
    pages = [path.read_text("utf-8") for path in Path(app.outdir).rglob("*.html")]
    inline = [code for page in pages for code in INLINE.findall(page)]
    files = (Path(app.srcdir) / "book" / "assets").glob("*.js")
    return pages, [*inline, *(path.read_text("utf-8") for path in files)]


def put_in_pages(out, css):
    """Write the sheet into every page, where the layout leaves a place for it.

    As a file it would cost a first visit one more turn over the line before the first paint.
    """
    for path in out.rglob("*.html"):
        page = path.read_text("utf-8")
        root = ROOT_OF.search(page)
        if root:
            sheet = css.replace("math.woff2", f"{root[1]}_static/math.woff2")
            head, place, rest = SHEET.split(page, 1)
            path.write_text(f"{head}{place}{sheet}</style>{rest}", "utf-8")


def put_on_paper(out):
    """Take the ground out of the pictures: they stand on the page's own, also on a white sheet."""
    for path in (out / "_images").glob("*.svg"):
        path.write_text(GROUND.sub(r"\1none\2", path.read_text("utf-8")), "utf-8")


def setup(app):
    # Jupyter Book sets this name whether or not the extension that knows it is loaded.
    app.add_config_value("comments_config", {}, "")
    app.add_config_value("book_repository", None, "html", [repository.Repository])
    app.connect("config-inited", find_repository)
    app.connect("env-updated", drop_widget_state)
    app.connect("html-page-context", describe_page, priority=900)
    app.connect("build-finished", write_assets, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
