"""Reshapes in plain numbers: warned of, in words, where nothing can be meant by them."""

import pytest
import torch
import torch.nn.functional as F

from attnlib import trace

RIGHT = {
    "heads": (lambda x: x.view(2, 6, 3, 4).transpose(1, 2), (2, 6, 12), "batch S n_embd"),
    "merged": (
        lambda x: x.view(2, 6, 3, 4).transpose(1, 2).transpose(1, 2).reshape(2, 6, 12),
        (2, 6, 12),
        "batch S n_embd",
    ),
    "as many heads as tokens": (
        lambda x: x.view(2, 6, 6, 2).transpose(1, 2), (2, 6, 12), "batch S n_embd",
    ),
    "frames in pairs, 12 of 6 as 6 of 12": (
        lambda x: x.view(2, 6, 12), (2, 12, 6), "batch S n_embd",
    ),
    "tokens in halves, 6 of 12 as 12 of 6": (
        lambda x: x.view(2, 12, 6), (2, 6, 12), "batch S n_embd",
    ),
    "windows": (lambda x: x.view(6, 2, 12), (2, 6, 12), "batch S n_embd"),
    "windows as many as samples": (lambda x: x.view(2, 2, 3, 12), (2, 6, 12), "batch S n_embd"),
    "flat tokens": (lambda x: x.view(12, 12), (2, 6, 12), "batch S n_embd"),
    "tokens cut anew into more rows": (lambda ids: ids.view(6, 4), (4, 6), "batch S"),
    "rows shifted, without a batch": (
        lambda r: F.pad(r, (1, 0)).view(3, 6, 5)[:, 1:], (3, 5, 5), "heads S S",
    ),
    "tokens cut anew": (lambda ids: ids.view(5, 2), (2, 5), "batch S"),
    "a stream cut anew": (lambda x: x.reshape(3, 4, 12), (2, 6, 12), "batch S n_embd"),
    "layers and directions": (lambda h: h.view(2, 2, 3, 8), (4, 3, 8), "layers batch n_embd"),
    "rows shifted": (
        lambda r: F.pad(r, (1, 0)).view(2, 3, 6, 5)[:, :, 1:], (2, 3, 5, 5), "batch heads S S",
    ),
    "rows shifted, as many relative places": (
        lambda r: F.pad(r, (1, 0)).view(2, 3, 10, 5)[:, :, 1:], (2, 3, 5, 9), "batch heads S R",
    ),
    "rows shifted, flat": (
        lambda r: F.pad(F.pad(r, (0, 1)).flatten(2), (0, 4)).view(2, 3, 6, 9)[:, :, :5, 4:],
        (2, 3, 5, 9),
        "batch heads S R",
    ),
    "rows shifted, given longer by one": (
        lambda r: r.reshape(2, 3, 6, 5)[:, :, 1:], (2, 3, 5, 6), "batch heads Sq Sk",
    ),
    "rows shifted, the places without a name": (
        lambda r: r.reshape(2, 3, 6, 5)[:, :, 1:], (2, 3, 5, 6), "batch heads S _",
    ),
    "rows shifted, made on the way": (
        lambda r: (r @ torch.ones(5, 6)).reshape(2, 3, 6, 5)[:, :, 1:], (2, 3, 5, 5), "b heads S S",
    ),
    "a picture into rows": (lambda x: x.view(2, 3, 16).mT, (2, 3, 4, 4), "batch c height width"),
    "patches": (
        lambda x: x.view(2, 3, 2, 2, 3, 2).permute(0, 2, 4, 3, 5, 1).reshape(2, 6, 12),
        (2, 3, 4, 6),
        "batch c height width",
    ),
    "features before tokens": (
        lambda x: x.mT.reshape(2, 3, 4, 6).mT, (2, 6, 12), "batch S n_embd",
    ),
    "queries in groups": (
        lambda q: q.view(2, 2, 3, 5, 4).sum(2), (2, 6, 5, 4), "batch heads S H",
    ),
    "a library's own": (
        lambda x: F.pixel_shuffle(x, 2), (2, 12, 3, 5), "batch c height width",
    ),
    "groups of a norm": (lambda x: F.group_norm(x, 3), (2, 12, 5), "batch c S"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_reshape_that_may_be_meant_is_not_warned_of(name):
    code, shape, dims = RIGHT[name]
    for given in (dims, None):
        assert trace(code, torch.randn(shape), dims=given).warnings == []


def said(code, shape, dims):
    (warning,) = trace(code, torch.randn(shape), dims=dims).warnings
    return warning.message


def test_numbers_are_told_by_the_names_of_the_dims_that_they_are_the_sizes_of():
    assert said(lambda x: x.view(2, 3, 5, 4) * 2, (2, 5, 12), "batch S n_embd") == (
        "this view puts pieces of n_embd under the name S: the shape fits, the numbers are in "
        "other places; leave the axes in their order, split the one that is made of several, and "
        "transpose the result"
    )
    assert said(lambda x: x.view(5, 2, 12) * 2, (2, 5, 12), "batch S n_embd") == (
        "this view puts pieces of batch under the name S: the shape fits, the numbers are in "
        "other places; move the axes with transpose first"
    )


def test_an_axis_without_a_name_is_told_by_its_size():
    def swapped(x):
        return x.view(x.size(1), x.size(0), -1) * 2

    assert said(swapped, (2, 5, 12), None) == (
        "this view puts an axis of 2 in the place of one of 5: the shape fits, the numbers are in "
        "other places; move the axes with transpose first"
    )


def test_where_two_axes_are_of_one_size_a_number_is_neither():
    def cut(x):
        return x.view(2, 3, 12, 4) * 2

    assert trace(cut, torch.randn(2, 12, 12), dims="batch S n_embd").warnings == []
    assert trace(cut, torch.randn(2, 12, 12), dims="batch S _").warnings == []


def test_what_nobody_calls_tokens_or_features_may_be_turned_round():
    def turned(x):
        return x.view(2, 3, 6, 4) * 2

    assert trace(turned, torch.randn(2, 3, 4, 6), dims="batch channels rows columns").warnings == []
