"""Traces for the player's tests, built row by row from plain PyTorch, without the tracer."""

import math
from typing import Any

import torch

from attnlib import examples

ROLES = {
    "batch": "batch",
    "S": "S",
    "n_embd": "n_embd",
    "H": "H",
    "heads": "heads",
    "heads*H": None,
    "pixels": None,
}


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return (
            float(f"{value:.6g}")
            if math.isfinite(value)
            else {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(value)]
        )
    return value


def info(name: str, tensor: torch.Tensor, dims: str, tiny: int = 256) -> dict:
    return {
        "name": name,
        "shape": list(tensor.shape),
        "dims": dims.split(),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": "cpu",
        "values": plain(tensor.tolist()) if tensor.numel() <= tiny else None,
    }


class Rows:
    """Collect rows; an input is named by the row, or by `know`, that made it."""

    def __init__(self, title: str, tokens: list[str] | None = None, tiny: int = 256):
        self.title, self.tokens, self.tiny = title, tokens, tiny
        self.steps: list[dict] = []
        self.tensors: dict[str, dict] = {}

    def know(self, name: str, tensor: torch.Tensor, dims: str) -> None:
        self.tensors[name] = info(name, tensor, dims, self.tiny)

    def row(
        self,
        name: str,
        op: str,
        tensor: Any,
        dims: Any,
        inputs: list[str],
        code: str,
        kind: str = "new",
        **params: Any,
    ) -> None:
        if isinstance(tensor, tuple):
            names = name.split(", ")
            output: Any = [info(n, t, dims, self.tiny) for n, t in zip(names, tensor, strict=True)]
            self.tensors |= dict(zip(names, output, strict=True))
        elif tensor is None:
            output = None
        else:
            output = self.tensors[name] = info(name, tensor, dims, self.tiny)
        self.steps.append(
            {
                "index": len(self.steps) + 1,
                "file": "cell 3",
                "line": len(self.steps) + 1,
                "code": code,
                "variable": name,
                "op": op,
                "inputs": [self.tensors[n] for n in inputs],
                "output": output,
                "params": params,
                "module": None,
                "kind": kind,
                "note": params.pop("note", ""),
                "steps": [],
            }
        )

    def trace(self) -> dict:
        tensors = [
            t
            for s in self.steps
            for t in [
                *s["inputs"],
                *(s["output"] if isinstance(s["output"], list) else [s["output"]]),
            ]
            if t
        ]
        sizes = {
            dim: size
            for t in tensors
            for dim, size in zip(t["dims"], t["shape"], strict=True)
            if ROLES.get(dim)
        }
        return {
            "format": "attnlib-trace",
            "version": 1,
            "title": self.title,
            "torch": torch.__version__,
            "roles": ROLES,
            "sizes": sizes,
            "tokens": self.tokens,
            "dropped": 0,
            "steps": self.steps,
            "warnings": [],
            "error": None,
        }


def head() -> tuple[dict, dict[str, torch.Tensor]]:
    """The running example: a causal head on batch 2, S 3, n_embd 5, H 4, in its eleven rows."""
    x, (w_q, w_k, w_v) = examples.sequences(), examples.head_weights()
    rows = Rows("SingleHeadAttention", examples.TOKENS)
    for name, weight in (("query.weight", w_q), ("key.weight", w_k), ("value.weight", w_v)):
        rows.know(name, weight, "H n_embd")
    rows.row("x", "input", x, "batch S n_embd", [], "def forward(self, x):", "input")
    t = {"x": x}
    for name, weight, module in (("q", w_q, "query"), ("k", w_k, "key"), ("v", w_v, "value")):
        t[name] = x @ weight.T
        rows.row(
            name,
            "linear",
            t[name],
            "batch S H",
            ["x", f"{module}.weight"],
            f"{name} = self.{module}(x)",
        )
    t["k transposed"] = t["k"].transpose(-2, -1)
    rows.row(
        "k transposed",
        "transpose",
        t["k transposed"],
        "batch H S",
        ["k"],
        "k.transpose(-2, -1)",
        "view",
        dim0=1,
        dim1=2,
    )
    t["scores"] = t["q"] @ t["k transposed"]
    rows.row(
        "scores",
        "matmul",
        t["scores"],
        "batch S S",
        ["q", "k transposed"],
        "scores = q @ k.transpose(-2, -1)",
    )
    t["scaled"] = t["scores"] / 2
    rows.row(
        "scaled",
        "scale_scores",
        t["scaled"],
        "batch S S",
        ["scores"],
        "scaled = scale_scores(scores, self.head_size)",
        head_size=4,
    )
    t["mask"] = torch.ones(3, 3, dtype=torch.bool).tril()
    rows.row("mask", "causal_mask", t["mask"], "S S", [], "mask = causal_mask(S, device=x.device)")
    t["masked"] = t["scaled"].masked_fill(~t["mask"], float("-inf"))
    rows.row(
        "masked",
        "mask_scores",
        t["masked"],
        "batch S S",
        ["scaled", "mask"],
        "masked = mask_scores(scaled, mask)",
    )
    t["weights"] = t["masked"].softmax(-1)
    rows.row(
        "weights",
        "attention_weights",
        t["weights"],
        "batch S S",
        ["masked"],
        "weights = attention_weights(masked)",
    )
    t["output"] = t["weights"] @ t["v"]
    rows.row("output", "matmul", t["output"], "batch S H", ["weights", "v"], "output = weights @ v")
    return rows.trace(), t


