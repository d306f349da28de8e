"""Lab 07 against PyTorch: where every number lands, right and wrong, for every size on offer."""

import pytest
import torch

from attnlib.widgets import lab

SIZES = [
    (S, n_embd, heads)
    for S in (2, 3, 4)
    for n_embd in (2, 4, 6, 8, 12)
    for heads in (1, 2, 3, 4, 6)
    if n_embd % heads == 0
]


def cut(S: int, n_embd: int, heads: int, way: str) -> torch.Tensor:
    places = torch.arange(S * n_embd)
    if way == "view":
        return places.view(heads, S, n_embd // heads)
    return places.view(S, heads, n_embd // heads).transpose(0, 1)


@pytest.mark.parametrize("way", ["right", "view"])
def test_every_place_and_stride_is_torchs(ask, way):
    for S, n_embd, heads in SIZES:
        state = {"S": S, "n_embd": n_embd, "heads": heads, "way": way}
        wanted = cut(S, n_embd, heads, way)
        landed = ask("heads", "landed", **state)
        assert landed["heads"] == wanted.tolist(), state
        assert landed["strides"] == list(wanted.stride()), state
        assert sorted(landed["wrong"]) == wanted[wanted != cut(S, n_embd, heads, "right")].tolist()


def test_the_dashed_cells_are_those_that_differ(shown):
    page = shown("heads", "n_embd=6;heads=3;S=4;way=view")
    right, wrong = (cut(4, 6, 3, way) for way in ("right", "view"))
    dashed = page.locator(".attn-host .cell.wrong").evaluate_all(
        "nodes => nodes.map(node => node.dataset.cell)"
    )
    differ = (right != wrong).nonzero().tolist()
    assert sorted(dashed) == sorted(f"head {h}[{s},{d}]" for h, s, d in differ)
    said = page.locator(".attn-host .caption").inner_text()
    assert f"{len(differ)} of 24 numbers stand where another should" in said


def test_the_right_cut_dashes_nothing_and_names_the_columns(shown):
    page = shown("heads", "n_embd=12;heads=4")
    assert page.locator(".attn-host .cell.wrong").count() == 0
    assert "head 3 the columns 9 to 11" in page.locator(".attn-host .caption").inner_text()


def test_what_does_not_divide_is_said_and_not_drawn(shown):
    page = shown("heads", "n_embd=8;heads=3")
    assert "cannot be cut into 3 heads" in page.locator(".attn-host .caption").inner_text()
    assert page.locator(".attn-host [data-cell^=head]").count() == 0
    page.locator("[data-field=heads]").press("ArrowLeft")
    assert page.locator(".attn-host [data-cell^=head]").count() == 24


def test_the_table_without_scripts_is_torchs():
    (table,) = lab("heads").tables
    for nth, (name, right, wrong) in enumerate(table.rows):
        h, s = divmod(nth, 3)
        assert name == f"head {h}, token {s}"
        for text, way in ((right, "right"), (wrong, "view")):
            assert text == " ".join(map(str, cut(3, 8, 2, way)[h, s].tolist()))
