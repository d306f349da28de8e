"""The three modules: the six tests of a head, the fused path against the plain one, bad input."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnlib import (
    DeviceError,
    DtypeError,
    MaskError,
    MultiHeadAttention,
    SelfAttention,
    ShapeError,
    SingleHeadAttention,
    attention,
    causal_mask,
    oracle,
)

from .loops import by_loops

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DEVICES = [
    "cpu",
    "meta",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.cuda,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
        ],
    ),
]


def head_of(**options) -> SingleHeadAttention:
    return SingleHeadAttention(24, 6, **options).double()


def heads_of(**options) -> MultiHeadAttention:
    return MultiHeadAttention(24, 4, **options).double()


def tokens(*shape: int) -> Tensor:
    return torch.randn(*shape, 24, dtype=torch.float64)


# The six tests of one head.


def test_shape() -> None:
    for S in (1, 5, 6, 24):
        assert head_of()(tokens(2, S)).shape == (2, S, 6)
        assert SelfAttention(24).double()(tokens(2, S)).shape == (2, S, 24)


def test_score_shape() -> None:
    _, weights = head_of()(tokens(2, 5), return_weights=True)
    assert weights.shape == (2, 5, 5)
    _, weights = head_of()(tokens(2, 5), tokens(2, 7), return_weights=True)
    assert weights.shape == (2, 5, 7)


def test_rows_sum_to_one() -> None:
    for head in (head_of(), head_of(causal=False), SelfAttention(24, 6).double()):
        _, weights = head(tokens(2, 5), return_weights=True)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5, dtype=torch.float64))
        assert (weights >= 0).all()


def test_analytical_scaling() -> None:
    head = SelfAttention(16, 16)
    with torch.no_grad():
        head.query.weight.copy_(torch.eye(16))
        head.key.weight.copy_(torch.eye(16))
    x = torch.zeros(2, 16)
    x[0, 3], x[1, 5] = 2.0, 1.0  # scores 4, 0 / 0, 1; over sqrt(16): 1, 0 / 0, 0.25
    _, weights = head(x, return_weights=True)
    e, quarter = math.e, math.exp(0.25)
    expected = [[e / (e + 1), 1 / (e + 1)], [1 / (1 + quarter), quarter / (1 + quarter)]]
    torch.testing.assert_close(weights, torch.tensor(expected))


def test_symmetric_scores() -> None:
    head, x = SelfAttention(24, 6).double(), tokens(2, 5)
    with torch.no_grad():
        head.key.weight.copy_(head.query.weight)
    _, weights, scores = attention(head.query(x), head.key(x), head.value(x))
    torch.testing.assert_close(scores, scores.mT)
    torch.testing.assert_close(head(x, return_weights=True)[1], weights)
    assert not torch.allclose(weights, weights.mT)


def test_identity_weights_give_the_values() -> None:
    head = SelfAttention(5, 5)
    with torch.no_grad():
        for layer in (head.query, head.key):
            layer.weight.copy_(40 * torch.eye(5))
    x = torch.eye(5)
    output, weights = head(x, return_weights=True)
    torch.testing.assert_close(weights, torch.eye(5))
    torch.testing.assert_close(output, head.value(x))


# Against the loops and against PyTorch.


@pytest.mark.parametrize("S", [1, 5, 6, 24])
@pytest.mark.parametrize("causal", [False, True])
def test_one_head_attends_as_the_loops_do(S: int, causal: bool) -> None:
    head, x = head_of(causal=causal), tokens(2, S)
    weights = [layer.weight.tolist() for layer in (head.query, head.key, head.value)]
    mask = oracle.causal_mask(S) if causal else None
    expected = by_loops(lambda x: oracle.head(x, *weights, mask), x)
    torch.testing.assert_close(head(x), expected)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("S", [5, 4, 24])
def test_many_heads_attend_as_the_loops_do(S: int, causal: bool, fused: bool) -> None:
    layer, x = heads_of(causal=causal, fused=fused, bias=False), tokens(4, S)
    weights = [m.weight.tolist() for m in (layer.query, layer.key, layer.value, layer.out)]
    mask = oracle.causal_mask(S) if causal else None
    expected = by_loops(lambda x: oracle.multi_head(x, *weights, 4, mask), x)
    torch.testing.assert_close(layer(x), expected)


def test_one_head_equals_pytorch_forward_and_backward() -> None:
    head, x = head_of(bias=True), tokens(2, 5).requires_grad_()
    theirs = F.scaled_dot_product_attention(
        head.query(x), head.key(x), head.value(x), is_causal=True
    )
    torch.testing.assert_close(head(x), theirs)
    at = (x, *head.parameters())
    ours = torch.autograd.grad(head(x).square().sum(), at)
    torch.testing.assert_close(ours, torch.autograd.grad(theirs.square().sum(), at))


def test_parameters_are_counted() -> None:
    def count(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    assert count(SingleHeadAttention(64, 16)) == 3 * 64 * 16 == 3072
    assert count(SelfAttention(64, bias=True)) == 3 * (64 * 64 + 64)
    assert count(MultiHeadAttention(64, 4)) == 16640
    assert count(MultiHeadAttention(64, 4, bias=False)) == 16384
    assert count(MultiHeadAttention(64, 4, head_size=5)) == 3 * (64 * 20 + 20) + 20 * 64 + 64


# The buffer.


def test_the_mask_is_a_buffer_that_moves_and_is_not_saved() -> None:
    head = SingleHeadAttention(24, 6, block_size=8)
    assert dict(head.named_buffers())["mask"].tolist() == oracle.causal_mask(8)
    assert sorted(head.state_dict()) == ["key.weight", "query.weight", "value.weight"]
    assert head.to("meta").mask.device.type == "meta"
    longer = SingleHeadAttention(24, 6, block_size=16)
    longer.load_state_dict(SingleHeadAttention(24, 6, block_size=8).state_dict())


@pytest.mark.parametrize(("Sq", "Sk"), [(1, 1), (5, 5), (8, 8), (3, 7), (7, 3), (1, 8), (0, 0)])
def test_a_stored_mask_changes_no_number(Sq: int, Sk: int) -> None:
    head, free = head_of(block_size=8), head_of()
    free.load_state_dict(head.state_dict())
    x, context = tokens(2, Sq), tokens(2, Sk)
    torch.testing.assert_close(head(x, context), free(x, context))


def test_a_sequence_longer_than_the_block_is_refused() -> None:
    head = SingleHeadAttention(24, 6, block_size=8)
    message = "SingleHeadAttention: the sequence has S = 9 but block_size is 8; .*block_size=9"
    with pytest.raises(ShapeError, match=message):
        head(torch.zeros(2, 9, 24))
    with pytest.raises(ShapeError, match=r"S = 9 but block_size is 8"):
        head(torch.zeros(2, 3, 24), torch.zeros(2, 9, 24))
    with pytest.raises(ShapeError, match=r"S = 9 but block_size is 8"):
        SingleHeadAttention(24, 6, block_size=8, causal=False)(torch.zeros(9, 24))


# Masks.


def test_causal_and_may_attend_combine_by_and() -> None:
    x, may_attend = tokens(2, 5), torch.rand(2, 5, 5) > 0.3
    plain, causal = head_of(causal=False), head_of()
    causal.load_state_dict(plain.state_dict())
    both = plain(x, may_attend=may_attend & causal_mask(5))
    torch.testing.assert_close(causal(x, may_attend=may_attend), both)
    many, causal = heads_of(fused=False), heads_of(causal=True, fused=False)
    causal.load_state_dict(many.state_dict())
    both = many(x, may_attend=(may_attend & causal_mask(5))[:, None])
    torch.testing.assert_close(causal(x, may_attend=may_attend[:, None]), both)


@pytest.mark.parametrize("shape", [(5, 5), (1, 5), (5, 1), (1, 1), (2, 5, 5), (1, 5, 5), (5,), ()])
def test_one_head_takes_any_mask_that_broadcasts(shape: tuple[int, ...]) -> None:
    head, x = SelfAttention(24, 6).double(), tokens(2, 5)
    may_attend = torch.rand(shape) > 0.4
    _, weights = head(x, may_attend=may_attend, return_weights=True)
    assert not weights.masked_select(~may_attend.expand(2, 5, 5)).any()


@pytest.mark.parametrize(
    "shape", [(5, 5), (1, 5), (5, 1), (2, 1, 5, 5), (2, 4, 5, 5), (2, 1, 1, 5), (1, 4, 5, 1)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_many_heads_take_a_mask_for_all_or_for_each(shape: tuple[int, ...], causal: bool) -> None:
    layer, x = heads_of(causal=causal), tokens(2, 5)
    may_attend = torch.rand(shape) > 0.4
    plain, weights = layer(x, may_attend=may_attend, return_weights=True)
    assert not weights.masked_select(~may_attend.expand(2, 4, 5, 5)).any()
    torch.testing.assert_close(layer(x, may_attend=may_attend), plain)


def test_a_padded_batch_is_each_sequence_alone() -> None:
    x, lengths = tokens(3, 7), torch.tensor([7, 4, 1])
    may_attend = (torch.arange(7) < lengths[:, None])[:, None, None]
    for causal in (False, True):
        layer = heads_of(causal=causal)
        together = layer(x, may_attend=may_attend)
        for i, length in enumerate(lengths):
            torch.testing.assert_close(together[i, :length], layer(x[i, :length]))


# The fused path.


class Sizes(TorchDispatchMode):
    """Note the storage, in numbers, of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.largest, self.kernels = 0, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.kernels += [str(function)] if "scaled_dot_product" in str(function) else []
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, Tensor) and tensor.numel():
                size = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.largest = max(self.largest, size)
        return result


