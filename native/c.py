"""The head in C, called through ctypes: Python hands over addresses and sizes, and nothing else."""

import ctypes
import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib import DeviceError, DtypeError
from attnlib.dims import check, check_size, shapes

from .building import C, missing

KINDS = {torch.float32: "float", torch.float64: "double"}


class Head(ctypes.Structure):
    """`struct head` of head.h: two sizes and where the three weights (n_embd, H) begin."""

    _fields_ = (
        ("n_embd", ctypes.c_size_t),
        ("head_size", ctypes.c_size_t),
        ("query", ctypes.c_void_p),
        ("key", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
    )


def library(dtype: torch.dtype) -> ctypes.CDLL:
    """Load the library for float32 or float64; FileNotFoundError where it is not compiled."""
    if dtype not in KINDS:
        raise DtypeError(f"c: the numbers are {dtype} but must be torch.float32 or torch.float64")
    if reason := missing(C):
        raise FileNotFoundError(reason)
    found = ctypes.CDLL(str(C.folder / f"head_{KINDS[dtype]}.so"))
    size, address = ctypes.c_size_t, ctypes.c_void_p
    forward = (ctypes.POINTER(Head), size, size, ctypes.c_bool, address, address, address)
    found.head_forward.argtypes, found.head_forward.restype = forward, ctypes.c_bool
    found.xavier_init.argtypes = (address, size, size, ctypes.c_uint64)
    found.xavier_init.restype = None
    return found


@shapes(
    n_embd="the weights are (in, out): carry those of a nn.Linear over with weight.T",
    H="query, key and value of one head have the same width",
)
def c_head(
    x: Float[Tensor, "*batch S n_embd"],
    query: Float[Tensor, "n_embd H"],
    key: Float[Tensor, "n_embd H"],
    value: Float[Tensor, "n_embd H"],
    *,
    causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run the head in C on the memory of these tensors; return output and weights.

    C knows no strides, so every tensor is laid out row after row first; a wrong size would read
    past the end, so sizes are checked here.

    Shapes: x (*batch, S, n_embd), weights (n_embd, H) -> output (*batch, S, H), weights
        (*batch, S, S).
    Raises: ShapeError, DtypeError, DeviceError, MemoryError, FileNotFoundError (not compiled).
    """
    check("c_head", x=x, query=query, key=key, value=value)
    if x.device.type != "cpu":
        raise DeviceError(f"c_head: x is on {x.device} but C reads the memory of the CPU only")
    forward = library(x.dtype).head_forward
    rows = [tensor.detach().contiguous() for tensor in (x, query, key, value)]
    *batch, S, n_embd = x.shape
    H = query.shape[1]
    output, weights = x.new_empty(*batch, S, H), x.new_empty(*batch, S, S)
    head = Head(n_embd, H, *(weight.data_ptr() for weight in rows[1:]))
    ends = (rows[0].data_ptr(), output.data_ptr(), weights.data_ptr())
    if not forward(ctypes.byref(head), math.prod(batch), S, causal, *ends):
        raise MemoryError(f"c_head: no memory for scores ({S}, {S})")
    return output, weights


def xavier(n_embd: int, H: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a weight (n_embd, H) as the head in C fills its own."""
    for name, number in (("n_embd", n_embd), ("H", H)):
        check_size("xavier", name, number)
    weight = torch.empty(n_embd, H, dtype=dtype)
    library(dtype).xavier_init(weight.data_ptr(), n_embd, H, seed)
    return weight
