"""On paper: the table of every step, and a still of the one that was open, whole on one sheet."""

import re

from pypdf import PdfReader

MARGIN, PAPER = 51, 595  # points, as the book is printed on A4


def pieces(sheet) -> list[tuple[str, float]]:
    """Say every piece of text on a sheet, and how far from its left edge it begins."""
    found = []

    def see(text, moved, placed, *_):
        if text.strip():
            found.append((text.strip(), placed[4] * moved[0] + placed[5] * moved[2] + moved[4]))

    sheet.extract_text(visitor_text=see)
    return found


def test_a_still_of_the_step_stands_whole_beside_the_table(play, head, tmp_path):
    page = play(head[0], place="#player-singleheadattention/6.2")
    file, sides = tmp_path / "head.pdf", dict.fromkeys(("top", "bottom", "left", "right"), "18mm")
    page.pdf(path=file, format="A4", margin=sides)
    sheets = [pieces(sheet) for sheet in PdfReader(file).pages]
    texts = [re.sub(r"\s", "", "".join(text for text, _ in sheet)) for sheet in sheets]
    assert "SingleHeadAttention:everystepanditsshape" in texts[0]
    (still,) = [text for text in texts if "Σover" in text]
    for words in ("q@k.transpose", "−0.98×2.63=−2.58", "sumsofar", "S=3queries", "batch=2"):
        assert words in still
    assert not any(button in "".join(texts) for button in ("Predict", "Copytable", "speed"))
    assert [p for sheet in sheets for p in sheet if not MARGIN - 1 <= p[1] <= PAPER - MARGIN] == []
