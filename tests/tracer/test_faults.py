"""What must not go wrong: nothing left behind, nothing kept, nothing that names could break."""

import copy
import dataclasses
import gc
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
import torch
from jaxtyping import Float
from torch import nn
from torch.overrides import _get_current_function_mode_stack

import attnlib
from attnlib import SingleHeadAttention, Trace, trace
from attnlib.tracer import adoption, page, tracing
from attnlib.tracer.labels import Dim
from attnlib.tracer.page import html


class Counting(nn.Module):
    def __init__(self, n_embd, heads):
        super().__init__()
        self.heads, self.calls, self.seen = heads, 1, [3]
        self.sizes, self.pair, self.masks, self.met = {}, (0, 0), {}, set()
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x, fail=None):
        B, T, C = x.shape
        self.calls += 1
        self.last = T
        self.seen.append(T)
        self.sizes["T"] = T
        self.pair = (B, T)
        self.masks[T], self.masks[B, T] = T, B
        self.met.add(T)
        self.shape = x.shape
        y = self.proj(x).view(B, T, self.heads, -1)
        if fail:
            raise fail
        return y, {"T": T}


def dims_in(value):
    items = value.items() if isinstance(value, dict) else value
    return type(value) is Dim or (
        isinstance(value, list | tuple | dict | set) and any(map(dims_in, items))
    )


def clean(module):
    assert not _get_current_function_mode_stack()
    for part in module.modules():
        assert not part._forward_hooks and not part._forward_pre_hooks
        for name, value in vars(part).items():
            assert not dims_in(value), name
    assert not nn.modules.module._global_forward_hooks
    assert not nn.modules.module._global_forward_pre_hooks


@pytest.mark.parametrize("fail", [None, ValueError("no"), KeyboardInterrupt()], ids=repr)
def test_nothing_is_left_behind(fail):
    module = Counting(12, 3)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    kwargs = {"fail": fail}
    if fail is None:
        result = trace(module, torch.randn(2, 5, 12), kwargs=kwargs)
        assert not dims_in(result.output[1])
    else:
        with pytest.raises(type(fail), match="no" if str(fail) else r"^$"):
            trace(module, torch.randn(2, 5, 12), kwargs=kwargs)
    clean(module)
    assert (module.calls, module.heads, module.last, module.seen) == (2, 3, 5, [3, 5])
    assert module.sizes == {"T": 5} and module.pair == (2, 5) and type(module.calls) is int
    assert module.masks == {5: 5, (2, 5): 2} and module.met == {5}
    assert type(module.shape) is torch.Size and not dims_in(module.shape)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    torch.save(module, io.BytesIO())
    pickle.loads(pickle.dumps(module))
    copy.deepcopy(module)


class Lazy(nn.Module):
    def __init__(self, n_embd=None, width=4):
        super().__init__()
        self.width = width
        if n_embd is None:
            self.key = nn.LazyLinear(width)
        else:
            self.key = nn.Linear(n_embd, width)

    def forward(self, x):
        return self.key(x)


def test_a_layer_that_is_not_made_yet_is_no_fault():
    module = Lazy()
    result = trace(module, torch.randn(2, 5, 12), dims="batch S n_embd")
    assert result.steps[-1].output.shape == (2, 5, 4) and type(module.width) is int


def test_tags_are_taken_off_where_they_cannot_all_be_put_on(monkeypatch):
    """The last module fails: the others have theirs by then."""
    module = nn.Sequential(Counting(12, 3), Lazy(12))
    monkeypatch.setattr(adoption.Named, "parameters", lambda named: {"key.weight": None})
    with pytest.raises(TypeError, match="NoneType"):
        trace(module, torch.randn(2, 5, 12))
    clean(module)


