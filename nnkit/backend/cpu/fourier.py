"""Discrete Fourier transforms, by the pocketfft that NumPy has.

The transformed axes are brought to the end, where each line is read at one stretch, and lie there
in the result, as in torch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def _order(x: np.ndarray, axes: Sequence[int], last: Sequence[int] = ()) -> tuple[int, ...]:
    """The axes that are not transformed by falling strides, the transformed ones, then ``last``."""
    batch = [axis for axis in range(x.ndim) if axis not in axes and axis not in last]
    parts = (sorted(part, key=lambda axis: -x.strides[axis]) for part in (batch, axes))
    return (*(axis for part in parts for axis in part), *last)


def _lines(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    lines = x.transpose(order)
    return lines if lines.flags.c_contiguous else lines.copy("C")


def _scaled(x: np.ndarray, scale: float) -> np.ndarray:
    if scale != 1:
        x *= scale
    return x


def _restored(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    return x.transpose(sorted(range(len(order)), key=order.__getitem__))


def _transformed(x: np.ndarray, count: int, inverse: bool) -> np.ndarray:
    """The transform, without a factor, along the last ``count`` axes."""
    for axis in range(-1, -count - 1, -1):
        x = np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)
    return x


def fft_c2c(x: np.ndarray, axes: Sequence[int], scale: float, inverse: bool) -> np.ndarray:
    if not axes:
        return x.copy("K")
    order = _order(x, axes)
    out = _transformed(_lines(x, order), len(axes), inverse)
    return _restored(_scaled(out, scale), order)


def fft_r2c(x: np.ndarray, axes: Sequence[int], scale: float, onesided: bool) -> np.ndarray:
    order = _order(x, axes[:-1], axes[-1:])
    lines = _lines(x, order)
    out = np.fft.rfft(lines) if onesided else np.fft.fft(lines)
    for axis in range(-2, -len(axes) - 1, -1):
        out = np.fft.fft(out, axis=axis)
    return _restored(_scaled(out, scale), order)


def fft_c2r(x: np.ndarray, axes: Sequence[int], scale: float, size: int) -> np.ndarray:
    if len(axes) > 1:
        x = fft_c2c(x, axes[:-1], 1.0, True)
    order = _order(x, axes[-1:])
    out = np.fft.irfft(_lines(x, order), size, norm="forward")
    return _restored(_scaled(out, scale), order)
