"""Rules for complex numbers: pairs read as one number, and what turns tokens into frequencies."""

from __future__ import annotations

from .registry import Labels, rule


@rule("view_as_complex")
def paired(op) -> Labels:
    return op.labels(op.inputs[0])[:-1]


@rule("view_as_real")
def unpaired(op) -> Labels:
    return [*op.labels(op.inputs[0]), op.literal(2)]


@rule("fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 "
      "fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft fft_fftshift fft_ifftshift")  # fmt: skip
def transformed(op) -> Labels:
    """Keep every axis that is as long as before; of real numbers half the frequencies are left."""
    halved = any(word in op.name for word in ("rfft", "hfft"))
    axis = op.params.get("dim", len(op.shape) - 1)
    last = axis[-1] if isinstance(axis, tuple) else axis
    labels = op.labels(op.inputs[0])
    return [
        op.fresh(size) if label.size != size or (halved and place == last) else label
        for place, (label, size) in enumerate(zip(labels, op.shape, strict=True))
    ]
