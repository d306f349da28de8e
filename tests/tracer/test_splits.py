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


@pytest.mark.parametrize("S", [4, 6, 8])
@pytest.mark.parametrize("name", WRONG)
def test_a_split_that_does_not_follow_memory_is_told(name, S):
    split, pair = WRONG[name]
    result = trace(Keys(12, 3, split), torch.randn(2, S, 12), dims="batch S n_embd")
    assert set(result.warnings[0].dims) == pair
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
