"""Mistakes as people reported them, as loose code: number -> what, who answers, with what, the code.

error: the trace says the words; warning: it warns at this expression. symptom: the code shows what
is described under that heading of the page From symptom to page. elsewhere: it does not depend on
the code but on the device, the version or how a call is meant, and the code shows what holds here.
"""

# ruff: noqa: E501 (some lines are as people write them)

CODE: dict[int, tuple[str, str, str, str]] = {}

# --- the trace explains the error ----------------------------------------------------------------

CODE |= {
    2: (
        "(1, 2) kept after a head axis came in front",
        "error",
        "sums over the last dim of q, d = 8, and the second-to-last",
        """
B, h, T, d = 2, 4, 6, 8
q, k = torch.randn(B, h, T, d), torch.randn(B, h, T, d)
scores = q @ k.transpose(1, 2)""",
    ),
    7: (
        "the transposed factor on the left: features attend to features",
        "error",
        "should have been transposed",
        """
q, k, v = (torch.randn(2, 5, 8) for _ in range(3))
w = torch.softmax(q.transpose(-2, -1) @ k, dim=-1)
out = w @ v""",
    ),
    25: (
        "view after transpose, right in one memory layout only",
        "error",
        "memory",
        """
heads = torch.randn(2, 4, 5, 8)
merged = heads.transpose(1, 2).view(2, 5, 32)""",
    ),
    73: (
        "-1e9 in half precision",
        "error",
        "float16",
        """
s = torch.randn(2, 4, 4).half()
s.masked_fill(torch.ones(4, 4).triu(1).bool(), -1e9)""",
    ),
    74: (
        "-1e9 under autocast, where the product is half precision",
        "error",
        "float16",
        """
q, k = torch.randn(1, 3, 8), torch.randn(1, 3, 8)
with torch.autocast("cpu", dtype=torch.float16):
    s = torch.bmm(q, k.mT)
    s.masked_fill(torch.ones(3, 3).triu(1).bool(), -1e9)""",
    ),
    85: (
        "~ on a mask of whole numbers, which is true everywhere",
        "error",
        "int64, but a mask is bool",
        """
keep = torch.tensor([[1, 1, 0]])
assert (~keep).bool().all()
torch.zeros(1, 3).masked_fill(~keep, -torch.inf)""",
    ),
    97: (
        "a mask (batch, S, S) without an axis for heads",
        "error",
        "mask",
        """
scores, mask = torch.zeros(2, 4, 3, 3), torch.ones(2, 3, 3).bool()
scores.masked_fill(~mask, 0.0)""",
    ),
    100: (
        "a padding mask (batch, S) as it is",
        "error",
        "mask",
        """
scores, mask = torch.zeros(4, 2, 3, 3), torch.ones(4, 3).bool()
scores.masked_fill(mask, 0.0)""",
    ),
    104: (
        "a mask for the new tokens only, beside a cache",
        "error",
        "mask",
        """
past, new = 3, 2
scores, mask = torch.randn(1, 1, new, past + new), torch.ones(new, new).triu(1).bool()
scores.masked_fill(mask, -torch.inf)""",
    ),
    106: (
        "the mask of the largest length, not cut",
        "error",
        "mask",
        """
mask = torch.ones(16, 16).triu(1).bool()
torch.randn(1, 10, 10).masked_fill(mask, -torch.inf)""",
    ),
    107: (
        "the length read from the axis of the features",
        "error",
        "mask",
        """
q = k = torch.randn(1, 5, 16)
mask = torch.ones(q.size(2), k.size(2)).tril().bool()
(q @ k.mT).masked_fill(~mask, -torch.inf)""",
    ),
    113: (
        "self.mask, which is a local variable",
        "error",
        "mask",
        """
class A(nn.Module):
    def forward(self, x):
        mask = torch.full((3, 3), -torch.inf).triu(1)
        return torch.softmax(x @ x.mT + self.mask, -1) @ x

A()(torch.randn(1, 3, 4))""",
    ),
    124: (
        "a width that the heads do not divide",
        "error",
        "does not divide by heads",
        """
dim, heads = 512, 6
x = torch.randn(2, 10, dim)
x.view(2, 10, heads, dim // heads)""",
    ),
    127: (
        "fewer features than heads: a head size of 0",
        "error",
        "negative power",
        """
dim, num_heads = 2, 8
scale = (dim // num_heads) ** -0.5""",
    ),
    130: (
        "batch first given to a layer that wants time first",
        "error",
        "batch_first",
        """
mha = nn.MultiheadAttention(16, 4)
q, k = torch.randn(1, 1, 16), torch.randn(1, 23, 16)
mha(q, k, k)""",
    ),
    133: (
        "one query sequence, four of keys",
        "error",
        "batch_first",
        """
q, k = torch.randn(1, 1, 8), torch.randn(4, 6, 8)
nn.MultiheadAttention(8, 1, batch_first=True)(q, k, k)""",
    ),
    142: (
        "more letters than axes",
        "error",
        "names 4 axes",
        """
q = k = torch.randn(1, 4, 5, 8)
torch.einsum("bhid,bhjd->bhij", q.squeeze(), k.squeeze())""",
    ),
    145: (
        "tokens repeated instead of heads",
        "error",
        "the batch dims of a matmul",
        """
q, k = torch.randn(2, 5, 8, 4), torch.randn(2, 5, 2, 4)
k = k.repeat_interleave(4, dim=1)
q.transpose(1, 2) @ k.transpose(1, 2).mT""",
    ),
    149: (
        "a fused projection in equal thirds, though keys are narrower",
        "error",
        "does not divide by hq",
        """
hq, hk, d = 4, 2, 8
a, b, c = torch.randn(1, 5, (hq + 2 * hk) * d).chunk(3, -1)
a.view(1, 5, hq, d)""",
    ),
    152: (
        "keys viewed with the length of the queries",
        "error",
        "the batch dims of a matmul",
        """
h, d = 2, 4
dec, enc = torch.randn(1, 4, 8), torch.randn(1, 6, 8)
split = lambda t: t.view(1, dec.shape[1], -1, d).transpose(1, 2)
split(dec) @ split(enc).mT""",
    ),
    154: (
        "the causal mask of the target in cross-attention",
        "error",
        "causal",
        """
scores, causal = torch.randn(1, 2, 4, 6), torch.ones(4, 4).triu(1).bool()
scores.masked_fill(causal, -torch.inf)""",
    ),
    155: (
        "the mask of the queries on the keys of the context",
        "error",
        "the mask must broadcast to the scores",
        """
q, ctx, mask = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.ones(2, 5).bool()
F.scaled_dot_product_attention(q, ctx, ctx, attn_mask=mask[:, None, :])""",
    ),
    161: (
        "super().__init__() after the first layer",
        "error",
        "__init__",
        """
class Head(nn.Module):
    def __init__(self, d):
        self.key = nn.Linear(d, d)
        super().__init__()

Head(4)""",
    ),
    164: (
        "each head projected to the full width, then side by side",
        "error",
        "64",
        """
x = torch.randn(1, 5, 16)
y = torch.cat([nn.Linear(4, 16)(torch.randn(1, 5, 4)) for _ in range(4)], -1)
x + y""",
    ),
    166: (
        "heads joined along the tokens",
        "error",
        "12",
        """
y = torch.cat([torch.randn(2, 5, 4) for _ in range(3)], dim=1)
nn.Linear(12, 12)(y)""",
    ),
    172: (
        "float64 from numpy",
        "error",
        "float64",
        """
import numpy as np
x = torch.from_numpy(np.random.rand(1, 4, 8))
nn.Linear(8, 8)(x)""",
    ),
    173: (
        "divided by a tensor of one float64, which has an axis",
        "error",
        "float64",
        """
import numpy as np
q, k, v = (torch.randn(1, 4, 8) for _ in range(3))
w = torch.softmax(q @ k.mT / torch.tensor(np.sqrt([8.0])), -1)
w @ v""",
    ),
    175: (
        "token ids in bfloat16",
        "error",
        "bfloat16",
        """
ids = torch.tensor([[257, 1001, 42]]).to(torch.bfloat16)
nn.Embedding(2000, 8)(ids)""",
    ),
    176: (
        "token ids into a projection",
        "error",
        "int64",
        """
ids = torch.randint(0, 20, (1, 8))
nn.Linear(8, 4)(ids)""",
    ),
    181: (
        "merged with the width of the keys, not of the values",
        "error",
        "reshape",
        """
h, d_k, d_v = 2, 8, 64
out = torch.randn(1, h, 5, d_v)
out.transpose(1, 2).reshape(1, 5, h * d_k)""",
    ),
}

