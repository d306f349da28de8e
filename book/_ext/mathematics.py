"""Formulas become MathML while the book is built: a page runs and fetches nothing to show them."""

import re
from html import escape, unescape

import math_font
from dimensions import paint_formula
from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)
SIGN = re.compile(r"[.,;:!?)\]”’…-]+")
CONVERTER = LatexToMathML(annotation=False, fancy_error=False)


def to_mathml(latex, node, *, display):
    """Convert `latex`; a formula that would not be shown right warns, and so fails the build."""
    try:
        mathml = CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        LOG.warning("formula not understood: %s in %s", error, latex, location=node)
        return f"<code>{escape(latex)}</code>"
    missing = set(unescape(re.sub(r"<[^>]*>", "", mathml))) - math_font.shown()
    if missing:
        points = ", ".join(f"{c} (U+{ord(c):04X})" for c in sorted(missing))
        LOG.warning("formula uses %s, which the font lacks: %s", points, latex, location=node)
    return paint_formula(mathml)


class KeepPunctuation(SphinxTransform):
    """Keep a formula and the sign right behind it on one line: a browser may break between them."""

    default_priority = 700

    def apply(self):
        for formula in list(self.document.findall(nodes.math)):
            following = formula.next_node(descend=False, siblings=True)
            sign = SIGN.match(following) if isinstance(following, nodes.Text) else None
            if sign:
                rest = nodes.Text(following[sign.end() :])
                following.parent.replace(following, rest)
                whole = nodes.inline(classes=["whole"])
                formula.replace_self(whole)
                whole += [formula, nodes.Text(sign[0])]


def visit_math(self, node):
    self.body.append(to_mathml(node.astext(), node, display=False))
    raise nodes.SkipNode


def visit_math_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(to_mathml(node.astext(), node, display=True))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="formula-number">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_transform(KeepPunctuation)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
