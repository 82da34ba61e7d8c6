"""Layouts of arrays in memory, memory formats, views, and who owns memory."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy import ndarray

from nnkit.backend.dtype import package_of


class layout:
    """A layout of a tensor's elements, such as ``nnkit.strided``."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def kind(self) -> str:
        """Its name in messages: ``SparseCsr`` of ``nnkit.sparse_csr``."""
        return "Sparse" if self.name == "sparse_coo" else self.name.title().replace("_", "")

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
    base = array.base
    return base is not None and hasattr(base, "base")


def looks_into(result: Any, source: Any) -> bool:
    """Whether ``result``, which was made of ``source`` or is it itself, lies in its memory."""
    parent = result.base
    if parent is None:
        return result is source or (result.__class__ is not ndarray and _in_block(result, source))
    return parent is source or parent is source.base or result is source


def _in_block(result: Any, source: Any) -> bool:
    """`looks_into` for CuPy's arrays with strides of their own, which have no base."""
    if not hasattr(type(result), "__cuda_array_interface__"):
        return False
    return result.data.mem is source.data.mem


def owner(array: Any) -> Any:
    """The array that the memory of ``array`` was made for: what torch calls its storage."""
    while is_view(array):
        array = array.base
    return array


class Foreign:
    """Memory that somebody else has made. Each array that is made of it anew is a storage of its
    own, as in torch, which does not ask where arrays of NumPy lie."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, interface: dict[str, Any], array: ndarray) -> None:
        self.__array_interface__ = interface
        self.array = array  # whose memory it is


_LENT: dict[int, weakref.ref] = {}


def lend(array: Any) -> None:
    """Mark the memory of an array as lent: it must not grow, since others look into it."""
    memory = owner(array)
    key = id(memory)
    if key not in _LENT:
        _LENT[key] = weakref.ref(memory, lambda _: _LENT.pop(key, None))


def is_lent(array: Any) -> bool:
    """Whether others than tensors look into the memory of an array, or have made it."""
    memory = owner(array)
    return memory.base.__class__ is Foreign or id(memory) in _LENT


def is_writable(array: Any) -> bool:
    """Whether its memory may be written to, as some that others have made may not."""
    return array.flags.writeable


def by_rows(array: Any) -> bool:
    """Whether the elements lie in memory by rows, without gaps."""
    return array.flags.c_contiguous


def has_expanded(array: Any) -> bool:
    """Whether there are elements, and several of them in one place since it was expanded."""
    strides = array.strides
    if 0 not in strides or not array.size:
        return False
    return any(s == 0 and n > 1 for s, n in zip(strides, array.shape, strict=True))


def by_columns(array: Any) -> bool:
    """Whether the elements lie in memory by columns, and not by rows as well."""
    flags = array.flags
    return flags.f_contiguous and not flags.c_contiguous


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


class Span(NamedTuple):
    """The bytes from ``begin`` to ``end``, all of which are read or written by these steps."""

    begin: int
    end: int
    steps: tuple[int, ...]


def span_of(B: Any, array: Any) -> Span | None:
    """The memory that an array covers; None if it is empty, has gaps, or covers some repeatedly."""
    if not array.size or not is_dense(array):
        return None
    begin = B.data_pointer(array)
    return Span(begin, begin + array.nbytes, steps_of(array))


def overlap(a: Span | None, b: Span | None) -> str:
    """The share of memory that two arrays of one storage have in common: "none", "part" or "all".

    Of arrays with gaps it is not known, and "none" is the answer, as torch's.
    """
    if a is None or b is None:
        return "none"
    if a[:2] == b[:2]:
        return "all" if a.steps == b.steps else "part"  # torch compares no shapes
    return "part" if a.begin < b.end and b.begin < a.end else "none"


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = SPARSE = tuple(
    layout(f"sparse_{name}") for name in ("coo", "csr", "csc", "bsr", "bsc")
)
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


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of this shape, in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def strides_seen_as(
    shape: Sequence[int], strides: Sequence[int], seen: Sequence[int]
) -> list[int] | None:
    """The strides, in the same unit, of an array with elements that is seen under another shape;
    None if it has to be copied. torch's rule (`computeStride`): dimensions that follow on each
    other are one."""
    found = [0] * len(seen)
    left = len(seen)  # of the new dimensions, from the last
    step, here, there = strides[-1], 1, 1
    for axis in range(len(shape) - 1, -1, -1):
        here *= shape[axis]
        before = axis - 1
        if axis and (shape[before] == 1 or strides[before] == here * step):
            continue
        while left and (there < here or seen[left - 1] == 1):
            left -= 1
            found[left] = there * step
            there *= seen[left]
        if there != here:
            return None
        if axis:
            step, here, there = strides[before], 1, 1
    return None if left else found


def strides_in_order(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """The strides of a tensor without gaps whose dimension ``axes[0]`` is the slowest, and so on;
    None for rows. As in torch, only those of rows count a dimension of size 0 as one of 1."""
    if axes is None:
        return strides_of(shape)
    strides, step = [0] * len(shape), 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def strides_in_elements(array: Any) -> tuple[int, ...]:
    """The strides in elements, not in bytes."""
    size = array.itemsize
    return tuple([stride // size for stride in array.strides])


def steps_of(array: Any) -> tuple[int, ...]:
    """The strides in elements; torch's where CuPy has inserted a dimension of size 1."""
    if not hasattr(type(array), "__cuda_array_interface__"):
        return strides_in_elements(array)
    steps = list(strides_in_elements(array))
    for axis in range(array.ndim - 1, -1, -1):
        if array.shape[axis] == 1 and not steps[axis]:
            last = axis + 1 == array.ndim
            steps[axis] = 1 if last else array.shape[axis + 1] * steps[axis + 1]
    return tuple(steps)


