"""The laws that a right design may break on purpose, and how to leave such a law out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import torch

from .laws import LAWS
from .pattern import may_see, sees_part, window
from .subject import Law, Subject

NAMES = tuple(law.__name__.removeprefix("_") for law in LAWS)
LEFT_OUT = "left out, as asked"
_UNSCALED = "scale-missing"  # a mistake, mostly, but T5's weights are drawn so that none is needed
DESIGNED = frozenset({"parity", "reach", "permutation"})


def asked(without: Collection[str] | str) -> frozenset[str]:
    """Return the laws to leave out; raise for one that there is not."""
    names = frozenset([without] if isinstance(without, str) else without)
    if unknown := sorted(map(str, names - set(NAMES))):
        raise ValueError(
            f"verify: without names no law {', '.join(map(repr, unknown))}; "
            f"those that can be left out are {', '.join(NAMES)}"
        )
    return names


def left_out(law: Law, without: Collection[str]) -> Law:
    """Tick nothing that was not asked for, and blame nothing for it."""
    if law.name not in without:
        return law
    return replace(law, passed=None, counterexample=LEFT_OUT, note="")


def with_designs(s: Subject, laws: list[Law]) -> list[Law]:
    """Say of a broken law which right designs break it, unless there is another cause.

    A known mistake is one, and so is every other law that is broken too, unless it has nothing to
    do with the numbers on one device.
    """
    broken = {law.name for law in laws if law.passed is False}
    aside = {"device", "gradients"} if s.only_cut else {"device"}
    if (s.mistake and s.mistake != _UNSCALED) or broken - aside - DESIGNED:
        return laws
    explained = (law.passed is False and law.name in DESIGNED for law in laws)
    return [
        replace(law, note=_note(law, s)) if why else law
        for law, why in zip(laws, explained, strict=True)
    ]


def _note(law: Law, s: Subject) -> str:
    leave = f'without="{law.name}" leaves it out'
    if not sees_part(s) and not torch.equal(s.reacts(), may_see(s)):
        return _no_design(s) if law.name == "reach" or "reach" in s.without else ""
    if law.name == "permutation" and sees_part(s):
        return "it follows from reach, and is left out with it"
    if law.name == "permutation":
        return f"positions inside break it on purpose: {leave}"
    if law.name == "parity" and s.mistake:
        return f"T5 and its like leave the scale out on purpose: {leave}"
    if law.name == "parity":
        if s.right_where_seen:
            return "the numbers are right for the tokens that are seen: without reach, parity holds"
        designs = "positions inside, a bias on the scores, or another scale"
        if s.fused:
            designs = f"another layout of the fused weight, {designs}"
        return f"{designs} break it on purpose: {leave}"
    if named := window(s):
        return f"each output sees {named}: if that is meant, {leave}"
    return f"a window or a block pattern breaks it on purpose: {leave}"


def _no_design(s: Subject) -> str:
    moved = s.reacts()
    if bool(moved.triu(1).any()) and not bool(moved.tril(-1).any()):
        return "outputs see no token before them, but some after: is a mask upside down?"
    blind = (~moved.diagonal()).nonzero().flatten().tolist()
    if bool(moved.tril(-1).any()) and blind:
        return f"output {blind[0]} does not move with its own token: is the mask off by one?"
    return ""
