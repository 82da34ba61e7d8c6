"""Windows of a kernel along the axes of an array: how many, where, and what is padded."""

from __future__ import annotations

import math

Ints = tuple[int, ...]


def window_count(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool = False
) -> int:
    """The number of windows along an axis; with ``ceil`` one may run over the end of it."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-span // stride) + 1 if ceil else span // stride + 1
    # A window may run over the end, but not start in the padding behind it.
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def window_counts(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool = False
) -> Ints:
    """The number of windows along each axis."""
    rows = zip(spatial, kernel, stride, padding, dilation, strict=True)
    return tuple(window_count(*row, ceil) for row in rows)


def is_pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether each window is one element, and each element a window."""
    return math.prod(kernel) == math.prod(stride) == 1 and not any(padding)


def part_bounds(size: int, count: int) -> tuple[list[int], list[int]]:
    """The bounds of windows that divide an axis as evenly as can be (adaptive pools)."""
    starts = [i * size // count for i in range(count)]
    return starts, [-(-(i + 1) * size // count) for i in range(count)]


def padded_geometry(size: tuple[int, ...], widths: tuple[tuple[int, int], ...]) -> tuple:
    """The shape of a padded array, where the old elements lie in it, and which ones they are."""
    shape = tuple(n + before + after for n, (before, after) in zip(size, widths, strict=True))
    inner = tuple(slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(shape, widths, strict=True))
    kept = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(size, widths, strict=True))
    return shape, inner, kept
