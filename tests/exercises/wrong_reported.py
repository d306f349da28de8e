"""Wrong answers as people reported them from their own code, and pairs: id -> (exercise, body)."""

# ruff: noqa: E501 (a line of the corpus is one answer)

_QKV = "q, k, v = F.linear(x, wq), F.linear(x, wk), F.linear(x, wv)\nT, d = x.size(1), q.size(-1)\n"
_TRIL = "tril = torch.tril(torch.ones(T, T, device=x.device))\n"
_SPLIT = "B, T, C = x.size()\nq, k, v = [(x @ w.t()).view(B, T, n_heads, C // n_heads).transpose(1, 2) for w in (wq, wk, wv)]\nd = q.size(-1)\n"
_ATT = "att = (q @ k.transpose(-2, -1)) * d ** -0.5\n"
_FILL = "att = att.masked_fill(tril[:T, :T] == 0, float('-inf'))\natt = F.softmax(att, dim=-1)\n"
_JOIN = "y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)\nreturn F.linear(y, wo)"

WRONG = {
    "transpose-wrong-dims": [
        ("scores", "return torch.matmul(q, k.transpose(2, 3))"),
        ("scores", "return torch.bmm(q, torch.transpose(k, 0, 2))"),
        ("cached-step", "s = q @ k_cache.transpose(1, 2)\nreturn s.softmax(-1) @ v_cache"),
        ("scores", "return torch.matmul(q.transpose(-2, -1), k)"),
        ("head", _QKV + _ATT + _TRIL + _FILL + "return att.transpose(-2, -1) @ v"),
        ("multi-head", _SPLIT + _ATT + _TRIL + _FILL + "y = torch.einsum('bhqk,bhqd->bhkd', att, v).transpose(1, 2).reshape(B, T, C)\nreturn y @ wo.T"),
    ],
    "queries-keys-exchanged": [
        ("head", _QKV + "att = torch.einsum('bid,bjd->bji', q, k) / d ** 0.5\n" + _TRIL + _FILL + "return att @ v"),
    ],
    "transpose-missing": [
        ("scores", "return torch.matmul(q, k)"),
        ("head", _QKV + "att = torch.matmul(q, k) / math.sqrt(d)\n" + _TRIL + _FILL + "return att @ v"),
        ("multi-head", "B, T, C = x.size()\nq, k, v = [(x @ w.t()).view(B, T, n_heads, C // n_heads) for w in (wq, wk, wv)]\n"
         "att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))\n" + _TRIL + _FILL + "y = (att @ v).contiguous().view(B, T, C)\nreturn y @ wo.t()"),
    ],
    "wrong-shape": [
        ("padding-mask", "return (torch.arange(S, device=lengths.device)[None, :] < lengths[:, None]).unsqueeze(1)"),
        ("split-heads", "B, S, E = x.shape\nreturn x.view(B, S, n_heads, -1).transpose(1, 2).reshape(B * n_heads, S, -1)"),
    ],
    "split-by-view": [
        ("multi-head", "B, T, C = x.shape\nf = lambda t: t.view(B * n_heads, -1, C // n_heads)\n"
         "o = F.scaled_dot_product_attention(f(x @ wq.T), f(x @ wk.T), f(x @ wv.T), is_causal=True)\nreturn o.view(B, -1, C) @ wo.T"),
        ("split-heads", "return x.contiguous().view(len(x), n_heads, -1, x.size(-1) // n_heads)"),
    ],
    "merge-by-view": [
        ("multi-head", _SPLIT + _ATT + _TRIL + _FILL + "folded = (att @ v).reshape(B * n_heads, T, d)\n"
         "y = folded.view(n_heads, B, T, d).permute(1, 2, 0, 3).reshape(B, T, C)\nreturn y @ wo.T"),
        ("multi-head", _SPLIT + _ATT + _TRIL + _FILL + "return (att @ v).reshape(B, T, C) @ wo.T"),
        ("merge-heads", "o = x.transpose(0, 1).contiguous()\nh, B, T, d = o.shape\nreturn o.view(B, T, -1)"),
    ],
    "softmax-wrong-dim": [
        ("multi-head", "B, T, C = x.shape\nq, k, v = ((x @ w.T).view(B, T, n_heads, -1) for w in (wq, wk, wv))\n"
         "s = torch.einsum('bihd,bjhd->bijh', q, k) / q.shape[-1] ** 0.5\nm = torch.ones(T, T, device=x.device).triu(1).bool()\n"
         "w = s.masked_fill(m[..., None], float('-inf')).softmax(dim=1)\nreturn torch.einsum('bijh,bjhd->bihd', w, v).reshape(B, T, C) @ wo.T"),
        ("multi-head", _SPLIT + _ATT + _TRIL + "att = F.softmax(att.masked_fill(tril == 0, -1e9), dim=2)\n" + _JOIN),
        ("head", _QKV + _ATT + _TRIL + "att = att.masked_fill(tril == 0, float('-inf'))\natt = torch.softmax(att.flatten(1), -1).view_as(att)\nreturn att @ v"),
        ("grouped-query", "n = q.size(1) // k.size(1)\nk = k.repeat_interleave(n, 1)\nv = v.repeat_interleave(n, 1)\nreturn nn.Softmax()(q @ k.mT / q.size(-1) ** 0.5) @ v"),
    ],
    "softmax-twice": [
        ("weights", "return torch.softmax(scores.unsqueeze(-1), -2).squeeze(-1).transpose(1, 2).softmax(-1).transpose(1, 2)"),
        ("head", _QKV + _ATT + _TRIL + _FILL + "att = torch.softmax(att, -1)\nreturn att @ v"),
        ("cached-step", "Sq, Sk = q.size(-2), k_cache.size(-2)\nm = torch.ones(Sq, Sk, device=q.device).triu(Sk - Sq + 1).bool()\n"
         "w = torch.softmax((q @ k_cache.mT / q.size(-1) ** 0.5).masked_fill(m, float('-inf')), -1)\nreturn torch.softmax(w, -1) @ v_cache"),
    ],
    "scale-no-root": [
        ("grouped-query", "n = q.size(1) // k.size(1)\ns = q @ k.repeat_interleave(n, 1).mT / q.size(-1)\nreturn torch.softmax(s, -1) @ v.repeat_interleave(n, 1)"),
        ("head", _QKV + "att = q @ k.mT * (1.0 / d)\n" + _TRIL + _FILL + "return att @ v"),
    ],
    "scale-n-embd": [
        ("head", "B, T, C = x.shape\nk = x @ wk.T\nq = x @ wq.T\nwei = q @ k.transpose(-2, -1) * C ** -0.5\n"
         "wei = wei.masked_fill(torch.tril(torch.ones(T, T, device=x.device)) == 0, float('-inf'))\nwei = F.softmax(wei, dim=-1)\nreturn wei @ (x @ wv.T)"),
        ("multi-head", "B, T, C = x.shape\nq, k, v = ((x @ w.T / (C ** 0.25 if w is not wv else 1)).view(B, T, n_heads, -1).transpose(1, 2) for w in (wq, wk, wv))\n"
         "o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)\nreturn o.transpose(1, 2).reshape(B, T, C) @ wo.T"),
    ],
    "scale-wrong-size": [
        ("cached-step", "Sq, Sk = q.size(-2), k_cache.size(-2)\nm = torch.ones(Sq, Sk, device=q.device, dtype=torch.bool).tril(Sk - Sq)\n"
         "return F.scaled_dot_product_attention(q, k_cache, v_cache, m, scale=q.size(1) ** -0.5)"),
        ("head", _QKV + "att = q @ k.mT / math.sqrt(k.size(1))\n" + _TRIL + _FILL + "return att @ v"),
    ],
    "scale-inverted": [
        ("head", _QKV + "att = torch.einsum('bid,bjd->bij', q, k) / d ** -0.5\n" + _TRIL + _FILL + "return att @ v"),
        ("cached-step", "Sq, Sk = q.size(-2), k_cache.size(-2)\nm = torch.ones(Sq, Sk, device=q.device, dtype=torch.bool).tril(Sk - Sq)\n"
         "return F.scaled_dot_product_attention(q, k_cache, v_cache, m, scale=math.sqrt(q.size(-1)))"),
    ],
    "mask-fill-not-low-enough": [
        ("head", _QKV + _ATT + _TRIL + "att = torch.softmax(att * tril, -1)\nreturn att @ v"),
        ("multi-head", _SPLIT + _ATT + _TRIL + "att = F.softmax(att.masked_fill(tril == 0, 1e-9), -1)\n" + _JOIN),
        ("head", _QKV + _ATT + _TRIL + "att = F.softmax(torch.where(tril == 1, att, torch.full_like(att, -1e-9)), -1)\nreturn att @ v"),
        ("multi-head", _SPLIT + _ATT + _TRIL + "att = F.softmax(att + (1 - tril) * -50, -1)\n" + _JOIN),
    ],
    "mask-inverted": [
        ("multi-head", _SPLIT + "forbid = torch.ones(T, T, device=x.device).triu(1).bool()\ny = F.scaled_dot_product_attention(q, k, v, attn_mask=forbid)\nreturn y.transpose(1, 2).reshape(B, T, C) @ wo.T"),
        ("mask-scores", "return scores.masked_fill(may_attend, float('-inf')).clone()"),
        ("head", _QKV + _ATT + _TRIL + "att = F.softmax(att.masked_fill(tril.bool(), float('-inf')), -1)\nreturn att @ v"),
        ("head", _QKV + _ATT + _TRIL + "return F.softmax(att + tril * -1e9, -1) @ v"),
    ],
    "mask-off-by-one": [
        ("cached-step", "L, S = q.size(-2), k_cache.size(-2)\ni = torch.arange(L, device=q.device)[:, None]\nj = torch.arange(S, device=q.device)[None]\n"
         "return F.scaled_dot_product_attention(q, k_cache, v_cache, j <= i + S - L + 1)"),
        ("head", _QKV + _ATT + "m = torch.triu(torch.ones(T, T, device=x.device), diagonal=0).bool()\nreturn F.softmax(att.masked_fill(m, -1e9), -1) @ v"),
    ],
    "mask-ignored": [
        ("head", _QKV + _ATT + "tril = torch.tril(torch.ones(1, 1, device=x.device))\natt = att.masked_fill(tril[:T, :T] == 0, float('-inf')).softmax(-1)\nreturn att @ v"),
        ("mask-scores", "return scores.masked_fill(~may_attend.int() == 0, float('-inf'))"),
        ("cached-step", "if q.size(2) == k_cache.size(2):\n    return F.scaled_dot_product_attention(q, k_cache, v_cache, is_causal=True)\nreturn F.scaled_dot_product_attention(q, k_cache, v_cache)"),
    ],
    "mask-additive-01": [
        ("head", _QKV + "return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tril(torch.ones(T, T, device=x.device)))"),
        ("cached-step", "Sq, Sk = q.size(-2), k_cache.size(-2)\nm = torch.ones(Sq, Sk, device=q.device).triu(Sk - Sq + 1)\n"
         "return F.scaled_dot_product_attention(q, k_cache, v_cache, m)"),
    ],
    "causal-misaligned": [
        ("cached-step", "att = F.scaled_dot_product_attention(q, k_cache, v_cache, is_causal=True, dropout_p=0.0)\nreturn att"),
        ("cached-step", "s = q @ k_cache.mT * q.size(-1) ** -0.5\nreturn s.masked_fill(torch.ones_like(s).triu(1).bool(), -1e9).softmax(-1) @ v_cache"),
    ],
    "raises": [
        ("scores", "return torch.sum(q * k, dim=-1, keepdim=True)"),
        ("cached-step", "n = q.size(2)\ns = q @ k_cache.mT / q.size(-1) ** 0.5\nreturn s.masked_fill(torch.ones(n, n, device=q.device).triu(1).bool(), float('-inf')).softmax(-1) @ v_cache"),
        ("head", _QKV + _ATT + "m = torch.ones(q.size(2), k.size(2), device=x.device).tril().bool()\nreturn att.masked_fill(~m, -math.inf).softmax(-1) @ v"),
    ],
    "backward-overwritten": [
        ("head", _QKV + _ATT + _TRIL + "w = torch.softmax(att.masked_fill(tril == 0, -math.inf), -1)\nw.masked_fill_(tril == 0, 0.0)\nw.mul_(1.0)\nreturn w @ v"),
    ],
    "dropout-active": [
        ("head", _QKV + _ATT + _TRIL + _FILL + "return nn.Dropout(0.3)(att) @ v"),
        ("head", _QKV + _ATT + _TRIL + "att = F.dropout(att.masked_fill(tril == 0, -math.inf), 0.5).softmax(-1)\nreturn att @ v"),
    ],
    "weight-transposed": [
        ("project", "return torch.einsum('btc,co->bto', x, weight)"),
        ("multi-head", _SPLIT.replace("w.t()", "w") + _ATT + _TRIL + _FILL + _JOIN.replace("F.linear(y, wo)", "y @ wo")),
    ],
    "kv-heads-tiled": [
        ("grouped-query", "n = q.size(1) // k.size(1)\nreturn F.scaled_dot_product_attention(q, torch.tile(k, (1, n, 1, 1)), torch.tile(v, (1, n, 1, 1)))"),
        ("grouped-query", "n, g = q.size(1) // k.size(1), k.size(1)\nreturn torch.stack([F.scaled_dot_product_attention(q[:, h], k[:, h % g], v[:, h % g]) for h in range(n * g)], 1)"),
    ],
    # two at once: the first in the order of the pipeline is named
    "projection-shared": [
        ("head", "q = k = x @ wk.T\nv = x @ wv.T\nT = x.size(1)\ns = q @ k.mT\ns = s.masked_fill(torch.ones(T, T, device=x.device).triu(1) == 1, -1e9)\nreturn s.softmax(-1) @ v"),
    ],
    "scale-missing": [
        ("head", _QKV + "att = q @ k.mT\nreturn att.softmax(-1) @ v"),
        ("multi-head", _SPLIT + "att = q @ k.mT\n" + _TRIL + "att = att.masked_fill(tril == 0, -math.inf).softmax(-1)\nreturn (att @ v).reshape(B, T, C) @ wo.T"),
        ("grouped-query", "n = q.size(1) // k.size(1)\ns = q @ k.repeat_interleave(n, 1).mT\nreturn torch.softmax(s, 2) @ v.repeat_interleave(n, 1)"),
    ],
    "split-wrong-order": [
        ("multi-head", "B, T, C = x.shape\nq, k, v = ((x @ w.T).view(B, T, C // n_heads, n_heads).permute(0, 3, 1, 2) for w in (wq, wk, wv))\n"
         "s = q @ k.mT / C ** 0.5\nm = torch.ones(T, T, device=x.device).triu(1).bool()\nreturn (s.masked_fill(m, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(B, T, C) @ wo.T"),
    ],
}  # fmt: skip
