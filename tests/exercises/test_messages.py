"""What a verdict says is so of this very code, and its advice fits this exercise."""

from __future__ import annotations

import pytest
import torch

from attnlib.exercises import check, exercises
from attnlib.exercises.checker import KINDS
from attnlib.exercises.evidence import epsilon
from attnlib.exercises.faults import replay, start
from attnlib.exercises.form import DISTINCT, Case, draw
from attnlib.exercises.planted import planted
from attnlib.exercises.running import Outcome, Runner
from attnlib.exercises.trial import Trial
from attnlib.exercises.verdict import Counterexample
from tests.exercises.build import function

EXERCISES = {exercise.id: exercise for exercise in exercises()}
_ATTEND = "return F.scaled_dot_product_attention({}, is_causal=True)"
_HEADS = (
    "B, S, E = x.shape\nq, k, v = ((x @ w.T).view(B, S, n_heads, -1) for w in (wq, wk, wv))\n"
    "q, k, v = (t.transpose(1, 2) for t in (q, k, v))\n"
)


@pytest.mark.parametrize(
    ("exercise", "body", "says", "not_this"),
    [
        ("padding-mask", "m = torch.arange(S, device=lengths.device) <= lengths[:, None]\n"
         "return m[:, None, None]", "0 to its length - 1", "diagonal"),
        ("padding-mask", "return torch.ones(len(lengths), 1, 1, S, device=lengths.device) > 0",
         "where must it be False", "masked_fill"),
        ("causal-mask", "return torch.ones(Sq, Sk, device=device) > 0", "where must it be False",
         "masked_fill"),
        ("causal-mask", "return torch.ones(Sq, Sk, device=device).tril(Sk - Sq) == 0",
         "True means may attend", "masked_fill"),
        ("causal-mask", "return torch.ones(Sq, Sk, device=device).tril(1) == 1",
         "aligned at the first key", "the diagonal"),
        ("merge-heads", "return x.permute(0, 2, 3, 1).flatten(2)", "Swap heads and S", "keys"),
        ("split-heads", "return x.unflatten(-1, (n_heads, -1))", "(batch, heads, S, H)", "product"),
        ("split-heads", "return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 3, 1)",
         "(batch, heads, S, H)", "keys"),
        ("multi-head", _HEADS + "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
         "return o.permute(0, 2, 3, 1).flatten(2) @ wo.T", "Swap heads and S", "keys"),
        ("weighted-sum", "return weights.mT @ v", "The sum runs over the keys", "of keys"),
        ("scores", "return q @ k.transpose(0, 1)", "of keys, only the last two", "Swap heads"),
        ("scale", "return scores / scores.shape[-1] ** 0.5", "it is head_size", "of q"),
        ("head", _ATTEND.format("x @ wk.T, x @ wq.T, x @ wv.T"), "keys are exchanged", "transpose"),
        ("weights", "w = scores.softmax(-1)\nw[..., 0] *= 1.0\nreturn w", "numbers are right",
         "has a result"),
        ("scores", "return (q @ k.mT).detach().clone().requires_grad_(q.requires_grad).numpy()"
         " if q.requires_grad else q @ k.mT", "where gradients are asked for", "before it"),
        ("weights", "return scores.softmax(-1).half()", "Yours is torch.float16", "are right"),
        ("project", "return (x @ weight.T).long()", "Yours is torch.int64", "are right"),
        ("weights", "return F.gumbel_softmax(scores, dim=-1)", "drawn at random", "ropout"),
        ("grouped-query", "g = q.unflatten(1, (-1, k.shape[1]))\n"
         "o = F.scaled_dot_product_attention(g, k[:, None], v[:, None])\nreturn o.flatten(1, 2)",
         "meet the query heads as 0 1 0 1", "repeated"),
        ("mask-scores", "return scores.masked_fill(~may_attend, float('nan'))",
         "Hidden scores become inf or NaN", "minus"),
        ("head", "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
         "m = torch.ones_like(s).tril() == 1\nm[:, 1] = False\n"
         "return s.masked_fill(~m, -math.inf).softmax(-1) @ v",
         "Every query sees a key here", "zeros after"),
    ],
)  # fmt: skip
def test_a_message_fits_what_was_seen(exercise: str, body: str, says: str, not_this: str) -> None:
    verdict = check(exercise, function(exercise, body))
    assert not verdict.passed
    said = "\n".join(
        line for line in verdict.message.split("\n") if not line.startswith("Look at line")
    )
    assert says in said and not_this not in said, verdict


@pytest.mark.parametrize("exercise", ["head", "multi-head", "cached-step", "padding-mask"])
def test_who_makes_a_mask_is_told_that_the_device_counts(exercise: str) -> None:
    assert "device" in EXERCISES[exercise].statement


def test_the_longest_sequence_may_have_padding_too_and_stands_anywhere() -> None:
    """Else one length for all, the longest, would give the numbers of no mask."""
    exercise = EXERCISES["padding-mask"]
    for seed in range(2):
        cases = [draw(exercise, kind, 10 * seed + number) for kind, number in KINDS]
        lengths = [case.inputs["lengths"].tolist() for case in cases]
        sizes = [case.sizes["S"] for case in cases]
        whole = {max(each) == S for each, S in zip(lengths, sizes, strict=True)}
        assert whole == {True, False}
        assert {max(each) == each[0] for each in lengths} == {True, False}
        assert all(1 <= min(each) <= S for each, S in zip(lengths, sizes, strict=True))


