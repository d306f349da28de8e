"""Axes split by ``view``: numbers under the name of a dim that lies elsewhere, -1 for it too."""

import re

import pytest
import torch
from torch import nn

from attnlib import trace


class Keys(nn.Module):
    def __init__(self, n_embd, heads, split):
        super().__init__()
        self.heads, self.d_k, self.split = heads, n_embd // heads, split
        self.key = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        return self.split(self, self.key(x), *x.shape)


WRONG = {
    "numbers": (lambda self, k, B, S, C: k.view(B, 3, -1, 4), {"S", "n_embd"}),
    "attributes": (lambda self, k, B, S, C: k.view(B, self.heads, -1, self.d_k), {"heads", "S"}),
    "-1 for the heads": (lambda self, k, B, S, C: k.view(B, -1, S, C // 3), {"S", "n_embd"}),
    "-1 beside a number": (lambda self, k, B, S, C: k.view(B, -1, S, 4), {"S", "n_embd"}),
    "reshape": (lambda self, k, B, S, C: k.reshape(B, self.heads, S, -1), {"heads", "S"}),
    "a list": (lambda self, k, B, S, C: k.view([B, 3, -1, 4]), {"S", "n_embd"}),
}
RIGHT = {
    "sequence": lambda self, k, B, S, C: k.view(B, -1, self.heads, self.d_k),
    "sequence in numbers": lambda self, k, B, S, C: k.view(B, -1, 3, 4),
    "batch": lambda self, k, B, S, C: k.view(-1, S, self.heads, self.d_k).transpose(1, 2),
    "width": lambda self, k, B, S, C: k.view(B, S, self.heads, -1),
    "heads": lambda self, k, B, S, C: k.view(B, S, -1, self.d_k).transpose(1, 2),
    "rows": lambda self, k, B, S, C: k.view(B * S, -1).view(B, S, -1),
    "all rows": lambda self, k, B, S, C: k.view(-1, C).view(B, -1, C),
    "all": lambda self, k, B, S, C: k.view(B, -1).view(B, S, C),
    "unflatten": lambda self, k, B, S, C: k.unflatten(-1, (3, -1)).transpose(1, 2),
    "windows": lambda self, k, B, S, C: k.view(B, -1, 2, C).view(-1, 2, C),
    "tokens side by side": lambda self, k, B, S, C: k.view(B, -1, 2 * C),
    "side by side, told otherwise": lambda self, k, B, S, C: k.view(B, -1, C * 2),
    "side by side in numbers": lambda self, k, B, S, C: k.view(B, -1, 24),
    "heads in the batch": lambda self, k, B, S, C: (
        k.view(B, S, 3, -1).transpose(1, 2).reshape(B * 3, S, -1)
        .view(B, -1, S, C // 3).transpose(1, 2).reshape(B, -1, C)
    ),
}  # fmt: skip


def test_what_a_wrong_split_advises_mends_it_and_a_wrong_merge_advises_the_other_order():
    x = torch.randn(2, 5, 12)
    mended = Keys(12, 3, lambda self, k, B, S, C: k.view(B, S, self.heads, -1).transpose(1, 2))
    assert trace(mended, x, dims="batch S n_embd").warnings == []

    def merged(self, k, B, S, C):
        return k.view(B, S, self.heads, -1).transpose(1, 2).reshape(B, S, C)

    (warning,) = trace(Keys(12, 3, merged), x, dims="batch S n_embd").warnings
    assert warning.message.endswith("move the axes with transpose first")


@pytest.mark.parametrize("S", [4, 6, 8])
@pytest.mark.parametrize("name", WRONG)
def test_a_split_that_does_not_follow_memory_is_told(name, S):
    split, pair = WRONG[name]
    result = trace(Keys(12, 3, split), torch.randn(2, S, 12), dims="batch S n_embd")
    assert set(result.warnings[0].dims) == pair
    assert result.warnings[0].message.endswith(
        "split the one that is made of several, and transpose the result"
    )
    verb = re.match(r"this (\w+) puts pieces of", result.warnings[0].message)
    assert verb and f".{verb[1]}(" in result.warnings[0].code


@pytest.mark.parametrize("S", [4, 6, 8, 12, 24])
@pytest.mark.parametrize("name", RIGHT)
def test_a_split_that_follows_memory_is_silent(name, S):
    keys = Keys(12, 3, RIGHT[name])
    assert trace(keys, torch.randn(2, S, 12), dims="batch S n_embd").warnings == []


def test_heads_that_are_joined_without_moving_them_back_are_told_with_minus_one():
    def join(y):
        return y.reshape(y.size(0), -1, 12)

    y = torch.randn(2, 3, 5, 4)
    (warning,) = trace(join, y, dims="batch heads S H").warnings
    assert set(warning.dims) == {"S", "heads"}
    assert trace(join, y.transpose(1, 2), dims="batch S heads H").warnings == []


def test_patches_and_windows_of_an_image_are_silent():
    def patches(x):
        B, C, height, width = x.shape
        x = x.reshape(B, C, height // 4, 4, width // 4, 4).permute(0, 2, 4, 1, 3, 5)
        return x.reshape(B, -1, C * 4 * 4)

    def windows(x):
        B, H, W, C = x.shape
        y = x.view(B, H // 2, 2, W // 2, 2, C).transpose(2, 3).reshape(-1, 4, C)
        y = y.view(B, H // 2, W // 2, 2, 2, -1).transpose(2, 3)
        return y.reshape(B, H, W, -1)

    for size in ((2, 3, 8, 12), (4, 4, 4, 4), (2, 8, 8, 8)):
        assert trace(patches, torch.randn(size), dims="B C height width").warnings == []
    for size in ((2, 8, 4, 3), (4, 4, 4, 4), (2, 8, 8, 8)):
        assert trace(windows, torch.randn(size), dims="B H W C").warnings == []


def backwards(move, ws=2):
    """Cut an image into windows and put it together again, with the axes moved back or not."""

    def run(x, ws=ws):
        B, H, W, C = x.shape
        cut = x.view(B, H // ws, ws, W // ws, ws, C).permute(0, 1, 3, 2, 4, 5)
        rows = cut.reshape(-1, ws * ws, C) * 2
        return move(rows.view(B, H // ws, W // ws, ws, ws, C)).reshape(B, H, W, C)

    return run


IMAGES = [(2, 8, 4, 3), (2, 4, 4, 6), (4, 4, 8, 4), (2, 8, 8, 8), (2, 12, 6, 5)]


@pytest.mark.parametrize("words", [{}, {"ws": 2}], ids=str)
@pytest.mark.parametrize("size", IMAGES, ids=str)
def test_windows_that_are_not_moved_back_are_told(size, words):
    wrong, right = backwards(lambda x: x), backwards(lambda x: x.permute(0, 1, 3, 2, 4, 5))
    (warning,) = trace(wrong, torch.randn(size), **words, dims="batch height width C").warnings
    assert warning.code.endswith(".reshape(B, H, W, C)")
    assert set(warning.dims) == {"height", "width"}
    assert trace(right, torch.randn(size), **words, dims="batch height width C").warnings == []


def joined(x, join):
    B, S, _ = x.shape
    heads = [x * 2, x * 3, x * 5]
    return join(heads, B, S)


STACKED = {
    "stacked before tokens": lambda heads, B, S: torch.stack(heads, 1).view(B, S, -1),
    "joined along tokens": lambda heads, B, S: torch.cat(heads, 1).view(B, S, -1),
    "stacked in front": lambda heads, B, S: torch.stack(heads).view(B, 3, S, -1),
}
IN_ORDER = {
    "moved back": lambda heads, B, S: torch.stack(heads, 1).transpose(1, 2).reshape(B, S, -1),
    "stacked behind": lambda heads, B, S: torch.stack(heads, 2).view(B, S, -1),
    "joined along features": lambda heads, B, S: torch.cat(heads, -1).view(B, S, 3, -1),
    "tokens in turn": lambda heads, B, S: (
        torch.stack(heads, 2).view(B, 3 * S, -1).view(B, S, 3, -1)[:, :, 0]
    ),
    "one after the other": lambda heads, B, S: torch.cat(heads, 1).view(B, 3, S, -1).sum(1),
    "a larger batch": lambda heads, B, S: torch.stack(heads).view(3 * B, S, -1).view(3, B, S, -1),
    "in pairs of rows": lambda heads, B, S: torch.stack(heads, 1).view(B * 3, S, -1),
    "flat": lambda heads, B, S: torch.stack(heads, 1).view(B, -1),
}


@pytest.mark.parametrize("name", STACKED)
def test_tensors_that_are_stacked_and_read_in_another_order_are_told(name):
    def run(x):
        return joined(x, STACKED[name])

    (warning,) = trace(run, torch.randn(2, 5, 4), dims="batch S H").warnings
    assert "3" in warning.dims and "puts an axis of 3 under the name" in warning.message


@pytest.mark.parametrize("size", [(2, 5, 4), (3, 3, 3), (4, 6, 2), (5, 4, 5)], ids=str)
@pytest.mark.parametrize("name", IN_ORDER)
def test_tensors_that_are_stacked_and_read_in_order_are_silent(name, size):
    def run(x):
        return joined(x, IN_ORDER[name])

    assert trace(run, torch.randn(size), dims="batch S H").warnings == []


def test_a_channel_shuffle_and_pixels_that_are_moved_on_purpose_are_silent():
    def shuffle(x):
        B, C, H, W = x.shape
        return x.view(B, 2, C // 2, H, W).transpose(1, 2).reshape(B, C, H, W)

    def unpack(x):
        B, C, H, W = x.shape
        x = x.view(B, C // 4, 2, 2, H, W).permute(0, 1, 4, 2, 5, 3)
        return x.reshape(B, C // 4, H * 2, W * 2)

    for size in ((2, 8, 5, 7), (4, 4, 4, 4), (2, 4, 6, 2)):
        for code in (shuffle, unpack):
            assert trace(code, torch.randn(size), dims="batch C height width").warnings == []
