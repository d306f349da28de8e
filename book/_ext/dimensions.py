"""Every dimension in its colour: in prose, in code comments, in printed tables and in formulas.

Nothing has to be marked by an author. ``S`` as inline code, ``(batch, S, H)`` in a comment and
``S`` in a formula read the same in a plain notebook; in the book they also carry their colour.
"""

import re

from attnlib import dims
from docutils import nodes
from sphinx.transforms import SphinxTransform

# Queries and keys may differ in length, values in width: same dimension, same colour.
SIZES_APART = {"Sq": "S", "Sk": "S", "Hv": "H"}
ROLES = {symbol: symbol for symbol in dims.DIMS} | SIZES_APART

NAME = re.compile(r"(?<![\w.])(" + "|".join(sorted(ROLES, key=len, reverse=True)) + r")(?!\w)")
# One axis of a printed shape: a name, a number, `...`, `*batch`, or a product of names and numbers.
AXIS = r"(?:\.\.\.|\*?\w+(?:\s?[*·×/]\s?\w+)*)"
SHAPE = re.compile(rf"\(({AXIS}(?:, ?{AXIS})*,?)\)")
SIZED = re.compile(rf"(?<![\w.])({'|'.join(ROLES)}) = \d[\d,]*")


def css_class(name):
    """Give the class of a dimension: its colour stands in the style sheet once."""
    return f"dim dim-{ROLES[name]}"


def paint(text):
    """Wrap each dimension's name in `text`, which is HTML already, in its colour."""
    return NAME.sub(lambda m: f'<span class="{css_class(m[1])}">{m[1]}</span>', text)


def paint_shapes(text):
    """Paint the shapes and the sizes (`S = 3`) in `text`, and no other word."""
    text = SHAPE.sub(lambda m: paint(m[0]) if NAME.search(m[0]) else m[0], text)
    return SIZED.sub(lambda m: f'<span class="{css_class(m[1])}">{m[0]}</span>', text)


# --- prose -------------------------------------------------------------------------------------


class PaintInlineCode(SphinxTransform):
    """Inline code that is a dimension or a shape takes the colours."""

    default_priority = 700

    def apply(self):
        for node in list(self.document.findall(nodes.literal)):
            text = node.astext()
            if text in ROLES:
                node["classes"] += css_class(text).split()
            elif sized := SIZED.fullmatch(text):
                node["classes"] += css_class(sized[1]).split()
            elif is_only_shape(text):
                node["classes"].append("shape")
                node.children = []
                node += painted_nodes(text, [NAME.finditer(text)])
            elif SHAPE.search(text):
                node.children = []
                shapes = [s.span() for s in SHAPE.finditer(text)]
                node += painted_nodes(text, [NAME.finditer(text, *span) for span in shapes])


def is_only_shape(text):
    """Say whether every word of `text` is a dimension: `(batch, S, H)`, `heads * H = n_embd`."""
    words = re.findall(r"[A-Za-z_]\w*", text)
    return bool(words) and all(word in ROLES for word in words) and "." not in text.replace("...", "")


def painted_nodes(text, findings):
    """Cut `text` into plain text and one inline node a dimension."""
    at = 0
    for name in (match for finding in findings for match in finding):
        yield nodes.Text(text[at : name.start()])
        yield nodes.inline("", name[1], classes=css_class(name[1]).split())
        at = name.end()
    yield nodes.Text(text[at:])


# --- code cells and what they print ------------------------------------------------------------

BLOCK = re.compile(
    r'(<div class="[^"]*?highlight-([^\s"]+)[^"]*"><div class="highlight"><pre>)(.*?)(</pre>)', re.S
)
COMMENT = re.compile(r'(<span class="c1">)(.*?)(</span>)', re.S)
STRING = re.compile(r'(<span class="s[12]">)(.*?)(</span>)', re.S)
TABLE = re.compile(r'<table class="attn-fallback">.*?</table>', re.S)
PRINTED = {"myst-ansi", "none", "text", "default"}


def paint_blocks(html):
    """Paint the comments and shape strings of code, and the shapes in what a cell printed."""
    html = TABLE.sub(lambda m: paint_shapes(m[0]), html)
    return BLOCK.sub(lambda m: m[1] + paint_block(m[2], m[3]) + m[4], html)


def paint_block(language, body):
    if language in PRINTED:
        return paint_shapes(body)
    body = COMMENT.sub(lambda m: m[1] + paint_shapes(m[2]) + m[3], body)
    return STRING.sub(lambda m: m[1] + paint_shape_string(m[2]) + m[3], body)


def paint_shape_string(text):
    """Paint a string that is nothing but axes, as in `dims="batch S n_embd"`."""
    words = re.sub(r"&quot;|&#39;|[\"'*]", " ", text).split()
    is_shape = words and all(word in ROLES or word in {"...", "_"} for word in words)
    return paint(text) if is_shape else text


# --- formulas ----------------------------------------------------------------------------------

SUBSCRIPTED = re.compile(r"<msub>(<mi>([SH])</mi><mi>[a-z]</mi>)</msub>")
IDENTIFIER = re.compile(r"<(mi|mtext)>(?:<code>)?([A-Za-z_]+)(?:</code>)?</\1>")


def paint_formula(mathml):
    """Paint identifiers that are a dimension's symbol: `S`, `S_q`, `H`, `n_embd`, `batch`, `heads`."""

    def identifier(match):
        tag, name = match.groups()
        painted = f'<{tag} class="{css_class(name)}">{name}</{tag}>' if name in ROLES else match[0]
        return painted

    mathml = SUBSCRIPTED.sub(r'<msub class="dim dim-\2">\1</msub>', mathml)
    return IDENTIFIER.sub(identifier, mathml)


# --- style sheet -------------------------------------------------------------------------------


def rules():
    """Give the rules that turn the classes above into colours; the colours are tokens of `dims`."""
    return "\n".join(f".dim-{symbol} {{ color: var(--{symbol}-ink); }}" for symbol in dims.DIMS)


def paint_page(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = paint_blocks(context["body"])


def setup(app):
    app.add_transform(PaintInlineCode)
    app.connect("html-page-context", paint_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
