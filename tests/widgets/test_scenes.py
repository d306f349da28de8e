"""Scenes as facts: which cells, which labels, which row is lit, without a picture."""

import math

import pytest
import torch

from . import played


def cells(facts: dict, tensor: str | None = None) -> list[dict]:
    return [
        m for m in facts["marks"] if m["type"] == "cell" and (tensor is None or m["cell"] == tensor)
    ]


def named(facts: dict, key: str) -> list[dict]:
    return [m for m in facts["marks"] if m["key"].startswith(key)]


def words(facts: dict) -> list[str]:
    return [m["words"] for m in facts["marks"] if m.get("words")]


def written(text: str) -> float | bool:
    if text in ("True", "False"):
        return text == "True"
    return float(text.replace("−", "-").replace("∞", "inf").replace("NaN", "nan"))


# ---------- every number


@pytest.mark.parametrize("width", [822, 358])
@pytest.mark.parametrize("make", [played.head, played.scores, played.heads])
def test_every_number_drawn_is_pytorchs(modules, facts, make, width):
    trace, tensors = make()
    tensors = tensors | {"query.weight": played.examples.head_weights()[0]}
    seen = set()
    for step, count in enumerate(modules.evaluate("phasesOf", trace), 1):
        for phase in range(1, count + 1):
            for cell in cells(facts(trace, step, phase, width=width)):
                if cell["cell"] not in tensors or cell["text"] == "":
                    continue
                want, got = (
                    tensors[cell["cell"]][tuple(cell["index"])].item(),
                    written(cell["text"]),
                )
                digits = len(cell["text"].partition(".")[2])
                same = (
                    got == want
                    if isinstance(want, bool) or math.isinf(want)
                    else abs(got - want) <= 0.5 * 10**-digits + 1e-5
                )
                assert same, (step, phase, cell)
                seen.add(cell["cell"])
    assert seen >= {step["variable"] for step in trace["steps"] if step["output"]}


def test_the_growing_sum_is_pytorchs(facts, head):
    trace, t = head
    products = t["q"][0, 2] * t["k"][0, 1]
    for d in range(4):
        scene = facts(trace, 6, 2 + d)
        line = {m["key"]: m["text"] for m in named(scene, "ledger.") if m["type"] == "cell"}
        for k in range(4):
            assert line[f"ledger.2.{k}"] == (
                "" if k > d else f"{products[k]:.2f}".replace("-", "−")
            ), (d, k)
            so_far = products[: k + 1].sum()
            assert line[f"ledger.3.{k}"] == ("" if k > d else f"{so_far:.3f}".replace("-", "−")), (
                d,
                k,
            )
        if d in (1, 2):
            so_far = f"{products[: d + 1].sum():.2f}".replace("-", "−")
            assert scene["caption"].endswith(f"the sum so far is {so_far}.")
    assert scene["caption"].endswith(
        f"scores[2, 1] is {t['scores'][0, 2, 1]:.2f}.".replace("-", "−")
    )


def test_choosing_another_row_column_and_sheet_changes_the_sum(facts, head):
    trace, t = head
    scene = facts(trace, 6, 5, state={"i": 1, "j": 0, "at": {"batch": 1}})
    assert f"scores[1, 0] is {t['scores'][1, 1, 0]:.2f}".replace("-", "−") in scene["caption"]
    assert {tuple(c["index"][:1]) for c in cells(scene, "q")} == {(1,)}


# ---------- products


def test_the_contracted_dim_is_named_and_joined_index_by_index(facts, head):
    scene = facts(head[0], 2, 1)
    assert "Σ over n_embd" in words(scene)
    assert len(named(scene, "arc.n_embd.")) == 5
    assert {m["role"] for m in named(scene, "arc.")} == {"n_embd"}
    assert all(c["text"] == "" for c in cells(scene, "q")), "the result waits for its phase"