@pytest.mark.parametrize(
    ("depth", "less_maximum", "added", "least"),
    [
        (0.0, True, 0.3, 0.0), (0.0, False, 0.3, 0.0), (0.0, True, 0.0, 1.9),
        (-25.0, False, 1e-9, 0.0), (-25.0, False, 0.0, 1e-8),
    ],
)  # fmt: skip
def test_the_constant_beside_a_sum_is_found(
    depth: float, less_maximum: bool, added: float, least: float
) -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 5).double() + depth
    exps = (scores - scores.amax(-1, keepdim=True) * less_maximum).exp()
    value = exps / (exps.sum(-1, keepdim=True) + added).clamp(min=least)
    case = Case(DISTINCT, {}, {"scores": scores}, scores.softmax(-1))
    trial = Trial(case, Outcome(value))
    assert not torch.allclose(value, case.wanted, rtol=1e-2)
    assert epsilon([trial]) is trial
    assert epsilon([trial, Trial(case, Outcome(case.wanted * 0.5))]) is None


def test_nan_throughout_is_the_evidence_of_no_planted_fault() -> None:
    exercise = EXERCISES["head"]
    case = draw(exercise, DISTINCT, 0)
    nan = Trial(case, Outcome(torch.full_like(case.wanted, torch.nan)))
    assert planted(exercise, [nan], [nan], Runner(exercise.solution), frozenset()) is None
    fault = next(f for slot in exercise.slots for f in slot.faults if f.id == "mask-inverted")
    half = replay(exercise.slots, start(case.inputs, case.sizes), (fault,))
    assert half is not None and bool(half.isnan().any()) and not bool(half.isnan().all())
    seen = Trial(case, Outcome(half))
    found = planted(exercise, [seen], [seen], Runner(exercise.solution), frozenset())
    assert found is not None and found[0].id == "mask-inverted"


@pytest.mark.parametrize(
    ("exercise", "body", "words"),
    [
        ("safe-weights", "dead = (scores == -math.inf).all(-1, keepdim=True)\n"
         "e = scores.exp()\nreturn e / (e.sum(-1, keepdim=True) + dead)", "overflows"),
        ("weights", "return F.normalize(scores.exp(), p=1, dim=-1)", "about -60"),
    ],
)  # fmt: skip
def test_a_sum_that_is_right_here_but_could_bite_is_a_note(
    exercise: str, body: str, words: str
) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.passed
    assert any(words in note for note in verdict.notes), verdict


@pytest.mark.parametrize("constant", [1e-6, 1e-9])
def test_low_scores_that_leak_nothing_are_no_fill(constant: float) -> None:
    """Exponentials vanish far down: no hidden key gets weight, the query's own loses it."""
    body = (
        "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\n"
        "e = (q @ k.mT / q.shape[-1] ** 0.5).exp().tril()\n"
        f"return e / (e.sum(-1, keepdim=True) + {constant}) @ v"
    )
    verdict = check("head", function("head", body))
    assert verdict.passed and any("scores very low" in note for note in verdict.notes), verdict


def test_of_a_wide_weight_no_number_is_shown_but_where_they_are() -> None:
    verdict = check("multi-head", lambda x, wq, wk, wv, wo, n_heads: x @ wo)
    weights = verdict.counterexample.inputs
    for name in ("wq", "wk", "wv", "wo"):
        (line,) = (line for line in str(verdict).splitlines() if line.startswith(f"  {name} ("))
        assert f"{weights[name].numel()} numbers, counterexample.inputs" in line
    assert len(str(verdict).splitlines()) < 40


@pytest.mark.parametrize(
    ("yours", "named", "block"),
    [
        ((2, 5, 3), "yours (batch, Sk, Sq)", "batch 0"),
        ((2, 1, 3, 5), "yours (batch, 1, Sq, Sk)", "batch 0"),
        ((7, 3, 5), "yours (7, Sq, Sk)", "dim 0 at 0"),
        ((3, 5), "yours (Sq, Sk)", ""),
        ((5,), "yours (Sk)", ""),
    ],
)
def test_a_result_of_another_shape_is_named_where_that_can_be_told(yours, named, block) -> None:
    """By its sizes, which differ; where they do not, nothing is claimed."""

    def shown(sizes: dict[str, int]) -> list[str]:
        wanted = torch.zeros(*sizes.values())
        case = Counterexample(sizes, {}, torch.ones(yours), wanted, {"": "batch Sq Sk"})
        return str(case).splitlines()

    lines = shown({"batch": 2, "Sq": 3, "Sk": 5})
    assert lines[1] == named
    assert not block or lines[2] == block
    assert lines[-1].startswith(f"The shapes differ: {named} {yours}, wanted (batch, Sq, Sk) (2,")
    assert "batch" not in shown({"batch": 7, "Sq": 7, "Sk": 4})[1]


def test_a_product_of_sizes_is_a_dim_too() -> None:
    verdict = check("merge-heads", lambda x: x.transpose(1, 2).flatten(2)[:, :, None])
    assert "yours (batch, S, 1, heads*H)" in str(verdict)
