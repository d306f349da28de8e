"""An equation of einsum, of letters or of words."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_letters

Term = tuple[str, ...]


@dataclass(frozen=True)
class Equation:
    """An equation of single letters: what each operand's axes are called, and the result's."""

    terms: tuple[Term, ...]
    result: Term | None

    @classmethod
    def read(cls, text: str, words: bool = False) -> Equation:
        """Read letters, as torch does, or whole words, as einops does."""

        def axes(term: str) -> Term:
            return tuple(term.split() if words else term.replace(" ", ""))

        left, arrow, right = text.partition("->")
        return cls(tuple(map(axes, left.split(","))), axes(right) if arrow else None)

    def lettered(self) -> str:
        """Write it in single letters, whatever the words are."""
        words = dict.fromkeys(word for term in (*self.terms, self.result or ()) for word in term)
        letter = dict(zip(words, ascii_letters, strict=False))
        terms = ("".join(letter[word] for word in term) for term in self.terms)
        return ",".join(terms) + "->" + "".join(letter[word] for word in self.result or ())

    def term(self, which: int) -> str:
        between = " " if any(len(word) > 1 for word in self.terms[which]) else ""
        return between.join(self.terms[which])

    def written(self, spaced: bool) -> str:
        between = " " if spaced else ""
        left = ("," + between).join(between.join(term) for term in self.terms)
        if self.result is None:
            return left
        return f"{left}{between}->{between}{between.join(self.result)}"
