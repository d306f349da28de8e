"""Find the weights in any attention module, and compute by the book what it should give."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import faults
from .pattern import is_causal, sees_part
from .subject import Law, Subject, first_difference
from .verdict import alike

NAMES = {
    "q": r"q|query|w_?q|q_proj|to_q|query_proj|q_linear|linear_q|proj_q|queries",
    "k": r"k|key|w_?k|k_proj|to_k|key_proj|k_linear|linear_k|proj_k|keys",
    "v": r"v|value|w_?v|v_proj|to_v|value_proj|v_linear|linear_v|proj_v|values",
    "qkv": r"qkv|c_attn|in_proj|to_qkv|w_?qkv|qkv_proj",
    "o": r"o|out|proj|c_proj|o_proj|out_proj|to_out|w_?o|output|fc_out|projection|dense|linear_o",
}
_HEADS = ("n_heads", "num_heads", "num_attention_heads", "n_head", "heads", "h", "nhead")
UNTOLD = "its number of heads cannot be told; give n_heads"


Part = tuple[Tensor, Tensor | None]


@dataclass
class Weights:
    """The weights of one attention: each (out, in), biases or None; out may be missing.

    Where the number of heads is not told for certain, others are tried too.
    """

    q: Part
    k: Part
    v: Part
    o: Part | None
    heads: int
    others: tuple[int, ...] = ()
    told: bool = True  # the number of heads, by an argument or a usual name
    fused: Part | None = None  # the one weight of all three, where there are as many of each

    def by_head(self) -> Weights | None:
        """Cut the fused weight head by head: query, key, value of the first, then of the next."""
        if self.fused is None or len(self.fused[0]) % (3 * self.heads):
            return None
        weight, bias = self.fused
        cut = [t.unflatten(0, (self.heads, 3, -1)) for t in (weight, bias) if t is not None]
        parts = [tuple(t[:, i].flatten(0, 1) for t in cut) for i in range(3)]
        q, k, v = ((part[0], part[1] if bias is not None else None) for part in parts)
        return replace(self, q=q, k=k, v=v, fused=None)


BY_HEAD = "with the fused weight laid out head by head, query, key and value of each in turn"


def parity(s: Subject) -> Law:
    """Compare with the book's pipeline; with reach left out, over the tokens that are seen."""
    name, says = "parity", "the same numbers as the book's pipeline with the module's own weights"
    weights = find(s.module, s.n_heads)
    if isinstance(weights, str):
        return Law(name, None, says, f"not checked: {weights}")
    causal, part = is_causal(s), sees_part(s)
    seen = s.reacts() if part and "reach" in s.without else None
    s.fused = weights.fused is not None
    for heads in weights.others:
        tried = replace(weights, heads=heads)
        if _right(tried, s, causal, seen):
            return Law(name, True, says, note=f"with n_heads = {heads}, found by trying")
        if (other := tried.by_head()) and _right(other, s, causal, seen):
            note = f"with n_heads = {heads}, found by trying, and {BY_HEAD}"
            return Law(name, True, says, note=note)
    try:
        wanted = expected(weights, s.x, causal, seen)
    except RuntimeError as error:
        reason = f"its weights do not fit ({error})" if weights.told else UNTOLD
        return Law(name, None, says, f"not checked: {reason}")
    if _same(s.output, wanted):
        return Law(name, True, says)
    other = weights.by_head() if weights.told else None
    if other and _right(other, s, causal, seen):
        return Law(name, True, says, note=BY_HEAD)
    if not weights.told:
        return Law(name, None, says, f"not checked: {UNTOLD}")
    both = (mistake(weights, s.x, kind, s.output) for kind in (causal, not causal))
    s.mistake = next(filter(None, both), "")
    known = f"; these are the numbers of {s.mistake}" if s.mistake else ""
    if not s.mistake and (place := s.knows_places()):
        return Law(name, None, says, f"not checked: it knows positions ({place})")
    s.right_where_seen = part and _right(weights, s, causal, s.reacts())
    return Law(name, False, says, f"{s.sizes()}: {first_difference(s.output, wanted)}{known}")


def _same(yours: Tensor, wanted: Tensor) -> bool:
    return wanted.shape == yours.shape and bool(alike(yours, wanted).all())


def _right(weights: Weights, s: Subject, causal: bool, seen: Tensor | None) -> bool:
    try:
        return _same(s.output, expected(weights, s.x, causal, seen))
    except RuntimeError:
        return False  # no such number of heads


def find(module: nn.Module, n_heads: int | None) -> Weights | str:
    """Return the module's weights, or why they cannot be told."""
    inner = [m for m in module.modules() if isinstance(m, nn.MultiheadAttention)]
    if len(inner) == 1:
        return _of_torch(module, inner[0])
    roles: dict[str, list[nn.Linear]] = {role: [] for role in NAMES}
    for path, layer in module.named_modules():
        last = next((p for p in reversed(path.split(".")) if not p.isdigit()), "").lower()
        if isinstance(layer, nn.Linear):
            for role, names in NAMES.items():
                if re.fullmatch(names, last):
                    roles[role].append(layer)
    parts = _parts(roles)
    if isinstance(parts, str):
        return parts
    used = {id(p) for layers in roles.values() for layer in layers for p in layer.parameters()}
    others = [name for name, p in module.named_parameters() if id(p) not in used]
    if others:
        return f"it has other parameters too, such as {others[0]}"
    many, width = len(roles["q"]), len(parts[0][0])
    heads = n_heads or (many if many > 1 else _attribute(module, _HEADS))
    if n_heads is None and heads == width:
        heads = None  # nobody makes heads of one feature: this is the size of a head, as in self.h
    # Under a name of the reader's own the number of heads is found by trying, if all else is right.
    tried = () if heads else tuple(h for h in range(2, width) if width % h == 0)
    layer = roles["o"][0] if roles["o"] else None
    out = (layer.weight, layer.bias) if layer else None
    told = heads is not None or layer is None
    fused = _fused(roles) if len(parts[0][0]) == len(parts[1][0]) else None
    return Weights(parts[0], parts[1], parts[2], out, heads or 1, tried, told, fused)


