"""A method that writes nowhere, on a line of its own: warned of where it is one by mistake."""

import inspect
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attnlib import Trace, trace
from attnlib.tracer import tracing
from attnlib.tracer.rows import as_dict
from tests.tracer.pasting import pasted


def future(x):
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)


def mask_not_kept(x):
    s = x @ x.mT / x.shape[-1] ** 0.5
    s.masked_fill(future(x), float("-inf"))
    return s.softmax(-1) @ x


def scale_not_kept(x):
    scores = x @ x.transpose(1, 2)
    scores.div(x.shape[-1] ** 0.5)
    return scores.softmax(dim=-1) @ x


def softmax_not_kept(x):
    att = x @ x.mT
    att.softmax(-1)
    return att @ x


def heads_not_moved(x):
    q = x.unflatten(-1, (2, -1))
    q.transpose(1, 2)
    return q @ q.mT


def order_not_kept(x):
    y = x * 2
    y.permute(1, 0, 2)
    return y


def state_not_detached(x):
    h = torch.tanh(x)
    for _ in range(3):
        h.detach()
        h = torch.tanh(h + x)
    return h


def triangle_not_kept(x):
    may = torch.ones(x.shape[1], x.shape[1])
    may.tril()
    return x + (may @ x)


def half_not_kept(x):
    y = x + 1
    y.to(torch.float64)
    return y


WRONG = {
    f.__name__: (f, beginning)
    for f, beginning in (
        (mask_not_kept, "s.masked_fill"), (scale_not_kept, "scores.div"),
        (softmax_not_kept, "att.softmax"), (heads_not_moved, "q.transpose"),
        (order_not_kept, "y.permute"), (state_not_detached, "h.detach"),
        (triangle_not_kept, "may.tril"), (half_not_kept, "y.to"),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_it_is_said_once_and_the_correction_keeps_the_result(name):
    program, beginning = WRONG[name]
    x = torch.randn(2, 5, 8)
    found = trace(program, x, dims="batch S n_embd")
    (warning,) = found.warnings
    lines = inspect.getsource(inspect.getmodule(program)).splitlines()
    assert lines[warning.line - 1].strip().startswith(beginning)
    said, _, correction = warning.message.partition("; try: ")
    assert "nothing takes what it gives" in said and len(warning.message) < 400
    assert all(dim in said for dim in warning.dims)
    error = SimpleNamespace(line=warning.line, code=warning.code, suggestion=correction)
    meant = pasted(program, error)
    assert correction.partition(" = ")[2] == warning.code
    try:
        meant(x)
    except RuntimeError:  # where it was not kept, the lines after it were made to fit
        assert name in ("half_not_kept", "heads_not_moved")
    again = Trace.from_dict(found.to_dict())
    assert list(map(as_dict, again.warnings)) == list(map(as_dict, found.warnings))


class Taken(nn.Module):
    """What is taken, what writes, what is done for another reason than its result."""

    def __init__(self):
        super().__init__()
        self.mask = nn.Parameter(torch.ones(5))
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        s = x @ x.mT
        s.masked_fill_(future(x), float("-inf"))
        s.div_(3.0)
        s.view(2, 5, 5)  # does it fit?
        s.expand(2, 5, 5)
        out = torch.empty_like(s)
        torch.mul(s, 2, out=out)
        torch.add(s, s)
        self.norm(x)
        x.mul(2).add_(1)
        x.sum()
        s.max(-1)
        s.contiguous()
        s.clone()
        s.to(s.dtype)
        s.float()
        s.bernoulli() if s.min() > 0 else None
        try:
            s.half()
        except RuntimeError:
            return s
        kept = [x.mul(2) for _ in range(2)]
        y = (z := x.add(1)).mul(2)
        x.add(1) if kept is None else y.add(z)
        return y


def test_what_is_no_slip_is_not_warned_of():
    assert trace(Taken(), torch.randn(2, 5, 8), dims="batch S n_embd").warnings == []


def test_loose_lines_may_be_there_to_be_looked_at():
    x = torch.randn(2, 5, 8)
    with tracing() as traced:
        x.mul(2)
        x.transpose(1, 2)
    assert traced.warnings == [] and len(traced.steps) == 2


def test_a_gradient_a_draw_and_a_written_result_are_no_slips():
    def fn(x, out):
        w = x.detach().clone().requires_grad_()
        (w * 2).sum().backward()
        w.grad.zero_()
        w.retain_grad()
        x.bernoulli(0.5)
        torch.Tensor.add(x, 1)
        return out

    x = torch.rand(2, 5)
    assert trace(fn, x, x.clone()).warnings == []