def nested(layout):
    parts = [torch.randn(3, 4), torch.randn(2, 4)]
    return torch.nested.nested_tensor(parts, layout=layout)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_run_as_they_do_and_have_no_row(layout):
    def inside(x):
        rows = nested(layout)
        return x * rows.size(0) + torch.nested.to_padded_tensor(rows * 2, 0.0).shape[1]

    result = trace(inside, torch.ones(2), dims="S")
    assert result.output.tolist() == [5.0, 5.0] and result.steps[-1].output.dims == ("S",)
    assert result.dropped and "that no row describes" in " ".join(str(result).split())
    given = trace(lambda x, y: (x * 2, y + 1), nested(layout), torch.ones(2), dims={"y": "S"})
    assert [step.variable for step in given.steps if step.kind == "input"] == ["y"]
    assert given.steps[-1].op == "add"
    json.dumps(given.to_dict())
    assert "nested" in given.check(S=3).reason


class Annotated:
    """A callable whose class has a field of the argument's name."""

    x: Float[torch.Tensor, "batch S"]

    def __call__(self, x):
        return x * 2


def test_a_callable_object_may_be_annotated():
    assert trace(Annotated(), torch.ones(2, 5)).steps[-1].output.dims == ("batch", "S")


def test_a_nested_trace_leaves_the_outer_one_alone():
    module = Counting(12, 3)

    def both(x):
        inner = trace(module, x)
        assert inner.steps[-1].output.shape == (2, 5, 3, 4)
        return module(x)[0] + 1

    result = trace(both, torch.randn(2, 5, 12), dims="batch S n_embd")
    assert result.steps[-1].output.dims == ("batch", "S", "heads", "n_embd//heads")
    clean(module)
    with tracing() as outer, tracing() as inner:
        torch.ones(2) + 1
    assert [step.op for step in inner.steps] == ["ones", "add"] and outer.steps == inner.steps


def test_a_module_is_saved_and_copied_while_it_is_traced():
    module = Counting(12, 3)
    held = io.BytesIO()

    def save(x):
        torch.save(module, held)
        pickle.loads(pickle.dumps(module.heads))
        return module(x)[0]

    trace(save, torch.randn(2, 5, 12))
    held.seek(0)
    assert type(torch.load(held, weights_only=False).heads) is int


def test_no_tensor_is_kept_alive():
    alive = []

    def chain(x):
        for _ in range(6):
            x = x * 2
            alive.append(weakref.ref(x))
        return x.sum()

    result = trace(chain, torch.ones(1000))
    gc.collect()
    assert [ref() for ref in alive] == [None] * 6
    kept = weakref.ref(result.output)
    result.release()
    gc.collect()
    assert kept() is None and result.check(S=3).unchecked if "S" in result.roles else True


def test_memory_is_not_kept_while_the_code_runs():
    alive = []

    def chain(x):
        y = x * 2
        alive.append(weakref.ref(y))
        y = y * 2
        assert alive[0]() is None
        return y

    trace(chain, torch.ones(10))


def test_a_long_loop_is_bounded_and_says_so():
    def loop(x):
        for _ in range(100_000):
            x = x + 1
        return x

    result = trace(loop, torch.zeros(2), max_steps=100)
    assert len(result.steps) == 101 and result.dropped == 99_900
    assert "99900 more operations" in str(result)
    assert result.output.tolist() == [100_000.0, 100_000.0]


def test_a_million_cells_are_not_written_down():
    result = trace(lambda x: x @ x.mT, torch.zeros(1000, 1000), dims="S H")
    assert [info.values for step in result.steps for info in step.outputs] == [None] * 3
    assert len(str(result.to_dict())) < 5_000


def test_an_error_past_the_limit_is_still_explained():
    def loop(x):
        for _ in range(50):
            x = x + 1
        return x @ torch.ones(3, 3)

    result = trace(loop, torch.zeros(2, 2), max_steps=10, on_error="return")
    assert "matmul failed" in result.error.message and "x @ torch.ones(3, 3)" in result.error.code