def test_inner_dims_of_one_size_and_two_names_are_both_named(facts):
    q, k = torch.randn(3, 4), torch.randn(4, 3)
    table = played.Rows("careless")
    table.row("q", "input", q, "S H", [], "def careless(q, k):", "input")
    table.row("k", "input", k, "4 S", [], "def careless(q, k):", "input")
    table.row("scores", "matmul", q @ k, "S S", ["q", "k"], "scores = q @ k")
    assert "Σ: H = 4 meets 4" in words(facts(table.trace(), 3, 1))


@pytest.mark.parametrize(("width", "says"), [(822, "S = 8"), (358, "S = 8\u2002batch = 2")])
def test_the_size_of_an_axis_too_short_for_it_is_said(facts, width, says):
    said = [text for text in words(facts(played.big(), 2, 1, width=width)) if "S = 8" in text]
    assert len(said) == 2, "once at x and once at q"
    assert all(text.endswith(says) for text in said)


def test_one_number_lights_its_row_and_column(facts, head):
    scene = facts(head[0], 2, 2)
    x, hit = cells(scene, "x"), [c for c in cells(scene, "q") if c["text"]]
    assert [c["index"] for c in hit] == [[0, 2, 1]]
    row, column, mark = (named(scene, key)[0] for key in ("row", "column", "hit"))
    lit = [c for c in x if "off" not in c["kind"]]
    assert [c["index"] for c in lit] == [[0, 2, d] for d in range(5)]
    assert row["y"] + 1 == lit[0]["y"]
    assert row["w"] == 5 * lit[0]["w"] + 2
    assert (mark["x"] + 1, mark["y"] + 1) == (hit[0]["x"], hit[0]["y"])
    assert column["x"] == mark["x"]


def test_inner_dims_that_differ_are_shown_and_nothing_comes_out(facts):
    trace, _ = played.scores()
    scene = facts(trace, 3, 2)
    assert "H = 4 ≠ S = 3" in words(scene)
    assert "no product" in words(scene)
    assert len(named(scene, "half.cross")) == 1, "one number of four finds no partner"
    assert {m["role"] for m in named(scene, "half.a")} == {"H"}
    assert {m["role"] for m in named(scene, "half.b")} == {"S"}
    halves = {m["key"]: m["d"] for m in named(scene, "half.")}
    for pair in range(3):
        left, right = halves[f"half.a{pair}"], halves[f"half.b{pair}"]
        assert left.rsplit(" ", 2)[1:] == right[1:].split("A")[0].split(" "), "pairs are whole"
    (lone,) = (m["x"] + m["w"] / 2 for m in cells(scene, "q") if m["index"] == [0, 0, 3])
    assert float(halves["half.cross3"][1:].split(" ")[0]) + 5 == lone
    assert "inner dims differ" in scene["caption"]


def printed(value):
    """Two decimals, one more for a number that is near 0 but is not 0."""
    digits = 3 if 0 < abs(value) < 0.005 else 2
    return f"{value:.{digits}f}".replace("-", "−")


def test_a_weighted_sum_is_a_mix_of_rows(facts, head):
    trace, t = head
    scene = facts(trace, 11, 2)
    for k in range(3):
        share = f"{t['weights'][0, 2, k]:.3f}"
        assert f"{share} of “{played.examples.TOKENS[k]}”" in scene["caption"]
    assert [c["index"][1] for c in cells(scene, "output") if c["text"]] == [2] * 4


def test_batched_operands_broadcast(facts):
    left, right = torch.arange(24.0).view(2, 1, 3, 4), torch.arange(60.0).view(5, 4, 3)
    table = played.Rows("broadcast")
    table.row("a", "input", left, "2 1 S H", [], "a", "input")
    table.row("b", "input", right, "5 H Sk", [], "b", "input")
    table.row("c", "matmul", left @ right, "2 5 S Sk", ["a", "b"], "c = a @ b")
    scene = facts(table.trace(), 3, 6, state={"at": {"2": 1, "5": 3}})
    assert {tuple(c["index"][:2]) for c in cells(scene, "c")} == {(1, 3)}
    assert {tuple(c["index"][:2]) for c in cells(scene, "a")} == {(1, 0)}
    assert {c["index"][0] for c in cells(scene, "b")} == {3}


