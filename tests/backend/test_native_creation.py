"""The compiled kernels that make new arrays, against their twins in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from tests.backend.native_cases import (
    FOREIGN,
    LAYOUTS,
    SHAPES,
    compare,
    needs_native,
    numbers,
    served,
)

pytestmark = needs_native

DTYPES = [
    np.dtype(d)
    for d in (
        "bool", "uint8", "int16", "int64", "float16", ml_dtypes.bfloat16, "float32", "float64",
        "complex64", "complex128",
    )
]  # fmt: skip


def shapes(dtype: np.dtype) -> tuple:
    """The usual ones, and one of up to 3.4 MB."""
    return (*SHAPES, (3, 701, 409 * 4 // max(dtype.itemsize, 4)))


def zeros_cases(dtype: np.dtype) -> Iterator[tuple]:
    for shape in shapes(dtype):
        yield shape, dtype


def full_cases(dtype: np.dtype) -> Iterator[tuple]:
    for shape in shapes(dtype):
        for value in (0, 1, 3, True) + (() if dtype.kind in "iu" else (0.1, np.inf, np.nan)):
            yield shape, value, dtype


def like_cases(dtype: np.dtype) -> Iterator[tuple]:
    for shape in shapes(dtype):
        values = numbers(shape, dtype)
        for layout in LAYOUTS.values():
            yield (layout(values),)


def fill_cases(dtype: np.dtype) -> Iterator[tuple]:
    for (x,) in like_cases(dtype):
        yield x.copy() if 0 in x.strides else x, 3


def aranges(dtype: np.dtype) -> Iterator[tuple]:
    if dtype.kind in "iuf":
        for start, stop, step in (
            (0, 0, 1),
            (3, 100, 7),
            (-5, -40, -3),
            (0, 200_000, 1),
            (2, 3, 4),
        ):
            yield start, stop, step, dtype
        if dtype.kind == "f":
            for start, stop, step in (
                (0.0, 1.0, 0.1),
                (-2.5, 7, 0.75),
                (0, -3, -1.0),
                (5, 4.9, -1),
            ):
                yield start, stop, step, dtype


def linspaces(dtype: np.dtype) -> Iterator[tuple]:
    if dtype.kind == "f":
        for steps in (0, 1, 2, 5, 6, 100_001):
            for start, stop in ((0, 1), (-3.7, 12.9), (5, -5.5), (0.1, 0.1)):
                yield start, stop, steps, dtype


def eyes(dtype: np.dtype) -> Iterator[tuple]:
    for n, m in ((0, 0), (3, 3), (2, 5), (5, 2), (1, 300), (0, 4)):
        yield n, m, dtype


def pairs(dtype: np.dtype) -> Iterator[tuple]:
    if dtype in (np.float32, np.float64):
        for x in LAYOUTS.values():
            for y in (x, np.array):
                yield x(numbers((3, 4, 5), dtype, True)), y(numbers((3, 4, 5), dtype))
        yield numbers((3, 1), dtype), numbers((4,), dtype)


def classes(dtype: np.dtype) -> Iterator[tuple]:
    if dtype == np.int64:
        for shape in SHAPES:
            yield numbers(shape, dtype), 9
        yield numbers((3, 4), dtype).T, 7


CASES = {
    "arange": aranges, "linspace": linspaces, "eye": eyes, "make_complex": pairs,
    "one_hot": classes,
    "zeros": zeros_cases, "full": full_cases, "fill_": fill_cases,
    "zeros_like": like_cases, "ones_like": like_cases,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str, dtype: np.dtype) -> None:
    for arguments in CASES[name](dtype):
        compare(getattr(B, name), *arguments)


def test_small_makers_are_served() -> None:
    x, index = numbers((3, 4)), numbers((3, 4), np.int64)
    assert served(B.eye, 3, 4, x.dtype) and served(B.make_complex, x, x)
    assert served(B.one_hot, index, 7) and not served(B.one_hot, index, 3)
    with pytest.raises(RuntimeError, match="Class values"):
        B.one_hot(index, 3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_empty(dtype: np.dtype) -> None:
    for shape in shapes(dtype):
        made = B.empty(shape, dtype)
        assert (made.shape, made.dtype) == (shape, dtype)
        assert made.flags.c_contiguous and made.flags.writeable
        values = numbers(shape, dtype)
        for name, layout in LAYOUTS.items():
            x = layout(values)
            like, twin = B.empty_like(x), B.empty_like.twin(x)
            assert (like.shape, like.dtype) == (twin.shape, twin.dtype), name
            assert like.strides == twin.strides or name in FOREIGN or x.size < 2, name


def test_new_arrays_are_aligned_and_reused() -> None:
    assert native.MODULE is not None
    for make in (
        lambda: B.empty((64, 64), np.dtype("f4")),
        lambda: B.zeros((2000,), np.dtype(int)),
    ):
        native.MODULE.empty_cache()
        first = make()
        address = first.ctypes.data
        assert address % 64 == 0
        del first
        assert make().ctypes.data == address


def test_zeros_over_what_was_there() -> None:
    for _ in range(3):
        assert (B.full((1 << 20,), 7, np.dtype("f4")) == 7).all()
        assert not B.zeros((1 << 20,), np.dtype("f4")).any()


def test_values_that_do_not_fit() -> None:
    for value, error in (("a", ValueError), (300, OverflowError)):
        with pytest.raises(error):
            B.full.twin((3,), value, np.dtype("uint8"))
        with pytest.raises(error):
            B.full((3,), value, np.dtype("uint8"))
    for name in ("empty", "zeros"):
        with pytest.raises(ValueError, match="negative"):
            getattr(B, name)((-1,), np.dtype("f4"))
        with pytest.raises((MemoryError, ValueError)):
            getattr(B, name)((1 << 40, 1 << 40), np.dtype("f4"))
