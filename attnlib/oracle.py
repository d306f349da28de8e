"""The same computation as loops over nested lists: no torch, no import at all.

A matrix is a list of rows. Everything here is written to be checked by eye, so that it can judge
the rest of the library; one sequence at a time, since the sequences of a batch never meet.
"""

E = 2.718281828459045  # within 6e-17 of e: E ** x is exp(x) to 1e-14 for every x that softmax meets
INFINITY = float("inf")


def project(x, weight, bias=None):
    """Return `out[i][h] = bias[h] + sum over e of x[i][e] * weight[h][e]`.

    Shapes: x (S, n_embd), weight (H, n_embd), bias (H) -> (S, H).
    Example:
        >>> project([[1, 2], [3, 4]], [[1, 0], [1, 1]])
        [[1, 3], [3, 7]]
    """
    out = []
    for token in x:
        row = []
        for h in range(len(weight)):
            total = bias[h] if bias else 0
            for e in range(len(token)):
                total += token[e] * weight[h][e]
            row.append(total)
        out.append(row)
    return out


def attention_scores(q, k):
    """Return `scores[i][j] = sum over d of q[i][d] * k[j][d]`.

    Shapes: q (Sq, H), k (Sk, H) -> (Sq, Sk).
    Example:
        >>> attention_scores([[1, 2]], [[1, 0], [0, 1], [1, 1]])
        [[1, 2, 3]]
    """
    scores = []
    for query in q:
        row = []
        for key in k:
            total = 0
            for d in range(len(query)):
                total += query[d] * key[d]
            row.append(total)
        scores.append(row)
    return scores


def scale_scores(scores, head_size):
    """Return every score divided by the root of the head size.

    Shapes: scores (Sq, Sk) -> the same.
    Example:
        >>> scale_scores([[2, 4]], 4)
        [[1.0, 2.0]]
    """
    return [[score / head_size**0.5 for score in row] for row in scores]


def causal_mask(Sq, Sk=None):
    """Return True where query i may see key j: `j <= Sk - Sq + i`.

    Shapes: -> (Sq, Sk).
    Example:
        >>> causal_mask(2, 3)
        [[True, True, False], [True, True, True]]
    """
    Sk = Sq if Sk is None else Sk
    return [[j <= Sk - Sq + i for j in range(Sk)] for i in range(Sq)]


def mask_scores(scores, may_attend):
    """Return the scores with -inf where the query may not attend.

    Shapes: scores and may_attend (Sq, Sk) -> the same.
    Example:
        >>> mask_scores([[1, 2]], [[True, False]])
        [[1, -inf]]
    """
    masked = []
    for i in range(len(scores)):
        row = []
        for j in range(len(scores[i])):
            row.append(scores[i][j] if may_attend[i][j] else -INFINITY)
        masked.append(row)
    return masked


def attention_weights(scores):
    """Return each row exponentiated and divided by its sum; zeros for a row of -inf.

    Shapes: scores (Sq, Sk) -> the same.
    Example:
        >>> attention_weights([[0, 0], [-INFINITY, 5], [-INFINITY, -INFINITY]])
        [[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]]
    """
    weights = []
    for row in scores:
        largest = max(row, default=-INFINITY)
        if largest == -INFINITY:
            weights.append([0.0 for _ in row])
            continue
        shifted = [E ** (score - largest) for score in row]
        total = sum(shifted)
        weights.append([value / total for value in shifted])
    return weights


def weighted_sum(weights, v):
    """Return `output[i][d] = sum over j of weights[i][j] * v[j][d]`.

    Shapes: weights (Sq, Sk), v (Sk, Hv), Sk at least 1 -> (Sq, Hv).
    Example:
        >>> weighted_sum([[0.5, 0.5]], [[2, 0], [4, 8]])
        [[3.0, 4.0]]
    """
    output = []
    for row in weights:
        mixed = []
        for d in range(len(v[0])):
            total = 0
            for j in range(len(v)):
                total += row[j] * v[j][d]
            mixed.append(total)
        output.append(mixed)
    return output


def split_heads(x, n_heads):
    """Return, for each head h, the features h*H to (h + 1)*H of every token.

    Shapes: x (S, heads*H) -> (heads, S, H).
    Example:
        >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
        [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]
    """
    H = len(x[0]) // n_heads
    return [[token[h * H : (h + 1) * H] for token in x] for h in range(n_heads)]


def merge_heads(heads):
    """Return, for each token, the features of all heads side by side.

    Shapes: heads (heads, S, H) -> (S, heads*H).
    Example:
        >>> merge_heads([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
        [[1, 2, 3, 4], [5, 6, 7, 8]]
    """
    tokens = range(len(heads[0]))
    return [[value for head in heads for value in head[i]] for i in tokens]


def attention(q, k, v, may_attend=None):
    """Return the output of one head, all stages one after the other.

    Shapes: q (Sq, H), k (Sk, H), v (Sk, Hv), may_attend (Sq, Sk) -> (Sq, Hv).
    Example:
        >>> attention([[0.0]], [[1.0], [2.0]], [[2.0], [4.0]])
        [[3.0]]
    """
    scores = scale_scores(attention_scores(q, k), len(q[0]))
    if may_attend is not None:
        scores = mask_scores(scores, may_attend)
    return weighted_sum(attention_weights(scores), v)


def head(x, wq, wk, wv, may_attend=None):
    """Return one head of self-attention on the tokens of x.

    Shapes: x (S, n_embd), wq, wk and wv (H, n_embd), may_attend (S, S) -> (S, H).
    Example:
        >>> head([[1.0], [1.0]], [[1.0]], [[1.0]], [[3.0]])
        [[3.0], [3.0]]
    """
    return attention(project(x, wq), project(x, wk), project(x, wv), may_attend)


def multi_head(x, wq, wk, wv, wo, n_heads, may_attend=None):
    """Return several heads side by side, mixed by the output weight wo.

    Shapes: x (S, n_embd), wq, wk and wv (heads*H, n_embd), wo (n_embd, heads*H) -> (S, n_embd).
    Example:
        >>> one = [[1.0, 0.0], [0.0, 1.0]]
        >>> multi_head([[2.0, 3.0]], one, one, one, one, 2)
        [[2.0, 3.0]]
    """
    q, k, v = (split_heads(project(x, weight), n_heads) for weight in (wq, wk, wv))
    heads = [attention(q[h], k[h], v[h], may_attend) for h in range(n_heads)]
    return project(merge_heads(heads), wo)