# ---------- views and memory


def place(facts: dict, key: str) -> dict:
    return {m["key"]: (m["x"], m["y"]) for m in named(facts, key) if m["type"] == "cell"}


def test_a_transpose_moves_cells_in_the_grid_and_none_in_memory(facts, head):
    trace, t = head
    before, after = facts(trace, 5, 1), facts(trace, 5, 2)
    was, now = (
        {c["key"]: c for c in cells(before, "k")},
        {c["key"]: c for c in cells(after, "k transposed")},
    )
    grid = {key for key in was if not key.startswith("memory")}
    assert grid == set(now), "the same numbers keep their keys"
    for key, cell in now.items():
        b, h, s = cell["index"]
        assert was[key]["index"] == [b, s, h]
    assert place(before, "memory.") == place(after, "memory.") != {}
    assert "strides (12, 4, 1)" in words(after)
    assert "strides (12, 1, 4)" in words(after)


def test_a_row_of_the_transposed_hops_by_its_stride(facts, head):
    scene = facts(head[0], 5, 3)
    lit = [
        m["key"].rsplit("@")[1]
        for m in named(scene, "memory.")
        if m["type"] == "cell" and m["kind"] == "on"
    ]
    assert lit == ["0", "4", "8"]
    assert "by 4" in scene["caption"]
    assert "stride 4" in words(scene)


def test_lines_of_memory_are_equally_long_and_say_which_sheet(facts, head):
    scene = facts(head[0], 5, 1, width=250)
    strip = [m for m in named(scene, "memory.") if m["type"] == "cell"]
    lines = [sum(m["y"] == y for m in strip) for y in sorted({m["y"] for m in strip})]
    assert lines == [6, 6]
    assert len(named(scene, "memory.at")) == 12
    assert "memory of k, sheet 0 in front" in words(scene)


def test_a_long_name_ends_before_the_next_grid(facts, head):
    steps = [dict(step) for step in head[0]["steps"]]
    name = "powers.sum(dim=-1, keepdim=True)"
    steps[6] |= {"inputs": [steps[6]["inputs"][0] | {"name": name}]}
    scene = facts(head[0] | {"steps": steps}, 7, 2, width=358)
    said = next(m["words"] for m in scene["marks"] if m["key"] == f"{name}.name")
    assert said.startswith("powers") and "…" in said
    assert len(said) < 24


def test_a_name_over_a_narrow_grid_ends_where_the_stage_does(facts):
    (name,) = named(facts(played.big(), 2, 1, width=358), "query.weight.name")
    assert name["x"] + 8 * len(name["words"]) <= 358


def test_a_copy_moves_numbers_in_memory(facts):
    trace, t = played.heads()
    before, after = facts(trace, 4, 1), facts(trace, 4, 2)
    assert place(before, "memory.").keys() == place(after, "memory.").keys()
    assert place(before, "memory.") != place(after, "memory.")
    order = [m["text"] for m in named(after, "memory.") if m["type"] == "cell"]
    assert [written(text) for text in order] == [round(v, 1) for v in t["own"].flatten().tolist()]


def test_heads_are_told_apart_right_and_wrong(facts):
    trace, t = played.heads()
    for step, name in ((3, "apart"), (7, "straight")):
        scene = facts(trace, step, 2)
        fills: dict[str, set] = {}
        for cell in cells(scene, name):
            fills.setdefault(cell["fill"], set()).add(cell["index"][1])
        assert sorted(map(sorted, fills.values())) == [[0], [1]]
    claims = [m["words"] for m in named(facts(trace, 3, 2), "claim") if m["type"] == "text"]
    assert claims == ["head 0", "head 1"] * 3
    assert [m["words"] for m in named(facts(trace, 7, 2), "claim") if m["type"] == "text"] == [
        "head 0",
        "head 1",
    ]


