"""split_heads and merge_heads: against loops, each the other's inverse, and what they refuse."""

import pytest
import torch

from attnlib import DtypeError, ShapeError, merge_heads, oracle, split_heads

from ..loops import by_loops


@pytest.mark.parametrize(
    ("batch", "S", "heads", "H"),
    [((), 5, 4, 6), ((2,), 5, 4, 6), ((2, 3), 5, 4, 1), ((4,), 4, 4, 4)],
)
def test_splits_and_merges_as_the_loops_do(batch, S, heads, H) -> None:
    x = torch.randn(*batch, S, heads * H, dtype=torch.float64)
    split = split_heads(x, heads)
    assert split.shape == (*batch, heads, S, H)
    torch.testing.assert_close(split, by_loops(oracle.split_heads, x, heads))
    torch.testing.assert_close(merge_heads(split), x)
    y = torch.randn(*batch, heads, S, H, dtype=torch.float64)
    torch.testing.assert_close(merge_heads(y), by_loops(oracle.merge_heads, y, keep=3))


def test_head_h_holds_its_own_features() -> None:
    x = torch.arange(24.0).expand(5, 24)
    split = split_heads(x, 4)
    for h in range(4):
        assert split[h, 2].tolist() == list(range(h * 6, (h + 1) * 6))


def test_splitting_moves_no_memory() -> None:
    x = torch.randn(2, 5, 24)
    assert split_heads(x, 4).data_ptr() == x.data_ptr()


def test_reads_non_contiguous_tensors() -> None:
    x = torch.randn(2, 24, 5).transpose(1, 2)
    torch.testing.assert_close(split_heads(x, 4), split_heads(x.contiguous(), 4))


@pytest.mark.parametrize("shape", [(2, 0, 24), (0, 5, 24)])
def test_empty_tensors_split_and_merge(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    assert merge_heads(split_heads(x, 4)).shape == shape


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("n_heads", "error", "message"),
    [
        (
            5,
            ShapeError,
            r"split_heads: x has 24 features \(x is \(batch=2, S=5, heads\*H=24\)\), "
            r"which do not divide by n_heads = 5",
        ),
        (0, ShapeError, "split_heads: n_heads is 0 but must be a whole number, 1 or more"),
        (-2, ShapeError, "n_heads is -2"),
        (True, DtypeError, "n_heads is True, a bool"),
        (2.0, DtypeError, "n_heads is 2.0, a float"),
    ],
)
def test_refuses_heads_that_do_not_divide(n_heads, error, message) -> None:
    with pytest.raises(error, match=message):
        split_heads(torch.zeros(2, 5, 24), n_heads)


@pytest.mark.bad_input
def test_refuses_to_merge_what_has_no_heads() -> None:
    message = r"merge_heads: x has 2 axes, \(5, 6\), but must be \(\*batch, heads, S, H\)"
    with pytest.raises(ShapeError, match=message):
        merge_heads(torch.zeros(5, 6))
