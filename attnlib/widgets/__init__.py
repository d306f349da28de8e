"""The player: a trace as something to see, in a page and in a notebook."""

from .html import page_script, player_html, save_html
from .source import tokens_css

__all__ = ["page_script", "player_html", "save_html", "tokens_css"]
