"""Wrong answers by someone who had not read the checker, written before it was run on them.

A key is the mistake that an expert would name first; a value is (exercise, body of the function).
"""
# Written before the checker was read; first run: 215 of 226 named exactly, one passed (with a note on
# its dtype). A printout had shown the author how the checker's own planted mistakes are described for
# some of the exercises; its code was not read. Since then four expectations were changed, which had
# been the author's error: the softmax over dim 4 and the split without a transpose have names of
# their own (they stood under raises and wrong-shape), a row of even weights where nothing may be seen
# is nan-row, and a head that answers in float64 is right with a note.
# ruff: noqa: E501

WRONG: dict[str, list[tuple[str, str]]] = {}

WRONG["not-written"] = [
    ("weights", "..."),
    ("head", "raise NotImplementedError"),
    ("multi-head", "pass"),
    ("split-heads", "# TODO: look at chapter 7 again\n..."),
    ("cached-step", "raise NotImplementedError('after the exercise on masks')"),
    ("grouped-query", '"""Repeat k and v for each group, then attend as always."""'),
]

WRONG["raises"] = [
    ("project", "return torch.matmull(x, weight.T)"),
    ("weights", "e = torch.exp(scores)\nreturn e / total"),
    (
        "split-heads",
        """
b, s, e = x.shape
hd = e / n_heads
return x.view(b, s, n_heads, hd).transpose(1, 2)
""",
    ),
    (
        "merge-heads",
        """
B, nh, T, hs = x.size()
y = x.transpose(1, 2).view(B, T, nh * hs)
return y
""",
    ),
    ("causal-mask", "return torch.ones(Sq, Sk, device=device).tril(diagonal=Sk - Sq).boolean()"),
    ("mask-scores", "return scores.masked_fill(not may_attend, float('-inf'))"),
    ("weighted-sum", "return torch.mm(weights, v)"),
    (
        "head",
        """
def attention(t):
    return attention(t)
return attention(x @ wq.T)
""",
    ),
]

WRONG["too-slow"] = [
    ("weights", "while True:\n    pass"),
    (
        "causal-mask",
        """
mask = torch.zeros(Sq, Sk, dtype=torch.bool, device=device)
i = 0
while i < Sq:
    for j in range(Sk):
        mask[i, j] = j <= i + Sk - Sq
return mask
""",
    ),
    (
        "head",
        """
import time
time.sleep(60)
return F.scaled_dot_product_attention(x @ wq.T, x @ wk.T, x @ wv.T, is_causal=True)
""",
    ),
    (
        "padding-mask",
        """
rows = []
for n in lengths.tolist():
    row = [True] * n
    while len(row) != S + 1:
        row = (row + [False])[:S]
    rows.append(row)
return torch.tensor(rows)[:, None, None, :]
""",
    ),
    (
        "multi-head",
        """
steps = sum(1 for _ in iter(int, 1))
return x * steps
""",
    ),
    (
        "scores",
        """
while True:
    try:
        return torch.bmm(q, k.transpose(3, 2))
    except Exception:
        continue
""",
    ),
    (
        "grouped-query",
        """
done = False
while not done:
    try:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], 4)
        done = True
    except:
        pass
return F.scaled_dot_product_attention(q, k, v)
""",
    ),
]

