"""Windows of an image: what is named where the image is one window holds where it is many."""

import pytest
import torch

from attnlib import trace
from tests.tracer.stranger_correct import SAMPLES

CUT = [
    name for name in SAMPLES if "windows_" in name or (name.startswith("patches_") and "by" in name)
]


@pytest.mark.parametrize("name", CUT)
def test_dims_hold_for_larger_images(name):
    torch.manual_seed(0)
    fn, (x,), dims = SAMPLES[name](2, 5, 3, 4)
    first = dims.split().index("height")
    height, width = x.shape[first : first + 2]
    check = trace(fn, x, dims=dims).check(batch=3, height=3 * height, width=4 * width)
    assert check, check
