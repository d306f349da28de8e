"""The pages' one style sheet: of all rules those that something on some page can take.

A rule falls when its selector names an element, class, id or attribute that is on no page and that
no script puts there. Only names are compared, and what a reader does (hover, focus, a theme) counts
as possible: what is kept may be too much, what is dropped can match nothing.
"""

import re

import tinycss2
from lxml import html

from attnlib import widgets

# Players and verdicts name what they bring so, whether it came with the page or from a kernel.
BROUGHT = "attn-"
# No page and no script sets it: a reader does, by opening what is folded.
SET_BY_READER = {"open"}
NESTS = {"media", "supports"}
DATASET = re.compile(r"\bdataset\.(\w+)")


def whole(assets, more=""):
    """Give every rule, colours first, as they are written."""
    sheets = [path.read_text("utf-8") for path in sorted((assets / "style").glob("*.css"))]
    return "\n".join([widgets.tokens_css(), more, *sheets])


def used(css, pages, scripts):
    """Leave out of `css` what can match nothing on `pages` nor in what `scripts` may add."""
    rules = tinycss2.parse_stylesheet(css, skip_comments=True)
    return tinycss2.serialize(Possible(pages, scripts).rules(rules))


class Possible:
    """The names that a selector may ask for."""

    def __init__(self, pages, scripts):
        self.on_pages = {name for page in pages for name in names_on(page)}
        self.in_scripts = SET_BY_READER.copy()
        for script in scripts:
            self.in_scripts.update(re.findall(r"[\w-]+", script.lower()))
            for name in DATASET.findall(script):
                self.in_scripts.add("data-" + re.sub("[A-Z]", r"-\g<0>", name).lower())

    def rules(self, nodes):
        """Keep the rules with a selector that can match, and of their selectors those."""
        kept = []
        for node in nodes:
            if node.type == "qualified-rule":
                node.prelude = self.selectors(node.prelude)
                if not node.prelude:
                    continue
            elif node.type == "at-rule" and node.lower_at_keyword in NESTS:
                inside = tinycss2.parse_rule_list(node.content, skip_comments=True)
                node.content = self.rules(inside)
                if all(inner.type == "whitespace" for inner in node.content):
                    continue
            kept.append(node)
        return kept

    def selectors(self, tokens):
        """Keep the selectors of a list that can match."""
        parts = [[]]
        for token in tokens:
            if token == ",":
                parts.append([])
            else:
                parts[-1].append(token)
        kept = [part for part in parts if self.can_match(part)]
        comma = next((token for token in tokens if token == ","), None)
        return [token for part in kept for token in (comma, *part)][1:]

    def can_match(self, selector):
        before = None
        for token in selector:
            if token.type == "ident" and before != ":":
                name = f".{token.value}" if before == "." else token.lower_value
                if not self.is_known(name):
                    return False
            elif token.type == "hash" and not self.is_known(f"#{token.value}"):
                return False
            elif token.type == "[] block":
                asked = next(inner for inner in token.content if inner.type == "ident")
                if not self.is_known(f"[{asked.lower_value}"):
                    return False
            elif token.type == "function" and token.lower_name in {"is", "where", "has"}:
                token.arguments = self.selectors(token.arguments)
                if not token.arguments:
                    return False
            before = token
        return True

    def is_known(self, name):
        bare = name.lstrip(".#[")
        return name in self.on_pages or bare.lower() in self.in_scripts or bare.startswith(BROUGHT)


def names_on(page):
    """Name each element, .class, #id and [attribute of a page."""
    for element in html.fromstring(page).iter(html.etree.Element):
        yield element.tag
        for attribute, value in element.attrib.items():
            yield f"[{attribute}"
            if attribute == "id":
                yield f"#{value}"
            elif attribute == "class":
                yield from (f".{name}" for name in value.split())
