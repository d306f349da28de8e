"""Mistakes as people reported them, as functions of the exercises: number -> what, exercise, id.

The numbers count the reports that were gathered; an id is what `check` must say, None that the
code was reported although it is right and must pass.
"""

# ruff: noqa: E501 (a line is one answer)

_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\nS, H = x.shape[1], q.shape[-1]\n"
_MAY = "may = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\n"
_S = "s = q @ k.mT / H ** 0.5\n"
_HIDE = "s = s.masked_fill(~may, -torch.inf)\n"
_SPLIT = "B, S, C = x.shape\nH = C // n_heads\nq, k, v = ((x @ w.T).view(B, S, n_heads, H).transpose(1, 2) for w in (wq, wk, wv))\nmay = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\n"
_JOIN = "\nreturn o.transpose(1, 2).reshape(B, S, C) @ wo.T"
_REAL = "real = torch.arange(S, device=lengths.device) < lengths[:, None]\n"

FUNCTIONS: dict[int, tuple[str, str, str | None, str]] = {
    1: (
        "axes 2 and 3 of keys that have only three",
        "scores",
        "transpose-wrong-dims",
        "return q @ k.transpose(2, 3)",
    ),
    4: ("k.T, which reverses all axes", "scores", "transpose-wrong-dims", "return q @ k.T"),
    8: (
        "q times k, summed over features: the diagonal only",
        "scores",
        "wrong-shape",
        "return (q * k[:, : q.shape[1]]).sum(-1)",
    ),
    10: (
        "the weights turned round before the values",
        "head",
        "transpose-wrong-dims",
        _QKV + _MAY + _S + _HIDE + "return s.softmax(-1).mT @ v",
    ),
    13: (
        "heads folded into the batch by one view",
        "multi-head",
        "split-by-view",
        "B, S, C = x.shape\nf = lambda t: t.view(B * n_heads, -1, C // n_heads)\no = F.scaled_dot_product_attention(f(x @ wq.T), f(x @ wk.T), f(x @ wv.T), is_causal=True)\nreturn o.view(B, -1, C) @ wo.T",
    ),
    14: (
        "split and merged by views, so that the shapes fit",
        "multi-head",
        "split-by-view",
        "B, S, C = x.shape\nq, k, v = ((x @ w.T).view(B, n_heads, S, -1) for w in (wq, wk, wv))\nreturn F.scaled_dot_product_attention(q, k, v, is_causal=True).reshape(B, S, C) @ wo.T",
    ),
    16: (
        "axes exchanged by a view of the same size",
        "split-heads",
        "split-by-view",
        "B, S, C = x.shape\nreturn x.view(B, n_heads, S, C // n_heads)",
    ),
    28: (
        "softmax over the queries in a (batch, query, key, head) layout",
        "multi-head",
        "softmax-wrong-dim",
        "B, S, C = x.shape\nq, k, v = ((x @ w.T).view(B, S, n_heads, -1) for w in (wq, wk, wv))\ns = torch.einsum('bihd,bjhd->bijh', q, k) / q.shape[-1] ** 0.5\nmay = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\nw = s.masked_fill(~may[..., None], -torch.inf).softmax(1)\nreturn torch.einsum('bijh,bjhd->bihd', w, v).reshape(B, S, C) @ wo.T",
    ),
    29: (
        "dim=2 kept after a head axis was added",
        "multi-head",
        "softmax-wrong-dim",
        _SPLIT
        + "s = (q @ k.mT / H ** 0.5).masked_fill(~may, -torch.inf)\no = F.softmax(s, dim=2) @ v"
        + _JOIN,
    ),
    31: (
        "one softmax over the whole matrix",
        "head",
        "softmax-wrong-dim",
        _QKV + _MAY + _S + _HIDE + "return torch.softmax(s.flatten(1), -1).view_as(s) @ v",
    ),
    32: (
        "softmax along an axis of length one",
        "weights",
        "softmax-wrong-dim",
        "return F.softmax(scores.reshape(-1, 1), dim=1).view_as(scores)",
    ),
    34: (
        "dim=2 where the last axis is the head: right",
        "multi-head",
        None,
        "B, S, C = x.shape\nq, k, v = ((x @ w.T).view(B, S, n_heads, -1) for w in (wq, wk, wv))\ns = torch.einsum('bihd,bjhd->bijh', q, k) / q.shape[-1] ** 0.5\nmay = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\nw = s.masked_fill(~may[..., None], -torch.inf).softmax(dim=2)\nreturn torch.einsum('bijh,bjhd->bihd', w, v).reshape(B, S, C) @ wo.T",
    ),
    35: (
        "softmax once more on the finished weights",
        "head",
        "softmax-twice",
        _QKV + _MAY + _S + _HIDE + "return s.softmax(-1).softmax(-1) @ v",
    ),
    37: (
        "divided by the head size, root forgotten",
        "head",
        "scale-no-root",
        _QKV + _MAY + "s = q @ k.mT / H\n" + _HIDE + "return s.softmax(-1) @ v",
    ),
    38: (
        "scaled by the width of the input",
        "head",
        "scale-n-embd",
        _QKV + _MAY + "s = q @ k.mT * x.shape[-1] ** -0.5\n" + _HIDE + "return s.softmax(-1) @ v",
    ),
    40: (
        "scaled by the width of all heads together",
        "multi-head",
        "scale-n-embd",
        _SPLIT
        + "s = (q @ k.mT / C ** 0.5).masked_fill(~may, -torch.inf)\no = s.softmax(-1) @ v"
        + _JOIN,
    ),
    41: (
        "scaled by the root of the number of heads",
        "multi-head",
        "scale-wrong-size",
        _SPLIT
        + "o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=n_heads ** -0.5)"
        + _JOIN,
    ),
    43: (
        "divided by a power of -0.5",
        "scale",
        "scale-inverted",
        "return scores / head_size ** -0.5",
    ),
    44: (
        "scaled after the softmax",
        "head",
        "scale-after-softmax",
        _QKV + _MAY + "s = q @ k.mT\n" + _HIDE + "return s.softmax(-1) / H ** 0.5 @ v",
    ),
    46: (
        "a fourth root on either side: right",
        "head",
        None,
        _QKV
        + _MAY
        + "s = (q * H ** -0.25) @ (k * H ** -0.25).mT\n"
        + _HIDE
        + "return s.softmax(-1) @ v",
    ),
    47: (
        "only the queries scaled: right",
        "head",
        None,
        _QKV + _MAY + "s = (q / H ** 0.5) @ k.mT\n" + _HIDE + "return s.softmax(-1) @ v",
    ),
    50: (
        "masked after the softmax",
        "head",
        "mask-after-softmax",
        _QKV + _MAY + _S + "return s.softmax(-1).masked_fill(~may, 0.0) @ v",
    ),
    52: (
        "masked after the softmax and divided by the sum: right",
        "head",
        None,
        _QKV + _MAY + _S + "w = s.softmax(-1) * may\nreturn w / w.sum(-1, keepdim=True) @ v",
    ),
    53: (
        "scores multiplied by a mask of 0 and 1",
        "head",
        "mask-fill-not-low-enough",
        _QKV + _MAY + _S + "return (s * may).softmax(-1) @ v",
    ),
    55: (
        "True = forbidden handed to PyTorch's function",
        "head",
        "mask-inverted",
        _QKV
        + "return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(S, S, dtype=torch.bool, device=x.device).triu(1))",
    ),
    56: (
        "the layer's mask handed to the function, which means the opposite",
        "multi-head",
        "mask-inverted",
        _SPLIT + "o = F.scaled_dot_product_attention(q, k, v, attn_mask=~may)" + _JOIN,
    ),
    58: (
        "masked_fill with the mask of what is valid",
        "mask-scores",
        "mask-inverted",
        "return scores.masked_fill(may_attend, -torch.inf)",
    ),
    61: (
        "tril itself as the mask to fill",
        "head",
        "mask-inverted",
        _QKV + _MAY + _S + "return s.masked_fill(may, -torch.inf).softmax(-1) @ v",
    ),
    62: (
        "triu with diagonal=1 over minus infinity: right",
        "head",
        None,
        _QKV
        + _S
        + "return (s + torch.full((S, S), -torch.inf, device=x.device).triu(1)).softmax(-1) @ v",
    ),
    64: (
        "the diagonal blocked too",
        "head",
        "mask-off-by-one",
        _QKV
        + _S
        + "m = torch.ones(S, S, dtype=torch.bool, device=x.device).triu(0)\nreturn s.masked_fill(m, -torch.inf).softmax(-1) @ v",
    ),
    65: (
        "one future key visible beside a cache",
        "causal-mask",
        "mask-off-by-one",
        "i, j = torch.arange(Sq, device=device)[:, None], torch.arange(Sk, device=device)\nreturn j <= i + Sk - Sq + 1",
    ),
    67: (
        "rows that see nothing repaired after the softmax: NaN gradients",
        "safe-weights",
        "nan-row",
        "w = scores.softmax(-1)\nreturn torch.where(w.isnan(), 0.0, w)",
    ),
    70: (
        "padding on the axis of the queries",
        "padding-mask",
        "mask-wrong-axis",
        _REAL + "return real[:, None, :, None]",
    ),
    71: (
        "padding on queries and keys together",
        "padding-mask",
        "mask-wrong-axis",
        _REAL + "return real[:, None, None, :] & real[:, None, :, None]",
    ),
    76: (
        "filled with 1e-9",
        "mask-scores",
        "mask-fill-not-low-enough",
        "return scores.masked_fill(~may_attend, 1e-9)",
    ),
    77: (
        "filled with -1e-9",
        "mask-scores",
        "mask-fill-not-low-enough",
        "return scores.masked_fill(~may_attend, -1e-9)",
    ),
    80: (
        "filled with a tiny negative number",
        "mask-scores",
        "mask-fill-not-low-enough",
        "return torch.where(may_attend, scores, torch.full_like(scores, -1e-12))",
    ),
    88: (
        "a mask turned into 0 and the lowest number, then added: right",
        "head",
        None,
        _QKV
        + _MAY
        + _S
        + "return (s + (1.0 - may.float()) * torch.finfo(s.dtype).min).softmax(-1) @ v",
    ),
    101: (
        "is_causal with a cache",
        "cached-step",
        "causal-misaligned",
        "return F.scaled_dot_product_attention(q, k_cache, v_cache, is_causal=True)",
    ),
    110: (
        "a mask made without a device",
        "causal-mask",
        "fixed-device",
        "return torch.ones(Sq, Sk, dtype=torch.bool).tril(Sk - Sq)",
    ),
    115: (
        "F.dropout without training=",
        "weighted-sum",
        "dropout-active",
        "return F.dropout(weights, 0.3) @ v",
    ),
    116: (
        "nn.Dropout made in forward",
        "weighted-sum",
        "dropout-active",
        "return nn.Dropout(0.3)(weights) @ v",
    ),
    118: (
        "dropout on the scores",
        "head",
        "dropout-active",
        _QKV
        + _MAY
        + _S
        + _HIDE
        + "return F.dropout(s, 0.2).nan_to_num(-torch.inf).softmax(-1) @ v",
    ),
    140: (
        "a weight (out, in) summed as (in, out)",
        "project",
        "weight-transposed",
        "return torch.einsum('btc,co->bto', x, weight)",
    ),
    143: (
        "the letters of queries and keys exchanged in the second einsum",
        "multi-head",
        "transpose-wrong-dims",
        _SPLIT
        + "w = (q @ k.mT / H ** 0.5).masked_fill(~may, -torch.inf).softmax(-1)\no = torch.einsum('bhqk,bhqd->bhkd', w, v)"
        + _JOIN,
    ),
    146: (
        "key heads tiled",
        "grouped-query",
        "kv-heads-tiled",
        "n = q.shape[1] // k.shape[1]\nreturn F.scaled_dot_product_attention(q, k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1))",
    ),
    148: (
        "fewer key heads and no enable_gqa",
        "grouped-query",
        "raises",
        "return F.scaled_dot_product_attention(q, k, v)",
    ),
    158: (
        "W copied into a layer that wants its transpose",
        "project",
        "weight-transposed",
        "return F.linear(x, weight.T)",
    ),
    163: (
        "the heads' own output maps added up: right",
        "multi-head",
        None,
        _SPLIT
        + "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\nreturn sum(o[:, h] @ wo[:, h * H : (h + 1) * H].T for h in range(n_heads))",
    ),
    167: (
        "the largest of the heads instead of all",
        "multi-head",
        "wrong-shape",
        _SPLIT
        + "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\nreturn o.amax(1) @ wo[:, :H].T[:, :H]",
    ),
    169: (
        "weights overwritten in place after the softmax",
        "head",
        "mask-after-softmax",
        _QKV + _MAY + _S + "w = s.softmax(-1)\nw.masked_fill_(~may, 0.0)\nreturn w @ v",
    ),
    170: (
        "raw scores overwritten in place: right",
        "head",
        None,
        _QKV + _MAY + _S + "s.masked_fill_(~may, -torch.inf)\nreturn s.softmax(-1) @ v",
    ),
    179: (
        "squeeze, which drops a batch of one too",
        "scores",
        "wrong-shape",
        "return q.squeeze() @ k.squeeze().mT",
    ),
    193: (
        "one projection for queries, keys and values",
        "multi-head",
        "projection-shared",
        "B, S, C = x.shape\nz = (x @ wq.T).view(B, S, n_heads, -1).transpose(1, 2)\no = F.scaled_dot_product_attention(z, z, z, is_causal=True)"
        + _JOIN,
    ),
    196: (
        "the result of masked_fill dropped",
        "head",
        "mask-ignored",
        _QKV + _MAY + _S + "s.masked_fill(~may, -torch.inf)\nreturn s.softmax(-1) @ v",
    ),
}
