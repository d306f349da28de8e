"""Wrong answers that raise at sizes that all differ and run at others: (exercise, body, words)."""

from __future__ import annotations

_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
_SEEN = "s = s.masked_fill(torch.ones_like(s[0]).tril() == 0, -math.inf)\n"
_GROUPS = (
    "g = q.shape[1] // k.shape[1]\nk, v = (t.repeat_interleave(g, 1) for t in (k, v))\n"
    "e = (q @ k.mT / q.shape[-1] ** 0.5).exp()\n"
)
_HEADS = (
    "B, S, E = x.shape\nq, k, v = ((x @ w.T).view(B, S, n_heads, -1).transpose(1, 2) "
    "for w in (wq, wk, wv))\ns = q @ k.mT / q.shape[-1] ** 0.5\n"
)
_CACHED = (
    "s = q @ k_cache.mT / q.shape[-1] ** 0.5\nSq, Sk = s.shape[-2:]\n"
    "e = s.exp() * torch.ones_like(s[0, 0]).tril(Sk - Sq)\n"
)

# Of these, the name of the dim that was not kept is told.
WITHOUT_KEEPDIM = [
    ("weights", "e = scores.exp()\nreturn e / e.sum(-1)", "sum over Sk"),
    ("weights", "e = (scores - scores.max(-1).values).exp()\nreturn e / e.sum(-1, True)",
     "max over Sk"),
    ("weights", "e = (scores - scores.max(-1)[0]).exp()\nreturn e / e.sum(-1)", "max over Sk"),
    ("weights", "return (scores - scores.logsumexp(dim=-1)).exp()", "logsumexp over Sk"),
    ("weights", "e = scores.exp()\nt = torch.sum(e, dim=2) + 1e-9\nreturn e.div(t)", "sum over Sk"),
    ("weights", "e = scores - torch.mean(scores, 2)\nreturn e.softmax(-1)", "mean over Sk"),
    ("weights", "e = scores.clone()\ne -= e.amax(-1)\nreturn e.softmax(-1)", "amax over Sk"),
    ("safe-weights", "e = scores.exp()\nreturn e / e.sum(-1).clamp(min=1e-30)", "sum over Sk"),
    ("safe-weights", "e = (scores - scores.amax(-1)).exp()\nreturn e / e.sum(-1, True)",
     "amax over Sk"),
    ("head", _QKV + _SEEN + "e = s.exp()\nreturn e / e.sum(-1) @ v", "sum over S"),
    ("head", _QKV + _SEEN + "return (s - s.max(-1).values).softmax(-1) @ v", "max over S"),
    ("multi-head", _HEADS + _SEEN.replace("s[0]", "s[0, 0]") + "e = s.exp()\n"
     "return (e / e.sum(-1) @ v).transpose(1, 2).reshape(B, S, E) @ wo.T", "sum over S"),
    ("cached-step", _CACHED + "return e / e.sum(-1) @ v_cache", "sum over Sk"),
    ("grouped-query", _GROUPS + "return e / e.sum(-1) @ v", "sum over S"),
    ("weighted-sum", "return weights / weights.sum(-1) @ v", "sum over Sk"),
]  # fmt: skip

# A name that fits the numbers of special sizes alone, or nothing that can be told.
OTHERS = [
    ("project", "return x.view(4, 4, 4) @ weight.T"),
    ("scores", "return (q * k).sum(-1)"),
    ("scores", "q = q + torch.zeros(4, 4, device=q.device)\nreturn q @ k.mT"),
    ("scale", "return scores.view(4, 4, 4) / 4"),
    ("causal-mask", "m = torch.ones(4, 4, device=device).tril() > 0\n"
     "return m.view(Sq, Sk).logical_not()"),
    ("mask-scores", "return scores.masked_fill(may_attend.view(4, 4), -math.inf)"),
    ("weights", "return scores.view(4, 4, 4).softmax(1)"),
    ("safe-weights", "return scores.view(4, 4, 4).softmax(1)"),
    ("weights", "scores -= scores.view(4, 4, 4)[0]\nreturn scores.softmax(-1)"),
    ("weights", "return [scores.view(4, 4, 4).softmax(-1)]"),
    ("weights", "return F.dropout(scores.view(4, 4, 4).softmax(-1), 0.5)"),
    ("weighted-sum", "return weights.view(4, 4, 4) @ v.mT"),
    ("head", _QKV.replace("x @ wq.T", "x.view(3, 3, -1) @ wq.T") + "return s.softmax(-1) @ v"),
    ("split-heads", "return x.view(3, n_heads, 3, 3)"),
    ("merge-heads", "return x.view(3, 3, 9).mT.reshape(3, 3, 9)"),
    ("multi-head", _HEADS.replace("B, S, E = x.shape", "x = x.view(3, 3, 9)\nB, S, E = x.shape")
     + "return (s.softmax(-1) @ v).transpose(1, 2).reshape(B, S, E) @ wo.T"),
    ("padding-mask", "m = torch.arange(4, device=lengths.device) <= lengths.view(4, 1)\n"
     "return m.view(len(lengths), 1, 1, S)"),
    ("cached-step", "s = q.view(4, 4, 4, 4) @ k_cache.mT\nreturn s.softmax(-1) @ v_cache"),
    ("grouped-query", "k = k.view(4, 2, 4, 4)\nreturn q @ k.repeat(1, 2, 1, 1).mT @ v"),
]  # fmt: skip