def scores() -> tuple[dict, dict[str, torch.Tensor]]:
    """Transpose and matmul for (2, 3, 4): the mismatch, the swap of strides, the product."""
    q = torch.tensor(
        [
            [[1.0, -2, 0.5, 3], [0, 1, -1, 2], [2, 0.5, 1, -1]],
            [[0.5, 1, 2, -2], [1, 0, 1, 3], [-1, 2, 0, 1]],
        ]
    )
    k = torch.tensor(
        [
            [[2.0, 1, 0, -1], [1, 3, -2, 0.5], [0, -1, 1, 2]],
            [[1, 1, -1, 0], [2, 0, 0.5, 1], [-2, 1, 3, 0]],
        ]
    )
    rows = Rows("scores")
    rows.row("q", "input", q, "batch S H", [], "def scores(q, k):", "input")
    rows.row("k", "input", k, "batch S H", [], "def scores(q, k):", "input")
    rows.row(
        "q @ k",
        "matmul",
        None,
        "",
        ["q", "k"],
        "q @ k",
        "error",
        note="the inner dims differ: H = 4 and S = 3",
    )
    kt = k.transpose(-2, -1)
    rows.row(
        "kt",
        "transpose",
        kt,
        "batch H S",
        ["k"],
        "kt = k.transpose(-2, -1)",
        "view",
        dim0=1,
        dim1=2,
    )
    rows.row("scores", "matmul", q @ kt, "batch S S", ["q", "kt"], "return q @ kt")
    return rows.trace(), {"q": q, "k": k, "kt": kt, "scores": q @ kt}


def heads() -> tuple[dict, dict[str, torch.Tensor]]:
    """Splitting and merging two heads: view, transpose, contiguous, and the way back."""
    q = torch.tensor(
        [[[round(0.1 * (7 * s + 3 * e) % 2.3 - 1.1, 1) for e in range(8)] for s in range(3)]]
    )
    rows = Rows("heads", examples.TOKENS[:3])
    rows.row("q", "input", q, "batch S n_embd", [], "def split(q):", "input")
    t = {"q": q, "parts": q.view(1, 3, 2, 4)}
    rows.row(
        "parts",
        "view",
        t["parts"],
        "batch S heads H",
        ["q"],
        "parts = q.view(batch, S, heads, H)",
        "view",
        shape=[1, 3, 2, 4],
    )
    t["apart"] = t["parts"].transpose(1, 2)
    rows.row(
        "apart",
        "transpose",
        t["apart"],
        "batch heads S H",
        ["parts"],
        "apart = parts.transpose(1, 2)",
        "view",
        dim0=1,
        dim1=2,
    )
    t["own"] = t["apart"].contiguous()
    rows.row(
        "own",
        "contiguous",
        t["own"],
        "batch heads S H",
        ["apart"],
        "own = apart.contiguous()",
        "copy",
    )
    t["back"] = t["own"].transpose(1, 2)
    rows.row(
        "back",
        "transpose",
        t["back"],
        "batch S heads H",
        ["own"],
        "back = own.transpose(1, 2)",
        "view",
        dim0=1,
        dim1=2,
    )
    t["merged"] = t["back"].reshape(1, 3, 8)
    rows.row(
        "merged",
        "reshape",
        t["merged"],
        "batch S n_embd",
        ["back"],
        "merged = back.reshape(batch, S, n_embd)",
        "copy",
        shape=[1, 3, 8],
    )
    t["straight"] = q.view(1, 2, 3, 4)
    rows.row(
        "straight",
        "view",
        t["straight"],
        "batch heads S H",
        ["q"],
        "straight = q.view(batch, heads, S, H)",
        "view",
        shape=[1, 2, 3, 4],
    )
    return rows.trace(), t


