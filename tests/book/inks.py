"""Contrast of text in SVG: WCAG 1.4.3, where axe gives no verdict.

Figures, players and labs alike: 4.5 to 1, 3 to 1 for large text, as it is on the screen.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle, Page

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
# A line that runs behind a word takes little of its box; a ground that it stands on takes more.
BEHIND = 0.2


class Inks:
    """What cannot be read in the drawings of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
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
        x, y, width, height = ready["at"]
        clip = {"x": x, "y": y, "width": width, "height": height}
        shots = []
        for ink in (False, True):
            self.page.evaluate("ink => inks.turn(ink)", ink)
            shots.append(brightness(self.page.screenshot(clip=clip)))
        self.page.evaluate("inks.stop()")
        problems = []
        for words, left, top, wide, high, least in ready["said"]:
            rows = slice(max(0, round(top - y) + 1), max(0, round(top - y + high) - 1))
            columns = slice(max(0, round(left - x) + 1), max(0, round(left - x + wide) - 1))
            ratios = contrast(*(shot[rows, columns] for shot in shots))
            if ratios.size and (ratios < least).mean() > BEHIND:
                problems.append(f"{words!r} at {np.median(ratios):.2f} to 1, not {least}")
        return problems


def brightness(png: bytes) -> np.ndarray:
    """Give the relative luminance of every pixel."""
    colour = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) / 255
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05)