WRONG["wrong-type"] = [
    ("scores", "return torch.matmul(q, k.transpose(-1, -2)).tolist()"),
    (
        "weights",
        """
s = scores.detach().numpy()
e = np.exp(s - s.max(axis=-1, keepdims=True))
return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    (
        "head",
        """
q = x @ wq.T
k = x @ wk.T
v = x @ wv.T
att = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
att = att.masked_fill(torch.ones_like(att).tril() == 0, float('-inf'))
att = att.softmax(-1)
out = att @ v
""",
    ),
    (
        "cached-step",
        """
T, S = q.size(-2), k_cache.size(-2)
att = (q @ k_cache.mT) / math.sqrt(q.size(-1))
att = att.masked_fill(~torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T), -math.inf)
p = att.softmax(dim=-1)
return p @ v_cache, p
""",
    ),
    ("project", "return [sample @ weight.T for sample in x]"),
    ("scale", "scaled = scores / head_size ** 0.5\nprint(scaled)"),
    ("split-heads", "return torch.chunk(x, n_heads, dim=-1)"),
    ("padding-mask", "return [[[[j < int(n) for j in range(S)]]] for n in lengths]"),
    ("causal-mask", "return np.tril(np.ones((Sq, Sk), dtype=bool), k=Sk - Sq)"),
    (
        "grouped-query",
        """
attn_output = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
return attn_output, None
""",
    ),
]

WRONG["wrong-shape"] = [
    ("weighted-sum", "return (weights @ v).sum(dim=1)"),
    (
        "head",
        """
q, k, v = (x @ w.t() for w in (wq, wk, wv))
o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return o.mean(dim=1)  # one vector a sequence
""",
    ),
    ("padding-mask", "return torch.arange(S, device=lengths.device)[None, :] < lengths[:, None]"),
    ("merge-heads", "return x.permute(0, 2, 1, 3)"),
    ("merge-heads", "return x.transpose(1, 2).flatten(start_dim=1)"),
    ("causal-mask", "return torch.tril(torch.ones(Sk, Sk, dtype=torch.bool, device=device))"),
    (
        "grouped-query",
        """
b, h, s, d = q.shape
n = k.shape[1]
qg = q.reshape(b, n, h // n, s, d)
sim = torch.einsum('bngqd,bnkd->bngqk', qg, k) / d ** 0.5
return torch.einsum('bngqk,bnkd->bngqd', sim.softmax(-1), v)
""",
    ),
    ("mask-scores", "return scores[:, may_attend]"),
    (
        "multi-head",
        """
b, s, e = x.shape
f = lambda t: t.view(b, s, n_heads, e // n_heads).transpose(1, 2)
y = F.scaled_dot_product_attention(f(x @ wq.T), f(x @ wk.T), f(x @ wv.T), is_causal=True)
y = y.transpose(1, 2).reshape(b, s, e) @ wo.T
return y[:, -1]
""",
    ),
]

WRONG["wrong-dtype"] = [
    ("causal-mask", "return torch.tril(torch.ones(Sq, Sk, device=device), diagonal=Sk - Sq)"),
    (
        "causal-mask",
        """
i = torch.arange(Sq, device=device).unsqueeze(1) + (Sk - Sq)
j = torch.arange(Sk, device=device).unsqueeze(0)
return (j <= i).int()
""",
    ),
    (
        "padding-mask",
        """
idx = torch.arange(S, device=lengths.device)
return (idx < lengths.unsqueeze(-1)).long()[:, None, None]
""",
    ),
    (
        "padding-mask",
        """
mask = torch.zeros(len(lengths), 1, 1, S, device=lengths.device)
for b, n in enumerate(lengths):
    mask[b, ..., :n] = 1.0
return mask
""",
    ),
    ("project", "return torch.einsum('bse,he->bsh', x, weight).int()"),
]

WRONG["writes-into-argument"] = [
    ("scale", "scores /= math.sqrt(head_size)\nreturn scores"),
    ("mask-scores", "return scores.masked_fill_(~may_attend, float('-inf'))"),
    ("mask-scores", "scores[:, ~may_attend] = -torch.inf\nreturn scores"),
    (
        "weights",
        """
scores -= scores.max(-1, keepdim=True)[0]
e = scores.exp()
return e / e.sum(-1, keepdim=True)
""",
    ),
    (
        "cached-step",
        """
H = q.shape[-1]
q *= H ** -0.5
s = q @ k_cache.transpose(-1, -2)
Sq, Sk = s.shape[-2:]
keep = torch.ones(Sq, Sk, device=q.device, dtype=torch.bool).tril(Sk - Sq)
return s.masked_fill(~keep, -torch.inf).softmax(-1) @ v_cache
""",
    ),
    (
        "head",
        """
with torch.no_grad():
    wq.mul_(wq.shape[0] ** -0.5)
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
""",
    ),
    (
        "padding-mask",
        """
lengths -= 1
return torch.arange(S, device=lengths.device).view(1, 1, 1, S) <= lengths.view(-1, 1, 1, 1)
""",
    ),
]

WRONG["fixed-device"] = [
    ("causal-mask", "return torch.ones(Sq, Sk).tril(diagonal=Sk - Sq).bool()"),
    (
        "causal-mask",
        """
rows = torch.arange(Sq, device='cpu')[:, None]
cols = torch.arange(Sk, device='cpu')[None, :]
return cols - rows <= Sk - Sq
""",
    ),
    (
        "padding-mask",
        "return (torch.arange(S)[None, :] < lengths.cpu()[:, None])[:, None, None, :]",
    ),
    (
        "head",
        """
B, T, C = x.shape
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
tril = torch.tril(torch.ones(T, T))
wei = wei.masked_fill(tril == 0, float('-inf'))
wei = F.softmax(wei, dim=-1)
return wei @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.size()
hd = e // n_heads
q = F.linear(x, wq).view(b, s, n_heads, hd).transpose(1, 2)
k = F.linear(x, wk).view(b, s, n_heads, hd).transpose(1, 2)
v = F.linear(x, wv).view(b, s, n_heads, hd).transpose(1, 2)
mask = torch.full((s, s), float('-inf'))
mask = torch.triu(mask, diagonal=1)
scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(hd) + mask
out = torch.matmul(F.softmax(scores, dim=-1), v)
return F.linear(out.transpose(1, 2).contiguous().view(b, s, e), wo)
""",
    ),
    (
        "cached-step",
        """
n, m = q.shape[2], k_cache.shape[2]
allowed = torch.arange(m) <= torch.arange(m - n, m)[:, None]
return F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=allowed)
""",
    ),
    (
        "mask-scores",
        """
very_low = torch.full(tuple(scores.shape), float('-inf'))
return torch.where(may_attend, scores, very_low)
""",
    ),
]

WRONG["weight-transposed"] = [
    ("project", "return x @ weight"),
    ("project", "return torch.einsum('bse,eh->bsh', x, weight)"),
    (
        "project",
        """
h, e = weight.shape
return torch.matmul(x, weight.reshape(e, h))
""",
    ),
    (
        "head",
        """
Q = torch.matmul(x, wq)
K = torch.matmul(x, wk)
V = torch.matmul(x, wv)
A = torch.softmax(torch.tril(torch.ones(x.shape[1], x.shape[1], device=x.device)).log() + Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1)
return A @ V
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
def heads(w):
    return (x @ w).view(b, s, n_heads, d).transpose(1, 2)
y = F.scaled_dot_product_attention(heads(wq), heads(wk), heads(wv), is_causal=True)
return y.transpose(1, 2).reshape(b, s, e) @ wo
""",
    ),
    (
        "multi-head",
        """
q = einops.rearrange(x @ wq.T, 'b s (h d) -> b h s d', h=n_heads)
k = einops.rearrange(x @ wk.T, 'b s (h d) -> b h s d', h=n_heads)
v = einops.rearrange(x @ wv.T, 'b s (h d) -> b h s d', h=n_heads)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
y = einops.rearrange(y, 'b h s d -> b s (h d)')
return torch.einsum('bsi,io->bso', y, wo)
""",
    ),
    (
        "multi-head",
        """
# weights in the (in, heads, per head) layout that I know from JAX
e = x.shape[-1]
wq, wk, wv = (w.reshape(e, n_heads, e // n_heads) for w in (wq, wk, wv))
q = torch.einsum('bse,ehd->bhsd', x, wq)
k = torch.einsum('bse,ehd->bhsd', x, wk)
v = torch.einsum('bse,ehd->bhsd', x, wv)
logits = torch.einsum('bhqd,bhkd->bhqk', q, k) / np.sqrt(e // n_heads)
causal = torch.tril(torch.ones_like(logits)).bool()
w = torch.where(causal, logits, -1e30).softmax(-1)
return torch.einsum('bhqk,bhkd->bqhd', w, v).flatten(2) @ wo.T
""",
    ),
]

WRONG["projection-shared"] = [
    (
        "head",
        """
q = x @ wq.T
k = x @ wq.T
v = x @ wv.T
s = q @ k.transpose(1, 2) / math.sqrt(q.size(2))
s = s.masked_fill(torch.triu(torch.ones_like(s), 1).bool(), float('-inf'))
return torch.softmax(s, 2) @ v
""",
    ),
    (
        "head",
        """
q, k, v = F.linear(x, wq), F.linear(x, wk), F.linear(x, wk)
return F.scaled_dot_product_attention(q, k, v, is_causal=True)
""",
    ),
    (
        "head",
        """
proj = lambda t: torch.einsum('bse,he->bsh', t, wk)
q, k, v = map(proj, (x, x, x))
w = torch.einsum('bqh,bkh->bqk', q, k) * q.shape[-1] ** -0.5
n = x.shape[1]
w = w + torch.full((n, n), -torch.inf, device=x.device).triu(1)
return torch.einsum('bqk,bkh->bqh', w.softmax(-1), v)
""",
    ),
    (
        "multi-head",
        """
B, T, C = x.shape
split = lambda t: t.view(B, T, n_heads, C // n_heads).transpose(1, 2)
q, kv = split(x @ wq.T), split(x @ wk.T)
y = F.scaled_dot_product_attention(q, kv, kv, is_causal=True)
return y.transpose(1, 2).contiguous().view(B, T, C) @ wo.T
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
outs = []
for h in range(n_heads):
    q = x @ wq[:d].T
    k = x @ wk[:d].T
    v = x @ wv[:d].T
    outs.append(F.scaled_dot_product_attention(q, k, v, is_causal=True))
return torch.cat(outs, dim=-1) @ wo.T
""",
    ),
]

WRONG["transpose-missing"] = [
    ("scores", "return q @ k"),
    ("scores", "return torch.einsum('bqd,bdk->bqk', q, k)"),
    (
        "scores",
        """
B, Sk, H = k.shape
return torch.bmm(q, k.view(B, H, Sk))
""",
    ),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
B, S, H = q.shape
att = torch.bmm(q, k) / H ** 0.5
att = att.masked_fill(torch.tril(torch.ones(S, S, device=x.device)) == 0, -float('inf'))
return torch.bmm(att.softmax(dim=-1), v)
""",
    ),
    (
        "cached-step",
        """
att = torch.matmul(q, k_cache).div(q.size(-1) ** 0.5)
L, S = att.shape[-2:]
bias = torch.zeros(L, S, device=q.device).masked_fill(torch.ones(L, S, device=q.device).tril(S - L) == 0, -torch.inf)
return (att + bias).softmax(-1).matmul(v_cache)
""",
    ),
    (
        "grouped-query",
        """
g = q.shape[1] // k.shape[1]
k = k.repeat_interleave(g, dim=1)
v = v.repeat_interleave(g, dim=1)
b, h, s, d = k.shape
att = q @ k.reshape(b, h, d, s) / math.sqrt(d)
return att.softmax(-1) @ v
""",
    ),
    (
        "split-heads",
        """
batch_size, seq_len, d_model = x.shape
return x.view(batch_size, seq_len, n_heads, d_model // n_heads)
""",
    ),
]

WRONG["transpose-wrong-dims"] = [
    ("scores", "return q @ k.T"),
    ("scores", "return torch.matmul(q, k.transpose(0, 1))"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
scores = torch.matmul(q.transpose(-2, -1), k) / math.sqrt(q.size(-1))
mask = torch.triu(torch.ones(x.size(1), x.size(1), device=x.device), diagonal=1).bool()
scores = scores.masked_fill(mask, -torch.inf)
return torch.matmul(torch.softmax(scores, dim=-1), v)
""",
    ),
    (
        "cached-step",
        """
d = q.size(-1)
s = q @ k_cache.transpose(1, 2) / d ** 0.5
n, m = q.size(2), k_cache.size(2)
s = s.masked_fill(~torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n), -torch.inf)
return s.softmax(-1) @ v_cache
""",
    ),
    (
        "grouped-query",
        """
group = q.shape[1] // k.shape[1]
k = torch.repeat_interleave(k, group, dim=1)
v = torch.repeat_interleave(v, group, dim=1)
attn = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
return attn.mT @ v
""",
    ),
    ("weighted-sum", "return weights.transpose(1, 2) @ v"),
]

WRONG["scale-missing"] = [
    ("scale", "return scores"),
    ("scale", "scores.div(math.sqrt(head_size))\nreturn scores"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
att = q @ k.mT
att = att.masked_fill(torch.ones_like(att, dtype=torch.bool).triu(1), -torch.inf)
return att.softmax(-1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
r = lambda w: F.linear(x, w).unflatten(-1, (n_heads, -1)).transpose(1, 2)
y = F.scaled_dot_product_attention(r(wq), r(wk), r(wv), is_causal=True, scale=1.0)
return F.linear(y.transpose(1, 2).flatten(2), wo)
""",
    ),
    (
        "cached-step",
        """
t, s = q.shape[-2], k_cache.shape[-2]
logits = torch.einsum('...qd,...kd->...qk', q, k_cache)
ok = torch.arange(s, device=q.device)[None] <= torch.arange(t, device=q.device)[:, None] + s - t
probs = torch.where(ok, logits, -torch.inf).softmax(-1)
return torch.einsum('...qk,...kd->...qd', probs, v_cache)
""",
    ),
    (
        "grouped-query",
        """
b, h, s, d = q.shape
kv = k.shape[1]
out = []
for i in range(h):
    j = i // (h // kv)
    out.append(torch.softmax(q[:, i] @ k[:, j].transpose(1, 2), -1) @ v[:, j])
return torch.stack(out, dim=1)
""",
    ),
]

WRONG["scale-n-embd"] = [
    (
        "head",
        """
B, T, C = x.shape
k = x @ wk.T
q = x @ wq.T
wei = q @ k.transpose(-2, -1) * C**-0.5
tril = torch.tril(torch.ones(T, T, device=x.device))
wei = wei.masked_fill(tril[:T, :T] == 0, float('-inf'))
wei = F.softmax(wei, dim=-1)
v = x @ wv.T
return wei @ v
""",
    ),
    (
        "head",
        """
return F.scaled_dot_product_attention(
    F.linear(x, wq), F.linear(x, wk), F.linear(x, wv), is_causal=True, scale=1 / math.sqrt(x.size(-1)))
""",
    ),
    (
        "multi-head",
        """
batch_size, length, d_model = x.shape
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
q = q.view(batch_size, length, n_heads, -1).transpose(1, 2)
k = k.view(batch_size, length, n_heads, -1).transpose(1, 2)
v = v.view(batch_size, length, n_heads, -1).transpose(1, 2)
score = (q @ k.transpose(2, 3)) / math.sqrt(d_model)
score = score.masked_fill(torch.tril(torch.ones(length, length, device=x.device)) == 0, -1e12)
out = torch.softmax(score, dim=-1) @ v
return out.transpose(1, 2).contiguous().view(batch_size, length, d_model) @ wo.T
""",
    ),
    (
        "multi-head",
        """
q, k, v = (einops.rearrange(x @ w.T, 'b n (h d) -> b h n d', h=n_heads) for w in (wq, wk, wv))
dots = torch.einsum('bhid,bhjd->bhij', q, k) * (wq.shape[0] ** -0.5)
n = x.shape[1]
dots = dots.masked_fill(torch.ones(n, n, device=x.device).triu(1).bool(), -torch.inf)
out = torch.einsum('bhij,bhjd->bhid', dots.softmax(dim=-1), v)
return einops.rearrange(out, 'b h n d -> b n (h d)') @ wo.T
""",
    ),
]

WRONG["scale-wrong-size"] = [
    ("scale", "return scores / scores.shape[-1] ** 0.5"),
    ("scale", "b, i, j = scores.shape\nreturn scores * i ** -0.5"),
    (
        "head",
        """
q, k, v = (x @ w.mT for w in (wq, wk, wv))
return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=q.size(1) ** -0.5)
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = [(x @ w.T).reshape(b, s, n_heads, d).permute(0, 2, 1, 3) for w in (wq, wk, wv)]
att = q @ k.permute(0, 1, 3, 2) / n_heads ** 0.5  # head dimension
att = att.masked_fill(~torch.ones(s, s, dtype=torch.bool, device=x.device).tril(), -math.inf)
return (att.softmax(3) @ v).permute(0, 2, 1, 3).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "cached-step",
        """
scale = 1 / math.sqrt(k_cache.size(2))
T, L = q.size(2), k_cache.size(2)
mask = torch.ones(T, L, dtype=torch.bool, device=q.device).tril(diagonal=L - T)
return F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=mask, scale=scale)
""",
    ),
    (
        "grouped-query",
        """
d_k = q.size(1)
rep = d_k // k.size(1)
k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
p_attn = F.softmax(torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d_k), dim=-1)
return torch.matmul(p_attn, v)
""",
    ),
]

WRONG["scale-no-root"] = [
    ("scale", "return scores / head_size"),
    (
        "scale",
        "return torch.true_divide(scores, torch.tensor(float(head_size), device=scores.device))",
    ),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
hs = wk.shape[0]
a = torch.baddbmm(torch.zeros(1, 1, 1, device=x.device, dtype=x.dtype), q, k.mT, alpha=1 / hs)
a = a + torch.full_like(a, -torch.inf).triu(1)
return torch.softmax(a, -1) @ v
""",
    ),
    (
        "multi-head",
        """
bs, sl, em = x.shape
hd = em // n_heads
outs = []
for h in range(n_heads):
    sl_h = slice(h * hd, (h + 1) * hd)
    q, k, v = x @ wq[sl_h].T, x @ wk[sl_h].T, x @ wv[sl_h].T
    s = (q @ k.transpose(1, 2)) / hd
    s = s.masked_fill(torch.triu(torch.ones(sl, sl, device=x.device), 1) == 1, float('-inf'))
    outs.append(s.softmax(-1) @ v)
return torch.cat(outs, -1) @ wo.T
""",
    ),
    (
        "grouped-query",
        """
return F.scaled_dot_product_attention(q, k, v, scale=1 / q.shape[-1], enable_gqa=True)
""",
    ),
]

WRONG["scale-inverted"] = [
    ("scale", "return scores * head_size ** 0.5"),
    ("scale", "return torch.mul(scores, math.sqrt(head_size))"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
scores = torch.einsum('bqd,bkd->bqk', q, k) / (q.shape[-1] ** -0.5)
scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
return torch.einsum('bqk,bkd->bqd', scores.softmax(-1), v)
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
to = lambda t: t.view(b, s, n_heads, d).movedim(2, 1)
y = F.scaled_dot_product_attention(to(x @ wq.T), to(x @ wk.T), to(x @ wv.T), is_causal=True, scale=d ** 0.5)
return y.movedim(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "cached-step",
        """
q = q * math.sqrt(q.shape[-1])
sq, sk = q.shape[-2], k_cache.shape[-2]
s = q @ k_cache.transpose(-2, -1)
s.masked_fill_(torch.ones(sq, sk, device=q.device).triu(sk - sq + 1).bool(), -torch.inf)
return s.softmax(-1) @ v_cache
""",
    ),
]

WRONG["scale-after-softmax"] = [
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
att = q @ k.transpose(1, 2)
att = att.masked_fill(torch.ones_like(att).tril() == 0, float('-inf'))
att = torch.softmax(att, dim=-1) / math.sqrt(k.size(-1))
return att @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
f = lambda t: t.view(b, s, n_heads, d).transpose(1, 2)
y = F.scaled_dot_product_attention(f(x @ wq.T), f(x @ wk.T), f(x @ wv.T), is_causal=True, scale=1)
y = y / d ** 0.5
return y.transpose(1, 2).flatten(-2) @ wo.T
""",
    ),
    (
        "cached-step",
        """
energy = torch.einsum('bhqd,bhkd->bhqk', q, k_cache)
sq, sk = energy.shape[2:]
energy = energy.masked_fill(torch.tril(torch.ones(sq, sk, device=q.device), sk - sq) == 0, -torch.inf)
attention = F.softmax(energy, dim=3)
return torch.einsum('bhqk,bhkd->bhqd', attention * q.shape[3] ** -0.5, v_cache)
""",
    ),
    (
        "grouped-query",
        """
n = q.shape[1] // k.shape[1]
k = k[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2)
v = v[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2)
weights = (q @ k.mT).softmax(-1).div(q.shape[-1] ** 0.5)
return weights @ v
""",
    ),
]

WRONG["mask-inverted"] = [
    (
        "causal-mask",
        "return torch.triu(torch.ones(Sq, Sk, dtype=torch.bool, device=device), diagonal=Sk - Sq + 1)",
    ),
    ("mask-scores", "return scores.masked_fill(may_attend, float('-inf'))"),
    (
        "mask-scores",
        "neg = torch.full_like(scores, -torch.inf)\nreturn torch.where(may_attend, neg, scores)",
    ),
    (
        "head",
        """
T = x.shape[1]
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
wei = q @ k.transpose(-2, -1) * k.shape[-1]**-0.5
wei = wei.masked_fill(torch.tril(torch.ones(T, T, device=x.device)).bool(), float('-inf'))
return F.softmax(wei, dim=-1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
h = lambda w: (x @ w.T).view(b, s, n_heads, -1).transpose(1, 2)
attn_mask = torch.triu(torch.ones(s, s, dtype=torch.bool, device=x.device), diagonal=1)
y = F.scaled_dot_product_attention(h(wq), h(wk), h(wv), attn_mask=attn_mask)
return y.transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "padding-mask",
        "return (torch.arange(S, device=lengths.device) >= lengths[:, None])[:, None, None, :]",
    ),
    (
        "cached-step",
        """
Sq, Sk, H = q.shape[2], k_cache.shape[2], q.shape[3]
pos_q = torch.arange(Sk - Sq, Sk, device=q.device)
pos_k = torch.arange(Sk, device=q.device)
future = pos_k[None, :] > pos_q[:, None]
s = q @ k_cache.mT / H ** 0.5
s = torch.where(future, s, float('-inf'))
return s.softmax(-1) @ v_cache
""",
    ),
]

WRONG["mask-off-by-one"] = [
    ("causal-mask", "return torch.ones(Sq, Sk, device=device).tril(Sk - Sq - 1).bool()"),
    (
        "causal-mask",
        """
rows = []
for i in range(Sq):
    rows.append([j < i + Sk - Sq for j in range(Sk)])
return torch.tensor(rows, dtype=torch.bool, device=device)
""",
    ),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
s = q @ k.mT / k.size(-1) ** 0.5
mask = torch.triu(torch.ones_like(s)).bool()
s = s.masked_fill(mask, float('-inf'))
return torch.softmax(s, dim=-1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
hd = e // n_heads
q, k, v = [t.view(b, s, n_heads, hd).transpose(1, 2) for t in torch.cat([x @ wq.T, x @ wk.T, x @ wv.T], -1).split(e, -1)]
att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(hd))
att = att.masked_fill(torch.triu(torch.ones(s, s, device=x.device), diagonal=2).bool(), float('-inf'))
y = F.softmax(att, dim=-1) @ v
return y.transpose(1, 2).contiguous().view(b, s, e) @ wo.T
""",
    ),
    (
        "padding-mask",
        "return torch.arange(S, device=lengths.device).reshape(1, 1, 1, S) <= lengths.reshape(-1, 1, 1, 1)",
    ),
    (
        "cached-step",
        """
L, S = q.size(-2), k_cache.size(-2)
m = torch.ones(L, S, dtype=torch.bool, device=q.device).tril(S - L + 1)
return F.scaled_dot_product_attention(q, k_cache, v_cache, m)
""",
    ),
]

WRONG["mask-after-softmax"] = [
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
w = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
w = w * torch.tril(torch.ones_like(w))
return w @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = (F.linear(x, w).view(b, s, n_heads, d).transpose(1, 2) for w in (wq, wk, wv))
att = F.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d), dim=-1)
att = att.masked_fill(torch.ones(s, s, device=x.device, dtype=torch.bool).triu(1), 0)
return F.linear(torch.matmul(att, v).transpose(1, 2).reshape(b, s, e), wo)
""",
    ),
    (
        "cached-step",
        """
p = torch.softmax(torch.einsum('bhid,bhjd->bhij', q, k_cache) * q.shape[-1] ** -0.5, -1)
i, j = p.shape[-2:]
return torch.einsum('bhij,bhjd->bhid', torch.tril(p, diagonal=j - i), v_cache)
""",
    ),
]

WRONG["mask-ignored"] = [
    ("causal-mask", "return torch.full((Sq, Sk), True, device=device)"),
    ("mask-scores", "scores.masked_fill(~may_attend, float('-inf'))\nreturn scores"),
    (
        "head",
        """
T = x.size(1)
mask = torch.tril(torch.ones(T, T, device=x.device)).bool()
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
weights = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
return weights @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = (einops.rearrange(t, 'b s (h d) -> b h s d', h=n_heads) for t in (x @ wq.T, x @ wk.T, x @ wv.T))
sc = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
sc.masked_fill(torch.ones(s, s, device=x.device).tril() == 0, -1e9)
out = sc.softmax(-1) @ v
return einops.rearrange(out, 'b h s d -> b s (h d)') @ wo.T
""",
    ),
    (
        "padding-mask",
        "return torch.ones(lengths.shape[0], 1, 1, S, dtype=torch.bool, device=lengths.device)",
    ),
    ("cached-step", "return F.scaled_dot_product_attention(q, k_cache, v_cache)"),
]

WRONG["mask-additive-01"] = [
    ("mask-scores", "return scores + may_attend.float()"),
    ("mask-scores", "return scores - (~may_attend).to(scores.dtype)"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
T = x.shape[1]
sc = q @ k.transpose(-2, -1) / math.sqrt(wq.shape[0])
sc = sc + torch.tril(torch.ones(T, T, device=x.device))
return F.softmax(sc, -1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
f = lambda w: (x @ w.T).unflatten(2, (n_heads, e // n_heads)).permute(0, 2, 1, 3)
mask = torch.tril(torch.ones(s, s, device=x.device, dtype=x.dtype))
y = F.scaled_dot_product_attention(f(wq), f(wk), f(wv), attn_mask=mask)
return y.permute(0, 2, 1, 3).flatten(2) @ wo.T
""",
    ),
    (
        "cached-step",
        """
n, m, d = q.shape[-2], k_cache.shape[-2], q.shape[-1]
blocked = torch.triu(torch.ones(n, m, device=q.device), diagonal=m - n + 1)
att = q @ k_cache.mT / d ** 0.5 - blocked
return att.softmax(dim=-1) @ v_cache
""",
    ),
]

WRONG["mask-fill-not-low-enough"] = [
    ("mask-scores", "return scores.masked_fill(~may_attend, -1e9)"),
    ("mask-scores", "return scores * may_attend"),
    ("mask-scores", "return torch.where(may_attend, scores, torch.zeros_like(scores) - 10000.0)"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
s = q @ k.mT * q.size(-1) ** -0.5
s = s.masked_fill(torch.tril(torch.ones_like(s)) == 0, 1e-9)
return torch.softmax(s, -1) @ v
""",
    ),
    (
        "head",
        """
q, k, v = F.linear(x, wq), F.linear(x, wk), F.linear(x, wv)
n = q.shape[1]
penalty = torch.ones(n, n, device=x.device, dtype=x.dtype).triu(1) * -10
return ((q @ k.mT) / q.shape[-1] ** 0.5 + penalty).softmax(-1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = [(x @ w.T).view(b, s, n_heads, d).transpose(1, 2) for w in (wq, wk, wv)]
att = q @ k.transpose(-2, -1) / math.sqrt(d)
att = att.masked_fill(torch.triu(torch.ones(s, s, device=x.device), 1).bool(), -100.0)
return (att.softmax(-1) @ v).transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "cached-step",
        """
a, c = q.size(2), k_cache.size(2)
keep = torch.ones(a, c, device=q.device).tril(c - a)
s = torch.matmul(q, k_cache.transpose(2, 3)) / math.sqrt(q.size(3))
return torch.matmul(torch.softmax(s * keep, dim=3), v_cache)
""",
    ),
]

WRONG["mask-wrong-axis"] = [
    ("mask-scores", "return scores.masked_fill(~may_attend.T, float('-inf'))"),
    ("mask-scores", "return scores.masked_fill(~may_attend.unsqueeze(1), -torch.inf)"),
    (
        "padding-mask",
        "return (torch.arange(S, device=lengths.device)[None, :] < lengths[:, None])[:, None, :, None]",
    ),
    (
        "padding-mask",
        """
m = torch.zeros(lengths.size(0), 1, S, 1, dtype=torch.bool, device=lengths.device)
for i, n in enumerate(lengths.tolist()):
    m[i, 0, :n, 0] = True
return m
""",
    ),
    (
        "padding-mask",
        """
real = torch.arange(S, device=lengths.device) < lengths.unsqueeze(1)
return einops.rearrange(real, 'b s -> b s 1 1')
""",
    ),
]

WRONG["causal-misaligned"] = [
    ("causal-mask", "return torch.tril(torch.ones(Sq, Sk, dtype=torch.bool, device=device))"),
    (
        "causal-mask",
        "return torch.arange(Sq, device=device).view(-1, 1) >= torch.arange(Sk, device=device)",
    ),
    (
        "causal-mask",
        """
full = torch.ones(Sk, Sk, dtype=torch.bool, device=device).tril()
return full[:Sq]
""",
    ),
    ("cached-step", "return F.scaled_dot_product_attention(q, k_cache, v_cache, is_causal=True)"),
    (
        "cached-step",
        """
B, nh, T, hs = q.size()
S = k_cache.size(2)
bias = torch.tril(torch.ones(S, S, device=q.device)).view(1, 1, S, S)
att = (q @ k_cache.transpose(-2, -1)) * (1.0 / math.sqrt(hs))
att = att.masked_fill(bias[:, :, :T, :S] == 0, float('-inf'))
return F.softmax(att, dim=-1) @ v_cache
""",
    ),
]

WRONG["nan-row"] = [
    ("safe-weights", "return torch.softmax(scores, dim=-1)"),
    (
        "safe-weights",
        """
shifted = scores - scores.amax(-1, keepdim=True)
e = torch.exp(shifted)
return e / e.sum(-1, keepdim=True)
""",
    ),
    ("safe-weights", "return F.log_softmax(scores, 2).exp()"),
    ("safe-weights", "return torch.nan_to_num(F.softmax(scores, dim=-1), nan=0.0)"),
    (
        "safe-weights",
        """
w = scores.softmax(-1)
dead = torch.isneginf(scores).all(-1, keepdim=True)
return torch.where(dead, torch.zeros_like(w), w)
""",
    ),
    ("safe-weights", "return scores.clamp(min=-1e9).softmax(dim=-1)"),
]

WRONG["softmax-wrong-dim"] = [
    ("weights", "return F.softmax(scores, dim=1)"),
    (
        "weights",
        "e = np.e ** (scores - scores.amax(dim=(1, 2), keepdim=True))\nreturn e / e.sum(axis=1, keepdims=True)",
    ),
    ("weights", "b, q, k = scores.shape\nreturn scores.flatten(1).softmax(-1).view(b, q, k)"),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
att = torch.bmm(q, k.permute(0, 2, 1)) / np.sqrt(q.shape[-1])
att = att.masked_fill(torch.ones_like(att).triu(1) > 0, float('-inf'))
att = nn.Softmax(dim=1)(att)
return torch.bmm(att, v)
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, e // n_heads).transpose(1, 2) for w in (wq, wk, wv)]
att = q @ k.mT / (e // n_heads) ** 0.5
att = att.masked_fill(torch.ones(s, s, device=x.device).tril() == 0, -torch.inf)
att = F.softmax(att, dim=2)
return (att @ v).transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "cached-step",
        """
sim = torch.einsum('bhqd,bhkd->bhqk', q, k_cache) / q.shape[-1] ** 0.5
Q, K = sim.shape[-2:]
sim = sim + torch.full((Q, K), -1e30, device=q.device).triu(K - Q + 1)
return sim.softmax(dim=-2) @ v_cache
""",
    ),
    (
        "grouped-query",
        """
r = q.shape[1] // k.shape[1]
k, v = (t.repeat_interleave(r, dim=1) for t in (k, v))
return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=1) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = [(x @ w.T).view(b, s, n_heads, d) for w in (wq, wk, wv)]
att = torch.einsum('bqhd,bkhd->bhqk', q, k) / math.sqrt(d)
att = att.masked_fill(torch.ones(s, s, dtype=torch.bool, device=x.device).triu(1), -torch.inf)
att = torch.softmax(att, dim=4)
return torch.einsum('bhqk,bkhd->bqhd', att, v).reshape(b, s, e) @ wo.T
""",
    ),
]

WRONG["softmax-twice"] = [
    ("weights", "return torch.softmax(F.softmax(scores, dim=-1), dim=-1)"),
    (
        "head",
        """
def sm(t):
    e = (t - t.max(-1, keepdim=True).values).exp()
    return e / e.sum(-1, keepdim=True)
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
s = q @ k.mT / math.sqrt(k.shape[-1])
s = s.masked_fill(torch.ones_like(s).triu(1).bool(), -torch.inf)
w = sm(s)
return sm(w) @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, -1).transpose(1, 2) for w in (wq, wk, wv)]
logits = q @ k.mT / math.sqrt(e / n_heads)
probs = logits.masked_fill(torch.ones(s, s, device=x.device).triu(1).bool(), -torch.inf).softmax(-1)
y = nn.Softmax(-1)(probs) @ v
return y.transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "grouped-query",
        """
b, h, s, d = q.shape
n = k.size(1)
q = q.view(b, n, h // n, s, d)
a = torch.einsum('bngid,bnjd->bngij', q, k).div(d ** 0.5).softmax(-1)
a = a.softmax(-1)
return torch.einsum('bngij,bnjd->bngid', a, v).reshape(b, h, s, d)
""",
    ),
]

WRONG["dropout-active"] = [
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
s = q @ k.mT / math.sqrt(k.size(-1))
s = s.masked_fill(torch.ones_like(s).triu(1).bool(), float('-inf'))
w = F.dropout(F.softmax(s, dim=-1), p=0.1)
return w @ v
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
f = lambda w: (x @ w.T).view(b, s, n_heads, e // n_heads).transpose(1, 2)
y = F.scaled_dot_product_attention(f(wq), f(wk), f(wv), dropout_p=0.2, is_causal=True)
return y.transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "grouped-query",
        """
drop = nn.Dropout(0.1)
rep = q.shape[1] // k.shape[1]
k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
att = drop((q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1))
return att @ v
""",
    ),
    (
        "cached-step",
        """
n, m = q.shape[2], k_cache.shape[2]
ok = torch.ones(n, m, device=q.device).tril(m - n).bool()
out = F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=ok)
return torch.dropout(out, 0.5, True)
""",
    ),
]

WRONG["values-unused"] = [
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
s = q @ k.mT / math.sqrt(k.size(-1))
s = s.masked_fill(torch.ones_like(s).triu(1).bool(), float('-inf'))
return s.softmax(-1) @ k
""",
    ),
    (
        "head",
        """
Q, K = F.linear(x, wq), F.linear(x, wk)
S = torch.einsum('bih,bjh->bij', Q, K) / Q.shape[-1] ** 0.5
n = S.shape[-1]
A = torch.softmax(S + torch.full((n, n), -torch.inf, device=x.device).triu(1), -1)
return A @ x
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, -1).transpose(1, 2) for w in (wq, wk, wv)]
y = F.scaled_dot_product_attention(q, k, k, is_causal=True)
return y.transpose(1, 2).reshape(b, s, e) @ wo.T
""",
    ),
    (
        "cached-step",
        """
