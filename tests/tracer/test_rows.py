"""The rows of the issue's modules: names, shapes in names and in numbers, at all kinds of sizes."""

import json
import math

import pytest
import torch
import torch.nn.functional as F

from attnlib import MultiHeadAttention, SelfAttention, SingleHeadAttention, Trace, trace

HEAD = [
    ("x", "input", "batch S n_embd", "input"),
    ("q", "linear", "batch S H", "new"),
    ("k", "linear", "batch S H", "new"),
    ("v", "linear", "batch S H", "new"),
    ("k transposed", "transpose", "batch H S", "view"),
    ("scores", "matmul", "batch S S", "new"),
    ("scaled", "scale_scores", "batch S S", "new"),
    ("mask", "causal_mask", "S S", "new"),
    ("masked", "mask_scores", "batch S S", "new"),
    ("weights", "attention_weights", "batch S S", "new"),
    ("output", "matmul", "batch S H", "new"),
]
MANY = [
    ("x", "input", "batch S n_embd", "input"),
    ("q", "linear", "batch S n_embd", "new"),
    ("k", "linear", "batch S n_embd", "new"),
    ("v", "linear", "batch S n_embd", "new"),
    ("q", "split_heads", "batch heads S H", "view"),
    ("k", "split_heads", "batch heads S H", "view"),
    ("v", "split_heads", "batch heads S H", "view"),
]
EXPLICIT = [
    *MANY,
    ("k transposed", "transpose", "batch heads H S", "view"),
    ("scores", "matmul", "batch heads S S", "new"),
    ("scaled", "scale_scores", "batch heads S S", "new"),
    ("weights", "attention_weights", "batch heads S S", "new"),
    ("heads", "matmul", "batch heads S H", "new"),
    ("merged", "merge_heads", "batch S n_embd", None),
    ("output", "linear", "batch S n_embd", "new"),
]
FUSED = [
    *MANY,
    ("heads", "scaled_dot_product_attention", "batch heads S H", "new"),
    ("merged", "merge_heads", "batch S n_embd", None),
    ("output", "linear", "batch S n_embd", "new"),
]
COLUMNS = ["line", "variable", "operation", "inputs", "shape", "sizes", "kind"]
SIZES = [  # batch, S, n_embd, heads: all different, S == H, batch == S == heads, S == n_embd
    (2, 8, 64, 4),
    (3, 16, 64, 4),
    (4, 4, 16, 4),
    (2, 12, 12, 3),
]


def told(rows):
    return [(step.variable, step.op, " ".join(step.output.dims)) for step in rows]


def wanted(rows):
    return [row[:3] for row in rows]


def sizes_hold(result, **sizes):
    """Every named dim has the number that belongs to it, in rows, children and inputs."""

    def look(steps):
        for step in steps:
            for info in (*step.inputs, *step.outputs):
                for dim, size in zip(info.dims, info.shape, strict=True):
                    known = math.prod(sizes.get(part, 0) or int(part) for part in dim.split("*"))
                    assert known == size, (step.code, info.dims, info.shape)
            look(step.steps)

    look(result.steps)


