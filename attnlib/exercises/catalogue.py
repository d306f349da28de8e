"""The mistakes: their stable ids in the order in which they are named, and what is said of each."""

from __future__ import annotations

from .mistake import Mistake

_MASKED = "may = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()\n"
_QKV = "q, k, v = x @ wq.T, x @ wk.T, x @ wv.T\n"
_SCORES = "s = q @ k.mT / q.shape[-1] ** 0.5\n"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "not-written", "There is nothing in the body yet: replace the three dots.",
        "Begin with two shapes, that of each input and that of the result.", "scores", "...",
    ),
    Mistake(
        "raises", "Your code raises an error.",
        "Read the error from its last line up; trace your function to see the shapes until there.",
        "merge-heads", "return x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)",
    ),
    Mistake(
        "too-slow", "Your code does not come back.",
        "Look for a loop whose condition never turns false.", "weights",
        "while True:\n    pass", r"\bwhile\b|\bfor\b",
    ),
    Mistake(
        "wrong-type", "Your function must return one tensor.",
        "Look at the return: it gives something else, or there is none.", "scores",
        "s = q @ k.mT", r"\breturn\b",
    ),
    Mistake(
        "wrong-shape", "The result has another shape than asked for.",
        "Compare the dims of your result with the wanted ones, one by one.", "project",
        "return weight @ x.mT", r"\breturn\b",
    ),
    Mistake(
        "wrong-dtype", "The result has another dtype than asked for.",
        "A mask is bool; scores, weights and outputs have the dtype of the inputs.",
        "causal-mask",
        "return torch.ones(Sq, Sk, device=device).tril(Sk - Sq)", r"dtype|\.(int|float|half)\(",
    ),
    Mistake(
        "writes-into-argument", "Your code changes the tensor that it was given.",
        "A method that ends in _ , or an assignment to a part, writes into the caller's memory.",
        "mask-scores", 'return scores.masked_fill_(~may_attend, float("-inf"))',
        r"_\(|\]\s*=|[-+*/]=",
    ),
    Mistake(
        "backward-overwritten",
        "The numbers are right, but the backward pass raises: a tensor that it needs was changed.",
        "*= and its like, a method that ends in _ and an assignment to a part write over what was "
        "computed: make a new tensor.",
        "weights", "w = scores.softmax(-1)\nw[..., 0] *= 1.0\nreturn w",
        r"_\(|\]\s*[-+*/]?=|[-+*/]=",
    ),
    Mistake(
        "wrong-gradient", "The numbers are right, but the gradients that flow back are not.",
        "detach, no_grad, .data, item, tolist and numpy let no gradient through: what lies behind "
        "them never learns.",
        "project", "return x @ weight.detach().T",
        r"detach|no_grad|inference_mode|\.data\b|item\(|tolist|numpy|torch\.tensor\(",
    ),
    Mistake(
        "not-deterministic", "Two calls with the same input differ: something is drawn at random.",
        "Attention draws nothing: look for noise, and for a weight that is made anew in each call.",
        "scores", "return (q + 0.1 * torch.randn_like(q)) @ k.mT", r"rand|normal|gumbel|Linear",
    ),
    Mistake(
        "fixed-device", "A tensor that you make is on the default device, wherever the inputs are.",
        "Give the factory a device, or build from an input: torch.ones(..., device=x.device).",
        "causal-mask", "return torch.ones(Sq, Sk, dtype=torch.bool).tril(Sk - Sq)",
        r"torch\.(ones|zeros|tril|triu|full|arange|tensor|eye)",
    ),
    Mistake(
        "weight-transposed", "A weight is used as (in, out), but it is kept as (out, in).",
        "A linear layer computes x @ weight.T.", "project", "return x @ weight", "@|matmul|einsum",
    ),
    Mistake(
        "projection-shared", "Two projections read the same weight.",
        "Queries, keys and values each have a weight of their own.", "head",
        "q, k, v = x @ wq.T, x @ wq.T, x @ wv.T\n" + _SCORES
        + _MASKED + "return s.masked_fill(~may, float('-inf')).softmax(-1) @ v", r"w[qkv]",
    ),
    Mistake(
        "values-exchanged", "The values have changed places with the keys or the queries.",
        "Queries and keys make the scores, values are mixed: compare the order on both sides.",
        "head", "q, v, k = x @ wq.T, x @ wk.T, x @ wv.T\n" + _SCORES
        + _MASKED + "return s.masked_fill(~may, float('-inf')).softmax(-1) @ v", r"w[qkv]",
    ),
    Mistake(
        "weight-twice", "A weight is applied twice.",
        "Each weight multiplies once: wq, wk and wv the tokens, wo the merged heads.", "multi-head",
        "q, k, v = ((x @ w.T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (wq, wk, wv))\n"
        + _SCORES + _MASKED + "o = s.masked_fill(~may, float('-inf')).softmax(-1) @ v\n"
        "return o.transpose(1, 2).flatten(2) @ wo.T @ wo.T",
        r"\b(w[qkvo])\b.*\b\1\b|\b(w|weight)\.m?T\b.*\b\2\.m?T\b",
    ),
    Mistake(
        "split-by-view", "The heads are cut out of memory by a view that cannot move tokens.",
        "View the last dim as (heads, H), then swap heads and S.", "split-heads",
        "return x.reshape(x.shape[0], n_heads, x.shape[1], -1)", r"view|reshape",
    ),
    Mistake(
        "split-wrong-order", "Each head gets every n-th feature instead of H neighbours.",
        "Head h holds the features h*H to (h + 1)*H: heads is the outer factor.", "split-heads",
        "return x.reshape(*x.shape[:2], -1, n_heads).permute(0, 3, 1, 2)",
        r"view|reshape|rearrange",
    ),
    Mistake(
        "kv-heads-tiled", "Key or value heads meet the query heads as 0 1 0 1 instead of 0 0 1 1.",
        "Neighbouring query heads share one key head: repeat_interleave.", "grouped-query",
        "n = q.shape[1] // k.shape[1]\nk, v = k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)\n"
        + _SCORES + "return s.softmax(-1) @ v", r"repeat|expand|cat|tile",
    ),
    Mistake(
        "transpose-missing", "A transpose is missing: a dim stands where another should.",
        "Write the named dims behind every tensor; what a product sums must be one dim.", "scores",
        "return q @ k", "@|matmul|bmm|einsum|view|reshape",
    ),
    Mistake(
        "transpose-wrong-dims", "The transpose swaps the wrong dims.",
        "Count the dims from the end, and write the named dims behind what the transpose gives.",
        "scores", "return q @ k.transpose(0, 1)", r"transpose|permute|\.m?T\b|einsum|swap",
    ),
    Mistake(
        "queries-keys-exchanged", "Queries and keys are exchanged: each row belongs to a key.",
        "Row i of the scores is query i against all keys: the queries come first.", "scores",
        "return torch.einsum('bqd,bkd->bkq', q, k)", r"@|matmul|bmm|einsum",
    ),
    Mistake(
        "scale-missing", "The scores are not scaled.",
        "Divide the scores by the root of the head size before the softmax.", "scale",
        "return scores.clone()", "@|scores",
    ),
    Mistake(
        "scale-n-embd", "The scale is that of n_embd, not of the head size.",
        "A score is a sum over H products, so its spread is the root of H.", "head",
        _QKV + "s = q @ k.mT / x.shape[-1] ** 0.5\n" + _MASKED
        + "return s.masked_fill(~may, float('-inf')).softmax(-1) @ v", r"sqrt|\*\*|math|n_embd",
    ),
    Mistake(
        "scale-wrong-size", "The scale is that of another dim, not of the head size.",
        "Ask which size your code reads: H is the last dim of q.", "scale",
        "return scores / scores.shape[-1] ** 0.5", r"sqrt|\*\*|shape|size",
    ),
    Mistake(
        "scale-no-root", "The scores are divided by the head size itself, or twice by its root.",
        "Divide by its root, once.", "scale", "return scores / head_size", r"/|\*",
    ),
    Mistake(
        "scale-inverted", "The scores are multiplied where they should be divided.",
        "Divide by head_size ** 0.5, or multiply by head_size ** -0.5.", "scale",
        "return scores * head_size ** 0.5", r"\*|/",
    ),
    Mistake(
        "scale-after-softmax", "The scale acts on the weights, after the softmax.",
        "Scale the scores: scaled weights no longer sum to 1.", "head",
        _QKV + _MASKED + "s = q @ k.mT\nw = s.masked_fill(~may, float('-inf')).softmax(-1)\n"
        "return w / q.shape[-1] ** 0.5 @ v", r"sqrt|\*\*|/",
    ),
    Mistake(
        "scale-unasked", "The numbers are scaled, but this exercise asks for no scale.",
        "Give back what the stage itself computes: the scale has an exercise of its own.", "scores",
        "return q @ k.mT / q.shape[-1] ** 0.5", r"sqrt|\*\*|/",
    ),
    Mistake(
        "mask-inverted", "The mask is inverted: allowed keys are hidden, hidden ones allowed.",
        "True means may attend; masked_fill writes where its mask is True.", "mask-scores",
        "return scores.masked_fill(may_attend, float('-inf'))", r"mask|tril|triu|where|~",
    ),
    Mistake(
        "mask-off-by-one", "The mask's edge is one key off.",
        "A query sees itself and nothing later: look at the diagonal.", "causal-mask",
        "return torch.ones(Sq, Sk, dtype=torch.bool, device=device).tril(Sk - Sq - 1)",
        r"tril|triu|diagonal|<|>",
    ),
    Mistake(
        "mask-after-softmax", "The mask acts on the weights, after the softmax.",
        "Hide the scores first: rows of masked weights no longer sum to 1.", "head",
        _QKV + _SCORES + _MASKED + "return (s.softmax(-1) * may) @ v", "softmax",
    ),
    Mistake(
        "mask-ignored", "Nothing is hidden: every query sees every key.",
        "Is there a mask at all sizes, and is its result kept? masked_fill gives a new tensor.",
        "head",
        _QKV + _SCORES + "return s.softmax(-1) @ v", r"mask|tril|triu",
    ),
    Mistake(
        "mask-unasked", "Later keys are hidden, but this exercise asks for no such mask.",
        "Let every query see what it is given: the causal mask has an exercise of its own.",
        "grouped-query", "n = q.shape[1] // k.shape[1]\n"
        "k, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)\n"
        + _SCORES + "may = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()\n"
        "return s.masked_fill(~may, float('-inf')).softmax(-1) @ v", r"tril|triu|is_causal|arange",
    ),
    Mistake(
        "mask-additive-01", "A mask of 0 and 1 is added to the scores.",
        "An additive mask holds 0 and -inf; a bool one belongs into masked_fill.", "mask-scores",
        "return scores + may_attend", r"\+|-|mask",
    ),
    Mistake(
        "mask-fill-not-low-enough", "The fill is not low enough: hidden keys keep weight.",
        "exp(-inf) is 0; any other fill must lie far below every score.", "mask-scores",
        "return scores.masked_fill(~may_attend, -1e9)", r"fill|where|\*|1e",
    ),
    Mistake(
        "mask-fill-inf-or-nan", "Hidden scores become inf or NaN, and softmax makes NaN of them.",
        "Only -inf is sure to leave no weight: exp(-inf) is 0.", "mask-scores",
        "return torch.where(may_attend, scores, float('inf'))", r"fill|where|inf|nan",
    ),
    Mistake(
        "zero-times-infinity", "0 is multiplied by an infinity, and that is NaN.",
        "A mask of 0 and 1 times -inf is not 0 and -inf: write -inf only where it belongs.",
        "mask-scores", "return scores + (~may_attend) * float('-inf')", r"\*|mul",
    ),
    Mistake(
        "one-length-for-all", "One length serves every sequence of the batch.",
        "Each sequence has its own length: (batch, 1) against (1, S).", "padding-mask",
        "real = torch.arange(S, device=lengths.device) < lengths.max()\n"
        "return real.expand(len(lengths), 1, 1, S)", r"max|min|\[0\]|<|>",
    ),
    Mistake(
        "mask-wrong-axis", "The mask stands on the wrong dim.",
        "Keys are the last dim of the scores, queries the one before it.", "padding-mask",
        "return (torch.arange(S, device=lengths.device) < lengths[:, None])[:, None, :, None]",
        r"None|unsqueeze|view|\.m?T\b",
    ),
    Mistake(
        "causal-misaligned", "The mask is aligned at the first key, not at the last.",
        "The last query sees the last key: the diagonal is Sk - Sq.", "causal-mask",
        "return torch.ones(Sq, Sk, dtype=torch.bool, device=device).tril()",
        r"tril|triu|is_causal|<|>",
    ),
    Mistake(
        "nan-row", "A query that may attend to nothing is not taken care of.",
        "All -inf gives NaN, a finite fill even weights; give harmless scores first, zeros after.",
        "safe-weights", "return scores.softmax(-1).nan_to_num(0.0)", r"softmax|exp|inf|nan",
    ),
    Mistake(
        "softmax-wrong-dim", "The softmax runs over the wrong dim.",
        "Each query's weights over the keys sum to 1: dim=-1.", "weights",
        "return scores.softmax(1)", r"[sS]oftmax\(|sum\(",
    ),
    Mistake(
        "softmax-twice", "Softmax is applied twice.",
        "What comes out of softmax lies between 0 and 1; after a second one no weight can be more "
        "than e times another.",
        "weights", "return scores.softmax(-1).softmax(-1)", "[sS]oftmax", repeats=True,
    ),
    Mistake(
        "softmax-epsilon", "The sum is not the row's own: the weights do not sum to 1.",
        "A constant beside the sum, or a least sum, outweighs a row of low scores; a row that is "
        "-inf throughout needs a case of its own.",
        "safe-weights", "e = scores.exp()\nreturn e / (e.sum(-1, keepdim=True) + 1e-9)",
        r"sum\(|clamp|softmax",
    ),
    Mistake(
        "softmax-unasked", "Softmax is applied, but this exercise asks for scores.",
        "Stop before the weights: they have an exercise of their own.", "scale",
        "return (scores / head_size ** 0.5).softmax(-1)", r"softmax|exp",
    ),
    Mistake(
        "dropout-active", "Two calls with the same input differ: dropout is active.",
        "F.dropout drops unless told training=False; a new nn.Dropout is in training mode.",
        "weighted-sum", "return torch.nn.functional.dropout(weights, 0.5) @ v",
        r"[dD]ropout|rand|bernoulli",
    ),
    Mistake(
        "values-unused", "The values take no part in the output.",
        "The weights mix v; they are not the output, and keys and queries are not values.",
        "head", _QKV + _SCORES + _MASKED
        + "return s.masked_fill(~may, float('-inf')).softmax(-1) @ k", r"\breturn\b|@",
    ),
    Mistake(
        "merge-by-view", "The heads are merged by a view, and tokens are mixed.",
        "Swap heads and S back first, then flatten heads and H.", "merge-heads",
        "return x.reshape(x.shape[0], x.shape[2], -1)", r"view|reshape|flatten",
    ),
    Mistake(
        "out-projection-missing", "The output weight is not used.",
        "The merged heads are mixed by wo at the end.", "multi-head",
        "q, k, v = ((x @ w.T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (wq, wk, wv))\n"
        + _SCORES + _MASKED + "o = s.masked_fill(~may, float('-inf')).softmax(-1) @ v\n"
        "return o.transpose(1, 2).flatten(2)", r"\breturn\b|wo",
    ),
    Mistake(
        "batch-mixed", "Sequences of the batch influence one another.",
        "Change one sequence: no other row of the batch may move.", "project",
        "return (x - x.mean(0)) @ weight.T", r"\b0\b|flatten|view|reshape|einsum",
    ),
    Mistake(
        "value-mismatch", "The shape is right, the numbers are not, and no known mistake fits.",
        "Run your lines one by one on the input below, beside those of solution(…): several "
        "mistakes at once can look like none.", "weights",
        "return scores.sigmoid()",
    ),
)  # fmt: skip

BY_ID = {mistake.id: mistake for mistake in MISTAKES}
