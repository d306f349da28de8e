"""Correct answers by someone who had not read the checker, written before it was run on them.

A key is an exercise, a value the bodies of functions with that exercise's arguments.
"""
# Written before the checker was read; first run: 113 of 113 passed, at ten seeds each, four of them
# with a note. The head in float64 was added afterwards: it had stood among the wrong ones.
# ruff: noqa: E501

RIGHT: dict[str, list[str]] = {}

RIGHT["project"] = [
    "return x @ weight.T",
    "return torch.einsum('bse,he->bsh', x, weight)",
    "return torch.tensordot(x, weight, dims=([2], [1]))",
    "return einops.einsum(x, weight, 'b s e, h e -> b s h')",
    "return (x.unsqueeze(2) * weight).sum(-1)",
    """
b, s, e = x.shape
out = weight.mm(x.reshape(b * s, e).t())  # (H, b*s)
return out.t().reshape(b, s, -1)
""",
    "return torch.stack([torch.stack([torch.mv(weight, token) for token in seq]) for seq in x])",
    "return torch.matmul(weight, x.transpose(-2, -1)).transpose(-2, -1)",
]

RIGHT["scores"] = [
    "return q @ k.transpose(1, 2)",
    "return torch.bmm(q, k.permute(0, 2, 1))",
    "return torch.einsum('bid,bjd->bij', q, k)",
    "return (k @ q.mT).mT",
    "return (q[:, :, None, :] * k[:, None, :, :]).sum(dim=-1)",
    """
rows = []
for b in range(q.shape[0]):
    rows.append(torch.mm(q[b], k[b].t()))
return torch.stack(rows)
""",
    """
batch, Sq, H = q.shape
Sk = k.size(1)
out = q.new_zeros(batch, Sq, Sk)
for b in range(batch):
    for i in range(Sq):
        for j in range(Sk):
            out[b, i, j] = torch.dot(q[b, i], k[b, j])
return out
""",
]

RIGHT["scale"] = [
    "return scores / math.sqrt(head_size)",
    "return scores * head_size ** -0.5",
    "return torch.div(scores, np.sqrt(head_size))",
    "return scores / torch.tensor(float(head_size)).sqrt()",
    """
root4 = head_size ** 0.25
return scores / root4 / root4
""",
    "return torch.stack([row * (1.0 / math.sqrt(head_size)) for row in scores])",
    "return scores.mul(torch.rsqrt(torch.as_tensor(head_size, dtype=scores.dtype, device=scores.device)))",
]

RIGHT["causal-mask"] = [
    "return torch.ones(Sq, Sk, dtype=torch.bool, device=device).tril(Sk - Sq)",
    "return ~torch.triu(torch.ones(Sq, Sk, dtype=torch.bool, device=device), diagonal=Sk - Sq + 1)",
    """
i = torch.arange(Sk - Sq, Sk, device=device)
j = torch.arange(Sk, device=device)
return j[None, :] <= i[:, None]
""",
    """
grid = [[key <= query + (Sk - Sq) for key in range(Sk)] for query in range(Sq)]
return torch.tensor(grid, device=device)
""",
    "return torch.tril(torch.ones(Sk, Sk, device=device)).bool()[Sk - Sq:, :]",
    "return torch.from_numpy(np.tri(Sq, Sk, Sk - Sq, dtype=bool)).to(device)",
    """
mask = torch.zeros(Sq, Sk, dtype=torch.bool, device=device)
for i in range(Sq):
    mask[i, : Sk - Sq + i + 1] = True
return mask
""",
    """
past = torch.ones((Sq, Sk - Sq), dtype=torch.bool, device=device)
new = torch.ones((Sq, Sq), dtype=torch.bool, device=device).tril()
return torch.cat((past, new), dim=1)
""",
]

RIGHT["mask-scores"] = [
    "return scores.masked_fill(~may_attend, float('-inf'))",
    "return torch.where(may_attend, scores, -torch.inf)",
    """
out = scores.clone()
out[:, ~may_attend] = -math.inf
return out
""",
    """
bias = torch.zeros_like(may_attend, dtype=scores.dtype).masked_fill(may_attend.logical_not(), float('-inf'))
return scores + bias
""",
    "return scores.masked_fill(may_attend.expand_as(scores) == 0, torch.finfo(scores.dtype).min)",
    "return torch.stack([s.masked_fill(may_attend.logical_not(), -np.inf) for s in scores])",
    "return scores + torch.log(may_attend.to(scores.dtype))",
    "return torch.where(einops.rearrange(may_attend, 'q k -> 1 q k'), scores, torch.full_like(scores, float('-inf')))",
]