@pytest.mark.parametrize("make", [played.head, played.heads, played.merged])
def test_the_same_key_is_the_same_number(modules, facts, make):
    trace, tensors = make()
    for step, count in enumerate(modules.evaluate("phasesOf", trace), 1):
        if trace["steps"][step - 1]["kind"] not in ("view", "copy"):
            continue
        held: dict[str, float] = {}
        for phase in range(1, count + 1):
            for cell in cells(facts(trace, step, phase)):
                value = tensors[cell["cell"]][tuple(cell["index"])].item()
                assert held.setdefault(cell["key"].rstrip("′"), value) == value, cell


def test_merging_lays_the_heads_side_by_side(facts):
    trace, _ = played.heads()
    scene = facts(trace, 6, 2)
    assert "heads and H into n_embd = 8" in scene["caption"]
    assert len(cells(scene, "merged")) == 24


# ---------- masks, softmax, scale


def test_exactly_the_future_is_hatched(facts, head):
    trace, t = head
    for step, name in ((8, "mask"), (9, "masked"), (10, "masked")):
        scene = facts(trace, step, facts_last(trace, step))
        hatched = {tuple(c["index"][-2:]) for c in cells(scene, name) if "masked" in c["kind"]}
        assert hatched == {(0, 1), (0, 2), (1, 2)}, (step, name)


@pytest.mark.parametrize("width", [822, 358])
def test_where_s_meets_s_both_axes_say_which(facts, head, width):
    for step, phase in ((6, 7), (7, 2), (8, 1), (9, 2), (10, 4), (11, 3)):
        said = words(facts(head[0], step, phase, width=width))
        assert said.count("S = 3") == 0, step
        assert "S = 3 queries" in said, step
        assert "S = 3 keys" in said, step
    assert "Σ over S keys" in words(facts(head[0], 11, 3, width=width))


def test_the_row_shown_first_has_closed_and_open_keys(facts, head):
    for step, phase, key in ((8, 2, "row"), (10, 2, "row")):
        scene = facts(head[0], step, phase, state={"i": None})
        band = next(m for m in scene["marks"] if m["key"] == key)
        row = [c for c in cells(scene) if abs(c["y"] - band["y"]) < 3 and c["index"]]
        assert sum("masked" in c["kind"] for c in row) == 1, step


def test_a_masked_weight_stays_hatched_and_is_exactly_0(facts, head):
    for step, phase in ((10, 4), (11, 3)):
        shut = [c for c in cells(facts(head[0], step, phase), "weights") if "masked" in c["kind"]]
        assert {tuple(c["index"][-2:]) for c in shut} == {(0, 1), (0, 2), (1, 2)}
        assert {c["text"] for c in shut} == {"0"}


@pytest.mark.parametrize("variable", [None, "k transposed"])
def test_a_part_of_a_line_shows_that_part(modules, head, variable):
    steps = [dict(step) for step in head[0]["steps"]]
    line = "scores = q @ k.transpose(-2, -1)"
    steps[4] |= {"variable": variable, "code": line, "expression": "k.transpose(-2, -1)"}
    steps[5] |= {"code": line, "expression": "q @ k.transpose(-2, -1)"}
    read = modules.evaluate(
        "(json) => modules.trace.readTrace(json).steps.map((s) => s.code)",
        head[0] | {"steps": steps},
    )
    assert read[4:6] == ["k.transpose(-2, -1)", line]


def facts_last(trace: dict, step: int) -> int:
    return {8: 1, 9: 2, 10: 4}[step]


def test_a_softmax_row_fills_one_bar(facts, head):
    scene = facts(head[0], 10, 4)
    for i in range(3):
        bars = [m for m in named(scene, f"bar{i}.") if m["type"] == "box"]
        ends = next(m["d"] for m in named(scene, f"bar{i}.ends"))
        left, right = (float(piece.split(" ")[0]) for piece in ends[1:].split("M"))
        assert sum(bar["w"] for bar in bars) == pytest.approx(right - left, abs=0.01)
    assert words(scene).count("= 1.00") == 3


