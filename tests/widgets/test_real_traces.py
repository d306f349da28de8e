"""What the tracer records is what the player plays: rows, shapes and numbers of real runs."""

import contextlib
import json

import pytest
import torch

import attnlib
from attnlib import examples
from attnlib.widgets import player_html


def single() -> attnlib.tracer.Trace:
    head = attnlib.SingleHeadAttention(5, 4)
    for layer, weight in zip(
        (head.query, head.key, head.value), examples.head_weights(), strict=True
    ):
        layer.weight.data = weight
    return attnlib.trace(head, examples.sequences(), dims="batch S n_embd")


def scores():
    def compared(q, k):
        with contextlib.suppress(RuntimeError):
            q @ k
        kt = k.transpose(-2, -1)
        return q @ kt

    q, k = torch.arange(24.0).view(2, 3, 4) / 10, torch.arange(24.0).view(2, 3, 4).flip(-1) / 10
    return attnlib.trace(compared, q, k, dims={"q": "batch S H", "k": "batch S H"})


def own(x, w):
    a, b = x.chunk(2, dim=-1)
    y = torch.cat([b, a], dim=-1) @ w
    y = y.masked_fill(y > 1, -1e9)
    z = (y.softmax(-1) * 2 + x.mean(-1, keepdim=True)).sum(0)
    return torch.einsum("sh,th->st", z, z)[:2].T.reshape(-1)


RUNS = {
    "one head": single,
    "no mask": lambda: attnlib.trace(attnlib.SelfAttention(6, 4), torch.randn(2, 3, 6)),
    "many heads": lambda: attnlib.trace(
        attnlib.MultiHeadAttention(8, 2, fused=False), torch.randn(2, 3, 8), dims="batch S n_embd"
    ),
    "fused": lambda: attnlib.trace(attnlib.MultiHeadAttention(8, 2), torch.randn(2, 3, 8)),
    "big": lambda: attnlib.trace(attnlib.SingleHeadAttention(64, 16), torch.randn(2, 8, 64)),
    "a reader's own": lambda: attnlib.trace(own, torch.randn(2, 3, 4), torch.randn(4, 4)),
    "torch's own": lambda: attnlib.trace(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(1, 3, 8)
    ),
    "an error that is caught": scores,
}


# In one call, what is asked and no more: to hand over a scene takes longer than to draw it.
ALL_OF_THEM = """([trace, calls]) => {
  const data = JSON.parse(trace);
  return calls.map((call) => {
    const { caption, marks } = facts([data, ...call]);
    return { caption, words: marks.map(({ words }) => words ?? '') };
  });
}"""


@pytest.mark.parametrize("name", RUNS)
def test_every_row_plays_and_agrees_with_the_table(modules, name):
    trace = RUNS[name]()
    data = trace.to_dict()
    counts = modules.evaluate("phasesOf", data)
    assert len(counts) == len(trace.steps)
    phases = [[step, phase] for step, count in enumerate(counts) for phase in range(count)]
    calls = [[*place, {"width": width}] for place in phases for width in (358, 822)]
    for scene in modules.evaluate(ALL_OF_THEM, [json.dumps(data), calls]):
        assert scene["caption"].endswith(".")
        assert scene["words"]
        assert not [words for words in scene["words"] if "undefined" in words]
    table = player_html(trace).partition("</table>")[0]
    for step in trace.steps:
        for output in step.outputs:
            assert f"({', '.join(output.dims)})" in table
            assert str(tuple(output.shape)).replace(",)", ")") in table


def test_one_player_shows_mismatch_swap_agreement_and_every_product(modules, facts):
    data = scores().to_dict()
    assert [step["kind"] for step in data["steps"]] == ["input", "input", "error", "view", "new"]
    said = [
        facts(data, step, phase)["caption"]
        for step, count in enumerate(modules.evaluate("phasesOf", data), 1)
        for phase in range(1, count + 1)
    ]
    for words in (
        "H = 4 stands last in q, S = 3 last but one in k: the inner dims differ",
        "their strides change places, and nothing moves in memory",
        "hops through the same storage by 4",
        "The inner dims are both H = 4",
        "no number crosses from sheet to sheet",
    ):
        assert any(words in sentence for sentence in said), words
    q, k = (torch.tensor(step["output"]["values"]) for step in data["steps"][:2])
    for b in range(2):
        for i in range(3):
            for j in range(3):
                state = {"i": i, "j": j, "at": {"batch": b}}
                want = f"[{i}, {j}] is {(q[b, i] * k[b, j]).sum():.2f}."
                assert facts(data, 5, 5, state=state)["caption"].endswith(want)


def test_a_line_that_only_fits_by_accident_is_warned_of_on_its_row(play):
    def careless(q, k):
        scores = q @ k
        return scores.softmax(-1)

    q, k = torch.randn(2, 3, 3), torch.randn(2, 3, 3)
    trace = attnlib.trace(careless, q, k, dims={"q": "batch S H", "k": "batch S H"})
    (warning,) = trace.warnings
    page = play(trace.to_dict())
    shown = []
    for _ in trace.steps:
        shown.append(page.locator(".warning").first.inner_text())
        page.get_by_role("group", name="Figure").press("PageDown")
    assert shown == ["", "", warning.message, ""]


def test_a_caption_says_no_other_than_the_warning(facts):
    q, k = torch.randn(2, 3, 3), torch.randn(2, 3, 3)
    trace = attnlib.trace(lambda q, k: q @ k, q, k, dims={"q": "batch S H", "k": "batch S H"})
    assert trace.warnings
    said = facts(trace.to_dict(), 3, 1)["caption"]
    assert said == (
        "H = 3 of q meets S = 3 of k: the sizes are equal, so torch multiplies, but they are two "
        "dims."
    )


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_a_softmax_along_another_axis_says_where_the_shares_add_up(facts, axis):
    trace = attnlib.trace(lambda scores: scores.softmax(axis), torch.randn(2, 3, 5))
    assert facts(trace.to_dict(), 2, 1)["caption"] == (
        f"Along axis {axis % 3} of scores the numbers become shares: there, and along no other "
        "axis, they add up to 1."
    )
