"""Discrete Fourier transforms: cuFFT's, which CuPy puts in the place of NumPy's functions."""

from __future__ import annotations

from nnkit.backend.cpu.fourier import fft_c2c, fft_c2r, fft_r2c  # noqa: F401
