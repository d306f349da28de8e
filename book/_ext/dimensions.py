"""Every dimension in its colour: in prose, in code comments, in printed tables and in formulas.

Nothing has to be marked by an author. ``S`` as inline code, ``(batch, S, H)`` in a comment and
``S`` in a formula read the same in a plain notebook; in the book they also carry their colour.
"""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

from attnlib import dims

# Names that mean a dimension wherever they stand alone. Queries and keys may differ in length,
# values in width: the same dimension, the same colour.
ROLES = {name: dims.role(name) for name in [*dims.DIMS, "Sq", "Sk", "Hv"]}

WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
# One axis of a shape: a name, a number, `...`, `*batch`, a product of names and numbers, `S=3`.
AXIS = r"(?:\.\.\.|\*?\w+(?:\s?(?://|[*·×/=])\s?\w+)*)"
SHAPE = re.compile(rf"\(({AXIS}(?:, ?{AXIS})*,?)\)")
NUMBER = r" = {1,4}\d+(?:,\d{3})*"
SIZED = re.compile(rf"(?<![\w.])(\w+){NUMBER}")
SIZES = re.compile(rf"(?<![\w.])\w+{NUMBER}(?:, \w+{NUMBER})*")


def css_class(role):
    """Give the class of a dimension: its colour stands in the style sheet once."""
    return f"dim dim-{role}"


def names_in(shape):
    """Find the dimensions in a shape: (match, role) for each.

    In a shape where every name is some dimension's, other people's names count too: (B, T, C).
    """
    words = list(WORD.finditer(shape))
    known = all(dims.role(word[0]) for word in words)
    roles = dims.role if known else ROLES.get
    return [(word, roles(word[0])) for word in words if roles(word[0])]


def painted(text, role):
    """Wrap `text` in the colour of a role, where it has one."""
    return f'<span class="{css_class(role)}">{text}</span>' if role else text


def paint(shape):
    """Wrap each dimension's name in `shape`, which is HTML already, in its colour."""
    for word, role in reversed(names_in(shape)):
        shape = shape[: word.start()] + painted(word[0], role) + shape[word.end() :]
    return shape


def paint_shapes(text):
    """Paint the shapes and the sizes (`S = 3`) in `text`, and no other word."""
    text = SHAPE.sub(lambda shape: paint(shape[0]), text)
    return SIZES.sub(lambda sizes: paint_sizes(sizes[0]), text)


def paint_sizes(sizes):
    """Paint `S = 3`; of several, `B = 2, T = 3`, other people's names too, as in a shape."""
    names = [sized[1] for sized in SIZED.finditer(sizes)]
    roles = dims.role if len(names) > 1 and all(map(dims.role, names)) else ROLES.get
    return SIZED.sub(lambda sized: painted(sized[0], roles(sized[1])), sizes)


# --- prose -------------------------------------------------------------------------------------


class PaintInlineCode(SphinxTransform):
    """Inline code that is a dimension or a shape takes the colours."""

    default_priority = 700

    def apply(self):
        for node in list(self.document.findall(nodes.literal)):
            text = node.astext()
            sized = SIZED.fullmatch(text)
            role = ROLES.get(sized[1] if sized else text)
            if role:
                node["classes"] += css_class(role).split()
            elif is_only_shape(text):
                node["classes"].append("shape")
                node[:] = painted_nodes(text)
            elif SHAPE.search(text):
                node[:] = [part for piece in pieces(text) for part in piece]


def is_only_shape(text):
    """Say whether `text` is one shape, or only dimensions: `(B, T, C)`, `heads * H = n_embd`."""
    if SHAPE.fullmatch(text):
        return bool(names_in(text))
    return bool(WORD.search(text)) and all(word[0] in ROLES for word in WORD.finditer(text))


def pieces(text):
    """Cut `text` at its shapes; only they are painted."""
    at = 0
    for shape in SHAPE.finditer(text):
        yield [nodes.Text(text[at : shape.start()])]
        yield painted_nodes(shape[0])
        at = shape.end()
    yield [nodes.Text(text[at:])]


def painted_nodes(shape):
    """Cut `shape` into plain text and one inline node a dimension."""
    parts, at = [], 0
    for word, role in names_in(shape):
        parts.append(nodes.Text(shape[at : word.start()]))
        parts.append(nodes.inline("", word[0], classes=css_class(role).split()))
        at = word.end()
    return [*parts, nodes.Text(shape[at:])]


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
    """Paint identifiers that are a dimension's symbol: `S`, `S_q`, `H`, `n_embd`, `heads`."""

    def identifier(match):
        tag, name = match.groups()
        if name not in ROLES:
            return match[0]
        return f'<{tag} class="{css_class(ROLES[name])}">{name}</{tag}>'

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
