"""Lab 04: every recorded run is what PyTorch does here, and the page reads it rightly."""

import itertools
import math

import pytest
import torch

from attnlib.widgets import lab

SCORES = torch.tensor(
    [[0.5, 0.3, 0.9, 0.1], [0.2, 0.7, 0.6, 0.4], [0.9, 0.1, 0.5, 0.8], [0.4, 0.8, 0.2, 0.7]]
)
CAUSAL = torch.tensor([[j <= i for j in range(4)] for i in range(4)])
MASKS = {"causal": CAUSAL, "padded": CAUSAL & torch.tensor([False, False, True, True])}
DTYPES = ("float32", "float16", "bfloat16")
FILLS = ("-inf", "-1e9", "-1e4", "lowest", "0")


def by_torch(rows, fill, dtype, way):
    """Masked scores and weights, or None where torch refuses."""
    dtype = getattr(torch, dtype)
    value = torch.finfo(dtype).min if fill == "lowest" else float(fill)
    blocked = ~MASKS[rows]
    try:
        added = torch.zeros(4, 4, dtype=dtype).masked_fill(blocked, value)
    except RuntimeError:
        return None
    scores = SCORES.to(dtype)
    masked = scores + added if way == "add" else scores.masked_fill(blocked, value)
    return masked.float(), masked.softmax(-1).float()


def read(rows):
    return torch.tensor([[float(value) for value in row] for row in rows])


def test_every_run_is_that_of_torch():
    runs = lab("mask").data["runs"]
    assert len(runs) == 60
    for state in itertools.product(MASKS, FILLS, DTYPES, ("fill", "add")):
        rows, fill, dtype, way = state
        run, wanted = runs[f"{rows} {dtype} {fill} {way}"], by_torch(*state)
        if wanted is None:
            assert "overflow" in run["error"], state
            continue
        for name, values in zip(("masked", "weights"), wanted, strict=True):
            torch.testing.assert_close(
                read(run[name]), values, rtol=1e-5, atol=1e-5, equal_nan=True, msg=f"{state} {name}"
            )


@pytest.mark.parametrize("rows", MASKS)
@pytest.mark.parametrize("fill", FILLS)
def test_leaks_and_lost_rows_are_found(ask, rows, fill):
    run = ask("mask", "runAt", rows=rows, fill=fill, dtype="bfloat16")
    _, weights = by_torch(rows, fill, "bfloat16", "fill")
    leaks = (~MASKS[rows] & (weights > 0)).nonzero().tolist()
    assert run["leaks"] == leaks
    assert run["lost"] == weights.isnan().any(-1).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({}, "exactly 0"),
        ({"rows": "padded"}, "rows 0 and 1 nothing is left"),
        ({"rows": "padded", "fill": "-1e9"}, "they look at everything, the future too: 0.25"),
        ({"fill": "0"}, "6 blocked places get a weight, up to 0.22: 0 is not low enough"),
        ({"fill": "-1e9", "dtype": "float16"}, "without overflow"),
        ({"fill": "-1e9", "dtype": "bfloat16"}, "stores −1e9 as −998244352"),
    ],
)
def test_the_sentence_names_what_happened(ask, state, words):
    assert words in ask("mask", "sentence", **state)


@pytest.mark.parametrize("dtype", DTYPES)
def test_this_librarys_weights_are_zeros_where_nothing_is_left(ask, dtype):
    ours = ask("mask", "runAt", rows="padded", dtype=dtype)["ours"]
    _, weights = by_torch("padded", "-inf", dtype, "fill")
    torch.testing.assert_close(torch.tensor(ours), weights.nan_to_num(), rtol=0, atol=1e-5)


def test_this_librarys_weights_stand_beside(shown):
    page = shown("mask", "rows=padded")
    texts = page.locator(".attn-host .cell[data-cell^='ours'] text").all_text_contents()
    wanted = torch.softmax(SCORES.masked_fill(~MASKS["padded"], -math.inf), -1).nan_to_num()
    assert texts == [f"{value:.2f}" for value in wanted.flatten().tolist()]
    nan = page.locator(".attn-host .cell.nan[data-cell^='weights']").count()
    assert nan == 8


def test_leaking_weights_are_dashed_and_blocked_ones_hatched(shown):
    page = shown("mask", "rows=padded;fill=-1e9")
    assert page.locator(".cell.wrong[data-cell^='weights']").count() == 8
    assert page.locator(".cell.masked[data-cell^='weights']").count() == 5
    assert page.locator(".cell.masked[data-cell^='may[']").count() == 13


def test_whose_weights_they_are_stands_above_them(shown):
    said = shown("mask", "rows=padded;fill=-1e9").locator(".attn-host svg").text_content()
    assert "PyTorch: torch.softmax" in said
    assert "this library: attention_weights" in said
    assert "A row that may see nothing is zeros in this library." in said
