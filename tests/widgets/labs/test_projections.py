"""Lab 01 against PyTorch: tokens in another order, one of them changed, three weights."""

import pytest
import torch
import torch.nn.functional as F

from attnlib import examples
from attnlib.widgets import lab

X = examples.embeddings(5)
WEIGHTS = dict(zip(("query", "key", "value"), examples.head_weights(), strict=True))
ORDER = [4, 1, 0, 3, 2, 5]


@pytest.fixture(scope="module")
def data():
    return lab("projections", x=X, weights=WEIGHTS, tokens=examples.TOKENS).data


@pytest.mark.parametrize("by", WEIGHTS)
def test_rows_are_what_torch_makes_of_them(ask, data, by):
    made = ask("projections", "made", data, by=by, i=2, order=ORDER, add=-0.75)
    x = X[ORDER].clone()
    x[2] -= 0.75
    torch.testing.assert_close(torch.tensor(made["x"]), x)
    torch.testing.assert_close(
        torch.tensor(made["out"]), F.linear(x, WEIGHTS[by]), rtol=0, atol=1e-5
    )
    assert made["words"] == [examples.TOKENS[token] for token in ORDER]


def test_only_the_changed_token_moves(ask, data):
    assert ask("projections", "made", data, i=3, add=1)["moved"] == [3]
    assert ask("projections", "made", data, i=3, order=ORDER)["moved"] == []
    said = ask("projections", "sentence", data, i=4, add=0.5)
    assert "only the row of “river” moves" in said


def test_rows_travel_with_their_tokens(shown):
    """The cells of a token keep their node when it moves, so that the eye can follow them."""
    page = shown("projections")
    mark = "document.querySelector('.attn-host').shadowRoot.querySelectorAll('.cell')"
    page.evaluate(f"window.kept = [...{mark}].find(c => c.dataset.cell === 'x[0,0]')")
    page.locator(".order .down").first.click()
    assert page.evaluate("kept.isConnected && kept.dataset.cell") == "x[1,0]"
    assert page.locator(".order span").all_inner_texts()[:2] == ["token 1", "token 0"]
    assert "the tokens stand in another order" in page.locator(".caption").inner_text().lower()


def test_the_fallback_holds_the_projected_rows():
    table = lab("projections", x=X, weights=WEIGHTS, tokens=examples.TOKENS).tables[1]
    wanted = F.linear(X, WEIGHTS["key"]).tolist()
    assert [row[0] for row in table.rows] == examples.TOKENS
    assert [list(row[1:]) for row in table.rows] == [pytest.approx(row) for row in wanted]
