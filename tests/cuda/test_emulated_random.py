"""Philox on the GPU, emulated, against the same stream on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import random_philox
from nnkit.backend.cuda import dropout, failures, random
from nnkit.backend.philox import Philox
from nnkit.backend.random import Generator
from tests.cuda.compare import F2, F4, F8
from tests.cuda.emulation import COMPILER, emulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")
SEED = 12345678901234
COUNTS = (1, 1000, 132 * 2048 + 5)  # the last one takes a second round


def generator() -> Any:
    return Generator("cuda:0").manual_seed(SEED)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ("uniform_", "normal_"))
@pytest.mark.parametrize("dtype", (F4, F8, F2), ids=str)
def test_numbers(name, dtype, count):
    if dtype != F4 and count == COUNTS[-1]:
        count //= 200
    expected, got = np.empty(count, dtype), np.empty(count, dtype)
    mine, twin = generator(), generator()
    getattr(random_philox, name)(expected, -1.0, 3.0, twin)
    with emulated():
        getattr(random, name)(got, -1.0, 3.0, mine)
    assert mine.philox.offset == twin.philox.offset
    near = {F4: 2e-6, F8: 1e-13, F2: 2e-3}[dtype]
    np.testing.assert_allclose(got.astype(F8), expected.astype(F8), rtol=near, atol=near)


def test_complex_and_strided():
    expected, got = np.empty((2, 6), np.complex64), np.empty((2, 6), np.complex64)
    random_philox.normal_(expected, 0.0, 1.0, generator())
    with emulated():
        random.normal_(got, 0.0, 1.0, generator())
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    expected, got = np.empty((4, 6), F4).T, np.empty((4, 6), F4).T
    random_philox.uniform_(expected, 0.0, 1.0, generator())
    with emulated():
        random.uniform_(got, 0.0, 1.0, generator())
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", (F4, F8, np.dtype(np.bool_), np.dtype(np.int64)), ids=str)
def test_bernoulli(dtype):
    expected, got = np.empty(700, dtype), np.empty(700, dtype)
    random_philox.bernoulli_(expected, 0.3, generator())
    with emulated():
        random.bernoulli_(got, 0.3, generator())
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", (F4, F8), ids=str)
def test_bernoulli_of_chances(dtype):
    p = np.linspace(0, 1, 300).astype(dtype)
    expected = random_philox.bernoulli_from_(np.empty_like(p), p, generator())
    with emulated():
        np.testing.assert_array_equal(random.bernoulli(p, generator()), expected)
        random.bernoulli(p + 1, generator())
    with pytest.raises(RuntimeError, match="every p to be in"):
        failures.check()


def test_from_the_host():
    expected, got = np.empty(50, F4), np.empty(50, F4)
    random_philox.exponential_(expected, 2.0, generator())
    with emulated():
        random.exponential_(got, 2.0, generator())
        order = random.randperm(9, np.dtype(np.int64), generator())
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.sort(order), np.arange(9))


@pytest.mark.parametrize("layout", ("C", "turned", "gaps"))
def test_dropout(layout, monkeypatch):
    monkeypatch.setattr(dropout, "stream_of_gpu", lambda: Philox(SEED))
    x = np.random.default_rng(0).standard_normal((20, 30)).astype(F4)
    x = {"C": x, "turned": x.T, "gaps": x[:, ::2]}[layout]
    with emulated():
        out, noise = dropout.dropout(x, 0.25, False)
    kept = random_philox.dropout_mask(x, 0.25, generator())
    np.testing.assert_allclose(noise, kept / np.float32(0.75), rtol=1e-6)
    np.testing.assert_allclose(out, x * noise, rtol=1e-6)
