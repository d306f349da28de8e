"""A state dict with layers Q, K and V: exact copies, or a clear no. Its numbers: test_layouts."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attnlib import AttnError, DtypeError, ShapeError, load_qkv


def state(*kinds: str) -> dict[str, Tensor]:
    sizes = {"weight": (4, 12), "bias": (4,)}
    return {f"{name}.{kind}": torch.randn(sizes[kind]) for kind in kinds for name in "QKV"}


@pytest.mark.parametrize("kinds", [("weight",), ("weight", "bias")])
@pytest.mark.parametrize("causal", [False, True])
def test_no_bit_changes_and_nothing_is_shared(kinds: tuple[str, ...], causal: bool) -> None:
    given = {name: part.double() for name, part in state(*kinds).items()}
    head = load_qkv(given, causal=causal)
    assert (head.n_embd, head.head_size, head.causal) == (12, 4, causal)
    layers = {"query": "Q", "key": "K", "value": "V"}
    found = {f"{layers[k.split('.')[0]]}.{k.split('.')[1]}": v for k, v in head.named_parameters()}
    assert found.keys() == given.keys()
    for name, part in found.items():
        assert part.dtype == torch.float64
        assert torch.equal(part, given[name])
        part.data.zero_()
        assert given[name].any()


GIVEN = state("weight")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"Q.weight": GIVEN["Q.weight"]}, ShapeError, "state_dict lacks K.weight, V.weight but"),
        (
            GIVEN | {"Q.bias": torch.zeros(4)},
            ShapeError,
            "state_dict lacks K.bias, V.bias but must hold .* all of their biases or none",
        ),
        (
            GIVEN | {"mask": torch.zeros(8, 8), "proj.weight": torch.zeros(4, 4)},
            ShapeError,
            "state_dict also holds mask, proj.weight but .*a mask is no weight",
        ),
        (
            {"query.weight": torch.zeros(4, 12)},
            ShapeError,
            "lacks Q.weight, K.weight, V.weight and also holds query.weight but",
        ),
        (
            GIVEN | {"K.weight": torch.zeros(12, 4)},
            ShapeError,
            "Q_weight has H = 4 but K_weight has H = 12 .*the three weights of one head must be",
        ),
        (GIVEN | {"V.weight": torch.zeros(4)}, ShapeError, "V_weight has 1 axes"),
        (GIVEN | {"V.weight": torch.zeros(4, 12).double()}, DtypeError, "V_weight is torch.float6"),
        (GIVEN | {"V.weight": [1.0]}, DtypeError, "V_weight is a list"),
    ],
)
@pytest.mark.bad_input
def test_other_state_dicts_are_refused(given, error: type[AttnError], message: str) -> None:
    with pytest.raises(error, match=f"^load_qkv: .*{message}"):
        load_qkv(given)
