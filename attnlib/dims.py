"""The named dimensions: what they mean, how they look, and the check that reads a signature.

A stage states its shapes once, in its signature:

    @shapes(H="both must come from projections with the same head_size")
    def attention_scores(q: Float[Tensor, "*batch Sq H"], k: Float[Tensor, "*batch Sk H"]): ...

`check` compares what a caller passed with those names, and its errors speak in them.
"""

import typing
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import DeviceError, DtypeError, MaskError, ShapeError


@dataclass(frozen=True)
class Dimension:
    """Describe one dimension: symbol, name in code, what it counts, (light, dark) colours."""

    symbol: str
    code: str
    meaning: str
    aliases: tuple[str, ...]
    ink: tuple[str, str]
    fill: tuple[str, str]
    tint: tuple[str, str]


_NAMES = (
    ("batch", "batch", "sequences processed together", "B N"),
    ("S", "seq_len", "tokens in a sequence", "Sq Sk T L n time"),
    ("n_embd", "n_embd", "features of a token going in", "d_model C E embed_dim"),
    ("H", "head_size", "features of a query, key or value in one head", "d_k d_v Hv head_dim"),
    ("heads", "n_heads", "heads in parallel", "h n_head num_heads"),
)
_COLOURS = {  # ink, fill and tint, each for a light and a dark page
    "batch": (("#60676e", "#9ea2a8"), ("#888e94", "#7f878e"), ("#ececea", "#313437")),
    "S": (("#2c62c0", "#55a7fb"), ("#4b89f0", "#5a8ef0"), ("#e6ebf3", "#233548")),
    "n_embd": (("#0b5233", "#60df93"), ("#245c3a", "#56d287"), ("#e2e9e3", "#254033")),
    "H": (("#955a00", "#e2900f"), ("#db6e0b", "#cd6402"), ("#f2eade", "#3f3019")),
    "heads": (("#731881", "#fac6fc"), ("#88249d", "#f3b8f2"), ("#eee3ec", "#443b48")),
}
DIMS: dict[str, Dimension] = {
    symbol: Dimension(symbol, code, meaning, tuple(aliases.split()), *_COLOURS[symbol])
    for symbol, code, meaning, aliases in _NAMES
}
_ROLES = {
    name: dim.symbol for dim in DIMS.values() for name in (dim.symbol, dim.code, *dim.aliases)
}


def role(name: str) -> str | None:
    """Return the symbol of the dimension that people also call `name`, or None.

    Example:
        >>> role("d_model"), role("T"), role("h"), role("H"), role("pixels")
        ('n_embd', 'S', 'heads', 'H', None)
    """
    return _ROLES.get(name)


SHAPES: dict[str, dict[str, tuple[str, ...]]] = {}  # function -> argument -> its dims
_OPTIONAL: dict[str, set[str]] = {}  # function -> the arguments that may be None
_ADVICE: dict[str, dict[str, str]] = {}  # function -> dim -> what to do when two sizes differ
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def shapes(**advice: str) -> Callable[[Callable], Callable]:
    """Register the dims in a function's signature for `dims.check`; the function stays as it is.

    `advice` says, for each dim, what to do when two arguments disagree about its size.

    Example:
        >>> from jaxtyping import Float
        >>> @shapes(S="both must hold the same tokens")
        ... def add(x: Float[Tensor, "S H"], y: Float[Tensor, "S H"]): ...
        >>> SHAPES["add"]
        {'x': ('S', 'H'), 'y': ('S', 'H')}
    """

    def register(function: Callable) -> Callable:
        hints = {a: (hint, *typing.get_args(hint)) for a, hint in function.__annotations__.items()}
        SHAPES[function.__name__] = {
            argument: tuple(kind.dim_str.split())
            for argument, kinds in hints.items()
            for kind in kinds
            if hasattr(kind, "dim_str")
        }
        _OPTIONAL[function.__name__] = {a for a, kinds in hints.items() if type(None) in kinds}
        _ADVICE[function.__name__] = {"batch": "both must hold the same sequences", **advice}
        return function

    return register


