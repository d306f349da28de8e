"""Programs that raise, found by a stranger: their notes said what was untrue, or lost a part.

Kept as in ``misled_raising``; a sample without a meaning may have no correction at all.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

PASTED: dict[str, tuple] = {}
SILENT: dict[str, tuple] = {}
TOLD: dict[str, tuple] = {}

WIDE = [(2, 5, 24)]
DIMS = "batch S n_embd"
HEADS = "batch heads S H"
FOUR = [(2, 3, 5, 8)] * 2


def sample(shapes, dims, meant=None, says=(), never=()):
    def keep(program):
        if meant is None:
            SILENT[program.__name__] = (program, shapes, dims)
        else:
            PASTED[program.__name__] = (program, meant, shapes, dims)
        if says or never:
            TOLD[program.__name__] = (program, shapes, dims, says, never)
        return program

    return keep


# One tensor stands twice in a call: one of the two is changed, and the call stays.


@sample(WIDE, DIMS, lambda x: torch.baddbmm(torch.ones(2, 5, 5), x, x.mT))
def added_to_a_product_with_itself(x):
    return torch.baddbmm(torch.ones(2, 5, 5), x, x)


@sample([(4, 6)], None, lambda w: torch.addmm(torch.ones(4, 4), w, w.mT))
def added_to_a_matrix_times_itself(w):
    return torch.addmm(torch.ones(4, 4), w, w)


@sample(WIDE, DIMS, lambda x: torch.baddbmm(input=torch.ones(2, 5, 5), batch1=x, batch2=x.mT))
def added_by_keyword(x):
    return torch.baddbmm(input=torch.ones(2, 5, 5), batch1=x, batch2=x)


# Sums of a product that take matrices, or batches of them, and nothing else.


@sample(
    [*WIDE, (24, 16), (16,)], {"x": DIMS}, lambda x, w, b: b + x @ w,
    ["addmm takes tensors of exactly 2 axes, but x has 3"], ["must be equal"],
)  # fmt: skip
def a_batch_of_matrices(x, w, b):
    return torch.addmm(b, x, w)


@sample(
    [*FOUR, (2, 3, 5, 5)], dict.fromkeys("qk", HEADS), lambda q, k, m: m + q @ k.mT,
    ["baddbmm takes tensors of exactly 3 axes, but q has 4"], ["must be equal"],
)  # fmt: skip
def heads_in_front(q, k, m):
    return torch.baddbmm(m, q, k.mT)


@sample([*WIDE, (24, 16), (16,)], {"x": DIMS}, None, ["exactly 2 axes"], ["must be equal"])
def a_part_of_the_product(x, w, b):
    return torch.addmm(b, x, w, alpha=0.5)


# What stands in an equation and is no letter.


@sample(
    WIDE, DIMS, lambda x: torch.einsum("bsd,btd->bst", x, x),
    ["-> stands before the result, but bsd,btd-bst has -"], ["names 7 axes"],
)  # fmt: skip
def a_dash_for_an_arrow(x):
    return torch.einsum("bsd,btd-bst", x, x)


@sample(WIDE, DIMS, lambda x: torch.einsum("bsd, btd -> bst", x, x), ["has =>"], ["axes, but"])
def another_arrow(x):
    return torch.einsum("bsd, btd => bst", x, x)


@sample(WIDE, DIMS, lambda x: torch.einsum("...sd,...td->...st", x, x), ["has -"], ["axes, but"])
def a_dash_after_dots(x):
    return torch.einsum("...sd,...td-...st", x, x)


@sample(WIDE, DIMS, lambda x: torch.einsum("bsd,btd->bst", x, x), ["has ;"], ["1 terms"])
def a_semicolon_between_terms(x):
    return torch.einsum("bsd;btd->bst", x, x)


@sample(WIDE, DIMS, None, ["b1s has 1, which is no letter"], ["names 3 axes", "stands in no"])
def a_digit_in_a_term(x):
    return torch.einsum("bsd,btd->b1s", x, x)


# Sizes of which two are left to torch.


@sample(
    WIDE, DIMS, None, ["-1 stands 2 times in the new shape: only one size can be left"],
    ["a multiple of"],
)  # fmt: skip
def two_sizes_left_out(x):
    return x.view(-1, -1, 8)


@sample(WIDE, DIMS, lambda x: x.reshape(2, 5, 3, 8), ["only one size"], ["a multiple of"])
def all_but_heads_left_out(x):
    return x.reshape(-1, -1, 3, 8)


@sample(WIDE, DIMS, None, ["only one size"], ["does not split into"])
def both_parts_left_out(x):
    return x.unflatten(-1, (-1, -1))


# A layer is never run backwards, nor a weight without the bias that was given beside it.


class Between(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(16, 24)
        self.kernel = nn.Parameter(torch.randn(24, 16))

    def forward(self, x):
        return self.proj(x)


LAYER = Between()


@sample(WIDE, DIMS, None, ["the layer reads 16 features"], ["try:"])
def in_and_out_exchanged(x):
    return LAYER.proj(x)


@sample(WIDE, DIMS, None, (), ["try:"])
def a_weight_of_a_layer(x):
    return F.linear(x, LAYER.proj.weight)


@sample([*WIDE, (24, 16), (16,)], {"x": DIMS}, lambda x, w, b: x @ w + b)
def a_kernel_and_its_bias(x, w, b):
    return F.linear(x, w, b)


@sample([*WIDE, (24, 16), (24,)], {"x": DIMS}, None)
def a_kernel_and_a_bias_of_its_input(x, w, b):
    return F.linear(x, w, b)


@sample(WIDE, DIMS, lambda x: x @ LAYER.kernel)
def a_kernel_of_its_own(x):
    return F.linear(x, LAYER.kernel)


# What is made for each head is not made for each sample.


@sample(WIDE, DIMS, None, ["axis -3"], ["try:"])
def a_bias_of_heads_on_scores_without(x):
    S = x.shape[1]
    scores = x @ x.mT
    return scores + torch.ones(3, S, S)


@sample([(2, 5, 5), (3, 5, 5)], {"s": "batch S S", "bias": "heads S S"},
        lambda s, bias: s.unsqueeze(1) + bias)  # fmt: skip
def a_bias_of_heads_by_name(s, bias):
    return s + bias


# Names before the = are what the line makes; what they held before does not go in.

q, k, v = torch.zeros(3, 7, 9)
LIN = nn.Linear(24, 48)


@sample(WIDE, DIMS, lambda x: LIN(x).chunk(3, dim=-1)[0], ["x (batch=2, S=5, n_embd=24)"],
        ["q (7, 9)", "k (7, 9)", "v (7, 9)"])  # fmt: skip
def what_names_held_before(x):
    global q, k, v
    q, k, v = LIN(x).split(24, dim=-1)
    return q


@sample(WIDE, DIMS, None, ["x (batch=2, S=5, n_embd=24)"], ["a (2", "b (2"])
def what_a_line_before_made(x):
    a = b = x * 2
    a, b = x.shape
    return a + b


# Small things.


@sample(WIDE, DIMS, lambda x: F.cross_entropy(x.mT, torch.ones(2, 5).long()),
        ["targets are (batch, n_embd) = (2, 24); torch.ones(2, 5).long() is (2, 5)"],
        ["(2, 5) = (2, 5)"])  # fmt: skip
def targets_without_names(x):
    return F.cross_entropy(x, torch.ones(2, 5).long())


@sample(WIDE, DIMS, None, ["x has 3 axes"], ["try:"])
def an_axis_to_squeeze_that_is_not_there(x):
    return x.squeeze(5)


@sample([(2, 1, 5, 8)], HEADS, lambda x: x.squeeze(1), ["x has 4 axes"])
def the_only_axis_of_one_is_elsewhere(x):
    return x.squeeze(4)


@sample(WIDE, DIMS, lambda x: x.view(x.size()), ["x.size is a method", "tuple of ints size"])
def a_method_for_its_result(x):
    return x.view(x.size)


@sample(WIDE, DIMS, lambda x: x.reshape(x.numel()), ["x.numel is a method"], ["numbers, batch"])
def a_count_that_is_not_called(x):
    return x.reshape(x.numel)


@sample(WIDE, DIMS, None, ["x.size is a method"], ["240 numbers"])
def a_method_among_sizes(x):
    return x.view(x.shape[0], x.size)
