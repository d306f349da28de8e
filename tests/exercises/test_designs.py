"""verify on attention that differs on purpose: laws are left out, and no mistake with them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib import MultiHeadAttention
from attnlib.exercises import Law, verify
from tests.exercises.modules_designed import (
    AlwaysDropped,
    Around,
    Blocks,
    Cross,
    Encoder,
    ExchangedHeadByHead,
    FusedGrouped,
    Grouped,
    HeadByHead,
    InterleavedFused,
    Onwards,
    Prefix,
    Rotary,
    RotaryMadeElsewhere,
    RotaryWithoutGradient,
    UnscaledHeadByHead,
    UnscaledWindow,
    UntoldHeadByHead,
    Window,
    WithoutItself,
    WithoutOut,
)
from tests.exercises.modules_wrong import WRONG

NAMES = (
    "parity, causality, reach, permutation, batch, padding, finite, gradients, determinism, "
    "argument, device"
)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(1)


def laws(module: nn.Module, **given) -> dict[str, Law]:
    return {law.name: law for law in verify(module, **given).laws}


def broken(module: nn.Module, **given) -> set[str]:
    return {name for name, law in laws(module, **given).items() if law.passed is False}


@pytest.mark.parametrize("kind", [Window, Around, Blocks])
@pytest.mark.parametrize("without", ["reach", ("reach",), ["reach"]])
def test_a_window_is_right_without_reach(kind, without) -> None:
    report = verify(kind(), without=without)
    found = {law.name: law for law in report.laws}
    assert report.passed and found["parity"].passed, report
    assert found["reach"].passed is None
    assert str(report).startswith("passed: no law is broken; left out: reach\n")
    assert report.left_out == ("reach",)
    assert "– reach: an output reacts to every token that it may see\n    left out, as" in str(
        report
    )


def test_a_window_that_is_told_for_certain_is_named() -> None:
    for size in (2, 3, 4):
        note = laws(Window(size))["reach"].note
        assert f"a window of {size} tokens" in note and 'without="reach"' in note
        assert f"a window of {size - 1} on either side" in laws(Around(size))["reach"].note
    note = laws(Blocks())["reach"].note
    assert note.startswith("a window or a block pattern") and 'without="reach"' in note
    assert "without reach, parity holds" in laws(Window())["parity"].note


def test_a_window_on_both_sides_is_not_called_causal() -> None:
    found = laws(Around())
    assert found["causality"].counterexample == "not checked: the module is not causal"
    assert found["padding"].passed is not False
    assert broken(Around()) == {"parity", "reach", "permutation"}


@pytest.mark.parametrize("kind", [UnscaledWindow, WithoutItself])
def test_a_mistake_inside_of_a_window_stays_broken(kind) -> None:
    assert "parity" in broken(kind(), without="reach")


def test_a_mask_that_is_off_by_one_is_not_excused() -> None:
    found = laws(WithoutItself(), without="reach")
    said = "output 1 does not move with its own token: is the mask off by one?"
    assert found["parity"].note == said
    assert "without" not in "".join(law.note for law in laws(WithoutItself()).values())


def test_a_mask_upside_down_is_no_window() -> None:
    note = laws(nn.Sequential(nn.LayerNorm(12), Onwards()))["reach"].note
    assert "upside down" in note and "without" not in note
    assert "mask-inverted" in laws(Onwards(), without="reach")["parity"].counterexample


@pytest.mark.parametrize(
    ("kind", "laws_", "named"), WRONG, ids=lambda v: getattr(v, "__name__", "")
)
def test_a_planted_fault_is_found_without_the_laws_that_it_keeps(kind, laws_, named: str) -> None:
    found = laws(kind(), without={"reach", "permutation"})
    assert laws_ - {"permutation"} <= {n for n, law in found.items() if law.passed is False}
    assert named in found["parity"].counterexample


def test_a_known_mistake_and_a_mistake_with_other_laws_are_not_excused() -> None:
    for kind, its, named in WRONG:
        if named or its - {"parity", "reach", "permutation"}:
            notes = [law.note for law in laws(kind()).values() if law.passed is False]
            assert not any("without" in note for note in notes), kind


def test_positions_inside_break_parity_and_say_how_to_leave_it_out() -> None:
    for kind, named in ((Rotary, {"parity"}), (Encoder, {"parity", "permutation"})):
        found = laws(kind(), n_heads=4)
        assert {name for name, law in found.items() if law.passed is False} == named
        for name in named:
            assert "positions inside" in found[name].note and f'"{name}"' in found[name].note
        report = verify(kind(), n_heads=4, without=named)
        assert report.passed and report.without_parity
        assert str(report).splitlines()[0].endswith(f"; left out: {', '.join(sorted(named))}")


def test_a_prefix_that_sees_itself_whole_is_no_leak_where_that_is_said() -> None:
    assert "causality" in broken(Prefix())
    assert not broken(Prefix(), without=("causality", "parity"))


def test_a_law_that_there_is_not_is_refused() -> None:
    for without in ("reech", ["reach", "reech"], "runs"):
        with pytest.raises(ValueError, match="without names no law") as refused:
            verify(Window(), without=without)
        assert str(refused.value).endswith(NAMES)


def test_the_reason_for_causal_is_said_where_it_is_no_argument() -> None:
    module = MultiHeadAttention(12, 3, causal=False)
    module.causal = True  # forward reads it: so does verify
    assert "its attribute causal is True" in laws(module)["causality"].note
    layer = WithoutOut()
    layer.is_causal = True  # and forward does not know
    found = laws(layer)["causality"]
    assert found.passed is False
    assert found.note.endswith("is_causal is True; causal=False says that it is not")
    assert found.note in str(found)
    assert laws(layer, causal=True)["causality"].note == ""
    assert "before them, and to none after them" in laws(Window())["causality"].note
    assert "before and after them alike" in laws(WithoutOut())["causality"].note


def test_the_number_of_heads_is_found_by_trying() -> None:
    for module, heads in ((WithoutOut(), 3), (Grouped(), 4)):
        law = laws(module)["parity"]
        assert law.passed and law.note.startswith(f"with n_heads = {heads},")
    assert "parity" in broken(WithoutOut(), n_heads=2)  # what is said is not tried away
    assert laws(Rotary())["parity"].counterexample.endswith("give n_heads")


def test_fewer_keys_in_one_layer_are_cut_where_they_end() -> None:
    law = laws(FusedGrouped())["parity"]
    assert law.passed, law


def test_of_two_sequences_it_is_said_what_each_got() -> None:
    assert "x is given for x and context alike" in laws(Cross())["runs"].note
    assert verify(Cross()).passed
    note = laws(Cross(d_context=9))["runs"].note
    assert "x is given for x and context alike" in note and "a single width" in note
    assert laws(Window())["runs"].note == ""


def test_a_dropout_that_eval_does_not_switch_off_is_named() -> None:
    law = laws(AlwaysDropped())["determinism"]
    assert law.passed is False and "dropout" in law.note
    assert " first " in law.counterexample and ", then " in law.counterexample


@pytest.mark.parametrize(
    ("kind", "other"), [(RotaryMadeElsewhere, "device"), (RotaryWithoutGradient, "gradients")]
)
def test_a_law_beside_the_numbers_hides_no_design(kind, other: str) -> None:
    found = laws(kind(), n_heads=4)
    assert {name for name, law in found.items() if law.passed is False} == {"parity", other}
    assert "positions inside" in found["parity"].note
    assert "without" not in found[other].note
    assert broken(kind(), n_heads=4, without="parity") == {other}


@pytest.mark.parametrize("bias", [True, False])
def test_a_fused_weight_may_be_laid_out_head_by_head(bias: bool) -> None:
    law = laws(HeadByHead(bias=bias))["parity"]
    assert law.passed and law.note.startswith("with the fused weight laid out head by head"), law
    law = laws(UntoldHeadByHead())["parity"]
    assert law.passed and "n_heads = 3" in law.note and "head by head" in law.note
    law = laws(MultiHeadAttention(12, 3, causal=True))["parity"]
    assert law.passed and "head by head" not in law.note


@pytest.mark.parametrize("kind", [UnscaledHeadByHead, ExchangedHeadByHead])
def test_a_mistake_beside_a_layout_stays_broken(kind) -> None:
    assert "parity" in broken(kind())


def test_a_layout_that_is_not_tried_is_named_among_the_designs() -> None:
    assert (
        "another layout of the fused weight, positions" in laws(InterleavedFused())["parity"].note
    )
    assert "layout" not in laws(Rotary(), n_heads=4)["parity"].note
