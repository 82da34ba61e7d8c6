"""Tensors to test with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.backend.warning import warn


def make_tensor(
    *shape: Any,
    dtype: nnkit.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers, uniform in ``[low, high)``.

    Args:
        shape: the sizes, or one sequence of them.
        dtype: any; both parts of a complex number are drawn.
        device: where it is made.
        low: by default -9, for what has no negative numbers 0; at least the dtype's least number.
        high: by default 9 for floats, 10 for integers (exclusive) and 2 for bools.
        requires_grad: make it a leaf.
        noncontiguous: let it be every second element of a larger tensor.
        exclude_zero: write 1, or the least normal number of the dtype, in the place of zeros.
        memory_format: the order of its elements in memory.

    Raises:
        ValueError: the range is empty, holds NaN or lies outside of the dtype's; both
            ``noncontiguous`` and a ``memory_format`` are given; an integer tensor is to require a
            gradient.
        TypeError: no random numbers of that dtype are made.

    Example:
        >>> import nnkit
        >>> from nnkit.testing import make_tensor
        >>> make_tensor(2, 3, dtype=nnkit.int64, device="cpu", low=4, high=5)
        tensor([[4, 4, 4],
                [4, 4, 4]])
    """
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    numeric = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "make_tensor(): `noncontiguous` and `memory_format` are mutually exclusive, got both"
        )
    if requires_grad and not numeric:
        raise ValueError(
            "make_tensor(): `requires_grad=True` is not supported for boolean and integral dtypes, "
            f"got {dtype}"
        )
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes[-1] *= 2
    low, high = _range(dtype, low, high)
    if numeric:
        result = nnkit.empty(sizes, dtype=dtype, device=device)
        parts = nnkit.view_as_real(result) if dtype.is_complex else result
        if high - low < nnkit.finfo(dtype).max:
            parts.uniform_(low, high)
        else:  # the range itself is not a number of the dtype
            parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        limits = math.ceil(low), math.ceil(high)
        result = nnkit.randint(*limits, tuple(sizes), dtype=dtype, device=device)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = nnkit.finfo(dtype).tiny if numeric else 1
    return result.requires_grad_(requires_grad)


def _range(dtype: nnkit.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The range of `make_tensor`, cut to the numbers that the dtype has."""
    numeric = dtype.is_floating_point or dtype.is_complex
    if numeric:
        least, most = nnkit.finfo(dtype).min, nnkit.finfo(dtype).max
    elif dtype is nnkit.bool:
        least, most = 0, 2
    else:
        # randint's exclusive limit is an int64 itself.
        least, most = nnkit.iinfo(dtype).min, min(nnkit.iinfo(dtype).max + 1, 2**63 - 1)
    if low is None:
        low = 0 if dtype is nnkit.bool else -9
    if high is None:
        high = 2 if dtype is nnkit.bool else 9 if numeric else 10
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"make_tensor(): `low` and `high` cannot be NaN, got {low} and {high}")
    if low == high and numeric:
        warn(
            "make_tensor(): low == high is deprecated for floating and complex dtypes: use full()",
            FutureWarning,
        )
    elif not low < high:
        raise ValueError(f"make_tensor(): `low` must be less than `high`, got {low} and {high}")
    elif high < least or low >= most:
        raise ValueError(f"make_tensor(): {dtype} has no numbers in [{low}, {high})")
    return min(max(low, least), most), min(max(high, least), most)