def test_values_and_gradients_are_what_they_were():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 2))
    x = torch.randn(4, 6, requires_grad=True)
    torch.manual_seed(2)
    module(x).sum().backward()
    wanted, x.grad = x.grad, None
    torch.manual_seed(2)
    result = trace(module, x)
    result.output.sum().backward()
    assert torch.equal(x.grad, wanted)
    state = torch.get_rng_state()
    result.check()
    trace(lambda x: x + 1, x)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_trace_is_copied_with_its_rows_and_stays_one_run():
    module = nn.Linear(4, 3)
    result = trace(module, torch.randn(2, 4), dims="batch n_embd")
    copied = copy.deepcopy({"kept": result})["kept"]
    assert copied == result and copied.output is result.output
    copied.steps[-1].note = "mine"
    assert result.steps[-1].note == "" and copied.check(batch=5)


def test_check_changes_nothing():
    module = Counting(12, 3)
    result = trace(module, torch.randn(2, 5, 12), dims="batch S n_embd")
    assert result.check(batch=4, S=9)
    assert module.calls == 2 and module.seen == [3, 5]
    assert all(p.device.type == "cpu" for p in module.parameters())


def test_other_threads_are_left_alone():
    found = []

    def work():
        found.append((torch.ones(2, 3) @ torch.ones(3, 2)).shape)

    def run(x):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x + 1

    result = trace(run, torch.ones(2))
    assert [step.op for step in result.steps] == ["input", "add"] and found == [(2, 2)]


def test_compiled_code_is_traced_eagerly():
    @torch.compile(backend="eager")
    def double(x):
        return x * 2

    result = trace(lambda x: double(x) + 1, torch.ones(2), dims="S")
    assert [step.op for step in result.steps] == ["input", "mul", "add"]


@pytest.mark.timeout(300)  # the compiler is large
def test_the_first_to_compile_may_be_the_traced_code(tmp_path):
    """In a process of its own: here the compiler has been loaded long ago."""
    script = tmp_path / "first.py"
    script.write_text(
        "import sys, torch\n"
        "from attnlib import trace\n"
        "def run(x):\n"
        "    return torch.compile(lambda y: y * 2)(x) + 1\n"
        "before = torch.compile\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "print(*(step.op for step in trace(run, torch.ones(2)).steps))\n"
        "assert 'torch._dynamo' in sys.modules and torch.compile is before\n"
    )
    home = str(Path(attnlib.__file__).parent.parent)
    told = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", script], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": home},
    )  # fmt: skip
    assert told.stdout == "input mul add\n", told.stderr


def test_traces_that_overlap_in_threads_leave_the_compiler_as_it_was(monkeypatch):
    """The first to begin is the first to end, so that neither sees what was there before both."""
    import torch._dynamo

    stance = torch._dynamo.eval_frame._stance
    for loaded in (True, False):
        if not loaded:
            monkeypatch.delitem(sys.modules, "torch._dynamo")  # as before anything is compiled
        compile = torch.compile
        begun, inside, ended = threading.Event(), threading.Event(), threading.Event()

        def first(x, begun=begun, inside=inside):
            begun.set()
            assert inside.wait(20)
            return x + 1

        def second(x, inside=inside, ended=ended):
            inside.set()
            assert ended.wait(20)
            return x + 1

        def trace_and_say(ended=ended, first=first):
            trace(first, torch.ones(2))
            ended.set()

        one = threading.Thread(target=trace_and_say)
        one.start()
        assert begun.wait(20)
        trace(second, torch.ones(2))
        one.join()
        assert torch.compile is compile
        assert torch._dynamo.eval_frame._stance.stance == stance.stance


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    size: int


class Closed(Exception):
    def __setattr__(self, name, value):
        raise RuntimeError("nothing is to be added here")


@pytest.mark.parametrize("error", [Frozen(3), Closed("no")], ids=["frozen", "closed"])
def test_an_exception_that_takes_no_note_is_still_the_readers_own(error):
    def run(x):
        raise error

    with pytest.raises(type(error)) as caught:
        trace(run, torch.ones(2))
    assert caught.value is error
    assert type(error).__name__ in trace(run, torch.ones(2), on_error="return").error.message


EVIL = 'a<!--<script>alert(1)</script>|`x`\n\x1b[31m"\u202e'


