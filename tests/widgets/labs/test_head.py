"""Lab 06 against the library's head: every step, with numbers of a reader's own."""

import pytest
import torch

import attnlib
from attnlib.widgets import lab

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5], [1.0, 1.0, 0.25], [-2.0, 0.5, 1.0]])
WEIGHTS = [
    torch.tensor([[0.5, 1.0, -1.0], [2.0, 0.0, 0.5]]),
    torch.tensor([[1.0, -0.5, 0.0], [0.25, 1.0, 1.0]]),
    torch.tensor([[0.0, 2.0, 1.0], [-1.0, 0.5, 0.0]]),
]


def made_by_torch(causal: bool, scale: bool) -> dict[str, torch.Tensor]:
    q, k, v = (X @ weight.T for weight in WEIGHTS)
    scores = q @ k.T
    scaled = scores / 2**0.5 if scale else scores
    later = torch.ones(4, 4, dtype=torch.bool).triu(1) & causal
    masked = scaled.masked_fill(later, float("-inf"))
    weights = torch.softmax(masked, dim=-1)
    made = {"q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "masked": masked}
    return made | {"weights": weights, "output": weights @ v}


@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize("scale", ["root", "nothing"])
def test_every_step_is_torchs(ask, mask, scale):
    data = lab("head", x=X, weights=WEIGHTS).data
    made = ask("head", "made", data, mask=mask, scale=scale)
    wanted = made_by_torch(mask == "causal", scale == "root")
    for name, tensor in wanted.items():
        torch.testing.assert_close(torch.tensor(made[name]), tensor, atol=1e-5, rtol=1e-5)


def test_the_output_is_that_of_the_librarys_head(ask):
    head = attnlib.SingleHeadAttention(3, 2)
    names = ("query.weight", "key.weight", "value.weight")
    head.load_state_dict(dict(zip(names, WEIGHTS, strict=True)))
    made = ask("head", "made", lab("head", x=X, weights=WEIGHTS).data)
    torch.testing.assert_close(torch.tensor(made["output"]), head(X), atol=1e-5, rtol=1e-5)


def test_a_typed_number_goes_through_the_whole_head(shown, ask):
    page = shown("head", "i=1")
    page.get_by_label("x[0, 1]", exact=True).fill("-3")
    x = [[1, -3, 0, 1], [3, 0, 1, 0], [0, 1, 1, 2]]
    output = ask("head", "made", x=x)["output"][1]
    said = page.locator(".attn-host .caption").inner_text()
    assert "“token 1” asks" in said
    assert f"({', '.join(f'{value:.2f}' for value in output)})".replace("-", "−") in said
    drawn = page.locator(".attn-host [data-cell='output[1,0]']").text_content()
    assert float(drawn.replace("−", "-")) == pytest.approx(output[0], abs=0.00501)


def test_a_row_of_the_figure_can_be_chosen_by_hand_and_by_keyboard(shown):
    page = shown("head")
    page.locator(".attn-host [data-cell='scores[0,0]']").click()
    assert "“token 0” asks" in page.locator(".attn-host .caption").inner_text()
    page.get_by_label("the token that asks").press("ArrowRight")
    assert "“token 1” asks" in page.locator(".attn-host .caption").inner_text()
    hatched = page.locator(".attn-host .cell.masked").evaluate_all(
        "nodes => nodes.map(node => node.dataset.cell)"
    )
    future = [(0, 1), (0, 2), (1, 2)]
    assert sorted(hatched) == sorted(
        f"{name}[{i},{j}]" for name in ("masked", "weights") for i, j in future
    )


def test_the_fallback_writes_0_where_sums_leave_dust():
    x = torch.tensor([[-3e-9, 1.0, 2.0], [0.5, 1.0, 2.0]])  # the first token: what rounding leaves
    made = lab("head", x=x, weights=[torch.tensor([[1.0, 0.0, 0.0]])] * 3)
    table = made.tables[1]
    assert table.head == ("", "feature 0") and table.rows[0] == ("token 0", 0.0)
    assert "<td>token 0</td><td>0</td>" in made._repr_html_()
