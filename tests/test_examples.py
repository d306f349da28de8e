"""The running example: equal words have equal rows, numbers are short, weights are varied."""

import pytest
import torch

from attnlib import attention, examples, project


def test_a_word_that_comes_twice_has_one_row() -> None:
    table = examples.embeddings()
    assert table.shape == (6, 8)
    assert examples.TOKENS == ["the", "bank", "by", "the", "river", "flooded"]
    same = [[a == b for b in examples.TOKENS] for a in examples.TOKENS]
    assert (table[:, None] == table[None]).all(-1).tolist() == same


@pytest.mark.parametrize("n_embd", [1, 3, 5, 8])
def test_fewer_features_are_the_first_ones(n_embd: int) -> None:
    assert torch.equal(examples.embeddings(n_embd), examples.embeddings()[:, :n_embd])


@pytest.mark.parametrize("n_embd", [0, 9, "5"])
@pytest.mark.bad_input
def test_the_table_has_eight_columns(n_embd) -> None:
    with pytest.raises(ValueError, match=f"n_embd is {n_embd!r} but the table has 1 to 8"):
        examples.embeddings(n_embd)


def test_two_sequences_of_three_hold_the_six_tokens() -> None:
    x = examples.sequences()
    assert x.shape == (2, 3, 5)
    assert torch.equal(x.flatten(0, 1), examples.embeddings(5))


def test_every_number_has_one_decimal() -> None:
    numbers = torch.cat(
        [examples.embeddings().flatten(), *map(torch.flatten, examples.head_weights())]
    )
    assert torch.equal(numbers, (numbers.double() * 10).round().div(10).float())


def test_every_call_gives_tensors_of_its_own() -> None:
    examples.embeddings().zero_()
    assert examples.embeddings().abs().sum() > 0


def test_the_weights_of_the_head_are_varied() -> None:
    w_q, w_k, w_v = examples.head_weights()
    assert [tuple(w.shape) for w in (w_q, w_k, w_v)] == [(4, 5)] * 3
    x = examples.sequences()
    weights = attention(project(x, w_q), project(x, w_k), project(x, w_v)).weights
    assert (weights.amax(-1) > 0.5).all()
    assert (weights.amax(-1) - weights.amin(-1) > 0.25).all()
