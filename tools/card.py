"""Draw the picture that a link to the book is shown with: `book/assets/card.png`, 1200 × 630.

    .venv/bin/python tools/card.py

The weights on it are those of the six tokens of the book, from one causal head.
"""

from __future__ import annotations

import sys
from html import escape

from attnlib import attention, causal_mask, examples, project
from browser import WHAT_TO_DO, find
from environment import ROOT

CARD = ROOT / "book" / "assets" / "card.png"
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: 1200px; height: 630px; display: flex; align-items: center; gap: 70px;
  padding: 0 80px; box-sizing: border-box; background: #fdfcf9; color: #1b1d21;
  font: 30px/1.4 Helvetica, Arial, "Liberation Sans", sans-serif; }}
h1 {{ font: 76px/1.1 Charter, Georgia, "Liberation Serif", serif; margin: 0 0 28px; }}
p {{ margin: 0; color: #55585f; }}
table {{ border-spacing: 6px; flex: none; }}
td {{ min-width: 62px; height: 62px; padding: 0; text-align: center; border-radius: 4px;
  font-size: 22px; }}
</style><div><h1>Attention,<br>shape by shape</h1><p>{words}</p></div><table>{rows}</table>"""


def weights() -> list[list[float]]:
    """Compute what each token takes from each, the later ones hidden."""
    x, (wq, wk, wv) = examples.embeddings(5), examples.head_weights()
    q, k, v = (project(x, w) for w in (wq, wk, wv))
    S = x.shape[-2]
    return attention(q, k, v, may_attend=causal_mask(S)).weights.reshape(S, S).tolist()


def cell(value: float) -> str:
    if not value:
        return '<td style="border: 2px solid #e4e1d8"></td>'
    ink = "#fdfcf9" if value > 0.5 else "#1b1d21"
    ground = f"color-mix(in oklab, #2c62c0 {round(100 * value)}%, #e6ebf3)"
    return f'<td style="background: {ground}; color: {ink}">{value:.2f}</td>'


def main() -> int:
    from playwright.sync_api import sync_playwright

    path = find()
    if path is None:
        print(WHAT_TO_DO, file=sys.stderr)
        return 1
    rows = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in weights())
    words = escape("What every line of a head does to every dimension, played step by step.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
        page = browser.new_page(viewport={"width": 1200, "height": 630})
        page.set_content(PAGE.format(words=words, rows=rows))
        page.screenshot(path=CARD)
        browser.close()
    print(f"{CARD.relative_to(ROOT)}: {CARD.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
