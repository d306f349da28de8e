"""Lab 02 against PyTorch: each way to turn the keys gives the numbers and the strides of torch."""

import pytest
import torch

from attnlib.widgets import lab

Q = torch.tensor([[1.5, 0, -2, 1], [0.25, 3, 1, -1], [2, -0.5, 0, 4]])
K = torch.tensor([[-1, 2.5, 0, 1], [3, 1, -2, 0.5], [0, 0, 1, -4]])
TURNS = {
    "nothing": lambda k: k,
    "transpose": lambda k: k.transpose(-2, -1),
    "copy": lambda k: k.transpose(-2, -1).contiguous(),
    "reshape": lambda k: k.reshape(4, 3),
}
NUMBERS = {"q": Q.tolist(), "k": K.tolist()}


@pytest.mark.parametrize("turn", TURNS)
def test_numbers_and_strides_are_those_of_torch(ask, turn):
    made = ask("matmul", "made", turn=turn, **NUMBERS)
    factor = TURNS[turn](K)
    torch.testing.assert_close(torch.tensor(made["factor"]), factor)
    assert made["strides"] == list(factor.stride())
    torch.testing.assert_close(torch.tensor(made["right"]), Q @ K.T)
    if turn == "nothing":
        assert made["scores"] is None
    else:
        torch.testing.assert_close(torch.tensor(made["scores"]), Q @ factor, rtol=0, atol=1e-5)


@pytest.mark.parametrize("turn", ["transpose", "copy", "reshape"])
def test_memory_is_read_as_torch_reads_it(ask, turn):
    factor = TURNS[turn](K)
    strip = factor.flatten() if turn == "copy" else K.flatten()
    rows, cols = factor.shape
    step = ask("matmul", "made", turn=turn, **NUMBERS)["strides"]
    read = [[strip[i * step[0] + j * step[1]].item() for j in range(cols)] for i in range(rows)]
    assert read == factor.tolist()


def test_without_a_transpose_the_page_says_what_torch_says(ask):
    with pytest.raises(RuntimeError, match="cannot be multiplied") as refused:
        torch.zeros(3, 4) @ torch.zeros(3, 4)
    assert str(refused.value) in ask("matmul", "sentence", turn="nothing")


def test_square_keys_multiply_without_an_error_and_are_called_wrong(ask):
    data = lab("matmul", q=Q[:, :3], k=K[:, :3]).data
    assert data["refused"] is None
    said = ask("matmul", "sentence", data, turn="nothing", i=0, j=1)
    wrong, right = (Q[:, :3] @ K[:, :3])[0, 1], (Q[:, :3] @ K[:, :3].T)[0, 1]
    assert f"is {wrong:.2f}".replace("-", "−") in said
    assert f"gives {right:.2f}".replace("-", "−") in said


def test_keys_that_look_alike_when_turned_are_not_called_wrong(ask):
    ones = {"q": Q.tolist(), "k": torch.ones(3, 4).tolist()}
    assert (TURNS["reshape"](torch.ones(3, 4)) == 1).all()
    said = ask("matmul", "sentence", turn="reshape", **ones)
    assert "with these keys the numbers do too" in said and "is not key" not in said
    first_alike = torch.tensor([[1.0, 2, 3, 2], [9, 8, 3, 4], [5, 2, 7, 6]])
    assert torch.equal(TURNS["reshape"](first_alike)[:, 0], first_alike[0])
    keys = {"q": Q.tolist(), "k": first_alike.tolist()}
    assert "column 0 is key 0 only by chance" in ask("matmul", "sentence", turn="reshape", **keys)
    assert "column 1 is not key 1" in ask("matmul", "sentence", turn="reshape", j=1, **keys)


def test_a_typed_number_counts_and_what_is_none_does_not(shown):
    page = shown("matmul")
    cell = page.get_by_label("q[0, 0]")
    cell.fill("4")
    assert "= 7" in page.locator(".caption").inner_text()  # 4·2 + 0·5 + 2·1 − 1·3
    for typed in ("", "1e9"):
        cell.fill(typed)
        assert cell.get_attribute("aria-invalid") is not None
        assert "= 7" in page.locator(".caption").inner_text()
    cell.blur()
    assert cell.input_value() == "4"
    assert cell.get_attribute("aria-invalid") is None


def test_a_score_is_picked_by_touch_and_by_keyboard(shown):
    page = shown("matmul")
    page.locator("[data-cell='scores[2,1]']").dispatch_event("click")
    assert "scores[2, 1]" in page.locator(".caption").inner_text()
    page.locator("input[data-field=i]").focus()
    page.keyboard.press("ArrowLeft")
    assert "scores[1, 1]" in page.locator(".caption").inner_text()
    assert page.locator("input[data-field=i]").get_attribute("aria-valuetext") == "1"


def test_wrong_scores_are_dashed(shown):
    page = shown("matmul", "turn=reshape")
    assert page.locator(".cell.wrong[data-cell^=scores]").count() == 9
    page = shown("matmul", "turn=copy")
    assert page.locator(".cell.wrong").count() == 0


def test_of_reshaped_keys_the_arrows_are_their_own_and_dashes_are_explained(shown):
    def said(link):
        return shown("matmul", link).locator(".attn-host svg").text_content()

    far, near = K.reshape(4, 3).stride()
    reshaped, transposed = said("turn=reshape"), said("turn=transpose")
    assert f"stride {far}" in reshaped and f"stride {near}" in reshaped
    assert "arrows: strides of k reshaped" in reshaped
    assert "red dashes: not what a row of q and a row of k give" in reshaped
    assert f"stride {K.stride()[0]}" in transposed and "red dashes" not in transposed