def test_hostile_names_are_only_text():
    result = trace(lambda x: x + 1, torch.ones(2), dims="S")
    result.title, result.steps[1].variable = EVIL, EVIL
    result.steps[1].note = EVIL
    shown = str(result)
    assert "\x1b" not in shown and "\u202e" not in shown
    assert len(shown.splitlines()) == 8
    row = result.to_markdown().splitlines()[3]
    assert "<" not in row and "\\|" in row and "\\`" in row and "\x1b" not in row
    assert row.count("|") - row.count("\\|") == 8 + 1
    shown = html(result)
    assert "<script" not in shown and "\x1b" not in shown and "&lt;script&gt;" in shown
    assert Trace.from_dict(result.to_dict()) == result


def test_hostile_literals_in_the_code_are_only_text():
    def fill(x):
        kept = {}
        kept["<!--<script>|`\x1b[31m"] = x + 1
        return kept["<!--<script>|`\x1b[31m"] * 2

    result = trace(fill, torch.ones(2), dims="S")
    assert "<!--<script>|`" in result.steps[1].variable
    assert "<" not in result.to_markdown() and "<script" not in html(result)
    assert "\x1b" not in str(result) + result.to_markdown() + html(result)
    assert Trace.from_dict(result.to_dict()) == result


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    result = trace(SingleHeadAttention(6, 3), torch.randn(1, 4, 6))
    target = tmp_path / "head.html"
    page.save_html(result, target)
    old = target.read_text()
    assert "attention_weights" in old
    assert target.stat().st_mode & 0o777 == 0o644  # others may read it, as what the player saves

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        page.save_html(result, target)
    assert target.read_text() == old and list(tmp_path.iterdir()) == [target]


def test_the_notebook_form_falls_back_to_the_table(monkeypatch):
    result = trace(SingleHeadAttention(6, 3), torch.randn(1, 4, 6))
    monkeypatch.setitem(sys.modules, "attnlib.widgets", None)
    shown = result._repr_html_()
    assert shown.startswith("<table>") and shown.count("<tr>") == 12 and "<script" not in shown


def test_the_table_fits_narrow_terminals(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    result = trace(SingleHeadAttention(64, 16), torch.randn(2, 8, 64), dims="batch S n_embd")
    assert max(map(len, str(result).splitlines())) <= 70
    assert "(batch, S, n_embd)" in str(result)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_dtypes_and_contexts(kind):
    head = SingleHeadAttention(12, 4).to(kind)
    for context in (torch.no_grad(), torch.inference_mode()):
        with context:
            result = trace(head, torch.randn(2, 5, 12).to(kind), dims="batch S n_embd")
        assert len(result.steps) == 11 and result.steps[-1].output.dtype == str(kind)[6:]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = trace(SingleHeadAttention(12, 4), torch.randn(2, 5, 12), dims="batch S n_embd")
    assert result.steps[1].output.dtype == "bfloat16" and len(result.steps) == 11


def test_kinds():
    def run(x):
        a = x.view(6)
        b = a.clone()
        b += 1
        c = b.contiguous()
        d = x.mT.reshape(6)
        e, f = x.unbind(0)
        x[0] = 3
        return a, c, d, e, f

    result = trace(run, torch.randn(2, 3))
    told = [(step.variable, step.op, step.kind) for step in result.steps[1:]]
    assert told == [
        ("a", "view", "view"),
        ("b", "clone", "copy"),
        ("b", "add", "in-place"),
        ("c", "contiguous", "same"),
        ("x transposed", "transpose", "view"),
        ("d", "reshape", "copy"),
        ("e, f", "unbind", "view"),
        ("x", "setitem", "in-place"),
    ]
    assert [info.name for info in result.steps[7].output] == ["e", "f"]


def test_a_class_and_a_result_are_no_code_to_run():
    layer, x = nn.Linear(5, 3), torch.ones(2, 7, 5)
    with pytest.raises(TypeError, match=r"a layer, not its class: trace\(Linear\(…\), x\)"):
        trace(nn.Linear, x)
    with pytest.raises(TypeError, match=r"given a Tensor: .* trace\(layer, x\) and not"):
        trace(layer(x), x)
