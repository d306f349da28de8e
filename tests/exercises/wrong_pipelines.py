"""Wrong answers to the exercises of several stages: id -> (exercise, body)."""

# ruff: noqa: E501 (a line of the corpus is one answer)

_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\nB, S, E = x.shape\nH = q.shape[-1]\n"
_MAY = "may = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\n"
_END = "w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn w @ v"
_HEADS = (
    "B, S, E = x.shape\nH = E // n_heads\n"
    "q, k, v = ((x @ w.T).view(B, S, n_heads, H).transpose(1, 2) for w in (wq, wk, wv))\n"
)
_MERGE = "\no = o.transpose(1, 2).reshape(B, S, E)\nreturn o @ wo.T"
_SDPA = "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)"
_CACHE = "Sq, Sk, H = q.shape[2], k_cache.shape[2], q.shape[3]\n"
_CMAY = "may = torch.ones(Sq, Sk, dtype=torch.bool, device=q.device).tril(Sk - Sq)\n"
_CEND = "return s.masked_fill(~may, -math.inf).softmax(-1) @ v_cache"
_GROUP = (
    "n = q.shape[1] // k.shape[1]\nk, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)\n"
)


def _head(scores="s = q @ k.mT / H ** 0.5\n", may=_MAY, end=_END, qkv=_QKV):
    return "head", qkv + scores + may + end


def _multi(attend=_SDPA, heads=_HEADS, merge=_MERGE):
    return "multi-head", heads + attend + merge


def _cached(scores="s = q @ k_cache.mT / H ** 0.5\n", may=_CMAY, end=_CEND):
    return "cached-step", _CACHE + scores + may + end


_EXPLICIT = (
    "s = q @ k.mT / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v"
)