RIGHT["weights"] = [
    "return torch.softmax(scores, dim=-1)",
    "return F.softmax(scores, 2)",
    "e = torch.exp(scores)\nreturn e / e.sum(-1, keepdim=True)",
    """
m, _ = scores.max(dim=2, keepdim=True)
z = (scores - m).exp()
return torch.div(z, z.sum(dim=2, keepdim=True))
""",
    "return (scores - scores.logsumexp(-1, keepdim=True)).exp()",
    "return nn.Softmax(dim=-1)(scores)",
    "return scores.transpose(1, 2).softmax(dim=1).transpose(1, 2)",
    """
def row_softmax(row):
    e = torch.exp(row - row.max())
    return e / e.sum()
return torch.stack([torch.stack([row_softmax(r) for r in s]) for s in scores])
""",
    "return torch.softmax(F.log_softmax(scores, dim=-1), dim=-1)",
    "return 1 / torch.exp(scores[:, :, None, :] - scores[:, :, :, None]).sum(-1)",
]

RIGHT["safe-weights"] = [
    """
dead = torch.isneginf(scores).all(dim=-1, keepdim=True)
w = torch.softmax(scores.masked_fill(dead, 0.0), dim=-1)
return w.masked_fill(dead, 0.0)
""",
    """
alive = (scores > -torch.inf).any(-1, keepdim=True)
safe = torch.where(alive, scores, torch.zeros_like(scores))
return torch.where(alive, F.softmax(safe, dim=-1), 0.0)
""",
    """
m = scores.amax(dim=-1, keepdim=True).detach()
m = torch.where(torch.isinf(m), torch.zeros_like(m), m)
e = torch.exp(scores - m)
total = e.sum(-1, keepdim=True)
return e / torch.where(total == 0, torch.ones_like(total), total)
""",
    """
allowed = scores != float('-inf')
filled = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
return filled.softmax(-1) * allowed
""",
    """
b, sq, sk = scores.shape
rows = []
for r in scores.reshape(-1, sk):
    if torch.all(r == -math.inf):
        rows.append(torch.zeros_like(r))
    else:
        rows.append(torch.softmax(r, 0))
return torch.stack(rows).view(b, sq, sk)
""",
    """
# one extra key with the score 0 in the dead rows only
dead = (scores == -torch.inf).all(-1, keepdim=True)
sink = torch.zeros_like(scores[..., :1]).masked_fill(~dead, -torch.inf)
return torch.softmax(torch.cat([scores, sink], -1), -1)[..., :-1]
""",
]

RIGHT["weighted-sum"] = [
    "return weights @ v",
    "return torch.bmm(weights, v)",
    "return torch.einsum('bij,bjd->bid', weights, v)",
    "return (weights.unsqueeze(-1) * v.unsqueeze(1)).sum(2)",
    "return (v.transpose(1, 2) @ weights.transpose(1, 2)).transpose(1, 2)",
    "return torch.stack([w.matmul(val) for w, val in zip(weights, v)])",
    """
out = 0
for j in range(v.shape[1]):
    out = out + weights[:, :, j : j + 1] * v[:, j : j + 1, :]
return out
""",
    "return torch.vmap(torch.matmul)(weights, v)",
]