def steps_of_copy(array: Any) -> tuple[int, ...] | None:
    """The strides, in elements, of a copy of an array, where the order of its dimensions does not
    tell them: what lies without gaps is copied with its own, those of dimensions of size 1 among
    them, as torch does; None otherwise. The compiled twin is `empty_as` in
    cpu/native/tools/layout.cpp."""
    if 1 not in array.shape or not array.size or not is_dense(array):
        return None
    steps = steps_of(array)
    return None if steps == strides_of(array.shape) else steps


def has_same_elements(B: Any, a: Any, b: Any) -> bool:
    """Whether two arrays of one storage are the same elements in the same order."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    alike = a.strides == b.strides or steps_of(a) == steps_of(b)
    return alike and B.data_pointer(a) == B.data_pointer(b)


def order_of_result(shape: tuple[int, ...], arrays: Sequence[Any]) -> tuple[int, ...] | None:
    """The dimensions from the slowest to the fastest in memory of what is computed from each
    element of some arrays; None for rows."""
    arrays = [array for array in arrays if array.ndim]
    # An array of this shape decides alone, if it has a step along each dimension.
    deciding = arrays if 0 in shape else arrays[:1]
    if 1 not in shape and all(a.flags.c_contiguous and a.shape == shape for a in deciding):
        return None
    return sort_axes(shape, [_steps_under(array, shape) for array in arrays])


def sort_axes(shape: tuple[int, ...], walks: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The dimensions of a result from the slowest to the fastest in memory; None for rows.

    torch's rule (`TensorIterator::reorder_dimensions`): of two dimensions the one with the larger
    step is the slower; the first operand decides that has a step along both: it has none (0) along
    a dimension that is repeated. Of equal steps the longer dimension is the slower. The compiled
    twin stands in cpu/native/tools/layout.cpp.
    """

    def compare(a: int, b: int) -> int:
        for steps in walks:
            step_a, step_b = steps[a], steps[b]
            if step_a and step_b:
                if step_a != step_b:
                    return step_a - step_b
                if shape[a] > shape[b]:
                    return 1
        return 0

    rows = list(range(len(shape)))
    order = rows[::-1]  # the fastest first
    for i in rows[1:]:
        at = i
        for before in range(i - 1, -1, -1):
            result = compare(order[before], order[at])
            if result < 0:
                break
            if result > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    order.reverse()
    return None if order == rows else tuple(order)


def order_of(array: Any) -> tuple[int, ...] | None:
    """The dimensions from the slowest to the fastest in memory; None for rows."""
    return None if array.flags.c_contiguous else order_of_result(array.shape, (array,))


def _steps_under(array: Any, shape: tuple[int, ...]) -> list[int]:
    """The strides of an array that is broadcast to ``shape``: 0 where it is repeated."""
    steps = [abs(step) for step in steps_of(array)]
    missing = len(shape) - array.ndim
    for axis, size in enumerate(array.shape):
        if size == 1 != shape[missing + axis]:
            steps[axis] = 0
    return [0] * missing + steps


def is_ordered(array: Any, axes: tuple[int, ...]) -> bool:
    """Whether the elements lie in memory in this order of the dimensions, without gaps."""
    return array.transpose(axes).flags.c_contiguous


def format_of(array: Any) -> tuple[int, ...] | None:
    """The order of the dimensions that a layer gives its result: that of channels last if the
    strides of ``array`` look so, None for rows.

    torch's `suggest_memory_format`: gaps are no matter, and a single channel, or single elements
    that lie both ways, count as rows.
    """
    axes = CHANNELS_LAST.get(array.ndim)
    if axes is None or array.flags.c_contiguous and 1 not in array.shape:
        return None
    # As they are, since they are compared with each other alone.
    steps = array.strides if array.__class__ is ndarray else steps_of(array)
    near = steps[-1] >= steps[1]  # or the channels do not come last
    return axes if near and _looks_ordered(array.shape, steps, axes) else None


def format_of_pooled(array: Any) -> tuple[int, ...] | None:
    """The same for a pool: of (N, C, L) the format of (N, C, 1, L), as which torch pools it."""
    if array.ndim != 3:
        return format_of(array)
    (N, C, L), (n, c, one) = array.shape, steps_of(array)
    return (0, 2, 1) if _looks_ordered((N, C, 1, L), (n, c, L * one, one), (0, 2, 3, 1)) else None


def _looks_ordered(shape: tuple[int, ...], steps: Sequence[int], axes: tuple[int, ...]) -> bool:
    least = 0
    if not steps[1]:
        return False
    for axis in reversed(axes):
        size, step = shape[axis], steps[axis]
        if not size or step < least or (axis == 0 and least == steps[1]):
            return False
        least = step * size if size > 1 else step
    return True


def common_format(arrays: Sequence[Any]) -> tuple[int, ...] | None:
    """The order that `format_of` gives for all of them, None if they differ."""
    formats = {format_of(array) for array in arrays}
    return formats.pop() if len(formats) == 1 else None


def has_order_of(array: Any, other: Any) -> bool:
    """Whether the elements of two arrays of one shape lie in memory at the same steps."""
    steps, others = array.strides, other.strides
    return (
        steps == others
        or 0 in array.shape
        or all(a == b or n == 1 for a, b, n in zip(steps, others, array.shape, strict=True))
    )


def extent(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    """One more than the last position that this geometry reaches."""
    if 0 in shape:
        return 0
    return 1 + offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
