"""How memory is laid out and owned: layouts, memory formats, views."""

from __future__ import annotations

from typing import Any

from nnkit.backend.dtype import package_of


class layout:
    """A layout of a tensor's elements; every tensor here is ``nnkit.strided``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{package_of(self)}.{self.name}"


class memory_format:
    """An order of the dimensions in memory, such as ``nnkit.contiguous_format``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{package_of(self)}.{self.name}"


def is_view(array: Any) -> bool:
    """Whether an array looks into another one's memory; a block of the allocator is its own."""
    return hasattr(array.base, "base")


def owner(array: Any) -> Any:
    """The array that the memory of ``array`` was made for: what torch calls its storage."""
    while is_view(array):
        array = array.base
    return array


def is_dense(array: Any) -> bool:
    """Whether the elements lie without gaps and each in a place of its own."""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return True
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def overlap(B: Any, a: Any, b: Any) -> str:
    """How much memory two arrays of one storage share: "none", "part" or "all".

    Of arrays with gaps it is not known, and "none" is the answer, as torch's.
    """
    if not (a.size and b.size and is_dense(a) and is_dense(b)):
        return "none"
    first, second = B.data_pointer(a), B.data_pointer(b)
    if first == second and a.nbytes == b.nbytes:
        same = a.shape == b.shape and steps_of(a) == steps_of(b)
        return "all" if same else "part"
    return "part" if first < second + b.nbytes and second < first + a.nbytes else "none"


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

# The dimensions from the slowest to the fastest, where a format is for one number of them.
AXES = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
CHANNELS_LAST = {len(axes): axes for axes in AXES.values()}  # by the number of dimensions


def axes_of(format: Any, ndim: int) -> tuple[int, ...] | None:
    """The order of the dimensions in memory that ``format`` asks for; None for rows.

    Raises:
        RuntimeError: the format is for another number of dimensions.
    """
    axes = AXES.get(format)
    if axes is not None and len(axes) != ndim:
        raise RuntimeError(
            f"required rank {len(axes)} tensor to use {format.name} format, got {ndim} dimensions"
        )
    return axes


def order_of(array: Any) -> tuple[int, ...] | None:
    """The dimensions from the slowest to the fastest in memory; None for rows."""
    if array.flags.c_contiguous:
        return None
    return tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def is_ordered(array: Any, axes: tuple[int, ...]) -> bool:
    """Whether the elements lie in memory in this order of the dimensions, without gaps."""
    return array.transpose(axes).flags.c_contiguous


def steps_of(array: Any) -> tuple[int, ...]:
    """The strides in elements; torch's where a dimension of size 1 was inserted."""
    steps = [s // array.itemsize for s in array.strides]
    for axis in range(array.ndim - 1, -1, -1):
        if array.shape[axis] == 1 and not steps[axis]:
            last = axis + 1 == array.ndim
            steps[axis] = 1 if last else array.shape[axis + 1] * steps[axis + 1]
    return tuple(steps)


def has_order_of(array: Any, other: Any) -> bool:
    """Whether the elements of two arrays of one shape lie in memory at the same steps."""
    steps, others = array.strides, other.strides
    return steps == others or all(
        a == b or n == 1 for a, b, n in zip(steps, others, array.shape, strict=True)
    )


def extent(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    """One more than the last position that this geometry reaches."""
    if 0 in shape:
        return 0
    return 1 + offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