att = q @ k_cache.mT / q.size(-1) ** 0.5
n, m = att.shape[-2:]
att = att.masked_fill(torch.ones(n, m, device=q.device).tril(m - n) == 0, -torch.inf)
return torch.softmax(att, dim=-1)
""",
    ),
    (
        "grouped-query",
        """
rep = q.shape[1] // k.shape[1]
k = k.repeat_interleave(rep, 1)
w = torch.softmax(torch.einsum('bhqd,bhkd->bhqk', q, k) / q.shape[-1] ** 0.5, -1)
return torch.einsum('bhqk,bhkd->bhqd', w, k)
""",
    ),
]

WRONG["split-by-view"] = [
    (
        "split-heads",
        """
B, T, C = x.shape
return x.view(B, n_heads, T, C // n_heads)
""",
    ),
    ("split-heads", "return torch.reshape(x, (x.shape[0], n_heads, -1, x.shape[2] // n_heads))"),
    ("split-heads", "return torch.stack([s.reshape(n_heads, s.size(0), -1) for s in x])"),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q = (x @ wq.T).view(b * n_heads, -1, d)
k = (x @ wk.T).view(b * n_heads, -1, d)
v = (x @ wv.T).view(b * n_heads, -1, d)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.view(b, -1, e) @ wo.T
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = [F.linear(x, w).reshape(b, n_heads, s, d) for w in (wq, wk, wv)]
att = q @ k.transpose(2, 3) / d ** 0.5
att = att.masked_fill(torch.triu(torch.ones(s, s, device=x.device), 1).bool(), float('-inf'))
y = att.softmax(-1) @ v
return F.linear(y.transpose(1, 2).reshape(b, s, e), wo)
""",
    ),
]

