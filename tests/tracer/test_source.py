"""Lines, expressions and variables; `executing` is the oracle for the node of every operation."""

import ast
import importlib
import sys
import time
import weakref
from pathlib import Path

import executing
import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn
from torch.overrides import TorchFunctionMode

from attnlib import ShapeError, trace
from attnlib.tracer import tracing
from attnlib.tracer.recorder import LIBRARY, kind_of
from attnlib.tracer.source import _Source, site_of
from tests.tracer.correct import SAMPLES


class Oracle(TorchFunctionMode):
    """Ask `executing` and the tracer for the node of the same instruction."""

    def __init__(self):
        super().__init__()
        self.seen = self.agreed = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        frame = sys._getframe(1)
        while kind_of(frame.f_code.co_filename) is LIBRARY:
            frame = frame.f_back
        node = executing.Source.executing(frame).node
        if node is not None and hasattr(node, "lineno"):
            mine = site_of(frame.f_code, frame.f_lasti).node
            self.seen += 1
            self.agreed += mine is not None and ast.dump(mine) == ast.dump(node)
        return func(*args, **(kwargs or {}))


def test_expressions_are_those_that_executing_finds():
    with Oracle() as oracle:
        for build in SAMPLES.values():
            fn, inputs, _ = build(2, 5, 3, 4)
            fn(*inputs)
    assert oracle.seen > 400
    assert oracle.agreed / oracle.seen > 0.99, (oracle.agreed, oracle.seen)


def variables(result):
    return [step.variable for step in result.steps if step.kind != "input"]


def test_targets():
    class Box(nn.Module):
        def forward(self, x):
            d = {}
            a, b = x + 1, x + 2
            d["q"] = a * b
            self.kept = a - b
            a += b
            c = (e := x * 3) + 1
            f: torch.Tensor = c * e
            g = h = f / 2
            i = g if g is not None else h * 2
            j = (x * 2) if x.dim() == 2 else (x * 3)
            k, (m, n) = x + 1, (x + 2, x + 3)
            q, *rest = x.unbind(0)
            return i + j + k + m + n + q

    told = variables(trace(Box(), torch.ones(2, 2)))
    assert told[:11] == [
        "a", "b", "d['q']", "self.kept", "a", "e", "c", "f", "g", "j", "k",
    ]  # fmt: skip


def scores_of(a, b):
    return a @ b.mT


def both(a, b):
    return scores_of(a, b), a * 2


def test_the_return_of_a_helper_lands_in_the_callers_variable():
    def run(x):
        s = scores_of(x, x)
        t = (lambda y: y * 2)(s)
        u, v = both(x, x)
        return scores_of(u, v[:, :3]) + t

    told = variables(trace(run, torch.randn(3, 3)))
    assert told[:6] == ["x transposed", "s", "t", "x transposed", "u", "v"]
    assert told[6:] == ["b", "b transposed", None, "output"]


def test_layers_inside_a_sequential_are_not_the_variable():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def run(x):
        h = net(x)
        return h

    result = trace(run, torch.ones(1, 3))
    assert variables(result) == [None, None, "h"]
    assert [step.module for step in result.steps[1:]] == ["net.0", "net.1", "net.2"]
    assert [step.inputs[1].name for step in result.steps if step.op == "linear"] == [
        "net.0.weight", "net.2.weight",
    ]  # fmt: skip


def test_code_without_source_has_its_operation():
    space = {"torch": torch}
    exec("def f(x):\n    y = x + 1\n    return y @ y.mT", space)
    result = trace(space["f"], torch.ones(2, 2))
    assert [(step.op, step.line, step.code) for step in result.steps[1:]] == [
        ("add", 2, ""), ("transpose", 3, ""), ("matmul", 3, ""),
    ]  # fmt: skip
    assert result.steps[1].file is None


def test_loose_lines():
    q, k = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    with tracing(dims={"q": "batch S H", "k": "batch S H"}) as found:
        scores = q @ k.mT
        weights = scores.softmax(-1)
    assert variables(found) == ["k transposed", "scores", "weights"]
    assert found.steps[-1].output.dims == ("batch", "S", "S")
    assert weights.shape == (2, 5, 5) and found.title == "tracing"


def dims_of(result):
    return [step.output.dims for step in result.steps]


def test_a_variable_that_is_assigned_anew_keeps_what_its_lines_say():
    x = torch.randn(2, 5, 4)
    with tracing(dims={"x": "batch S H"}) as found:
        x = x + 1
        x = x.mT
        x = x.flatten(0, 1)
        y = x * 2
    assert dims_of(found) == [
        ("batch", "S", "H"), ("batch", "H", "S"), ("batch*H", "S"), ("batch*H", "S"),
    ]  # fmt: skip
    assert not found.dropped and y.shape == (8, 5)
    x = torch.randn(2, 5, 5)  # the sizes do not tell the dims apart
    with tracing(dims={"x": "batch S H"}) as found:
        x = x * 2
        x = x.mT
    assert dims_of(found) == [("batch", "S", "H"), ("batch", "H", "S")]
    parts = torch.randn(5, 4), torch.randn(3, 4)
    with tracing(dims={"part": "S H"}) as found:
        for part in parts:
            y = part * 2
    assert dims_of(found) == [("S", "H"), ("S", "H")] and y.shape == (3, 4)


