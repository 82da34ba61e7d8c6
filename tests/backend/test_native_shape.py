"""The compiled kernels that copy, join, pad and convert, against their twins in NumPy."""

from __future__ import annotations

import time

import ml_dtypes
import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import needs_native
from tests.backend.test_native_indexing import DTYPES, check, layouts, make

pytestmark = needs_native

SHAPES = [(), (0,), (1,), (7,), (5, 3), (3, 0, 2), (4, 1, 6), (2, 19, 33, 5), (301, 257)]
HALVES = [np.float16, ml_dtypes.bfloat16]


@pytest.mark.parametrize("dtype", [*DTYPES, np.complex128])
@pytest.mark.parametrize("shape", SHAPES)
def test_copies(shape, dtype):
    x = make(shape, dtype)
    for layout in layouts(x) if shape else [x]:
        check("contiguous", layout)
        check("copy", layout)
        check("tile", layout, (2, *(1,) * (len(shape) // 2), *(3,) * ((len(shape) + 1) // 2)))
        check("pad", layout, tuple((i, 2 - i) for i in range(len(shape))), 1)
        check("pad", layout, ((1, -1), (-1, 2), (0, 0), (3, 1))[: len(shape)], 1)
        for mode, width in (("reflect", -1), ("replicate", 1), ("circular", 0)):
            widths = tuple((min(i, n + width), min(2, n + width)) for i, n in enumerate(shape))
            if shape and 0 not in shape:
                check("pad_mode", layout, widths, mode)
        for axes in ((), (0,), tuple(range(len(shape)))[::2]):
            if len(axes) <= len(shape):
                check("flip", layout, axes)
        for offset in (-300, -2, 0, 1, 300) if len(shape) > 1 else ():
            for name, in_place in (("tril", "tril_"), ("triu", "triu_")):
                check(name, layout, offset)
                check(in_place, layout, offset, copies=(0,))
        check("copy_", np.zeros(shape, dtype), layout, copies=(0,))
        check("copy_", np.zeros((2, *shape), dtype), layout, copies=(0,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, *HALVES])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_adjoint_of_padding(mode, dtype):
    tolerance = {np.float32: 1e-6, np.float64: 1e-14}.get(dtype, 1e-2)
    for shape in ((7,), (5, 3), (3, 1, 6), (2, 19, 33, 5)):
        widths = (
            ((0, 0),) * (len(shape) - 1) + ((2, 0),)
            if len(shape) < 3
            else ((0, 0), *((min(n - 1, 2), 0) for n in shape[1:-1]), (1, 3))
        )
        padded = tuple(n + sum(pair) for n, pair in zip(shape, widths, strict=True))
        for g in layouts(make(padded, dtype)):
            got = B.pad_mode_adjoint(g, widths, mode)
            want = B.pad_mode_adjoint.twin(g, widths, mode)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(
                got.astype(np.float64), want.astype(np.float64), tolerance, 10 * tolerance
            )


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_every_order_of_four_axes(dtype):
    x = make((3, 17, 5, 33), dtype)
    for axes in np.ndindex(4, 4, 4, 4):
        if sorted(axes) == [0, 1, 2, 3]:
            view = x.transpose(axes)
            check("contiguous", view)
            check("copy_", np.zeros(view.shape[::-1], dtype).T, view, copies=(0,))
            check("copy_", np.zeros(view.shape, dtype), view[:1], copies=(0,))


@pytest.mark.parametrize("dtype", [*DTYPES, np.complex128])
def test_joins(dtype):
    for shape in SHAPES[1:]:
        pieces = [make(shape, dtype, seed) for seed in range(3)]
        for axis in range(len(shape) + 1):
            check("stack", pieces, axis)
        for axis, size in enumerate(shape):
            lead = (slice(None),) * axis
            uneven = [*pieces, np.ascontiguousarray(pieces[0][(*lead, slice(size // 2))])]
            check("concat", uneven, axis)
            check("concat", tuple(uneven), axis)


@pytest.mark.parametrize("source", [*DTYPES, np.uint8, ml_dtypes.bfloat16])
@pytest.mark.parametrize("target", [np.float32, np.float64, np.int64, np.bool_, *HALVES])
def test_casts(source, target):
    for shape in SHAPES:
        x = np.abs(make(shape, np.float32)).astype(source)
        for layout in layouts(x) if shape else [x]:
            check("cast", layout, np.dtype(target))
            check("copy_", np.zeros(shape, target), layout, copies=(0,))


def test_casts_of_special_numbers_round_as_numpy_does():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    halves = np.arange(2**16).astype(np.uint16)
    for half in HALVES:
        got, expected = B.cast(x, np.dtype(half)), B.cast.twin(x, np.dtype(half))
        nan = np.isnan(x)
        np.testing.assert_array_equal(got.view(np.uint16)[~nan], expected.view(np.uint16)[~nan])
        assert np.isnan(got[nan].astype(np.float32)).all()
        wide = B.cast(halves.view(half), np.dtype(np.float32))
        np.testing.assert_array_equal(wide, halves.view(half).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_triangles(name, dtype):
    for rows, columns, offset in np.ndindex(5, 5, 13):
        check(name, rows, columns, offset - 6, np.dtype(dtype))


def test_rows_of_triangles_without_elements_are_not_visited():
    start = time.process_time()
    for rows, columns, offset in ((2**40, 0, 0), (2**40, 2, 3 - 2**40)):
        B.tril_indices(rows, columns, offset, np.dtype(np.int64))
    B.triu_indices(2**40, 3, 0, np.dtype(np.int64))
    assert time.process_time() - start < 1


def test_a_copy_over_itself():
    x = make(100, np.float32)
    ours, theirs = x.copy(), x.copy()
    B.copy_(ours[1:], ours[:-1])
    B.copy_.twin(theirs[1:], theirs[:-1])
    np.testing.assert_array_equal(ours, theirs)


def test_views_have_the_strides_of_their_twins():
    x = make((3, 1, 4), np.float32)
    for layout in layouts(x):
        for axis in range(4):
            ours, theirs = B.unsqueeze(layout, axis), B.unsqueeze.twin(layout, axis)
            assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
            assert np.shares_memory(ours, layout)
        for name in ("reshape", "view"):
            kernel = getattr(B, name)
            for shape in ((3, 4), (3, 4, 1), (1, 3, 2, 2), (12,), (4, 3)):
                try:
                    theirs = kernel.twin(layout, shape)
                except RuntimeError:  # no view has these sizes
                    with pytest.raises(RuntimeError, match="is not compatible"):
                        kernel(layout, shape)
                    continue
                ours = kernel(layout, shape)
                assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
                np.testing.assert_array_equal(ours, theirs)


def test_turned_views_and_pieces_are_those_of_their_twins():
    cases = (
        ("diagonal", 0, 0, 2), ("diagonal", 3, 0, 2), ("diagonal", -1, 0, 2), ("diagonal", 1, 2, 0),
        ("permute", (2, 0, 1)), ("permute", (0, 2, 1)), ("swapaxes", 0, 2), ("swapaxes", -1, 1),
        ("mT",), ("split", (1, 2, 1), 2), ("split", (2, 1), 0), ("split", (0, 3), 0),
        ("unbind", 0), ("unbind", 2), ("unbind", 1), ("getitem", (...,)), ("getitem", (0, ...)),
        ("getitem", (-1, ..., 2)), ("getitem", (..., None)), ("getitem", (None, 1, None, ...)),
        ("getitem", (slice(1, None), ..., slice(-3, None, 2))), ("getitem", (slice(5, 9), ...)),
        ("getitem", (2, slice(None), -1, ..., None)), ("getitem", (..., None, slice(None, -1))),
    )  # fmt: skip
    for layout in [*layouts(make((3, 1, 4), np.float32)), np.zeros((3, 0, 4), np.float32)]:
        squeezes = [("squeeze", axes) for axes in ((1,), (-2,), ()) if layout.size]
        for name, *arguments in (*cases, *squeezes):
            kernel = getattr(B, name)
            ours, theirs = kernel(layout, *arguments), kernel.twin(layout, *arguments)
            pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
            for one, other in pairs:
                assert (one.shape, one.strides) == (other.shape, other.strides)
                assert one.ctypes.data == other.ctypes.data
                assert one.flags.writeable == other.flags.writeable


def test_windows_of_a_view_are_those_of_the_twin():
    x, gaps, _, turned = layouts(make((3, 1, 4), np.float32))
    cases = ((2, 2, 1), (0, 3, 2), (2, 1, 3), (0, 2, 2), (2, 0, 1), (1, 1, 1))
    for layout in (x, gaps, turned, np.zeros((3, 0, 4), np.float32)):
        for arguments in cases:
            ours, theirs = B.unfold(layout, *arguments), B.unfold.twin(layout, *arguments)
            assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
            assert ours.ctypes.data == theirs.ctypes.data


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex128])
def test_geometries_over_a_storage_are_those_of_the_twin(dtype):
    cases = (
        ((2, 3), (1, 2), 0), ((2, 3), (1, 2), 3), ((), (), 5), ((4,), (0,), 1),
        ((2, 1), (5, 90), 2), ((2, 1), (1, (1 << 59) - 1), 0),
        ((3, 2), (4, 1), 1), ((0, 2), (1, 1), 3), ((7,), (1,), 0), ((2,), (4,), 99),
        ((3, 2), (1 << 40, 1), 0), ((2, 2), (1 << 62, 1 << 62), 0), ((1 << 40, 1), (1, 1), 0),
    )  # fmt: skip
    for layout in [*layouts(make((3, 4), dtype)), np.zeros((3, 0), dtype), make((5,), dtype)[3:3]]:
        assert B.storage_offset(layout) == B.storage_offset.twin(layout)
        assert B.data_pointer(layout) == B.data_pointer.twin(layout)
        for shape, strides, offset in cases:
            arguments = layout, shape, strides, offset, (layout.shape, (), 0)
            try:
                theirs = B.as_strided.twin(*arguments)
            except RuntimeError:
                with pytest.raises(RuntimeError, match="out of bounds"):
                    B.as_strided(*arguments)
                continue
            ours = B.as_strided(*arguments)
            assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
            assert ours.flags.writeable == theirs.flags.writeable
            np.testing.assert_array_equal(ours, theirs)
            assert not ours.size or ours.ctypes.data == theirs.ctypes.data


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_as_complex_numbers_are_those_of_the_twin(dtype):
    x = make((3, 4, 2), dtype)
    for layout in (x, x[::2], x[:, 1:], x.transpose(1, 0, 2), x[1, 2], np.zeros((0, 2), dtype)):
        ours, theirs = B.view_as_complex(layout), B.view_as_complex.twin(layout)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert not layout.size or ours.strides == theirs.strides
        assert np.shares_memory(ours, layout) == bool(layout.size)
        back, twin = B.view_as_real(ours), B.view_as_real.twin(ours)
        assert (back.dtype, back.shape) == (twin.dtype, twin.shape) == (layout.dtype, layout.shape)
        assert not layout.size or back.strides == twin.strides == layout.strides
        np.testing.assert_array_equal(back, layout)
