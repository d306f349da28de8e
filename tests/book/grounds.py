"""Nothing stands on a card of the other theme: behind all that a page shows is the page's paper."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAPER = {"light": (253, 252, 249), "dark": (22, 24, 27)}
GROUNDS = """() => [...document.querySelectorAll("main, main *")].map(e => {
  const ground = getComputedStyle(e).backgroundColor;
  const [r, g, b, a = 1] = ground.match(/[\\d.]+/g).map(Number);
  return [e.outerHTML.slice(0, 80), a && (r + g + b) / 3];
}).filter(([, light]) => light)"""
# What decides which colours a picture is shown in; how wide the page is does not.
SHOWN = """image => {
  const names = ["filter", "mixBlendMode", "opacity", "background", "border"];
  const looks = [];
  for (let e = image; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    looks.push(names.map(name => style[name]).join(" "));
  }
  return image.currentSrc + looks.join("\\n");
}"""


class Grounds:
    """What stands on cards on one page, state after state; what is shown the same is seen once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rims: dict[tuple[str, str], str] = {}

    def problems(self, theme: str) -> list[str]:
        wrong = []
        for image in self.page.locator("main img:not(.dark-light)").all():
            if not image.is_visible():
                continue
            key = (theme, image.evaluate(SHOWN))
            if key not in self.rims:
                self.rims[key] = rim(image, theme)
            wrong += [self.rims[key]] if self.rims[key] else []
        is_card = (lambda light: light > 110) if theme == "dark" else (lambda light: light < 145)
        cards = [element for element, light in self.page.evaluate(GROUNDS) if is_card(light)]
        return wrong + [f"a card behind {element}" for element in cards]


def rim(image, theme: str) -> str:
    """Say what is wrong with the four corners of a picture, as they are on the screen."""
    shot = Image.open(io.BytesIO(image.screenshot())).convert("RGB")
    corners = [shot.getpixel((x, y)) for x in (1, shot.width - 2) for y in (1, shot.height - 2)]
    for corner in corners:
        if any(abs(a - b) > 12 for a, b in zip(corner, PAPER[theme], strict=True)):
            return f"the picture {image.get_attribute('src')} stands on a card {corner}"
    return ""