# --- the trace warns -----------------------------------------------------------------------------

CODE |= {
    5: (
        "batch, tokens and features of one size, and k.T",
        "warning",
        "q @ k.T",
        """
B, T, d = 4, 4, 4
q, k = torch.randn(B, T, d), torch.randn(B, T, d)
B, T, d = q.shape
B, T, d = k.shape
scores = q @ k.T""",
    ),
    17: (
        "merged without moving the heads back",
        "warning",
        "o.reshape(B, T, h * d)",
        """
o = torch.randn(1, 2, 3, 2)
B, h, T, d = o.shape
merged = o.reshape(B, T, h * d)""",
    ),
    19: (
        "unfolded as (heads, batch)",
        "warning",
        "folded.view(h, B, T, d)",
        """
o = torch.randn(2, 4, 3, 5)
B, h, T, d = o.shape
folded = o.reshape(B * h, T, d)
merged = folded.view(h, B, T, d).permute(0, 2, 1, 3).reshape(B, T, h * d)""",
    ),
    20: (
        "heads in front, flattened by a view",
        "warning",
        "o.view(B, T, -1)",
        """
o = torch.randn(3, 2, 5, 4)
h, B, T, d = o.shape
merged = o.view(B, T, -1)""",
    ),
    22: (
        "two ways compared, one of which forgets to move the heads back",
        "warning",
        "out.reshape(N, L, -1)",
        """
q, k, v = (torch.randn(3, 5, 2, 4) for _ in range(3))
N, L, H, D = q.shape
weights = torch.einsum("nlhc,nmhc->nhlm", q, k).div(D**0.5).softmax(-1)
out = weights @ v.transpose(1, 2)
flat = out.reshape(N, L, -1)""",
    ),
    23: (
        "merged without moving back, and nobody noticed",
        "warning",
        "o.reshape(B, T, h * d)",
        """
x = torch.randn(1, 4, 6)
B, T, C = x.shape
h, d = 2, C // 2
z = x.view(B, T, h, d).transpose(1, 2)
o = F.scaled_dot_product_attention(z, z, z)
merged = o.reshape(B, T, h * d)""",
    ),
}

