"""Lab 08 against PyTorch: each pattern is what its line of code gives, painted cells included."""

import pytest
import torch

import attnlib
from attnlib.widgets import lab

S = 6
SCORES = torch.arange(36.0).view(6, 6).sin() * 2
NAMES = {
    "i": torch.arange(S)[:, None],
    "j": torch.arange(S),
    "S": S,
    "causal_mask": attnlib.causal_mask,
}


def close(made: list, wanted: torch.Tensor) -> None:
    made = torch.tensor(made, dtype=torch.float32)
    torch.testing.assert_close(made, wanted, atol=1e-5, rtol=1e-5)


def data() -> dict:
    return lab("wild", scores=SCORES).data


@pytest.mark.parametrize("pattern", ["causal", "padding", "band", "global", "prefix", "cache"])
def test_a_pattern_is_what_its_line_of_code_gives(ask, pattern):
    kept = data()
    for n in range(1, S + 1):
        wanted = eval(kept["rules"][pattern], NAMES | {"n": n})
        made = ask("wild", "made", kept, pattern=pattern, n=n)
        assert made["mask"] == wanted.tolist(), n
        scores = SCORES[-wanted.shape[0] :]
        weights = torch.softmax(scores.masked_fill(~wanted, float("-inf")), dim=-1)
        close(made["weights"], weights)


def test_a_row_that_sees_nothing_has_the_weights_of_the_library(ask):
    mask = torch.ones(S, S, dtype=torch.bool).tril()
    mask[0, 0] = False
    made = ask("wild", "made", data(), flips=["0.0"])
    weights = attnlib.attention_weights(attnlib.mask_scores(SCORES, mask))
    close(made["weights"], weights)
    said = ask("wild", "sentence", data(), flips=["0.0"])
    assert "“token 0” sees nothing" in said


def test_a_cell_is_turned_over_by_hand_and_by_keyboard(shown):
    page = shown("wild", "i=1;j=4")
    host = page.locator(".attn-host")
    assert "21 of 36 pairs" in host.locator(".caption").inner_text()
    host.locator("[data-cell='may_attend[0,5]']").click()
    said = host.locator(".caption").inner_text()
    assert "22 of 36 pairs" in said and "1 query sees a later token" in said
    page.get_by_label("query i").press("ArrowRight")
    page.get_by_role("button", name="Turn over query 1, key 5").press("Enter")
    assert "23 of 36 pairs" in host.locator(".caption").inner_text()
    assert "2 queries see" in host.locator(".caption").inner_text()
    assert host.locator("[data-cell='may_attend[1,5]']").text_content() == "True"
    assert "masked" not in host.locator("[data-cell='weights[1,5]']").get_attribute("class")


def test_with_a_cache_only_the_new_tokens_ask(shown):
    page = shown("wild", "pattern=cache;n=2")
    cells = page.locator(".attn-host [data-cell^=may_attend]")
    assert cells.count() == 2 * S
    assert "11 of 12 pairs" in page.locator(".attn-host .caption").inner_text()


def test_with_a_cache_a_query_that_asks_is_the_chosen_one(shown):
    shown("wild").emulate_media(
        reduced_motion="reduce"
    )  # nothing is on its way when it is measured
    page = shown("wild", "pattern=cache;n=2;i=2;j=1")
    assert page.get_by_label("query i").get_attribute("aria-valuetext") == "4"
    marked = page.locator(".attn-host .band")
    first = page.locator(".attn-host [data-cell='may_attend[0,1]']").bounding_box()
    assert marked.count() == 2, "the cell, and its row of weights"
    assert abs(marked.first.bounding_box()["y"] - first["y"]) < 4
    page.get_by_role("button", name="Turn over query 4, key 1").press("Enter")
    assert "10 of 12 pairs" in page.locator(".attn-host .caption").inner_text()
    page.emulate_media(reduced_motion="no-preference")


def test_n_can_be_set_only_where_the_pattern_has_one(shown):
    assert not shown("wild", "pattern=causal").locator("[data-field=n]").is_enabled()
    assert shown("wild", "pattern=band").locator("[data-field=n]").is_enabled()


def test_a_link_paints(shown):
    page = shown("wild", "pattern=band;n=2;flips=2.5,0.0")
    hatched = page.locator(".attn-host .cell.masked[data-cell^=may_attend]")
    band = torch.ones(S, S, dtype=torch.bool).tril().triu(-1)
    band[2, 5], band[0, 0] = True, False
    assert hatched.count() == (~band).sum()


def test_scores_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"scores are \(3, 3\) but must be \(6, 6\)"):
        lab("wild", scores=torch.zeros(3, 3))
