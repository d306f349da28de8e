"""Right numbers are not all: dtype, device, gradients, weights that are a little off, fills."""

from __future__ import annotations

import pytest
import torch

from attnlib.exercises import check
from tests.exercises.build import function

_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
_MAY = "may = torch.ones(s.shape[-2:], dtype=torch.bool, device=x.device).tril()\n"
_HEAD = _QKV + _MAY
_SHIFTED = "e = (scores - scores.amax(-1, keepdim=True)).exp()\n"
_WEIGHED = "e = (s - s.amax(-1, keepdim=True)).exp() * may\n"


@pytest.mark.parametrize(
    ("exercise", "body", "said"),
    [
        ("project", "return x.detach() @ weight.T", "None reaches x."),
        ("project", "return (x @ weight.T).detach()", "None reaches x or weight."),
        ("scores", "return torch.cat([q[:1].detach(), q[1:]]) @ k.mT", "None reaches part of q."),
        ("weights", _SHIFTED + "return e / e.sum(-1, keepdim=True).detach()",
         "The gradient of scores is not that of the numbers you return."),
        ("head", _HEAD + "w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn w.detach() @ v",
         "None reaches wq or wk."),
        ("head", _HEAD + "s = s.detach() + 0 * s\n"
         "return s.masked_fill(~may, -math.inf).softmax(-1) @ v", "None reaches wq or wk."),
        ("head", _HEAD + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v\n"
         "return o + ((q - q) ** 2).sum() ** 0.5", "not finite"),
        ("safe-weights", "return scores.detach().softmax(-1).nan_to_num()",
         "None reaches scores."),
    ],
)  # fmt: skip
def test_what_of_the_gradients_is_lost_is_told(exercise: str, body: str, said: str) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.diagnosis == "wrong-gradient", verdict
    assert said in verdict.message


@pytest.mark.parametrize(
    ("exercise", "body"),
    [
        ("weights", "e = (scores - scores.amax(-1, keepdim=True).detach()).exp()\n"
         "return e / e.sum(-1, keepdim=True)"),
        ("weights", "return (scores - scores.logsumexp(-1, keepdim=True)).exp()"),
        ("weights", "return scores.softmax(-1, dtype=torch.float64).to(scores.dtype)"),
        ("weights", "return scores.log_softmax(-1).exp()"),
        ("safe-weights", "m = scores.amax(-1, keepdim=True).clamp(min=-1e30)\n"
         "e = (scores - m).exp()\nreturn e / e.sum(-1, keepdim=True).clamp(min=1e-30)"),
        ("mask-scores", "return scores + may_attend.to(scores.dtype).log()"),
        ("head", _HEAD + _WEIGHED + "return (e @ v) / e.sum(-1, keepdim=True)"),
        ("head", _QKV + "w = s.softmax(-1).tril()\nreturn w / w.sum(-1, keepdim=True) @ v"),
        ("head", "return F.scaled_dot_product_attention(x @ wq.T, x @ wk.T, x @ wv.T, "
         "is_causal=True)"),
    ],
)  # fmt: skip
def test_right_answers_in_another_style_get_no_note(exercise: str, body: str) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.passed and not verdict.notes, verdict


def test_a_value_of_another_dtype_or_of_a_fixed_device_is_a_mistake() -> None:
    verdict = check("project", lambda x, weight: x.double() @ weight.double().T)
    assert verdict.diagnosis == "wrong-dtype"
    assert "Yours is torch.float64, not torch.float32." in verdict.message
    verdict = check("project", lambda x, weight: torch.tensor((x @ weight.T).tolist()))
    assert verdict.diagnosis == "fixed-device"
    assert "It is the result itself." in verdict.message


@pytest.mark.parametrize(
    ("exercise", "body", "note"),
    [
        ("weights", "return scores.softmax(-1).clamp(min=1e-6)", "by -inf keeps a weight of 1e-06"),
        ("weights", "return scores.softmax(-1) + 1e-8", "by -inf keeps a weight of 1e-08"),
        ("weights", _SHIFTED + "return e / (e.sum(-1, keepdim=True) + 1e-6)", "is 0.999999:"),
        ("safe-weights", "e = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e30)).exp()\n"
         "return e / (e.sum(-1, keepdim=True) + 1e-4)", "should be 1 is 0.9999:"),
        ("weights", "return 1 / (scores[..., None, :] - scores[..., None]).exp().sum(-1)\n",
         "-inf, as a mask leaves it, gives NaN"),
        ("head", _HEAD + "return s.masked_fill(~may, -math.inf).softmax(-1).clamp(min=1e-6) @ v",
         "may not be seen keep a little weight"),
        ("head", _HEAD + "s = s.masked_fill(~may, -math.inf)\n" + _WEIGHED
         + "return (e @ v) / (e.sum(-1, keepdim=True) + 5e-5)",
         "is anything added to the sum"),
    ],
)  # fmt: skip
def test_weights_that_are_a_little_off_get_a_note(exercise: str, body: str, note: str) -> None:
    verdict = check(exercise, function(exercise, body))
    assert verdict.passed, verdict
    assert any(note in said for said in verdict.notes), verdict


def test_a_row_that_sees_nothing_gets_zeros_and_nothing_near_them() -> None:
    body = (
        "dead = (scores == -math.inf).all(-1, keepdim=True)\n"
        "return scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 1e-6)"
    )
    verdict = check("safe-weights", function("safe-weights", body))
    assert verdict.diagnosis == "nan-row"
    assert "It gets weights up to 1e-06, not zeros." in verdict.message


@pytest.mark.parametrize("fill", [-1e4, -1e9, -1e20])
@pytest.mark.parametrize(
    "form", ["scores.masked_fill(~may_attend, {})", "scores + {} * ~may_attend"]
)
def test_of_a_fill_the_same_is_said_where_it_passes_and_where_not(fill: float, form: str) -> None:
    verdict = check("mask-scores", function("mask-scores", f"return {form.format(fill)}"))
    assert verdict.diagnosis == "mask-fill-not-low-enough"
    assert "In use it hides" in verdict.message and "here one is -1e+30" in verdict.message
    body = _HEAD + f"return s.masked_fill(~may, {fill}).softmax(-1) @ v"
    (note,) = check("head", function("head", body)).notes[:1] or ("",)
    assert ("as in use" in note) or fill < -1e12, note


def test_a_fill_that_hides_too_little_in_use_gets_no_such_excuse() -> None:
    body = "return scores.masked_fill(~may_attend, -100.0)"
    verdict = check("mask-scores", function("mask-scores", body))
    assert verdict.diagnosis == "mask-fill-not-low-enough"
    assert "In use it hides" not in verdict.message


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (_QKV + "m = torch.ones_like(s).triu() == 1\n"
         "return s.masked_fill(~m, -math.inf).softmax(1) @ v", None),
        (_QKV.replace("q @ k.mT", "k @ q.mT") + _MAY
         + "return s.masked_fill(~may, -math.inf).softmax(-1).mT @ v", None),
        (_HEAD + "s = s * q.shape[-1] ** 0.5\n"
         "return s.masked_fill(~may, -math.inf).softmax(1) @ v", "scale-missing"),
    ],
)  # fmt: skip
def test_of_two_mistakes_one_is_named_only_if_no_other_two_give_the_same(body, named) -> None:
    """A mask upside down under a softmax over the queries is keys times queries, turned back."""
    verdict = check("head", function("head", body))
    assert verdict.diagnosis == (named or "value-mismatch"), verdict
    if not named:
        for one in ("queries-keys-exchanged", "mask-inverted with softmax-wrong-dim"):
            assert one in verdict.message
