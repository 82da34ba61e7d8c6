"""Memory for results, its dimensions in torch's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.memory import is_ordered, order_of_result, owner, strides_in_order


def byte_offset(x: np.ndarray) -> int:
    """The number of bytes in an array's storage before its first element."""
    storage = owner(x)
    return 0 if storage is x else _address(x) - _address(storage)


def _address(x: np.ndarray) -> int:
    # `data_pointer` gives 0 for an empty array, which has its place in the storage all the same.
    return x.__array_interface__["data"][0]


def empty_in_order(shape: tuple, dtype: np.dtype, axes: tuple[int, ...] | None) -> np.ndarray:
    """Memory whose dimension ``axes[0]`` is the slowest, and so on; None for rows."""
    if axes is None:
        return np.empty(shape, dtype)
    back = [axes.index(axis) for axis in range(len(axes))]
    return np.empty([shape[axis] for axis in axes], dtype).transpose(back)


def empty_for(shape: tuple, dtype: np.dtype, *operands: np.ndarray) -> np.ndarray:
    """Memory for what is computed from each element of some arrays."""
    return empty_in_order(shape, dtype, order_of_result(shape, operands))


def arranged(result: np.ndarray, *operands: Any) -> np.ndarray:
    """The result of an element-wise function, or a copy of it that lies in memory in the order that
    the operands ask for."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    if result.flags.c_contiguous and all(x.flags.c_contiguous for x in arrays):
        return result
    lay = in_order if 1 in result.shape else rearranged
    return lay(result, order_of_result(result.shape, arrays))


def rearranged(result: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray:
    """An array, or a copy of it whose dimension ``axes[0]`` is the slowest in memory, and so on."""
    if result.flags.c_contiguous if axes is None else is_ordered(result, axes):
        return result
    out = empty_in_order(result.shape, result.dtype, axes)
    out[...] = result
    return out


def in_order(result: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray:
    """The same, with torch's strides also along dimensions of size 1 and of no elements, of which
    NumPy takes no care."""
    result = rearranged(result, axes)
    strides = tuple([step * result.itemsize for step in strides_in_order(result.shape, axes)])
    if axes is None and (result.strides == strides or not result.size):
        return result
    # As a view, since an array that is none is taken to lie by rows; by way of bytes, since
    # bfloat16 has no buffer protocol.
    memory = (result if axes is None else result.transpose(axes)).reshape(-1).view(np.uint8)
    return np.ndarray(result.shape, result.dtype, memory, 0, strides)
