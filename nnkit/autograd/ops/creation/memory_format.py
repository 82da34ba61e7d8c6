"""The order of a tensor's dimensions in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.factory import dtype_of, finished, place_of, shape_of, unwritten
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import rule
from nnkit.autograd.surface.metadata import is_contiguous
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.replay import laid
from nnkit.backend.memory import (
    axes_of,
    by_rows,
    is_ordered,
    memory_format,
    order_of,
    order_of_result,
    preserve_format,
)

_contiguous = rule("contiguous", node="CloneBackward0", alone="recorded", x=lambda B, g: g)
_ordered = rule("ordered", node="CloneBackward0", alone="recorded", x=lambda B, g: g)


def in_format(input: Tensor, memory_format: Any) -> Tensor:
    """``input``, or a copy of it if its memory has another order."""
    if memory_format is None or memory_format is preserve_format:
        return input
    axes = axes_of(memory_format, input.ndim)
    if axes is None:
        return input if by_rows(input._array) else _contiguous(input)
    has_format = is_contiguous(input, memory_format=memory_format)
    return input if has_format else _ordered(input, axes)


def ordered(input: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    """A copy whose dimension ``axes[0]`` is the slowest in memory, and so on; None for rows."""
    return _ordered(input, tuple(range(input.ndim)) if axes is None else axes)


def arranged(result: Tensor, *operands: Tensor) -> Tensor:
    """``result``, or a copy of it if what is computed from each element of ``operands`` has its
    dimensions in another order in memory."""
    data = result._array
    axes = order_of_result(data.shape, [x._array for x in operands])
    if by_rows(data) if axes is None else is_ordered(data, axes):
        return result
    return _contiguous(result) if axes is None else _ordered(result, axes)


def in_order_of(B: Any, array: Any, like: Any) -> Any:
    """The array with the dimensions of ``like`` in their order in memory."""
    return laid(B, array, order_of(getattr(like, "_array", like)))


def column_major(input: Tensor) -> Tensor:
    """The same matrices with the elements of each column next to each other in memory."""
    axes = (*range(input.ndim - 2), input.ndim - 1, input.ndim - 2)
    return input if is_ordered(input._array, axes) else _ordered(input, axes)


def empty_in_order(B: Any, shape: tuple, dtype: Any, axes: tuple | None) -> Any:
    """Memory whose dimension ``axes[0]`` is the slowest, and so on; None for rows."""
    if axes is None:
        return unwritten(B, B.empty(shape, dtype))
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    return B.permute(unwritten(B, B.empty(tuple(shape[axis] for axis in axes), dtype)), back)


@public(method=False)
def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`empty` with its dimensions in memory in the order ``physical_layout``, the slowest first.

    Raises:
        RuntimeError: ``physical_layout`` is no order of the dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
        (15, 1, 3)
    """
    shape, axes = shape_of("empty_permuted", (size,)), tuple(physical_layout)
    if sorted(axes) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted(): physical_layout must order {len(shape)} dimensions, got {axes}"
        )
    place, d = place_of(device), dtype_of("empty_permuted", dtype)
    data = empty_in_order(place.backend, shape, d.array, axes)
    return finished("empty_permuted", data, place, requires_grad)


@public(namespace=False)
def dim_order(input: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest in memory.

    Args:
        ambiguity_check: refuse a tensor of which several orders can be told, since dimensions of
            size 1 or equal strides have no place of their own; a list of memory formats lets
            those pass that are in exactly one of them.

    Raises:
        RuntimeError: the order is ambiguous, and is checked.
        TypeError: ``ambiguity_check`` is neither a bool nor a list of memory formats.

    Example:
        >>> import nnkit
        >>> nnkit.ones(2, 3).T.dim_order()
        (1, 0)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(
        isinstance(each, memory_format) for each in formats
    ):
        raise TypeError(
            "dim_order(): ambiguity_check must be a bool or a list of memory formats, "
            f"got {ambiguity_check!r}"
        )
    strides = input.stride()
    ambiguous = 1 in input._array.shape or len(set(strides)) < len(strides)
    if ambiguity_check is not False and ambiguous:
        if sum(input.is_contiguous(memory_format=each) for each in formats) != 1:
            raise RuntimeError(
                f"dim_order(): the strides {strides} of shape {list(input._array.shape)} tell no "
                "unique order of its dimensions"
            )
    return tuple(sorted(range(input.ndim), key=lambda dim: -strides[dim]))