WRONG = {
    "raises": [
        _multi(_EXPLICIT, merge="\nreturn o.transpose(1, 2).view(B, S, E) @ wo.T"),
        ("grouped-query", "return F.scaled_dot_product_attention(q, k, v)"),
        _head(may="may = torch.ones(64, 64, dtype=torch.bool, device=x.device).tril()\n"),
    ],
    "fixed-device": [
        _head(may="may = torch.ones(S, S, dtype=torch.bool).tril()\n"),
        _multi("s = q @ k.mT / H ** 0.5\nm = torch.triu(torch.full((S, S), -math.inf), 1)\no = (s + m).softmax(-1) @ v"),
        _cached(may="may = torch.arange(Sk) <= torch.arange(Sq)[:, None] + Sk - Sq\n"),
    ],
    "weight-transposed": [
        ("head", "q, k, v = (x @ w.reshape(w.shape[1], -1) for w in (wq, wk, wv))\nB, S, E = x.shape\n"
         "H = q.shape[-1]\ns = q @ k.mT / H ** 0.5\n" + _MAY + _END),
        _head(qkv="q, k, v = x @ wq, x @ wk, x @ wv\nB, S, E = x.shape\nH = q.shape[-1]\n"),
        _multi(heads=_HEADS.replace("w.T", "w")),
        _multi(merge="\nreturn o.transpose(1, 2).reshape(B, S, E) @ wo"),
        _multi(heads=_HEADS.replace("w.T", "w"), merge="\nreturn o.transpose(1, 2).reshape(B, S, E) @ wo"),
        _multi(heads=_HEADS + "v = (x @ wv).view(B, S, n_heads, H).transpose(1, 2)\n"),
        # In every product, and a scale or a mask that is wrong as well.
        _multi(_EXPLICIT.replace("H ** 0.5", "E ** 0.5"), _HEADS.replace("w.T", "w"), _MERGE.replace("wo.T", "wo")),
        _multi(_EXPLICIT.replace(".tril()", ".tril(-1)"), _HEADS.replace("w.T", "w"), _MERGE.replace("wo.T", "wo")),
    ],
    "projection-shared": [
        _head(qkv="q, k, v = x @ wq.T, x @ wq.T, x @ wv.T\nB, S, E = x.shape\nH = q.shape[-1]\n"),
        _head(qkv="q, k, v = x @ wq.T, x @ wk.T, x @ wk.T\nB, S, E = x.shape\nH = q.shape[-1]\n"),
        _head(qkv="q = k = v = F.linear(x, wq)\nB, S, E = x.shape\nH = q.shape[-1]\n"),
        _multi(heads=_HEADS.replace("(wq, wk, wv)", "(wq, wk, wk)")),
        _multi(heads=_HEADS.replace("(wq, wk, wv)", "(wk, wk, wv)")),
        _multi(heads=_HEADS + "q, k, v = (t[:, :1].expand(B, n_heads, S, H) for t in (q, k, v))\n"),
    ],
    "weight-twice": [
        _multi(merge=_MERGE + " @ wo.T"),
        _multi(_EXPLICIT, merge="\no = o.transpose(1, 2).reshape(B, S, E)\nreturn F.linear(F.linear(o, wo), wo)"),
        _multi(heads=_HEADS.replace("x @ w.T", "x @ w.T @ w.T")),
        _multi(heads=_HEADS + "v = (x @ wv.T @ wv.T).view(B, S, n_heads, H).transpose(1, 2)\n"),
    ],
    "mask-unasked": [
        ("grouped-query", _GROUP + "return F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
        ("grouped-query", _GROUP + "S = q.shape[2]\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
         "later = torch.ones(S, S, dtype=torch.bool, device=q.device).triu(1)\nreturn s.masked_fill(later, -1e9).softmax(-1) @ v"),
        ("grouped-query", _GROUP + "return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).tril() @ v"),
    ],
    "split-by-view": [
        _multi(heads=_HEADS.replace(".view(B, S, n_heads, H).transpose(1, 2)", ".view(B, n_heads, S, H)")),
        _multi(heads=_HEADS.replace(".view(B, S, n_heads, H).transpose(1, 2)", ".view(B, n_heads, S, H)"),
               merge="\nreturn o.reshape(B, S, E) @ wo.T"),
        ("multi-head", "B, S, E = x.shape\nH = E // n_heads\n"
         "q, k, v = ((x @ w.T).view(B * n_heads, S, H) for w in (wq, wk, wv))\n"
         "s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(H)\n" + _MAY +
         "o = torch.bmm(s.masked_fill(~may, -1e9).softmax(-1), v)\nreturn o.view(B, S, E) @ wo.T"),
    ],
    "split-wrong-order": [
        _multi(heads=_HEADS.replace(".view(B, S, n_heads, H).transpose(1, 2)", ".view(B, S, H, n_heads).permute(0, 3, 1, 2)")),
        ("multi-head", "q, k, v = (einops.rearrange(x @ w.T, 'b s (d h) -> b h s d', h=n_heads) for w in (wq, wk, wv))\n"
         + _SDPA + "\nreturn einops.rearrange(o, 'b h s d -> b s (d h)') @ wo.T"),
        ("multi-head", "q, k, v = (torch.stack([(x @ w.T)[..., h::n_heads] for h in range(n_heads)], 1) for w in (wq, wk, wv))\n"
         + _SDPA + "\nreturn torch.cat(list(o.unbind(1)), -1) @ wo.T"),
    ],
    "kv-heads-tiled": [
        ("grouped-query", "n = q.shape[1] // k.shape[1]\nk, v = k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)\n"
         "return F.scaled_dot_product_attention(q, k, v)"),
        ("grouped-query", "n = q.shape[1] // k.shape[1]\nk, v = torch.cat([k] * n, 1), torch.cat([v] * n, 1)\n"
         "return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v"),
        ("grouped-query", "B, h, S, d = q.shape\ng = k.shape[1]\nq = q.view(B, h // g, g, S, d)\n"
         "s = torch.einsum('bngqd,bgkd->bngqk', q, k) / d ** 0.5\n"
         "return torch.einsum('bngqk,bgkd->bngqd', s.softmax(-1), v).reshape(B, h, S, d)"),
        ("grouped-query", "n = q.shape[1] // k.shape[1]\n"
         "k, v = (t[:, None].expand(-1, n, -1, -1, -1).flatten(1, 2) for t in (k, v))\n"
         "return F.scaled_dot_product_attention(q, k, v)"),
    ],
    "transpose-missing": [
        _head("s = q @ k / H ** 0.5\n"),
        _multi("s = q @ k / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v"),
        _head("s = q @ k.reshape(B, H, S) / H ** 0.5\n"),
        _cached("s = q @ k_cache / H ** 0.5\n"),
        ("grouped-query", _GROUP + "return (q @ k / q.shape[-1] ** 0.5).softmax(-1) @ v"),
        ("multi-head", "B, S, E = x.shape\nH = E // n_heads\nq, k, v = ((x @ w.T).view(B, S, n_heads, H) for w in (wq, wk, wv))\n"
         + _EXPLICIT + "\nreturn o.reshape(B, S, E) @ wo.T"),
    ],
    "queries-keys-exchanged": [
        _head("s = k @ q.mT / H ** 0.5\n"),
        _head(qkv="q, k, v = x @ wk.T, x @ wq.T, x @ wv.T\nB, S, E = x.shape\nH = q.shape[-1]\n"),
        ("grouped-query", _GROUP + "return (k @ q.mT / q.shape[-1] ** 0.5).softmax(-1) @ v"),
        _multi("o = F.scaled_dot_product_attention(k, q, v, is_causal=True)"),
    ],
    "values-exchanged": [
        ("head", "return F.scaled_dot_product_attention(x @ wq.T, x @ wv.T, x @ wk.T, is_causal=True)"),
        ("head", "return F.scaled_dot_product_attention(x @ wv.T, x @ wk.T, x @ wq.T, is_causal=True)"),
        ("head", "return F.scaled_dot_product_attention(x @ wk.T, x @ wv.T, x @ wq.T, is_causal=True)"),
        _multi("o = F.scaled_dot_product_attention(q, v, k, is_causal=True)"),
        _multi("o = F.scaled_dot_product_attention(v, q, k, is_causal=True)"),
        _cached(end="return s.masked_fill(~may, -math.inf).softmax(-1) @ v_cache", scores="k_cache, v_cache = v_cache, k_cache\ns = q @ k_cache.mT / H ** 0.5\n"),
        ("grouped-query", "return F.scaled_dot_product_attention(q, v, k, enable_gqa=True)"),
    ],
    "mask-fill-inf-or-nan": [
        _head(end="return s.masked_fill(~may, math.inf).softmax(-1) @ v"),
        _head(end="return s.masked_fill(~may, math.nan).softmax(-1) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = torch.where(may, s, math.inf).softmax(-1) @ v"),
        _cached(end="return s.masked_fill(~may, math.inf).softmax(-1) @ v_cache"),
    ],
    "zero-times-infinity": [
        _head(end="return (s + torch.ones(S, S, device=x.device).triu(1) * -math.inf).softmax(-1) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = (s + ~may * float('-inf')).softmax(-1) @ v"),
        _cached(end="return (s - (1 - may.to(s)) * math.inf).softmax(-1) @ v_cache"),
        _head(end="m = (1 - may.float()).mul_(-math.inf)\nreturn F.scaled_dot_product_attention(q, k, v, attn_mask=m)"),
    ],
    "nan-row": [
        _head(end="m = may.clone()\nm[1] = False\nreturn s.masked_fill(~m, -math.inf).softmax(-1) @ v"),
    ],
    "transpose-wrong-dims": [
        _head("s = q @ k.transpose(0, 1) / H ** 0.5\n"),
        _multi("s = q @ k.transpose(1, 2) / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v"),
        _head(end="w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn w.transpose(1, 2) @ v"),
        _head(end="w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn torch.einsum('bij,bid->bjd', w, v)"),
        _multi(merge="\nreturn o.permute(0, 2, 3, 1).reshape(B, S, E) @ wo.T"),
        _cached("s = q @ k_cache.transpose(1, 2) / H ** 0.5\n"),
    ],
    "scale-missing": [
        _head("s = q @ k.mT\n"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)"),
        _cached("s = torch.einsum('bhqd,bhkd->bhqk', q, k_cache)\n"),
        ("grouped-query", _GROUP + "return (q @ k.mT).softmax(-1) @ v"),
        _head("s = torch.bmm(q, k.transpose(1, 2))\ns / math.sqrt(H)\n"),
    ],
    "scale-n-embd": [
        _head("s = q @ k.mT / E ** 0.5\n"),
        _head("s = q @ k.mT * x.shape[-1] ** -0.5\n"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=E ** -0.5)"),
        _multi("s = q @ k.mT / math.sqrt(x.size(-1))\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v"),
    ],
    "scale-wrong-size": [
        _head("s = q @ k.mT / S ** 0.5\n"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=n_heads ** -0.5)"),
        _cached("s = q @ k_cache.mT / Sk ** 0.5\n"),
        ("grouped-query", _GROUP + "return (q @ k.mT / q.shape[2] ** 0.5).softmax(-1) @ v"),
        _multi("s = q @ k.mT / math.sqrt(q.size(1))\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1) @ v"),
    ],
    "scale-no-root": [
        _head("s = q @ k.mT / H\n"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1 / H)"),
        _cached("s = (q / H ** 0.5) @ (k_cache / H ** 0.5).mT\n"),
        ("grouped-query", _GROUP + "return (q @ k.mT / q.size(-1)).softmax(-1) @ v"),
    ],
    "scale-inverted": [
        _head("s = q @ k.mT * H ** 0.5\n"),
        _head("s = q @ k.mT / H ** -0.5\n"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=H ** 0.5)"),
        ("grouped-query", _GROUP + "return (q * q.shape[-1] ** 0.5 @ k.mT).softmax(-1) @ v"),
    ],
    "scale-after-softmax": [
        _head("s = q @ k.mT\n", end="w = s.masked_fill(~may, -math.inf).softmax(-1) / H ** 0.5\nreturn w @ v"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0) / H ** 0.5"),
        _head(end="return s.masked_fill(~may, -math.inf).softmax(-1) @ v / H ** 0.5"),
        _cached("s = q @ k_cache.mT\n", end="return s.masked_fill(~may, -math.inf).softmax(-1) * H ** -0.5 @ v_cache"),
        ("grouped-query", _GROUP + "return ((q @ k.mT).softmax(-1) @ v) / q.shape[-1] ** 0.5"),
    ],
    "mask-inverted": [
        _head(end="w = s.masked_fill(may, -math.inf).softmax(-1)\nreturn w @ v"),
        _head(may="may = torch.ones(S, S, dtype=torch.bool, device=x.device).triu()\n"),
        _head(end="w = s.masked_fill(may, -1e9).softmax(-1)\nreturn w @ v"),
        _head(end="return F.scaled_dot_product_attention(q, k, v, attn_mask=~may)"),
        _multi("m = torch.ones(S, S, device=x.device).triu(1).bool()\no = F.scaled_dot_product_attention(q, k, v, attn_mask=m)"),
        _cached(end="return s.masked_fill(may, -math.inf).softmax(-1) @ v_cache"),
        _head(end="w = torch.where(may, -math.inf, s).softmax(-1)\nreturn torch.nan_to_num(w) @ v"),
    ],
    "mask-off-by-one": [
        _head(may="may = torch.ones(S, S, dtype=torch.bool, device=x.device).tril(-1)\n"),
        _head(may="may = torch.ones(S, S, dtype=torch.bool, device=x.device).tril(1)\n"),
        _multi("s = q @ k.mT / H ** 0.5\nm = torch.full((S, S), -math.inf, device=x.device).triu(2)\no = (s + m).softmax(-1) @ v"),
        _cached(may="may = torch.ones(Sq, Sk, dtype=torch.bool, device=q.device).tril(Sk - Sq + 1)\n"),
        _multi("m = torch.ones(S, S, device=x.device).tril(-1).bool()\no = F.scaled_dot_product_attention(q, k, v, attn_mask=m)"),
    ],
    "mask-after-softmax": [
        _head(end="w = s.softmax(-1).masked_fill(~may, 0.0)\nreturn w @ v"),
        _head(end="return torch.tril(s.softmax(-1)) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = (s.softmax(-1) * may) @ v"),
        _cached(end="return (s.softmax(-1) * may) @ v_cache"),
        _head(end="w = s.softmax(-1).masked_fill(~may, -math.inf)\nreturn w @ v"),
    ],
    "mask-ignored": [
        _head(end="return s.softmax(-1) @ v"),
        _head(end="s.masked_fill(~may, -math.inf)\nreturn s.softmax(-1) @ v"),
        _multi("o = F.scaled_dot_product_attention(q, k, v)"),
        _cached(end="return F.scaled_dot_product_attention(q, k_cache, v_cache)"),
    ],
    "mask-additive-01": [
        _head(end="return (s + may).softmax(-1) @ v"),
        _head(end="return (s + torch.ones(S, S, device=x.device).triu(1)).softmax(-1) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = (s + may.float()).softmax(-1) @ v"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, torch.ones(S, S, device=x.device).tril())"),
    ],
    "mask-fill-not-low-enough": [
        _head(end="return (s * may).softmax(-1) @ v"),
        _head(end="return s.masked_fill(~may, 1e-9).softmax(-1) @ v"),
        _head(end="return s.masked_fill(~may, -100).softmax(-1) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -1e3).softmax(-1) @ v"),
        _multi("s = torch.tril(q @ k.mT / H ** 0.5)\no = s.softmax(-1) @ v"),
        _cached(end="return s.masked_fill(~may, -20.0).softmax(-1) @ v_cache"),
    ],
    "causal-misaligned": [
        _cached(end="return F.scaled_dot_product_attention(q, k_cache, v_cache, is_causal=True)"),
        _cached(may="may = torch.ones(Sq, Sk, dtype=torch.bool, device=q.device).tril()\n"),
        _cached(may="may = torch.ones(Sk, Sk, dtype=torch.bool, device=q.device).tril()[:Sq]\n"),
    ],
    "softmax-wrong-dim": [
        _head(end="return s.masked_fill(~may, -math.inf).softmax(1) @ v"),
        _head(end="return F.softmax(s.masked_fill(~may, -1e9), dim=0) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(2) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(1) @ v"),
        _cached(end="return s.masked_fill(~may, -1e9).softmax(-2) @ v_cache"),
        ("grouped-query", _GROUP + "return F.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=1) @ v"),
    ],
    "softmax-twice": [
        _head(end="return s.masked_fill(~may, -math.inf).softmax(-1).softmax(-1) @ v"),
        _multi("s = q @ k.mT / H ** 0.5\n" + _MAY + "o = s.masked_fill(~may, -math.inf).softmax(-1).softmax(-1) @ v"),
        ("grouped-query", _GROUP + "w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)\nreturn F.softmax(w, -1) @ v"),
    ],
    "dropout-active": [
        _head(end="w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn F.dropout(w, 0.1) @ v"),
        _multi("o = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.2)"),
        _cached(end="w = s.masked_fill(~may, -math.inf).softmax(-1)\nreturn nn.Dropout(0.1)(w) @ v_cache"),
        ("grouped-query", _GROUP + "return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)"),
    ],
    "values-unused": [
        _head(end="return s.masked_fill(~may, -math.inf).softmax(-1) @ k"),
        _head(end="return s.masked_fill(~may, -math.inf).softmax(-1)"),
        _multi("o = F.scaled_dot_product_attention(q, k, q, is_causal=True)"),
        _cached(end="return s.masked_fill(~may, -math.inf).softmax(-1) @ k_cache"),
        ("grouped-query", _GROUP + "return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ k"),
    ],
    "merge-by-view": [
        _multi(merge="\nreturn o.reshape(B, S, E) @ wo.T"),
        _multi(_EXPLICIT, merge="\nreturn o.contiguous().view(B, S, -1) @ wo.T"),
        _multi("o = torch.stack([F.scaled_dot_product_attention(q[:, h], k[:, h], v[:, h], is_causal=True) for h in range(n_heads)])",
               merge="\nreturn o.reshape(B, S, E) @ wo.T"),
    ],
    "out-projection-missing": [
        _multi(merge="\nreturn o.transpose(1, 2).reshape(B, S, E)"),
        _multi(_EXPLICIT, merge="\nreturn o.transpose(1, 2).flatten(2)"),
        _multi(merge="\nreturn torch.cat([o[:, h] for h in range(n_heads)], -1)"),
    ],
    "batch-mixed": [
        ("grouped-query", _GROUP + "return F.scaled_dot_product_attention(q, k.roll(1, 0), v)"),
        _head(qkv=_QKV + "k, v = k.mean(0, keepdim=True), v.mean(0, keepdim=True)\n"),
        _multi(heads=_HEADS + "v = v.flip(0)\n"),
    ],
    "value-mismatch": [
        _head(end="w = s.masked_fill(~may, 0.0).relu()\nreturn w @ v"),
        _multi(merge="\nreturn x + o.transpose(1, 2).reshape(B, S, E) @ wo.T"),
    ],
}  # fmt: skip