# --- the page From symptom to page ---------------------------------------------------------------

CODE |= {
    11: (
        "keys times queries: the two projections by each other's name",
        "symptom",
        "Other-numbers-than-PyTorch's-layer,-with-the-same-weights",
        """
q, k, v = (torch.randn(1, 5, 8) for _ in range(3))
swapped = torch.softmax(k @ q.mT / 8**0.5, -1) @ v
assert torch.allclose(swapped, F.scaled_dot_product_attention(k, q, v), atol=1e-5)
assert not torch.allclose(swapped, F.scaled_dot_product_attention(q, k, v), atol=1e-2)""",
    ),
    49: (
        "scaled after a product that overflows in half precision",
        "symptom",
        "NaN-after-a-while,-or-only-in-half-precision",
        """
q = torch.full((1, 2, 64), 40.0, dtype=torch.half)
assert torch.softmax((q @ q.mT) / 8, -1).isnan().all()
assert torch.softmax((q / 8) @ q.mT, -1).isfinite().all()""",
    ),
    68: (
        "a query that may see nothing: NaN by hand, zeros by PyTorch",
        "symptom",
        "NaN-in-the-first-row,-or-in-the-last",
        """
q = torch.randn(1, 1, 3, 4)
keep = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
assert (F.scaled_dot_product_attention(q, q, q, attn_mask=keep)[0, 0, 1] == 0).all()
assert torch.softmax((q @ q.mT).masked_fill(~keep, -torch.inf), -1)[0, 0, 1].isnan().all()""",
    ),
    79: (
        "the lowest number of half precision added, not filled in",
        "symptom",
        "NaN-in-the-first-row,-or-in-the-last",
        """
s, low = torch.full((1, 3), -40.0, dtype=torch.half), torch.finfo(torch.half).min
assert torch.softmax(s + low, -1).isnan().all()
assert torch.softmax(torch.full_like(s, low), -1).isfinite().all()""",
    ),
    86: (
        "a float mask of 0 and 1 as key_padding_mask, which is added",
        "symptom",
        "Tokens-that-are-blocked-still-get-weight",
        """
mha, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 4, 8)
pad = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
assert mha(x, x, x, key_padding_mask=pad)[1][0, 0, 3] > 0.1
assert mha(x, x, x, key_padding_mask=pad.bool())[1][0, 0, 3] == 0""",
    ),
    89: (
        "the same padding as bool and as float, with different results",
        "symptom",
        "Tokens-that-are-blocked-still-get-weight",
        """
enc, x = nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0), torch.randn(2, 4, 8)
pad = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]])
a, b = enc(x, src_key_padding_mask=pad.bool()), enc(x, src_key_padding_mask=pad.float())
assert (a - b).abs().max() > 0.1""",
    ),
    91: (
        "a mask of batch lined up with groups of heads",
        "symptom",
        "A-padded-batch-differs-from-each-sequence-alone",
        """
scores, mask = torch.zeros(2, 2, 3, 4, 4), torch.zeros(2, 1, 4, 4)
mask[0, ..., 2:] = -torch.inf
weights = torch.softmax(scores + mask, -1)
assert weights[0, 1, 0, 0, 2:].sum() == 0.5 and weights[1, 0, 0, 0, 2:].sum() == 0""",
    ),
    92: (
        "a mask repeated, not interleaved, over batch times heads",
        "symptom",
        "Tokens-that-are-blocked-still-get-weight",
        """
x, mha = torch.randn(2, 3, 8), nn.MultiheadAttention(8, 2, batch_first=True).eval()
mask = torch.zeros(2, 3, 3).bool()
mask[0, :, 2] = True
weights = mha(x, x, x, attn_mask=mask.repeat(2, 1, 1), average_attn_weights=False)[1]
assert (weights[:, :, 0, 2] > 0).tolist() == [[False, True], [False, True]]""",
    ),
    98: (
        "the padding of the target on the keys of the source",
        "symptom",
        "Tokens-that-are-blocked-still-get-weight",
        """
source, target = torch.tensor([1, 1, 1, 0, 0]).bool(), torch.tensor([1, 1, 0, 0, 0]).bool()
weights = torch.softmax(torch.randn(1, 1, 5, 5).masked_fill(~target, -torch.inf), -1)
assert ((weights[0, 0, 0] > 0) != source).any()""",
    ),
    103: (
        "the mask left out as soon as a cache is there",
        "symptom",
        "With-a-cache-the-model-writes-something-else",
        """
def attend(x, cache=None):
    s = x @ x.mT / x.shape[-1] ** 0.5
    if cache is None:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
    return torch.softmax(s, -1) @ x

x = torch.randn(1, 5, 8)
assert (attend(x) - attend(x, cache={})).abs().max() > 0.1""",
    ),
    112: (
        "the mask as a parameter, which is trained",
        "symptom",
        "Tokens-that-are-blocked-still-get-weight",
        """
mask = nn.Parameter(torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), -5.0))
x = torch.randn(1, 3, 4)
(torch.softmax(mask, -1) @ x)[0, 0].sum().backward()
assert mask.grad[0, 2] != 0""",
    ),
    125: (
        "the head size rounded down without a word",
        "symptom",
        "shape-'[…]'-is-invalid-for-input-of-size",
        """
d_model, n_heads = 512, 6
d_k = int(d_model / n_heads)
assert nn.Linear(d_model, n_heads * d_k)(torch.randn(1, 3, d_model)).shape == (1, 3, 510)""",
    ),
    151: (
        "cross-attention that reads the decoder twice",
        "symptom",
        "A-weight-never-changes,-or-is-missing-from-the-checkpoint",
        """
mha = nn.MultiheadAttention(8, 2, batch_first=True)
dec, enc = torch.randn(1, 3, 8), torch.randn(1, 5, 8, requires_grad=True)
out, _ = mha(dec, dec, dec)
assert torch.autograd.grad(out.sum(), enc, allow_unused=True)[0] is None""",
    ),
    157: (
        "weights (in, out) loaded: the square ones without complaint",
        "symptom",
        "Other-numbers-than-PyTorch's-layer,-with-the-same-weights",
        """
square, wide = nn.Linear(8, 8), nn.Linear(8, 24)
square.load_state_dict({"weight": square.weight.detach().T.clone(), "bias": square.bias.detach()})
try:
    wide.load_state_dict({"weight": wide.weight.detach().T.clone(), "bias": wide.bias.detach()})
except RuntimeError as error:
    assert "size mismatch" in str(error)
else:
    raise AssertionError("the wide one was expected to be refused")""",
    ),
    178: (
        "a batch of vectors, which the layer takes for one sequence",
        "symptom",
        "One-sequence-of-the-batch-changes-another",
        """
mha, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(4, 8)
other = x.clone()
other[1:] += 1.0
assert (mha(x, x, x)[0] - mha(other, other, other)[0])[0].abs().max() > 0.01""",
    ),
    187: (
        "divided by a tensor without axes, under torch.compile",
        "symptom",
        "BackendCompilerFailed,-argument-'scale',-FakeTensor",
        """
q = torch.randn(2, 3, 6, 16)
assert ((q @ q.mT) / torch.tensor(4.0)).softmax(-1).isfinite().all()  # as it is written it runs""",
    ),
    199: (
        "no padding mask at all",
        "symptom",
        "A-padded-batch-differs-from-each-sequence-alone",
        """
emb = nn.Embedding(10, 8)
run = lambda ids: F.scaled_dot_product_attention(emb(ids), emb(ids), emb(ids))
alone, padded = run(torch.tensor([[3, 4, 5]])), run(torch.tensor([[3, 4, 5, 0, 0]]))
assert (alone - padded[:, :3]).abs().max() > 0.1""",
    ),
    202: (
        "(batch, heads, S, H) where the text says (batch, S, heads, H)",
        "symptom",
        "Right-at-some-sizes-only",
        """
split = lambda x, h: x.view(*x.shape[:2], h, -1).permute(0, 2, 1, 3)
assert split(torch.randn(2, 6, 8), 4).shape[1] == 4 and split(torch.randn(2, 4, 8), 4).shape[1] == 4""",
    ),
}

