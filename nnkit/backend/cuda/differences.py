"""Where CuPy's arrays differ from NumPy's, one short function each with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np


def empty(shape: tuple, dtype: np.dtype, like: Any) -> Any:
    """An array on the device of ``like`` with whatever its memory holds.

    The class itself: `np.empty(..., like=x)` takes CuPy's way through three Python functions.
    """
    return like.__class__(shape, dtype)


def contiguous(x: Any) -> Any:
    """``x`` in C order.

    Not `np.ascontiguousarray`, which makes a 0-dim array one-dimensional.
    """
    return x if x.flags.c_contiguous else x.copy("C")


def address(x: Any) -> int:
    """Where the first element lies.

    CuPy's arrays have it at ``data.ptr``; NumPy's (in the emulation) at ``ctypes.data``.
    """
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data.ptr