WRONG["split-wrong-order"] = [
    ("split-heads", "return einops.rearrange(x, 'b s (d h) -> b h s d', h=n_heads)"),
    ("split-heads", "return torch.stack([x[..., h::n_heads] for h in range(n_heads)], dim=1)"),
    (
        "split-heads",
        """
b, s, e = x.shape
return x.view(b, s, e // n_heads, n_heads).permute(0, 3, 1, 2)
""",
    ),
    (
        "multi-head",
        """
q, k, v = (einops.rearrange(x @ w.T, 'b s (d h) -> b h s d', h=n_heads) for w in (wq, wk, wv))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return einops.rearrange(y, 'b h s d -> b s (h d)') @ wo.T
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
outs = torch.zeros_like(x)
for h in range(n_heads):
    q, k, v = x @ wq[h::n_heads].T, x @ wk[h::n_heads].T, x @ wv[h::n_heads].T
    outs[:, :, h * d:(h + 1) * d] = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return outs @ wo.T
""",
    ),
]

WRONG["merge-by-view"] = [
    ("merge-heads", "b, h, s, d = x.shape\nreturn x.reshape(b, s, h * d)"),
    ("merge-heads", "return x.contiguous().view(x.size(0), x.size(2), -1)"),
    ("merge-heads", "return torch.stack([t.reshape(t.shape[1], -1) for t in x])"),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, e // n_heads).transpose(1, 2) for w in (wq, wk, wv)]
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.reshape(b, s, e) @ wo.T
""",
    ),
    (
        "multi-head",
        """
b, s, e = x.shape
d = e // n_heads
q, k, v = (einops.rearrange(x @ w.T, 'b s (h d) -> b h s d', d=d) for w in (wq, wk, wv))
sim = torch.einsum('bhid,bhjd->bhij', q, k) / math.sqrt(d)
sim = sim.masked_fill(torch.ones(s, s, device=x.device).triu(1).bool(), -torch.inf)
out = torch.einsum('bhij,bhjd->bhid', sim.softmax(-1), v)
out = out.contiguous().view(b, s, n_heads * d)
return torch.einsum('bsi,oi->bso', out, wo)
""",
    ),
]

WRONG["kv-heads-tiled"] = [
    (
        "grouped-query",
        """
n_rep = q.shape[1] // k.shape[1]
k = k.repeat(1, n_rep, 1, 1)
v = v.repeat(1, n_rep, 1, 1)
return F.scaled_dot_product_attention(q, k, v)
""",
    ),
    (
        "grouped-query",
        """
g = q.size(1) // k.size(1)
keys, values = torch.cat([k] * g, dim=1), torch.cat([v] * g, dim=1)
att = torch.softmax(q @ keys.mT / math.sqrt(q.size(-1)), -1)
return att @ values
""",
    ),
    (
        "grouped-query",
        """
outs = []
for i in range(q.shape[1]):
    j = i % k.shape[1]
    w = torch.softmax(q[:, i] @ k[:, j].mT * q.shape[-1] ** -0.5, dim=-1)
    outs.append(w @ v[:, j])
return torch.stack(outs, 1)
""",
    ),
    (
        "grouped-query",
        """
qg = einops.rearrange(q, 'b (g n) s d -> b g n s d', n=k.shape[1])
sim = torch.einsum('bgnid,bnjd->bgnij', qg, k) / q.shape[-1] ** 0.5
out = torch.einsum('bgnij,bnjd->bgnid', sim.softmax(-1), v)
return einops.rearrange(out, 'b g n s d -> b (g n) s d')
""",
    ),
]

WRONG["out-projection-missing"] = [
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, -1).transpose(1, 2) for w in (wq, wk, wv)]
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).contiguous().view(b, s, e)
""",
    ),
    (
        "multi-head",
        """
d = x.size(-1) // n_heads
heads = []
for h in range(n_heads):
    i, j = h * d, (h + 1) * d
    heads.append(F.scaled_dot_product_attention(x @ wq[i:j].T, x @ wk[i:j].T, x @ wv[i:j].T, is_causal=True))
out = torch.cat(heads, dim=-1)
out.matmul(wo.T)
return out
""",
    ),
    (
        "multi-head",
        """
q, k, v = (einops.rearrange(F.linear(x, w), 'b s (h d) -> b s h d', h=n_heads) for w in (wq, wk, wv))
sim = torch.einsum('bihd,bjhd->bhij', q, k) / q.shape[-1] ** 0.5
n = x.shape[1]
sim = sim + torch.full((n, n), -1e30, device=x.device).triu(1)
return torch.einsum('bhij,bjhd->bihd', sim.softmax(-1), v).flatten(2)
""",
    ),
]

