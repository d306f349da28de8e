"""The corpora: every wrong answer gets exactly its id, every right one passes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

from attnlib.exercises import check, checker, exercises, mistakes, running
from attnlib.exercises.catalogue import BY_ID
from attnlib.exercises.checker import judge
from attnlib.exercises.form import LARGEST, Case, Exercise, copy, draw
from attnlib.exercises.planted import ABSENT, MORE
from tests.exercises.build import function
from tests.exercises.outside_right import RIGHT as OUTSIDE_RIGHT
from tests.exercises.outside_wrong import WRONG as OUTSIDE_WRONG
from tests.exercises.right_answers import RIGHT
from tests.exercises.right_styles import RIGHT as STYLES
from tests.exercises.wrong_pipelines import WRONG as PIPELINES
from tests.exercises.wrong_reported import WRONG as REPORTED
from tests.exercises.wrong_stages import WRONG as STAGES

EXERCISES = {exercise.id: exercise for exercise in exercises()}
WRONG = [
    (id_, exercise, body)
    for corpus in (STAGES, PIPELINES, REPORTED, OUTSIDE_WRONG)
    for id_, answers in corpus.items()
    for exercise, body in answers
]
RIGHT_ONES = [
    (exercise, body)
    for corpus in (RIGHT, STYLES, OUTSIDE_RIGHT)
    for exercise, bodies in corpus.items()
    for body in bodies
]


def names(answers: list[tuple]) -> list[str]:
    """A short name for each answer: what it is of, and which one."""
    return [f"{'-of-'.join(answer[:-1])}-{i}" for i, answer in enumerate(answers)]


@cache
def drawn(id_: str, kind: str, seed: int, largest: int) -> Case:
    return draw(EXERCISES[id_], kind, seed, largest)


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thousand answers be judged by the same cases, whose loops are slow, in copies."""

    def once(exercise: Exercise, kind: str, seed: int, largest: int = LARGEST) -> Case:
        case = drawn(exercise.id, kind, seed, largest)
        return replace(case, inputs=copy(case.inputs))

    monkeypatch.setattr(checker, "draw", once)


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize(("id_", "exercise", "body"), WRONG, ids=names(WRONG))
def test_a_wrong_answer_is_named(
    id_: str, exercise: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if id_ == "too-slow":
        monkeypatch.setattr(running, "SECONDS", 0.5)
    verdict = check(exercise, function(exercise, body))
    assert verdict.diagnosis == id_, verdict
    assert not verdict.passed
    assert id_ in EXERCISES[exercise].ids
    assert BY_ID[id_].says in verdict.message


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize(("exercise", "body"), RIGHT_ONES, ids=names(RIGHT_ONES))
def test_a_right_answer_passes(exercise: str, body: str) -> None:
    answer = function(exercise, body)
    for seed in range(2):
        verdict = judge(EXERCISES[exercise], answer, seed)
        assert verdict.passed, verdict
        assert verdict.diagnosis is None and verdict.counterexample is None


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_the_solution_passes_and_the_stub_is_not_written(exercise) -> None:
    assert check(exercise.id, exercise.solution).passed
    space = {}
    exec(exercise.stub, space)
    assert check(exercise.id, space[exercise.solution.__name__]).diagnosis == "not-written"


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda mistake: mistake.id)
def test_the_catalogue_s_own_example_is_named(mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    if mistake.id == "too-slow":
        monkeypatch.setattr(running, "SECONDS", 0.5)
    space = {"torch": torch}
    exec(mistake.code, space)
    answer = space[mistake.exercise.replace("-", "_")]
    assert check(mistake.exercise, answer).diagnosis == mistake.id


def test_the_corpora_are_as_large_as_promised() -> None:
    per_id = {id_: sum(1 for wrong in WRONG if wrong[0] == id_) for id_ in BY_ID}
    assert min(per_id.values()) >= 3, per_id
    assert len(WRONG) >= 120 and len(RIGHT_ONES) >= 80
    assert {exercise for exercise, _ in RIGHT_ONES} == set(EXERCISES)
    ids = {}
    for id_, exercise, body in WRONG:  # two people may write the same, and mean the same by it
        assert ids.setdefault((exercise, body.strip()), id_) == id_
    assert len(ids) >= 500


def diagnosed(exercise: str, body: str, on: set[str]) -> str | None:
    """Judge with these detectors alone, and those that everything else stands on."""
    off = frozenset(BY_ID) - on - {"too-slow", "raises"}
    return judge(EXERCISES[exercise], function(exercise, body), off=off).diagnosis


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("id_", BY_ID)
def test_a_detector_is_missed_by_its_own_answers_only(
    id_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer is named by the detector of its id though all others are switched off at once.

    So no other detector, switched off, can turn it red. Only what holds a second mistake, or lacks
    whole stages or adds some, needs the detectors of these too.
    """
    monkeypatch.setattr(running, "SECONDS", 0.5)
    own = [(exercise, body) for name, exercise, body in WRONG if name == id_]
    if id_ != "value-mismatch":
        off = frozenset({id_})
        for exercise, body in own[:2]:
            verdict = judge(EXERCISES[exercise], function(exercise, body), off=off)
            assert verdict.diagnosis != id_
    alone = [answer for answer in own if diagnosed(*answer, {id_}) == id_]
    for exercise, body in set(own) - set(alone):
        others = EXERCISES[exercise].ids
        on = ({id_, other} | ABSENT | MORE for other in others)
        assert any(diagnosed(exercise, body, some) == id_ for some in on), body
    assert len(alone) >= 3 and len(own) - len(alone) <= 5


def test_the_same_function_gets_the_same_verdict() -> None:
    torch.manual_seed(1)
    first = check("head", function(*PIPELINES["mask-ignored"][0]))
    torch.manual_seed(2)
    assert str(check("head", function(*PIPELINES["mask-ignored"][0]))) == str(first)


def test_random_code_gets_the_same_verdict_every_time() -> None:
    verdicts = set()
    for seed in range(3):
        torch.manual_seed(seed)
        answer = function("weighted-sum", "return F.dropout(weights, 0.5) @ v")
        verdicts.add(str(check("weighted-sum", answer)))
    assert len(verdicts) == 1 and "dropout-active" in verdicts.pop()
