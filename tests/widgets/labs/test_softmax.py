"""Lab 05 against PyTorch: weights and mix at any temperature, and what the shift is for."""

import itertools
import math

import pytest
import torch

from attnlib.widgets import lab

from ..hands import open_tables

ROW = [[2.5], [-1.25], [0.75], [0.5]]
VALUES = torch.tensor([[1.0, 0.0, -2.0], [0.5, 1.5, 1.0], [-1.0, 1.0, 0.25], [3.0, 0.0, 1.0]])


def data() -> dict:
    return lab("softmax", scores=torch.tensor(ROW)[:, 0], values=VALUES).data


@pytest.mark.parametrize("T", [0.1, 1, 10, 100])
@pytest.mark.parametrize("add", [0, 10, -100])
def test_weights_and_mix_are_torchs(ask, T, add):
    made = ask("softmax", "made", data(), scores=ROW, T=T, add=add)
    weights = torch.softmax(torch.tensor(ROW)[:, 0] / T, dim=-1)
    assert made["weights"] == pytest.approx(weights.tolist(), abs=1e-5)
    assert made["output"] == pytest.approx((weights @ VALUES).tolist(), abs=1e-5)
    assert max(made["powers"]) == 1, "the largest score has become 0"


@pytest.mark.parametrize("score", [88.0, 89.0, -103.0, -104.0])
def test_powers_end_where_those_of_float32_end(ask, score):
    made = ask("softmax", "made", data(), scores=[[score]] * 4, shift="no")
    power = torch.tensor(score).exp().item()
    assert made["powers"][0] == pytest.approx(power, rel=1e-5)
    naive = torch.tensor([score] * 4).exp()
    naive = (naive / naive.sum())[0].item()
    got = made["weights"][0]
    assert got == pytest.approx(naive, rel=1e-5, nan_ok=True)


def test_what_is_recorded_is_a_run():
    kept = data()
    assert kept["recorded"] == [float(f"{torch.tensor(88.0).exp():.6g}"), "inf"]
    assert kept["edge"] == (88.0, 89.0)


def test_the_sentence_the_figure_and_the_table_say_the_same(shown):
    page = shown("softmax", "T=0.5;scores=1,0,-1")
    weights = torch.softmax(torch.tensor([2.0, 0.0, -2.0]), dim=-1)
    said = page.locator(".attn-host .caption").inner_text()
    assert f"The largest weight, {weights[0]:.2f}, goes to “token 0”" in said
    bars = page.locator(".attn-host .segment")
    widths = bars.evaluate_all("nodes => nodes.map(node => Number(node.getAttribute('width')))")
    assert widths[0] / sum(widths[:3]) == pytest.approx(weights[0].item(), abs=1e-4)
    open_tables(page)
    row = page.locator(".attn-host .scroll tbody tr").first.locator("td")
    assert float(row.last.inner_text()) == pytest.approx(weights[0].item(), abs=1e-4)
    page.locator(".attn-host summary").click()


def test_without_the_shift_the_row_is_lost_and_with_it_nothing_changes(shown, ask):
    page = shown("softmax", "add=100;shift=no")
    assert "infinity divided by infinity" in page.locator(".attn-host .caption").inner_text()
    assert page.locator(".attn-host .segment").count() == 0
    made = ask("softmax", "made", add=100, shift="no")
    assert all(math.isnan(weight) for weight in made["weights"])
    near, far = (ask("softmax", "made", add=add)["weights"] for add in (0, 100))
    assert near == pytest.approx(far, abs=1e-5)


def test_scores_are_typed_and_the_temperature_moves_by_keyboard(shown):
    page = shown("softmax")
    field = page.get_by_label("scores[1, 0]")
    field.fill("5")
    assert "goes to “token 1”" in page.locator(".attn-host .caption").inner_text()
    before = page.locator(".attn-host .caption").inner_text()
    page.get_by_label("temperature").press("ArrowRight")
    assert page.locator(".attn-host .caption").inner_text() != before
    page.get_by_role("button", name="Start again").click()
    assert "goes to “token 0”" in page.locator(".attn-host .caption").inner_text()


def test_tokens_are_told_apart_on_a_phone_and_no_words_meet(shown):
    page = shown("softmax")
    page.emulate_media(reduced_motion="reduce")
    boxes = {}
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)  # a new width is drawn
        labels = page.locator(".attn-host svg .label").all()
        boxes[width] = {label.text_content(): label.bounding_box() for label in labels}
        assert {"token 0", "token 1", "token 2"} <= set(boxes[width])
    ends = [boxes[390][f"token {j}"] for j in range(3)]
    assert all(a["x"] + a["width"] < b["x"] for a, b in itertools.pairwise(ends))
    at = boxes[1280]
    note = next(box for text, box in at.items() if text.startswith("e^88"))
    assert note["x"] + note["width"] < at["smallest value"]["x"]
    page.emulate_media(reduced_motion="no-preference")
