"""What is said of code that a stranger wrote holds of this very code, and of this very module."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import MultiHeadAttention
from attnlib.exercises import check, verify
from tests.exercises.build import function
from tests.exercises.stranger_wrong import NOTED, WRONG

ANSWERS = [(id_, *answer) for id_, answers in WRONG.items() for answer in answers]


@pytest.mark.parametrize(("id_", "exercise", "body", "said", "not_this"), ANSWERS)
def test_a_wrong_answer_is_told_what_is_so(id_, exercise, body, said, not_this) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.diagnosis == id_, verdict
    assert said in verdict.message and not_this not in verdict.message, verdict


@pytest.mark.parametrize(("exercise", "body", "said", "not_this"), NOTED)
def test_a_note_says_what_would_go_wrong(exercise, body, said, not_this) -> None:
    verdict = check(exercise, function(exercise, body))
    notes = "\n".join(verdict.notes)
    assert verdict.passed and said in notes and not_this not in notes, verdict


class Held(nn.Module):
    """Heads whose layers are kept in another way than a module's own."""

    def __init__(self, keep) -> None:
        super().__init__()
        self.d_model, self.n_heads = 12, 3
        keep(self, [[nn.Linear(12, 4, bias=False) for _ in "qkv"] for _ in range(3)])
        self.proj = nn.Linear(12, 12)

    def forward(self, x):
        parts = [
            F.scaled_dot_product_attention(*(F.linear(x, w) for w in weights), is_causal=True)
            for weights in self.weights()
        ]
        return self.proj(torch.cat(parts, -1))

    def weights(self):
        return [[layer.weight for layer in head] for head in self.heads]


class InDicts(Held):
    def weights(self):
        return [[head[name].weight for name in "qkv"] for head in self.heads]


class Loose(Held):
    def weights(self):
        return self.heads.rows.unbind(0)


class Plain(Held):
    def weights(self):
        return self.rows.unbind(0)


def in_lists(module, heads):
    module.heads = heads


def in_dicts(module, heads):
    module.heads = [dict(zip("qkv", head, strict=True)) for head in heads]


def in_a_namespace(module, heads):
    rows = torch.stack([torch.stack([layer.weight for layer in head]) for head in heads])
    module.heads = SimpleNamespace(rows=nn.Parameter(rows.detach()))


def as_a_plain_tensor(module, heads):
    in_a_namespace(module, heads)
    module.rows = module.heads.rows.detach().clone().requires_grad_()


def registered(module, heads):
    module.heads = nn.ModuleList(map(nn.ModuleList, heads))
    module.order = [list(head) for head in module.heads]  # a second way to them


@pytest.mark.parametrize(
    ("kind", "keep", "said"),
    [
        (Held, in_lists, "heads is a plain list"),
        (InDicts, in_dicts, "heads is a plain list"),
        (Loose, in_a_namespace, "a weight (3, 3, 4, 12) is not registered"),
        (Plain, as_a_plain_tensor, "a weight (3, 3, 4, 12) is not registered"),
        (Held, registered, ""),
    ],
    ids=["lists", "dicts", "namespace", "plain", "registered"],
)
def test_a_weight_that_is_registered_nowhere_is_found_however_it_is_held(kind, keep, said) -> None:
    law = next(law for law in verify(kind(keep), causal=True).laws if law.name == "gradients")
    assert (law.passed is True) == (not said) and law.counterexample == said, law


class WithoutScale(nn.Module):
    """As T5: its queries are drawn so small that the scores need no scale."""

    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.n_heads = 12, 3
        self.q, self.k, self.v, self.o = (nn.Linear(12, 12, bias=False) for _ in "qkvo")

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (3, 4)).transpose(1, 2) for p in (self.q, self.k, self.v))
        return self.o(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))


def test_a_scale_that_is_left_out_may_be_left_out_on_purpose() -> None:
    report = verify(WithoutScale())
    (law,) = (law for law in report.laws if law.passed is False)
    assert law.name == "parity" and law.counterexample.endswith("the numbers of scale-missing")
    assert "T5" in law.note and 'without="parity"' in law.note
    assert verify(WithoutScale(), without="parity").passed
    assert "T5" not in str(verify(MultiHeadAttention(12, 3)))