RIGHT["head"] = [
    "return F.scaled_dot_product_attention(x @ wq.T, x @ wk.T, x @ wv.T, is_causal=True)",
    """
B, T, C = x.shape
k, q, v = F.linear(x, wk), F.linear(x, wq), F.linear(x, wv)
wei = q @ k.transpose(-2, -1) * k.shape[-1]**-0.5
wei = wei.masked_fill(torch.tril(torch.ones(T, T, device=x.device)) == 0, float('-inf'))
wei = F.softmax(wei, dim=-1)
return wei @ v
""",
    """
q, k, v = torch.split(x @ torch.cat([wq, wk, wv]).T, wq.shape[0], dim=-1)
root4 = q.shape[-1] ** 0.25
s = torch.einsum('bid,bjd->bij', q / root4, k / root4)
bias = torch.full(s.shape[1:], float('-inf'), device=x.device, dtype=x.dtype).triu(1)
return torch.einsum('bij,bjd->bid', (s + bias).softmax(-1), v)
""",
    """
out = []
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
for t in range(x.shape[1]):
    s = (k[:, : t + 1] @ q[:, t, :, None]).squeeze(-1) / math.sqrt(wq.shape[0])
    out.append((torch.softmax(s, -1).unsqueeze(1) @ v[:, : t + 1]).squeeze(1))
return torch.stack(out, dim=1)
""",
    """
d = wk.size(0)
q = torch.matmul(x, wq.t()) * d ** -0.5
k = torch.matmul(x, wk.t())
v = torch.matmul(x, wv.t())
s = q.bmm(k.mT)
p = s.softmax(dim=2).tril()          # mask afterwards, then normalise again
p = p / p.sum(dim=2, keepdim=True)
return p.bmm(v)
""",
    """
q, k, v = (torch.einsum('bse,he->bsh', x, w) for w in (wq, wk, wv))
scores = q @ k.mT / np.sqrt(q.shape[-1])
scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -1e9)
return torch.softmax(scores, -1) @ v
""",
    """
# scores without projecting the keys: x Wq^T Wk x^T
a = wq.T @ wk / math.sqrt(len(wq))
s = x @ a @ x.mT
n = x.shape[1]
allowed = torch.arange(n, device=x.device)[:, None] >= torch.arange(n, device=x.device)
p = torch.where(allowed, s, -torch.inf).softmax(-1)
return (p @ x) @ wv.T
""",
    """
seq = x.transpose(0, 1)                      # (S, batch, n_embd), as fairseq has it
q, k, v = seq @ wq.T, seq @ wk.T, seq @ wv.T
s = torch.einsum('ibd,jbd->ijb', q, k) / q.size(-1) ** 0.5
n = s.size(0)
s.masked_fill_(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)[:, :, None], float('-inf'))
return torch.einsum('ijb,jbd->bid', s.softmax(dim=1), v)
""",
    """
def one(sample):
    q, k, v = sample @ wq.T, sample @ wk.T, sample @ wv.T
    s = q @ k.T / math.sqrt(q.shape[1])
    s = s + torch.log(torch.tril(torch.ones_like(s)))
    return torch.softmax(s, dim=1) @ v
return torch.stack([one(sample) for sample in x])
""",
    """
x, wq, wk, wv = (t.double() for t in (x, wq, wk, wv))
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
return F.scaled_dot_product_attention(q, k, v, is_causal=True).float()
""",
]

RIGHT["split-heads"] = [
    "b, s, e = x.shape\nreturn x.view(b, s, n_heads, e // n_heads).transpose(1, 2)",
    "return einops.rearrange(x, 'b s (h d) -> b h s d', h=n_heads)",
    "return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)",
    "return torch.stack(x.chunk(n_heads, dim=-1), dim=1)",
    "return torch.stack(torch.tensor_split(x, n_heads, dim=2)).movedim(0, 1).contiguous()",
    """
H = x.shape[-1] // n_heads
return torch.cat([x[:, None, :, h * H:(h + 1) * H] for h in range(n_heads)], dim=1)
""",
    "return x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2)",
    """
b, s, e = x.shape
d = e // n_heads
out = x.new_empty(b, n_heads, s, d)
for h in range(n_heads):
    for t in range(s):
        out[:, h, t] = x[:, t, h * d:h * d + d]
return out
""",
]

RIGHT["merge-heads"] = [
    "b, h, s, d = x.shape\nreturn x.transpose(1, 2).contiguous().view(b, s, h * d)",
    "return x.permute(0, 2, 1, 3).flatten(2)",
    "return einops.rearrange(x, 'b h s d -> b s (h d)')",
    "return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)",
    "return torch.cat(x.unbind(dim=1), dim=2)",
    "return x.movedim(1, 2).reshape(x.shape[0], x.shape[2], -1)",
    "return torch.cat(list(torch.swapaxes(x, 0, 1)), -1)",
]