def test_softmax_shifts_exponentiates_and_normalises(facts, head):
    trace, t = head
    row = t["masked"][0, 2]
    shifted, powers = row - row.max(), (row - row.max()).exp()
    for part, lines in ((1, 2), (2, 3), (3, 4)):
        scene = facts(trace, 10, part)
        table = {m["key"]: m["text"] for m in named(scene, "ledger.") if m["type"] == "cell"}
        for r, values in enumerate((row, shifted, powers, powers / powers.sum())):
            for k in range(3):
                shows = f"{values[k]:.3f}" if r == 3 else printed(values[k])
                want = shows if r < lines else ""
                assert table[f"ledger.{r}.{k}"] == want, (part, r, k)


def test_scaling_pales_on_the_one_scale_of_the_trace(facts, head):
    scene = facts(head[0], 7, 2)
    share = {
        c["cell"]: float(c["fill"].split(") ")[1].split("%")[0])
        for c in cells(scene)
        if c["index"] == [0, 0, 1]
    }
    assert share["scaled"] == pytest.approx(share["scores"] / 2, abs=1)
    assert "÷ √H" in words(scene)


def test_the_sign_of_a_value_has_its_own_colour(facts, head):
    for cell in cells(facts(head[0], 6, 6), "scores"):
        value = head[1]["scores"][tuple(cell["index"])]
        assert f"var(--v-{'neg' if value < 0 else 'pos'})" in cell["fill"]


def test_no_number_nan_and_the_infinities_are_told_apart(facts):
    kinds = [c["kind"] for c in cells(facts(played.kinds(), 11, 1), "odd")]
    assert kinds == ["nan", "inf", "masked", ""]


def test_masked_fill_hatches_what_it_fills(facts):
    scene = facts(played.kinds(), 9, 2)
    for name in ("blocked", "filled"):
        hatched = {tuple(c["index"]) for c in cells(scene, name) if "masked" in c["kind"]}
        assert hatched == {(i, j) for i in range(3) for j in range(4) if j > i}, name


# ---------- shapes without numbers


def test_what_was_not_recorded_is_drawn_to_scale_and_without_numbers(facts):
    trace = played.big()
    scene = facts(trace, 2, 1)
    assert not [c for c in cells(scene) if c["text"]]
    blocks = {m["key"]: m for m in scene["marks"] if m["type"] == "box" and m["kind"] == "block"}
    x, weight = (
        next(m for key, m in blocks.items() if key.startswith(name))
        for name in ("x", "query.weight")
    )
    assert x["w"] / x["h"] == pytest.approx(64 / 8, rel=0.01)
    assert weight["h"] / weight["w"] == pytest.approx(64 / 16, rel=0.01)
    assert x["w"] == pytest.approx(weight["h"]), "the contracted dim is as long in both"


def test_a_wide_tensor_is_a_few_marks(facts):
    table = played.Rows("wide")
    table.know("w", torch.zeros(4096, 4096), "H n_embd")
    table.row("x", "input", torch.zeros(2, 2048, 4096), "batch S n_embd", [], "x", "input")
    table.row("q", "linear", torch.zeros(2, 2048, 4096), "batch S H", ["x", "w"], "q")
    scene = facts(table.trace(), 2, 1)
    assert len(scene["marks"]) < 60
    assert scene["height"] < 700


# ---------- laws


@pytest.mark.parametrize("width", [358, 700, 822, 1100])
@pytest.mark.parametrize(
    "make", [lambda: played.head()[0], lambda: played.heads()[0], played.big, played.kinds]
)
def test_keys_are_unique_sentences_are_whole_and_nothing_leaves_the_stage(
    modules, facts, make, width
):
    trace = make()
    for step, count in enumerate(modules.evaluate("phasesOf", trace), 1):
        for phase in range(1, count + 1):
            scene = facts(trace, step, phase, width=width)
            keys = [m["key"] for m in scene["marks"]]
            assert len(keys) == len(set(keys))
            assert scene["caption"].endswith(".")
            assert "undefined" not in scene["caption"]
            assert "NaN" not in scene["caption"]
            for mark in scene["marks"]:
                numbers = [mark[side] for side in ("x", "y", "w", "h") if side in mark]
                assert all(isinstance(n, int | float) and math.isfinite(n) for n in numbers), mark
                if mark["type"] in ("cell", "box"):
                    assert mark["x"] >= -2, (step, phase, mark)
                    assert mark["x"] + mark["w"] <= width + 2, (step, phase, mark)


