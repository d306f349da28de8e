"""The same numbers on every device there is, in mixed precision, and never a wait for the device.

A machine without a GPU skips what needs one and says so; that no value is read on the way is also
seen without one, by a mode that refuses every operation which would have to wait.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnlib import (
    MultiHeadAttention,
    SelfAttention,
    SingleHeadAttention,
    attention,
    causal_mask,
    from_fused,
    from_torch,
    load_qkv,
    parity,
    stack,
    to_torch,
    unstack,
)
from attnlib.exercises import verify

CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.cuda,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
    ],
)
DEVICES = ["cpu", CUDA]
MODULES: dict[str, Callable[[], nn.Module]] = {
    "self": lambda: SelfAttention(24, 6),
    "head": lambda: SingleHeadAttention(24, 6),
    "block": lambda: SingleHeadAttention(24, 6, block_size=16),
    "explicit": lambda: MultiHeadAttention(24, 4, causal=True, fused=False),
    "fused": lambda: MultiHeadAttention(24, 4),
    "fused causal": lambda: MultiHeadAttention(24, 4, causal=True),
    "wide": lambda: MultiHeadAttention(24, 4, head_size=5, causal=True),
}
MASKS = ("none", "padding", "any")
HALVES = [torch.bfloat16, torch.float16]


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> nn.Module:
    return MODULES[request.param]()


def mask_of(kind: str, module: nn.Module, device: str) -> Tensor | None:
    """Padding by lengths, or any mask with a row that sees nothing, in the module's form."""
    heads = (1,) if isinstance(module, MultiHeadAttention) else ()
    if kind == "padding":
        lengths = torch.tensor([7, 4, 1], device=device)
        padding = torch.arange(7, device=device) < lengths[:, None]
        return padding.reshape(3, *heads, 1, 7)
    if kind == "any":
        may_attend = torch.ones(7, 7, dtype=torch.bool, device=device).triu(-2)
        may_attend[3] = False
        return may_attend
    return None


def grads_of(module: nn.Module, x: Tensor, mask: Tensor | None) -> list[Tensor]:
    output = module(x, may_attend=mask)
    return [output, *torch.autograd.grad(output.square().sum(), [x, *module.parameters()])]


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("device", DEVICES)
def test_forward_and_backward_are_those_of_the_cpu(module, device: str, kind: str) -> None:
    module, x = module.double(), torch.randn(3, 7, 24).double()
    expected = grads_of(module, x.requires_grad_(), mask_of(kind, module, "cpu"))
    moved, there = module.to(device), x.detach().to(device).requires_grad_()
    found = grads_of(moved, there, mask_of(kind, module, device))
    assert {tensor.device.type for tensor in found} == {device}
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("device", DEVICES)
def test_mixed_precision_keeps_to_float32(module, device: str, kind: str, dtype) -> None:
    module, x = module.to(device), torch.randn(3, 7, 24, device=device)
    mask = mask_of(kind, module, device)
    expected = grads_of(module, x.requires_grad_(), mask)
    with torch.autocast(device, dtype):
        output = module(x, may_attend=mask)
    assert output.dtype == dtype
    grads = torch.autograd.grad(output.float().square().sum(), [x, *module.parameters()])
    assert {grad.dtype for grad in grads} == {torch.float32}
    exact, *exact_grads = expected
    largest = max(grad.abs().max() for grad in exact_grads)  # that of a key's bias is 0 by itself
    allowed = 8 * torch.finfo(dtype).eps
    assert (output.float() - exact).abs().max() <= allowed * exact.abs().max()
    for ours, theirs in zip(grads, exact_grads, strict=True):
        assert (ours - theirs).abs().max() <= allowed * largest


class Asynchronous(TorchDispatchMode):
    """Refuse what must wait for its input's values: reading one, or a result of unknown size."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "is_nonzero")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        chosen = args[1] if name in ("index", "index_put", "index_put_") else ()
        by_truth = any(index is not None and index.dtype == torch.bool for index in chosen)
        if name in self.WAITING or by_truth:
            raise RuntimeError(f"{function} waits for the device")
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def never_waiting(device: str) -> Iterator[None]:
    """On a GPU let CUDA itself raise when it is waited for; elsewhere the mode does."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return
    with Asynchronous():
        yield


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("device", ["cpu", "meta", CUDA])
def test_nothing_waits_for_the_device(module, device: str, kind: str) -> None:
    module, x = module.to(device), torch.randn(3, 7, 24, device=device, requires_grad=True)
    mask = mask_of(kind, module, "cpu")
    mask = None if mask is None else mask.to(device)
    with never_waiting(device):
        module(x, may_attend=mask, return_weights=True)
        grads_of(module, x, mask)


@pytest.mark.parametrize("device", DEVICES)
def test_waiting_is_noticed(device: str) -> None:
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match=r"synchroniz|waits"), never_waiting(device):
        x.sum().item()
    with pytest.raises(RuntimeError, match=r"synchroniz|waits"), never_waiting(device):
        x[x > 0]


@pytest.mark.parametrize("device", DEVICES)
def test_stages_stay_where_their_input_is(device: str) -> None:
    q, k = torch.randn(2, 5, 6, device=device), torch.randn(2, 7, 6, device=device)
    mask = causal_mask(5, 7, device=device)
    found = attention(q, k, k, may_attend=mask)
    on_cpu = attention(q.cpu(), k.cpu(), k.cpu(), may_attend=mask.cpu())
    assert {tensor.device.type for tensor in (mask, *found)} == {device}
    for ours, theirs in zip(found, on_cpu, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_weights_are_copied_on_their_device(device: str) -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, device=device).double()
    ours = from_torch(theirs)
    result = parity(ours, lambda x: theirs(x, x, x, need_weights=False)[0])
    assert result.agree, result
    ours.out = nn.Identity()
    layers = [
        to_torch(from_torch(theirs)),
        from_fused(torch.randn(12, 36, device=device), n_heads=3),
        stack(unstack(ours)),
        load_qkv({f"{name}.weight": torch.randn(4, 12, device=device) for name in "QKV"}),
    ]
    for layer in layers:
        assert {parameter.device.type for parameter in layer.parameters()} == {device}
    x = torch.randn(2, 5, 12, device=device, dtype=torch.float64)
    torch.testing.assert_close(layers[2](x), ours(x))


@pytest.mark.parametrize("device", DEVICES)
def test_a_correct_layer_is_verified_wherever_it_is(device: str) -> None:
    layer = MultiHeadAttention(12, 3, causal=True).to(device)
    assert verify(layer).passed
    assert {parameter.device.type for parameter in layer.parameters()} == {device}