@pytest.mark.parametrize(("batch", "S", "n_embd", "heads"), SIZES)
@pytest.mark.parametrize("model", ["head", "self", "explicit", "fused"])
def test_modules_show_exactly_their_rows(model, batch, S, n_embd, heads):
    H = n_embd // heads
    module, rows = {
        "head": (lambda: SingleHeadAttention(n_embd, H), HEAD),
        "self": (lambda: SelfAttention(n_embd, H), [r for r in HEAD if r[0][:4] != "mask"]),
        "explicit": (lambda: MultiHeadAttention(n_embd, heads, fused=False), EXPLICIT),
        "fused": (lambda: MultiHeadAttention(n_embd, heads), FUSED),
    }[model]
    result = trace(module(), torch.randn(batch, S, n_embd), dims="batch S n_embd")
    assert told(result.steps) == wanted(rows)
    assert [step.index for step in result.steps] == list(range(1, len(rows) + 1))
    for step, (*_, kind) in zip(result.steps, rows, strict=True):
        assert kind is None or step.kind == kind, step.variable
    sizes_hold(result, batch=batch, S=S, n_embd=n_embd, heads=heads, H=H)
    assert not result.warnings
    assert result.check(batch=7, S=11).mismatches == () and result.check(batch=7, S=11)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_head_prints_as_in_the_book(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    result = trace(SingleHeadAttention(64, 16), torch.randn(2, 8, 64), dims="batch S n_embd")
    lines = str(result).splitlines()
    assert lines[0] == "SingleHeadAttention: batch = 2, S = 8, n_embd = 64, H = 16"
    columns = lines[2].split()
    assert columns == COLUMNS or width == 80
    assert set(COLUMNS) - {"inputs"} <= set(columns)
    body = lines[4:]
    assert len(body) == 11
    numbers = {"batch": 2, "S": 8, "n_embd": 64, "H": 16}
    for line, (variable, op, dims, kind) in zip(body, HEAD, strict=True):
        names = dims.split()
        assert variable in line and op in line and line.endswith(kind)
        assert f"({', '.join(names)})" in line
        assert f"({', '.join(str(numbers[name]) for name in names)})" in line


def test_fused_heads_say_so():
    result = trace(MultiHeadAttention(64, 4), torch.randn(2, 8, 64), dims="batch S n_embd")
    (row,) = (step for step in result.steps if step.op == "scaled_dot_product_attention")
    assert "one kernel" in row.note and row.steps == []
    assert "one kernel" in str(result)


def test_a_head_of_another_width_keeps_its_product():
    module = MultiHeadAttention(64, 4, head_size=7, fused=False)
    result = trace(module, torch.randn(2, 5, 64), dims="batch S n_embd")
    by_name = {step.variable: step.output.dims for step in result.steps}
    assert by_name["merged"] == ("batch", "S", "heads*H")
    assert by_name["output"] == ("batch", "S", "n_embd")
    assert result.roles == {name: name for name in ("batch", "S", "n_embd", "heads", "H")}


def test_stored_mask_and_context():
    head = SingleHeadAttention(12, 4, block_size=9)
    result = trace(head, torch.randn(2, 5, 12), dims="batch S n_embd")
    (mask,) = (step for step in result.steps if step.variable == "mask")
    assert (mask.op, mask.kind, mask.output.dims) == ("getitem", "view", ("S", "S"))
    assert result.check(S=30).unchecked and "block_size" in result.check(S=30).reason
    result = trace(
        SelfAttention(12, 4), torch.randn(2, 5, 12), torch.randn(2, 7, 12),
        dims={"x": "batch Sq n_embd", "context": "batch Sk n_embd"},
    )  # fmt: skip
    assert result.steps[-2].output.dims == ("batch", "Sq", "Sk")


def test_without_dims_the_book_names_what_it_can():
    result = trace(SingleHeadAttention(24, 6), torch.randn(2, 5, 24))
    assert told(result.steps) == wanted(HEAD)


def attend(x, wq, wk, wv, mask=None):
    q = x @ wq
    k = x @ wk
    v = x @ wv
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(k.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ v


@pytest.mark.parametrize(("batch", "S", "H"), [(2, 5, 3), (2, 5, 5), (4, 4, 4)])
def test_a_plain_function(batch, S, H):
    ws = [torch.randn(12, H) for _ in range(3)]
    dims = {"x": "batch S n_embd", **dict.fromkeys(("wq", "wk", "wv"), "n_embd H"), "mask": "S S"}
    result = trace(attend, torch.randn(batch, S, 12), *ws, mask=torch.ones(S, S).tril(), dims=dims)
    rows = [row for row in told(result.steps) if row[1] != "input"]
    assert rows == [
        ("q", "matmul", "batch S H"),
        ("k", "matmul", "batch S H"),
        ("v", "matmul", "batch S H"),
        ("k transposed", "transpose", "batch H S"),
        ("scores", "matmul", "batch S S"),
        ("scores", "div", "batch S S"),
        (None, "eq", "S S"),
        ("scores", "masked_fill", "batch S S"),
        ("weights", "softmax", "batch S S"),
        ("output", "matmul", "batch S H"),
    ]
    assert result.check(batch=3, S=11) and not result.warnings


def test_values_are_torchs_own():
    x = torch.tensor([[1.5, -2.0, float("nan")], [float("inf"), 0.1234567891, -float("inf")]])

    def grow(x):
        y = x * 2
        y[0, 0] = 7
        return y > 0

    first, twice, _, last = trace(grow, x).steps
    assert first.output.values == [[1.5, -2.0, "nan"], ["inf", 0.123457, "-inf"]]
    assert twice.output.values[0][0] == 3.0  # as it was before it was written into
    assert last.output.values == [[True, False, False], [True, True, False]]
    assert trace(grow, torch.randn(300)[None]).steps[0].output.values is None
    assert trace(lambda x: x + 1, torch.randn(2, 3, device="meta")).steps[-1].output.values is None


def test_strides_offset_dtype_device():
    (_, step, last) = trace(lambda x: x.half()[1:].mT, torch.randn(4, 3, 5)).steps[-3:]
    assert step.output.offset == 15 and step.output.strides == (15, 5, 1)
    assert last.output.strides == (15, 1, 5) and last.output.dtype == "float16"
    assert last.output.device == "cpu" and last.params == {"dim0": 1, "dim1": 2}


def test_json_gives_an_equal_trace_back():
    for module in (SingleHeadAttention(6, 3), MultiHeadAttention(6, 2, fused=False)):
        result = trace(module, torch.randn(2, 3, 6), dims="batch S n_embd")
        result.tokens = ["the", "bank", "by"]
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert Trace.from_dict(json.loads(text)) == result
        assert json.dumps(Trace.from_dict(json.loads(text)).to_dict()) == text
    assert result.to_dict()["steps"][1]["output"]["values"] is not None


def test_children_stand_under_their_stage():
    result = trace(SingleHeadAttention(6, 3), torch.randn(2, 4, 6), dims="batch S n_embd")
    weights = result.steps[9]
    assert weights.op == "attention_weights" and weights.file == "modules.py"
    assert weights.steps and {child.file for child in weights.steps} == {"stages/softmax.py"}
    assert weights.steps[-1].output.values == weights.output.values
    assert result.steps[6].params == {"head_size": 3}
