"""Labels as algebra: products, quotients and reshapes, at colliding sizes and at size 1."""

import itertools
import random

import pytest
import torch

from attnlib import MultiHeadAttention, trace
from attnlib.tracer.labels import CODE, DIMS, Dim, parts
from attnlib.tracer.rules.reshapes import groups, refined
from attnlib.tracer.symbols import Symbols


@pytest.fixture
def symbols():
    return Symbols()


def named(symbols, **sizes):
    return [symbols.named(name, size, DIMS) for name, size in sizes.items()]


def test_a_split_is_remembered_and_undone(symbols):
    n, heads, H, S = named(symbols, n_embd=12, heads=3, H=4, S=5)
    symbols.define(n, (heads, H))
    assert symbols.product((heads, H)) is n.root()
    assert symbols.quotient(n, (heads,), 4) is H.root()
    assert symbols.text(symbols.product((S, heads, H))) == "S*heads*H"
    assert symbols.text(symbols.product((H, heads))) == "H*heads"  # another order in memory


def test_three_n_embd_by_twelve_is_n_embd_by_heads(symbols):
    (n,) = named(symbols, n_embd=64)
    part = (3 * Dim(64, n)) // 12
    assert (part, symbols.text(symbols.settle(part.label))) == (16, "n_embd//4")
    heads = symbols.named("heads", 4, DIMS)
    part = (3 * Dim(64, n)) // (3 * Dim(4, heads))
    assert symbols.text(symbols.settle(part.label)) == "n_embd//heads"
    a, b, c = named(symbols, a=6, b=10, c=5)
    part = (Dim(6, a) * Dim(10, b)) // (Dim(6, a) * Dim(5, c))
    assert (part, symbols.text(symbols.settle(part.label))) == (2, "b//c")
    label = symbols.settle((3 * Dim(64, n)).label)
    assert symbols.text(label) == "3*n_embd"
    assert symbols.quotient(label, (symbols.fresh(3, literal=True),), 64) is n.root()


def test_arithmetic_keeps_labels_and_stays_int(symbols):
    n, heads = named(symbols, n_embd=12, heads=3)
    H = Dim(12, n) // Dim(3, heads)
    assert (H, type(H + 1), type(H - 1), type(H / 2), repr(H)) == (4, int, int, float, "4")
    assert symbols.text(symbols.settle(H.label)) == "n_embd//heads"
    whole = Dim(3, heads) * H
    assert symbols.settle(whole.label) is n.root()
    assert Dim(12, n) // 5 == 2 and type(Dim(12, n) // 5) is int
    assert hash(H) == hash(4) and {4: "x"}[H] == "x" and f"{H:03d}" == "004"


def test_labels_of_another_trace_are_plain_numbers(symbols):
    (n,) = named(symbols, n_embd=12)
    other = Symbols()
    assert other.text(other.settle((Dim(12, n) * 1).label)) != ""
    kept = []
    trace(lambda x: kept.append(x.shape[0]) or x, torch.ones(12, 2), dims="n_embd _")
    assert type(kept[0]) is Dim
    assert trace(lambda x: x.view(kept[0], 2), torch.ones(24)).steps[-1].output.dims == ("12", "2")


def test_names_by_rank_then_by_order(symbols):
    label = symbols.fresh(8)
    symbols.name(label, "T", CODE)
    symbols.name(label, "time", CODE)
    assert symbols.text(label) == "T"
    symbols.unite(label, symbols.named("S", 8, DIMS))
    assert symbols.text(label) == "S"


def test_joining_never_makes_a_circle(symbols):
    n, heads, H = named(symbols, n_embd=4, heads=1, H=4)
    symbols.define(n, (heads, H))
    symbols.unite(n, H)
    (S,) = named(symbols, S=5)
    assert parts(n) == [n.root()]
    assert symbols.text(symbols.product((S, heads, H))) == "S*heads*n_embd"
    for label in (n, heads, H):
        assert symbols.text(label)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ((2, 5, 12), (2, 5, 3, 4), [([0], [0]), ([1], [1]), ([2], [2, 3])]),
        ((2, 5, 12), (10, 12), [([0, 1], [0]), ([2], [1])]),
        ((2, 3, 5, 4), (2, 5, 12), [([0], [0]), ([1, 2, 3], [1, 2])]),
        ((6, 4), (4, 6), [([0, 1], [0, 1])]),
    ],
)
def test_groups_of_equal_products(old, new, wanted):
    assert groups(list(old), list(new)) == wanted


def test_pieces():
    assert refined([3, 5, 4], [5, 12]) is None  # cuts cross: 5 is no piece of 3
    assert refined([5, 12], [3, 5, 4]) is None
    assert refined([4, 8], [8, 4]) == [[(0, 4), (1, 2)], [(1, 4)]]


@pytest.mark.parametrize(("batch", "heads", "S"), [(1, 1, 5), (1, 3, 1), (2, 1, 1), (1, 4, 4)])
def test_dims_of_size_one_keep_their_names(batch, heads, S):
    module = MultiHeadAttention(heads * 4, heads, fused=False, causal=True)
    result = trace(module, torch.randn(batch, S, heads * 4), dims="batch S n_embd")
    by_name = {step.variable: step.output.dims for step in result.steps}
    assert by_name["k transposed"] == ("batch", "heads", "H", "S")
    assert by_name["merged"] == ("batch", "S", "n_embd")
    assert result.check(batch=3, S=7) and not result.warnings