def check(function: str, /, *, owner: str | None = None, **tensors: typing.Any) -> None:
    """Refuse tensors that do not fit the signature of `function`; runs no torch operation.

    Raises: DtypeError, DeviceError or ShapeError, spoken by `owner` (by default `function`).

    Example:
        >>> check("attention_scores", q=torch.zeros(2, 5, 16), k=torch.zeros(2, 7, 8))
        Traceback (most recent call last):
        attnlib.errors.ShapeError: attention_scores: q has H = 16 but k has H = 8 \
(q is (batch=2, Sq=5, H=16), k is (batch=2, Sk=7, H=8)); \
both must come from projections with the same head_size
    """
    owner = owner or function
    signature = SHAPES[function]
    given = {n: t for n, t in tensors.items() if t is not None or n not in _OPTIONAL[function]}
    bound: dict[str, tuple] = {}  # dim -> its size and the argument that set it
    for name, tensor in given.items():
        check_float(owner, name, tensor, signature[name])
        _check_same_home(owner, *next(iter(given.items())), name, tensor)
        if (axes := _name_axes(signature[name], tensor.shape)) is None:
            raise ShapeError(
                f"{owner}: {name} has {len(tensor.shape)} axes, {shape_text((), tensor.shape)}, "
                f"but must be ({', '.join(signature[name])}); view or index it into that form"
            )
        for dim, size in axes:
            wanted, setter = bound.setdefault(dim, (size, name))
            if size != wanted:
                raise ShapeError(
                    f"{owner}: {setter} has {_size_text(dim, wanted)} but "
                    f"{name} has {_size_text(dim, size)} "
                    f"({setter} is {shape_text(signature[setter], given[setter].shape)}, "
                    f"{name} is {shape_text(signature[name], tensor.shape)}); "
                    f"{_ADVICE[function][dim]}"
                )


def check_float(owner: str, name: str, tensor: Tensor, dims: Sequence[str] = ()) -> None:
    """Refuse what is not a dense tensor of floating point numbers, float16 to float64.

    Example:
        >>> check_float("project", "x", torch.zeros(5, 2, dtype=torch.int64), ("S", "n_embd"))
        Traceback (most recent call last):
        attnlib.errors.DtypeError: project: x is torch.int64 of shape (S=5, n_embd=2) but must \
be floating point, float16 to float64; convert it with x.float()
    """
    check_dense(owner, name, tensor)
    if tensor.dtype not in _FLOATS:
        cure = f"convert it with {name}.float()"
        if tensor.dtype.is_complex:
            cure = f"choose {name}.real or {name}.abs()"
        raise DtypeError(
            f"{owner}: {name} is {tensor.dtype} of shape {shape_text(dims, tensor.shape)} but must "
            f"be floating point, float16 to float64; {cure}"
        )


def check_dense(owner: str, name: str, tensor: Tensor) -> None:
    """Refuse what is not a tensor, and tensors that are nested or sparse.

    Example:
        >>> check_dense("project", "x", [1.0, 2.0])
        Traceback (most recent call last):
        attnlib.errors.DtypeError: project: x is a list but must be a torch.Tensor; \
convert it with torch.tensor(x)
    """
    if not isinstance(tensor, Tensor):
        came, cure = f"a {type(tensor).__name__}", f"convert it with torch.tensor({name})"
        if tensor is None:
            came, cure = "None", "the function that made it may lack its return"
        raise DtypeError(f"{owner}: {name} is {came} but must be a torch.Tensor; {cure}")
    if tensor.is_nested or tensor.layout != torch.strided:
        came, cure = "nested", f"torch.nested.to_padded_tensor({name}, 0.0)"
        if not tensor.is_nested:
            came, cure = f"sparse {shape_text((), tensor.shape)}", f"{name}.to_dense()"
        raise DtypeError(f"{owner}: {name} is {came} but must be dense; convert it with {cure}")