def _fused(roles: dict[str, list[nn.Linear]]) -> Part | None:
    if len(roles["qkv"]) != 1 or roles["q"]:
        return None
    layer = roles["qkv"][0]
    return layer.weight, layer.bias


def _of_torch(module: nn.Module, layer: nn.MultiheadAttention) -> Weights | str:
    others = sum(1 for _ in module.parameters()) - sum(1 for _ in layer.parameters())
    if others or layer.in_proj_weight is None or layer.bias_k is not None:
        return "it holds more than one plain nn.MultiheadAttention"
    bias = layer.in_proj_bias
    biases = bias.chunk(3) if bias is not None else (None,) * 3
    q, k, v = zip(layer.in_proj_weight.chunk(3), biases, strict=True)
    return Weights(q, k, v, (layer.out_proj.weight, layer.out_proj.bias), layer.num_heads)


def _parts(roles: dict[str, list[nn.Linear]]) -> list[Part] | str:
    """Join the layers of each role; one fused layer is cut into three."""
    if len(roles["qkv"]) == 1 and not roles["q"]:
        layer = roles["qkv"][0]
        rows = len(layer.weight)
        queries = roles["o"][0].in_features if len(roles["o"]) == 1 else rows // 3
        keys = (rows - queries) // 2  # fewer than queries where heads share keys
        if keys < 1 or queries + 2 * keys != rows:
            return "its fused layer cannot be cut into query, key and value"
        cut = (queries, keys, keys)
        biases = layer.bias.split(cut) if layer.bias is not None else (None,) * 3
        return list(zip(layer.weight.split(cut), biases, strict=True))
    if not roles["q"] or len({len(roles[r]) for r in "qkv"}) > 1 or len(roles["o"]) > 1:
        return "its query, key and value layers cannot be told by their names"
    parts: list[Part] = []
    for role in "qkv":
        weight = torch.cat(tuple(layer.weight for layer in roles[role]))
        biased = roles[role][0].bias is not None
        bias = torch.cat(tuple(layer.bias for layer in roles[role])) if biased else None
        parts.append((weight, bias))
    return parts


def _attribute(module: nn.Module, names: tuple[str, ...]) -> int | None:
    for part in module.modules():
        for name in names:
            value = getattr(part, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def expected(
    weights: Weights, x: Tensor, causal: bool, seen: Tensor | None = None, *, tiled: bool = False
) -> Tensor:
    """Compute the output by torch's own kernel; fewer key heads serve groups of query heads.

    seen, bool (S, S), says what a query sees in the place of causal.
    """
    width = weights.q[0].shape[0] // weights.heads
    q, k, v = (
        F.linear(x, *part).unflatten(-1, (-1, width)).transpose(1, 2)
        for part in (weights.q, weights.k, weights.v)
    )
    group = q.shape[1] // k.shape[1]
    if tiled:
        k, v = k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1)
    else:
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    hides = causal and seen is None
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=hides)
    merged = output.transpose(1, 2).flatten(2)
    return F.linear(merged, *weights.o) if weights.o else merged


def mistake(weights: Weights, x: Tensor, causal: bool, yours: Tensor) -> str:
    """Return the id of the one planted fault that gives the module's numbers, or ""."""
    if weights.k[0].shape != weights.q[0].shape:
        tiled = expected(weights, x, causal, tiled=True)
        fits = tiled.shape == yours.shape and bool(alike(yours, tiled).all())
        return "kv-heads-tiled" if fits else ""
    slots = (
        faults.project_three(heads=True), faults.split_three(), faults.meet(4),
        faults.scale("n_embd", "heads", "S", "batch"),
        *([faults.hide_future()] if causal else []),
        faults.weigh(4), faults.mix("k", "q"), faults.merge_last(),
        *([faults.out()] if weights.o else []),
    )  # fmt: skip
    sizes = dict(zip(("batch", "S", "n_embd"), x.shape, strict=True), heads=weights.heads)
    state = SimpleNamespace(n_heads=weights.heads, sizes=sizes, after=(), **_folded(weights, x))
    if weights.o and weights.o[1] is not None:
        yours = yours - weights.o[1]
    for chosen, result in faults.walk(slots, state, 1):
        if chosen and result.shape == yours.shape and bool(alike(yours, result).all()):
            return chosen[0].id
    return ""


def _folded(weights: Weights, x: Tensor) -> dict[str, Tensor]:
    """Put each bias into its weight, as the column of one feature more that is 1."""
    parts = {"wq": weights.q, "wk": weights.k, "wv": weights.v}
    biased = any(bias is not None for _, bias in parts.values())
    folded = {name: weight for name, (weight, _) in parts.items()}
    if biased:
        x = torch.cat([x, torch.ones_like(x[..., :1])], -1)
        folded = {
            name: torch.cat([w, (torch.zeros_like(w[:, 0]) if b is None else b)[:, None]], -1)
            for name, (w, b) in parts.items()
        }
    return folded | {"x": x} | ({"wo": weights.o[0]} if weights.o else {})
