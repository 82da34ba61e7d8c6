"""Images, signals and volumes of another size."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.arguments.sizes import INT64_MAX, check_shape
from nnkit.autograd.arguments.spatial import in_format_of, ints
from nnkit.autograd.ops.resampling import resample
from nnkit.backend.dtype import FLOATING, float32, float64, uint8
from nnkit.backend.warning import warn
from nnkit.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
SMOOTHED = ("bilinear", "bicubic", "lanczos")  # the modes that take antialias=True
MODES = ("nearest", "nearest-exact", "area", *LINEAR, "bicubic", "lanczos")


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the spatial axes of ``input``.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating point; images may be uint8.
        size: the new spatial size, a number or one for each axis.
        scale_factor: instead of ``size``: by how much each axis grows.
        mode: "nearest", "nearest-exact", "linear" (one axis), "bilinear" and "bicubic" (two),
            "trilinear" (three), "area" (means), or "lanczos" (two), which needs ``antialias``.
        align_corners: whether the centres of the corner samples lie on each other, not their
            outer edges; for the linear and cubic modes.
        recompute_scale_factor: take the scale from the sizes, not from ``scale_factor``.
        antialias: for "bilinear", "bicubic" and "lanczos": an axis that shrinks is smoothed as
            Pillow does, by a kernel as many times wider.

    Raises:
        ValueError: not exactly one of ``size`` and ``scale_factor``, or not one value for each
            axis, or ``align_corners`` or ``antialias`` for another mode.
        TypeError: a size is not an integer.
        NotImplementedError: the mode does not fit the number of axes or the dtype.

    Source: ``torch.nn.functional.interpolate``.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[0.0, 1.0]]])
        >>> nnkit.nn.functional.interpolate(x, scale_factor=2, mode="linear")
        tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    axes = input.ndim - 2
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError(
                "interpolate: align_corners option can only be set with the interpolating modes: "
                f"linear | bilinear | bicubic | trilinear, got mode={mode!r}"
            )
    if not isinstance(mode, str):
        raise NotImplementedError(f"interpolate: mode must be one of {MODES}, got {mode!r}")
    _for_each(size, scale_factor, axes)
    if antialias and (mode not in SMOOTHED or axes != 2):
        raise ValueError(
            "interpolate: Anti-alias option is restricted to bilinear, bicubic, and lanczos modes "
            f"and requires a 4-D tensor as input, got mode={mode!r} and an input of {input.ndim} "
            "dimensions"
        )
    fits = axes == 2 if mode in ("bicubic", "lanczos") else LINEAR.get(mode, axes) == axes
    if mode not in MODES or not fits or not 1 <= axes <= 3:
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is not for an input of {input.ndim} dimensions; the modes "
            f"are {', '.join(MODES)}"
        )
    if mode == "lanczos" and align_corners:
        raise ValueError("interpolate: Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("interpolate: Lanczos mode requires antialias=True")
    old = tuple(input.shape[2:])
    new, factors = _sizes(tuple(input.shape[:2]), old, size, scale_factor)
    if recompute_scale_factor:
        if size is not None:
            raise ValueError(
                "interpolate: recompute_scale_factor is not meaningful with an explicit size"
            )
        factors = (None,) * axes
    if mode == "area":
        pool = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1]
        return pool(input, new)
    if min(new) < 1 or min(old) < 1:
        raise RuntimeError(
            f"interpolate: Input and output sizes should be greater than 0, got {list(old)} and "
            f"{list(new)}"
        )
    if not input.shape[1]:
        raise RuntimeError(
            f"interpolate: Non-empty {input.ndim}D data tensor expected but got a tensor with "
            f"sizes {list(input.shape)}"
        )
    between = not mode.startswith("nearest")
    if input.dtype.category != FLOATING and (input.dtype is not uint8 or between and axes != 2):
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is not implemented for '{input.dtype.name}' tensors"
        )
    if antialias and new != old and input.dtype not in (uint8, float32, float64):
        raise NotImplementedError(
            f"interpolate: antialias is not implemented for '{input.dtype.name}' tensors"
        )
    kind = f"{mode}-antialias" if antialias else mode
    return in_format_of(input, resample(input, new, factors, kind, bool(align_corners)))


def _for_each(size: Any, factor: Any, axes: int) -> tuple:
    """The given values, one for each spatial axis; ValueError where their number is another."""
    name, value = ("size", size) if factor is None else ("scale_factor", factor)
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    if len(values) != max(axes, 0):
        raise ValueError(
            f"interpolate: Input and {name} must have the same number of spatial dimensions, but "
            f"got {max(axes, 0)} of input and {name} {value}"
        )
    return values


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.is_floating_point()
    return hasattr(value, "__index__")


def _sizes(batch: tuple, old: tuple, size: Any, factor: Any) -> tuple[tuple, tuple]:
    """The new sizes, and the factors that were given (or None) for each axis."""
    if (size is None) == (factor is None):
        which = "either size" if size is None else "only one of size"
        raise ValueError(f"interpolate: {which} or scale_factor should be defined")
    values = _for_each(size, factor, len(old))
    if factor is None:
        if isinstance(values[0], bool):  # which torch takes behind the first place alone
            raise TypeError("interpolate(): argument 'size' must be int or tuple of ints, not bool")
        if isinstance(size, (tuple, list)) and not all(map(_is_integer, values)):
            raise TypeError(
                "interpolate(): expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                f"Tuple[int, int, int], but got size with types {list(map(type, values))}"
            )
        new, factors = ints("interpolate", "size", size, len(old)), (None,) * len(old)
    else:
        exact = [n * float(v) for n, v in zip(old, values, strict=True)]
        new, factors = tuple(math.floor(n) if abs(n) < 1e18 else INT64_MAX for n in exact), values
    check_shape("interpolate", (*batch, *new))
    return new, factors


hold_all(globals(), names=["interpolate"], in_python=True)  # asks overrides of what follows


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Deprecated name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated name of `interpolate` with ``mode="nearest"``."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated name of `interpolate` with ``mode="bilinear"`` and ``align_corners=True``."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _deprecated(name: str) -> None:
    warn(f"{name} is deprecated: use interpolate")
