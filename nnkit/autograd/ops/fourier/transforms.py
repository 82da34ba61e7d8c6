"""Discrete Fourier transforms of real and complex tensors, and their derivatives."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.creation.memory_format import in_order_of
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import COMPLEX, to_float


def _grad_r2c(B: Any, g: Any, x_shape: tuple, axes: tuple, scale: float, onesided: bool) -> Any:
    if onesided:  # what was left out has no gradient
        beyond = [(0, n - m) for n, m in zip(x_shape, g.shape)]
        g = B.pad(g, tuple(beyond), 0)
    return B.real(B.fft_c2c(g, axes, scale, True))


def _grad_c2r(B: Any, g: Any, axes: tuple, scale: float) -> Any:
    half = B.fft_r2c(g, axes, scale, True)
    # What stands for its mirror image too counts twice.
    axis, twice = axes[-1], (g.shape[axes[-1]] - 1) // 2
    first, middle, last = (
        B.getitem(half, (slice(None),) * axis + (piece,))
        for piece in (slice(0, 1), slice(1, 1 + twice), slice(1 + twice, None))
    )
    return in_order_of(B, B.concat([first, B.mul(middle, 2), last], axis), half)


fft_c2c = rule(
    "fft_c2c",
    node="FftC2CBackward0",
    x=lambda B, g, axes, scale, inverse: B.fft_c2c(g, axes, scale, not inverse),
)
fft_r2c = rule("fft_r2c", node="FftR2CBackward0", also={"x": ("x",)}, x=_grad_r2c)
fft_c2r = rule("fft_c2r", node="FftC2RBackward0", x=_grad_c2r)


def scale_of(norm: str | None, count: int, inverse: bool) -> float:
    """The factor of a transform of ``count`` points."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(
            f"Invalid normalization mode: {norm!r}, expected 'backward', 'forward' or 'ortho'"
        )
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if inverse == (norm != "forward") else 1.0


def transformable(name: str, input: Tensor, to_complex: bool = False) -> Tensor:
    """``input`` in single or double precision, integers in the default dtype."""
    d = to_float(input.dtype)
    if "half" in d.kinds:
        raise RuntimeError(f"{name}(): Unsupported dtype {d.scalar_type}, expected a wider one")
    return converted(input, d.to_complex() if to_complex and d.category < COMPLEX else d)
