"""Right answers in many styles: exercise -> bodies."""

# ruff: noqa: E501 (a line of the corpus is one answer)

_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\nB, S, E = x.shape\nH = q.shape[-1]\n"
_MAY = "may = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\n"
_HEADS = (
    "B, S, E = x.shape\nH = E // n_heads\n"
    "q, k, v = ((x @ w.T).view(B, S, n_heads, H).transpose(1, 2) for w in (wq, wk, wv))\n"
)
_MERGE = "\nreturn o.transpose(1, 2).reshape(B, S, E) @ wo.T"
_CACHE = "Sq, Sk, H = q.shape[2], k_cache.shape[2], q.shape[3]\n"
_CMAY = "may = torch.ones(Sq, Sk, dtype=torch.bool, device=q.device).tril(Sk - Sq)\n"
_GROUP = "n = q.shape[1] // k.shape[1]\n"

RIGHT = {
    "project": [
        "return F.linear(x, weight)",
        "return torch.einsum('bse,he->bsh', x, weight)",
        "return einops.einsum(x, weight, 'b s e, h e -> b s h')",
        "return (weight @ x.mT).mT",
        "return torch.stack([row @ weight.T for row in x])",
        "return (x[:, :, None] * weight).sum(-1)",
        "return torch.tensordot(x, weight, dims=([2], [1]))",
        "B, S, E = x.shape\nreturn (x.reshape(B * S, E) @ weight.t()).reshape(B, S, -1)",
    ],
    "scores": [
        "return q @ k.mT",
        "return torch.bmm(q, k.permute(0, 2, 1))",
        "return torch.einsum('bqd,bkd->bqk', q, k)",
        "return (k @ q.mT).mT",
        "return (q[:, :, None] * k[:, None]).sum(-1)",
        "out = torch.zeros(len(q), q.shape[1], k.shape[1], device=q.device)\nfor b in range(len(q)):\n    for i in range(q.shape[1]):\n"
        "        for j in range(k.shape[1]):\n            out[b, i, j] = q[b, i] @ k[b, j]\nreturn out",
        "return torch.matmul(q, einops.rearrange(k, 'b k d -> b d k'))",
        "return torch.stack([a @ b.T for a, b in zip(q, k)])",
        "print('shapes', q.shape, k.shape)\nreturn q @ k.transpose(-1, -2)",
    ],
    "scale": [
        "return scores / math.sqrt(head_size)",
        "return scores * head_size ** -0.5",
        "return scores / head_size ** 0.25 / head_size ** 0.25",
        "return scores / torch.sqrt(torch.tensor(float(head_size)))",
        "return torch.div(scores, np.sqrt(head_size))",
        "out = scores.clone()\nout /= head_size ** 0.5\nreturn out",
        "return (scores.double() / head_size ** 0.5).to(scores.dtype)",
    ],
    "causal-mask": [
        "return ~torch.ones(Sq, Sk, dtype=torch.bool, device=device).triu(Sk - Sq + 1)",
        "return torch.arange(Sk, device=device) <= torch.arange(Sq, device=device)[:, None] + Sk - Sq",
        "return torch.ones(Sk, Sk, dtype=torch.bool, device=device).tril()[-Sq:]",
        "return torch.tensor([[j <= Sk - Sq + i for j in range(Sk)] for i in range(Sq)], device=device)",
        "return torch.ones(Sq, Sk).to(device).tril(Sk - Sq).bool()",
        "m = torch.zeros(Sq, Sk, dtype=torch.bool, device=device)\nfor i in range(Sq):\n    m[i, :Sk - Sq + i + 1] = True\nreturn m",
        "with torch.device(device):\n    return torch.tril(torch.ones(Sq, Sk), diagonal=Sk - Sq) == 1",
    ],
    "mask-scores": [
        "return torch.where(may_attend, scores, -math.inf)",
        "return torch.where(may_attend, scores, torch.full_like(scores, -math.inf))",
        "s = scores.clone()\ns[:, ~may_attend] = -math.inf\nreturn s",
        "return scores.masked_fill(may_attend == 0, float('-inf'))",
        "return scores + torch.zeros_like(scores).masked_fill(~may_attend, -math.inf)",
        "return scores.masked_fill(~may_attend, torch.finfo(scores.dtype).min)",
        "return scores + may_attend.float().log()",
        "s = scores * 1\nreturn s.masked_fill_(~may_attend, -math.inf)",
    ],
    "weights": [
        "return scores.softmax(-1)",
        "return F.softmax(scores, dim=2)",
        "e = scores.exp()\nreturn e / e.sum(-1, keepdim=True)",
        "return (scores - scores.logsumexp(-1, keepdim=True)).exp()",
        "return scores.log_softmax(-1).exp()",
        "return torch.stack([torch.stack([r.softmax(0) for r in s]) for s in scores])",
        "return scores.mT.softmax(1).mT",
        "e = torch.exp(scores - scores.max())\nreturn torch.einsum('bqk,bq->bqk', e, 1 / e.sum(-1))",
        "return nn.Softmax(dim=-1)(scores)",
    ],
    "safe-weights": [
        "gone = (scores == -math.inf).all(-1, keepdim=True)\nreturn torch.where(gone, 0.0, scores.masked_fill(gone, 0.0).softmax(-1))",
        "top = scores.amax(-1, keepdim=True)\ntop = torch.where(top.isinf(), 0.0, top)\ne = (scores - top).exp()\n"
        "return e / e.sum(-1, keepdim=True).clamp(min=1e-30)",
        "e = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e9)).exp()\nt = e.sum(-1, keepdim=True)\nreturn e / (t + (t == 0))",
        "gone = scores.isneginf().all(-1)\nw = scores.clone()\nw[gone] = 0.0\nreturn w.softmax(-1) * ~gone[..., None]",
    ],
    "weighted-sum": [
        "return torch.bmm(weights, v)",
        "return torch.einsum('bqk,bkd->bqd', weights, v)",
        "return (weights[..., None] * v[:, None]).sum(2)",
        "return (v.mT @ weights.mT).mT",
        "out = 0\nfor j in range(v.shape[1]):\n    out = out + weights[:, :, j:j + 1] * v[:, j:j + 1]\nreturn out",
        "return F.dropout(weights, 0.5, training=False) @ v",
        "return torch.stack([w @ u for w, u in zip(weights, v)])",
    ],
    "head": [
        _QKV + _MAY + "return (q @ k.mT / H ** 0.5).masked_fill(~may, -1e9).softmax(-1) @ v",
        _QKV + "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        _QKV + _MAY + "return F.scaled_dot_product_attention(q, k, v, attn_mask=may)",
        _QKV + _MAY + "return ((q / H ** 0.5) @ k.mT).masked_fill(~may, -math.inf).softmax(-1) @ v",
        _QKV + _MAY + "return ((q / H ** 0.25) @ (k / H ** 0.25).mT).masked_fill(~may, -math.inf).softmax(-1) @ v",
        _QKV + _MAY + "w = (q @ k.mT / H ** 0.5).softmax(-1) * may\nreturn w / w.sum(-1, keepdim=True) @ v",
        _QKV + "m = torch.full((S, S), -math.inf, device=x.device).triu(1)\nreturn (q @ k.mT / math.sqrt(H) + m).softmax(-1) @ v",
        _QKV + "s = torch.einsum('bqd,bkd->bqk', q, k) * H ** -0.5\nm = torch.tril(torch.ones_like(s[0]))\n"
        "s = s.masked_fill(m == 0, float('-inf'))\nreturn torch.einsum('bqk,bkd->bqd', F.softmax(s, -1), v)",
        "w = torch.cat([wq, wk, wv])\nq, k, v = F.linear(x, w).chunk(3, -1)\nreturn F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        _QKV + "rows = []\nfor i in range(S):\n    s = q[:, i:i + 1] @ k[:, :i + 1].mT / H ** 0.5\n    rows.append(s.softmax(-1) @ v[:, :i + 1])\nreturn torch.cat(rows, 1)",
        _QKV + _MAY + "s = q @ k.mT / H ** 0.5\ns.masked_fill_(~may, -math.inf)\nreturn s.softmax(-1) @ v",
        _QKV + "s = (k @ q.mT).mT / H ** 0.5 + (1 - torch.ones(S, S, device=x.device).tril()) * -1e4\nreturn s.softmax(-1) @ v",
        _QKV + "m = torch.ones(S, S).tril().to(x.device)\nreturn (q @ k.mT / H ** 0.5).masked_fill(m == 0, -1e30).softmax(-1) @ v",
    ],
    "split-heads": [
        "return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)",
        "return einops.rearrange(x, 'b s (h d) -> b h s d', h=n_heads)",
        "return torch.stack(x.chunk(n_heads, -1), 1)",
        "return torch.stack(x.tensor_split(n_heads, 2)).transpose(0, 1)",
        "B, S, E = x.shape\nH = E // n_heads\nreturn torch.stack([x[:, :, h * H:(h + 1) * H] for h in range(n_heads)], dim=1)",
        "B, S, E = x.shape\nreturn x.mT.reshape(B, n_heads, E // n_heads, S).mT",
    ],
    "merge-heads": [
        "return x.transpose(1, 2).flatten(2)",
        "return einops.rearrange(x, 'b h s d -> b s (h d)')",
        "return torch.cat(x.unbind(1), -1)",
        "B, h, S, d = x.shape\nreturn x.permute(0, 2, 1, 3).contiguous().view(B, S, h * d)",
        "B, h, S, d = x.shape\nout = x.new_empty(B, S, h * d)\nfor i in range(h):\n    out[..., i * d:(i + 1) * d] = x[:, i]\nreturn out",
    ],
    "multi-head": [
        _HEADS + "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)" + _MERGE,
        _HEADS + _MAY + "o = (q @ k.mT / H ** 0.5).masked_fill(~may, -1e9).softmax(-1) @ v" + _MERGE,
        "q, k, v = (einops.rearrange(x @ w.T, 'b s (h d) -> b h s d', h=n_heads) for w in (wq, wk, wv))\n"
        "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\nreturn einops.rearrange(o, 'b h s d -> b s (h d)') @ wo.T",
        "B, S, E = x.shape\nH = E // n_heads\n" + _MAY + "outs = []\nfor h in range(n_heads):\n    r = slice(h * H, (h + 1) * H)\n"
        "    s = (x @ wq[r].T) @ (x @ wk[r].T).mT / H ** 0.5\n    outs.append(s.masked_fill(~may, -math.inf).softmax(-1) @ (x @ wv[r].T))\n"
        "return torch.cat(outs, -1) @ wo.T",
        "B, S, E = x.shape\nH = E // n_heads\n" + _MAY + "out = 0\nfor h in range(n_heads):\n    r = slice(h * H, (h + 1) * H)\n"
        "    s = (x @ wq[r].T) @ (x @ wk[r].T).mT / H ** 0.5\n    out = out + s.masked_fill(~may, -math.inf).softmax(-1) @ (x @ wv[r].T) @ wo[:, r].T\nreturn out",
        "B, S, E = x.shape\nH = E // n_heads\nq, k, v = ((x @ w.T).view(B, S, n_heads, H) for w in (wq, wk, wv))\n" + _MAY +
        "s = torch.einsum('bihd,bjhd->bijh', q, k) / H ** 0.5\nw = s.masked_fill(~may[..., None], -math.inf).softmax(2)\n"
        "return torch.einsum('bijh,bjhd->bihd', w, v).reshape(B, S, E) @ wo.T",
        "B, S, E = x.shape\nH = E // n_heads\nq, k, v = ((x @ w.T).view(B, S, n_heads, H).transpose(1, 2).reshape(B * n_heads, S, H) for w in (wq, wk, wv))\n"
        + _MAY + "o = torch.bmm((torch.bmm(q, k.mT) * H ** -0.5).masked_fill(~may, -math.inf).softmax(-1), v)\n"
        "return o.view(B, n_heads, S, H).transpose(1, 2).reshape(B, S, E) @ wo.T",
        "B, S, E = x.shape\nm = ~torch.ones(S, S, dtype=torch.bool, device=x.device).tril()\n"
        "return F.multi_head_attention_forward(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), E, n_heads, torch.cat([wq, wk, wv]), None, "
        "None, None, False, 0.0, wo, None, training=False, attn_mask=m, need_weights=False)[0].transpose(0, 1)",
    ],
    "padding-mask": [
        "return (torch.arange(S, device=lengths.device)[None] < lengths[:, None]).view(-1, 1, 1, S)",
        "return torch.arange(S, device=lengths.device).expand(len(lengths), 1, 1, S) < lengths.view(-1, 1, 1, 1)",
        "m = torch.zeros(len(lengths), S, dtype=torch.bool, device=lengths.device)\nfor b, n in enumerate(lengths):\n    m[b, :n] = True\nreturn m[:, None, None]",
        "return torch.tensor([[[[j < n for j in range(S)]]] for n in lengths.tolist()], device=lengths.device)",
        "return ~(lengths[:, None, None, None] <= torch.arange(S).to(lengths.device))",
    ],
    "cached-step": [
        _CACHE + _CMAY + "return F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=may)",
        _CACHE + _CMAY + "s = torch.einsum('bhqd,bhkd->bhqk', q, k_cache) / math.sqrt(H)\nreturn torch.einsum('bhqk,bhkd->bhqd', s.masked_fill(~may, -math.inf).softmax(-1), v_cache)",
        _CACHE + "i = torch.arange(Sk - Sq, Sk, device=q.device)\nmay = torch.arange(Sk, device=q.device) <= i[:, None]\n"
        "return (q @ k_cache.mT / H ** 0.5).masked_fill(~may, -1e9).softmax(-1) @ v_cache",
        _CACHE + "out = []\nfor i in range(Sq):\n    n = Sk - Sq + i + 1\n    out.append(F.scaled_dot_product_attention(q[:, :, i:i + 1], k_cache[:, :, :n], v_cache[:, :, :n]))\nreturn torch.cat(out, 2)",
        _CACHE + "full = F.pad(q, (0, 0, Sk - Sq, 0))\nreturn F.scaled_dot_product_attention(full, k_cache, v_cache, is_causal=True)[:, :, Sk - Sq:]",
    ],
    "grouped-query": [
        "return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
        _GROUP + "k, v = (t[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2) for t in (k, v))\nreturn F.scaled_dot_product_attention(q, k, v)",
        _GROUP + "B, h, S, d = q.shape\nq = q.view(B, -1, n, S, d)\ns = q @ k[:, :, None].mT / d ** 0.5\nreturn (s.softmax(-1) @ v[:, :, None]).view(B, h, S, d)",
        _GROUP + "outs = []\nfor h in range(q.shape[1]):\n    s = q[:, h] @ k[:, h // n].mT / q.shape[-1] ** 0.5\n    outs.append(s.softmax(-1) @ v[:, h // n])\nreturn torch.stack(outs, 1)",
        "q = einops.rearrange(q, 'b (g n) s d -> b g n s d', g=k.shape[1])\ns = torch.einsum('bgnqd,bgkd->bgnqk', q, k) / q.shape[-1] ** 0.5\n"
        "return einops.rearrange(torch.einsum('bgnqk,bgkd->bgnqd', s.softmax(-1), v), 'b g n q d -> b (g n) q d')",
    ],
}  # fmt: skip