def test_a_variable_that_the_lines_make_has_its_dims_too():
    q, k = torch.randn(2, 5, 4), torch.randn(2, 7, 4)
    with tracing(dims={"scores": "batch Sq Sk"}) as found:
        scores = q @ k.mT
    assert dims_of(found)[-1] == ("batch", "Sq", "Sk") and scores.shape == (2, 5, 7)


KEPT = torch.randn(2, 5, 4)


class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, given):
        return self.inner(given) * 2


def first_met(x, way):
    layer, doubled = nn.Linear(4, 3), Doubled()
    layers, kept = [nn.Linear(4, 3), nn.Linear(4, 3)], [x]
    query = x.clone()
    x = query if way == "two names" else x
    with tracing(dims={"x": "batch S n_embd"}) as found:
        if way == "layer":
            layer(x)
        elif way == "module":
            doubled(x)
        elif way == "inside another call":
            F.relu(layer(x))
        elif way == "listed":
            _a, _b = [each(x) for each in layers]
        elif way == "generated":
            _a, _b = (each(x) for each in layers)
        elif way == "after its shape":
            _b, _t, _c = x.shape
            layer(x)
        elif way == "assigned inside":
            (x,) = kept
            layer(x)
        elif way == "two names":
            doubled(query)
        elif way == "helper":
            (lambda given: given * 2)(x)
        elif way == "library function":
            F.linear(x, layers[0].weight)
    return found


