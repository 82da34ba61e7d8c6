"""The compiled kernels that read and write at positions, against their twins in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nnkit
from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import needs_native

pytestmark = needs_native

DTYPES = [np.float32, np.float64, np.int64, np.int32, np.bool_, np.complex64, np.float16]
SUMMABLE = [np.float32, np.float64, np.int64]
SHAPES = [(0,), (1,), (7,), (5, 3), (3, 0, 2), (4, 1, 6), (301, 257)]
ALL = slice(None)


def make(shape, dtype, seed=0):
    values = np.random.default_rng(seed).normal(0, 50, shape)
    return (values > 0) if dtype is np.bool_ else values.astype(dtype)


def positions(shape, size, seed=1, dtype=np.int64, low=0):
    return np.random.default_rng(seed).integers(low, max(size, 1), shape).astype(dtype)


def layouts(x):
    """The same elements in C order, with gaps, backwards, and with axes exchanged."""
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    gaps = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    gaps[...] = x
    back = tuple(slice(None, None, -1) for _ in x.shape)
    return [x, gaps, x[back].copy()[back], x.T.copy().T]


def native_of(name, *arguments, copies=()):
    """The kernel's result, for 1, 2 and 5 threads the same bits."""
    before, results = nnkit.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            nnkit.set_num_threads(threads)
            given = [a.copy() if i in copies else a for i, a in enumerate(arguments)]
            results.append(getattr(B, name)(*given))
    finally:
        nnkit.set_num_threads(before)
    for other in results[1:]:
        assert other.tobytes() == results[0].tobytes()
    return results[0]


def check(name, *arguments, copies=(), tolerance=0.0):
    kernel = getattr(B, name)
    given = [a.copy() if i in copies else a for i, a in enumerate(arguments)]
    expected = kernel.twin(*given)
    got = native_of(name, *arguments, copies=copies)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if tolerance and expected.dtype.kind == "f":
        scale = np.abs(expected).max(initial=1.0)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(got, expected)


def tolerance_of(dtype):
    return 100 * float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_reading(shape, dtype):
    x = make(shape, dtype)
    for axis, size in enumerate(shape):
        if not size:
            continue
        flat = positions(11, size)
        for index in (flat, flat.astype(np.int32), flat[::2], flat[:0]):
            for layout in layouts(x):
                check("index_select", layout, index, axis)
                check("index", layout, (ALL,) * axis + (index - size * (index % 2),))
        smaller = tuple(9 if d == axis else max(n - 1, 0) for d, n in enumerate(shape))
        for index in layouts(positions(shape, size)) + [positions(smaller, size)]:
            for layout in layouts(x):
                check("gather", layout, index, axis)
    for index in layouts(positions((3, 5), x.size, low=-x.size)) if x.size else ():
        for layout in layouts(x):
            check("take", layout, index)
            check("take", layout, index[0, 0].astype(np.int32))
            check("wrap_index", index, layout.size)
            check("wrap_index", index % layout.size, layout.size)
    if len(shape) == 2 and x.size:
        rows, columns = positions((4, 1), shape[0]), positions(6, shape[1], low=-shape[1])
        for layout in layouts(x):
            check("index", layout, (rows, columns))
        check("embedding", x, positions((3, 5), shape[0]), None, False)


