"""What every built page must hold, asked of a real browser.

`check_page` is the whole answer for one page: a list of what is wrong, empty when nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .access import Access
from .grounds import Grounds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = {"desk": 1280, "phone": 390}
LOCAL = {"data", "blob", "about"}
# Two frames: what a page does when its width or its theme changes is done and painted.
PAINTED = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"""


def check_page(
    browser: Browser, url: str, themes: Sequence[str] = ("light", "dark"), *, access: bool = True
) -> list[str]:
    """Say everything that is wrong with the page at `url` (http or file).

    `access=False` leaves out axe, which takes most of the time and sees the same page either way.
    """
    problems: list[str] = []
    with opened(browser, url, theme=themes[0]) as (page, heard):
        grounds, reader = Grounds(page), Access(page) if access else None
        for screen, theme in product(WIDTHS, themes):
            show(page, screen, theme)
            found = structure(page) + overflow(page) + grounds.problems(theme)
            found += reader.problems() if reader else []
            problems += [f"{theme}, {screen}: {problem}" for problem in found]
        problems += heard
    with opened(browser, url, javascript=False) as (page, heard):
        problems += [f"without JavaScript: {problem}" for problem in heard + formulas(page)]
    return problems


def show(page: Page, screen: str, theme: str) -> None:
    page.set_viewport_size({"width": WIDTHS[screen], "height": 900})
    page.emulate_media(color_scheme=theme)
    page.evaluate(PAINTED)


@contextmanager
def opened(
    browser: Browser, url: str, *, theme: str = "light", width: int = 1280, javascript: bool = True
) -> Iterator[tuple[Page, list[str]]]:
    """Open `url` and listen: what it asks for, what fails, and every word on its console."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
        java_script_enabled=javascript,
        reduced_motion="reduce",
    )
    heard: list[str] = []
    page = context.new_page()
    listen(page, url, heard)
    page.goto(url, wait_until="load")
    page.evaluate("document.fonts.ready")
    if javascript:
        settle(page)
    try:
        yield page, heard
    finally:
        context.close()


def listen(page: Page, url: str, heard: list[str]) -> None:
    """Write down what a page asks of others and says; let nothing out to another host."""
    home = urlsplit(url)[:2]

    def ask(route, request):
        place = urlsplit(request.url)
        if place[:2] == home or place.scheme in LOCAL:
            route.continue_()
        else:
            heard.append(f"asks another host: {request.url}")
            route.abort()

    page.context.route("**/*", ask)
    page.on("console", lambda message: heard.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("requestfailed", lambda request: heard.append(f"request failed: {request.url}"))
    page.on("response", lambda r: r.status >= 400 and heard.append(f"{r.status}: {r.url}"))


def settle(page: Page) -> None:
    """Bring in what comes when a reader gets near it, and go back to the top."""
    for place in page.locator("main .attn-lab").all():
        place.scroll_into_view_if_needed()
        place.locator(".attn-host").first.wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(PAINTED)


STRUCTURE = """() => {
  const wrong = [];
  const count = (selector, wanted) => {
    const n = document.querySelectorAll(selector).length;
    if (n !== wanted) wrong.push(`${n} × ${selector}, not ${wanted}`);
  };
  if (!document.title.trim()) wrong.push("no title");
  if (!document.documentElement.lang) wrong.push("no language");
  count("main", 1);
  count("h1", 1);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i)))
    wrong.push(`id ${id} twice`);
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) wrong.push(`h${next} after h${level}: ${heading.textContent}`);
    level = next;
  }
  for (const image of document.images)
    if (image.alt.trim().length < 10)
      wrong.push(`no text for the picture ${image.getAttribute("src")}`);
  const links = "link[rel=stylesheet], link[rel=preload], link[rel=icon]";
  const parts = document.querySelectorAll(`script[src], ${links}, img, iframe, source, object`);
  for (const part of parts) {
    const address = new URL(part.src || part.href || part.data || "", document.baseURI);
    const here = address.protocol === "data:" || address.origin === location.origin
      && address.host === location.host;
    if (!here) wrong.push(`names another host: ${address}`);
  }
  if (document.querySelector("math") && ![...document.fonts].some(f => f.status === "loaded"))
    wrong.push("the font of the formulas did not come");
  return wrong;
}"""


def structure(page: Page) -> list[str]:
    return page.evaluate(STRUCTURE)


def overflow(page: Page) -> list[str]:
    """A page never scrolls sideways; what is too wide scrolls inside itself."""
    extra = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if extra <= 0:
        return []
    widest = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll("body *")].filter(e => e.checkVisibility());
          const right = e => e.getBoundingClientRect().right;
          return all.reduce((a, b) => right(b) > right(a) ? b : a).outerHTML.slice(0, 120);
        }"""
    )
    return [f"{extra} px too wide, at {widest}"]


def formulas(page: Page) -> list[str]:
    """Formulas are MathML with a size, and no TeX is left in the text."""
    return page.evaluate(
        """() => {
          const wrong = [];
          for (const math of document.querySelectorAll("math")) {
            const box = math.getBoundingClientRect();
            const folded = math.closest("details:not([open])");
            if (!math.namespaceURI.endsWith("/MathML")) wrong.push("not MathML");
            if (!folded && box.width * box.height === 0)
              wrong.push(`empty: ${math.outerHTML.slice(0, 80)}`);
          }
          const main = document.querySelector("main");
          const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            if (walker.currentNode.parentElement.closest("code, pre, script")) continue;
            const tex = walker.currentNode.data.match(/\\\\(frac|sqrt|text|top|sum)\\b|\\$\\$/);
            if (tex) wrong.push(`TeX in the text: ${walker.currentNode.data.slice(0, 60)}`);
          }
          return wrong;
        }"""
    )
