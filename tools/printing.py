"""Print the built book: every page as a PDF of its own, and all of them as one.

    .venv/bin/python tools/printing.py [PAGE ...]      `03-scaling`, say; all of them without a name

They lie in `_build/print`. Folded parts are open there, a player is a still and its table.
"""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject

import serve
from browser import WHAT_TO_DO, find
from environment import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PRINTED = ROOT / "_build" / "print"
WHOLE = "attention-shape-by-shape.pdf"
# What a page is laid out for before it is printed: the part of an A4 sheet inside its margins, so
# that what scripts place (players, labs) stands where it does on paper.
WIDTH, HEIGHT = 658, 994
# Said on every sheet, in Chromium's own small language: no style of the page reaches it.
FOOT = (
    '<div style="font: 8pt Helvetica, Arial, sans-serif; color: #565a61; width: 100%;'
    ' margin: 0 18mm; display: flex; justify-content: space-between"><span class="title"></span>'
    '<span class="pageNumber"></span></div>'
)


def names() -> list[str]:
    """Give the pages in the order of the contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [Path(file).name for file in [toc["root"], *files]]


def printed(browser: Browser, wanted: list[str], home: str, folder: Path) -> list[Path]:
    """Print pages that are served at `home`, one file a page."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce", color_scheme="light"
    )
    files = []
    for name in wanted:
        page.goto(f"{home}/book/{name}.html", wait_until="load")
        page.evaluate("document.fonts.ready")
        for lab in page.locator("main .attn-lab").all():
            lab.scroll_into_view_if_needed()
            lab.locator(".attn-host").first.wait_for()
        for stage in page.locator("main .attn-player .stage").all():
            stage.focus()
            page.keyboard.press(
                "End"
            )  # the still that says most: the result, and what it came from
        page.evaluate("document.activeElement.blur()")
        files.append(folder / f"{name}.pdf")
        page.pdf(
            path=files[-1],
            format="A4",
            margin={"top": "16mm", "bottom": "18mm", "left": "18mm", "right": "18mm"},
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT,
            tagged=True,
            outline=True,
        )
    page.close()
    return files


def joined(files: list[Path], home: str) -> PdfWriter:
    """Put the pages together; what linked to a place of the book leads to its sheet."""
    whole = PdfWriter()
    starts: dict[str, int] = {}
    places: dict[tuple[str, str], int] = {}  # page and anchor -> sheet
    for file in files:
        reader = PdfReader(file)
        starts[file.stem] = len(whole.pages)
        for name, place in reader.named_destinations.items():
            inside = reader.get_destination_page_number(place) or 0
            places[file.stem, name.lstrip("/")] = starts[file.stem] + inside
        title = reader.metadata.title if reader.metadata else None
        whole.append(reader, outline_item=(title or file.stem).rsplit(" · ", 1)[0])
    owners, owner = {start: name for name, start in starts.items()}, ""
    for number, sheet in enumerate(whole.pages):
        owner = owners.get(number, owner)
        for link in (one.get_object() for one in sheet.annotations or []):
            target = aim(link, owner, home)
            if target is None:
                continue
            at = places.get(target, starts.get(target[0]))
            link.pop("/A", None)
            if at is not None:
                fit = [whole.pages[at].indirect_reference, NameObject("/Fit")]
                link[NameObject("/Dest")] = ArrayObject(fit)
    whole.add_metadata({"/Title": "Attention, shape by shape"})
    whole.page_mode = "/UseOutlines"
    return whole


def aim(link: Any, owner: str, home: str) -> tuple[str, str] | None:
    """Say which page of the book and which place on it a link means; None for other addresses."""
    if isinstance(name := link.get("/Dest"), str):
        return owner, str(name).lstrip("/")
    action = link["/A"].get_object() if "/A" in link else {}
    address, _, anchor = str(action.get("/URI", "")).partition("#")
    return (Path(address).stem, anchor) if address.startswith(f"{home}/") else None


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="of: " + " ".join(names()))
    wanted = parser.parse_args().pages
    if unknown := sorted(set(wanted) - set(names())):
        parser.error(f"no page {', '.join(unknown)}")
    if find() is None or not (serve.HTML / "index.html").exists():
        print(WHAT_TO_DO if find() is None else "nothing is built yet: make book", file=sys.stderr)
        return 1
    PRINTED.mkdir(exist_ok=True)
    with serve.server(port=0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        home = f"http://{serve.HOST}:{running.server_port}"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find(), chromium_sandbox=False)
            files = printed(browser, wanted or names(), home, PRINTED)
            browser.close()
        running.shutdown()
    if not wanted:
        whole = joined(files, home)
        whole.write(PRINTED / WHOLE)
        print(f"{len(whole.pages)} sheets: {PRINTED / WHOLE}")
    else:
        print(*files, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