def test_every_axis_says_its_name_and_size(facts, head):
    for step in range(1, 12):
        scene = facts(head[0], step, 1)
        said = set(" ".join(words(scene)).replace(" = ", "=").split())
        for tensor in [*head[0]["steps"][step - 1]["inputs"], head[0]["steps"][step - 1]["output"]]:
            for label, size in zip(tensor["dims"], tensor["shape"], strict=True):
                assert f"{label}={size}" in said, (step, label)


# ---------- what is wrong, what is named, what is left out


def warned(trace: dict, step: int) -> dict:
    row = trace["steps"][step - 1]
    warning = {"line": row["line"], "code": row["code"], "message": "wrong", "dims": ["a", "b"]}
    return trace | {"warnings": [warning]}


def test_exactly_the_numbers_in_the_wrong_place_are_dashed(facts):
    trace, t = played.heads()
    scene = facts(warned(trace, 7), 7, 2)
    right = t["q"].view(1, 3, 2, 4).transpose(1, 2)
    places = torch.arange(24).view(1, 3, 8)
    differ = places.view(1, 2, 3, 4) != places.view(1, 3, 2, 4).transpose(1, 2)
    dashed = {tuple(c["index"]) for c in cells(scene, "straight") if "wrong" in c["kind"]}
    assert dashed == {tuple(index) for index in differ.nonzero().tolist()} != set()
    assert right.shape == t["straight"].shape
    assert not [c for c in cells(facts(trace, 7, 2)) if "wrong" in c["kind"]], "only with a warning"


def test_of_a_wrong_merge_too_and_of_a_wrong_product_all(facts):
    places = torch.arange(24).view(1, 2, 3, 4)
    rows = played.Rows("glued")
    rows.row("heads", "input", places / 10, "batch heads S H", [], "heads", "input")
    code = "merged = heads.reshape(batch, S, n_embd)"
    rows.row("merged", "reshape", places.view(1, 3, 8) / 10, "batch 3 8", ["heads"], code, "view")
    scene = facts(warned(rows.trace(), 2), 2, 2)
    differ = places.view(1, 3, 8) != places.transpose(1, 2).reshape(1, 3, 8)
    dashed = {tuple(c["index"]) for c in cells(scene, "merged") if "wrong" in c["kind"]}
    assert dashed == {tuple(index) for index in differ.nonzero().tolist()}
    product = facts(warned(played.head()[0], 6), 6, 6)
    kinds = [c["kind"] for c in cells(product, "scores")]
    assert len(kinds) == 9 and all("wrong" in kind for kind in kinds)
    assert not [c for c in cells(product, "q") if "wrong" in c["kind"]]


def test_keys_are_named_on_their_columns_and_all_tokens_on_a_phone(facts, head):
    wide = facts(head[0], 7, 2)
    assert [m["words"] for m in wide["marks"] if ".key" in m["key"]] == ["the", "bank", "by"] * 2
    narrow = facts(head[0], 6, 2, width=358)
    assert words(narrow)[-1] == "S: 0 the · 1 bank · 2 by"
    alone = facts(head[0], 1, 1, width=358)
    beside = [m for m in alone["marks"] if ".word" in m["key"]]
    assert [m["words"] for m in beside] == ["the", "bank", "by"]
    assert all(m["x"] > max(c["x"] + c["w"] for c in cells(alone)) for m in beside)
    assert "S: 0 the" not in " ".join(words(alone))


