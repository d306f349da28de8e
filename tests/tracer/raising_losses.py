"""Programs that raise: losses and operands of two dtypes.

Each with what an explanation has to say, and parts of good fixes: one of them has to be in it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.tracer.raising_registry import registry

RAISING, raises = registry()
R = RuntimeError
r = torch.randn
ri = torch.randint


@raises(R, suggestion=("logits.transpose(1,2)",))
def ce_bsv():
    def loss(logits, targets):
        return F.cross_entropy(logits, targets)

    return loss, (r(2, 5, 7), ri(0, 7, (2, 5))), {"logits": "batch S vocab", "targets": "batch S"}


@raises(R, suggestion=("logits.transpose(1,2)",))
def ce_module():
    class M(nn.Module):
        def __init__(self, n_embd, vocab):
            super().__init__()
            self.head = nn.Linear(n_embd, vocab)
            self.loss = nn.CrossEntropyLoss()

        def forward(self, x, targets):
            logits = self.head(x)
            return self.loss(logits, targets)

    return M(4, 7), (r(2, 5, 4), ri(0, 7, (2, 5))), {"x": "batch S n_embd", "targets": "batch S"}


@raises(ValueError, suggestion=("targets.flatten()", "targets.view(-1)", "targets.reshape(-1)"))
def ce_flat_logits():
    def loss(logits, targets):
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets)

    return loss, (r(2, 5, 7), ri(0, 7, (2, 5))), {"logits": "batch S vocab", "targets": "batch S"}


@raises(
    R, suggestion=("labels.squeeze(-1)", "labels.squeeze(1)", "labels[:,0]", "labels.flatten()")
)
def ce_column():
    def loss(logits, labels):
        return F.cross_entropy(logits, labels)

    return loss, (r(4, 7), ri(0, 7, (4, 1))), {"logits": "batch n_classes"}


@raises(R, suggestion=("labels.long()", "labels.to(torch.long)"))
def ce_float_target():
    def loss(logits, labels):
        return F.cross_entropy(logits, labels)

    return loss, (r(4, 7), ri(0, 7, (4,)).float()), {"logits": "batch n_classes", "labels": "batch"}


@raises(R, suggestion=("labels.float()", "labels.argmax"))
def ce_onehot():
    def loss(logits, labels):
        return F.cross_entropy(logits, labels)

    return (
        loss,
        (r(4, 7), F.one_hot(ri(0, 7, (4,)), 7)),
        {"logits": "batch n_classes", "labels": "batch n_classes"},
    )


@raises(IndexError, suggestion=("ignore_index=-1",))
def ce_minus_one():
    def loss(logits, labels):
        return F.cross_entropy(logits, labels)

    return (
        loss,
        (r(4, 7), torch.tensor([1, 2, -1, 3])),
        {"logits": "batch n_classes", "labels": "batch"},
    )


@raises(IndexError, "0 … 6", "1 … 7")
def ce_oob():
    def loss(logits, labels):
        return F.cross_entropy(logits, labels)

    return (
        loss,
        (r(4, 7), torch.tensor([1, 2, 7, 3])),
        {"logits": "batch n_classes", "labels": "batch"},
    )


@raises(ValueError, suggestion=("logits.squeeze(-1)", "y.unsqueeze(-1)"))
def bce_column():
    def loss(logits, y):
        return F.binary_cross_entropy_with_logits(logits, y)

    return loss, (r(4, 1), torch.rand(4)), {"logits": "batch _", "y": "batch"}


@raises(R, suggestion=("y.float()", "y.to("))
def bce_ints():
    def loss(logits, y):
        return F.binary_cross_entropy_with_logits(logits, y)

    return loss, (r(4, 3), ri(0, 2, (4, 3))), {"logits": "batch n_labels", "y": "batch n_labels"}


@raises(R, suggestion=("t_att.transpose(1,2)", "t_att.permute(0,2,1,3)", "s_att.transpose(1,2)"))
def mse_layout():
    def loss(s_att, t_att):
        return F.mse_loss(s_att, t_att)

    return (
        loss,
        (r(2, 3, 5, 5), r(2, 5, 3, 5)),
        {"s_att": "batch heads S S", "t_att": "batch S heads S"},
    )


@raises(R, "must have one shape")
def mse_of_two_lengths():
    def loss(pred, target):
        return F.mse_loss(pred, target)

    return loss, (r(2, 6, 1), r(2, 5)), {"pred": "batch S _", "target": "batch T"}


@raises(R, suggestion=("logits.permute(0,3,1,2)",))
def ce_image():
    def loss(logits, mask):
        return F.cross_entropy(logits, mask)

    return (
        loss,
        (r(2, 4, 6, 7), ri(0, 7, (2, 4, 6))),
        {"logits": "batch height width n_classes", "mask": "batch height width"},
    )


@raises(R, suggestion=("logits.log_softmax(-1).transpose(1, 2)",))
def nll():
    def loss(logits, y):
        return F.nll_loss(logits.log_softmax(-1), y)

    return loss, (r(2, 5, 7), ri(0, 7, (2, 5))), {"logits": "batch S vocab", "y": "batch S"}


@raises(R, "float32", suggestion=("frames.float()", "frames.to("))
def conv_uint8():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv2d(3, 4, 3)

        def forward(self, frames):
            return self.c(frames)

    return M(), (ri(0, 255, (2, 3, 8, 8), dtype=torch.uint8),), "batch chan height width"


@raises(R, suggestion=("x.to(", "x.half()", "w.to", "w.float()"))
def half_linear():
    class M(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.c = nn.Linear(d, 4)

        def forward(self, x):
            return self.c(x.half())

    return M(6), (r(2, 5, 6),), "batch S d"


@raises(R, suggestion=("q.half().to(torch.float32)",))
def sdpa_mixed():
    def a(q, k, v):
        return F.scaled_dot_product_attention(q.half(), k, v)

    return a, (r(2, 3, 4, 8),) * 3, dict.fromkeys("qkv", "batch heads S H")


@raises(R, suggestion=("b.to", "b.half", "a.to", "a.float"))
def einsum_mixed():
    def a(a, b):
        return torch.einsum("bhid,bhjd->bhij", a, b)

    return a, (r(2, 3, 4, 8).double(), r(2, 3, 4, 8)), dict.fromkeys("ab", "batch heads S H")


@raises(R, suggestion=("x.float()", "x.to("))
def layernorm_int():
    class M(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.n = nn.LayerNorm(d)

        def forward(self, x):
            return self.n(x)

    return M(6), (ri(0, 9, (2, 5, 6)),), "batch S d"


@raises(R, suggestion=("bias.to", "bias.half", "x.float", "x.to"))
def baddbmm_half():
    def a(bias, q, k):
        return torch.baddbmm(bias, q, k.transpose(1, 2))

    return (
        a,
        (r(6, 5, 5).half(), r(6, 5, 4), r(6, 5, 4)),
        {"bias": "bh S S", "q": "bh S H", "k": "bh S H"},
    )


@raises(R, suggestion=("k.transpose", "k.mT"))
def baddbmm_untransposed():
    def a(bias, q, k):
        return torch.baddbmm(bias, q, k, beta=1.0, alpha=0.5)

    return a, (r(6, 5, 5), r(6, 5, 4), r(6, 5, 4)), {"bias": "bh S S", "q": "bh S H", "k": "bh S H"}


@raises(R)
def addmm_bias():
    def a(b, x, w):
        return torch.addmm(b, x, w)

    return a, (r(5), r(3, 4), r(6, 4)), {"b": "out", "x": "tokens D", "w": "out2 D"}


@raises(R, suggestion=("dims=([2],[0])", "dims=1"))
def tensordot():
    def a(x, w):
        return torch.tensordot(x, w, dims=([2], [1]))

    return a, (r(3, 4, 5), r(5, 6)), {"x": "batch S D", "w": "D E"}


@raises(R, suggestion=("labels.long()", "to(torch.int64)", "to(torch.long)"))
def onehot_float():
    def a(labels):
        return F.one_hot(labels, 4)

    return a, (torch.zeros(2, 5),), {"labels": "batch S"}
