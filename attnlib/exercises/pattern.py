"""Which tokens an output reacts to: is the module causal, does it see all it may, or a window?"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from .subject import Law, Subject


def is_causal(s: Subject) -> bool:
    """As asked or as the module says, else whether outputs react to tokens before, not after, them.

    One token of the future may leak; an output that reacts to no other token is not causal, nor
    is one that reacts to as many on both sides, as in a window around it.
    """
    if s.causal is None:
        moved = s.reacts()
        later = torch.ones_like(moved).triu(1)
        unmoved = int((~moved & later).sum())
        if not bool(moved.tril(-1).any()):
            s.causal, s.why = False, "outputs react to no token before them"
        elif torch.equal(moved, moved.mT):
            s.causal, s.why = False, "outputs react to tokens before and after them alike"
        elif unmoved * 4 <= int(later.sum()):
            s.causal, s.why = False, "outputs react to most tokens after them"
        else:
            after = "and to none" if unmoved == int(later.sum()) else "but not to all"
            s.causal, s.why = True, f"outputs react to tokens before them, {after} after them"
    return s.causal


def may_see(s: Subject) -> Tensor:
    """Which tokens an output may see: all, or those up to its own; bool (S, S)."""
    may = torch.ones_like(s.reacts())
    return may.tril() if is_causal(s) else may


def sees_part(s: Subject) -> bool:
    """Whether an output sees itself and others, but not all that it may: as with a window.

    No design means an output to see only itself, not even itself, or what is hidden from it. (Its
    own query moves it too, unless one key is all that it sees.)
    """
    moved, may = s.reacts(), may_see(s)
    meets = bool(moved.diagonal().all()) and bool(moved.tril(-1).any())
    return meets and not bool((moved & ~may).any()) and not torch.equal(moved, may)


def window(s: Subject) -> str:
    """Name the window, where every output moves with exactly the tokens in it; else ""."""
    moved = s.reacts()
    places = torch.arange(len(moved))
    back = places[:, None] - places
    for size in range(2, len(moved)):
        if torch.equal(moved, (back >= 0) & (back < size)):
            return f"a window of {size} tokens, its own the last"
        if torch.equal(moved, back.abs() < size):
            return f"a window of {size - 1} on either side of its own token"
    return ""


def causality(s: Subject) -> Law:
    name, says = "causality", "changing a token moves no output before it"
    if not is_causal(s):
        why = f"held not to be causal: {s.why}" if s.why else ""
        return Law(name, None, says, "not checked: the module is not causal", why)
    law = _cells(s, name, says, s.reacts().triu(1))
    if not s.why:
        return law
    other = "" if law.passed else "; causal=False says that it is not"
    return replace(law, note=f"held to be causal: {s.why}{other}")


def reach(s: Subject) -> Law:
    says = "an output reacts to every token that it may see"
    return _cells(s, "reach", says, may_see(s) & ~s.reacts(), "does not move")


def _cells(s: Subject, name: str, says: str, bad: Tensor, verb: str = "moves") -> Law:
    if not bool(bad.any()):
        return Law(name, True, says)
    i, j = bad.nonzero()[0].tolist()
    return Law(name, False, says, f"{s.sizes()}: changing token {j}, output {i} {verb}")
