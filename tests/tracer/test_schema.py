"""Reading a trace that came from outside: what is not one is refused, with the place."""

import copy
import importlib
import json
import random

import pytest
import torch

from attnlib import SingleHeadAttention, Trace, TraceError, trace


@pytest.fixture(scope="module")
def good():
    result = trace(SingleHeadAttention(6, 3), torch.randn(1, 4, 6), dims="batch S n_embd")
    return json.loads(json.dumps(result.to_dict()))


def put(data, path, value):
    data = copy.deepcopy(data)
    *way, last = path
    place = data
    for step in way:
        place = place[step]
    place[last] = value
    return data


DEEP = []
for _ in range(30):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "other", "this is not a trace"),
        (("version",), 2, "version 2 of the format is not known"),
        (("steps",), {}, "steps must be a list, not dict"),
        (("steps", 1, "line"), "7", r"steps\[1\].line must be a whole number"),
        (("steps", 1, "line"), True, r"steps\[1\].line must be a whole number"),
        (("steps", 1, "kind"), "odd", "kind is 'odd', not one of"),
        (("steps", 1, "variable"), ["q"], "variable must be a string, not list"),
        (("steps", 1, "code"), "x" * 30_000, "longer than"),
        (("steps", 1, "output", "dims"), ["S"], "3 axes but 1 dims"),
        (("steps", 1, "output", "shape"), [1, -4, 3], "negative size"),
        (("steps", 1, "output", "shape"), [1] * 99, "has 99 items; at most 64"),
        (("steps", 1, "output", "values"), [[1.0]], "does not have the tensor's shape"),
        (("steps", 1, "output", "values"), [[["a"] * 3] * 4], 'numbers, or "nan"'),
        (("steps", 1, "output", "values"), [[[float("nan")] * 3] * 4], "must be finite"),
        (("steps", 1, "params"), {"dim": DEEP}, "nested more than"),
        (("steps", 1, "params"), {"dim": 10**30}, "whole number below"),
        (("sizes",), {"S": "4"}, r"sizes\['S'\] must be a whole number"),
        (("tokens",), [1], r"tokens\[0\] must be a string"),
        (("error",), {"line": 1}, "error lacks code"),
        (("warnings",), [{"line": 1, "code": "", "message": "", "dims": ["a"]}], "two names"),
        (("more",), 1, "unknown field 'more'"),
    ],
)
def test_what_is_wrong_is_named(good, path, value, words):
    with pytest.raises(TraceError, match=words):
        Trace.from_dict(put(good, path, value))


@pytest.mark.parametrize("data", [None, [], "x", 7, {}, {"format": "attnlib-trace"}])
def test_what_is_no_trace_is_refused(data):
    with pytest.raises(TraceError, match=r"Trace\.from_dict"):
        Trace.from_dict(data)


NUMBERS = ", ".join(["1.5"] * 8000)
MANY = f"""
import torch

def added(x):
    y = x + torch.tensor([{NUMBERS}])
    return y

def clash(x):
    return x[:3] + torch.tensor([{NUMBERS}])
"""


def test_a_line_of_thousands_of_numbers_comes_back(tmp_path, monkeypatch):
    (tmp_path / "many_numbers.py").write_text(MANY)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("many_numbers")
    for fn in (module.added, module.clash):
        result = trace(fn, torch.ones(8000), dims="S", on_error="return")
        assert Trace.from_dict(json.loads(json.dumps(result.to_dict()))) == result
        assert result.steps[-1].code.startswith(("y = x + torch", "return x[:3] + torch"))
        assert len(str(result.to_dict())) < 100_000
    assert "from the last" in result.error.message


def test_the_largest_whole_numbers_come_back():
    result = trace(lambda x: x.clone(), torch.tensor([2**64 - 1, 5], dtype=torch.uint64))
    assert Trace.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert result.steps[-1].output.values == [2**64 - 1, 5]


def test_deeply_nested_steps_are_refused(good):
    step = good["steps"][1]
    for _ in range(900):
        step = {**step, "steps": [step]}
    with pytest.raises(TraceError, match="too deep"):
        Trace.from_dict(put(good, ("steps", 1), step))


def test_mutated_documents_give_a_trace_or_a_trace_error(good):
    """Three hundred random changes: never any other exception, and neither all nor none refused."""
    dice = random.Random(7)
    refused = 0
    odd = [None, True, -1, 2**70, 1e400, "", "x", [], {}, [[]], {"a": []}, "\x1b", 3.5]
    for _ in range(300):
        data = copy.deepcopy(good)
        place = data
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = dice.choice(keys)
            if isinstance(place[key], dict | list) and dice.random() < 0.85:
                place = place[key]
                continue
            if isinstance(place, dict) and dice.random() < 0.2:
                del place[key]
            else:
                place[key] = dice.choice(odd)
            break
        try:
            read = Trace.from_dict(data)
        except TraceError:
            refused += 1
        else:
            assert str(read)
    assert 100 < refused < 300, refused
