"""The book's mathematics font: which characters it holds, and how it was cut.

    python book/_ext/math_font.py latinmodern-math.otf

writes ``book/assets/math.woff2``. The source is Latin Modern Math 1.959, in Debian's
``fonts-lmodern``. A formula that needs another character fails the build with its code point:
add it here, cut again.
"""

import sys
from functools import cache
from pathlib import Path

FONT = Path(__file__).parents[1] / "assets" / "math.woff2"
NAME = "Shapes Math"  # the font's licence asks that a changed font has a name of its own

ASCII = "".join(map(chr, range(0x20, 0x7F)))
# Italic h has a place of its own, from before there was the alphabet.
ITALIC = "".join(map(chr, range(0x1D434, 0x1D468))).replace("\U0001d455", "ℎ")
BOLD = "".join(map(chr, range(0x1D400, 0x1D41A)))
GREEK_CAPITALS = "ΓΔΘΛΣΦΨΩ"
GREEK = "".join(chr(0x1D6FC + i) for i in range(27) if chr(0x3B1 + i) not in "ιος") + "𝜕𝜖"
SYMBOLS = "ℝℕℤ𝔼𝒪𝒩𝒰ℒ∑∏∫√∞∂∇±×÷·⋅∘⊙⊗⊕⊤⊥∗−′∈∉∪∩⊂⊆∅≤≥≠≈≡∼∝≪≫←→⇒⇔↦¬∧∨⌊⌋⌈⌉⟨⟩‖∣…⋯⋮⋱\u0302\u0303\u0304"
CHARACTERS = ASCII + ITALIC + BOLD + GREEK_CAPITALS + GREEK + SYMBOLS
# MathML writes one letter upright and the browser slants it, so these are asked for in that form;
# white space and the invisible operators show nothing.
UNSEEN = "\u00a0\u2061\u2062\u2063\u2009\n\ufe00"
WRITTEN = "".join(chr(0x3B1 + i) for i in range(25)) + "∂ϵ" + UNSEEN


@cache
def shown():
    """Give every character that a formula may hold."""
    return frozenset(CHARACTERS + WRITTEN)


def cut(source):
    """Write the subset; glyphs that stretch (roots, brackets, sums) come along by themselves."""
    from fontTools import subset
    from fontTools.ttLib import TTFont

    font = TTFont(source)
    options = subset.Options(flavor="woff2", hinting=False, desubroutinize=True)
    options.drop_tables += ["FFTM"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=CHARACTERS)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in {1, 4, 16}:
            record.string = NAME
        elif record.nameID == 6:
            record.string = NAME.replace(" ", "")
    subset.save_font(font, FONT, options)


if __name__ == "__main__":
    cut(sys.argv[1])
    print(f"{FONT.name}: {FONT.stat().st_size:,} bytes")
