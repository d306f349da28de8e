"""WCAG 2.1, levels A and AA, as far as axe-core can tell, in every theme and width of a page.

The rules fall in two. Those on colour are asked of one text for each look, once for all pages where
it passes: a look is all that decides of it, the text's own style and that of everything it stands
in. The others see elements, attributes and places but no colour: where a state shows the same of
these as a state before it, their answers are the same too, and they are not asked again.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
ASK = Path(__file__).with_name("access.js").read_text(encoding="utf-8")
PASSED: set[str] = set()
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


class Access:
    """What axe says of one page, state after state."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.answers: dict[str, list[str]] = {}
        page.evaluate(AXE)
        page.evaluate(ASK)

    def problems(self) -> list[str]:
        """Ask in the state that the page is in now."""
        self.page.evaluate("scrollTo(0, 0)")  # what sticks to an edge has one place then
        picture = self.page.evaluate("access.picture()")
        if picture not in self.answers:
            self.answers[picture] = self.page.evaluate("tags => access.structure(tags)", WCAG)
        colours = self.page.evaluate("passed => access.colours(passed)", [*PASSED])
        PASSED.update(colours["passed"])
        return self.answers[picture] + colours["problems"]


def whole(page: Page) -> set[str]:
    """Ask every rule of every element, as a yardstick: the rules that are broken."""
    found = page.evaluate(
        "tags => axe.run(document, { preload: false, runOnly: { type: 'tag', values: tags } })",
        WCAG,
    )
    return {rule["id"] for rule in found["violations"]}
