"""Convolutions: samples and channels keep their names, a length where it stays at every size."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib import trace

LENGTHS = {  # the last dim of the result, of 8: where the name stays, torch must keep the number
    "padded": ({"kernel_size": 3, "padding": 1}, "S"),
    "pointwise": ({"kernel_size": 1}, "S"),
    "same": ({"kernel_size": 5, "padding": "same"}, "S"),
    "spread out": ({"kernel_size": 3, "padding": 2, "dilation": 2}, "S"),
    "around": ({"kernel_size": 3, "padding": 1, "padding_mode": "circular"}, "8"),
    "valid": ({"kernel_size": 3, "padding": "valid"}, "6"),
    "too little": ({"kernel_size": 5, "padding": 1}, "6"),
    "striding": ({"kernel_size": 2, "stride": 2}, "4"),
    "striding, padded": ({"kernel_size": 3, "padding": 1, "stride": 2}, "4"),
}


class Mixer(nn.Module):
    def __init__(self, n_embd, width, words):
        super().__init__()
        self.conv = nn.Conv1d(n_embd, width, **words)

    def forward(self, x):
        return self.conv(x)


class Local(nn.Module):
    def __init__(self, n_embd, width):
        super().__init__()
        self.conv = nn.Conv1d(n_embd, width, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


class Depthwise(nn.Module):
    def __init__(self, n_embd, kernel):
        super().__init__()
        self.along = nn.Conv1d(n_embd, n_embd, kernel, padding=kernel // 2, groups=n_embd)
        self.norm = nn.LayerNorm(n_embd)

    def forward(self, x):
        y = x + self.along(x)
        return self.norm(y.transpose(1, 2))


class Patches(nn.Module):
    def __init__(self, in_chans, embed_dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch, stride=patch)
        self.mix = nn.Conv2d(embed_dim, embed_dim, (3, 1), padding=(1, 0))

    def forward(self, image):
        return self.mix(self.proj(image)).flatten(2).transpose(1, 2)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_keeps_its_name_where_the_padding_makes_up_for_the_kernel(name):
    words, length = LENGTHS[name]
    result = trace(Mixer(6, 9, words), torch.randn(2, 6, 8), dims="batch n_embd S")
    step = result.steps[-1]
    assert step.output.dims == ("batch", "width", length)
    assert [info.name for info in step.inputs][1:] == ["conv.weight", "conv.bias"]
    assert step.inputs[1].dims[:2] == ("width", "n_embd")
    alone = trace(Mixer(6, 9, words), torch.randn(6, 8), dims="n_embd S")
    assert alone.steps[-1].output.dims == ("width", length)
    assert result.check(batch=3, S=12), result.check(batch=3, S=12)


def test_channels_that_go_alone_are_the_same_channels():
    result = trace(Depthwise(6, 3), torch.randn(2, 6, 5), dims="batch n_embd S")
    assert result.warnings == []
    conv = next(step for step in result.steps if step.op == "conv1d")
    assert conv.output.dims == ("batch", "n_embd", "S")
    assert conv.inputs[1].shape == (6, 1, 3) and conv.inputs[1].dims[0] == "n_embd"
    assert result.check(batch=3, S=7)


def test_patches_of_an_image_keep_the_samples():
    image = torch.randn(2, 3, 8, 12)
    result = trace(Patches(3, 10, 4), image, dims="B C height width")
    assert result.warnings == []
    assert result.steps[-1].output.dims == ("B", "6", "embed_dim")
    assert result.check(B=5)


def test_channels_last_is_told_where_the_sizes_hide_it():
    """The transpose before the convolution is missing: the tokens are taken for channels."""
    (warning,) = trace(Local(6, 9), torch.randn(2, 6, 6), dims="batch S n_embd").warnings
    assert set(warning.dims) == {"S", "n_embd"}
    assert "sums over" in warning.message


def test_padding_leaves_the_axes_that_it_does_not_touch():
    def left(x):
        return F.pad(x, (0, 0, 2, 0))

    result = trace(left, torch.randn(2, 5, 6), dims="batch S C")
    assert result.steps[-1].output.dims == ("batch", "7", "C")


def test_groups_that_the_call_hides_name_no_channels():
    conv = trace(Mixer(6, 6, {"kernel_size": 1, "groups": 2}), torch.randn(2, 6, 8)).steps[-1]
    assert conv.inputs[1].dims == ("width", "3", "1")


def test_the_function_without_a_layer():
    def smooth(x, w):
        return F.conv1d(x, w, padding=1)

    x, w = torch.randn(2, 6, 8), torch.randn(9, 6, 3)
    result = trace(smooth, x, w, dims={"x": "batch C S", "w": "made C kernel"})
    assert result.warnings == [] and result.steps[-1].output.dims == ("batch", "made", "S")