@pytest.mark.parametrize("width", [358, 822])
def test_sigma_stands_at_the_bend_of_its_arcs(facts, head, width):
    scene = facts(head[0], 2, 2, width=width)
    (sigma,) = (m for m in scene["marks"] if m["key"] == "sum")
    start = named(scene, "arc.n_embd.0")[0]["d"]
    x1, y1 = (float(v) for v in start[1:].split("A")[0].split(" "))
    x2, y2 = (float(v) for v in start.rsplit(" ", 2)[1:])
    assert sigma["x"] < (x1 + x2) / 2
    assert sigma["y"] < y1 - (y1 - y2) / 2
    on = ((x2 - sigma["x"]) / (x2 - x1)) ** 2 + ((y1 - sigma["y"]) / (y1 - y2)) ** 2
    assert 1 <= on <= 1.35, "just outside the outermost arc"


def test_the_ledger_names_the_weight(facts, head):
    labels = words(facts(head[0], 2, 2))
    assert "weightᵀ[d, 1]" in labels
    assert "x[2, d]" in labels


@pytest.mark.parametrize("width", [390, 1100])
def test_a_bias_is_drawn_and_said_and_the_sum_is_pytorchs(modules, facts, width):
    torch.manual_seed(5)
    x, layer = torch.randn(2, 3), torch.nn.Linear(3, 4)
    q = layer(x).detach()
    table = played.Rows("biased")
    table.know("x", x, "S n_embd")
    table.know("query.weight", layer.weight.detach(), "H n_embd")
    table.know("query.bias", layer.bias.detach(), "H")
    table.row("q", "linear", q, "S H", ["x", "query.weight", "query.bias"], "q = self.query(x)")
    trace, state = table.trace(), {"i": 1, "j": 2}
    whole, one = facts(trace, 1, 3, width=width), facts(trace, 1, 2, width=width, state=state)
    assert "plus query.bias, one number for each column" in whole["caption"]
    assert "3 products and query.bias[2] add up to" in one["caption"]
    drawn = {
        name: [[written(c["text"]) for c in cells(whole, name) if c["index"][0] == i] for i in rows]
        for name, rows in {"x": range(2), "query.bias": range(4)}.items()
    }
    turned = {tuple(c["index"]): written(c["text"]) for c in cells(whole, "query.weight")}
    for cell in cells(whole, "q"):
        i, j = cell["index"]
        made = sum(drawn["x"][i][d] * turned[j, d] for d in range(3)) + drawn["query.bias"][j][0]
        assert made == pytest.approx(q[i, j].item(), abs=0.05), "what is drawn adds up"
    line = {m["key"]: m["text"] for m in named(one, "ledger.") if m["type"] == "cell"}
    products = (x[1] @ layer.weight[2]).item()
    assert written(line["ledger.3.2"]) == pytest.approx(products, abs=0.006)
    says = "makes " + f"{q[1, 2].item():.2f}".replace("-", "−")
    assert any(text.startswith("plus query.bias[2]") and says in text for text in words(one))
    (bias, *_), ledger = cells(one, "query.bias"), named(one, "ledger.label0")[0]
    assert width > 480 or ledger["y"] > bias["y"] + bias["h"], "neither covers the other"


def test_a_side_of_thousands_is_left_out_but_for_its_ends(facts):
    table = played.Rows("wide")
    table.row("x", "input", torch.zeros(2048, 4096), "S n_embd", [], "x", "input")
    scene = facts(table.trace(), 1, 1)
    (block,) = (m for m in scene["marks"] if m.get("kind") == "block")
    assert block["w"] / block["h"] == pytest.approx(2, rel=0.01), "to scale"
    (lines,) = (m["d"] for m in scene["marks"] if m.get("kind") == "lines")
    assert (lines.count("v"), lines.count("h")) == (6, 6), "three at each end of each side"
    assert "⋱" in words(scene)


def test_an_argument_says_whose_it_is(modules, head):
    read = modules.evaluate(
        "(json) => modules.trace.readTrace(json).steps.map((s) => s.code)", head[0]
    )
    assert read[0] == "x — argument of forward"
