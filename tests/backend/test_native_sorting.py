"""The compiled sorting, selection and searching against their twins in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import sorting
from tests.backend.native_cases import LAYOUTS, compare, needs_native, numbers

pytestmark = needs_native

DTYPES = tuple(np.dtype(d) for d in ("float32", "float64", "int32", "int64", "float16"))
# Sorted by insertion, by comparisons, by short digits and by long ones.
SHAPES = ((1,), (7,), (0, 3), (5, 3), (40, 2), (2, 3, 17), (300, 3), (3, 2500))


def arrays() -> Iterator[np.ndarray]:
    for dtype in DTYPES:
        for shape in SHAPES:
            for layout in LAYOUTS.values():
                yield layout(numbers(shape, dtype, edges=True))


def along_axes(*after: object) -> Iterator[tuple]:
    for x in arrays():
        for axis in range(-1, x.ndim):
            yield (x, axis, *after)


def orders() -> Iterator[tuple]:
    yield from along_axes(False)
    yield from along_axes(True)


def medians() -> Iterator[tuple]:
    for x, axis, keepdims in orders():
        if x.shape[axis]:
            yield x, axis, keepdims


def medians_of_all() -> Iterator[tuple]:
    for x in arrays():
        yield from ((x, ignore_nan) for ignore_nan in (False, True) if x.size)
    nothing = np.full(5, np.nan, np.float32)
    yield from ((nothing, ignore_nan) for ignore_nan in (False, True))


def shares(count: int) -> list[int]:
    return sorted({k for k in (0, 1, 5, 40, count // 2, count) if k <= count})


def topks() -> Iterator[tuple]:
    for x, axis, largest in orders():
        yield from ((x, k, axis, largest, True) for k in shares(x.shape[axis]))


def kthvalues() -> Iterator[tuple]:
    for x, axis, keepdims in orders():
        yield from ((x, k, axis, keepdims) for k in shares(x.shape[axis]) if k)


def searches() -> Iterator[tuple]:
    for dtype in DTYPES:
        for size in (1, 2, 7, 1000):
            boundaries = np.sort(numbers((size,), dtype, edges=True))
            for values in (numbers((5, 700), dtype, edges=True), boundaries, boundaries[:0]):
                yield boundaries, values, False
                yield boundaries, values, True
        rows = np.sort(numbers((3, 20), dtype), axis=1)
        yield rows, numbers((3, 50), dtype), True


def counts() -> Iterator[tuple]:
    for size in (0, 1, 70_000):
        for minlength in (0, 3, 20):
            x = numbers((size,), np.int64)
            yield x, None, minlength
            yield np.repeat(x, 2)[::2], None, minlength
            yield x, numbers((size,), np.float32), minlength


def distinct() -> Iterator[tuple]:
    """Numbers that stand several times, and some far apart."""
    for dtype in DTYPES:
        for shape in SHAPES:
            for layout in LAYOUTS.values():
                x = np.trunc(numbers(shape, dtype)).astype(dtype)
                yield layout(x), None
                x.reshape(-1)[:1] = np.finfo(dtype).max if dtype.kind == "f" else 2**31 - 1
                yield layout(x), None


def memberships() -> Iterator[tuple]:
    for x in arrays():
        for values in (x.reshape(-1)[:3], x.reshape(-1), x.reshape(-1)[:0]):
            yield x, values


CASES = {
    "sort": orders, "argsort": orders, "topk": topks, "kthvalue": kthvalues, "median": medians,
    "searchsorted": searches, "bincount": counts, "median_all": medians_of_all,
    "mode": medians, "unique": distinct, "unique_consecutive": distinct, "isin": memberships,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*CASES} - {"topk", "kthvalue", "median"}))
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, same_order=False)


def is_own(x: np.ndarray) -> bool:
    """Whether a kernel serves it; NumPy leaves open which of equal elements it takes."""
    return x.dtype != np.float16 and x.dtype.isnative and x.flags.aligned


def in_order(x: np.ndarray, places: object, axis: int, descending: bool) -> tuple:
    """What stands at some places of the stable order."""
    order = sorting.argsort(x, axis, descending).take(places, axis)  # pyright: ignore
    return np.take_along_axis(x, order, axis), order


def check(got: tuple, want: tuple) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.dtype.newbyteorder("=") == w.dtype.newbyteorder("=")
        np.testing.assert_array_equal(g, w)


def test_topk_takes_the_first_of_equals() -> None:
    for x, k, axis, largest, _ in topks():
        if is_own(x):
            check(B.topk(x, k, axis, largest, True), in_order(x, np.arange(k), axis, largest))


def test_kthvalue_takes_the_first_of_equals() -> None:
    for x, k, axis, keepdims in kthvalues():
        if is_own(x):
            want = in_order(x, [k - 1], axis, False)
            check(
                B.kthvalue(x, k, axis, keepdims),
                want if keepdims else tuple(w.squeeze(axis) for w in want),
            )


def test_median_has_the_twins_values() -> None:
    for x, axis, keepdims in medians():
        values, indices = B.median(x, axis, keepdims)
        np.testing.assert_array_equal(values, B.median.twin(x, axis, keepdims)[0])
        along = indices if keepdims else np.expand_dims(indices, axis)
        taken = np.take_along_axis(x, along, axis)
        np.testing.assert_array_equal(taken if keepdims else taken.squeeze(axis), values)