RIGHT["multi-head"] = [
    """
B, T, C = x.size()
q, k, v = [F.linear(x, w).view(B, T, n_heads, C // n_heads).transpose(1, 2) for w in (wq, wk, wv)]
y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
y = y.transpose(1, 2).contiguous().view(B, T, C)
return F.linear(y, wo)
""",
    """
q, k, v = (einops.rearrange(x @ w.T, 'b s (h d) -> b h s d', h=n_heads) for w in (wq, wk, wv))
s = q @ k.mT / math.sqrt(q.shape[-1])
n = x.shape[1]
s = s.masked_fill(torch.ones(n, n, device=x.device, dtype=torch.bool).triu(1), -torch.inf)
return einops.rearrange(s.softmax(-1) @ v, 'b h s d -> b s (h d)') @ wo.T
""",
    """
d = x.shape[-1] // n_heads
outs = []
for h in range(n_heads):
    rows = slice(h * d, (h + 1) * d)
    q, k, v = x @ wq[rows].T, x @ wk[rows].T, x @ wv[rows].T
    outs.append(F.scaled_dot_product_attention(q, k, v, is_causal=True))
return torch.cat(outs, dim=-1) @ wo.T
""",
    """
# the sum of the heads' own output maps instead of concat and project
d = x.shape[-1] // n_heads
total = torch.zeros_like(x)
for a, b, c, o in zip(wq.split(d), wk.split(d), wv.split(d), wo.split(d, dim=1)):
    s = (x @ a.T) @ (x @ b.T).mT * d ** -0.5
    s = s.masked_fill(torch.ones_like(s).tril() == 0, -torch.inf)
    total = total + s.softmax(-1) @ (x @ c.T) @ o.T
return total
""",
    """
b, s, e = x.shape
d = e // n_heads
wq, wk, wv = (w.view(n_heads, d, e) for w in (wq, wk, wv))
q = torch.einsum('bse,hde->bshd', x, wq)
k = torch.einsum('bse,hde->bshd', x, wk)
v = torch.einsum('bse,hde->bshd', x, wv)
logits = torch.einsum('bihd,bjhd->bijh', q, k) / d ** 0.5
mask = torch.ones(s, s, device=x.device).tril()[None, :, :, None]
logits = torch.where(mask == 1, logits, -1e9)
weights = logits.softmax(dim=2)
out = torch.einsum('bijh,bjhd->bihd', weights, v)
return torch.einsum('bihd,ohd->bio', out, wo.view(e, n_heads, d))
""",
    """
b, s, e = x.shape
d = e // n_heads
fold = lambda t: t.reshape(b, s, n_heads, d).permute(0, 2, 1, 3).reshape(b * n_heads, s, d)
q, k, v = fold(x @ wq.T) * d ** -0.5, fold(x @ wk.T), fold(x @ wv.T)
bias = torch.zeros(s, s, dtype=x.dtype, device=x.device).masked_fill(~torch.ones(s, s, dtype=torch.bool, device=x.device).tril(), float('-inf'))
att = torch.baddbmm(bias, q, k.transpose(1, 2)).softmax(-1)
y = torch.bmm(att, v).view(b, n_heads, s, d).permute(0, 2, 1, 3).reshape(b, s, e)
return y @ wo.T
""",
    """
out, _ = F.multi_head_attention_forward(
    x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), x.shape[-1], n_heads,
    torch.cat([wq, wk, wv]), None, None, None, False, 0.0, wo, None,
    training=False, need_weights=False,
    attn_mask=torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1))
return out.transpose(0, 1)
""",
]

RIGHT["padding-mask"] = [
    "return (torch.arange(S, device=lengths.device)[None, :] < lengths[:, None])[:, None, None, :]",
    "return torch.arange(S, device=lengths.device).view(1, 1, 1, S) < lengths.view(-1, 1, 1, 1)",
    """
mask = torch.zeros(lengths.size(0), S, dtype=torch.bool, device=lengths.device)
for i, n in enumerate(lengths):
    mask[i, :n] = True
return mask.unsqueeze(1).unsqueeze(2)
""",
    "return torch.tensor([[[[j < n for j in range(S)]]] for n in lengths.tolist()], device=lengths.device)",
    """
pos = torch.arange(1, S + 1, device=lengths.device).expand(len(lengths), S)
pad = pos > lengths.unsqueeze(1)
return einops.rearrange(~pad, 'b s -> b 1 1 s')
""",
    "return torch.stack([torch.arange(S, device=lengths.device) < n for n in lengths])[:, None, None]",
    """
ones = torch.ones(lengths.shape[0], S, dtype=torch.long, device=lengths.device)
return (ones.cumsum(-1) <= lengths[:, None]).reshape(-1, 1, 1, S)
""",
]

