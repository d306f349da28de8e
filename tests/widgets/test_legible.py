"""What a figure must not let a reader misread: a clipped number, a sum that looks wrong."""

import pytest
import torch

from . import played
from .test_scenes import cells, named, words

DIGIT, SIDE = 0.556, 2.5  # of the font; what a frame takes of a cell


@pytest.mark.parametrize("width", [358, 822, 1100])
@pytest.mark.parametrize("make", [lambda: played.head()[0], lambda: played.heads()[0]])
def test_no_number_reaches_the_frames_beside_it(modules, facts, make, width):
    trace = make()
    for step, count in enumerate(modules.evaluate("phasesOf", trace), 1):
        for phase in range(1, count + 1):
            for cell in cells(facts(trace, step, phase, width=width)):
                wide = (len(cell["text"]) - ("." in cell["text"]) / 2) * DIGIT * cell["size"]
                assert wide <= cell["w"] - 2 * SIDE + 0.01, (step, phase, cell)
                assert cell["size"] >= 8, cell


def biased() -> dict:
    torch.manual_seed(5)
    x, layer = torch.randn(2, 3), torch.nn.Linear(3, 4)
    table = played.Rows("biased")
    table.know("x", x, "S n_embd")
    table.know("query.weight", layer.weight.detach(), "H n_embd")
    table.know("query.bias", layer.bias.detach(), "H")
    names = ["x", "query.weight", "query.bias"]
    table.row("q", "linear", layer(x).detach(), "S H", names, "q = self.query(x)")
    return table.trace()


@pytest.mark.parametrize("width", [358, 1100])
def test_a_bias_says_that_it_is_in_the_result(facts, width):
    said = words(facts(biased(), 1, 3, width=width))
    assert any("query.bias" in text and text.endswith("already in q") for text in said)
    assert not any(text.startswith("+") for text in said)


def test_a_sum_of_rounded_products_has_one_digit_more(facts):
    ledger = named(facts(biased(), 1, 2), "ledger.3.")
    assert all(len(cell["text"].split(".")[1]) == 3 for cell in ledger)
    trace, _ = played.head()  # x and the weight have one decimal: two write every product exactly
    assert all(len(c["text"].split(".")[1]) == 2 for c in named(facts(trace, 2, 2), "ledger.3."))


def test_parts_of_a_whole_are_written_alike_and_drawn(facts, head):
    trace, t = head
    row = [cell["text"] for cell in cells(facts(trace, 10, 4), "weights")][-3:]
    assert row == [f"{weight:.3f}" for weight in t["weights"][0, 2]]
    for width in (358, 1100):
        scene = facts(trace, 10, 4, width=width)
        bars = [m["w"] for m in named(scene, "bar2.") if m["type"] == "box"]
        assert len(bars) == 3
        assert min(bars) >= 2.5, "the paper edges of a part take 1.5 of it"
    mix = facts(trace, 11, 2)
    assert all(m["w"] >= 2.5 for m in named(mix, "share"))
    ledger = [m for m in named(mix, "ledger.") if m["type"] == "cell"]
    assert {len(m["text"].split(".")[1]) for m in ledger} <= {3, 4}, "4 for what 3 write as 0.000"
    # A masked weight is no part.
    assert [m["w"] for m in named(facts(trace, 11, 2, state={"i": 0}), "share")][1:] == [0, 0]


def test_a_cut_inside_rows_and_one_across_them_are_told_apart(facts):
    trace, _ = played.heads()
    right, wrong = facts(trace, 2, 2)["caption"], facts(trace, 7, 2)["caption"]
    assert "cuts n_embd into heads = 2 and H = 4" in right
    assert "one step along S was 8 numbers and is now 4" in wrong
    assert "a row of straight is a piece of a token" in wrong
    assert "cuts" not in wrong


def test_a_merge_across_tokens_is_told_apart(facts):
    split = torch.arange(24.0).view(1, 2, 3, 4)
    table = played.Rows("merges")
    table.know("heads", split, "batch heads S H")
    code = "out = heads.reshape(1, 3, 8)"
    table.row("out", "reshape", split.reshape(1, 3, 8), "batch S n_embd", ["heads"], code)
    said = facts(table.trace(), 1, 2)["caption"]
    assert "one step along S was 4 numbers and is now 8" in said
    assert "a row of out is pieces of several tokens" in said


def test_inner_dims_are_said_where_they_stand(facts):
    trace, _ = played.scores()
    said = facts(trace, 3, 2)["caption"]
    assert said.startswith("H = 4 stands last in q, S = 3 last but one in k: the inner dims differ")


@pytest.mark.parametrize("width", [358, 822])
def test_a_mask_says_what_it_puts_in(facts, head, width):
    said = words(facts(head[0], 9, 2, width=width))
    assert "where mask is False: −∞" in said
    assert not {"where", "="} & set(said)
