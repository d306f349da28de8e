"""More right answers, each in a style of its own: exercise -> bodies."""

# ruff: noqa: E501 (a line of the corpus is one answer)

_SPLIT = "B, T, C = x.size()\nq, k, v = [(x @ w.t()).view(B, T, n_heads, C // n_heads).transpose(1, 2) for w in (wq, wk, wv)]\nd = q.size(-1)\n"

RIGHT = {
    "project": [
        'return torch.tensordot(x, weight, dims=([-1], [1]))',
        "return x.matmul(weight.transpose(0, 1))",
        "layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)\nreturn torch.func.functional_call(layer, {'weight': weight}, (x,))",
        "return torch.vmap(lambda s: s @ weight.T)(x)",
        "out = x.new_zeros(*x.shape[:2], weight.shape[0])\nfor h in range(weight.shape[0]):\n    out[:, :, h] = (x * weight[h]).sum(-1)\nreturn out",
    ],
    "scores": [
        'return torch.bmm(k, q.permute(0, 2, 1)).permute(0, 2, 1)',
        "return torch.baddbmm(torch.zeros(1, 1, 1, device=q.device), q, k.mT)",
        "return torch.vmap(lambda a, b: a @ b.T)(q, k)",
        "return ((q.unsqueeze(2) + k.unsqueeze(1)).square().sum(-1) - (q.unsqueeze(2) - k.unsqueeze(1)).square().sum(-1)) / 4",
    ],
    "scale": [
        'return scores * math.exp(-0.5 * math.log(head_size))',
        "return scores.mul(1 / math.sqrt(head_size))",
        "return scores * torch.tensor(head_size, dtype=scores.dtype, device=scores.device).rsqrt()",
    ],
    "causal-mask": [
        'return ~torch.ones(Sk, Sk, dtype=torch.bool, device=device).triu(1)[Sk - Sq:]',
        "return torch.zeros(Sq, Sk, device=device).masked_fill(torch.ones(Sq, Sk, device=device).triu(Sk - Sq + 1) == 1, -math.inf) == 0",
        "rows = [[True] * (Sk - Sq + i + 1) + [False] * (Sq - i - 1) for i in range(Sq)]\nreturn torch.BoolTensor(rows)",
        "return torch.ones((Sq, Sk), device=device).cumsum(1) <= (torch.arange(Sq, device=device) + Sk - Sq + 1).unsqueeze(1)",
    ],
    "mask-scores": [
        'return scores + may_attend.to(scores).log()',
        'return scores + torch.where(may_attend, 0.0, -math.inf)',
        "blocked = torch.logical_not(may_attend).expand_as(scores)\nout = scores.clone()\nout[blocked] = float('-inf')\nreturn out",
        "bias = torch.zeros(may_attend.shape, device=scores.device)\nbias[~may_attend] = -math.inf\nreturn bias + scores",
        "return torch.stack([s.masked_fill(~may_attend, -math.inf) for s in scores])",
    ],
    "weights": [
        'return (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()',
        'return 1 / (scores.unsqueeze(-2) - scores.unsqueeze(-1)).exp().sum(-1)',
        'return (scores + 1e-30 * torch.rand_like(scores)).softmax(-1)',
        "m = scores.max(dim=-1, keepdim=True).values\ne = torch.exp(scores - m)\nreturn e.div(e.sum(dim=-1, keepdim=True))",
        "e = 2 ** (scores * math.log2(math.e))\nreturn F.normalize(e, p=1, dim=-1)",
        "return (scores / 2).softmax(-1).square() / (scores / 2).softmax(-1).square().sum(-1, keepdim=True)",
    ],
    "safe-weights": [
        'm = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)\ne = (scores - m).exp()\nreturn e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)',
        'dead = torch.isneginf(scores).all(-1, keepdim=True)\ne = (scores - scores.masked_fill(dead, 0.0).amax(-1, keepdim=True)).exp()\nreturn e / (e.sum(-1, keepdim=True) + 1e-9)',
        "Sk = scores.shape[-1]\nsink = scores.new_full((*scores.shape[:-1], 1), -1e4)\nreturn torch.cat([scores, sink], -1).softmax(-1)[..., :Sk]",
        "seen = (scores > -math.inf).any(-1, keepdim=True)\nsafe = torch.where(seen, scores, torch.zeros_like(scores))\nreturn safe.softmax(-1) * seen",
    ],
    "weighted-sum": [
        'return (v.mT @ weights.mT).mT',
        "return sum(weights[..., j, None] * v[:, None, j] for j in range(v.size(1)))",
        "return torch.vmap(torch.mm)(weights, v)",
        "return torch.matmul(weights.unsqueeze(1), v.unsqueeze(1)).squeeze(1)",
    ],
    "head": [
        'q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\ns = (q @ k.mT / q.shape[-1] ** 0.5).tril()\nreturn s.masked_fill(s == 0, -math.inf).softmax(-1) @ v',
        'q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\nw = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).tril()\nreturn w / w.sum(-1, keepdim=True) @ v',
        "T, d = x.size(1), wq.size(0)\nq, k, v = (F.linear(x, w) for w in (wq, wk, wv))\na = wq.T @ wk / d ** 0.5\ns = x @ a @ x.mT\ns = s - torch.triu(torch.full((T, T), 1e9, device=x.device), 1)\nreturn s.softmax(-1) @ v",
        "T = x.size(1)\nq, k, v = (einops.einsum(x, w, 'b s e, h e -> b s h') for w in (wq, wk, wv))\nout = torch.zeros_like(v)\nfor i in range(T):\n    w = torch.softmax((k[:, :i + 1] * q[:, i:i + 1]).sum(-1) / q.size(-1) ** 0.5, -1)\n    out[:, i] = (w[..., None] * v[:, :i + 1]).sum(1)\nreturn out",
        "T = x.size(1)\nq, k, v = x @ wq.mT, x @ wk.mT, x @ wv.mT\ne = torch.exp(q @ k.mT / math.sqrt(q.size(-1))).tril()\nreturn (e / e.sum(-1, keepdim=True)) @ v",
        "from attnlib import attention, causal_mask\nq, k, v = x @ wq.T, x @ wk.T, x @ wv.T\nreturn attention(q, k, v, may_attend=causal_mask(x.shape[1], device=x.device)).output",
        "q, k, v = (x @ torch.cat([wq, wk, wv]).T).split(wq.shape[0], -1)\nq, k, v = q[:, None], k[:, None], v[:, None]\nreturn F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, 0]",
    ],
    "split-heads": [
        'return x.mT.unflatten(1, (n_heads, -1)).mT',
        "return x.view(*x.shape[:2], n_heads, x.shape[2] // n_heads).movedim(2, 1)",
        "B, S, E = x.shape\nreturn x.as_strided((B, n_heads, S, E // n_heads), (S * E, E // n_heads, E, 1))",
        "return x.unfold(2, x.shape[2] // n_heads, x.shape[2] // n_heads).permute(0, 2, 1, 3)",
    ],
    "merge-heads": [
        'return x.mT.flatten(1, 2).mT',
        "return torch.concat([x[:, h] for h in range(x.shape[1])], dim=2)",
        "return torch.einsum('bhsd->bshd', x).flatten(2)",
        "return x.movedim(1, 2).flatten(-2)",
    ],
    "multi-head": [
        'd = x.shape[-1] // n_heads\nout = torch.zeros_like(x)\nfor h in range(n_heads):\n    r = slice(h * d, (h + 1) * d)\n    o = F.scaled_dot_product_attention(x @ wq[r].T, x @ wk[r].T, x @ wv[r].T, is_causal=True)\n    out = out + o @ wo[:, r].T\nreturn out',
        _SPLIT + "att = torch.einsum('bhid,bhjd->bhij', q, k) * d ** -0.5\natt = att + torch.full((T, T), torch.finfo(x.dtype).min, device=x.device).triu(1)\ny = torch.einsum('bhij,bhjd->bihd', att.softmax(-1), v)\nreturn torch.einsum('bihd,ohd->bio', y, wo.view(C, n_heads, d))",
        _SPLIT + "e = (q @ k.mT / d ** 0.5).exp() * torch.ones(T, T, device=x.device).tril()\ny = (e / e.sum(-1, keepdim=True)) @ v\nreturn y.permute(0, 2, 1, 3).flatten(2) @ wo.T",
        "from attnlib import split_heads, merge_heads, attention, causal_mask\nq, k, v = (split_heads(x @ w.T, n_heads) for w in (wq, wk, wv))\no = attention(q, k, v, may_attend=causal_mask(x.shape[1], device=x.device)).output\nreturn merge_heads(o) @ wo.T",
    ],
    "padding-mask": [
        'ones = torch.ones(len(lengths), S, dtype=torch.long, device=lengths.device)\nreturn ones.cumsum(1).le(lengths.unsqueeze(1)).view(-1, 1, 1, S)',
        "i = torch.ones(len(lengths), S, device=lengths.device).cumsum(1)\nreturn (i <= lengths.unsqueeze(1))[:, None, None, :]",
        "return torch.stack([torch.arange(S, device=lengths.device) < n for n in lengths]).reshape(-1, 1, 1, S)",
    ],
    "cached-step": [
        'n, m = q.shape[2], k_cache.shape[2]\nfull = q.new_zeros(*q.shape[:2], m, q.shape[3])\nfull[:, :, m - n:] = q\nreturn F.scaled_dot_product_attention(full, k_cache, v_cache, is_causal=True)[:, :, m - n:]',
        "Sq, Sk = q.size(2), k_cache.size(2)\ns = q @ k_cache.mT / q.size(3) ** 0.5\npast = torch.ones(Sq, Sk - Sq, device=q.device)\nown = torch.ones(Sq, Sq, device=q.device).tril()\nm = torch.cat([past, own], 1)\nreturn s.masked_fill(m == 0, -math.inf).softmax(-1) @ v_cache",
        "Sq, Sk = q.size(2), k_cache.size(2)\nm = torch.ones(Sk, Sk, dtype=torch.bool, device=q.device).tril()[-Sq:]\nreturn F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=m)",
    ],
    "grouped-query": [
        "g = q.unflatten(1, (k.shape[1], -1))\nw = torch.einsum('bgnqd,bgkd->bgnqk', g, k).div(q.shape[-1] ** 0.5).softmax(-1)\nreturn torch.einsum('bgnqk,bgkd->bgnqd', w, v).flatten(1, 2)",
        "g = k.size(1)\nreturn torch.cat([F.scaled_dot_product_attention(c, k[:, i:i + 1].expand_as(c), v[:, i:i + 1].expand_as(c)) for i, c in enumerate(q.chunk(g, 1))], 1)",
        "idx = torch.arange(q.size(1), device=q.device) // (q.size(1) // k.size(1))\ns = q @ k[:, idx].mT / q.size(-1) ** 0.5\nreturn s.softmax(-1) @ v[:, idx]",
    ],
}  # fmt: skip
