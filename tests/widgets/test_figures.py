"""Still pictures by their facts: cells, labels, frames, and the same bytes in every run."""

import io
import subprocess
import sys

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from attnlib.dims import DIMS
from attnlib.widgets import figures

VALUES = torch.tensor([[1.0, -0.5, 0.0], [0.254, 2.0, -3.0]])


def drawn(values: torch.Tensor = VALUES, *args, **options):
    ax = Figure().add_subplot()
    figures.grid(ax, values, *(args or ("S", "n_embd", "tokens")), **options)
    return ax


def test_each_cell_holds_its_number_at_its_place():
    cells = {text.get_position(): text.get_text() for text in drawn().texts}
    assert cells == {
        (0.5, 0.5): "1.00", (1.5, 0.5): "−0.50", (2.5, 0.5): "0.00",
        (0.5, 1.5): "0.25", (1.5, 1.5): "2.00", (2.5, 1.5): "−3.00",
    }  # fmt: skip


def test_the_first_row_is_on_top_and_cells_are_square():
    ax = drawn()
    bottom, top = ax.get_ylim()
    assert (bottom, top) == (2.0, 0.0)
    assert ax.get_aspect() == 1.0


def test_colour_says_the_sign():
    colours = drawn(torch.tensor([[2.0, 0.0, -2.0]])).collections[0]
    shown = [to_hex(colour) for colour in colours.to_rgba(colours.get_array().ravel())]
    below, zero, above = figures.SIGNED
    assert shown[0] == above
    assert shown[2] == below
    assert int(below[1:3], 16) > int(below[5:7], 16), "below zero is red"
    assert int(above[1:3], 16) < int(above[5:7], 16), "above zero is green"
    distance = max(abs(int(shown[1][i : i + 2], 16) - int(zero[i : i + 2], 16)) for i in (1, 3, 5))
    assert distance <= 2  # 256 colours have no exact middle


def test_labels_name_the_dimensions_in_their_colours():
    ax = drawn(VALUES, "heads", "H", "one token")
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("heads  2", "H  3")
    assert ax.yaxis.label.get_color() == DIMS["heads"].ink[0]
    assert ax.xaxis.label.get_color() == DIMS["H"].ink[0]
    assert ax.get_title() == "one token"
    assert list(ax.get_xticks()) == []


def test_tokens_stand_at_their_rows_and_columns():
    ax = drawn(torch.eye(2), "S", "S", "weights", ["river", "bank"])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("S  2, asks", "S  2, is asked")
    for ticks, labels in (
        (ax.get_xticks(), ax.get_xticklabels()),
        (ax.get_yticks(), ax.get_yticklabels()),
    ):
        assert list(ticks) == [0.5, 1.5]
        assert [label.get_text() for label in labels] == ["river", "bank"]


def test_columns_may_hold_other_tokens_than_rows():
    ax = drawn(VALUES, "Sq", "Sk", "weights", ["bank", "closed"], ["the", "river", "bank"])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("Sq  2, asks", "Sk  3, is asked")
    assert ax.xaxis.label.get_color() == DIMS["S"].ink[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["bank", "closed"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "river", "bank"]
    assert list(ax.get_xticks()) == [0.5, 1.5, 2.5]


def test_a_blocked_cell_is_hatched_and_holds_no_number():
    blocked = torch.tensor([[False, True, False], [False, False, True]])
    ax = drawn(VALUES.masked_fill(blocked, -float("inf")), blocked=blocked)
    *grounds, lines = ax.patches
    assert [ground.get_xy() for ground in grounds] == [(1, 0), (2, 1)]
    # Each diagonal runs inside one of the two, from its lower left to its upper right.
    for left, right in lines.get_path().vertices.reshape(-1, 2, 2):
        cell = tuple((left + right) // 2)
        assert cell in ((1, 0), (2, 1))
        assert right[0] > left[0] and right[1] < left[1]
        assert all(0 <= end[axis] - cell[axis] <= 1 for end in (left, right) for axis in (0, 1))
    assert {patch.get_hatch() for patch in ax.patches} == {None}
    assert [text.get_text() for text in ax.texts] == ["1.00", "0.00", "0.25", "2.00"]


def test_a_map_without_numbers_is_one_picture_of_pixels():
    ax = drawn(digits=None)
    assert list(ax.texts) == []
    assert ax.collections[0].get_rasterized()
    assert not drawn().collections[0].get_rasterized()


def test_a_frame_stands_round_its_cells():
    ax = drawn()
    figures.frame(ax, 1, 0, width=3)
    (patch,) = ax.patches
    assert (patch.get_xy(), patch.get_height(), patch.get_width()) == ((0, 1), 1, 3)
    assert not patch.get_fill()


@pytest.mark.parametrize("labelled", [False, True])
def test_a_plain_plot_has_a_legend_only_for_named_lines(labelled):
    ax = Figure().add_subplot()
    ax.plot([0, 1], label="loss" if labelled else None)
    figures.plain(ax)
    assert (ax.get_legend() is not None) is labelled
    assert not ax.spines["right"].get_visible()
    assert ax.spines["left"].get_visible()


def test_a_picture_has_the_same_bytes_in_every_run():
    figures.style()

    def bytes_of(values: torch.Tensor) -> bytes:
        file = io.BytesIO()
        drawn(values).figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return file.getvalue()

    assert bytes_of(VALUES) == bytes_of(VALUES)
    assert bytes_of(VALUES) == bytes_of(VALUES + 1e-7), "the last bits of a number are not drawn"
    assert bytes_of(VALUES) != bytes_of(VALUES + 1)
    assert ">−0.50</text>" in bytes_of(VALUES).decode(), "words stay words"


def test_importing_the_drawings_does_not_load_matplotlib():
    code = "import sys, attnlib.widgets.figures; print('matplotlib' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
