"""Adding at repeated positions, each way that is chosen by size, against NumPy's ``add.at``."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from nnkit.backend.cpu.accumulation import add_at, add_slices
from tests.harness.row import numpy_dtype

# (size of the axis, indices, size of the other axis): distinct, a few repeats of long slices (in
# rounds), many repeats of short ones (flat), and hardly any compared with the output.
CASES = [(50, None, 4), (30, 100, 300), (3, 500, 2), (5000, 7, 3), (4, 0, 3), (1, 20, 1)]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int32", "complex64"]
)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("axis", [0, 1])
def test_slices(dtype: str, case: tuple, axis: int) -> None:
    size, count, other = case
    kind = numpy_dtype(dtype)
    index = np.random.permutation(size) if count is None else np.random.randint(0, size, count)
    source = np.random.randint(-4, 5, (index.size, other)).astype(kind)
    out = np.random.randint(-4, 5, (size, other)).astype(kind)
    expected = out.astype(complex)
    np.add.at(expected, index, source.astype(complex))
    target = out if axis == 0 else out.T
    add_slices(target, index, source if axis == 0 else source.T, axis)
    np.testing.assert_array_equal(out.astype(complex), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "complex128"])
@pytest.mark.parametrize("count", [0, 3, 5000])
def test_elements(dtype: str, count: int) -> None:
    positions = np.random.randint(0, 100, count)
    values = np.random.randint(0, 3, count).astype(dtype)
    out = np.ones(100, dtype)
    expected = np.ones(100, np.complex128)
    np.add.at(expected, positions, values.astype(complex))
    add_at(out, positions, values)
    np.testing.assert_array_equal(out.astype(complex), expected)


def test_long_slices_are_added_in_order() -> None:
    """Large and small terms: bit by bit what adding one slice after the other gives."""
    index = np.random.randint(0, 5, 300)
    source = (10.0 ** np.random.uniform(-8, 8, (300, 600))).astype(np.float32)
    first, second = np.zeros((5, 600), np.float32), np.zeros((5, 600), np.float32)
    add_slices(first, index, source, 0)
    for i, row in zip(index, source, strict=True):
        second[i] += row
    np.testing.assert_array_equal(first, second)


def test_a_few_additions_take_no_memory_for_each_row() -> None:
    table, index = np.zeros(10**6, np.int8), np.array([10**6 - 1, 0, 10**6 - 1])
    tracemalloc.start()
    try:
        add_slices(table, index, np.array([1, 2, 3], np.int8), 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table[0] == 2 and table[-1] == 4
    assert peak < 100_000