@pytest.mark.parametrize("dtype", SUMMABLE)
@pytest.mark.parametrize("shape", SHAPES)
def test_adding(shape, dtype):
    x, tolerance = make(shape, dtype), tolerance_of(dtype)
    for axis, size in enumerate(shape):
        if not size:
            continue
        index, source = positions(shape, size), make(shape, dtype, 2)
        for at in layouts(index):
            for values in layouts(source):
                check("scatter_add", x, at, values, axis, tolerance=tolerance)
        check("scatter_add_", x, index, source, axis, copies=(0,), tolerance=tolerance)
        check("gather_adjoint", source, index, axis, shape, tolerance=tolerance)
        for reduce in ("sum", "amax", "amin", "prod", "mean"):
            for include_self in (True, False):
                near_one = np.clip(source, -1, 1)
                arguments = x, index, near_one, axis, reduce, include_self
                check("scatter_reduce", *arguments, tolerance=tolerance)
                check("scatter_reduce_", *arguments, copies=(0,), tolerance=tolerance)
        some = positions(13, size, 3)
        slices = make((*shape[:axis], 13, *shape[axis + 1 :]), dtype, 4)
        for alpha in (1, 3):
            check("index_add", x, some, slices, axis, alpha, tolerance=tolerance)
        check("index_add_", x, some, slices, axis, 1, copies=(0,), tolerance=tolerance)
        check("index_select_adjoint", slices, some, axis, shape, tolerance=tolerance)
        negative = some - size * (some % 2)
        at = (*(ALL,) * axis, negative)
        check("index_adjoint", slices, at, shape, tolerance=tolerance)
        check("index_put", x, slices, at, True, tolerance=tolerance)
        check("index_put_", x, slices, at, True, copies=(0,), tolerance=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_writing(shape, dtype):
    x = make(shape, dtype)
    for axis, size in enumerate(shape):
        if not size:
            continue
        index, source = positions(shape, size), make(shape, dtype, 2)
        check("scatter", x, index, source, axis)
        check("scatter_", x, index, source, axis, copies=(0,))
        check("scatter_fill", x, index, axis, 1)
        some = positions(13, size, 3)
        slices = make((*shape[:axis], 13, *shape[axis + 1 :]), dtype, 4)
        check("index_copy", x, some, slices, axis)
        check("index_copy_", x, some, slices, axis, copies=(0,))
        check("index_fill", x, some, axis, 1)
        check("index_fill_", x.T.copy().T, some, axis, 1, copies=(0,))
        at = (*(ALL,) * axis, some - size * (some % 2))
        check("index_put_", x, slices, at, False, copies=(0,))
        check("index_put_", x, 1, at, False, copies=(0,))
        check("index_put", x, slices, at, False)
    if len(shape) == 2 and x.size:
        at = positions((4, 1), shape[0]), positions(6, shape[1], low=-shape[1])
        check("index_put_", x, make((4, 6), dtype, 5), at, False, copies=(0,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chance", [0.0, 0.03, 0.5, 1.0])
def test_masks(shape, dtype, chance):
    x = make(shape, dtype)
    mask = np.random.default_rng(6).random(shape) < chance
    for layout in layouts(x):
        check("masked_fill", layout, mask, 1)
        check("masked_select", layout, mask)
        check("index", layout, (mask,))
        check("nonzero", layout)
    check("masked_fill_", x, mask, 1, copies=(0,))
    check("nonzero", mask)
    check("masked_select_adjoint", make(int(mask.sum()), dtype, 7), mask, shape)
    for source in (make(x.size, dtype, 8), make((2, *shape), dtype, 8)):
        for layout in layouts(x):
            check("masked_scatter", layout, mask, source)
            check("masked_scatter_", layout, mask, source, copies=(0,))
    if len(shape) > 1:
        check("masked_fill", x, mask[0], 1)
        check("index", x, (mask.reshape(len(mask), -1).any(1),))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding_grad(dtype, padding, by_frequency):
    for count, width, shape in [(5, 3, (4,)), (50, 33, (7, 9)), (2000, 64, (4, 512)), (9, 1, (0,))]:
        index, g = positions(shape, count), make((*shape, width), dtype)
        for place in (index, np.asfortranarray(index)):
            arguments = g, place, count, padding, by_frequency
            check("embedding_grad", *arguments, tolerance=tolerance_of(dtype))


def test_positions_outside_are_the_twins_to_refuse():
    x, bad = make((4, 3), np.float32), np.array([[0, 4, 1]])
    for name, *arguments in [
        ("gather", x, bad, 0), ("scatter_add", x, bad, x, 0), ("scatter_", x, bad, x, 0),
        ("scatter_fill", x, bad, 0, 1), ("gather_adjoint", x[:1], bad, 0, (4, 3)),
        ("index_select", x, bad[0], 0), ("index_add", x, bad[0], x[:3], 0, 1),
        ("index_copy_", x, bad[0], x[:3] * 1, 0), ("index", x, (bad[0],)),
        ("index_put_", x, 1, (bad,), False),
        ("embedding", x, bad[0], None, False), ("index", x, (bad[0], -bad[0])),
    ]:  # fmt: skip
        kept = x.copy()
        with pytest.raises((IndexError, RuntimeError)) as expected:
            getattr(B, name).twin(*arguments)
        with pytest.raises((IndexError, RuntimeError)) as got:
            getattr(B, name)(*arguments)
        assert got.type is expected.type and str(got.value) == str(expected.value)
        np.testing.assert_array_equal(x, kept)


def test_a_source_that_overlaps_its_target_is_read_first():
    x = make(50, np.float32)
    for shift in (0, 3):
        check("index_copy_", x, np.arange(40), x[shift : shift + 40], 0, copies=(0,))
        ours, theirs = x.copy(), x.copy()
        B.index_copy_(ours, np.arange(5, 45), ours[:40], 0)
        B.index_copy_.twin(theirs, np.arange(5, 45), theirs[:40], 0)
        np.testing.assert_array_equal(ours, theirs)