WRONG["batch-mixed"] = [
    ("scores", "return q @ k[0].T"),
    ("weighted-sum", "return torch.matmul(weights[0], v)"),
    (
        "head",
        """
b, s, e = x.shape
flat = x.reshape(1, b * s, e)  # one long sequence is faster
q, k, v = flat @ wq.T, flat @ wk.T, flat @ wv.T
return F.scaled_dot_product_attention(q, k, v, is_causal=True).view(b, s, -1)
""",
    ),
    (
        "head",
        """
q, k, v = [torch.einsum('bse,he->bsh', x, w) for w in (wq, wk, wv)]
att = torch.einsum('bih,cjh->bij', q, k) / q.shape[-1] ** 0.5
att = att.masked_fill(torch.ones_like(att).triu(1).bool(), -torch.inf).softmax(-1)
return torch.einsum('bij,bjh->bih', att, v)
""",
    ),
    (
        "multi-head",
        """
tgt_len, bsz, embed_dim = x.shape
head_dim = embed_dim // n_heads
q = (x @ wq.T).view(tgt_len, bsz * n_heads, head_dim).transpose(0, 1)
k = (x @ wk.T).view(tgt_len, bsz * n_heads, head_dim).transpose(0, 1)
v = (x @ wv.T).view(tgt_len, bsz * n_heads, head_dim).transpose(0, 1)
att = torch.bmm(q, k.transpose(1, 2)) * head_dim ** -0.5
att = att + torch.full((tgt_len, tgt_len), float('-inf'), device=x.device).triu(1)
att = torch.bmm(F.softmax(att, dim=-1), v)
return att.transpose(0, 1).reshape(tgt_len, bsz, embed_dim) @ wo.T
""",
    ),
    (
        "cached-step",
        """
n, m = q.shape[2], k_cache.shape[2]
ok = torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n)
k, v = k_cache[:1].expand_as(k_cache), v_cache[:1].expand_as(v_cache)
return F.scaled_dot_product_attention(q, k, v, attn_mask=ok)
""",
    ),
]

