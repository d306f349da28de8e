"""Every error that attnlib raises about tensors, masks and traces.

Each message has four parts: where (the function or module), what came (the argument and its shape
in named dimensions), what was wanted, and what to do.
"""


class AttnError(Exception):
    """Stand for every error about tensors, masks and traces; catch this one to catch them all."""


class ShapeError(AttnError, ValueError):
    """Refuse a size: a shape that does not fit, a head_size of 0, a sequence that is too long."""


class MaskError(ShapeError):
    """Refuse a mask: not boolean, on another device, or of a shape that means something else."""


class DtypeError(AttnError, TypeError):
    """Refuse a kind of value: integers, complex, sparse or nested tensors, a bool for a number."""


class DeviceError(AttnError, RuntimeError):
    """Refuse tensors that live on different devices."""


class TraceError(AttnError):
    """Refuse a recorded trace that cannot be read, or a recording that cannot be made."""
