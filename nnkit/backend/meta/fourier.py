"""Fourier transforms of arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.meta.array import Meta, empty


def fft_c2c(x: Meta, axes: tuple, scale: Any, inverse: bool) -> Meta:
    return empty(x.shape, x.dtype)


def fft_r2c(x: Meta, axes: tuple, scale: Any, onesided: bool) -> Meta:
    shape = list(x.shape)
    if onesided:
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
    return empty(tuple(shape), np.result_type(x.dtype, np.complex64))


def fft_c2r(x: Meta, axes: tuple, scale: Any, size: int) -> Meta:
    shape = list(x.shape)
    shape[axes[-1]] = size
    return empty(tuple(shape), np.zeros(0, x.dtype).real.dtype)
