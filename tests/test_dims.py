"""The named dimensions: one table, one look, and a check that reads signatures and runs nothing."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import attnlib
from attnlib import DeviceError, DtypeError, ShapeError, dims

ALIASES = {
    "batch": {"B", "N"},
    "S": {"T", "L", "time", "seq_len", "Sq", "Sk"},
    "n_embd": {"d_model", "C", "E", "embed_dim"},
    "H": {"d_k", "d_v", "Hv", "head_dim", "head_size"},
    "heads": {"h", "num_heads", "n_heads", "n_head"},
}


def test_there_are_five_dimensions_in_the_books_order() -> None:
    assert list(dims.DIMS) == list(ALIASES)
    assert all(symbol == dim.symbol for symbol, dim in dims.DIMS.items())


@pytest.mark.parametrize(("symbol", "names"), ALIASES.items())
def test_other_peoples_names_have_a_role(symbol: str, names: set[str]) -> None:
    assert {dims.role(name) for name in names | {symbol}} == {symbol}


def test_an_unknown_name_has_no_role() -> None:
    assert [dims.role(name) for name in ("", "pixels", "s", "b")] == [None] * 4


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.1."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("symbol", dims.DIMS)
@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_the_symbol_can_be_read_on_its_tint(symbol: str, page: int) -> None:
    dim = dims.DIMS[symbol]
    for pair in (dim.ink, dim.fill, dim.tint):
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in pair)
    dark, light = sorted((luminance(dim.ink[page]), luminance(dim.tint[page])))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_no_two_dimensions_look_the_same() -> None:
    colours = [c for d in dims.DIMS.values() for c in (*d.ink, *d.fill, *d.tint)]
    assert len(set(colours)) == len(colours)


def test_a_dimension_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError, match="symbol"):
        dims.DIMS["S"].symbol = "T"


def test_a_signature_is_read_once() -> None:
    assert dims.SHAPES["project"] == {
        "x": ("*batch", "S", "n_embd"),
        "weight": ("H", "n_embd"),
        "bias": ("H",),
        "return": ("*batch", "S", "H"),
    }


def test_the_check_runs_no_operation() -> None:
    class Refuse(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise AssertionError(f"{function} ran")

    q, k, wrong = torch.zeros(2, 5, 6), torch.zeros(2, 7, 6), torch.zeros(2, 6, 7)
    mask = torch.ones(5, 7, dtype=torch.bool)
    with Refuse():
        dims.check("attention_scores", q=q, k=k)
        dims.check_mask("mask_scores", mask, "*batch Sq Sk", (2, 5, 7), mask.device)
        with pytest.raises(ShapeError, match="q has H = 6 but k has H = 7"):
            dims.check("attention_scores", q=q, k=wrong)


def test_what_was_not_given_is_not_checked() -> None:
    dims.check("project", x=torch.zeros(5, 24), weight=torch.zeros(6, 24), bias=None)


X = torch.zeros(2, 5, 24)
FORGOTTEN = {
    "project: x": lambda: attnlib.project(None, torch.zeros(6, 24)),
    "project: weight": lambda: attnlib.project(X, None),
    "attention_scores: q": lambda: attnlib.attention_scores(None, X),
    "attention_scores: k": lambda: attnlib.attention_scores(X, None),
    "scale_scores: scores": lambda: attnlib.scale_scores(None, 4),
    "mask_scores: may_attend": lambda: attnlib.mask_scores(X, None),
    "attention_weights: scores": lambda: attnlib.attention_weights(None),
    "weighted_sum: v": lambda: attnlib.weighted_sum(X, None),
    "split_heads: x": lambda: attnlib.split_heads(None, 4),
    "merge_heads: x": lambda: attnlib.merge_heads(None),
    "attention: v": lambda: attnlib.attention(X, X, None),
    "SelfAttention: x": lambda: attnlib.SelfAttention(24, 6)(None),
    "SingleHeadAttention: x": lambda: attnlib.SingleHeadAttention(24, 6)(None),
    "MultiHeadAttention: x": lambda: attnlib.MultiHeadAttention(24, 4)(None),
    "from_fused: weight": lambda: attnlib.from_fused(None, n_heads=4),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("place", FORGOTTEN)
def test_none_in_place_of_a_tensor_is_refused_by_name(place: str) -> None:
    """What a function without its return gives; only an argument that may be left out may be it."""
    with pytest.raises(
        DtypeError, match=rf"^{place} is None but must be a torch\.Tensor; the func"
    ):
        FORGOTTEN[place]()


def test_an_error_speaks_for_its_owner() -> None:
    with pytest.raises(ShapeError, match=r"^SelfAttention: q has H = 6 but k has H = 8"):
        dims.check(
            "attention_scores", owner="SelfAttention", q=torch.zeros(2, 6), k=torch.zeros(2, 8)
        )


def test_autocast_brings_dtypes_together() -> None:
    q, k = torch.zeros(2, 6), torch.zeros(2, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        dims.check("attention_scores", q=q, k=k)
    with pytest.raises(DtypeError, match=r"q is torch\.float32 but k is torch.bfloat16"):
        dims.check("attention_scores", q=q, k=k)


def test_devices_are_never_mixed() -> None:
    with pytest.raises(DeviceError, match="q is on cpu but k is on meta"):
        dims.check("attention_scores", q=torch.zeros(2, 6), k=torch.zeros(2, 6, device="meta"))


@pytest.mark.parametrize(
    ("names", "shape", "text"),
    [
        (("*batch", "S", "H"), (2, 8, 16), "(batch=2, S=8, H=16)"),
        (("*batch", "S", "H"), (2, 3, 8, 16), "(batch=2×3, S=8, H=16)"),
        (("*batch", "S", "H"), (8, 16), "(S=8, H=16)"),
        (("*batch", "S", "H"), (16,), "(16)"),
        (("H", "n_embd"), (1, 8, 16), "(1, 8, 16)"),
        ((), (8, 16), "(8, 16)"),
        ((), (), "()"),
    ],
)
def test_shapes_are_written_in_names(names, shape, text) -> None:
    assert dims.shape_text(names, shape) == text


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (0, ShapeError, "layer: n_heads is 0 but must be a whole number, 1 or more"),
        (True, DtypeError, "layer: n_heads is True, a bool, but must be a whole number"),
        (1.5, DtypeError, "n_heads is 1.5, a float"),
        (None, DtypeError, "n_heads is None, a NoneType"),
    ],
)
@pytest.mark.bad_input
def test_a_size_is_a_whole_number(size, error, message) -> None:
    with pytest.raises(error, match=message):
        dims.check_size("layer", "n_heads", size)