def padding(S: int) -> Tensor:
    """Hide a third of the keys: on the left, on the right, and all of the last sequence."""
    may_attend = torch.rand(3, 1, 1, S) > 0.3
    may_attend[0, ..., : S // 3] = False
    may_attend[1, ..., -(S // 3) :] = False
    may_attend[2] = False
    return may_attend


@pytest.mark.parametrize("padded", [False, True], ids=["all", "padded"])
@pytest.mark.parametrize("causal", [False, True], ids=["any", "causal"])
@pytest.mark.parametrize(("Sq", "Sk"), [(5, 5), (4, 4), (1, 1), (3, 7), (7, 3), (1, 7), (6, 1)])
@pytest.mark.parametrize("form", ["batch", "two batches", "alone"])
def test_fused_gives_the_same_numbers_forward_and_backward(Sq, Sk, causal, padded, form) -> None:
    layer = heads_of(causal=causal)
    x, context = tokens(3, Sq), tokens(3, Sk)
    may_attend = padding(Sk) if padded else None
    if form == "two batches":
        x, context = x[None].repeat(2, 1, 1, 1), context[None].repeat(2, 1, 1, 1)
        may_attend = may_attend[None] if padded else None
    if form == "alone":
        x, context = x[0], context[0]
        may_attend = may_attend[0, 0] if padded else None
    results = []
    for layer.fused in (True, False):
        inputs = (x.clone().requires_grad_(), context.clone().requires_grad_())
        output = layer(*inputs, may_attend=may_attend)
        upstream = torch.sin(torch.arange(output.numel())).view_as(output).double()
        grads = torch.autograd.grad(output, (*inputs, *layer.parameters()), upstream)
        results.append((output, *grads))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("padded", [False, True], ids=["all", "padded"])
@pytest.mark.parametrize("causal", [False, True], ids=["any", "causal"])
@pytest.mark.parametrize(("Sq", "Sk"), [(300, 300), (200, 300), (300, 200)])
@pytest.mark.parametrize("axes", [2, 3, 4])
def test_fused_never_builds_a_tensor_of_queries_by_keys(Sq, Sk, causal, padded, axes) -> None:
    layer = MultiHeadAttention(8, 2, causal=causal)
    lead = {2: (), 3: (3,), 4: (1, 3)}[axes]
    x = torch.randn(*lead, Sq, 8, requires_grad=True)
    context = x if Sq == Sk else torch.randn(*lead, Sk, 8, requires_grad=True)
    may_attend = padding(Sk).reshape(*lead, 1, 1, Sk) if padded and lead else None
    if padded and not lead:
        may_attend = padding(Sk)[0, 0]
    with Sizes() as sizes:
        layer(x, context, may_attend=may_attend).sum().backward()
    assert sizes.largest < Sq * Sk
    assert any("flash" in kernel or "efficient" in kernel for kernel in sizes.kernels)


def test_asking_for_weights_takes_the_plain_path() -> None:
    layer, x = heads_of(causal=True), tokens(2, 5)
    output, weights = layer(x, return_weights=True)
    assert weights.shape == (2, 4, 5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5, dtype=torch.float64))
    torch.testing.assert_close(output, layer(x))


def test_dropout_only_acts_in_training_and_after_the_weights() -> None:
    layer, x = heads_of(dropout=0.5), tokens(2, 5)
    plain = heads_of()
    plain.load_state_dict(layer.state_dict())
    assert not torch.allclose(layer(x), layer(x))
    _, weights = layer(x, return_weights=True)
    torch.testing.assert_close(weights, plain(x, return_weights=True)[1])
    torch.testing.assert_close(layer.eval()(x), plain(x))


@pytest.mark.parametrize("fused", [False, True])
def test_dropout_drops_its_share_and_raises_the_rest(fused: bool) -> None:
    layer = heads_of(dropout=0.25, fused=fused)
    nn.init.zeros_(layer.value.weight)
    nn.init.ones_(layer.value.bias)
    layer.out = nn.Identity()
    kept = layer(tokens(2, 200), tokens(2, 1))  # one key has the weight 1
    dropped, raised = kept.unique()[[0, -1]].tolist()
    assert (dropped, raised) == (0, pytest.approx(4 / 3))
    assert 0.7 < (kept > 0).double().mean() < 0.8


# The laws, for every module.

MODULES = {
    "self": lambda: SelfAttention(24, 6).double(),
    "head": head_of,
    "block": lambda: head_of(block_size=16),
    "plain": lambda: heads_of(causal=True, fused=False),
    "fused": lambda: heads_of(causal=True),
    "wide": lambda: heads_of(head_size=5),
}


@pytest.fixture(params=MODULES, name="module")
def _module(request: pytest.FixtureRequest) -> nn.Module:
    return MODULES[request.param]()


@pytest.mark.parametrize("name", ["head", "block", "plain", "fused"])
def test_the_future_changes_nothing(name: str) -> None:
    module = MODULES[name]()
    x = tokens(2, 7)
    before = module(x)
    for j in range(1, 7):
        changed = x.clone()
        changed[:, j] += 1
        after = module(changed)
        torch.testing.assert_close(before[:, :j], after[:, :j], rtol=0, atol=1e-14)
        assert not torch.allclose(before[:, j], after[:, j])


def test_without_a_mask_order_means_nothing() -> None:
    for module in (SelfAttention(24, 6).double(), heads_of(), heads_of(fused=False)):
        x, order = tokens(2, 5), torch.tensor([3, 0, 4, 1, 2])
        torch.testing.assert_close(module(x[:, order]), module(x)[:, order])


def test_one_in_a_batch_is_the_same_alone(module: nn.Module) -> None:
    x, context = tokens(3, 5), tokens(3, 7)
    together = module(x, context)
    for i in range(3):
        torch.testing.assert_close(module(x[i : i + 1], context[i : i + 1])[0], together[i])
        torch.testing.assert_close(module(x[i], context[i]), together[i])


def test_any_number_of_batch_axes(module: nn.Module) -> None:
    x = tokens(2, 3, 5)
    torch.testing.assert_close(module(x).flatten(0, 1), module(x.flatten(0, 1)))


def test_the_last_query_sees_every_key() -> None:
    for module in (head_of(), heads_of(causal=True, fused=False)):
        _, weights = module(tokens(2, 3), tokens(2, 7), return_weights=True)
        sees = weights > 0
        assert (sees.reshape(-1, 3, 7) == causal_mask(3, 7)).all()


def test_queries_that_see_nothing_get_zeros_and_finite_gradients(module: nn.Module) -> None:
    x = tokens(2, 5).requires_grad_()
    may_attend = torch.ones(5, 5, dtype=torch.bool)
    may_attend[:, :2] = False
    may_attend[3] = False
    output, weights = module(x, may_attend=may_attend, return_weights=True)
    assert not weights[..., 3, :].any()
    plain = module(x, may_attend=may_attend)
    torch.testing.assert_close(plain, output)
    silent = module.out.bias if isinstance(module, MultiHeadAttention) else torch.zeros(6)
    torch.testing.assert_close(plain[:, 3], silent.double().expand(2, -1))
    grads = torch.autograd.grad(plain.square().sum(), (x, *module.parameters()))
    assert all(grad.isfinite().all() for grad in grads)


def test_gradients_are_right(module: nn.Module) -> None:
    x, context = tokens(1, 2).requires_grad_(), tokens(1, 3).requires_grad_()
    assert torch.autograd.gradcheck(module, (x, context), fast_mode=True)


@pytest.mark.parametrize(("Sq", "Sk"), [(0, 0), (0, 7), (5, 0), (1, 1), (5, 1)])
def test_short_and_empty_sequences(module: nn.Module, Sq: int, Sk: int) -> None:
    x, context = tokens(2, Sq).requires_grad_(), tokens(2, Sk)
    output, weights = module(x, context, return_weights=True)
    assert weights.shape[-2:] == (Sq, Sk)
    torch.testing.assert_close(module(x, context), output)
    if Sk == 0 and isinstance(module, SelfAttention):
        assert not output.any()
    if Sk == 0 and isinstance(module, MultiHeadAttention):
        torch.testing.assert_close(output, module.out.bias.expand(2, Sq, -1))
    output.sum().backward()
    assert x.grad.isfinite().all()


def test_an_empty_batch(module: nn.Module) -> None:
    assert module(tokens(0, 5)).shape[:2] == (0, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", DEVICES)
def test_every_dtype_on_every_device(module: nn.Module, dtype: torch.dtype, device: str) -> None:
    x = tokens(2, 5)
    truth = module(x)
    module = module.to(device, dtype)
    may_attend = torch.ones(5, 5, dtype=torch.bool, device=device)
    output = module(x.to(device, dtype), may_attend=may_attend)
    assert output.dtype == dtype
    assert output.shape == truth.shape
    if device != "meta":
        loose = {torch.float16: 1e-2, torch.bfloat16: 5e-2}.get(dtype, 1e-5)
        torch.testing.assert_close(output.double().cpu(), truth, rtol=loose, atol=loose)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_causal_and_padded_stays_exact_in_half_precision(dtype: torch.dtype) -> None:
    layer, x, may_attend = heads_of(causal=True), 4 * tokens(3, 9), padding(9)
    truth = layer(x, may_attend=may_attend)
    output = layer.to(dtype)(x.to(dtype), may_attend=may_attend)
    assert output.isfinite().all()
    torch.testing.assert_close(output.double(), truth, rtol=0.1, atol=0.1)
    changed = torch.where(may_attend[:, 0, 0, :, None], x, -x).to(dtype)
    hidden = ~may_attend[:, 0, 0]
    # What is hidden as a key is still a query: compare the queries that are not hidden.
    assert torch.equal(layer(changed, may_attend=may_attend)[~hidden], output[~hidden])


def test_runs_under_autocast_and_no_grad(module: nn.Module) -> None:
    module, x = module.float(), torch.randn(2, 5, 24)
    expected = module(x)
    with torch.no_grad():
        torch.testing.assert_close(module(x), expected)
    with torch.autocast("cpu", torch.bfloat16):
        output = module(x, may_attend=causal_mask(5))
        assert output.dtype == torch.bfloat16
        output.float().sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in module.parameters())


@pytest.mark.compiled
def test_runs_compiled_in_one_graph(module: nn.Module) -> None:
    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    x, may_attend = tokens(2, 5), torch.ones(1, 5, dtype=torch.bool)
    may_attend[0, 0] = False
    torch.testing.assert_close(compiled(x, may_attend=may_attend), module(x, may_attend=may_attend))
    loss = compiled(x, return_weights=True)[0].square().sum()
    expected = module(x, return_weights=True)[0].square().sum()
    at = list(module.parameters())
    torch.testing.assert_close(torch.autograd.grad(loss, at), torch.autograd.grad(expected, at))


def test_runs_under_vmap(module: nn.Module) -> None:
    x, may_attend = tokens(3, 2, 5), torch.rand(3, 1, 5) > 0.3
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        mapped = torch.vmap(lambda x, m: module(x, may_attend=m))(x, may_attend)
    alone = torch.stack([module(x[i], may_attend=may_attend[i]) for i in range(3)])
    torch.testing.assert_close(mapped, alone)


# Bad input.

CONSTRUCTORS = [
    (lambda: SelfAttention(0), ShapeError, "SelfAttention: n_embd is 0 but must be a whole number"),
    (lambda: SelfAttention(24, 0), ShapeError, "SelfAttention: head_size is 0 but must be"),
    (lambda: SelfAttention(24, True), DtypeError, "head_size is True, a bool"),
    (lambda: SingleHeadAttention(24, 0), ShapeError, "SingleHeadAttention: head_size is 0"),
    (lambda: SingleHeadAttention(24, 6, block_size=0), ShapeError, "block_size is 0 but must be"),
    (lambda: SingleHeadAttention(24, 6, block_size=8.0), DtypeError, "block_size is 8.0, a float"),
    (lambda: MultiHeadAttention(24, 0), ShapeError, "MultiHeadAttention: n_heads is 0 but must"),
    (lambda: MultiHeadAttention(24, True), DtypeError, "n_heads is True, a bool"),
    (lambda: MultiHeadAttention(24, -4), ShapeError, "n_heads is -4"),
    (
        lambda: MultiHeadAttention(24, 5),
        ShapeError,
        "n_embd is 24, which does not divide by n_heads = 5; choose another n_heads or give head_s",
    ),
    (lambda: MultiHeadAttention(24, 4, head_size=0), ShapeError, "head_size is 0"),
    (lambda: MultiHeadAttention(24, 4, dropout=1.0), ShapeError, r"dropout is 1.0 .* in \[0, 1\)"),
    (lambda: MultiHeadAttention(24, 4, dropout=-0.1), ShapeError, r"dropout is -0.1"),
    (lambda: MultiHeadAttention(24, 4, dropout=True), DtypeError, r"dropout is True, a bool"),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("build", "error", "message"), CONSTRUCTORS)
def test_refuses_to_be_built_so(build, error, message) -> None:
    with pytest.raises(error, match=message):
        build()


@pytest.mark.bad_input
@pytest.mark.parametrize("kind", [SelfAttention, SingleHeadAttention, MultiHeadAttention])
@pytest.mark.parametrize(
    ("x", "context", "error", "message"),
    [
        (
            torch.zeros(2, 5, 32),
            None,
            ShapeError,
            r": x has n_embd = 32 but weight has n_embd = 24 \(x is \(batch=2, S=5, n_embd=32\).*"
            "the layer reads that width only",
        ),
        (
            torch.zeros(2, 5, 24),
            torch.zeros(2, 7, 32),
            ShapeError,
            r": x has n_embd = 24 but context has n_embd = 32 .*context is \(batch=2, Sk=7",
        ),
        (
            torch.zeros(2, 5, 24),
            torch.zeros(3, 7, 24),
            ShapeError,
            "x has batch = 2 but context has batch = 3 .*both must hold the same sequences",
        ),
        (
            torch.zeros(24),
            None,
            ShapeError,
            r"x has 1 axes, \(24\), but must be \(\*batch, S, n_embd",
        ),
        (
            torch.zeros(2, 5, dtype=torch.int64),
            None,
            DtypeError,
            r"x is torch.int64 of shape \(S=2",
        ),
        (
            torch.zeros(5, 24).to_sparse(),
            None,
            DtypeError,
            r"x is sparse \(5, 24\) but must be dense",
        ),
        (torch.zeros(5, 24, dtype=torch.cfloat), None, DtypeError, "x is torch.complex64"),
        (
            torch.zeros(5, 24).double(),
            None,
            DtypeError,
            "x is torch.float64 but weight is torch.float32",
        ),
        (torch.zeros(5, 24, device="meta"), None, DeviceError, "x is on meta but weight is on cpu"),
        ("the bank", None, DtypeError, "x is a str but must be a torch.Tensor"),
    ],
)
def test_refuses_tokens_that_do_not_fit(kind, x, context, error, message) -> None:
    module = kind(24, 6)
    with pytest.raises(error, match=f"^{kind.__name__}.*{message}"):
        module(x, context)


@pytest.mark.bad_input
@pytest.mark.parametrize("kind", [SelfAttention, SingleHeadAttention, MultiHeadAttention])
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            torch.zeros(5, 5),
            "may_attend is torch.float32 .*additive mask converts with may_attend == 0",
        ),
        (torch.ones(5, 5, dtype=torch.uint8), "may_attend is torch.uint8 .*must be torch.bool"),
        (torch.ones(5, 5, dtype=torch.bool, device="meta"), r"is on meta .*may_attend.to\(.cpu.\)"),
        (torch.ones(5, 7, dtype=torch.bool), r"may_attend is \(Sq=5, Sk=7\) but must broadcast to"),
    ],
)
def test_refuses_masks_that_are_none(kind, mask, message) -> None:
    with pytest.raises(MaskError, match=f"^{kind.__name__}: .*{message}"):
        kind(24, 6)(torch.zeros(2, 5, 24), may_attend=mask)


@pytest.mark.bad_input
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    ("x", "mask"),
    [
        ((4, 5), (4, 5, 5)),  # batch == heads: it would broadcast, and mean something else
        ((2, 5), (2, 5, 5)),
        ((2, 5), (1, 5, 5)),
        ((5,), (4, 5, 5)),
        ((5,), (1, 5, 5)),
        ((5,), (1, 1, 5, 5)),
        ((2, 3, 5), (3, 1, 5, 5)),
        ((2, 5), (5,)),
        ((2, 5), ()),
        ((2, 5), (2, 3, 5, 5)),
    ],
)
def test_many_heads_refuse_a_mask_that_could_mean_two_things(x, mask, fused) -> None:
    layer = MultiHeadAttention(24, 4, fused=fused)
    wanted = r"\(Sq=5, Sk=5\) with 2 axes; .* batch axis"
    if len(x) > 1:
        wanted = rf"\(batch=.*, heads=4, Sq=5, Sk=5\) with 2 or {len(x) + 2} axes; .* for heads"
    with pytest.raises(MaskError, match=f"^MultiHeadAttention: .* must broadcast to {wanted}"):
        layer(torch.zeros(*x, 24), may_attend=torch.ones(mask, dtype=torch.bool))
