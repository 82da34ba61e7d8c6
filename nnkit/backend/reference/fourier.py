"""Transforms from and to real numbers, by that of complex ones."""

from __future__ import annotations

from nnkit.backend.dtype import OF_ARRAY, int64


def fft_r2c(B, x, axes, scale, onesided):
    """The transform of real numbers; of the last axis the half that says all, or the whole."""
    out = B.fft_c2c(B.cast(x, OF_ARRAY[x.dtype].to_complex().array), axes, scale, False)
    if not onesided:
        return out
    axis = axes[-1] % x.ndim
    return B.getitem(out, (slice(None),) * axis + (slice(x.shape[axis] // 2 + 1),))


def fft_c2r(B, x, axes, scale, size):
    """The inverse of the half, whose other half is its conjugate read backwards."""
    if len(axes) > 1:
        x = B.fft_c2c(x, axes[:-1], 1.0, True)
    axis = axes[-1] % x.ndim
    places = B.arange(0, size, 1, int64.array)
    mirrored = B.gt(places, size // 2)
    half = B.index_select(x, B.where(mirrored, B.sub(size, places), places), axis)
    mirrored = B.reshape(mirrored, (size,) + (1,) * (x.ndim - axis - 1))
    whole = B.where(mirrored, B.conj(half), half)
    return B.copy(B.real(B.fft_c2c(whole, axes[-1:], scale, True)))
