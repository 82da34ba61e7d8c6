"""Philox on the GPU, emulated, against the same stream on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import random as host
from nnkit.backend.cpu import random_philox
from nnkit.backend.cuda import dropout, failures, random
from nnkit.backend.philox import Philox
from nnkit.backend.random import Generator
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import F2, F4, F8
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

dropout, random = on_arrays(dropout), on_arrays(random)

pytestmark = needs_compiler
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


I8, U1 = np.dtype(np.int64), np.dtype(np.uint8)
DRAWS = {
    "exponential_": (2.0,), "geometric_": (0.3,), "cauchy_": (1.0, 0.5), "log_normal_": (0.2, 0.7),
}  # fmt: skip


@pytest.mark.parametrize("dtype", (F4, F8, F2), ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_other_distributions(name, dtype):
    expected, got = np.empty((3, 500), dtype).T, np.empty((3, 500), dtype).T
    mine, twin = generator(), generator()
    getattr(random_philox, name)(expected, *DRAWS[name], twin)
    with emulated():
        getattr(random, name)(got, *DRAWS[name], mine)
    assert mine.philox.offset == twin.philox.offset
    near = {F4: 2e-5, F8: 1e-12, F2: 2e-3}[dtype]
    np.testing.assert_allclose(got.astype(F8), expected.astype(F8), rtol=near, atol=near)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (I8, None, None), (I8, -(2**63), 2**63), (I8, -5, 7), (I8, 0, 2**40), (U1, None, None),
        (np.dtype(np.bool_), None, None), (F4, None, None), (F8, None, None), (F2, -3, 900),
    ],
    ids=str,
)  # fmt: skip
def test_integers(dtype, low, high):
    expected, got = np.empty(1100, dtype), np.empty(1100, dtype)
    mine, twin = generator(), generator()
    random_philox.random_(expected, low, high, twin)
    with emulated():
        random.random_(got, low, high, mine)
    assert mine.philox.offset == twin.philox.offset
    np.testing.assert_array_equal(got, expected)


def test_geometric_of_integers():
    expected, got = np.empty(200, U1), np.empty(200, U1)
    random_philox.geometric_(expected, 0.4, generator())
    with emulated():
        random.geometric_(got, 0.4, generator())
    np.testing.assert_array_equal(got, expected)


def test_permutations():
    expected = random_philox.randperm(501, I8, generator())
    np.testing.assert_array_equal(np.sort(expected), np.arange(501))
    with emulated():
        np.testing.assert_array_equal(random.randperm(501, I8, generator()), expected)


def test_rrelu():
    x = np.linspace(-1, 1, 300, dtype=F4)
    expected = random_philox.rrelu_noise(x, 0.1, 0.3, generator())
    assert (expected[x > 0] == 1).all()
    assert ((expected[x <= 0] > 0.1) & (expected[x <= 0] < 0.3)).all()
    with emulated():
        got = random.rrelu_noise(x, 0.1, 0.3, generator())
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", (F4, F8), ids=str)
@pytest.mark.parametrize(("samples", "replacement"), [(1, False), (4, False), (50, True)])
def test_multinomial(samples, replacement, dtype):
    weights = np.random.default_rng(0).random((6, 9)).astype(dtype)
    weights[:, ::4] = 0
    expected = host.multinomial(weights, samples, replacement, generator())
    assert (np.take_along_axis(weights, expected, 1) > 0).all()
    with emulated():
        got = random.multinomial(weights, samples, replacement, generator())
    np.testing.assert_array_equal(got, expected)
    weights[3] = 0
    with emulated():
        random.multinomial(weights, samples, replacement, generator())
    with pytest.raises(RuntimeError, match="weights of row 3"):
        failures.check()


def test_from_the_host():
    rates = np.linspace(0, 20, 50, dtype=F4)
    expected = host.poisson(rates, generator())
    with emulated():
        np.testing.assert_array_equal(random.poisson(rates, generator()), expected)


@pytest.mark.parametrize("layout", ("C", "turned", "gaps"))
def test_dropout(layout, monkeypatch):
    monkeypatch.setattr("nnkit.backend.cuda.dropout.stream_of_gpu", lambda: Philox(SEED))
    x = np.random.default_rng(0).standard_normal((20, 30)).astype(F4)
    x = {"C": x, "turned": x.T, "gaps": x[:, ::2]}[layout]
    with emulated():
        out, noise = dropout.dropout(x, 0.25, False)
    kept = random_philox.dropout_mask(x, 0.25, generator())
    np.testing.assert_allclose(noise, kept / np.float32(0.75), rtol=1e-6)
    np.testing.assert_allclose(out, x * noise, rtol=1e-6)