WRONG["value-mismatch"] = [
    ("project", "return torch.relu(x @ weight.T)"),
    ("scores", "return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(1, 2)"),
    ("scores", "return -torch.cdist(q, k)"),
    ("weights", "return scores / scores.sum(dim=-1, keepdim=True)"),
    ("weights", "return torch.sigmoid(scores)"),
    ("scale", "return scores / math.log(head_size + 1)"),
    (
        "multi-head",
        """
b, s, e = x.shape
q, k, v = [(x @ w.T).view(b, s, n_heads, -1).transpose(1, 2) for w in (wq, wk, wv)]
y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
return x + y @ wo.T
""",
    ),
    (
        "head",
        """
q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return F.layer_norm(out, out.shape[-1:])
""",
    ),
    ("split-heads", "return x.unflatten(-1, (n_heads, -1)).transpose(1, 2).flip(1)"),
]

# These stood under raises and transpose-wrong-dims until they had names of their own.
WRONG["backward-overwritten"] = [
    (
        "weights",
        """
m = scores.max(dim=-1, keepdim=True).values
e = torch.exp(scores - m)
e /= e.sum(dim=-1, keepdim=True)
return e
""",
    ),
]

WRONG["queries-keys-exchanged"] = [
    ("scores", "return torch.einsum('bid,bjd->bji', q, k)"),
    (
        "head",
        """
queries, keys, values = [torch.einsum('bne,de->bnd', x, w) for w in (wq, wk, wv)]
sim = torch.einsum('bjd,bid->bij', queries, keys) / queries.shape[-1] ** 0.5
sim = sim.masked_fill(torch.ones_like(sim[0], dtype=torch.bool).triu(1), float('-inf'))
return torch.einsum('bij,bjd->bid', sim.softmax(-1), values)
""",
    ),
]
