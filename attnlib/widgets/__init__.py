"""The player and the labs: a trace as something to see, numbers as something to change."""

from .html import page_script, player_html, save_html, tools_script
from .labs import LABS, lab, lab_script
from .live import live
from .source import tokens_css

__all__ = [
    "LABS",
    "lab",
    "lab_script",
    "live",
    "page_script",
    "player_html",
    "save_html",
    "tokens_css",
    "tools_script",
]