# --- the device, the version, how a call is meant ------------------------------------------------

NARROW_MASK = "refused by older versions, right here but in nn.MultiheadAttention with need_weights"
REFUSED = """
assert mha(x, x, x, attn_mask=mask, need_weights=False)[0].dtype == x.dtype
try:
    mha(x, x, x, attn_mask=mask)
except RuntimeError as error:
    assert "dtypes must be the same" in str(error)
else:
    raise AssertionError("with need_weights the mask was taken")"""

CODE |= {
    26: (
        "the memory layout of PyTorch's function, another on other devices",
        "elsewhere",
        "reshape, where view depends on the device",
        """
q, k = torch.randn(1, 6, 4, 8).transpose(1, 2), torch.randn(1, 4, 7, 8)
assert F.scaled_dot_product_attention(q, k, k).transpose(1, 2).reshape(1, 6, 32).shape == (1, 6, 32)""",
    ),
    82: (
        "a float32 mask beside bfloat16 queries",
        "elsewhere",
        NARROW_MASK,
        f"""
q = torch.randn(1, 2, 4, 8, dtype=torch.bfloat16)
mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
assert F.scaled_dot_product_attention(q, q, q, attn_mask=mask).dtype == torch.bfloat16
mha, x = nn.MultiheadAttention(8, 2, batch_first=True).bfloat16(), q[0]
{REFUSED}""",
    ),
    83: (
        "a float32 mask beside float64 inputs",
        "elsewhere",
        NARROW_MASK,
        f"""
enc, x = nn.TransformerEncoderLayer(8, 2, batch_first=True).double(), torch.randn(1, 4, 8).double()
mask = nn.Transformer.generate_square_subsequent_mask(4)
assert enc(x, src_mask=mask).dtype == torch.float64
mha = enc.self_attn
{REFUSED}""",
    ),
    95: (
        "a mask (batch, Sq, Sk) for a layer that wants batch times heads",
        "elsewhere",
        "PyTorch's own message says the shape that is needed",
        """
mha, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(3, 4, 8)
try:
    mha(x, x, x, attn_mask=torch.zeros(3, 4, 4).bool())
except RuntimeError as error:
    assert "should be (6, 4, 4)" in str(error)
else:
    raise AssertionError("it was expected to ask for another shape")""",
    ),
    134: (
        "weights averaged over the heads",
        "elsewhere",
        "average_attn_weights=False gives each head's",
        """
mha, x = nn.MultiheadAttention(8, 4, batch_first=True), torch.randn(2, 5, 8)
assert mha(x, x, x)[1].shape == (2, 5, 5)
assert mha(x, x, x, average_attn_weights=False)[1].shape == (2, 4, 5, 5)""",
    ),
    136: (
        "a mask and is_causal at once",
        "elsewhere",
        "some kernels refuse it: put both into one mask",
        """
q, pad = torch.randn(1, 1, 4, 8), torch.tensor([True, True, True, False])
both = F.scaled_dot_product_attention(q, q, q, attn_mask=pad & torch.ones(4, 4).tril().bool())
assert both.isfinite().all()""",
    ),
    137: (
        "need_weights left on, which builds the whole square",
        "elsewhere",
        "need_weights=False",
        """
mha, x = nn.MultiheadAttention(64, 8, batch_first=True).eval(), torch.randn(1, 16, 64)
assert mha(x, x, x)[1].shape == (1, 16, 16) and mha(x, x, x, need_weights=False)[1] is None""",
    ),
    139: (
        "is_causal without a mask, beside key_padding_mask",
        "elsewhere",
        "PyTorch's own message says what is needed",
        """
mha = nn.MultiheadAttention(8, 2, batch_first=True)
x, pad = torch.randn(1, 4, 8), torch.tensor([[False, False, False, True]])
try:
    mha(x, x, x, key_padding_mask=pad, is_causal=True, need_weights=False)
except RuntimeError as error:
    assert "Need attn_mask" in str(error)
else:
    raise AssertionError("it was expected to ask for a mask")""",
    ),
    182: (
        "thousands of tokens and every score kept",
        "elsewhere",
        "memory grows with the square: chapter 5",
        """
q = torch.randn(1, 4, 512, 16)
assert (q @ q.mT).untyped_storage().nbytes() == 4 * 4 * 512 * 512""",
    ),
    184: (
        "wrong numbers of one device for inputs out of order",
        "elsewhere",
        "right here; contiguous() there",
        """
q = torch.randn(3, 7, 2, 64).transpose(1, 2)
same = F.scaled_dot_product_attention(q.contiguous(), q.contiguous(), q.contiguous())
assert torch.allclose(F.scaled_dot_product_attention(q, q, q), same, atol=1e-5)""",
    ),
    185: (
        "a fused kernel that takes the last axis for contiguous",
        "elsewhere",
        "right here; contiguous() there",
        """
q = torch.randn(1, 2, 32, 40).transpose(-2, -1)
by_hand = torch.softmax(q @ q.mT / q.shape[-1] ** 0.5, -1) @ q
assert torch.allclose(F.scaled_dot_product_attention(q, q, q), by_hand, atol=1e-5)""",
    ),
    188: (
        "last digits that change under torch.compile",
        "elsewhere",
        "rounding, not a mistake",
        """
q = torch.randn(2, 4, 64, 64)
by_hand = torch.softmax(q @ q.mT / 8.0, -1) @ q
assert torch.allclose(F.scaled_dot_product_attention(q, q, q), by_hand, atol=1e-4)""",
    ),
    190: (
        "outputs cut to the longest sequence in eval mode",
        "elsewhere",
        "older versions did, this one does not",
        """
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, batch_first=True), 1).eval()
pad = torch.zeros(2, 6).bool()
pad[:, 4:] = True
with torch.no_grad():
    assert enc(torch.randn(2, 6, 16), src_key_padding_mask=pad).shape == (2, 6, 16)""",
    ),
    191: (
        "zeros at padded places in eval mode, numbers in training",
        "elsewhere",
        "both are padding: real places agree",
        """
layer = nn.TransformerEncoderLayer(16, 2, batch_first=True, dropout=0.0)
enc, x = nn.TransformerEncoder(layer, 1), torch.randn(2, 4, 16)
pad = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 1]]).bool()
trained = enc(x, src_key_padding_mask=pad)
with torch.no_grad():
    quick = enc.eval()(x, src_key_padding_mask=pad)
assert (trained - quick)[~pad].abs().max() < 1e-5 and (trained - quick)[pad].abs().max() > 0.1""",
    ),
}