WAYS = (
    "layer", "module", "inside another call", "listed", "generated", "after its shape",
    "assigned inside", "two names", "helper", "library function",
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_is_found_whatever_meets_it_first(way):
    found = first_met(torch.randn(2, 5, 4), way)
    first = found.steps[0]
    assert first.inputs[0].name == "x" and first.inputs[0].dims == ("batch", "S", "n_embd")
    assert all(step.output.dims[:2] == ("batch", "S") for step in found.steps)
    assert not any("dims names" in step.note for step in found.steps)


def test_a_variable_of_the_file_is_found_too():
    layer = nn.Linear(4, 3)
    with tracing(dims={"KEPT": "batch S n_embd"}) as found:
        layer(KEPT)
    assert dims_of(found) == [("batch", "S", "3")]
    with tracing() as found:  # without a key it has its name at least
        tokens = KEPT * 1
        layer(tokens)
    x = KEPT.clone()
    with tracing() as found:
        layer(x)
    assert found.steps[0].inputs[0].name == "x"


def test_a_key_that_fits_no_variable_is_told():
    layer, x = nn.Linear(4, 3), torch.randn(2, 5, 4)
    with tracing(dims={"x": "batch S n_embd", "zzz": "batch S"}) as found:
        y = layer(x)
        z = y + 1
    assert z.shape == (2, 5, 3)
    said = "dims names zzz, but no tensor met here is called so: they are x, y, z"
    assert found.steps[0].note == said and said in str(found)
    with tracing(dims={"x": "batch S n_embd"}) as found:
        y = layer(x)
    assert found.steps[0].note == ""


def test_the_lines_are_let_go_of_when_they_have_run():
    def run():
        x, layer = torch.randn(2, 5, 4), nn.Linear(4, 3)
        with tracing(dims={"x": "batch S n_embd"}) as found:
            layer(x)
        return weakref.ref(x), found

    gone, found = run()
    assert gone() is None and found.steps[0].inputs[0].name == "x"


def test_a_wrong_count_for_a_variable_is_refused_after_its_lines():
    x, done = torch.randn(2, 5, 4), []

    def run():
        with tracing(dims={"x": "batch S"}):
            y = x * 2
            done.append(y + 1)

    with pytest.raises(ShapeError, match=r'dims for x: "batch S" names 2 axes but x has 3'):
        run()
    assert done
    with pytest.raises(ZeroDivisionError), tracing(dims={"x": "batch S"}):
        1 / int((x * 0).sum())


def test_on_error_is_for_trace_only():
    entered = []
    said = r"tracing takes no on_error.*attnlib_trace"
    with pytest.raises(TypeError, match=said), tracing(on_error="return"):
        entered.append(1)
    assert not entered


def test_several_lines_and_other_letters():
    def run(größe):
        ä = größe.transpose(
            0,
            1,
        )
        é = ä + 1
        return é

    result = trace(run, torch.ones(2, 3))
    assert variables(result) == ["ä", "é"]
    assert result.steps[2].expression == "ä + 1" and result.steps[2].code == "é = ä + 1"
    assert "\n" in result.steps[1].code


def test_no_absolute_path_anywhere():
    import json

    result = trace(scores_of, torch.ones(2, 3), torch.ones(2, 3))
    text = json.dumps(result.to_dict())
    assert result.steps[-1].file in ("tests/tracer/test_source.py", "test_source.py")
    assert str(Path(__file__).resolve().parents[2]) not in text


def test_a_module_that_was_edited_and_loaded_again_is_told_in_its_new_lines(tmp_path, monkeypatch):
    file = tmp_path / "edited_here.py"
    file.write_text("def run(q, k):\n    scores = q @ k.mT\n    return scores\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("edited_here")
    q, k = torch.ones(2, 3), torch.ones(4, 3)
    assert variables(trace(module.run, q, k)) == ["k transposed", "scores"]
    file.write_text("\n\ndef run(q, k):\n    wide = q * 2\n    return (k @ wide.mT).mT\n")
    result = trace(importlib.reload(module).run, q, k)
    assert variables(result) == ["wide", "wide transposed", None, "output"]
    assert [step.code for step in result.steps[2:4]] == ["wide = q * 2", "return (k @ wide.mT).mT"]


def test_a_notebook_cell_goes_by_its_number():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    first = "import torch\nfrom attnlib import trace\ndef f(x):\n    y = x @ x.mT\n    return y"
    shell.run_cell(first, store_history=True)
    shell.run_cell("t = trace(f, torch.ones(2, 3), dims='S H')", store_history=True)
    step = shell.user_ns["t"].steps[-1]
    assert (step.file, step.line, step.variable) == ("cell 1", 4, "y")
    assert step.output.dims == ("S", "S")
    InteractiveShell.clear_instance()


def test_a_signature_of_several_lines_is_told_in_one():
    def head(
        x,
        w_q,
        *,
        mask=None,
    ):
        return x @ w_q

    first = trace(head, torch.zeros(2, 3), torch.zeros(3, 4)).steps[0]
    assert first.code == "def head(x, w_q, mask):"


def test_einops_comes_back_to_the_line_that_calls_it():
    def split(x):
        heads = rearrange(x, "b n (h d) -> b h n d", h=2)
        return heads

    result = trace(split, torch.randn(2, 5, 6), dims="batch S n_embd")
    assert [step.code for step in result.steps[1:]] == [
        'heads = rearrange(x, "b n (h d) -> b h n d", h=2)'
    ] * 2
    assert result.steps[-1].variable == "heads" and result.steps[-1].output.shape == (2, 2, 5, 3)


ODD = "y = (\r\n    'é\f×',\f 'ü')\rz = '\u2028é' + f(y,\n  'ä')\n\fw = y\n"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_segment_is_what_the_parser_read(end):
    text = ODD.rstrip("\n") + end
    source = _Source([text])
    assert len(source.nodes) >= 8
    for node in source.nodes.values():
        assert source.segment(node) == ast.get_source_segment(text, node)


def test_segments_of_a_long_file_take_less_than_reading_it():
    began = time.process_time()
    source = _Source(["y = x @ x.mT\n"] * 5_000)
    read = time.process_time() - began
    nodes = [*source.nodes.values()][::101]
    began = time.process_time()
    assert {source.segment(node) for node in nodes} >= {"x @ x.mT", "x.mT", "x"}
    assert time.process_time() - began < read


# fmt: off
def chained(q, k, v):
    scores = (
        q
        .matmul(k.mT)
        .div(2.0)
    )
    weights = scores \
        .softmax(dim=-1)
    return (weights
            .matmul(v)
            .mT)


def forgets(q, k):
    return (
        q
        .matmul(k)
        .softmax(-1)
    )
# fmt: on


def test_a_method_on_a_line_of_its_own_is_found_with_what_stands_above_it():
    q, k, v = (torch.ones(2, size, 5) for size in (7, 3, 3))
    steps = trace(chained, q, k, v).steps[4:]
    assert [step.variable for step in steps] == [None, "scores", "weights", None, "output"]
    product = steps[0]
    assert ast.unparse(ast.parse(product.expression.replace("\n", " "))) == "q.matmul(k.mT)"
    assert product.output.name == "q.matmul(k.mT)"
    assert steps[1].line == product.line + 1 == steps[2].line - 3


def test_an_error_in_it_shows_the_whole_expression():
    with pytest.raises(RuntimeError, match="Expected size") as raised:
        trace(forgets, torch.ones(2, 7, 5), torch.ones(2, 7, 5), dims={"q": "batch S H"})
    assert raised.value.__notes__[0].splitlines()[1] == "    q.matmul(k)"
    assert raised.value.attnlib_trace.error.suggestion == "(q @ k.transpose(-2, -1))"


WITHOUT_SOURCE = """
def attend(q, k):
    return q @ k.mT

def loose(q, k):
    with tracing() as traced:
        scores = q @ k.mT
    return traced
"""


def test_code_without_a_source_says_that_its_names_are_missing():
    written = {"tracing": tracing}
    exec(WITHOUT_SOURCE, written)
    q, k = torch.randn(2, 3, 7, 5)
    said = "the source of these lines is not found: what they call a dim is not known"
    known = trace(lambda q, k: q @ k.mT, q, k, dims={"q": "B S H", "k": "B S H"})
    assert not any(step.note for step in known.steps)
    for found in (trace(written["attend"], q, k), written["loose"](q, k)):
        assert [step.note for step in found.steps if step.note] == [said]
        assert said in str(found)
