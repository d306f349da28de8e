"""Names of dims and of tensors where they were once lost or wrong."""

import pytest
import torch
from torch import nn

from attnlib import trace


def dims_of(result):
    return [step.output.dims for step in result.steps if step.kind != "input"]


@pytest.mark.parametrize("H", [4, 6])
def test_half_of_the_features_and_a_pair_are_not_taken_for_each_other(H):
    """At H = 4 both are 2; only what is asked for tells them apart."""

    def pairs(x):
        hd = x.shape[-1]
        angles = torch.arange(0, hd, 2)[: hd // 2]
        by_rest = x.reshape(*x.shape[:-1], -1, 2)
        by_half = x.reshape(*x.shape[:-1], hd // 2, 2)
        halves = x.reshape(*x.shape[:-1], 2, hd // 2)
        return by_rest, by_half, halves, angles

    _, _, *found = dims_of(trace(pairs, torch.randn(3, 5, 7, H), dims="batch S head H"))
    assert found == [("batch", "S", "head", *last) for last in (
        ("H//2", "2"), ("H//2", "2"), ("2", "H//2"),
    )]  # fmt: skip


def test_complex_numbers_keep_their_names():
    def turned(x):
        S, _, H = x.shape[1:]
        angles = torch.outer(torch.arange(S), 1.0 / torch.arange(1, H // 2 + 1))
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        y = pairs * torch.polar(torch.ones_like(angles), angles)[:, None]
        return torch.view_as_real(y).flatten(-2)

    result = trace(turned, torch.randn(2, 7, 3, 6), dims="batch S head H")
    assert result.output.shape == (2, 7, 3, 6) and result.warnings == []
    complex_dims = [step.output.dims for step in result.steps if step.variable in ("pairs", "y")]
    assert complex_dims == [("batch", "S", "head", "H//2")] * 2
    assert dims_of(result)[-2:] == [
        ("batch", "S", "head", "H//2", "2"),
        ("batch", "S", "head", "H"),
    ]
    assert result.check(S=11, batch=3)


def test_frequencies_are_as_many_as_tokens_or_half_of_them():
    def mixed(x):
        whole = torch.fft.fft(torch.fft.fft(x, dim=-1), dim=1).real
        half = torch.fft.rfft(x, dim=1)
        return whole + torch.fft.irfft(half, n=x.shape[1], dim=1)

    result = trace(mixed, torch.randn(2, 7, 6), dims="batch S n_embd")
    found = {step.variable: step.output.dims for step in result.steps}
    assert found["whole"] == found["output"] == ("batch", "S", "n_embd")
    assert found["half"] == ("batch", "4", "n_embd")
    assert result.check(S=11, batch=3).mismatches == ()


def test_a_tensor_that_is_several_arguments_goes_by_the_one_that_is_written():
    def attend(q, k, v):
        return (q @ k.mT).softmax(-1) @ v

    x = torch.randn(2, 7, 5)
    result = trace(attend, x, x, x, dims="batch S H")
    assert [[info.name for info in step.inputs] for step in result.steps if step.inputs] == [
        ["k"], ["q", "k transposed"], ["q @ k.mT"], ["(q @ k.mT).softmax(-1)", "v"],
    ]  # fmt: skip
    assert [step.variable for step in result.steps[:3]] == ["q", "k", "v"]

    def forgets(q, k, v):
        return q @ k

    error = trace(forgets, x, x, x, dims="batch S H", on_error="return").error
    assert error.suggestion == "q @ k.transpose(-2, -1)"


def without_source(text):
    space = {}
    exec(text, space)
    return space["f"]


def test_without_source_no_argument_is_named_that_may_be_another():
    fn = without_source("def f(q, k, v):\n    return q @ k")
    x = torch.randn(2, 7, 5)
    error = trace(fn, x, x, x, dims="batch S H", on_error="return").error
    assert "input (batch=2, S=7, H=5)" in error.message and "q (" not in error.message
    assert error.suggestion is None


def test_without_source_a_warning_has_no_hole():
    fn = without_source("def f(q, k, v):\n    s = q @ k.mT\n    return s.softmax(1) @ v")
    q, k, v = torch.randn(3, 2, 7, 5)
    (warning,) = trace(fn, q, k, v, dims=dict.fromkeys("qkv", "batch S H")).warnings
    assert warning.code == "softmax" and ", but a product sums over S (axis 2)" in warning.message


def masked(x, pad, n):
    B, S, E = x.shape
    y = x.view(B, S, n, E // n).transpose(1, 2).reshape(B * n, S, E // n)
    return (y @ y.mT).masked_fill(pad.repeat(n, 1)[:, None], -1e9)


def unfolded(x, n):
    B, S, E = x.shape
    q = x.view(B, S, n, E // n).permute(2, 0, 1, 3).reshape(n * B, S, E // n)
    return q.view(B, n, S, E // n)


def values_left(x, w, n):
    B, S, E = x.shape
    q, k, v = (x @ w).chunk(3, -1)
    q = q.view(B, S, n, E // n).transpose(1, 2)
    k = k.view(B, S, n, E // n).transpose(1, 2)
    v = v.view(B, S, n, E // n)
    return (q @ k.mT).softmax(-1) @ v


@pytest.mark.parametrize(
    ("fn", "inputs", "pair"),
    [
        (masked, (torch.randn(2, 7, 12), torch.zeros(2, 7, dtype=torch.bool), 3), {"batch", "n"}),
        (unfolded, (torch.randn(2, 7, 12), 3), {"batch", "n"}),
        (values_left, (torch.randn(2, 3, 12), torch.randn(12, 36), 3), {"S", "n"}),
    ],
    ids=["masked", "unfolded", "values_left"],
)
def test_a_head_count_that_goes_in_has_its_name_as_that_of_a_layer_has(fn, inputs, pair):
    dims = {"x": "batch S n_embd", **({"pad": "batch S"} if fn is masked else {})}
    (warning,) = trace(fn, *inputs, dims=dims).warnings
    assert set(warning.dims) == pair


def test_a_number_that_goes_in_is_named_wherever_it_is_counted_with_and_comes_out_plain():
    def split(x, n, *, width):
        return x.view(*x.shape[:2], n, x.shape[-1] // n)[..., :width], n

    result = trace(split, torch.randn(2, 7, 12), 3, width=2, dims="batch S n_embd")
    assert [step.output.dims[-2:] for step in result.steps[1:]] == [
        ("n", "n_embd//n"), ("n", "width"),
    ]  # fmt: skip
    assert result.output[1] == 3 and type(result.output[1]) is int
    assert result.check(batch=3, S=11)
    assert result.check(n=4).reason.startswith("no input has n")


def test_folded_heads_of_a_nameless_projection_come_back_as_features():
    def fold(x, w, n):
        S, B, E = x.size()
        q, _, _ = (x @ w.mT).chunk(3, -1)
        return q.contiguous().view(S, B * n, E // n).view(S, B, E)

    given = torch.randn(7, 3, 10), torch.randn(30, 10), 2
    result = trace(fold, *given, dims={"x": "S batch n_embd"})
    folded, unfolded = (step.output.dims for step in result.steps[-2:])
    assert folded == ("S", "batch*n", "n_embd//n") and unfolded == ("S", "batch", "n_embd")
    assert result.warnings == [] and result.check(S=11, batch=5)

    def fold_locally(x, w):
        S, B, E = x.size()
        heads = 2
        q, _, _ = (x @ w.mT).chunk(3, -1)
        return q.contiguous().view(S, B * heads, E // heads).view(S, B, heads, E // heads)

    result = trace(fold_locally, *given[:2], dims={"x": "S batch n_embd"})
    assert result.steps[-2].output.dims[:2] == ("S", "batch*heads")


def test_a_length_is_that_of_its_tensor():
    def repeated(x, latents):
        many = latents.unsqueeze(0).repeat(len(x), 1, 1)
        wide = latents.expand(len(x), -1, -1)
        return many + wide, latents.new_zeros(len(x), len(latents))

    given = torch.randn(3, 7, 6), torch.randn(4, 6)
    result = trace(repeated, *given, dims={"x": "batch S n_embd", "latents": "latent n_embd"})
    found = {step.variable: step.output.dims for step in result.steps}
    assert found["many"] == found["wide"] == ("batch", "latent", "n_embd")
    assert result.steps[-1].output.dims == ("batch", "latent")
    assert result.check(batch=5, latent=9)

    def unpacked(x):
        B = len(x)
        return x.view(B, -1)

    assert trace(unpacked, given[0]).steps[0].output.dims[0] == "B"

    def looped(xs):  # one line, several tensors of one length
        return [torch.zeros(len(x)) for x in xs]

    xs = [torch.randn(3, 2), torch.randn(3, 2)]
    dims = {"xs[0]": "a H", "xs[1]": "b H"}
    assert trace(looped, xs, dims=dims).steps[-1].output.dims == ("3",)


@pytest.mark.parametrize("levels", [1, 2])
def test_under_vmap_the_names_stay_but_for_the_axis_that_it_takes_out(levels):
    def one(q, k, v):
        return (q @ k.T).softmax(-1) @ v

    def many(q, k, v):
        inner = torch.func.vmap(one, in_dims=(1, 0, 0))
        return inner(q, k, v) if levels == 1 else torch.func.vmap(inner)(q, k, v)

    q, k, v = torch.randn(7, 3, 5), torch.randn(3, 8, 5), torch.randn(3, 8, 4)
    dims = {"q": "Sq heads H", "k": "heads Sk H", "v": "heads Sk Hv"}
    if levels == 2:
        q, k, v = (x.expand(2, *x.shape) for x in (q, k, v))
        dims = {name: f"batch {words}" for name, words in dims.items()}
    result = trace(many, q, k, v, dims=dims)
    turned, *others = [step for step in result.steps if step.kind != "input"]
    assert turned.kind == "view" and turned.output.dims == ("H", "Sk")
    assert [step.output.dims for step in others] == [("Sq", "Sk"), ("Sq", "Sk"), ("Sq", "Hv")]


def test_under_a_gradient_the_names_stay():
    def run(w, x):
        return torch.func.grad(lambda w: (x @ w.mT).square().sum())(w)

    given = torch.randn(4, 5), torch.randn(7, 5)
    result = trace(run, *given, dims={"w": "C E", "x": "S E"})
    turned = next(step for step in result.steps if step.op == "transpose")
    assert (turned.kind, turned.output.dims) == ("view", ("E", "C"))
    product = next(step for step in result.steps if step.op == "matmul")
    assert product.output.dims == ("S", "C")
    assert torch.allclose(result.output, run(*given))


def test_layers_that_are_unpacked_from_one_line_have_their_names():
    class Scores(nn.Module):
        def forward(self, x):
            return self.q(x) @ self.k(x).mT

    class Listed(Scores):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.q, self.k = [nn.Linear(n_embd, head_size), nn.Linear(n_embd, head_size)]

    class Generated(Scores):
        def __init__(self, n_embd, head_size):
            super().__init__()
            self.q, self.k = (nn.Linear(n_embd, head_size) for _ in range(2))

    class Turned(Scores):
        def __init__(self, n_embd, *sizes):
            super().__init__()
            self.q, self.k = (nn.Linear(n_embd, size) for size in (sizes * 2)[:2])

    for kind, name in ((Listed, "head_size"), (Generated, "head_size"), (Turned, "4")):
        result = trace(kind(12, 4), torch.randn(2, 5, 12), dims="batch S n_embd")
        made = [step.output.dims for step in result.steps if step.op == "linear"]
        assert made == [("batch", "S", name)] * 2, kind.__name__
        assert result.warnings == []
