"""Embedding and sums at repeated positions, emulated, against the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import embedding as cpu_embedding
from nnkit.backend.cpu import indexing as cpu
from nnkit.backend.cuda import embedding, failures, indexing
from nnkit.backend.index import ALL
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F4, F8, assert_same
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

embedding, indexing = on_arrays(embedding), on_arrays(indexing)

pytestmark = needs_compiler
I8 = np.dtype(np.int64)


def source(shape: tuple, dtype: np.dtype = F4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def index_of(shape: tuple, size: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, size, shape)


# Runs within a chunk, over two and over many chunks; one run of all; no position twice.
INDICES = {
    "few": index_of((9,), 5), "many": index_of((300,), 7), "single": np.full(100, 3),
    "distinct": np.arange(40)[::-1].copy(), "none": np.zeros(0, I8),
}  # fmt: skip


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("axis", (0, 1))
def test_index_add(name, axis):
    index = INDICES[name]
    shape = (40, 3) if axis == 0 else (2, 40, 3)
    x = source(shape)
    values = source((*shape[:axis], index.size, *shape[axis + 1 :]))
    if index.size:
        given = (x, index, values, axis, 0.5)
        assert_same(indexing.index_add, cpu.index_add, *given, tolerance=1e-4)
    else:
        with emulated():
            out = indexing.index_add(x, index, values, axis, 0.5)
        np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("dtype", (F4, F8, BF, I8), ids=str)
def test_scatter_add(dtype):
    x = source((4, 5), F8).astype(dtype)
    index, values = index_of((6, 3), 4), (source((7, 5), F8) * 3).astype(dtype)
    assert_same(indexing.scatter_add, cpu.scatter_add, x, index, values, 0)
    index = index_of((4, 9), 5)
    values = source((4, 9), F8).astype(dtype)
    assert_same(indexing.scatter_add, cpu.scatter_add, x, index, values, 1)


def test_index_adjoint():
    rows, columns = index_of((6, 2), 4), index_of((2,), 5) - 5
    mask = source((4, 5)) > 0
    for index in (
        (rows,),
        (ALL, columns),
        (rows, columns),
        (mask,),
        (rows, ALL),
        ([0], rows),
    ):
        y = source(source((4, 5))[index].shape)
        expected = cpu.index_adjoint(y, index, (4, 5))
        with emulated():
            got = indexing.index_adjoint(y, index, (4, 5))
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_position_out_of_range():
    with emulated():
        indexing.index_add(source((4, 2)), np.array([1, 4]), source((2, 2)), 0, 1)
    with pytest.raises(RuntimeError, match="index 4 is out of bounds .* size 4"):
        failures.check()


@pytest.mark.parametrize("dtype", (F4, BF), ids=str)
def test_embedding(dtype):
    weight, index = source((11, 6), dtype), index_of((3, 50), 11)
    assert_same(embedding.embedding, cpu_embedding.embedding, weight, index, None, False)
    g = source((3, 50, 6), dtype)
    for padding_idx, by_frequency in ((None, False), (4, False), (4, True)):
        given = (g, index, 11, padding_idx, by_frequency)
        reference = cpu_embedding.embedding_grad
        assert_same(embedding.embedding_grad, reference, *given, tolerance=1e-4)


def test_embedding_out_of_range():
    with emulated():
        embedding.embedding(source((3, 2)), np.array([0, 3]), None, False)
    with pytest.raises(IndexError, match="index out of range in self: 3 in a table of 3 rows"):
        failures.check()


@pytest.mark.parametrize("norm_type", (1.0, 2.0, 3.0, np.inf))
def test_embedding_renorm(norm_type):
    def fresh(module):
        return lambda weight, *rest: module.embedding_renorm_(weight.copy(), *rest)

    given = (source((9, 40)), index_of((5,), 9), 0.7, norm_type)
    assert_same(fresh(embedding), fresh(cpu_embedding), *given, tolerance=1e-4)


def test_bags_and_one_hot():
    x, bags = source((10, 3)), np.array([0, 0, 0, 2, 2, 3, 3, 3, 3, 5])
    x[4, 1] = x[1, 0] = np.nan
    x[6] = x[5]
    assert_same(embedding.bag_max, cpu_embedding.bag_max, x, bags, 7)
    assert_same(embedding.one_hot, cpu_embedding.one_hot, index_of((2, 3), 4), 4)
