"""Code that raises at sizes that all differ is told so before what shows at special sizes."""

from __future__ import annotations

import pytest

from attnlib.exercises import check, exercises
from attnlib.exercises.form import DISTINCT, draw
from tests.exercises.build import function
from tests.exercises.right_answers import RIGHT
from tests.exercises.wrong_sizes import OTHERS, WITHOUT_KEEPDIM

EXERCISES = {exercise.id: exercise for exercise in exercises()}


def words_of_torch(exercise: str, body: str, inputs: dict) -> str:
    """Run the very code on the input that is shown; what it says is the oracle."""
    with pytest.raises(RuntimeError) as raised:
        function(exercise, body)(*inputs.values())
    return str(raised.value).splitlines()[0]


def named(rows: list[tuple]) -> list[str]:
    return [f"{i} {row[0]}" for i, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("exercise", "body"),
    [row[:2] for row in WITHOUT_KEEPDIM] + OTHERS,
    ids=named([*WITHOUT_KEEPDIM, *OTHERS]),
)
def test_a_failure_where_all_sizes_differ_comes_first(exercise: str, body: str) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.diagnosis == "raises", verdict
    sizes = verdict.counterexample.sizes
    assert len(set(sizes.values())) == len(sizes)
    assert words_of_torch(exercise, body, verdict.counterexample.inputs) in verdict.message
    assert any("failed at line" in note for note in verdict.notes)


@pytest.mark.parametrize(("exercise", "body", "words"), WITHOUT_KEEPDIM, ids=named(WITHOUT_KEEPDIM))
def test_the_dim_that_was_not_kept_is_named(exercise: str, body: str, words: str) -> None:
    message = check(exercise, function(exercise, body)).message
    assert f"The {words} has one dim less" in message
    assert f"keepdim=True keeps {words.split()[-1]}," in message


@pytest.mark.parametrize(("exercise", "body"), OTHERS, ids=named(OTHERS))
def test_keepdim_is_not_named_where_it_helps_nothing(exercise: str, body: str) -> None:
    assert "keepdim" not in check(exercise, function(exercise, body)).message


def test_every_exercise_is_tried() -> None:
    assert {row[0] for row in OTHERS} == set(EXERCISES) == set(RIGHT)


@pytest.mark.parametrize(
    ("exercise", "body", "id_"),
    [
        ("scores", "return q @ k", "transpose-missing"),
        ("project", "return x @ weight", "weight-transposed"),
        ("multi-head", "B, S, E = x.shape\nq, k, v = ((x @ w.T).view(B, S, n_heads, -1) "
         "for w in (wq, wk, wv))\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
         "m = torch.ones(S, S, device=x.device).tril() == 0\n"
         "return (s.masked_fill(m, -math.inf).softmax(-1) @ v).reshape(B, S, E) @ wo.T",
         "transpose-missing"),
    ],
)  # fmt: skip
def test_a_name_that_explains_the_failure_is_still_given(
    exercise: str, body: str, id_: str
) -> None:
    answer = function(exercise, body)
    with pytest.raises(RuntimeError):
        answer(*draw(EXERCISES[exercise], DISTINCT, 0).inputs.values())
    assert check(exercise, answer).diagnosis == id_