def check_mask(
    owner: str,
    mask: Tensor,
    dims: str,
    sizes: Sequence[int],
    device: torch.device,
    axes: Collection[int] = (),
) -> None:
    """Refuse a mask that is not boolean, lives elsewhere, or does not broadcast to `sizes`.

    `axes` are the numbers of axes that it may have, where not every one means what it seems to;
    where they are fewer than the scores have, it is one mask for all heads.

    Example:
        >>> check_mask("mask_scores", torch.zeros(3), "Sq Sk", (2, 3), torch.device("cpu"))
        Traceback (most recent call last):
        attnlib.errors.MaskError: mask_scores: may_attend is torch.float32 of shape (Sk=3) but \
must be torch.bool, True = may attend; an additive mask converts with may_attend == 0, \
one of zeros and ones with may_attend.bool()
    """
    check_dense(owner, "may_attend", mask)
    names = dims.split()
    came = shape_text(names[-mask.ndim :], mask.shape)
    if mask.dtype != torch.bool:
        raise MaskError(
            f"{owner}: may_attend is {mask.dtype} of shape {came} but must be torch.bool, True = "
            "may attend; an additive mask converts with may_attend == 0, "
            "one of zeros and ones with may_attend.bool()"
        )
    if mask.device != device:
        raise MaskError(
            f"{owner}: may_attend {came} is on {mask.device} but the scores are on {device}; "
            f'move it with may_attend.to("{device}")'
        )
    ends = zip(mask.shape, sizes[len(sizes) - mask.ndim :], strict=True)
    fits = mask.ndim in (axes or range(len(sizes) + 1))
    if not fits or any(have not in (1, want) for have, want in ends):
        most = max(axes, default=len(sizes))
        wanted = shape_text(names[-most:], sizes[-most:])
        wanted += f" with {' or '.join(map(str, sorted(axes)))} axes" if axes else ""
        cure = ", as may_attend.unsqueeze(-3) does for heads"
        if most < len(sizes):
            cure = "; for a mask per head give the inputs a batch axis, as x.unsqueeze(0) does"
        raise MaskError(
            f"{owner}: may_attend is {came} but must broadcast to {wanted}; "
            f"give every axis that size or 1{cure}"
        )


def check_size(owner: str, name: str, size: int) -> None:
    """Refuse a size that is not a positive whole number.

    Example:
        >>> check_size("split_heads", "n_heads", 0)
        Traceback (most recent call last):
        attnlib.errors.ShapeError: split_heads: n_heads is 0 but must be a whole number, 1 or more
    """
    check_number(owner, name, size, "a whole number, 1 or more", lambda n: n >= 1, kinds=(int,))


def check_number(
    owner: str,
    name: str,
    number: int | float,
    wanted: str,
    fits: Callable[[float], bool],
    kinds: tuple[type, ...] = (int, float),
) -> None:
    """Refuse what is not a number (a bool is none), and numbers that do not fit.

    Example:
        >>> check_number("attention", "dropout_p", 1.0, "in [0, 1)", lambda p: 0 <= p < 1)
        Traceback (most recent call last):
        attnlib.errors.ShapeError: attention: dropout_p is 1.0 but must be in [0, 1)
    """
    if isinstance(number, bool) or not isinstance(number, kinds):
        kind = type(number).__name__
        raise DtypeError(f"{owner}: {name} is {number!r}, a {kind}, but must be {wanted}")
    if not fits(number):
        raise ShapeError(f"{owner}: {name} is {number} but must be {wanted}")


def shape_text(dims: Sequence[str], shape: Sequence[int]) -> str:
    """Write a shape in named dims, outermost first; where the names do not fit, in numbers.

    Example:
        >>> shape_text(("*batch", "S", "H"), (2, 3, 8, 16)), shape_text(("*batch", "S"), (8,))
        ('(batch=2×3, S=8, H=16)', '(S=8)')
        >>> shape_text((), (8, 16))
        '(8, 16)'
    """
    if not dims or (axes := _name_axes(dims, shape)) is None:
        return f"({', '.join(map(str, shape))})"
    return f"({', '.join(_size_text(dim, size, '=') for dim, size in axes if size != ())})"


def _name_axes(dims: Sequence[str], shape: Sequence[int]) -> list[tuple] | None:
    """Pair names with sizes, "*batch" with a tuple of all leading ones; None if they do not fit."""
    leading = len(shape) - len(dims)
    if not dims[0].startswith("*"):
        return list(zip(dims, shape, strict=True)) if leading == 0 else None
    if leading < -1:
        return None
    return [
        (dims[0][1:], tuple(shape[: leading + 1])),
        *zip(dims[1:], shape[leading + 1 :], strict=True),
    ]


def _size_text(dim: str, size: int | tuple[int, ...], equals: str = " = ") -> str:
    if size == ():
        return f"no {dim}"
    return dim + equals + ("×".join(map(str, size)) if isinstance(size, tuple) else str(size))


def _check_same_home(owner: str, first: str, one: Tensor, second: str, two: Tensor) -> None:
    """Refuse two tensors of different device or dtype; autocast may bring the dtypes together."""
    if one.device != two.device:
        raise DeviceError(
            f"{owner}: {first} is on {one.device} but {second} is on {two.device}; "
            f'move one of them, as in {second}.to("{one.device}")'
        )
    if one.dtype != two.dtype and not torch.is_autocast_enabled(one.device.type):
        raise DtypeError(
            f"{owner}: {first} is {one.dtype} but {second} is {two.dtype}; "
            f"convert one of them, as in {second}.to({one.dtype})"
        )