RIGHT["cached-step"] = [
    """
L, S = q.size(-2), k_cache.size(-2)
mask = torch.ones(L, S, dtype=torch.bool, device=q.device).tril(diagonal=S - L)
return F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=mask)
""",
    """
T, S = q.shape[2], k_cache.shape[2]
full = torch.tril(torch.ones(S, S, device=q.device))
att = q @ k_cache.transpose(-2, -1) / math.sqrt(q.shape[3])
att = att.masked_fill(full[S - T:S, :] == 0, float('-inf'))
return F.softmax(att, dim=-1) @ v_cache
""",
    """
# put dummy queries in front and let is_causal do the rest
missing = k_cache.size(2) - q.size(2)
padded = F.pad(q, (0, 0, missing, 0))
return F.scaled_dot_product_attention(padded, k_cache, v_cache, is_causal=True)[:, :, missing:]
""",
    """
outs = []
n, m = q.shape[2], k_cache.shape[2]
for i in range(n):
    end = m - n + i + 1
    k, v = k_cache[:, :, :end], v_cache[:, :, :end]
    outs.append(F.scaled_dot_product_attention(q[:, :, i:i + 1], k, v))
return torch.cat(outs, dim=2)
""",
    """
i = torch.arange(k_cache.shape[2] - q.shape[2], k_cache.shape[2], device=q.device)
j = torch.arange(k_cache.shape[2], device=q.device)
bias = torch.where(j <= i[:, None], 0.0, -1e30)
s = torch.einsum('bhid,bhjd->bhij', q * q.size(-1) ** -0.5, k_cache) + bias
return torch.einsum('bhij,bhjd->bhid', s.softmax(-1), v_cache)
""",
    """
b, h, n, d = q.shape
m = k_cache.shape[2]
qf, kf, vf = q.flatten(0, 1), k_cache.flatten(0, 1), v_cache.flatten(0, 1)
s = torch.bmm(qf, kf.mT) / d ** 0.5
e = torch.exp(s - s.amax(-1, keepdim=True)) * torch.ones(n, m, device=q.device).tril(m - n)
return (torch.bmm(e, vf) / e.sum(-1, keepdim=True)).unflatten(0, (b, h))
""",
]

RIGHT["grouped-query"] = [
    "return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
    """
g = q.shape[1] // k.shape[1]
return F.scaled_dot_product_attention(q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1))
""",
    """
def repeat_kv(t, n_rep):
    b, n_kv, s, d = t.shape
    return t[:, :, None, :, :].expand(b, n_kv, n_rep, s, d).reshape(b, n_kv * n_rep, s, d)
n_rep = q.size(1) // k.size(1)
keys, values = repeat_kv(k, n_rep), repeat_kv(v, n_rep)
w = F.softmax(q @ keys.transpose(2, 3) / math.sqrt(q.size(-1)), dim=-1)
return w @ values
""",
    """
q = einops.rearrange(q, 'b (n g) s d -> b g n s d', n=k.shape[1])
s = torch.einsum('bgnid,bnjd->bgnij', q, k) * q.shape[-1] ** -0.5
o = torch.einsum('bgnij,bnjd->bgnid', s.softmax(-1), v)
return einops.rearrange(o, 'b g n s d -> b (n g) s d')
""",
    """
n = q.shape[1] // k.shape[1]
outs = []
for h in range(q.shape[1]):
    s = q[:, h] @ k[:, h // n].mT / q.shape[-1] ** 0.5
    outs.append(torch.softmax(s, dim=-1) @ v[:, h // n])
return torch.stack(outs, dim=1)
""",
    """
b, h, s, d = q.shape
n = k.shape[1]
tall = q.reshape(b, n, (h // n) * s, d)        # the queries of a group under one another
w = torch.softmax(tall @ k.mT / math.sqrt(d), dim=-1)
return (w @ v).reshape(b, h, s, d)
""",
    """
index = torch.arange(q.shape[1], device=q.device).div(q.shape[1] // k.shape[1], rounding_mode='floor')
k, v = k[:, index], v[:, index]
scores = torch.matmul(q, k.permute(0, 1, 3, 2)).div(q.shape[-1] ** 0.5)
return scores.softmax(3).matmul(v)
""",
]
