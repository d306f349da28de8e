"""Contrast of text in SVG: WCAG 1.4.3, where axe gives no verdict.

Figures, players and labs alike: 4.5 to 1, 3 to 1 for large text, as it is on the screen.
"""

from __future__ import annotations

import io
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle, Page

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
# A line that runs behind a word takes little of its box; a ground that it stands on takes more.
BEHIND = 0.2
# What each of the 256 values of red, green and blue gives to the relative luminance.
VALUES = np.arange(256)[:, None] / 255
LINEAR = np.where(VALUES <= 0.04045, VALUES / 12.92, ((VALUES + 0.055) / 1.055) ** 2.4)
RED, GREEN, BLUE = (LINEAR * [0.2126, 0.7152, 0.0722]).T


class Inks:
    """What cannot be read in the drawings of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.screen = page.context.new_cdp_session(page)
        page.evaluate(SCRIPT)

    def problems(self, place: str = "main") -> list[str]:
        """Judge every text of every drawing that `place` shows now."""
        found = self.page.evaluate_handle(
            "place => inks.drawings(document.querySelector(place))", place
        )
        drawings = list(found.get_properties().values())
        return [problem for drawing in drawings for problem in self.of(drawing)]

    def of(self, drawing: JSHandle) -> list[str]:
        """Judge the texts of one drawing."""
        ready = drawing.evaluate("drawing => inks.start(drawing)")
        if ready is None:
            return []
        x, y = ready["at"][:2]
        shots = []
        for ink in (False, True):
            self.page.evaluate("ink => inks.turn(ink)", ink)
            shots.append(brightness(self.shot(*ready["at"])))
        self.page.evaluate("inks.stop()")
        problems = []
        for words, left, top, wide, high, least in ready["said"]:
            rows = slice(max(0, round(top - y) + 1), max(0, round(top - y + high) - 1))
            columns = slice(max(0, round(left - x) + 1), max(0, round(left - x + wide) - 1))
            ratios = contrast(*(shot[rows, columns] for shot in shots))
            if ratios.size and (ratios < least).mean() > BEHIND:
                problems.append(f"{words!r} at {np.median(ratios):.2f} to 1, not {least}")
        return problems

    def shot(self, x: float, y: float, width: float, height: float) -> bytes:
        """Take a place of the screen, packed loosely; Playwright's way costs twice this."""
        left, top = self.page.evaluate("[scrollX, scrollY]")
        clip = {"x": x + left, "y": y + top, "width": width, "height": height, "scale": 1}
        how = {"format": "png", "optimizeForSpeed": True, "clip": clip}
        return b64decode(self.screen.send("Page.captureScreenshot", how)["data"])


def brightness(png: bytes) -> np.ndarray:
    """Give the relative luminance of every pixel."""
    colour = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return RED[colour[..., 0]] + GREEN[colour[..., 1]] + BLUE[colour[..., 2]]


def contrast(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05)
