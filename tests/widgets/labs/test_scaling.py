"""Lab 03 against PyTorch: its curves are those of a run, its row is divided and softmaxed alike."""

import math

import pytest
import torch

from attnlib.widgets import lab

from ..hands import open_tables

DIVISORS = {
    "nothing": lambda H: 1.0,
    "root-H": lambda H: math.sqrt(H),
    "root-n_embd": lambda H: 8.0,
}


@pytest.mark.parametrize("by", DIVISORS)
@pytest.mark.parametrize("H", [1, 16, 1024])
def test_the_row_is_divided_and_softmaxed_as_torch_does(ask, by, H):
    torch.manual_seed(0)
    q, k = torch.randn(64, 8, H), torch.randn(64, 8, H)
    scores = (q @ k.transpose(-2, -1))[0, 0] / DIVISORS[by](H)
    row = ask("scaling", "rowAt", H=H, by=by)
    assert row["scores"] == pytest.approx(scores.tolist(), rel=1e-5, abs=1e-5)
    weights = torch.softmax(scores, -1).tolist()
    assert row["weights"] == pytest.approx(weights, rel=1e-4, abs=1e-5)


def test_the_curves_are_measured_as_the_chapter_measures(ask):
    torch.manual_seed(0)
    q, k = torch.randn(64, 8, 256), torch.randn(64, 8, 256)
    scores = (q @ k.transpose(-2, -1) / 16).requires_grad_()
    weights = torch.softmax(scores, -1)
    torch.manual_seed(1)
    (weights * torch.randn(64, 8, 8)).sum().backward()
    entropy = -(weights * weights.log()).sum(-1).mean()
    wanted = [scores.std(), weights.amax(-1).mean(), entropy, scores.grad.abs().median()]
    measured = ask("scaling", "measured", H=256, by="root-H")
    assert measured == pytest.approx([value.item() for value in wanted], rel=1e-4)


def test_a_fresh_layer_spreads_a_third(ask):
    spread = ask("scaling", "measured", H=64, by="root-H", **{"from": "fresh"})[0]
    assert spread == pytest.approx(
        ask("scaling", "expected", H=64, by="root-H", **{"from": "fresh"}), rel=0.1
    )
    assert spread == pytest.approx(1 / 3, rel=0.1)


def test_the_sentence_and_the_table_say_what_is_drawn(shown):
    page = shown("scaling", "H=1024;by=nothing")
    said = page.locator(".attn-host .caption").inner_text()
    spread, largest, *_ = lab("scaling").data["sweeps"]["unit"]["nothing"][-1]
    assert f"{spread:.2f}" in said
    assert f"{largest:.2f}" in said
    open_tables(page)
    cells = (
        page.locator(".attn-host table").nth(1).locator("tr").last.locator("td").all_inner_texts()
    )
    assert cells[:2] == [f"{spread:.4f}", f"{largest:.4f}"]


def test_the_ends_of_the_line_stay_on_a_phone(shown):
    page = shown("scaling")
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(150)  # a new width is drawn
    stage = page.locator(".attn-host .stage").bounding_box()
    ends = [
        page.locator(f".attn-host svg .label:text-is('{n}')").bounding_box() for n in ("−64", "64")
    ]
    assert ends[0]["x"] >= stage["x"]
    assert ends[1]["x"] + ends[1]["width"] <= stage["x"] + stage["width"]
    page.emulate_media(reduced_motion="no-preference")
    page.set_viewport_size({"width": 1280, "height": 900})
