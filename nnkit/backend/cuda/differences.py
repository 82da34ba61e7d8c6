"""Differences of CuPy's arrays from NumPy's: a short function for each, with its reason."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from nnkit.backend.cuda.launch import VECTOR_BYTES
from nnkit.backend.dtype import HALF
from nnkit.backend.memory import owner

BF16 = np.dtype(ml_dtypes.bfloat16)


def is_array(x: Any) -> bool:
    """Whether an operand is an array, not a number.

    CuPy has no scalars; NumPy's have strides too.
    """
    return hasattr(x, "strides") and not isinstance(x, np.generic)


def array_module(x: Any) -> Any:
    """The library of an array: CuPy, or what stands for it (tests/cuda/arrays.py).

    What makes arrays of nothing (`arange`, `zeros`) does not look at any array for its device.
    """
    return sys.modules[x.__class__.__module__]


def empty(shape: tuple, dtype: np.dtype, like: Any) -> Any:
    """An array on the device of ``like`` with whatever its memory holds.

    The class itself: `np.empty(..., like=x)` takes CuPy's way through three Python functions.
    """
    return like.__class__(shape, dtype)


def contiguous(x: Any) -> Any:
    """``x`` in C order.

    Not `np.ascontiguousarray`, which makes a 0-dim array one-dimensional.
    """
    from nnkit.backend.cuda.creation import copy_

    return x if x.flags.c_contiguous else copy_(empty(x.shape, x.dtype, x), x)


def address(x: Any) -> int:
    """The address of the first element."""
    return x.data.ptr


NUMBERS = frozenset((bool, int, float, complex))


def layout(x: Any) -> Any:
    """All that a launch asks of an operand but where it lies: of a number its class alone."""
    if x.__class__ in NUMBERS or not is_array(x):
        return x.__class__
    return x.shape, x.strides, x.dtype, address(x) % VECTOR_BYTES


ROUNDED = 512  # bytes to which CuPy's pool rounds a block up


def storage(x: Any) -> tuple[int, int]:
    """Address and bytes of the memory that ``x`` looks into.

    CuPy's arrays with strides of their own have no `base`; the block they lie in is known, up to
    the pool's rounding.
    """
    whole = owner(x)
    block = whole.data.mem
    fills = address(whole) == block.ptr and 0 <= block.size - whole.nbytes < ROUNDED
    return block.ptr, whole.nbytes if fills else block.size


def on_bits(kernel: Callable) -> Callable:
    """Let a kernel that only moves elements see bfloat16 as 16-bit integers.

    CuPy's own kernels know NumPy's dtypes; bfloat16 is not one of them.
    """

    @wraps(kernel)
    def run(*arguments: Any) -> Any:
        if not any(_has_bfloat16(a) for a in arguments):
            return kernel(*arguments)
        result = kernel(*(as_bits(a) for a in arguments))
        if isinstance(result, tuple):
            return tuple(_from_bits(r) for r in result)
        return _from_bits(result)

    return run


def _has_bfloat16(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_bfloat16(v) for v in value)
    return getattr(value, "dtype", None) == BF16 and is_array(value)


def as_bits(value: Any) -> Any:
    """An array of bfloat16, or each in a sequence, as 16-bit integers; all else as it is."""
    if isinstance(value, list | tuple):
        return type(value)(as_bits(v) for v in value)
    return value.view(np.uint16) if _has_bfloat16(value) else value


def _from_bits(value: Any) -> Any:
    return value.view(BF16) if value.dtype == np.uint16 else value


def widened(kernel: Callable) -> Callable:
    """Compute float16 and bfloat16 in float32 and round floating results once.

    CuPy computes float16 step by step in float16, and bfloat16 not at all.
    """

    @wraps(kernel)
    def run(x: Any, *arguments: Any) -> Any:
        if x.dtype not in HALF:
            return kernel(x, *arguments)
        from nnkit.backend.cuda.creation import cast

        wide = [
            cast(a, np.dtype(np.float32)) if getattr(a, "dtype", None) in HALF else a
            for a in (x, *arguments)
        ]
        result = kernel(*wide)
        if isinstance(result, tuple):
            return tuple(
                cast(r, x.dtype) if r is not None and r.dtype.kind == "f" else r for r in result
            )
        return cast(result, x.dtype) if result.dtype.kind == "f" else result

    return run


def same_dtype(x: Any, dtype: np.dtype) -> Any:
    """``x.astype(dtype, copy=False)``, by way of our own kernels, which know bfloat16."""
    from nnkit.backend.cuda.creation import cast

    return x if x.dtype == dtype else cast(x, dtype)
