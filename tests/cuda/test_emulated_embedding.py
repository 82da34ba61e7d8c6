"""Embedding, bags and one-hot rows, emulated, against the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import embedding as cpu
from nnkit.backend.cuda import embedding, failures
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F2, F4, F8, assert_same
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

embedding = on_arrays(embedding)

pytestmark = needs_compiler
RNG = np.random.default_rng(0)
INDEX = RNG.integers(0, 7, (3, 5))


@pytest.mark.parametrize("dtype", (F4, F8, F2, BF), ids=str)
@pytest.mark.parametrize("width", (1, 6, 40))
def test_rows(width, dtype):
    weight = RNG.standard_normal((7, width)).astype(dtype)
    assert_same(embedding.embedding, cpu.embedding, weight, INDEX, None, False)
    g = RNG.standard_normal((3, 5, width)).astype(dtype)
    for padding, by_frequency in ((None, False), (2, True)):
        given = (g, INDEX, 7, padding, by_frequency)
        assert_same(embedding.embedding_grad, cpu.embedding_grad, *given)


def test_rows_out_of_range():
    weight = np.ones((7, 8), F4)
    with emulated():
        out = embedding.embedding(weight, np.array([6, 7, -1]), None, False)
        np.testing.assert_array_equal(out, [[1] * 8, [0] * 8, [0] * 8])
        with pytest.raises(IndexError, match="index out of range in self: 7 in a table of 7 rows"):
            failures.check()
        none = embedding.embedding(weight[:0], np.array([0]), None, False)
        np.testing.assert_array_equal(none, [[0] * 8])
    with pytest.raises(IndexError, match="index out of range in self: 0"):
        failures.check()


@pytest.mark.parametrize("p", (1.0, 2.0, 3.0, float("inf")))
def test_renormalized_rows(p):
    weight = RNG.standard_normal((7, 50)).astype(F4)
    got, expected = weight.copy(), weight.copy()
    with emulated():
        embedding.embedding_renorm_(got, INDEX[:1], 1.5, p)
    cpu.embedding_renorm_(expected, INDEX[:1], 1.5, p)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", (F4, BF), ids=str)
def test_maxima_of_bags(dtype):
    x = RNG.integers(-3, 4, (9, 5)).astype(dtype)
    x[4, 1] = np.nan
    bags = np.array([0, 0, 1, 1, 1, 3, 3, 3, 3])
    assert_same(embedding.bag_max, cpu.bag_max, x, bags, 5)


def test_one_hot_rows():
    assert_same(embedding.one_hot, cpu.one_hot, INDEX, 9)
    with emulated():
        embedding.one_hot(INDEX, 3)
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        failures.check()
