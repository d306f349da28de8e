"""Contrast of text in SVG: WCAG 1.4.3, where axe gives no verdict.

Figures, players and labs alike: 4.5 to 1, 3 to 1 for large text, as it is on the screen.
"""

from __future__ import annotations

import io
from base64 import b64decode
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from .page_check import PAINTED

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
        self.fit(drawing)
        said = drawing.evaluate("drawing => inks.start(drawing)")
        if not said:
            return []
        shots = []
        for ink in (False, True):
            self.page.evaluate("ink => inks.turn(ink)", ink)
            shots.append(self.shot())
        self.page.evaluate("inks.stop()")
        problems = []
        for words, left, top, wide, high, least in said:
            rows = slice(max(0, round(top) + 1), max(0, round(top + high) - 1))
            columns = slice(max(0, round(left) + 1), max(0, round(left + wide) - 1))
            ratios = contrast(*(brightness(shot[rows, columns]) for shot in shots))
            if ratios.size and (ratios < least).mean() > BEHIND:
                problems.append(f"{words!r} at {np.median(ratios):.2f} to 1, not {least}")
        return problems

    def fit(self, drawing: JSHandle) -> None:
        """Make the window about as high as a drawing: a shot costs what the window is large."""
        high = drawing.evaluate("drawing => drawing.getBoundingClientRect().height")
        size = dict(self.page.viewport_size, height=100 * ceil(high / 100))
        if size != self.page.viewport_size:
            self.page.set_viewport_size(size)
            self.page.evaluate(PAINTED)  # what follows the window's size has followed it

    def shot(self) -> np.ndarray:
        """Take the window, packed loosely; Playwright's way, or a part of it, costs twice this."""
        how = {"format": "png", "optimizeForSpeed": True}
        png = b64decode(self.screen.send("Page.captureScreenshot", how)["data"])
        return np.asarray(Image.open(io.BytesIO(png)))


def brightness(colour: np.ndarray) -> np.ndarray:
    """Give the relative luminance of every pixel."""
    return RED[colour[..., 0]] + GREEN[colour[..., 1]] + BLUE[colour[..., 2]]


def contrast(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05)
