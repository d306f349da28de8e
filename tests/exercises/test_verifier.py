"""verify: planted faults are found by name of the law, correct modules pass."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnlib import MultiHeadAttention
from attnlib.exercises import verify
from tests.exercises.modules_right import RIGHT
from tests.exercises.modules_wrong import WRONG
from tests.exercises.outside_modules import RIGHT_MODULES, WRONG_MODULES


@pytest.mark.parametrize(("kind", "laws", "named"), WRONG, ids=lambda v: getattr(v, "__name__", ""))
def test_a_planted_fault_breaks_its_laws(kind, laws: set[str], named: str) -> None:
    torch.manual_seed(3)
    report = verify(kind())
    broken = {law.name: law for law in report.laws if law.passed is False}
    assert not report.passed
    assert laws <= set(broken), report
    assert all(law.counterexample for law in broken.values())
    if named:
        assert named in broken["parity"].counterexample


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_module_passes(name: str) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        module = RIGHT[name]()
        report = verify(module)
        assert report.passed, report
    assert module.training  # verify works on a copy
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize("make", RIGHT_MODULES, ids=lambda make: make.__name__)
def test_a_correct_module_of_others_passes(make) -> None:
    torch.manual_seed(0)
    module, given = make()
    assert verify(module, **given).passed
    module.train()
    if make.__name__ not in {"mha_itself", "harvard"}:  # they ask for three inputs
        module(torch.randn(2, 5, 16 if make.__name__ == "llama" else 12))
    else:
        module(*[torch.randn(2, 5, 12)] * 3)
    report = verify(module, **given)  # after a call, whatever that left behind
    assert report.passed, report


@pytest.mark.parametrize("make", WRONG_MODULES, ids=lambda make: make.__name__)
def test_a_planted_fault_of_others_breaks_its_law(make) -> None:
    torch.manual_seed(0)
    module, given, law = make()
    report = verify(module, **given)
    assert law in {found.name for found in report.laws if found.passed is False}, report


def broken_by(module: nn.Module, **given) -> dict[str, str]:
    laws = verify(module, **given).laws
    return {law.name: law.counterexample for law in laws if law.passed is False}


def test_a_cause_is_reported_once() -> None:
    """Where two calls differ, or a row is NaN, laws that compare outputs have nothing to say."""
    makes = {make.__name__: make for make in WRONG_MODULES}
    module, given, _ = makes["dropout_in_eval"]()
    assert set(broken_by(module, **given)) == {"determinism"}
    module, given, _ = makes["diagonal_hidden"]()
    assert "causality" not in broken_by(module, **given)


def test_a_part_of_a_fused_weight_without_gradient_is_named() -> None:
    makes = {make.__name__: make for make in WRONG_MODULES}
    module, given, _ = makes["keys_detached"]()
    assert "the key part of qkv.weight" in broken_by(module, **given)["gradients"]


def test_a_mistake_is_named_behind_biases_and_in_groups() -> None:
    makes = {make.__name__: make for make in WRONG_MODULES}
    for name, id_ in (
        ("scale_by_width", "scale-n-embd"),
        ("merge_by_view", "merge-by-view"),
        ("kv_heads_tiled", "kv-heads-tiled"),
        ("split_by_view", "split-by-view"),
    ):
        module, given, _ = makes[name]()
        assert broken_by(module, **given)["parity"].endswith(id_)


class Rotary(nn.Module):
    """A correct head whose queries and keys are turned by their places."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(12, 8, bias=False) for _ in range(3))
        self.register_buffer("inv_freq", 1.0 / 100.0 ** (torch.arange(4) / 4))

    def turned(self, t: torch.Tensor) -> torch.Tensor:
        angles = torch.arange(t.shape[1], device=t.device)[:, None] * self.inv_freq
        a, b = t.chunk(2, -1)
        return torch.cat(
            [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k = self.turned(self.q(x)), self.turned(self.k(x))
        return nn.functional.scaled_dot_product_attention(q, k, self.v(x))


def test_a_module_that_knows_positions_is_not_blamed_for_them() -> None:
    report = verify(Rotary(), torch.zeros(1, 1, 12))
    assert report.passed, report
    reasons = {law.name: law.counterexample for law in report.laws if law.passed is None}
    assert "inv_freq" in reasons["parity"] and "inv_freq" in reasons["permutation"]


def test_parity_is_checked_wherever_the_weights_can_be_told() -> None:
    unchecked = {
        name
        for name, make in RIGHT.items()
        for law in verify(make()).laws
        if law.name == "parity" and law.passed is None
    }
    assert unchecked == {"block"}  # it has a norm besides


def test_causal_when_asked_for() -> None:
    layer = nn.MultiheadAttention(12, 3, batch_first=True)
    assert verify(layer, causal=True).passed
    broken = [law.name for law in verify(RIGHT["separate"](), causal=True).laws if not law.passed]
    assert "causality" in broken


class Reordered(nn.Module):
    """A layer that is right, given its tokens in another order; it does not say what it hides."""

    n_embd = 12

    def __init__(self, given: str) -> None:
        super().__init__()
        self.layer, self.given = MultiHeadAttention(12, 3, causal=given == "causal"), given

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.given == "batch second":
            return self.layer(x.transpose(0, 1)).transpose(0, 1)
        if self.given == "one token each":
            return self.layer(x.flatten(0, 1)[:, None]).view(x.shape)
        return self.layer(x)


@pytest.mark.parametrize("given", ["batch second", "one token each", "whole"])
def test_a_module_that_meets_no_earlier_token_is_not_called_causal(given: str) -> None:
    """Attention over the batch, a layer that wants the sequence first, and no attention at all."""
    reasons = {law.name: law for law in verify(Reordered(given)).laws}
    assert reasons["causality"].counterexample == "not checked: the module is not causal"
    assert reasons["permutation"].passed is True
    assert bool(reasons["reach"].passed) == (given == "whole")


def test_a_causal_module_is_still_told_by_its_reactions() -> None:
    reasons = {law.name: law for law in verify(Reordered("causal")).laws}
    assert reasons["causality"].passed and reasons["reach"].passed
    assert reasons["permutation"].counterexample == "not checked: the module is causal"


def test_what_cannot_be_told_is_no_reason() -> None:
    """NaN and chance move every output: that says nothing of a mask."""
    makes = {make.__name__: make for make in WRONG_MODULES}
    for name, why in (("dropout_in_eval", "two calls differ"), ("diagonal_hidden", "not finite")):
        module, given, _ = makes[name]()
        reasons = {law.name: law.counterexample for law in verify(module, **given).laws}
        assert why in reasons["causality"] and why in reasons["permutation"]


def test_a_module_that_raises_is_told() -> None:
    class Raises(nn.Module):
        n_embd = 4

        def forward(self, x):
            return x @ x

    report = verify(Raises())
    assert not report.passed
    assert [law.name for law in report.laws] == ["runs"]
    assert "RuntimeError" in str(report)
    assert "RuntimeError" in report._repr_html_()


class Elsewhere(MultiHeadAttention):
    """A layer that says when it is moved, as one on a GPU has to be."""

    moved = 0

    def cpu(self):
        Elsewhere.moved += 1
        return super().cpu()


def test_a_copy_is_verified_on_the_cpu_wherever_the_module_is() -> None:
    module = Elsewhere(12, 3)
    assert verify(module).passed and Elsewhere.moved == 1
    report = verify(Elsewhere(12, 3).to("meta"))  # without numbers nothing can be compared
    assert [law.name for law in report.laws] == ["runs"] and "meta" in str(report)


def test_the_width_must_be_known() -> None:
    class Bare(nn.Module):
        def forward(self, x):
            return x.cumsum(1)

    with pytest.raises(ValueError, match="give x"):
        verify(Bare())
    assert verify(Bare(), torch.zeros(1, 1, 3)).laws[0].passed


def test_the_first_line_says_where_parity_was_not_checked() -> None:
    class Unnamed(nn.Module):
        """A scale is missing, and no law but parity could tell."""

        def __init__(self) -> None:
            super().__init__()
            self.n_embd, self.n_heads, self.causal = 12, 3, True
            self.a, self.b, self.c, self.d = (nn.Linear(12, 12) for _ in range(4))

        def forward(self, x):
            q, k, v = (
                part(x).unflatten(-1, (3, 4)).transpose(1, 2) for part in (self.a, self.b, self.c)
            )
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
            return self.d(o.transpose(1, 2).flatten(2))

    report = verify(Unnamed())
    assert report.without_parity and report.passed
    assert str(report).startswith("passed: no law is broken; parity not checked\n")
    assert "query, key and value layers cannot be told by their names" in str(report)
    named = verify(MultiHeadAttention(12, 3, causal=True))
    assert not named.without_parity and str(named).startswith("passed: no law is broken\n")


class Unbounded(nn.Module):
    def __init__(self, n_embd=12):
        super().__init__()
        self.qkv, self.out = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        future = torch.ones(x.shape[1], x.shape[1]).tril() == 0
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        return self.out(scores.softmax(1) @ v * torch.nan)


def test_of_nan_no_law_that_compares_is_ticked() -> None:
    laws = {law.name: law.passed for law in verify(Unbounded()).laws}
    assert laws["finite"] is False
    compared = ("causality", "reach", "permutation", "batch", "padding", "gradients")
    assert [laws[name] for name in compared] == [None] * 6


def test_the_line_that_makes_a_tensor_without_a_device_is_shown() -> None:
    (law,) = (law for law in verify(Unbounded()).laws if law.name == "device")
    assert law.counterexample.endswith(
        "future = torch.ones(x.shape[1], x.shape[1]).tril() == 0: this tensor is made without "
        "a device, and meets the input in masked_fill; give it x's device"
    )


def test_a_class_and_a_function_are_no_modules() -> None:
    with pytest.raises(TypeError, match=r"Unbounded is a class: make one, as in verify\(Unbounded"):
        verify(Unbounded)
    with pytest.raises(TypeError, match="softmax is none; functions are for check"):
        verify(torch.softmax)


def test_the_size_of_a_single_head_is_not_taken_for_a_number_of_heads() -> None:
    class Head(nn.Module):
        def __init__(self, n_embd: int = 12, head_size: int = 4) -> None:
            super().__init__()
            self.h = head_size
            self.query, self.key, self.value = (nn.Linear(n_embd, head_size) for _ in range(3))

        def forward(self, x):
            q, k, v = self.query(x), self.key(x), self.value(x)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    report = verify(Head())
    assert report.passed and not report.without_parity