@pytest.mark.parametrize("sizes", [(2, 5, 3, 4), (1, 5, 3, 4), (1, 1, 1, 4), (4, 4, 4, 4)])
def test_flattening_tokens_and_back(sizes):
    def run(x):
        B, T, h, d = x.shape
        flat = x.reshape(B * T, h * d)
        back = flat.view(B, T, h, d)
        moved = back.transpose(1, 2).reshape(B * h, T, d)
        return moved.view(B, h, T, d).permute(0, 2, 1, 3).reshape(B, T, -1)

    result = trace(run, torch.randn(sizes), dims="batch S heads H")
    by_name = {step.variable: step.output.dims for step in result.steps}
    assert by_name["flat"] == ("batch*S", "heads*H")
    assert by_name["back"] == ("batch", "S", "heads", "H")
    assert by_name["moved"] == ("batch*heads", "S", "H")
    assert by_name["output"] == ("batch", "S", "heads*H")
    assert result.check(batch=7, S=11, heads=5) and not result.warnings


OPERATIONS = {
    "transpose": lambda x, i, j: x.transpose(i, j),
    "merge": lambda x, i, j: x.flatten(min(i, j), min(i, j) + 1) if i != j else x,
    "reshape": lambda x, i, j: x.reshape(*x.shape[:i], -1) if i else x,
    "product": lambda x, i, j: x @ x.transpose(-2, -1),
    "gram": lambda x, i, j: x.mT @ x,
    "sum": lambda x, i, j: x.sum(i, keepdim=True) if x.dim() > 2 else x,
    "double": lambda x, i, j: torch.cat((x, x), dim=i),
    "new": lambda x, i, j: x.unsqueeze(i),
    "again": lambda x, i, j: x.view(x.shape) if x.is_contiguous() else x.reshape(x.shape),
    "half": lambda x, i, j: x.chunk(2, dim=i)[0] if x.shape[i] % 2 == 0 else x * 2,
    "add": lambda x, i, j: x + x.amax(i, keepdim=True),
    "repeat": lambda x, i, j: x.repeat_interleave(2, dim=i),
}


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_hold_at_other_sizes(seed):
    """Any chain of operations, at sizes that collide: every named dim is right elsewhere too."""
    dice = random.Random(seed)
    plan = [(dice.choice(list(OPERATIONS)), dice.random(), dice.random()) for _ in range(8)]

    def run(x):
        B, T, h, d = x.shape
        for name, first, second in plan:
            if x.dim() < 2 or x.numel() > 20_000:
                break
            x = OPERATIONS[name](x, int(first * x.dim()), int(second * x.dim()))
        return x

    sizes = dice.choice([(2, 4, 4, 2), (4, 4, 4, 4), (2, 6, 4, 8), (1, 4, 2, 4), (2, 2, 6, 2)])
    result = trace(run, torch.zeros(sizes), dims="batch S heads H")
    check = result.check(batch=6, S=10, heads=4)
    assert check.mismatches == (), str(check)
    assert not result.warnings


def test_every_pair_of_axes_transposed_is_followed():
    for i, j in itertools.permutations(range(4), 2):

        def swap(x, i=i, j=j):
            return x.transpose(i, j)

        dims = trace(swap, torch.ones(4, 4, 4, 4), dims="a b c d").steps[-1].output.dims
        wanted = list("abcd")
        wanted[i], wanted[j] = wanted[j], wanted[i]
        assert dims == tuple(wanted)


@pytest.mark.parametrize("written", [
    lambda x, y: x.expand_as(y),
    lambda x, y: x.expand(y.shape),
    lambda x, y: torch.broadcast_to(x, y.shape),
])  # fmt: skip
def test_what_is_expanded_has_the_dims_of_what_it_is_laid_under(written):
    x, y = torch.ones(5, 1), torch.ones(2, 5, 7)
    result = trace(written, x, y, dims={"x": "S _", "y": "batch S H"})
    assert result.steps[-1].output.dims == ("batch", "S", "H")


def test_products_of_plain_numbers_go_by_their_names():
    def fold(x):
        B, h, d = 2, 3, 4
        y = x.view(B * h, -1, d)
        return y.view(B, h, -1, d).transpose(1, 2).reshape(B, -1, h * d)

    result = trace(fold, torch.randn(2, 3, 5, 4))
    by_name = {step.variable: step.output.dims for step in result.steps}
    assert by_name["y"] == ("B*h", "5", "d") and by_name["output"] == ("B", "5", "h*d")
    assert result.warnings == []


def test_names_that_come_late_name_from_the_start():
    def add(x):
        y = x + x.mT
        B, T, C = x.shape
        return y

    (warning,) = trace(add, torch.randn(2, 4, 4)).warnings
    assert set(warning.dims) == {"T", "C"} and warning.code == "x + x.mT"