def merged() -> tuple[dict, dict[str, torch.Tensor]]:
    """The library's own two stages: heads split off and merged back."""
    q = torch.arange(48.0).view(2, 3, 8) / 10
    t = {"q": q, "heads": q.view(2, 3, 2, 4).transpose(1, 2)}
    t["back"] = t["heads"].transpose(1, 2).reshape(2, 3, 8)
    rows = Rows("merged")
    rows.row("q", "input", q, "batch S n_embd", [], "def both(q):", "input")
    code = "heads = split_heads(q, 2)"
    rows.row("heads", "split_heads", t["heads"], "batch heads S H", ["q"], code, "view", n_heads=2)
    code = "back = merge_heads(heads)"
    rows.row("back", "merge_heads", t["back"], "batch S n_embd", ["heads"], code, "copy")
    return rows.trace(), t


def big() -> dict:
    """Shapes too big for their numbers: a head on (2, 8, 64) with H 16."""
    x, weight = torch.zeros(2, 8, 64), torch.zeros(16, 64)
    rows = Rows("big")
    rows.know("query.weight", weight, "H n_embd")
    rows.row("x", "input", x, "batch S n_embd", [], "def forward(self, x):", "input")
    rows.row("q", "linear", x @ weight.T, "batch S H", ["x", "query.weight"], "q = self.query(x)")
    rows.row("k", "linear", x @ weight.T, "batch S H", ["x", "query.weight"], "k = self.key(x)")
    rows.tensors["k"]["values"] = rows.tensors["q"]["values"] = None
    kt = (x @ weight.T).transpose(-2, -1)
    rows.row(
        "k transposed",
        "transpose",
        kt,
        "batch H S",
        ["k"],
        "k.transpose(-2, -1)",
        "view",
        dim0=1,
        dim1=2,
    )
    rows.tensors["k transposed"]["values"] = None
    rows.row(
        "scores",
        "matmul",
        torch.zeros(2, 8, 8),
        "batch S S",
        ["q", "k transposed"],
        "scores = q @ k.transpose(-2, -1)",
    )
    return rows.trace()


def kinds() -> dict:
    """One row of every other kind: sums, pieces, joins, a mask by fill, a norm, an error."""
    x = torch.tensor([[0.5, -1.0, 2.0, 1.5], [1.0, 0.0, -0.5, 2.5], [3.0, -2.0, 1.0, 0.5]])
    rows = Rows("kinds")
    rows.row("x", "input", x, "S H", [], "def kinds(x):", "input")
    rows.row("y", "add", x + x, "S H", ["x", "x"], "y = x + x")
    rows.row("half", "mul", x * 0.5, "S H", ["x"], "half = x * 0.5", other=0.5)
    rows.row("a, b", "chunk", x.chunk(2, -1), "S 2", ["x"], "a, b = x.chunk(2, -1)", "view", dim=1)
    rows.row(
        "c",
        "cat",
        torch.cat(x.chunk(2, -1), -1),
        "S H",
        ["a", "b"],
        "c = torch.cat([a, b], -1)",
        dim=1,
    )
    rows.row("total", "sum", x.sum(-1), "S", ["x"], "total = x.sum(-1)", dim=1)
    rows.row("part", "getitem", x[:2, :2], "2 2", ["x"], "part = x[:2, :2]", "view")
    blocked = torch.ones(3, 4, dtype=torch.bool).triu(1)
    rows.row("blocked", "triu", blocked, "S H", [], "blocked = torch.ones(3, 4).triu(1).bool()")
    rows.row(
        "filled",
        "masked_fill",
        x.masked_fill(blocked, -1e9),
        "S H",
        ["x", "blocked"],
        "filled = x.masked_fill(blocked, -1e9)",
        value=-1e9,
    )
    rows.row("p", "softmax", x.softmax(-1), "S H", ["x"], "p = x.softmax(-1)", dim=1)
    odd = torch.tensor([[float("nan"), float("inf"), float("-inf"), 123456.0]])
    rows.row("odd", "input", odd, "1 4", [], "odd = …", "input")
    rows.row("m", "matmul", x @ x.T, "S S", ["x", "x"], "m = x @ x.T")
    rows.steps.pop()
    rows.row("n", "layer_norm", torch.layer_norm(x, (4,)), "S H", ["x"], "n = norm(x)")
    rows.row(
        "q",
        "view",
        None,
        "",
        ["x"],
        "x.T.view(12)",
        "error",
        note="view needs the numbers in order; use reshape",
    )
    return rows.trace()
