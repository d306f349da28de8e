"""The form of a mistake: its id, what is said of it, and an example of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One id, one sentence, what to look at, and a minimal wrong body of one exercise."""

    id: str
    says: str
    look: str
    exercise: str
    wrong: str  # the body of a function with the exercise's arguments
    words: str = ""  # a pattern that finds the line in the learner's source
    repeats: bool = False  # of several such lines it is the last: the one too many
    code: str = ""  # the same as a whole function, once the exercise's arguments are known

    def __repr__(self) -> str:
        return f"{self.id}: {self.says}"
